"""How much of the random and the heavy tests one run does: a part, which the commit draws; `make test-all` does all.

TESTED_PART=0…11 names a twelfth. A test that is made once for each seed is left out but for its twelfth of the seeds,
readers are fuzzed and domains checked a twelfth of them at a time, and Hypothesis draws a twelfth of the examples,
others in each twelfth. A test that goes through many cases takes a `share` of them. Of the tests of `HEAVY` modules, a
run of all tests does a third, another one in the twelfths 0, 1 and 2; who names a file gets all of it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from zlib import crc32

PARTS = 12
DRAWN = ("seed", "block", "fuzzed", "checked")
"""Parameters of tests that are made once for each seed, block of seeds, fuzzed reader, or checked domain."""

HEAVY_PARTS = 3
HEAVY = frozenset(
    {
        "tests/benchmarks/test_peer_installation.py",
        "tests/benchmarks/test_places.py",
        "tests/benchmarks/test_service_load.py",
        "tests/executor/desk/pages/test_live_page_in_browser.py",
        "tests/executor/desk/pages/test_page_accessibility.py",
        "tests/executor/desk/pages/test_page_in_browser.py",
        "tests/executor/doors/test_killed_doors.py",
        "tests/executor/doors/test_one_fault_one_status.py",
        "tests/executor/foreign_tools/test_bad_servers.py",
        "tests/executor/loop/test_questions.py",
        "tests/executor/mcp_server/test_mcp_processes.py",
        "tests/executor/observe/test_believed_reports.py",
        "tests/executor/promises/test_claims_crashes.py",
        "tests/executor/promises/test_claims_faults.py",
        "tests/executor/tools/test_hostile.py",
        "tests/executor/workers/test_clocks.py",
        "tests/executor/workers/test_full_disk.py",
        "tests/executor/workers/test_killed_workers.py",
        "tests/executor/workers/test_outages.py",
        "tests/executor/workers/test_shared_limits.py",
        "tests/executor/workers/test_worker_command.py",
        "tests/htn/test_counted_looks.py",
        "tests/htn/test_purpose_lint.py",
        "tests/oracles/test_engines_child.py",
        "tests/oracles/test_engines_foreign.py",
        "tests/oracles/test_engines_ours.py",
        "tests/oracles/test_htn_engines.py",
        "tests/oracles/test_htn_unified.py",
        "tests/planner/cli/test_cli_process.py",
        "tests/planner/cli/test_endless_input.py",
        "tests/planner/lint/test_check_numbers.py",
        "tests/planner/lint/test_likeness.py",
        "tests/planner/lint/test_outsiders.py",
        "tests/planner/portfolio/test_plain.py",
        "tests/planner/pruning/test_numeric_symmetries.py",
        "tests/planner/test_counted_looks.py",
        "tests/planner/topk/test_candidates_declared_random.py",
    }
)
"""Modules whose tests take 0.2 s and more each: they start processes or browsers, or try many changed models.

On 28 November 2026 they took 950 of the 2,400 seconds of all tests.
"""


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


def is_heavy(item) -> bool:
    """Return whether a run of all tests does a third of the tests beside it."""
    return item.nodeid.split("::")[0] in HEAVY


def left_out(items, *, is_whole: bool) -> list:
    """Return the tests that belong to other parts: of those that are made for two seeds or more, and of heavy ones.

    Heavy ones are left out where the run `is_whole`, of all tests.
    """
    groups = {}
    for item in items:
        name = _seed_of(item)
        if name is not None:
            others = sorted((key, repr(value)) for key, value in item.callspec.params.items() if key != name)
            groups.setdefault((item.nodeid.split("[")[0], repr(others)), []).append(item)
    found = [
        item for item in items if is_whole and is_heavy(item) and (crc32(item.nodeid.encode()) - PART) % HEAVY_PARTS
    ]
    for key, group in groups.items():
        if len(group) > 1:
            first = crc32(repr(key).encode()) + PART
            found += [item for place, item in enumerate(group, first) if place % PARTS]
    return found


def _seed_of(item) -> str | None:
    """Return the name of the parameter that is a seed, if the test has one."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return next((name for name in DRAWN if name in params), None)
