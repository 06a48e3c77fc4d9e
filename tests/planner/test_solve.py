"""What `solve` answers: a table of task features and configurations, limits, names, progress."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pytest

from planner.errors import InputError
from planner.heuristics import REGISTRY
from planner.model.actions import Action, Outcome, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import Atom, Not, Object, Variable, conjunction
from planner.model.problem import Goal, Metric, Problem
from planner.plan import Plan, Status, StoppedBy
from planner.solve import improve, solve
from planner.validation.validate import validate

SEARCHES_THAT_PROVE = [None, "astar", "weighted", "mcts", "uniform"]


def problem(*actions, initial=(), goal=(), axioms=(), **changes):
    names = {atom.predicate: len(atom.args) for action in actions for atom in atoms_of(action)}
    names |= {atom.predicate: len(atom.args) for atom in (*initial, *(axiom.head for axiom in axioms))}
    predicates = {
        name: Predicate(name, tuple([Variable(f"?x{place}") for place in range(arity)]))
        for name, arity in names.items()
    }
    domain = DomainModel("d", {}, (), predicates, {}, {action.name: action for action in actions}, tuple(axioms))
    return replace(Problem("p", domain, (), tuple(initial), Goal(conjunction(goal))), **changes)


def atoms_of(action):
    literals = [*action.provides, *(literal for when in action.when for literal in when.provides)]
    return [literal.part if isinstance(literal, Not) else literal for literal in literals]


def fact(name):
    return Atom(name)


def act(name, requires="", provides="", *, cost=1, when=()):
    return Action(
        name, (), conjunction(map(literal, requires.split())), tuple(map(literal, provides.split())), (), when, (cost,)
    )


def literal(text):
    return Not(Atom(text[1:])) if text.startswith("-") else Atom(text)


def chain(length=3, cost=2):
    actions = [act(f"go{n}", f"p{n}", f"p{n + 1} -p{n}", cost=cost) for n in range(length)]
    return problem(*actions, initial=[fact("p0")], goal=[fact(f"p{length}")])


def ferry(balls):
    """Two grippers carry balls from a to b: many equally good orders."""
    ball, hand = Variable("?b", ("ball",)), Variable("?h", ("hand",))
    types = {"ball": (), "hand": ()}
    actions = {}
    for here, there in (("a", "b"), ("b", "a")):
        actions[f"move-{here}"] = act(f"move-{here}", f"robot-{here}", f"robot-{there} -robot-{here}")
        at, held, free = Atom(f"at-{here}", ("?b",)), Atom("held", ("?b", "?h")), Atom("free", ("?h",))
        pick, drop = f"pick-{here}", f"drop-{here}"
        robot = fact(f"robot-{here}")
        actions[pick] = Action(pick, (ball, hand), conjunction([robot, at, free]), (held, Not(at), Not(free)))
        actions[drop] = Action(drop, (ball, hand), conjunction([robot, held]), (at, free, Not(held)))
    objects = (*[Object(f"b{n}", ("ball",)) for n in range(balls)], Object("l", ("hand",)), Object("r", ("hand",)))
    predicates = {
        **{name: Predicate(name) for name in ("robot-a", "robot-b")},
        **{name: Predicate(name, (ball,)) for name in ("at-a", "at-b")},
        "free": Predicate("free", (hand,)),
        "held": Predicate("held", (ball, hand)),
    }
    initial = [fact("robot-a"), Atom("free", ("l",)), Atom("free", ("r",))]
    initial += [Atom("at-a", (f"b{n}",)) for n in range(balls)]
    goal = conjunction([Atom("at-b", (f"b{n}",)) for n in range(balls)])
    return Problem(
        "ferry", DomainModel("ferry", types, (), predicates, {}, actions), objects, tuple(initial), Goal(goal)
    )


def conditional():
    return problem(
        act("press", "", "lit", cost=3, when=(When(fact("wired"), (fact("done"),)),)),
        act("wire", "", "wired", cost=0),
        goal=[fact("lit"), fact("done")],
    )


def derived():
    axiom = Axiom("safe", (), Not(fact("lit")))
    return problem(act("off", "lit", "-lit"), initial=[fact("lit")], goal=[fact("safe")], axioms=[axiom])


def dead_end():
    return problem(
        act("left", "key", "x -key"), act("right", "key", "y -key"), initial=[fact("key")], goal=[fact("x"), fact("y")]
    )


def missing():
    return problem(act("left", "ghost", "x"), act("other", "", "y"), goal=[fact("x")])


@pytest.mark.parametrize("search", SEARCHES_THAT_PROVE)
@pytest.mark.parametrize("mode", ["anytime", "optimal"])
@pytest.mark.parametrize(
    ("make", "cost"),
    [(chain, 6), (conditional, 3), (derived, 1), (lambda: ferry(2), 5), (lambda: problem(act("a", "", "x")), 0)],
)
def test_optimal_with_a_proof(make, cost, mode, search):
    given = make()
    result = solve(given, mode=mode, search=search)
    assert result.status is Status.OPTIMAL
    assert result.stopped_by is StoppedBy.EXHAUSTED
    assert validate(given, result.expect_plan()).valid
    assert result.cost == result.lower_bound == cost
    assert result.gap == 0.0


@pytest.mark.parametrize("search", [*SEARCHES_THAT_PROVE, "greedy", "breadth"])
@pytest.mark.parametrize("mode", ["anytime", "first", "optimal"])
@pytest.mark.parametrize("make", [dead_end, missing])
def test_unsolvable_with_a_proof(make, mode, search):
    result = solve(make(), mode=mode, search=search)
    assert result.status is Status.UNSOLVABLE
    assert result.stopped_by is StoppedBy.EXHAUSTED
    assert not result.has_plan


def test_simulations_are_counted_and_limited():
    assert solve(ferry(2), search="mcts", simulations=10**30).status is Status.OPTIMAL
    result = solve(ferry(6), search="mcts", simulations=3)
    assert result.stopped_by is StoppedBy.INCOMPLETE
    assert result.statistics.simulations == 3
    assert "3 simulations were made" in result.reason


def test_a_goal_that_nothing_provides_is_named():
    assert "x" in solve(missing()).reason


def detour():
    """The short way is dear."""
    return problem(
        act("jump", "", "goal", cost=9), act("one", "", "half"), act("two", "half", "goal"), goal=[fact("goal")]
    )


@pytest.mark.parametrize(
    ("options", "status", "stopped_by"),
    [
        ({}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
        ({"mode": "optimal"}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
        ({"search": "greedy"}, Status.SOLVED, StoppedBy.FIRST_PLAN),
        ({"search": "breadth"}, Status.SOLVED, StoppedBy.FIRST_PLAN),
        ({"search": "uniform", "mode": "first"}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
        ({"heuristic": "hmax"}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
        ({"heuristic": "blind"}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
        ({"search": "astar", "heuristic": "hadd"}, Status.SOLVED, StoppedBy.INCOMPLETE),
        ({"heuristic": "goalcount"}, Status.SOLVED, StoppedBy.INCOMPLETE),
        ({"search": "weighted", "heuristic": "hadd"}, Status.OPTIMAL, StoppedBy.EXHAUSTED),
    ],
)
def test_claims_go_no_further_than_proofs(options, status, stopped_by):
    result = solve(detour(), **options)
    assert (result.status, result.stopped_by) == (status, stopped_by)
    assert result.cost in {2, 9}
    assert (result.lower_bound or 0) <= 2


def test_why_there_is_no_proof_is_said():
    result = solve(detour(), search="astar", heuristic="hff")
    assert result.reason == "astar proves nothing with hff, which may estimate too much"


@pytest.mark.parametrize(
    ("declared", "make"),
    [({"axioms": False}, derived), ({"conditional_effects": False}, conditional), ({"safe": False}, chain)],
)
def test_a_heuristic_that_does_not_support_the_problem_proves_nothing(declared, make):
    kind = replace(REGISTRY["hmax"], **declared)
    with patch.dict(REGISTRY, limited=kind):
        result = solve(make(), heuristic="limited")
        none = solve(dead_end(), heuristic="limited")
    assert (result.status, result.stopped_by) == (Status.SOLVED, StoppedBy.INCOMPLETE)
    assert result.reason == "astar proves nothing with limited, which may give up states that lead to the goal"
    assert none.status is (Status.UNKNOWN if "safe" in declared else Status.UNSOLVABLE)


def test_first_stops_at_the_first_plan():
    result = solve(ferry(14), mode="first")
    assert result.has_plan
    assert result.stopped_by in {StoppedBy.FIRST_PLAN, StoppedBy.EXHAUSTED}


@pytest.mark.parametrize(
    ("options", "stopped_by"),
    [({"time_limit": 0.0}, StoppedBy.TIME), ({"memory_limit": 1e-6}, StoppedBy.MEMORY)],
)
def test_limits_end_in_a_result(options, stopped_by):
    result = solve(ferry(8), **options)
    assert result.status is Status.UNKNOWN
    assert result.stopped_by is stopped_by
    assert result.lower_bound is None


@pytest.mark.usefixtures("counted_clock")
@pytest.mark.parametrize("search", [None, "astar", "weighted", "uniform"])
def test_a_limit_during_search_keeps_what_is_known(search):
    given = ferry(14)
    result = solve(given, search=search, time_limit=5)
    assert result.stopped_by is StoppedBy.TIME
    assert result.status is (Status.SOLVED if result.has_plan else Status.UNKNOWN)
    if search is None:
        assert validate(given, result.expect_plan()).valid
        assert 0 < result.lower_bound < result.cost


@pytest.mark.usefixtures("counted_clock")
def test_cancelling_from_a_callback_ends_the_search_with_the_plan():
    cancel = threading.Event()
    result = solve(ferry(14), time_limit=30, cancel=cancel, on_progress=lambda now: now.plan and cancel.set())
    assert result.status is Status.SOLVED
    assert result.stopped_by is StoppedBy.CANCELLED


def test_ctrl_c_and_exhausted_memory_are_results():
    def interrupt(_progress):
        raise KeyboardInterrupt

    def exhaust(_progress):
        raise MemoryError

    assert solve(ferry(8), on_progress=interrupt).stopped_by is StoppedBy.CANCELLED
    assert solve(ferry(8), on_progress=exhaust).stopped_by is StoppedBy.MEMORY


@pytest.mark.usefixtures("counted_clock")
def test_progress_only_gets_better():
    seen = []
    result = solve(ferry(6), time_limit=2, on_progress=seen.append)
    costs = [progress.plan.cost for progress in seen if progress.plan is not None]
    bounds = [progress.lower_bound for progress in seen]
    assert seen
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert costs[-1] == result.cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "astra"}, "there is no search 'astra'; did you mean 'astar'?"),
        ({"heuristic": "lm-cut"}, "there is no heuristic 'lm-cut'; did you mean 'lmcut'?"),
        ({"mode": "fast"}, "there is no mode 'fast'; did you mean 'first'?"),
        ({"mode": 3}, "there is no mode '3'; there are anytime, first, optimal"),
        ({"heuristic": []}, "there is no heuristic '[]'; there are "),
        ({"simulations": 5}, "`simulations` limits search 'mcts' only; give search='mcts', or no simulations"),
        ({"search": "mcts", "simulations": 0}, "`simulations` must be a positive integer, got 0; None is no limit"),
        ({"search": "mcts", "seed": -1}, "`seed` must be an integer, 0 or more, got -1"),
        ({"time_limit": -1}, "the time limit must be in seconds, 0 or more, got -1; None is no limit"),
        ({"time_limit": float("nan")}, "the time limit must be in seconds, 0 or more, got nan; "),
        ({"time_limit": "5"}, "the time limit must be in seconds, 0 or more, got '5'; "),
        ({"time_limit": 1 + 2j, "engine": "x"}, "the time limit must be in seconds, 0 or more, got (1+2j); "),
        ({"memory_limit": 0}, "the memory limit must be in GiB, above 0, got 0; "),
        ({"memory_limit": float("nan")}, "the memory limit must be in GiB, above 0, got nan; "),
        ({"mode": "quick!"}, "there is no mode 'quick!'; there are anytime, first, optimal"),
    ],
)
def test_options_that_are_none_are_mistakes(options, message):
    with pytest.raises(InputError) as caught:
        solve(chain(), **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("given", [None, "courier", chain().domain])
def test_what_is_no_problem(given):
    with pytest.raises(InputError) as caught:
        solve(given)
    what = "None" if given is None else f"a {type(given).__name__}"
    assert str(caught.value).startswith(f"expected a problem, got {what}; load(…) and domain.problem(…)")


def test_no_time_at_all_is_a_limit():
    result = solve(chain(), time_limit=0)
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.TIME)


def with_action(**changes):
    base = chain()
    actions = {name: replace(action, **changes) for name, action in base.domain.actions.items()}
    predicates = {**base.domain.predicates, "p9": Predicate("p9"), "p10": Predicate("p10")}
    return replace(base, domain=replace(base.domain, actions=actions, predicates=predicates))


def test_actions_with_outcomes_are_planned_on_as_intended_and_only_what_none_leads_to_is_unsolvable():
    plain, given = chain(), with_action(outcomes=(Outcome(Decimal("0.5")), Outcome(Decimal("0.5"), (fact("p9"),))))
    result = solve(given)
    assert (result.status, result.plan.steps) == (Status.OPTIMAL, solve(plain).plan.steps)
    assert "intended outcomes" in result.reason
    result = solve(replace(given, goal=Goal(fact("p9"))))
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.INCOMPLETE)
    result = solve(replace(given, goal=Goal(fact("p10"))))
    assert (result.status, result.stopped_by) == (Status.UNSOLVABLE, StoppedBy.EXHAUSTED)


def test_costs_are_exact():
    given = chain(3, cost=Decimal("0.1"))
    result = solve(given)
    assert result.cost == result.lower_bound == Decimal("0.3")


def test_length_counts_steps():
    result = solve(replace(detour(), metric=Metric.LENGTH))
    assert result.cost == result.lower_bound == 1


def test_improve_ends_with_what_solve_returns():
    async def collect():
        return [result async for result in improve(ferry(4), time_limit=20)]

    results = asyncio.run(collect())
    assert results[-1].status is Status.OPTIMAL
    assert results[-1].cost == 11
    assert all(isinstance(result.plan, Plan | None) for result in results)


def test_improve_given_up_cancels_the_search():
    cancel = threading.Event()

    async def first():
        async for result in improve(ferry(14), time_limit=30, cancel=cancel):
            if result.has_plan:
                break

    asyncio.run(first())
    assert cancel.is_set()


def test_improve_raises_what_solve_raises():
    async def collect():
        return [result async for result in improve(chain(), search="nothing", cancel=None)]

    with pytest.raises(InputError):
        asyncio.run(collect())


SMALL = """
import sys
from planner.model import Action, Atom, DomainModel, Goal, Predicate, Problem
from planner.solve import solve

domain = DomainModel("d", predicates={"x": Predicate("x")}, actions={"a": Action("a", provides=(Atom("x"),))})
assert solve(Problem("p", domain, goal=Goal(Atom("x")))).cost == 1
heavy = {"numpy", "numba", "networkx", "unified_planning", "pydantic", "planner.unified_planning"}
print(*sorted(heavy & set(sys.modules)))
"""


def test_small_problems_load_nothing_big():
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", SMALL], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
