"""Errors a person can cause and mend: one line each, never a traceback."""


class CaptionlabError(Exception):
    """The thing, the place, what was expected and what to do, in one line.

    `python -m captionlab` prints the line and exits with `exit_code`.
    """

    exit_code = 1


class ConfigError(CaptionlabError):
    """A campaign's config is wrong; the line names the key, the value and what is allowed."""

    exit_code = 2


class MissingFileError(CaptionlabError):
    """A file that an earlier stage or the user should have provided is not there."""

    exit_code = 3


class DamagedFileError(CaptionlabError):
    """A file is there but does not hold what its manifest or format promises."""

    exit_code = 4
