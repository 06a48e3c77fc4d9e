"""Makes environments of peers with venv and pip, and says what is in them.

An environment counts when it is finished: while it is made, a mark stands beside it, and what a killed installation has
left is made anew by the next one. pip takes its index, proxies and the like from its own configuration.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from platform import machine, python_version, system
from typing import IO, Final

from benchmarks.planners import NAMED, find_installed, planner_of
from benchmarks.planners.environments import (
    find_own_distribution,
    find_peers_folder,
    find_site_packages,
    interpreter_of,
    unfinished_mark_of,
)
from benchmarks.records import report_write_errors

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DOWNWARD: Final = "builds/release/bin/downward"
IMPORTS: Final = {
    "gtpyhop": "gtpyhop",
    "jupyddl": "jupyddl",
    "kairos-planner": "kairos",
    "up-aries": "up_aries",
    "up-nextflap": "up_nextflap",
}
"""The modules whose import shows that a peer in Python works here."""
BINARIES: Final = {
    "kstar-planner": f"kstar_planner/{DOWNWARD}",
    "up-fast-downward": f"up_fast_downward/downward/{DOWNWARD}",
    "up-symk": f"up_symk/symk/{DOWNWARD}",
}
"""The programs whose start shows that a peer with a binary works here."""
USAGES: Final = {"up-lpg": ("up_lpg/lpg", "LPG-td")}
"""The programs that show how to call them, in words that begin with these, and end with an error then."""
JARS: Final = {"up-enhsp": "up_enhsp/ENHSP/enhsp.jar"}
"""The Java archives whose main class must load: it shows that a peer in Java works here."""
PEERS: Final = (*BINARIES, *USAGES, *JARS, *IMPORTS)
"""The distributions of the peers that `bench` can run, but for those that are installed with us."""
OTHER_COMMANDS: Final = {"kstar-planner": "`bench candidates`", "up-symk": "`bench candidates`"}
PIP_DEFAULTS: Final = {"PIP_RETRIES": "2", "PIP_TIMEOUT": "15"}
"""How long pip waits for a network, unless its user says something else."""
BASE_PACKAGES: Final = frozenset({"pip", "setuptools", "wheel"})
NO_NETWORK: Final = re.compile(
    r"(Failed to establish a new connection|Failed to resolve|Temporary failure in name resolution|Connection refused"
    r"|ConnectTimeout|ReadTimeout|Read timed out|ProxyError|Network is unreachable)[^')]*"
)
LONGEST_REASON: Final = 300
LONGEST_LICENCE: Final = 80
"""In characters."""


@dataclass(frozen=True, slots=True)
class Installation:
    """How a peer stands: its version, licence, what else is in its environment, or the `failure` to install it.

    `where` is "own" for an environment of its own, "here" beside us, or empty.
    """

    package: str
    where: str = ""
    version: str = ""
    licence: str = ""
    beside: tuple[str, ...] = ()
    failure: str = ""
    already: bool = False

    @property
    def users(self) -> str:
        """The named planners and the commands that run it."""
        named = [label for label in NAMED if self.package in planner_of(label).packages]
        return ", ".join(filter(None, [*named, OTHER_COMMANDS.get(self.package)]))


def find_installation(package: str) -> Installation:
    """Return how `package` stands now."""
    own = find_own_distribution(package)
    if own is not None:
        others = [one for one in distributions(path=find_site_packages(package)) if one.name not in BASE_PACKAGES]
        beside = tuple(sorted({describe(one) for one in others if one.name != own.name}))
        return Installation(package, "own", own.version, read_licence(own), beside)
    if package in find_installed((package,)):
        here = distribution(package)
        return Installation(package, "here", here.version, read_licence(here))
    return Installation(package)


def describe(found: Distribution) -> str:
    """Return name, version and licence of a distribution."""
    return f"{found.name} {found.version} ({read_licence(found)})"


def read_licence(found: Distribution) -> str:
    """Return the licence that the metadata of a distribution state, in a few words: some state its whole text."""
    stated = [text for key in ("License-Expression", "License") for text in found.metadata.get_all(key) or ()]
    short = next((text.strip() for text in stated if len(text.strip().splitlines()) == 1), "UNKNOWN")
    if short != "UNKNOWN" and len(short) <= LONGEST_LICENCE:
        return short
    classified = [
        line.rpartition(" :: ")[2]
        for line in found.metadata.get_all("Classifier") or ()
        if line.startswith("License :: ")
    ]
    return ", ".join(classified) or "licence not stated"


def install_peer(package: str, tell: Callable[[str], None], *, fresh: bool = False) -> Installation:
    """Make the environment of `package`, unless it is there; `fresh` makes it anew. Failures are told in the answer.

    Another installation of the same peer is waited for. Raises `DocumentError` where the folder of environments cannot
    be written.
    """
    folder = find_peers_folder()
    with report_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".{package}.lock").open("a", encoding="utf-8")
    with lock, _locked(lock, package, tell), report_write_errors(folder / package):
        if find_own_distribution(package) is not None and not fresh:
            found = find_installation(package)
            return Installation(package, "own", found.version, found.licence, found.beside, already=True)
        place, mark = folder / package, unfinished_mark_of(package)
        environment = (place / "pyvenv.cfg").exists()
        ours = mark.exists() or (environment and fresh)
        if place.exists() and any(place.iterdir()) and not ours:
            hint = "--fresh makes it anew" if environment else "remove it"
            return Installation(package, failure=f"{place} is there, and is no environment of {package}; {hint}")
        tell(f"{package}: making an environment in {place}")
        mark.touch()
        shutil.rmtree(place, ignore_errors=True)
        failure = _make(package, place, lock)
        if failure:
            shutil.rmtree(place, ignore_errors=True)
        mark.unlink()
    return Installation(package, failure=failure) if failure else find_installation(package)


@contextmanager
def _locked(lock: IO[str], package: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock; the pip of a killed installation holds it, too, until it has ended."""
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"{package}: waiting for another installation of it")
            fcntl.flock(lock, fcntl.LOCK_EX)
    yield


def _make(package: str, place: Path, lock: IO[str]) -> str:
    """Make the environment, install and try the peer; return what went wrong, or nothing."""
    made = _run([sys.executable, "-I", "-m", "venv", str(place)], lock)
    if made is not None:
        return f"no environment could be made: {_shorten(made)}"
    python = str(interpreter_of(package))
    told = _run([python, "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off", package], lock)
    if told is not None:
        return explain_pip(told, package)
    tried = _run(_find_probe(package), lock)
    return "" if tried is None else f"it is installed, but does not start: {_shorten(tried)}"


def _find_probe(package: str) -> list[str]:
    """Return a command that fails where the peer does not work here."""
    if package in IMPORTS:
        return [str(interpreter_of(package)), "-I", "-c", f"import {IMPORTS[package]}"]
    if package in JARS:
        return ["java", "--dry-run", "-jar", _find_file(package, JARS[package])]
    if package in USAGES:
        program, words = USAGES[package]
        return ["sh", "-c", '"$0" -h | grep "$1"', _find_file(package, program), words]
    return [_find_file(package, BINARIES[package]), "--help"]


def _find_file(package: str, path: str) -> str:
    return next((str(Path(site, path)) for site in find_site_packages(package)), package)


def _run(command: list[str], lock: IO[str]) -> str | None:
    """Run `command`, which shares the lock; return what it has said if it failed."""
    environment = {**PIP_DEFAULTS, **os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            pass_fds=[lock.fileno()],
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return None if ran.returncode == 0 else f"{ran.stdout}\n{ran.stderr}\nexit code {ran.returncode}"


def explain_pip(told: str, package: str) -> str:
    """Return why pip could not install `package`, from what it has said."""
    here = f"Python {python_version()} on {system()} {machine()}"
    missing = re.search(r"No matching distribution found for ([^\s;]+)", told)
    unreachable = NO_NETWORK.search(told)
    if missing and unreachable:
        return f"the package index cannot be reached: {unreachable[0].strip()}"
    if missing and "require a different python version" in told:
        return f"no release of {missing[1]} is for {here}"
    if missing:
        return f"no file of {missing[1]} for {here} was found in the package index"
    if "building wheel" in told.lower() or "subprocess-exited-with-error" in told:
        return f"there is no wheel for {here}, and building one failed: {_shorten(told)}"
    return f"pip could not install {package}: {_shorten(told)}"


def _shorten(told: str) -> str:
    """Return the last line that names an error, else the last line but the exit code."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    return (errors or [line for line in lines if not line.startswith("exit code")] or lines)[-1][:LONGEST_REASON]
