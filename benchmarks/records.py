"""Results: one JSON object a line, appended as it comes, so that a killed run continues where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from math import inf
from pathlib import Path
from types import NoneType
from typing import Any, Final

from benchmarks.planners import COVERED, PROVED, Outcome
from planner.errors import DocumentError, Location

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BEGINNING: Final = b'{"suite": '
"""What every record begins with."""
NO_NUMBERS: Final = (inf, -inf)
"""What JSON as Python reads it may hold, and no measurement is."""
Key = tuple[str, str, str, str, str, int]
TaskId = tuple[str, str]
"""A suite, and the name of a task in it."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one planner did on one task.

    `checks` maps each validator that saw the plan to its verdict (see `benchmarks.validators`); `cost` is theirs where
    one states it, else the planner's claim; `makespan` is that of a plan in time, as it is written. Times are in
    seconds, `cpu_seconds` of all its processes together, `first_plan_seconds` until the first of several plans, where
    the planner tells, and `start_seconds` the CPU time that the planner takes for a trivial task, where that was
    measured; `peak_mib` is the resident memory of the largest of them. `evaluations`, `expansions`, `generated` and
    `stored_states` are those of the search by itself, `search_bytes` and `effort_seconds` the memory and the time that
    they took, where the planner tells. `tracks` are those of the task, and `shortest_known` the steps of the shortest
    plan that its suite knows. `by` is the search that had the last word, where the planner has several, and `tier` what
    ran it: plain Python or machine code. `ended_by` is the limit at which the process was killed, also where it had
    written a plan before: "cpu", "memory" or "wall", the wall-clock guard. `round` counts repetitions. `attributes` are
    those of the run in downward-lab's properties that it was read from.
    """

    suite: str
    domain: str
    task: str
    planner: str
    configuration: str
    outcome: Outcome
    cost: float | None = None
    lower_bound: float | None = None
    plan_length: int | None = None
    makespan: float | None = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    start_seconds: float | None = None
    translate_seconds: float | None = None
    search_seconds: float | None = None
    first_plan_seconds: float | None = None
    evaluations: int | None = None
    expansions: int | None = None
    stored_states: int | None = None
    search_bytes: int | None = None
    generated: int | None = None
    effort_seconds: float | None = None
    peak_mib: float = 0.0
    checks: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    by: str = ""
    tier: str = ""
    ended_by: str = ""
    detail: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    tracks: tuple[str, ...] = ()
    shortest_known: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    round: int = 0
    plan: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def guarded(self) -> bool:
        """Whether the wall-clock guard ended the process, be it with a plan or without."""
        return self.outcome is Outcome.GUARD or self.ended_by == "wall"

    @property
    def covered(self) -> bool:
        """Whether the planner did the task: a valid plan, a proof that there is none, or the ground task asked for."""
        return self.outcome in COVERED

    @property
    def proved(self) -> bool:
        """Whether the outcome is proved: an optimal plan, or none at all."""
        return self.outcome in PROVED

    @property
    def task_id(self) -> TaskId:
        """What the record is about."""
        return (self.suite, self.task)

    @property
    def key(self) -> Key:
        """What makes another run of the same unnecessary."""
        limits = json.dumps(dict(self.limits), sort_keys=True)
        return (self.suite, self.task, self.planner, self.configuration, limits, self.round)

    def to_line(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read what `to_line` wrote; unknown fields of newer versions are ignored."""
        kinds = _field_types()
        values: dict[str, Any] = {name: value for name, value in json.loads(line).items() if name in kinds}
        for name, value in values.items():
            if type(value) not in kinds[name] or value in NO_NUMBERS or value != value:  # noqa: PLR0124 - that is NaN
                raise ValueError(f"{name} is {value!r}")
        lists = {name: tuple(values.get(name, ())) for name in ("features", "tracks")}
        return cls(**{**values, **lists, "outcome": Outcome(values["outcome"])})


Counts = Callable[[Record], bool]
"""What counts as done: `is_done`, or `is_proved`."""


def is_done(record: Record) -> bool:
    """Return whether any plan, proof or ground task was given."""
    return record.covered


def is_proved(record: Record) -> bool:
    """Return whether there is a proof."""
    return record.proved


@cache
def _field_types() -> dict[str, tuple[type, ...]]:
    """Return the JSON types that each field may have."""
    kinds = {"str": (str,), "int": (int,), "float": (int, float), "None": (NoneType,), "Outcome": (str,)}
    return {
        item.name: tuple(kind for word in str(item.type).split(" | ") for kind in kinds.get(word, (dict, list)))
        for item in fields(Record)
    }


def read_records(path: Path) -> list[Record]:
    """Return the records in `path`; a last line that was not finished is left out.

    Raises `DocumentError` where any other line is not a record.
    """
    records: list[Record] = []
    try:
        content = path.read_bytes()
        lines = content[: content.rfind(b"\n") + 1].decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        message = f"the file is no UTF-8 text: {error.reason} at offset {error.start}"
        raise DocumentError(message, Location(str(path))) from None
    for number, line in enumerate(lines, start=1):
        try:
            records.append(Record.from_line(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(f"this line is no benchmark record ({error})", Location(str(path), number)) from error
    return records


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn what keeps `path` from being written into a `DocumentError`."""
    try:
        yield
    except OSError as error:
        raise DocumentError(f"it cannot be written: {error.strerror}", Location(str(path))) from None


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, all of it or nothing: to a file beside it that then takes its name.

    What is no regular file, such as `/dev/stdout`, is written as it is. Raises `DocumentError` where that cannot be.
    """
    if not path.parent.is_dir():
        raise DocumentError(f"there is no folder {path.parent}", Location(str(path)), "make it, or write elsewhere")
    with report_write_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name[:200]}.{os.getpid()}")
        try:
            beside.write_bytes(content)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write all `records` to `path` in one go; raises `DocumentError` where that cannot be."""
    write_whole(path, "".join(record.to_line() for record in records).encode())


def append_record(path: Path, record: Record) -> None:
    """Add `record` to `path` so that it survives whatever happens next."""
    with path.open("a", encoding="utf-8") as file:
        file.write(record.to_line())
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def lock_results(path: Path) -> Iterator[None]:
    """Keep other runs away from `path`, which is made with its folder.

    Raises `DocumentError` where another run is at it, or it cannot be written. Nothing is kept away on systems without
    `flock`.
    """
    with report_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("a", encoding="utf-8")
    with opened as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                hint = "wait for it, or give another file with --out"
                raise DocumentError("another run is writing to this file", Location(str(path)), hint) from None
        yield


def resume(path: Path) -> set[Key]:
    """Cut off an unfinished last line of `path`, and return the keys of its records; create its folder.

    Raises `DocumentError`, and changes nothing, where `path` holds something else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return set()
    content = path.read_bytes()
    keys = {record.key for record in read_records(path)}
    complete = content.rfind(b"\n") + 1
    unfinished = content[complete:]
    if not (unfinished.startswith(BEGINNING) or BEGINNING.startswith(unfinished)):
        message = "the last line is no unfinished record; nothing was changed"
        raise DocumentError(message, Location(str(path)), "give another file with --out")
    if unfinished:
        os.truncate(path, complete)
    return keys
