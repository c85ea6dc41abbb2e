"""Which copy of the library jobs run: that of the checkout whose rules started them."""

import os
from pathlib import Path


def let_jobs_run(code: Path) -> None:
    """Put the folder that holds `captionlab` first on the import path of every process started from here.

    Whichever copy is installed, a job then runs the code whose fingerprint its rule has recorded.
    """
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(code), *([before] if before else [])])
