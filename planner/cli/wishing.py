"""`--soft`: what would be good to have at the end, beside what the problem says, and what it is worth."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING, Any
from planner.cli.policies import amount
from planner.errors import InputError
from planner.plan import exact
from planner.records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.cli.parser import Parser
    from planner.kinds import AnyProblem
    from planner.model import Number

Wish = tuple[str, "Number"]


def add_wishing(parser: Parser) -> None:
    """Add `--soft`."""
    wanted = "What had better hold at the end, and what that is worth ('at(r2, lab)=5'); once for each."
    parser.add_argument("--soft", action="append", type=_wish, metavar="CONDITION=UTILITY", help=wanted)


def _wish(text: str) -> Wish:
    """Read `CONDITION=UTILITY`; conditions may have equals signs themselves."""
    condition, _, utility = text.rpartition("=")
    if not condition.strip() or not utility.strip():
        from argparse import ArgumentTypeError  # noqa: PLC0415 - only mistakes need it

        raise ArgumentTypeError(f"{text!r} is no wish, such as 'at(r2, lab)=5'")
    return condition.strip(), exact(amount(utility.strip()))


def wishing(loaded: AnyProblem, soft: Sequence[Wish] | None) -> AnyProblem:
    """Return the problem with these soft goals, too. Raises `InputError` for conditions that it has no words for."""
    if not soft:
        return loaded
    from planner.declare.places import CodePlace  # noqa: PLC0415 - few commands need it
    from planner.declare.problem import ProblemBuilder  # noqa: PLC0415 - as above
    from planner.model import Problem, SoftGoal  # noqa: PLC0415 - as above

    classical = loaded if isinstance(loaded, Problem) else loaded.classical
    place: Any = CodePlace("--soft")
    builder = ProblemBuilder(classical.domain, {each.name: each for each in classical.objects}, place)
    for condition, utility in soft:
        if utility <= 0:
            raise InputError(f"--soft: {condition} is worth {utility}; it must be above 0")
    wishes = [SoftGoal(builder.condition(condition, place), utility) for condition, utility in soft]
    changed = replace(classical, goal=replace(classical.goal, soft=(*classical.goal.soft, *wishes)))
    other: Any = loaded
    return changed if classical is loaded else replace(other, classical=changed)
