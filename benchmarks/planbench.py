"""Plans of language models, from PlanBench (Valmeekam et al., 2023): judged, and repaired with the least change.

`python -m benchmarks.planbench FOLDER` reads `plans.jsonl` and the instances in FOLDER, and prints a table. Each plan
is judged as it is written, and compared with the recorded verdict. Where these differ, Fast Downward decides. A wrong
plan is repaired: as many of its steps as possible are kept, in their order, and as few new ones as possible added. That
no plan keeps more is proved, or that there is no plan at all. Fast Downward carries out every repaired plan, too.

What a text has besides steps in parentheses is dropped, with a note. Steps whose action or objects the problem does not
have make a plan wrong, and cannot be kept.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.report import format_table
from benchmarks.validators.fast_downward import check
from executor.agent.foreign_plans.repair_plan import RepairStatus, repair_plan
from planner import InputError, Problem, Status, Step, load, validate
from planner.language.pddl.plan_files import write_plan
from planner.problem_kinds import classical_of
from planner.questions import read_step

Words = tuple[str, ...]
"""A step as it is written: an action and its arguments."""
_EXPRESSION: Final = re.compile(r"\(\s*[^\s()]+(?:\s+[^\s()]+)*\s*\)")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded plan: its set, the paths of its task, its steps, what was dropped of its text, and the verdict."""

    set: str
    domain: Path
    problem: Path
    steps: tuple[Words, ...]
    dropped: tuple[str, ...]
    correct: bool


def read_records(folder: Path) -> Iterator[Recorded]:
    """Read the plans in `folder`."""
    for line in (folder / "plans.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        steps, dropped = split_text(data["plan"])
        domain, problem = (folder / "instances" / data[key] for key in ("domain", "problem"))
        yield Recorded(data["set"], domain, problem, steps, dropped, data["correct"])


def split_text(text: str) -> tuple[tuple[Words, ...], tuple[str, ...]]:
    """Return the steps in a text, and the pieces of text that are none."""
    found = [tuple(each[1:-1].lower().split()) for each in _EXPRESSION.findall(text)]
    rest = [piece.strip() for piece in _EXPRESSION.sub("\n", text).splitlines()]
    return tuple(found), tuple([piece for piece in rest if piece])


def write_steps(steps: Sequence[Words]) -> str:
    """Return steps as a plan file."""
    return "".join([f"({' '.join(step)})\n" for step in steps])


def judge(problem: Problem, steps: Sequence[Words]) -> bool:
    """Return whether `steps`, as they are written, are a valid plan."""
    try:
        read = [read_step(problem, f"({' '.join(step)})") for step in steps]
    except InputError:
        return False
    return validate(problem, read).valid


@dataclass(slots=True)
class Tally:
    """The plans of one set."""

    plans: int = 0
    agree: int = 0
    refuted: int = 0
    open: int = 0
    wrong: int = 0
    repaired: int = 0
    least: int = 0
    impossible: int = 0
    unknown: int = 0
    given: int = 0
    kept: int = 0
    new: int = 0
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the numbers of another set."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, name: str) -> list[str]:
        """Return the row of the table."""
        share = f"{100 * self.kept / self.given:.1f} %" if self.given else ""
        times = [f"{median(self.seconds):.3f}", f"{max(self.seconds):.2f}"] if self.seconds else ["", ""]
        counts = [self.plans, self.agree, self.refuted, self.open, self.wrong, self.repaired, self.least]
        return [name, *map(str, [*counts, self.impossible, self.unknown]), share, str(self.new), *times]


HEADINGS: Final = [
    *("set", "plans", "agree", "record wrong", "open", "wrong", "repaired", "least", "impossible"),
    *("unknown", "steps kept", "new steps", "median s", "max s"),
]


def judge_set(name: str, records: Sequence[Recorded], time_limit: float) -> Tally:
    """Judge and repair the plans of one set."""
    tally = Tally(plans=len(records))
    problems = {each.problem: classical_of(load(each.domain, each.problem)) for each in records}
    for record in records:
        problem, label = problems[record.problem], f"{name}, {record.problem.name}"
        if record.dropped:
            print(f"{label}: dropped {', '.join(map(repr, record.dropped))}")  # noqa: T201
        valid = judge(problem, record.steps)
        if valid is record.correct:
            tally.agree += 1
        else:
            _settle(tally, label, record, valid=valid)
        if not valid:
            _repair(tally, label, record, problem, time_limit)
    return tally


def _settle(tally: Tally, label: str, record: Recorded, *, valid: bool) -> None:
    """Let Fast Downward decide between the record and our verdict."""
    verdict = check(record.domain, record.problem, write_steps(record.steps))
    is_refuted = verdict.valid is valid and (verdict.valid or verdict.invalid)
    tally.refuted += is_refuted
    tally.open += not is_refuted
    print(f"{label}: recorded as {'correct' if record.correct else 'wrong'}; Fast Downward: {verdict.said}")  # noqa: T201


def _repair(tally: Tally, label: str, record: Recorded, problem: Problem, time_limit: float) -> None:
    """Repair a wrong plan; let Fast Downward carry out the result."""
    tally.wrong += 1
    began = time.process_time()
    given = [Step(name, tuple(arguments)) for name, *arguments in record.steps]
    found = repair_plan(problem, given, time_limit=time_limit)
    tally.seconds.append(time.process_time() - began)
    if found.status is RepairStatus.REFUSED:
        is_impossible = found.search is Status.UNSOLVABLE
        tally.impossible += is_impossible
        tally.unknown += not is_impossible
        print(f"{label}: {'impossible' if is_impossible else 'not repaired'}: {found.reason}")  # noqa: T201
        return
    assert found.plan is not None
    verdict = check(record.domain, record.problem, write_plan(found.plan))
    if not verdict.valid:
        raise RuntimeError(f"{label}: Fast Downward calls the repaired plan {verdict.said}")
    tally.repaired += 1
    tally.least += found.least
    tally.given += len(given)
    tally.kept += len(found.kept)
    tally.new += len(found.inserted)
    if not found.least:
        print(f"{label}: kept {len(found.kept)} of {len(given)}, not proved to be the most: {found.reason}")  # noqa: T201


def main(arguments: list[str] | None = None) -> None:
    """Judge and repair all plans of a folder, and print the table."""
    parser = ArgumentParser("python -m benchmarks.planbench", description=main.__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="Folder with plans.jsonl and instances/.")
    parser.add_argument("--set", action="append", metavar="NAME", help="Only this set; may be repeated.")
    parser.add_argument("--time-limit", type=float, default=30.0, metavar="SECONDS", help="For each repair.")
    given = parser.parse_args(arguments)
    if not (given.folder / "plans.jsonl").is_file():
        parser.error(f"there is no file {given.folder / 'plans.jsonl'}")
    sets: dict[str, list[Recorded]] = defaultdict(list)
    for record in read_records(given.folder):
        sets[record.set].append(record)
    unknown = [name for name in given.set or () if name not in sets]
    if unknown:
        parser.error(f"there is no set {unknown[0]!r}; there are {', '.join(sets)}")
    tallies = {name: judge_set(name, sets[name], given.time_limit) for name in given.set or sets}
    whole = Tally()
    for tally in tallies.values():
        whole.add(tally)
    rows = [tally.row(name) for name, tally in tallies.items()]
    sys.stdout.write(format_table(HEADINGS, [*rows, whole.row("all")]))


if __name__ == "__main__":
    main()
