"""Peers in Python environments of their own, so that what they install does not meet what we do.

They lie in one folder, each in a folder named by its distribution. The folder is `FORETHOUGHT_PEERS`, or else
`forethought/peers` in the user's cache. `bench peers install` makes such environments; one that was made by hand, with
`python -m venv` and pip, does as well. A peer that is installed beside us counts, too, unless it needs an
interpreter of its own.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

VARIABLE: Final = "FORETHOUGHT_PEERS"
OWN_ENVIRONMENT: Final = frozenset({"gtpyhop", "jupyddl", "kairos-planner", "up-aries", "up-nextflap"})
"""Distributions that are looked for in environments of their own only: they run in their interpreters."""


def find_peers_folder() -> Path:
    """Return the folder of environments, whether it exists or not."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(VARIABLE) or Path(cache) / "forethought" / "peers").absolute()


def interpreter_of(package: str) -> Path:
    """Return the interpreter of the environment of `package`, whether it exists or not."""
    return find_peers_folder() / package / "bin" / "python"


def unfinished_mark_of(package: str) -> Path:
    """Return the file that is there while the environment of `package` is being made, or was not made to its end."""
    return find_peers_folder() / f".{package}.unfinished"


def find_site_packages(package: str) -> list[str]:
    """Return the folders in which the environment of `package` has what is installed."""
    return [str(path) for path in (find_peers_folder() / package / "lib").glob("python*/site-packages")]


def find_own_distribution(package: str) -> Distribution | None:
    """Return what is installed as `package` in an environment of its own; None where that is missing or unfinished."""
    if unfinished_mark_of(package).exists() or not interpreter_of(package).exists():
        return None
    return next(iter(distributions(name=package, path=find_site_packages(package))), None)


def find_own_version(package: str) -> str | None:
    """Return the version of `package` in an environment of its own; None where there is none."""
    found = find_own_distribution(package)
    return None if found is None else found.version


def find_installed(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of those distributions of `packages` that are installed, by themselves or here."""
    found = {package: find_own_version(package) or _find_version_here(package) for package in packages}
    return {package: version for package, version in found.items() if version is not None}


def _find_version_here(package: str) -> str | None:
    try:
        return None if package in OWN_ENVIRONMENT else version(package)
    except PackageNotFoundError:
        return None


def find_interpreter(package: str) -> str:
    """Return the interpreter that runs `package`: that of its environment, or ours."""
    return sys.executable if find_own_version(package) is None else str(interpreter_of(package))


def find_package_folder(name: str) -> Path:
    """Return the folder of an installed import package, in its own environment or here, without importing it."""
    package = name.replace("_", "-")
    if find_own_version(package) is not None:
        own = (Path(place, name) for place in find_site_packages(package))
        folder = next((place for place in own if place.is_dir()), None)
        if folder is None:
            raise ModuleNotFoundError(name)
        return folder
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(name)
    return Path(spec.submodule_search_locations[0])
