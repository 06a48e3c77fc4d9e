"""`forethought solve --candidates K`: several plans, ranked if that is asked for."""

from __future__ import annotations

from argparse import ArgumentTypeError
from decimal import Decimal
from pathlib import Path

from planner.cli.exit_codes import Exit
from planner.cli.interrupt import finishing, interruptible, left, limit_memory
from planner.cli.options import limited, wishing
from planner.cli.output import check_writable, give, tell, write_atomically
from planner.cli.parser import one_of, whole
from planner.errors import InputError, UnsupportedError
from planner.lightweight import TYPE_CHECKING, Any
from planner.limits import LimitReached
from planner.plan import Plan, StoppedBy, without
from planner.problem_kinds import service_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.cli.parser import Parser
    from planner.ranking.rank import Ranking
    from planner.topk.top_k import CandidateSet


def add_choosing(parser: Parser) -> None:
    """Add `--candidates` and how they are ranked."""
    parser.add_argument("--candidates", type=whole, metavar="K", help="The K cheapest plans instead of one.")
    within = "Of those, what costs F times the optimum at most; without --candidates, all of it."
    parser.add_argument("--within", type=factor, metavar="F", help=within)
    orders = "A plan for each order of independent steps."
    parser.add_argument("--orders", action="store_true", help=orders)
    parser.add_argument("--wasteful", action="store_true", help="Plans with steps that could be left out, too.")
    fill = "Where time ends before there are K, plans of which nothing is proved, too."
    parser.add_argument("--fill", action="store_true", help=fill)
    far = (
        "K plans that differ as much as can be, by their actions or by what provides what, within F (2) of the optimum."
    )
    parser.add_argument("--diverse", type=one_of("actions", "links"), metavar="actions|links", help=far)
    least = "No two of those are nearer to each other than D, from 0 (the same) to 1."
    parser.add_argument("--least", type=share, metavar="D", help=least)
    by = "Put them in this order: 'cost, duration' for one after the other, '2*cost + duration' for a sum."
    parser.add_argument("--rank", metavar="BY", help=by)
    rule = "Leave out plans that break it: 'never WHAT', 'at most 2 WHAT', 'only if approved WHAT'."
    parser.add_argument("--rule", action="append", metavar="RULE", help=rule)
    front = "Leave out plans that are no better than another by any criterion of '--rank', or of all that there are."
    parser.add_argument("--pareto", action="store_true", help=front)


def factor(text: str) -> Decimal:
    """Read a factor: a number, 1 or more."""
    from planner.topk.candidates import checked_factor

    try:
        return checked_factor(text) or Decimal(1)
    except InputError as error:
        raise ArgumentTypeError(error.message) from None


def share(text: str) -> Decimal:
    """Read a number from 0 to 1."""
    from planner.topk.diverse import checked_least

    try:
        return checked_least(text)
    except InputError as error:
        raise ArgumentTypeError(error.message) from None


def run_choosing(
    started: float,
    *,
    domain: str,
    problem: str | None,
    candidates: int | None,
    within: Decimal | None,
    orders: bool,
    wasteful: bool,
    fill: bool,
    diverse: str | None,
    least: Decimal | None,
    rank: str | None,
    rule: list[str] | None,
    pareto: bool,
    budget: Any,
    deadline: Any,
    soft: Any,
    time_limit: float,
    memory_limit: float | None,
    plan_file: Path | None,
    json: bool,
    quiet: bool,
    **options: Any,
) -> Exit:
    """Print candidates, the best first; `options` are those of one plan, which are not taken."""
    _refuse(options)
    if plan_file is not None:
        check_writable(_numbered(plan_file, 1))
    memory = limit_memory(memory_limit)
    try:
        with interruptible(left(time_limit, started)) as watchman:
            loaded = wishing(_loaded(domain, problem, budget, deadline), soft)
            with watchman.searching() as cancel:
                limits: dict[str, Any] = {"time_limit": left(time_limit, started), "memory_limit": memory}
                which = {"within": within, "orders": orders, "wasteful": wasteful, "fill": fill}
                found = _found(loaded, candidates, diverse, least, cancel=cancel, **which, **limits)
            ranking = _ranked(found, rank, rule, pareto=pareto)
    except UnsupportedError as error:
        tell(str(error))
        return Exit.UNSUPPORTED
    except (KeyboardInterrupt, LimitReached, MemoryError) as stop:
        return _broken_off(stop, json=json)
    with finishing():
        plans = list(found.plans if ranking is None else ranking)
        if not quiet:
            tell(found.summary())
            if ranking is not None:
                tell(f"\n{ranking}")
        if plan_file is not None:
            for number, plan in enumerate(plans, start=1):
                write_atomically(_numbered(plan_file, number), _text(plan))
        if json:
            give(_dumped(found, ranking))
        elif plans:
            give("\n".join(_headed(plan, found) for plan in plans))
    return _exit(found, plans)


def _broken_off(stop: BaseException, *, json: bool) -> Exit:
    """Say that there is nothing, as what was at work when `stop` came keeps nothing."""
    tell("no candidates: the work was broken off")
    stopped_by = StoppedBy.CANCELLED if isinstance(stop, KeyboardInterrupt) else StoppedBy.MEMORY
    if isinstance(stop, LimitReached):
        stopped_by = stop.stopped_by
    if json:
        from planner.topk.top_k import CandidateSet

        nothing = CandidateSet((), proved=False, stopped_by=stopped_by, lower_bound=0, complete=False)
        give(_dumped(nothing, None))
    return Exit.INTERRUPTED if stopped_by is StoppedBy.CANCELLED else Exit.NO_VERDICT


def _numbered(path: Path, number: int) -> Path:
    """Return the file for a plan by its number, as Fast Downward calls them."""
    return path.with_name(f"{path.name}.{number}")


def _loaded(domain: str, problem: str | None, budget: Any, deadline: Any) -> Any:
    from planner.language.loading.load import load

    return limited(load(domain, problem), budget, deadline)


def _found(loaded: Any, number: int | None, by: str | None, least: Decimal | None, **options: Any) -> CandidateSet:
    if by is None:
        if least is not None:
            raise InputError("--least is for plans that differ", hint="add '--diverse actions'")
        from planner.topk.top_k import k_best

        return k_best(loaded, number, **options)
    from planner.topk.diverse import diverse

    for name in ("orders", "wasteful", "fill"):
        if options.pop(name):
            raise InputError(f"--diverse goes without --{name}", hint="leave it out")
    bounds = {"within": options.pop("within"), "least": least}
    given: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    return diverse(loaded, number, by=by, **given, **options)


def _ranked(found: CandidateSet, by: str | None, rules: list[str] | None, *, pareto: bool) -> Ranking | None:
    if by is None and not rules and not pareto:
        return None
    from planner.ranking.rank import rank

    return rank(found.plans, by or _criteria(found.plans, pareto=pareto), rules=rules or (), pareto=pareto)


def _criteria(plans: Sequence[Plan], *, pareto: bool) -> list[str]:
    """Return the criteria where none are named: the cost, and for `pareto` all that may tell these plans apart."""
    if not pareto or not plans:
        return ["cost"]
    from planner.model.domain import resources_of, uncertain_actions
    from planner.problem_kinds import classical_of

    problem = classical_of(plans[0].problem)
    lasting = any(each.duration for each in problem.domain.actions.values())
    there = {
        "duration": lasting and plans[0].tree is None,
        "risk": bool(uncertain_actions(problem.domain)),
        "forgone": bool(problem.wishes),
    }
    return ["cost", *[name for name, is_there in there.items() if is_there], *resources_of(problem.domain)]


def _headed(plan: Plan, found: CandidateSet) -> str:
    number = found.plans.index(plan) + 1
    doubt = ", of which nothing is proved" if number > len(found.plans) - found.unproved else ""
    return "\n".join([f"; candidate {number}{doubt}", *[f"; {line}" for line in without(plan.forgone)], _text(plan)])


def _text(plan: Plan) -> str:
    if plan.tree is not None:
        return service_of(plan.problem).write_plan(plan)
    from planner.language.pddl.plans import write_plan

    return write_plan(plan)


def _dumped(found: CandidateSet, ranking: Ranking | None) -> str:
    from json import dumps

    data = found.to_dict() | ({} if ranking is None else {"ranking": ranking.to_dict()})
    return dumps(data, check_circular=False)


def _exit(found: CandidateSet, plans: list[Plan]) -> Exit:
    if found.stopped_by is StoppedBy.CANCELLED:
        return Exit.INTERRUPTED
    if plans:
        return Exit.OK
    return Exit.NEGATIVE if found.complete or found.plans else Exit.NO_VERDICT


def _refuse(options: dict[str, Any]) -> None:
    """Raise `InputError` for options that go with one plan only."""
    for name, value in options.items():
        if value not in (None, False, 0, "anytime"):
            raise InputError(f"--candidates goes without --{name.replace('_', '-')}", hint="it lists plans by cost")
