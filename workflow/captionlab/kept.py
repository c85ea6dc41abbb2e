"""The campaign behind a results root, from the effective config kept with the results."""

from pathlib import Path

from captionlab.campaign import Campaign, campaign_runs
from captionlab.config import campaign_references, check_schema
from captionlab.errors import DamagedFileError
from captionlab.files import read_json
from captionlab.meaning import check_meaning


def kept_campaign(root: Path) -> Campaign:
    """The campaign that made `root`; its source files are not looked for again.

    Raises MissingFileError without root/config.json, DamagedFileError or ConfigError when that is no config.
    """
    stored = read_json(root / "config.json")
    if not isinstance(stored, dict) or not isinstance(stored.get("config"), dict):
        raise DamagedFileError(f"{root / 'config.json'} is not a kept config: run keep_config again")
    config = stored["config"]
    check_schema(config)
    check_meaning(config)
    campaign = Campaign(config=config, runs=campaign_runs(config), references=())
    references = campaign_references(campaign)
    return Campaign(config, campaign.runs, references, stored.get("digests", {}))
