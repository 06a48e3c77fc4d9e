"""Planners for tests of places: scripts that workers in other processes can run, too."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.planners import Answer, Job, Outcome
from benchmarks.planners.base import explain_failure, read_stated_cost
from benchmarks.process import Limits, Run

GOOD = "(go a b)\n(go b c)\n; cost = 2 (unit cost)\n"
WRITE = "from pathlib import Path; assert 'walk' in Path('domain.pddl').read_text(); Path('plan').write_text({plan!r})"
SLEEP = """
import os, time
from pathlib import Path
stat = Path(f"/proc/{{os.getppid()}}/stat").read_text().rpartition(")")[2].split()
Path({marks!r}, f"{{stat[1]}}-{{os.getpid()}}").write_text("")
time.sleep({seconds})
Path("plan").write_text({plan!r})
"""
"""Leaves a file that is named by the process that carries out the run, and by its own."""
KILL = """
import os, signal
from pathlib import Path
stat = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
os.kill(int(stat[1]), signal.SIGKILL)
"""
"""Kills the process that carries out the run."""
EAT = "kept = []\nwhile True: kept.append(bytes(50_000_000))"
SPIN = "while True: pass"


@dataclass(frozen=True)
class Script:
    """A planner that runs a text in Python and takes the file `plan` for its answer."""

    label: str
    text: str = WRITE.format(plan=GOOD)
    packages: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        return f"script:{self.text}"

    def job(self, limits: Limits) -> Job:
        assert limits.cpu_seconds > 0
        return Job((sys.executable, "-c", self.text))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        assert features == frozenset()
        if run.returncode != 0:
            return explain_failure(run)
        text = (folder / "plan").read_text()
        return Answer(Outcome.SOLVED, plan=text, cost=read_stated_cost(text))


def sleeper(label: str, marks: Path, seconds: float) -> Script:
    return Script(label, SLEEP.format(marks=str(marks), seconds=seconds, plan=GOOD))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
