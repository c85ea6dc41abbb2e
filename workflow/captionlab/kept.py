"""A campaign outside the engine: from the config kept with its results, or from a config file."""

from pathlib import Path

import yaml

from captionlab.campaign import Campaign
from captionlab.config import checked_campaign, load_campaign
from captionlab.errors import ConfigError, DamagedFileError
from captionlab.files import read_json


def kept_campaign(root: Path) -> Campaign:
    """The campaign that made `root`; its source files are not looked for again.

    JSON keeps no order of keys: suites, options and chunks come back sorted, so tables must not be laid out by it.
    Raises MissingFileError without root/config.json, DamagedFileError or ConfigError when that is no config.
    """
    stored = read_json(root / "config.json")
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict):
        raise DamagedFileError(f"{root / 'config.json'} is not a kept config: run keep_config again")
    return checked_campaign(stored["config"], stored.get("digests"))


def read_campaign(configfile: Path) -> Campaign:
    """The campaign of a config file, as the engine would read it without overrides.

    Raises ConfigError when there is no such file or it is no config.
    """
    try:
        config = yaml.safe_load(configfile.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{configfile} is missing: pass --configfile, the campaign that would run now"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{configfile} is not YAML ({' '.join(str(error).split())})") from None
    return load_campaign(config)
