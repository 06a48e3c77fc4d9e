"""`forethought solve --candidates K`: list several plans, and rank them if asked."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from decimal import Decimal

from planner.cli import options
from planner.cli.interrupt import delay_interrupts, interruptible, limit_memory, remaining_seconds
from planner.cli.output import Exit, check_writable, give, number_file, tell, write_atomically
from planner.cli.parser import Parser, choice_of, option, read_whole_number
from planner.errors import InputError, UnsupportedError
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.limits import STOPS, stop_reason
from planner.model.domain import resources_of, uncertain_actions
from planner.plan import Plan, StoppedBy, describe_forgone
from planner.problem_kinds import classical_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.ranking.rank import Ranking
    from planner.topk.top_k import CandidateSet

TAKEN: Final = (
    "domain problem candidates within orders wasteful fill diverse least rank rule pareto budget deadline soft"
    " time_limit memory_limit plan_file json quiet"
)
"""The options of `solve` that apply to several plans."""


def _read_factor(text: str) -> Decimal:
    """Read a number of 1 or more."""
    from planner.topk.candidates import read_factor

    try:
        return read_factor(text) or Decimal(1)
    except InputError as error:
        raise ArgumentTypeError(error.message) from None


def _read_distance(text: str) -> Decimal:
    """Read a number from 0 to 1."""
    from planner.topk.diverse import read_distance

    try:
        return read_distance(text)
    except InputError as error:
        raise ArgumentTypeError(error.message) from None


OPTIONS: Final = (
    option("--candidates", "Find the K cheapest plans.", type=read_whole_number, metavar="K"),
    option(
        "--within",
        "Find only plans that cost at most F times the optimum; all of them without --candidates.",
        type=_read_factor,
        metavar="F",
    ),
    option("--orders", "List each order of independent steps as a plan of its own.", action="store_true"),
    option("--wasteful", "List also plans that work without some of their steps.", action="store_true"),
    option(
        "--fill",
        "If time ends before K plans are found, fill up with plans whose rank is not proved.",
        action="store_true",
    ),
    option(
        "--diverse",
        "Find K plans that differ most in their actions or causal links, at most F times the optimum (default: 2).",
        type=choice_of("actions", "links"),
        metavar="actions|links",
    ),
    option(
        "--least",
        "Least distance of two diverse plans, from 0 (same) to 1 (nothing in common).",
        type=_read_distance,
        metavar="D",
    ),
    option(
        "--rank",
        "Criteria of the order: 'cost, duration' (the first decides), or a sum such as '2*cost + duration'.",
        metavar="BY",
    ),
    option(
        "--rule",
        "Exclude plans that break the rule: 'never WHAT', 'at most 2 WHAT' or 'only if approved WHAT'.",
        action="append",
        metavar="RULE",
    ),
    option(
        "--pareto",
        "Exclude plans that another plan dominates by the criteria of '--rank', by default all.",
        action="store_true",
    ),
)


def add_candidate_options(parser: Parser) -> None:
    """Add `--candidates` and the options that select and rank the plans."""
    parser.add_all(OPTIONS)


def run_candidates(started: float, given: Namespace) -> Exit:
    """Print the candidates, the best first."""
    options.refuse_options(given, TAKEN, "candidates", "it lists plans by cost")
    if given.plan_file is not None:
        check_writable(given.plan_file)
        check_writable(number_file(given.plan_file, 1))
    limits: dict[str, Any] = {"memory_limit": limit_memory(given.memory_limit)}
    try:
        with interruptible(remaining_seconds(given.time_limit, started)) as watchman:
            problem = options.load_changed(given)
            with watchman.searching() as limits["cancel"]:
                limits["time_limit"] = remaining_seconds(given.time_limit, started)
                found = _find_candidates(problem, given, limits)
            ranking = _rank_plans(found.plans, given)
    except UnsupportedError as error:
        tell(str(error))
        return Exit.UNSUPPORTED
    except STOPS as stop:
        return _report_stop(stop_reason(stop), json=given.json)
    with delay_interrupts():
        plans = list(found.plans if ranking is None else ranking)
        if not given.quiet:
            tell(found.summary())
            if ranking is not None:
                tell(f"\n{ranking}")
        if given.plan_file is not None:
            for number, plan in enumerate(plans, start=1):
                write_atomically(number_file(given.plan_file, number), options.plan_text(plan))
        if given.json:
            give(_as_json(found, ranking))
        elif plans:
            give("\n".join(_head_lines(plan, found) + options.plan_text(plan) for plan in plans))
    if found.stopped_by is StoppedBy.CANCELLED:
        return Exit.INTERRUPTED
    if plans:
        return Exit.OK
    return Exit.NEGATIVE if found.complete or found.plans else Exit.NO_VERDICT


def _report_stop(stopped_by: StoppedBy, *, json: bool) -> Exit:
    """Report that there are no candidates, because the interrupted work keeps none."""
    from planner.topk.top_k import CandidateSet

    tell("no candidates: the work was broken off")
    if json:
        nothing = CandidateSet((), proved=False, stopped_by=stopped_by, lower_bound=0, complete=False)
        give(_as_json(nothing, None))
    return Exit.INTERRUPTED if stopped_by is StoppedBy.CANCELLED else Exit.NO_VERDICT


def _find_candidates(problem: Any, given: Namespace, limits: dict[str, Any]) -> CandidateSet:
    """Find the cheapest plans, or diverse ones."""
    if given.diverse is None:
        if given.least is not None:
            raise InputError("--least is for plans that differ", hint="add '--diverse actions'")
        from planner.topk.top_k import k_best

        which = {name: getattr(given, name) for name in ("within", "orders", "wasteful", "fill")}
        return k_best(problem, given.candidates, **which, **limits)
    from planner.topk.diverse import diverse

    for name in ("orders", "wasteful", "fill"):
        if getattr(given, name):
            raise InputError(f"--diverse goes without --{name}", hint="leave it out")
    bounds = {name: value for name in ("within", "least") if (value := getattr(given, name)) is not None}
    return diverse(problem, given.candidates, by=given.diverse, **bounds, **limits)


def _rank_plans(plans: Sequence[Plan], given: Namespace) -> Ranking | None:
    """Rank the plans as the options ask; return None where they ask for no ranking."""
    if given.rank is None and not given.rule and not given.pareto:
        return None
    from planner.ranking.rank import rank

    by = given.rank or _default_criteria(plans, pareto=given.pareto)
    return rank(plans, by, rules=given.rule or (), pareto=given.pareto)


def _default_criteria(plans: Sequence[Plan], *, pareto: bool) -> list[str]:
    """Return the cost, and for `pareto` all other criteria in which these plans may differ."""
    if not pareto or not plans:
        return ["cost"]
    problem = classical_of(plans[0].problem)
    lasting = any(each.duration for each in problem.domain.actions.values())
    applicable = {
        "duration": lasting and plans[0].tree is None,
        "risk": bool(uncertain_actions(problem.domain)),
        "forgone": bool(problem.wishes),
    }
    return ["cost", *[name for name, applies in applicable.items() if applies], *resources_of(problem.domain)]


def _head_lines(plan: Plan, found: CandidateSet) -> str:
    """Write comment lines above `plan`: its number, and the soft goals that it forgoes."""
    number = found.plans.index(plan) + 1
    doubt = ", of which nothing is proved" if number > len(found.plans) - found.unproved else ""
    return "".join([f"; candidate {number}{doubt}\n", *[f"; {line}\n" for line in describe_forgone(plan.forgone)]])


def _as_json(found: CandidateSet, ranking: Ranking | None) -> str:
    """Return the candidates and their ranking as JSON."""
    from json import dumps

    data = found.to_dict() | ({} if ranking is None else {"ranking": ranking.to_dict()})
    return dumps(data, check_circular=False)
