"""How much of the random tests one run does: a twelfth, which the commit draws; `make test-all` does all twelve.

TESTED_PART=0…11 names a twelfth. A test that is made once for each seed is left out but for its twelfth of the seeds,
readers are fuzzed and domains checked a twelfth of them at a time, and Hypothesis draws a twelfth of the examples,
others in each twelfth. A test that goes through many cases takes a `share` of them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from zlib import crc32

PARTS = 12
DRAWN = ("seed", "block", "fuzzed", "checked")
"""Parameters of tests that are made once for each seed, block of seeds, fuzzed reader, or checked domain."""


def part() -> int:
    """Return the twelfth that is named, or else drawn by the commit; 0 where there is none."""
    named = os.environ.get("TESTED_PART")
    if named is not None:
        return int(named) % PARTS
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout, 16) % PARTS if done.returncode == 0 else 0


PART = part()


def examples(number: int) -> int:
    """Return how many of so many examples Hypothesis draws in this run."""
    return -(-number // PARTS)


def share(cases, number: int):
    """Return one of `number` equal shares of a sequence of cases, another in each of so many twelfths."""
    assert PARTS % number == 0
    first, end = (len(cases) * place // number for place in (PART % number, PART % number + 1))
    return cases[first:end]


def is_drawn(item) -> bool:
    """Return whether a test is another one in each twelfth."""
    shares = share.__name__ in item.obj.__code__.co_names
    return shares or hasattr(item.obj, "hypothesis") or _seed_of(item) is not None


def left_out(items) -> list:
    """Return the tests that belong to other twelfths: of those that are made for two seeds or more."""
    groups = {}
    for item in items:
        name = _seed_of(item)
        if name is not None:
            others = sorted((key, repr(value)) for key, value in item.callspec.params.items() if key != name)
            groups.setdefault((item.nodeid.split("[")[0], repr(others)), []).append(item)
    found = []
    for key, group in groups.items():
        if len(group) > 1:
            first = crc32(repr(key).encode()) + PART
            found += [item for place, item in enumerate(group, first) if place % PARTS]
    return found


def _seed_of(item) -> str | None:
    """Return the name of the parameter that is a seed, if the test has one."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return next((name for name in DRAWN if name in params), None)
