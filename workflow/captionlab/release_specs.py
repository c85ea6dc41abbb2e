"""Specs of the jobs that read a published model, and the files they make."""

from captionlab.campaign import Campaign
from captionlab.files import canonical_json
from captionlab.specs import Spec

# The readings, in table order, with their files.
RELEASE_FILES = {
    "suites": ("release/suites.json", "release/cosines.safetensors"),
    "geometry": ("release/geometry.json",),
    "serving": ("release/serving.json",),
}
RELEASE_TABLES = ("tables/release.md", "tables/release.csv")
RELEASE_SPARE_KEYS = ("card", "readings")


def release_readings(campaign: Campaign) -> tuple[str, ...]:
    """What is read of the published model; none where config names no model."""
    release = campaign.config.get("release")
    if release is None:
        return ()
    asked = release.get("readings", RELEASE_FILES)
    return tuple(name for name in RELEASE_FILES if name in asked)


def release_artifacts(campaign: Campaign) -> tuple[str, ...]:
    """Paths below the results root of all that is made of the published model: its readings, then its table."""
    readings = tuple(file for name in release_readings(campaign) for file in RELEASE_FILES[name])
    return (*readings, *RELEASE_TABLES) if readings else ()


def release_spec(campaign: Campaign) -> str:
    """The readings that config asks for of the published model that it names; what the others need is left out."""
    config, evaluation = campaign.config, campaign.config["evaluation"]
    release = {key: value for key, value in config["release"].items() if key not in RELEASE_SPARE_KEYS}
    readings = release_readings(campaign)
    spec: Spec = {"release": release, "readings": list(readings), "compute": config["compute"]}
    if "suites" in readings:
        spec |= {
            "ceiling": evaluation["ceiling"],
            "suites": [campaign.development_suite, *campaign.test_suites],
        }
    if "geometry" in readings:
        spec |= {
            "caption_ceiling": config["training"]["ceiling"],
            "geometry": {key: evaluation[key] for key in ("development", "test", "allow_fewer", "seed")},
        }
    return canonical_json(spec)


def release_table_spec(campaign: Campaign) -> str:
    """The release's table: rows, and the row of the card they are held against."""
    return canonical_json(
        {
            "campaign": campaign.name,
            "suites": list(campaign.test_suites),
            "development_suite": campaign.development_suite,
            "card": campaign.config["release"].get("card"),
            "readings": list(release_readings(campaign)),
        }
    )
