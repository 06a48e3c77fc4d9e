"""How late searches end after a limit, a signal or a cancellation, and whether they return what was known.

    python -m benchmarks.limits FOLDER [--tasks 40] [--records limits.jsonl]

Takes the largest tasks of the suites in FOLDER, one of each domain, and ends the search of each in four ways: by
`--time-limit 1`, by SIGTERM, by `cancel`, and by `--memory-limit`. Signals and cancellations come at another moment for
each task, so that they meet all stages. Lateness is processor time, which other work on the machine does not change.
Records are kept in a file, and runs that are there are not done again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from benchmarks.report import format_table
from benchmarks.suite import load_suite
from planner import load, solve
from planner.cli.output import give, tell
from planner.limits import resident_bytes

SUITES: Final = {
    "ipc-classical": 16,
    "ipc2023-numeric": 8,
    "ipc-temporal": 8,
    "ipc2020-htn": 8,
}
"""The suites, and each one's share of 40 tasks."""
MOMENTS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds after the start at which searches are ended."""
TIME_LIMIT: Final = 1.0
MEMORY_GIB: Final = 0.25
FILLING: Final = 15.0
"""Time limit of runs with a memory limit, which not all reach."""
LONGEST: Final = 120.0
"""Seconds after which a run that does not end is killed."""
LATE: Final = 1.0
"""Seconds of processor time after its end was asked for at which a run counts as late."""
CANCEL: Final = "import sys; from benchmarks.limits import solve_until; solve_until(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class Run:
    """How the search of one task ended.

    `late` are seconds of processor time after its end was asked for. `known` says that it had written a plan by then,
    `has_plan` that its result has one. `mebibytes` are its peak.
    """

    way: str
    task: str
    moment: float
    late: float
    status: str
    stopped_by: str
    known: bool
    has_plan: bool
    mebibytes: int

    @property
    def is_lost(self) -> bool:
        """Whether a plan was known that the result lacks."""
        return self.known and not self.has_plan


def find_tasks(folder: Path, number: int) -> list[tuple[Path, Path]]:
    """Return the domain and problem files of the largest tasks by the size of the problem, one of each domain."""
    found: list[tuple[Path, Path]] = []
    for suite, share in SUITES.items():
        largest: dict[str, tuple[int, Path, Path]] = {}
        for each in load_suite(folder / suite):
            task = each.problem_path.stat().st_size, each.domain_path, each.problem_path
            largest[each.domain] = max(task, largest.get(each.domain, task))
        by_size = sorted(largest.values(), reverse=True)
        found += [task[1:] for task in by_size[: max(1, share * number // sum(SUITES.values()))]]
    return found


def solve_until(domain: str, problem: str, seconds: str) -> None:
    """Solve a task, cancel the search after so many `seconds`, and print how late it ended."""
    read, cancel, asked = load(domain, problem), threading.Event(), [time.process_time()]
    known: list[bool] = []

    def end() -> None:
        known.append(bool(plans))
        asked[0] = time.process_time()
        cancel.set()

    plans: list[object] = []
    timer = threading.Timer(float(seconds), end)
    timer.start()
    result = solve(
        read, time_limit=None, cancel=cancel, on_progress=lambda each: plans.append(1) if each.plan else None
    )
    late = time.process_time() - asked[0] if known else 0.0
    timer.cancel()
    given = {"late": late, "known": any(known), "mebibytes": resident_bytes() >> 20}
    give(
        json.dumps(
            {**given, "status": result.status.name, "stopped_by": result.stopped_by.name.lower()}
            | {"has_plan": result.has_plan}
        )
    )


def cancel_search(domain: Path, problem: Path, moment: float) -> Run:
    """Let another process solve a task and cancel the search."""
    command = [sys.executable, "-c", CANCEL, str(domain), str(problem), str(moment)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        given = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, ValueError):
        given = {"late": LONGEST, "known": False, "mebibytes": 0, "status": "", "stopped_by": "", "has_plan": False}
    return Run("cancel", problem.as_posix(), moment, **given)


def end_command(way: str, domain: Path, problem: Path, moment: float) -> Run:
    """Run the command on a task, and end it by a signal after a `moment`, or by one of its limits."""
    with tempfile.TemporaryDirectory() as folder:
        plan, output = Path(folder) / "plan", Path(folder) / "output"
        command = [sys.executable, "-m", "planner.cli", "solve", str(domain), str(problem), "--json", "--quiet"]
        command += ["--plan-file", str(plan)]
        command += ["--time-limit", str({"time limit": TIME_LIMIT, "memory limit": FILLING}.get(way, LONGEST))]
        command += ["--memory-limit", str(MEMORY_GIB)] if way == "memory limit" else []
        began = time.monotonic()
        with output.open("wb") as written:
            process = subprocess.Popen(command, stdout=written, stderr=subprocess.DEVNULL)
        due = began + (moment if way == "SIGTERM" else TIME_LIMIT)
        usage, asked, known, spent = None, False, False, 0.0
        while usage is None:
            pid, _, used = os.wait4(process.pid, os.WNOHANG)
            now = time.monotonic()
            if pid:
                usage, process.returncode = used, 0
            elif not asked and now >= due and way != "memory limit":
                known, asked, spent = plan.exists(), True, _processor_seconds(process.pid)
                if way == "SIGTERM":
                    process.send_signal(signal.SIGTERM)
            elif now > began + LONGEST:
                process.kill()
            time.sleep(0.005)
        late = max(0.0, usage.ru_utime + usage.ru_stime - spent) if asked else 0.0
        given = _read_answer(output)
        return Run(
            way,
            problem.as_posix(),
            moment,
            late,
            given.get("status", ""),
            given.get("stopped_by", ""),
            known,
            given.get("plan") is not None,
            usage.ru_maxrss >> 10,
        )


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read_answer(output: Path) -> dict[str, str]:
    try:
        return dict(json.loads(output.read_text()))
    except ValueError:
        return {}


WAYS: Final[dict[str, Callable[[Path, Path, float], Run]]] = {
    "time limit": lambda *task: end_command("time limit", *task),
    "SIGTERM": lambda *task: end_command("SIGTERM", *task),
    "cancel": cancel_search,
    "memory limit": lambda *task: end_command("memory limit", *task),
}


def measure(tasks: list[tuple[Path, Path]], records: Path) -> Iterator[Run]:
    """Yield a run for each task and each way, those in `records` first; new ones are added there."""
    done = [Run(**json.loads(line)) for line in records.read_text().splitlines()] if records.exists() else []
    yield from done
    there = {(each.way, each.task) for each in done}
    for place, (domain, problem) in enumerate(tasks):
        for turn, (way, end) in enumerate(WAYS.items()):
            if (way, problem.as_posix()) in there:
                continue
            run = end(domain, problem, MOMENTS[(place + turn) % len(MOMENTS)])
            with records.open("a") as file:
                file.write(json.dumps(asdict(run)) + "\n")
            yield run


def summarise(runs: list[Run]) -> str:
    """Return a table by way, and one of the runs that were late or lost something."""
    rows = []
    for way in WAYS:
        own = [each for each in runs if each.way == way]
        late = sorted([each.late for each in own]) or [0.0]
        rows.append(
            (
                way,
                len(own),
                f"{late[len(late) // 2]:.2f}",
                f"{late[-1]:.2f}",
                sum([each.late > LATE for each in own]),
                sum([each.has_plan for each in own]),
                sum([each.is_lost for each in own]),
                sum([not each.status for each in own]),
                max([each.mebibytes for each in own], default=0),
            )
        )
    head = (
        "ended by",
        "runs",
        "median s late",
        "most s late",
        f"over {LATE:g} s",
        "plans",
        "lost",
        "no result",
        "most MiB",
    )
    wrong = [each for each in runs if each.late > LATE or each.is_lost or not each.status]
    worst = [
        (each.way, each.task[-60:], each.moment, f"{each.late:.2f}", each.status, each.stopped_by, each.is_lost)
        for each in sorted(wrong, key=lambda each: -each.late)
    ]
    text = format_table(head, rows)
    return f"{text}\n{format_table(('ended by', 'task', 'after s', 's late', 'status', 'by', 'lost'), worst)}"


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of the suites.")],
    tasks: Annotated[int, typer.Option(help="Number of tasks.")] = 40,
    records: Annotated[Path, typer.Option(help="File of the records, which is taken up again.")] = Path("limits.jsonl"),
) -> None:
    """End searches of large tasks in all ways, and print a table."""
    runs: list[Run] = []
    for run in measure(find_tasks(folder, tasks), records):
        runs.append(run)
        tell(f"{run.way}: {run.task[-50:]}: {run.late:.2f} s late, {run.status or 'no result'}")
    give(summarise(runs))


if __name__ == "__main__":
    typer.run(main)
