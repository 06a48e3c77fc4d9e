"""The profiles of libraries: what the tools have to do with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.tools.chains import multi
from benchmarks.tools.contended import locks, quotas, sessions
from benchmarks.tools.library import SUBJECTS, Library, Task
from benchmarks.tools.pool import dense
from benchmarks.tools.providers import providers
from benchmarks.tools.related import groups
from planner.errors import DocumentError, did_you_mean

PROFILES: Final[dict[str, Callable[[int, Random], Task]]] = {
    "groups": groups,
    "dense": dense,
    "multi": multi,
    "providers": providers,
    "quotas": quotas,
    "sessions": sessions,
    "locks": locks,
}
CONTENDED: Final = ("quotas", "sessions", "locks")
"""The profiles in which deletes bind."""
LEAST: Final = 10
"""The smallest library that there is."""


def generate(profile: str, size: int, seed: int = 0, *, subjects: int = 0) -> Library:
    """Return the library of `size` tools that `profile` and `seed` determine.

    With `subjects` the tools take parameters, and the goal is to be reached for that many subjects. Raises
    `DocumentError` for profiles that do not exist and for sizes and numbers of subjects out of range.
    """
    if profile not in PROFILES:
        raise DocumentError(f"there is no profile '{profile}'", hint=did_you_mean(profile, PROFILES))
    if size < LEAST:
        raise DocumentError(f"a library has {LEAST} tools or more, not {size}")
    if not 0 <= subjects <= len(SUBJECTS):
        raise DocumentError(f"the goal is for 0 to {len(SUBJECTS)} subjects, not {subjects}")
    random = Random(f"{profile} {size} {seed}")  # noqa: S311 - no secret
    task = PROFILES[profile](size, random)
    tools = list(task.tools)
    random.shuffle(tools)
    return Library(profile, size, seed, replace(task, tools=tools), subjects)
