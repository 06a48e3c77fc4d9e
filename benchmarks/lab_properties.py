"""Properties of downward-lab as records, and records as such properties.

Lab (Seipp et al. 2017, https://lab.readthedocs.io) collects the runs of an experiment in the file `properties`, or
`properties.xz`, of its evaluation folder: a JSON object that gives for each run's id the attributes of the run. Its
reports read nothing else. Attributes that no field of a record stands for are kept with the record, and written again.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.planners import Outcome
from benchmarks.planners.downward import EXIT_CODES, Downward
from benchmarks.records import Record, read_records
from benchmarks.report import PLANS
from planner.errors import DocumentError, Location

NAMES: Final = ("properties", "properties.xz")
"""The names of the file in an evaluation folder."""
KIB: Final = 1024
"""KiB in a MiB, and MiB in a GiB."""
GREATEST: Final = sys.float_info.max
RAW: Final = "raw_"
"""Lab gives the results of runs without an answer other names, so that its means leave them out."""
ANSWERS: Final[Mapping[str, Sequence[str]]] = {
    "cost": ("cost",),
    "plan_length": ("plan_length",),
    "cpu_seconds": ("planner_time",),
    "search_seconds": ("total_time",),
    "effort_seconds": ("search_time",),
    "evaluations": ("evaluated", "evaluations"),
    "expansions": ("expansions",),
    "generated": ("generated",),
}
"""Lab's attributes for fields of records, of runs with an answer; else `RAW` stands before them."""
ALWAYS: Final = {"wall_seconds": "planner_wall_clock_time", "translate_seconds": "translator_time_done"}
"""Lab's attributes for fields of records, of any run."""
OWN: Final = (
    "suite",
    "configuration",
    "lower_bound",
    "start_seconds",
    "stored_states",
    "search_bytes",
    "checks",
    "sizes",
    "features",
    "by",
    "tier",
    "ended_by",
    "detail",
    "tracks",
    "shortest_known",
    "versions",
    "date",
    "round",
)
"""Fields of records that are attributes of their own name, where they say something. Plans stay where they are."""
ERRORS: Final = {
    Outcome.OPTIMAL: "success",
    Outcome.SOLVED: "success",
    Outcome.GROUNDED: "success",
    Outcome.UNSOLVABLE: "search-unsolvable",
    Outcome.UNKNOWN: "search-unsolved-incomplete",
    Outcome.TIME: "search-out-of-time",
    Outcome.MEMORY: "search-out-of-memory",
    Outcome.GUARD: "wall-clock-guard",
    Outcome.UNSUPPORTED: "search-unsupported",
    Outcome.ERROR: "search-critical-error",
    Outcome.INVALID: "invalid-plan",
}
"""Lab's words for outcomes, in the attribute `error`; it has none for the guard and for plans that are refused."""
WORDS: Final = {
    "unsolvable": Outcome.UNSOLVABLE,
    "incomplete": Outcome.UNKNOWN,
    "wall-clock": Outcome.GUARD,
    "out-of-memory-and-time": Outcome.TIME,
    "out-of-time": Outcome.TIME,
    "timeout": Outcome.TIME,
    "out-of-memory": Outcome.MEMORY,
    "unsupported": Outcome.UNSUPPORTED,
    "invalid-plan": Outcome.INVALID,
}
"""Outcomes by what occurs in `error`, the first that does."""


def is_properties(text: str) -> bool:
    """Return whether `text` is an object of objects, as Lab writes it, and no lines of records."""
    first = text.lstrip().partition("\n")[0].strip()
    if first == "{":
        return True
    try:
        value = json.loads(first if first.endswith("}") else text)
    except ValueError:
        return False
    return isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())


def read_results(path: Path) -> list[Record]:
    """Return the records in `path`: our results, Lab's properties (also packed by xz), or an evaluation folder of Lab.

    Raises `DocumentError` where it is something else.
    """
    if path.is_dir():
        path = next((path / name for name in NAMES if (path / name).is_file()), path)
    if path.is_dir():
        hint = "give a file of results, or an evaluation folder of Lab"
        raise DocumentError("this is a folder without a file `properties`", Location(str(path)), hint)
    try:
        content = path.read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    except UnicodeDecodeError as error:
        message = f"the file is no UTF-8 text: {error.reason} at offset {error.start}"
        raise DocumentError(message, Location(str(path))) from None
    except lzma.LZMAError as error:
        raise DocumentError(f"the file cannot be unpacked: {error}", Location(str(path))) from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror}", Location(str(path))) from None
    return parse_properties(text, path) if path.suffix == ".xz" or is_properties(text) else read_records(path)


def parse_properties(text: str, path: Path) -> list[Record]:
    """Return the records of the runs in `text`, the content of `path`; raises `DocumentError` where one is no run."""
    try:
        runs = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else ()
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise DocumentError(f"the properties are no JSON: {said}", Location(str(path), *place)) from None
    if not isinstance(runs, dict):
        raise DocumentError(f"found {_describe(runs)}, expected an object with a run for each id", Location(str(path)))
    return [_RunReader(name, run, path).record() for name, run in runs.items()]


def _shorten(number: float) -> float:
    """Return `number`, as an int where it is one."""
    return int(number) if float(number).is_integer() else number


def _describe(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


class _RunReader:
    """Reads one run of a properties file; what is wrong is told with the file, the run and the attribute."""

    def __init__(self, name: str, run: Any, path: Path) -> None:
        self.name, self.path = name, path
        if not isinstance(run, dict):
            raise self.fault(f"it is {_describe(run)}, expected an object of attributes")
        self.run: dict[str, Any] = run

    def fault(self, message: str) -> DocumentError:
        """Return the error that says `message` of this run."""
        return DocumentError(f"run '{self.name}': {message}", Location(str(self.path)))

    def is_ours(self) -> bool:
        """Return whether `attributes_of` wrote the run, so that attributes named like fields of records are those."""
        return self.run.get("outcome") in list(Outcome) and "configuration" in self.run

    def text(self, attribute: str) -> str:
        """Return the text that `attribute` must have."""
        value = self.run.get(attribute)
        if not isinstance(value, str) or not value:
            found = f"is {_describe(value)}" if attribute in self.run else "is missing"
            raise self.fault(f"the attribute `{attribute}` {found}, expected a name")
        return value

    def number(self, *attributes: str) -> float | None:
        """Return the number of the first of `attributes` that there is."""
        for attribute in attributes:
            value = self.run.get(attribute)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not -GREATEST <= value <= GREATEST:
                raise self.fault(f"the attribute `{attribute}` is {_describe(value)}, expected a finite number")
            return _shorten(value)
        return None

    def record(self) -> Record:
        """Return the record, with all attributes of the run."""
        domain, problem = self.text("domain"), self.text("problem")
        own = {name: self.run[name] for name in OWN if self.is_ours() and self.run.get(name) is not None}
        values: dict[str, Any] = {
            "suite": "",
            **own,
            **{field: self.run[attribute] for field, attribute in ALWAYS.items() if self.number(attribute) is not None},
            "domain": domain,
            "task": self.text("task") if self.is_ours() and "task" in self.run else f"{domain}/{problem}",
            "planner": self.text("algorithm"),
            "limits": self.limits(),
            "outcome": self.outcome(),
        }
        values.setdefault("configuration", " ".join(self.options()) or values["planner"])
        for field, attributes in ANSWERS.items():
            number = self.number(*attributes, *(RAW + attribute for attribute in attributes))
            if number is not None:
                values[field] = number
        values.setdefault("cpu_seconds", self.cpu_seconds(values))
        memory = self.number("planner_memory", "memory", RAW + "memory")
        if memory is not None:
            values["peak_mib"] = round(memory / KIB, 1)
        if values["outcome"] is Outcome.OPTIMAL:
            values.setdefault("lower_bound", values.get("cost"))
        if values["outcome"] is Outcome.ERROR:
            values.setdefault("detail", str(self.run.get("error", "")))
        try:
            return replace(Record.from_line(json.dumps(values)), attributes=self.run)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.fault(f"the attribute {error}") from None

    def cpu_seconds(self, values: Mapping[str, Any]) -> float:
        """Return the CPU time of a run without `planner_time`: its limit after a time-out, else what the parts took."""
        if values["outcome"] is Outcome.TIME and "cpu_seconds" in values["limits"]:
            return float(values["limits"]["cpu_seconds"])
        return float(values.get("translate_seconds", 0.0) + values.get("search_seconds", 0.0))

    def limits(self) -> dict[str, float]:
        """Return the limits of CPU time and memory that the run tells."""
        seconds = self.number("planner_time_limit", "time_limit", "limit_search_time")
        mebibytes = self.number("planner_memory_limit", "memory_limit", "limit_search_memory")
        limits = {"cpu_seconds": seconds, "memory_gib": None if mebibytes is None else mebibytes / KIB}
        return {name: value for name, value in limits.items() if value is not None}

    def options(self) -> list[str]:
        """Return the options of Fast Downward that the run was made with, where it tells them."""
        told = (self.run.get(name) for name in ("driver_options", "component_options"))
        return [str(option) for options in told if isinstance(options, list) for option in options]

    def outcome(self) -> Outcome:
        """Return the outcome by `outcome`, unless `coverage` contradicts it, else by what Lab knows."""
        coverage, unsolvable = self.number("coverage"), self.number("unsolvable")
        found = self.run.get("cost") is not None if coverage is None else bool(coverage)
        if self.is_ours() and (self.run["outcome"] in PLANS) == found:
            return Outcome(self.run["outcome"])
        if found:
            return Outcome.OPTIMAL if self.proves() else Outcome.SOLVED
        error = str(self.run.get("error") or "")
        if unsolvable:
            return Outcome.UNSOLVABLE
        code = int(self.number("planner_exit_code") or 0)
        by_code = EXIT_CODES.get(code, Outcome.ERROR if error else Outcome.UNKNOWN)
        return next((outcome for word, outcome in WORDS.items() if word in error), by_code)

    def proves(self) -> bool:
        """Return whether the options are those of a configuration of Fast Downward whose plans are optimal.

        Where the translator's count of axioms is not told, there may be some.
        """
        if self.run.get("error") != "success":
            return False
        options = self.options()
        given = dict(pairwise(options))
        search = f"alias={given['--alias']}" if "--alias" in given else given.get("--search", "")
        features = frozenset() if self.run.get("translator_axioms") == 0 else frozenset({"axioms"})
        return Downward("", search.replace(" ", "")).proves(features)


def adopt_suites(records: Sequence[Record]) -> list[Record]:
    """Return `records`, those without a suite as runs of the same task in the suite that another record names.

    Lab names no suites. A task is the same where domain and problem are, with or without folders above; where several
    suites have it, or none, it stays without.
    """
    places: dict[str, set[tuple[str, str, str]]] = {}
    for record in records:
        words = f"{record.domain}/{_problem_of(record)}".split("/")
        for first in range(len(words) if record.suite else 0):
            places.setdefault("/".join(words[first:]), set()).add((record.suite, record.domain, record.task))
    return [
        replace(record, suite=found[0][0], domain=found[0][1], task=found[0][2])
        if not record.suite and len(found := list(places.get(record.task, ()))) == 1
        else record
        for record in records
    ]


def _problem_of(record: Record) -> str:
    """Return the name of the task without its domain; tasks of a suite without folders have none in their names."""
    return record.task.removeprefix(f"{record.domain}/")


@cache
def _fields() -> dict[str, Field[Any]]:
    return {one.name: one for one in fields(Record)}


def _has_default(record: Record, name: str) -> bool:
    one = _fields()[name]
    default = one.default_factory() if one.default_factory is not MISSING else one.default
    return bool(getattr(record, name) == default)


def attributes_of(record: Record) -> dict[str, Any]:
    """Return the attributes of `record` for Lab: those that it was read with, or else what its fields say."""
    if record.attributes:
        return dict(record.attributes)
    answered = record.outcome in PLANS or record.outcome is Outcome.UNSOLVABLE
    problem = _problem_of(record)
    run: dict[str, Any] = {
        "algorithm": record.planner,
        "domain": record.domain,
        "problem": problem,
        "id": [record.planner, record.domain, problem],
        "coverage": int(record.outcome in PLANS),
        "unsolvable": int(record.outcome is Outcome.UNSOLVABLE),
        "error": ERRORS[record.outcome],
        "outcome": str(record.outcome),
        "component_options": [record.configuration],
        RAW + "memory": round(record.peak_mib * KIB),
    }
    if f"{record.domain}/{problem}" != record.task:
        run["task"] = record.task
    if record.outcome in (Outcome.ERROR, Outcome.INVALID):
        run["unexplained_errors"] = [record.detail or str(record.outcome)]
    if answered:
        run |= {"memory": run[RAW + "memory"], "planner_memory": run[RAW + "memory"]}
    for field, attributes in ANSWERS.items():
        value = getattr(record, field)
        if value is not None:
            run |= {attribute if answered else RAW + attribute: value for attribute in attributes}
    run |= {attribute: getattr(record, field) for field, attribute in ALWAYS.items() if not _has_default(record, field)}
    if "cpu_seconds" in record.limits:
        run |= dict.fromkeys(("planner_time_limit", "time_limit"), record.limits["cpu_seconds"])
    if "memory_gib" in record.limits:
        run |= dict.fromkeys(("planner_memory_limit", "memory_limit"), _shorten(record.limits["memory_gib"] * KIB))
    return run | {name: getattr(record, name) for name in OWN if not _has_default(record, name)}


def write_properties(records: Iterable[Record], *, packed: bool = False) -> tuple[bytes, int]:
    """Return the properties of `records`, and how many of them share algorithm, domain and problem with one before.

    These have a number at the end of their ids; Lab's reports show the last of them. `packed` by xz on request.
    """
    runs: dict[str, dict[str, Any]] = {}
    seen: Counter[str] = Counter()
    for record in records:
        run = attributes_of(record)
        told = run.get("id")
        words = list(map(str, told if isinstance(told, list) else (run["algorithm"], run["domain"], run["problem"])))
        name = "-".join(words)
        seen[name] += 1
        if seen[name] > 1 or name in runs:
            run["id"] = [*words, str(seen[name])]
            name = "-".join(run["id"])
        runs[name] = dict(sorted(run.items()))
    content = json.dumps(runs, indent=2).encode()
    return lzma.compress(content) if packed else content, sum(count - 1 for count in seen.values())
