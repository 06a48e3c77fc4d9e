"""What modules of ours that look at one task by themselves have in common: their command line, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from planner.errors import UnsupportedError
from planner.lightweight import Any
from planner.limits import LimitReached
from planner.plan import StoppedBy


def attempted(outcome: str, work: Callable[[str, str, float | None], dict[str, Any]]) -> dict[str, Any]:
    """Return what `work` finds with the domain, the problem and the GiB of the command line, or what stopped it."""
    memory = float(sys.argv[3]) if len(sys.argv) > 3 else None
    answer = {"outcome": outcome, "detail": ""}
    try:
        return answer | work(sys.argv[1], sys.argv[2], memory)
    except LimitReached as limit:
        answer["outcome"] = "memory" if limit.stopped_by is StoppedBy.MEMORY else "time"
    except MemoryError:
        answer["outcome"] = "memory"
    except UnsupportedError as error:
        answer |= {"outcome": "unsupported", "detail": str(error)}
    return answer


def end_with(answer: dict[str, Any]) -> NoReturn:
    """Print `answer`, and end the process."""
    sys.stdout.write(f"{answer!r}\n")
    sys.stdout.flush()
    os._exit(0)  # the task need not be taken apart object by object when the process ends anyway
