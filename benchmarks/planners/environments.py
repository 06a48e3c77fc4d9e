"""Peers in Python environments of their own, so that what they install does not meet what we do.

They lie in one folder, each in a folder named by its distribution: `python -m venv FOLDER/jupyddl`, and then
`FOLDER/jupyddl/bin/pip install jupyddl`. The folder is `FORETHOUGHT_PEERS`, or else `forethought/peers` in the user's
cache.
"""

from __future__ import annotations

import os
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

VARIABLE: Final = "FORETHOUGHT_PEERS"


def peers_folder() -> Path:
    """Return the folder of environments, whether it exists or not."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(VARIABLE) or Path(cache) / "forethought" / "peers").absolute()


def interpreter_of(package: str) -> Path:
    """Return the interpreter of the environment of `package`, whether it exists or not."""
    return peers_folder() / package / "bin" / "python"


def version_in_own(package: str) -> str | None:
    """Return the version of `package` in an environment of its own; None where there is none."""
    places = [str(path) for path in (peers_folder() / package / "lib").glob("python*/site-packages")]
    return next((one.version for one in distributions(name=package, path=places)), None)
