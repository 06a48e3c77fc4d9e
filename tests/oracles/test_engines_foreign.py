"""Other planners on our problems: their plans hold, their optima agree, their failures stay theirs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from engines_random import Draw, cheapest, states

from planner.errors import InputError
from planner.model.actions import Action, Constraint, ConstraintKind, CostFunction
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import OPEN, And, Atom, Exists, Not, Object, Or, Variable
from planner.model.problem import Goal, Problem, SoftGoal
from planner.options import SolveOptions
from planner.plan import Status, StoppedBy
from planner.solve import solve
from planner.unified_planning import solve_with
from planner.validation.validate import validate

ROOM, ROBOT = Variable("?to", ("room",)), Variable("?robot", ("robot",))


def delivery(*, costs: bool = True, **changes: object) -> Problem:
    """A robot, three rooms, doors that cost: the short way is the expensive one. Names that PDDL would not take."""
    origin, target = Variable("?Origin", ("room",)), Variable("?to", ("room",))
    move = Action(
        "Move%It",
        (ROBOT, origin, target),
        requires=Atom("at", ("?robot", "?Origin")),
        provides=(Atom("at", ("?robot", "?to")),),
        modifies=(Atom("at", ("?robot", OPEN)),),
        cost=(Atom("toll", ("?Origin", "?to")), Decimal("0.5")) if costs else (1,),
    )
    names = ("define", "Room:2", "when")
    tolls = {("define", "when"): 9, ("define", "Room:2"): Decimal("1.25"), ("Room:2", "when"): 2}
    domain = DomainModel(
        "Delivery#1",
        {"room": (), "robot": ()},
        (Object("define", ("room",)),),
        {"at": Predicate("at", (ROBOT, ROOM))},
        {"toll": Function("toll", (origin, target))},
        actions={"Move%It": move},
    )
    given = {
        "objects": (Object("R2", ("robot",)), *[Object(name, ("room",)) for name in names[1:]]),
        "initial": (Atom("at", ("R2", "define")),),
        "goal": Goal(Atom("at", ("R2", "when"))),
        "values": {Atom("toll", (one, other)): tolls.get((one, other), 20) for one in names for other in names},
    }
    return Problem(**({"name": "delivery", "domain": domain} | given | changes))


@pytest.mark.parametrize(
    ("engine", "status", "cost"),
    [
        ("fast-downward", Status.SOLVED, None),
        ("fast-downward-opt", Status.OPTIMAL, Decimal("4.25")),
        ("symk-opt", Status.OPTIMAL, Decimal("4.25")),
        ("pyperplan-opt", Status.SOLVED, Decimal("9.5")),
    ],
)
def test_claims_about_costs_hold(engine: str, status: Status, cost: Decimal | None) -> None:
    result = solve_with(delivery(), SolveOptions(engine=engine, time_limit=60))
    assert result.status is status
    assert result.plan is not None
    assert validate(delivery(), result.plan).valid
    assert cost in (None, result.cost)
    assert result.lower_bound == (cost if status is Status.OPTIMAL else None)
    assert ("ignores costs" in result.reason) == engine.startswith("pyperplan")


def test_computed_costs_go_along_and_names_come_back() -> None:
    domain = delivery().domain
    move = domain.actions["Move%It"]
    costly = replace(move, cost=(CostFunction(lambda robot, origin, to: 1 if to == "when" else len(robot + origin)),))
    problem = delivery(domain=replace(domain, actions={"Move%It": costly}))
    result = solve_with(problem, SolveOptions(engine="fast-downward-opt", time_limit=60))
    assert (result.status, result.cost) == (Status.OPTIMAL, 1)
    assert [str(step) for step in result.expect_plan().steps] == ["Move%It(R2, define, when)"]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "seed"), [("pyperplan-opt", 22), ("pyperplan-opt", 78), ("fast-downward-opt", 69)])
def test_axioms_quantifiers_and_conditional_effects_agree(engine: str, seed: int) -> None:
    """These engines take none of them: they are gone when they see the problem."""
    problem = Draw(seed, axioms=True).problem()
    expected = cheapest(states(problem, 1000))
    assert expected is not None
    result = solve_with(problem, SolveOptions(engine=engine, time_limit=60))
    assert (result.status, result.cost) == (Status.OPTIMAL, expected[1])


def test_soft_goals_are_compiled_away() -> None:
    goal = Goal(Atom("at", ("R2", "when")), (SoftGoal(Atom("at", ("R2", "define")), 3),))
    problem = delivery(goal=goal)
    result = solve_with(problem, SolveOptions(engine="fast-downward", time_limit=60))
    verdict = validate(problem, result.expect_plan())
    assert verdict.valid
    assert result.status is Status.SOLVED
    assert set(verdict.forgone) <= set(goal.soft)


@pytest.mark.slow
def test_other_planners_find_the_most_net_benefit_and_keep_constraints() -> None:
    visits, home = Atom("at", ("R2", "Room:2")), SoftGoal(Atom("at", ("R2", "define")), Decimal("2.5"))
    wished = Constraint(ConstraintKind.SOMETIME, visits, utility=40)
    for constraints in ((wished,), (wished, Constraint(ConstraintKind.AT_MOST, visits, times=0))):
        problem = delivery(goal=Goal(Atom("at", ("R2", "when")), (home,)), constraints=constraints)
        ours, theirs = solve(problem), solve(problem, engine="fast-downward-opt", time_limit=60)
        assert ours.status is theirs.status is Status.OPTIMAL
        assert (theirs.cost, theirs.forgone) == (ours.cost, ours.forgone)
        assert validate(problem, theirs.expect_plan()).valid


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "status", "stopped_by"),
    [
        ("fast-downward", Status.UNSOLVABLE, StoppedBy.EXHAUSTED),
        ("pyperplan", Status.UNKNOWN, StoppedBy.INCOMPLETE),
    ],
)
def test_no_plan_where_only_search_can_tell(engine: str, status: Status, stopped_by: StoppedBy) -> None:
    """One lamp at a time: each can be lit, never both."""
    lamps = ("left", "right")
    actions = {name: Action(name, provides=(Atom(name), Not(Atom(other)))) for name, other in (lamps, lamps[::-1])}
    domain = DomainModel("lamps", predicates={name: Predicate(name) for name in lamps}, actions=actions)
    problem = Problem("both", domain, goal=Goal(And((Atom("left"), Atom("right")))))
    result = solve_with(problem, SolveOptions(engine=engine, time_limit=60))
    assert (result.status, result.stopped_by, result.plan) == (status, stopped_by, None)


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("fast-downwrd", "there is no engine 'fast-downwrd'; did you mean 'fast-downward'? installed are: fast-"),
        ("fmap", "the engine 'fmap' is not installed; pip install up-fmap"),
        ("forethought", "'forethought' is this planner itself; leave the engine out"),
    ],
)
def test_an_engine_that_is_not_there(engine: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        solve_with(delivery(), SolveOptions(engine=engine, time_limit=60))
    assert str(error.value).startswith(message)


def chain(length: int) -> Problem:
    """Links are laid one by one until the ends are connected, which is derived, over any number of links."""
    x, y, z = [Variable(name) for name in ("?x", "?y", "?z")]
    further = Exists((z,), And((Atom("link", ("?x", "?z")), Atom("linked", ("?z", "?y")))))
    axiom = Axiom("linked", (x, y), Or((Atom("link", ("?x", "?y")), further)))
    lay = Action(
        "lay",
        (x, y),
        requires=And((Atom("near", ("?x", "?y")), Not(Atom("linked", ("?x", "?y"))))),
        provides=(Atom("link", ("?x", "?y")),),
        cost=(2,),
    )
    names = [f"P{number}" for number in range(length + 1)]
    domain = DomainModel(
        "chain",
        predicates={name: Predicate(name, (x, y)) for name in ("link", "near", "linked")},
        actions={"lay": lay},
        axioms=(axiom,),
    )
    near = [Atom("near", ends) for pair in pairwise(names) for ends in (pair, pair[::-1])]
    return Problem("chain", domain, tuple(map(Object, names)), tuple(near), Goal(Atom("linked", (names[0], names[-1]))))


@pytest.mark.parametrize(
    ("engine", "status"),
    [("fast-downward", Status.SOLVED), ("symk-opt", Status.OPTIMAL), ("fast-downward-opt", Status.UNSUPPORTED)],
)
def test_recursive_derived_predicates_go_to_those_who_take_them(engine: str, status: Status) -> None:
    result = solve_with(chain(4), SolveOptions(engine=engine, time_limit=60))
    assert result.status is status
    if status is Status.UNSUPPORTED:
        assert "derived predicates that depend on themselves" in result.reason
        assert "fast-downward, symk, symk-opt" in result.reason
    else:
        assert result.cost == 8
