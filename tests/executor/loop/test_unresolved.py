"""Problems that no reader made: the executor and the plan checker look their names up, and say where one is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executor import Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, Plan, Problem, Step, solve, validate
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Atom
from planner.model.formulas import Object
from planner.model.problem import Goal
from planner.plan import Result, Status, StoppedBy
from planner.topk.top_k import CandidateSet

office = Domain("office", types=["lamp"])
office.action("light", {"lamp": "lamp"}, requires=["wired(lamp)"], provides=["lit(lamp)"], tags=["trusted"])
world = World(office)
world.handler("light")(lambda lamp: None)  # noqa: ARG005 - handlers take what the action has
STEPS = (Step("light", ("desk",)),)


def made(**fields: Any) -> Problem:
    """Return a problem as `Problem(…)` makes it."""
    stated: dict[str, Any] = {
        "objects": (Object("desk", ("lamp",)),),
        "initial": (Atom("wired", ("desk",)),),
        "goal": Goal(Atom("lit", ("desk",))),
    }
    return Problem("evening", office.model, **{**stated, **fields})


def carry_out(what: Any) -> RunStatus:
    async def main() -> RunStatus:
        return (await Executor(world).run(what)).status

    return run_virtual(main())


WAYS: dict[str, Callable[[Problem], Any]] = {
    "validate": lambda problem: validate(problem, STEPS),
    "problem": carry_out,
    "plan": lambda problem: carry_out(Plan(STEPS, problem)),
    "result": lambda problem: carry_out(Result(Status.SOLVED, StoppedBy.FIRST_PLAN, Plan(STEPS, problem))),
    "candidates": lambda problem: carry_out(
        CandidateSet((Plan(STEPS, problem),), proved=False, stopped_by=StoppedBy.TIME, lower_bound=None, complete=False)
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"goal": Goal(Atom("lid", ("desk",)))}, "problem 'evening', goal.*: .*'lid'"),
        ({"initial": (Atom("wired", ("lab",)),)}, "problem 'evening', initial.*: .*'lab'"),
        ({"initial": (Atom("wired", ()),)}, "problem 'evening', initial.*: .*argument"),
        ({"objects": (Object("desk", ("lampe",)),)}, "problem 'evening', objects: .*unknown type 'lampe'"),
        ({"objects": "desk"}, "problem 'evening', objects: 'desk' are no objects"),
        ({"domain": office}, "problem 'evening': the domain is"),
        ({"goal": None}, "problem 'evening', goal"),
    ],
    ids=["goal", "object", "arguments", "type", "objects", "domain", "no goal"],
)
def test_a_mistake_in_a_problem_is_told_with_its_place(way: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WAYS[way](replace(made(), **fields))


@pytest.mark.parametrize("way", WAYS)
def test_a_problem_without_mistakes_is_taken_however_it_was_made(way: str) -> None:
    for problem in (made(), replace(made(), goal=Goal("lit(desk)"))):  # type: ignore[arg-type]
        answer = WAYS[way](problem)
        assert answer is RunStatus.SUCCEEDED if isinstance(answer, RunStatus) else answer.valid


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("lite", ("desk",)), "step 1 lite.*: no action is called 'lite'"),
        (Step("light", ()), "step 1 light.*: .* takes 1 argument"),
        (Step("light", ("lab",)), "step 1 light.*: no object is called 'lab'"),
    ],
)
def test_a_step_that_is_none_of_the_problem_is_told(step: Step, message: str) -> None:
    with pytest.raises(InputError, match=message):
        carry_out(Plan((step,), made()))


def test_another_goal_for_a_run_is_looked_up() -> None:
    async def main() -> None:
        run = Executor(world).start(solve(made()).expect_plan())
        with pytest.raises(InputError, match=r"problem 'evening', goal.*'lid'"):
            run.change_goal(replace(made(), goal=Goal(Atom("lid", ("desk",)))))
        await run

    run_virtual(main())
