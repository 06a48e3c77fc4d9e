"""Run planners on tasks: each process under limits, each plan validated, each result recorded at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from math import isclose
from pathlib import Path
from platform import python_version
from shutil import which
from statistics import median
from subprocess import run as run_process
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.pddltext import read_features, read_file
from benchmarks.plain_pddl import Rewriting
from benchmarks.planners import Answer, Outcome, Planner, find_installed
from benchmarks.planners.base import COVERED, NAMED_FILES, languages_of
from benchmarks.process import Limits, Run, run_limited
from benchmarks.records import Record, append_record, lock_results, resume
from benchmarks.suite import PDDL, BenchmarkTask
from benchmarks.timed_plans import divide_times, find_makespan, read_timed_steps
from benchmarks.validators import OURS, VALIDATORS, Verdict, validate_plan
from planner.errors import DocumentError

if TYPE_CHECKING:
    from benchmarks.places import Place

CHECK_LIMITS: Final = Limits(cpu_seconds=300, memory_gib=8)
"""What a validator may use for one plan; none of it counts for the planner."""
MIB: Final = 1024**2
START_ROUNDS: Final = 3
TRIVIAL_TASK: Final = (
    """(define (domain trivial) (:requirements :strips) (:predicates (done) (ready))
  (:action finish :parameters () :precondition (ready) :effect (done)))
""",
    "(define (problem trivial) (:domain trivial) (:init (ready)) (:goal (done)))\n",
)
"""A domain and a problem, solved by one step, whose time is that of a planner's start."""
ROUNDING: Final = 1e-5
"""By which part of itself a cost may differ that VAL prints with six digits."""
STOP_EARLY_SECONDS: Final = 1.0
"""How long before the time limit a planner is asked to stop; a tenth of the limit where that is less."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run: the limits, who validates, how many jobs at a time, and on which processors (none: any).

    Each job has its own share of the processors; its planner and the validators of its plan run there. With `starts`,
    each planner is first measured on a trivial task.
    """

    limits: Limits = field(default_factory=Limits)
    validators: Sequence[str] = (OURS,)
    jobs: int = 1
    cores: Sequence[int] = ()
    starts: bool = False

    def shares(self) -> list[tuple[int, ...]]:
        """Return the processors of each job, none in common; raises `DocumentError` where there are not enough."""
        each = len(self.cores) // self.jobs
        if self.cores and not each:
            raise DocumentError(f"{self.jobs} jobs at a time need that many processors; --core names {len(self.cores)}")
        return [tuple(self.cores[job * each : (job + 1) * each]) for job in range(self.jobs)]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One planner on one task, for the `round`-th time."""

    task: BenchmarkTask
    planner: Planner
    round: int = 0

    def record(self, outcome: Outcome, limits: Limits) -> Record:
        """Return the record of this attempt before anything is known but its outcome."""
        return Record(
            suite=self.task.suite,
            domain=self.task.domain,
            task=self.task.name,
            planner=self.planner.label,
            configuration=self.planner.configuration,
            outcome=outcome,
            limits=limits.to_dict(),
            tracks=tuple(sorted(self.task.tracks)),
            shortest_known=self.task.shortest_known,
            round=self.round,
        )


def attempts_of(tasks: Iterable[BenchmarkTask], planners: Sequence[Planner], rounds: int = 1) -> list[Attempt]:
    """Return all attempts, the planners alternating on each task, so that a noisy hour troubles them alike."""
    return [Attempt(task, planner, number) for task in tasks for number in range(rounds) for planner in planners]


def run_all(
    attempts: Sequence[Attempt],
    out: Path,
    settings: Settings,
    tell: Callable[[Record], None],
    place: Place | None = None,
) -> int:
    """Carry out the attempts that `out` does not have yet, append their records to it and `tell` each.

    They are carried out at `place`, by default in threads here. Returns how many were carried out. Raises
    `DocumentError` where another run is at `out`, or processors lack, and what the place raises.
    """
    from benchmarks.places import Threads

    place = place or Threads()
    place.check(list({one.planner.label: one.planner for one in attempts}.values()), settings)
    with lock_results(out):
        done = resume(out)
        todo = [one for one in attempts if one.record(Outcome.UNKNOWN, settings.limits).key not in done]
        with closing(place.carry_out(todo, settings)) as records:
            for record in records:
                append_record(out, record)
                tell(record)
    return len(todo)


def carry_out(attempt: Attempt, settings: Settings, cores: Sequence[int] = ()) -> Record:
    """Run the planner, validate its plan, and return the record; what it cannot read is unsupported."""
    features = read_features(attempt.task.domain_path, attempt.task.problem_path)
    if attempt.task.suffix not in languages_of(attempt.planner):
        return _record_refusal(attempt, features, settings.limits)
    run, answer = _measure(attempt, features, settings.limits, cores)
    verdicts = _validate(attempt.task, answer.plan, features, settings.validators, cores)
    record = replace(
        attempt.record(answer.outcome, settings.limits),
        cost=answer.cost,
        lower_bound=answer.lower_bound,
        plan_length=None if answer.plan is None else plan_length(answer.plan),
        makespan=None if answer.plan is None else find_makespan(answer.plan),
        cpu_seconds=round(run.cpu_seconds, 4),
        wall_seconds=round(run.wall_seconds, 4),
        translate_seconds=answer.translate_seconds,
        search_seconds=answer.search_seconds,
        first_plan_seconds=answer.first_plan_seconds,
        **asdict(answer.effort),
        peak_mib=round(run.peak_bytes / MIB, 1),
        sizes=answer.sizes,
        features=tuple(sorted(features)),
        by=answer.by,
        tier=answer.tier,
        ended_by=run.killed or "",
        detail=answer.detail,
        versions=versions_of(attempt.planner),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=answer.plan,
    )
    return apply_verdicts(record, verdicts)


def _record_refusal(attempt: Attempt, features: frozenset[str], limits: Limits) -> Record:
    """Return the record of a planner that does not read the task's language; nothing was run."""
    return replace(
        attempt.record(Outcome.UNSUPPORTED, limits),
        features=tuple(sorted(features)),
        detail=f"it reads no {attempt.task.suffix} files",
        versions=versions_of(attempt.planner),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def check_again(record: Record, task: BenchmarkTask, validators: Sequence[str]) -> Record:
    """Return `record` judged also by those of `validators` which have not seen its plan yet."""
    unseen = [name for name in validators if name not in record.checks]
    return apply_verdicts(record, _validate(task, record.plan, frozenset(record.features), unseen))


def apply_verdicts(record: Record, verdicts: Mapping[str, Verdict]) -> Record:
    """Return `record` with these verdicts: its cost is theirs, and a refused plan or a false cost make it invalid."""
    checks = {**record.checks, **{name: verdict.said for name, verdict in verdicts.items()}}
    costs = [verdict.cost for verdict in verdicts.values() if verdict.cost is not None]
    cost = costs[0] if costs else record.cost
    outcome, detail = record.outcome, record.detail
    refusals = [f"{name} says {verdict.said}" for name, verdict in verdicts.items() if verdict.invalid]
    if record.cost is not None and any(differs(record, other) for other in costs):
        refusals.append(f"cost {record.cost} was claimed, validators say {costs}")
    if refusals:
        outcome, detail = Outcome.INVALID, "; ".join(refusals)
    return replace(record, outcome=outcome, detail=detail, cost=cost, checks=checks)


def differs(record: Record, cost: float) -> bool:
    """Return whether `cost` is not that of `record`; of plans in time, VAL's is rounded."""
    if record.cost is None or record.makespan is None:
        return record.cost != cost
    return not isclose(record.cost, cost, rel_tol=ROUNDING)


def measure_start(planner: Planner, limits: Limits, cores: Sequence[int] = ()) -> float | None:
    """Return the CPU seconds that `planner` takes for a trivial task, the median of some runs.

    None for planners that do not read PDDL, or do not solve that task: their start is not known.
    """
    if PDDL not in languages_of(planner):
        return None
    with TemporaryDirectory(prefix="start-") as name:
        files = Path(name, "domain.pddl"), Path(name, "problem.pddl")
        for path, text in zip(files, TRIVIAL_TASK, strict=True):
            path.write_text(text, encoding="utf-8")
        attempt = Attempt(BenchmarkTask("start", "trivial", "trivial", *files), planner)
        ended = [_measure(attempt, frozenset(), limits, cores) for _ in range(START_ROUNDS)]
    solved = all(answer.outcome in COVERED for _, answer in ended)
    return round(median([run.cpu_seconds for run, _ in ended]), 4) if solved else None


def _measure(attempt: Attempt, features: frozenset[str], limits: Limits, cores: Sequence[int]) -> tuple[Run, Answer]:
    task = attempt.task
    job = attempt.planner.job(limits).on(task.suffix)
    early = limits.cpu_seconds - min(STOP_EARLY_SECONDS, 0.1 * limits.cpu_seconds)
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        units = lay_out(task, attempt.planner, features, folder)
        run = run_limited(
            job.command,
            folder,
            limits,
            cores=cores,
            ask_seconds=early if job.asks else None,
            environment=job.environment,
        )
        answer = attempt.planner.read(run, folder, features)
        return run, answer if answer.plan is None else replace(answer, plan=divide_times(answer.plan, units))


def lay_out(task: BenchmarkTask, planner: Planner, features: frozenset[str], folder: Path) -> int:
    """Put the files of `task` into `folder`, with durations as `planner` reads them; return its units of a second."""
    files = [folder / name for name in NAMED_FILES[task.suffix].values()]
    rewrite: Rewriting | None = getattr(planner, "rewrite", None)
    if rewrite is None or "durations" not in features:
        for file, path in zip(files, (task.domain_path, task.problem_path), strict=True):
            file.symlink_to(path)
        return 1
    plain = rewrite(read_file(task.domain_path), read_file(task.problem_path))
    for file, text in zip(files, plain.files(), strict=True):
        file.write_text(text, encoding="utf-8")
    return plain.units


def _validate(
    task: BenchmarkTask, plan: str | None, features: frozenset[str], names: Iterable[str], cores: Sequence[int] = ()
) -> dict[str, Verdict]:
    if plan is None:
        return {}
    return {
        name: validate_plan(name, task.domain_path, task.problem_path, plan, CHECK_LIMITS, cores=cores)
        for name in names
        if VALIDATORS[name].takes(features)
    }


def plan_length(plan: str) -> int:
    """Return the number of steps of a plan in the competition's format, or in that for hierarchical plans."""
    lines = plan.splitlines()
    if "==>" not in lines:
        return len(read_timed_steps(plan)) or sum(line.lstrip().startswith("(") for line in lines)
    after = lines[lines.index("==>") + 1 :]
    return next((count for count, line in enumerate(after) if line.split()[:1] == ["root"]), len(after))


@cache
def _find_own_versions() -> dict[str, str]:
    found = {"python": python_version(), **find_installed(("forethought",))}
    git = which("git")
    if git is not None:
        command = (git, "describe", "--always", "--dirty")
        told = run_process(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        if told.returncode == 0:
            found["commit"] = told.stdout.strip()
    return found


def versions_of(planner: Planner) -> dict[str, str]:
    """Return the versions of the planner's packages, of ours and of Python."""
    return {**_find_own_versions(), **find_installed(planner.packages)}
