"""`forethought solve --objective …`: a policy for actions that may come out in several ways."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

from planner.cli.exit_codes import Exit, exit_of
from planner.cli.interrupt import finishing, interruptible, left, limit_memory
from planner.cli.output import check_writable, give, tell, write_atomically
from planner.cli.parser import one_of
from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.limits import LimitReached
from planner.plan import Result, Status, StoppedBy

if TYPE_CHECKING:
    from planner.cli.parser import Parser
    from planner.model import Number
    from planner.policies.decision import Decision
    from planner.problem_kinds import AnyProblem

OBJECTIVES: Final = ("success", "cost", "utility")
POLICY_SEARCHES: Final = "For policies: vi, lao, plans or mcts."
"""What the help on `--search` says of policies: their searches are loaded only when one is asked for."""


def add_objective(parser: Parser) -> None:
    """Add `--objective` and `--penalty`."""
    told = "Find a policy for uncertain outcomes, with the most likely success, the least cost or the most utility."
    parser.add_argument("--objective", type=one_of(*OBJECTIVES), metavar="|".join(OBJECTIVES), help=told)
    penalty = "What giving up costs, for '--objective cost'; without it, success comes first."
    parser.add_argument("--penalty", type=amount, metavar="N", help=penalty)


def amount(text: str) -> Number:
    """Read an exact number, 0 or more."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or found < 0:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return found


def run_objective(
    started: float,
    *,
    domain: str,
    problem: str | None,
    objective: str,
    time_limit: float,
    memory_limit: float | None,
    plan_file: Path | None,
    json: bool,
    quiet: bool,
    **options: Any,
) -> Exit:
    """Print the policy or the whole decision; `options` are those of `decide`, and others that are not taken."""
    taken = {name: options.pop(name) for name in ("penalty", "search", "simulations", "seed")}
    asked = {name: options.pop(name) for name in ("budget", "deadline", "soft")}
    _refuse(options)
    if plan_file is not None:
        check_writable(plan_file)
    taken["memory_limit"] = limit_memory(memory_limit)
    decision = _decided(domain, problem, objective, left(time_limit, started), asked=asked, taken=taken)
    with finishing():
        if not quiet or decision.status is Status.UNSUPPORTED:
            tell(summary(decision))
        if decision.policy is not None and plan_file is not None:
            write_atomically(plan_file, _dumped(decision.policy.to_dict()))
        if json:
            give(_dumped(decision.to_dict()))
        elif decision.policy is not None:
            give(str(decision.policy))
    return exit_of(Result(decision.status, decision.stopped_by))


def summary(decision: Decision) -> str:
    """Return one line for people: what is known, and what it took."""
    took = decision.statistics
    how = " with ".join(name for name in (took.search, took.heuristic) if name)
    seconds = took.ground_seconds + took.search_seconds
    work = [how, f"{took.expanded:,} states expanded", f"{seconds:.2f} s"] if how else [f"{seconds:.2f} s"]
    return f"{decision.describe()} [{', '.join(work)}]"


def _loaded(domain: str, problem: str | None, budget: Any, deadline: Any, soft: Any) -> AnyProblem:
    from planner.cli.options import limited, wishing
    from planner.language.loading.load import load

    return wishing(limited(load(domain, problem), budget, deadline), soft)


def _decided(
    domain: str,
    problem: str | None,
    objective: str,
    seconds: float | None,
    *,
    asked: dict[str, Any],
    taken: dict[str, Any],
) -> Decision:
    """Return the decision; where the work is broken off from outside, one that knows nothing.

    `asked` is what the problem is to have besides, `taken` are options of `decide`.
    """
    from planner.cli.options import named
    from planner.policies.decide import decide
    from planner.policies.decision import Decision, Objective

    aim = Objective[objective.upper()]
    try:
        with interruptible(seconds) as watchman:
            loaded = _loaded(domain, problem, **asked)
            with named(domain, problem), watchman.searching() as cancel:
                return decide(loaded, objective=aim, time_limit=seconds, cancel=cancel, **taken)
    except KeyboardInterrupt:
        return Decision(Status.UNKNOWN, StoppedBy.CANCELLED, aim)
    except LimitReached as limit:
        return Decision(Status.UNKNOWN, limit.stopped_by, aim)
    except MemoryError:
        return Decision(Status.UNKNOWN, StoppedBy.MEMORY, aim)


def _refuse(options: dict[str, Any]) -> None:
    """Raise `InputError` for options of plans that policies do not take."""
    for name, value in options.items():
        if value not in (None, False, 0, "anytime"):
            raise InputError(
                f"--objective goes without --{name.replace('_', '-')}", hint="it finds policies, not plans"
            )


def _dumped(data: dict[str, Any]) -> str:
    from json import dumps

    return dumps(data, check_circular=False)
