"""All pairs of features in each service, by the enumeration: `python -m pairs.matrix --service solve` (in tests/).

It prints how many pairs each service solves rightly, proves, refuses and gets wrong, and all that is not right.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path

from pairs.features import FEATURES, PAIRS, make_sense
from pairs.refusals import write_refusals
from pairs.services import SERVICES, Case, Kind, Verdict, judge

GOOD = (Kind.PROVED, Kind.RIGHT)
REFUSALS = (Kind.REFUSED, Kind.BLUNT)


def triples(number: int, seed: int) -> list[tuple[str, ...]]:
    """Return so many triples of features that make sense together, drawn by `seed`."""
    every = [each for each in combinations(FEATURES, 3) if make_sense(each)]
    return random.Random(seed).sample(every, min(number, len(every)))


def judge_one(work: tuple[str, tuple[str, ...], float]) -> tuple[str, tuple[str, ...], Verdict]:
    """Return the verdict on one case; whatever takes much longer than its limit is interrupted."""
    name, names, limit = work
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 3 * limit + 30)
    try:
        return name, names, judge(name, Case(names, limit))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def interrupt(*_: object) -> None:
    raise TimeoutError("it heeds no limit")


def judge_all(
    services: Iterable[str], cases: Iterable[tuple[str, ...]], limit: float, jobs: int
) -> Iterator[tuple[str, tuple[str, ...], Verdict]]:
    """Yield the verdict of each service on each combination of features."""
    work = [(name, names, limit) for name in services for names in cases]
    if jobs == 1:
        yield from map(judge_one, work)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(judge_one, work)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service", action="append", choices=SERVICES)
    parser.add_argument("--pair", help="features, separated by commas, instead of all pairs")
    parser.add_argument("--with", dest="containing", help="only pairs with this feature")
    parser.add_argument("--share", type=int, default=1, help="one in so many pairs")
    parser.add_argument("--triples", type=int, default=0, help="so many triples instead of the pairs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10, help="seconds for each answer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--unproved", action="store_true", help="print the right answers without a proof, too")
    parser.add_argument("--write-refusals", action="store_true", help="write the refused pairs to their table")
    parser.add_argument("--out", type=Path, help="a folder for one file per service")
    given = parser.parse_args()
    cases: list[tuple[str, ...]] = [*PAIRS]
    if given.pair:
        cases = [tuple(given.pair.split(","))]
    elif given.triples:
        cases = triples(given.triples, given.seed)
    elif given.containing:
        cases = [each for each in PAIRS if given.containing in each]
    cases = cases[given.seed % given.share :: given.share]
    services = given.service or [*SERVICES]
    refused: dict[str, list[tuple[str, ...]]] = {name: [] for name in services}
    counts: dict[str, Counter[Kind]] = {name: Counter() for name in services}
    lines: dict[str, list[str]] = {name: [] for name in services}
    for name, names, verdict in judge_all(services, cases, given.limit, given.jobs):
        counts[name][verdict.kind] += 1
        if verdict.kind in REFUSALS:
            refused[name].append(names)
        is_told = verdict.kind not in GOOD or (given.unproved and verdict.kind is Kind.RIGHT)
        if is_told or given.pair:
            line = f"{name} {'+'.join(names)}: {verdict.kind.name} {' '.join(verdict.reason.split())}"
            lines[name].append(line)
            tell(line)
    print_table(counts, len(cases))
    if given.write_refusals and len(cases) == len(PAIRS):
        for name in services:
            write_refusals(name, refused[name])
    if given.out:
        for name in services:
            said = ", ".join(f"{kind.name} {number}" for kind, number in counts[name].items())
            (given.out / f"{name}.txt").write_text("\n".join([f"{len(cases)} cases: {said}", *sorted(lines[name]), ""]))


def print_table(counts: dict[str, Counter[Kind]], size: int) -> None:
    heads = ["service", "right", "proved", *[each.name.lower() for each in Kind if each not in GOOD]]
    tell(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, found in counts.items():
        numbers = [found[Kind.PROVED] + found[Kind.RIGHT], found[Kind.PROVED]]
        numbers += [found[each] for each in Kind if each not in GOOD]
        tell(f"| {name} | {' | '.join(map(str, numbers))} |")
    tell(f"\nof {size} combinations")


if __name__ == "__main__":
    main()
