"""What `planner.testing` gives to authors, and the brute-force twins of planning: states, plans, transition systems."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from brute_force import TooManyStates, brute_force, brute_force_plan, transition_system
from random_tasks import random_task

from benchmarks.random_problems import ALL, STRIPS, random_problem
from planner.model import Action, And, Atom, DomainModel, Goal, Metric, Not, Object, Problem, Variable, When
from planner.plan import Result, Status, Step, StoppedBy
from planner.testing import Case, atom_from, check_cases, plan, steps_from
from planner.validation.validate import validate

FROM, TO = Variable("?from", ("room",)), Variable("?to", ("room",))
WALK = Action(
    "walk",
    (FROM, TO),
    And((Atom("at", ("?from",)), Atom("door", ("?from", "?to")))),
    (Atom("at", ("?to",)),),
    (Atom("at", ("_",)),),
    cost=(Atom("length", ("?from", "?to")),),
)


def rooms(*doors, goal="at(c)"):
    """Return a problem of walking from room a; a door is `(from, to, length)`."""
    domain = DomainModel("rooms", {"room": ()}, actions={"walk": WALK})
    return Problem(
        "p",
        domain,
        tuple(Object(name, ("room",)) for name in "abcd"),
        (Atom("at", ("a",)), *(Atom("door", door[:2]) for door in doors)),
        Goal(atom_from(goal)),
        {Atom("length", door[:2]): door[2] for door in doors},
    )


DETOUR = rooms(("a", "c", 5), ("a", "b", 2), ("b", "c", 2), ("c", "a", 0))


def test_a_plan_is_replayed_while_it_is_written():
    built = plan(DETOUR).holds("at(a)").step("walk", "a", "b").holds("not at(a)").step("walk", "b", "c").end()
    assert [str(step) for step in built.steps] == ["walk(a, b)", "walk(b, c)"]
    assert built.cost == 4
    assert len(plan(DETOUR).so_far()) == 0


MISTAKES = [
    (lambda: plan(DETOUR).step("walk", "b", "c"), r"step 1 walk\(b, c\): requires at\(b\), which is false in the"),
    (lambda: plan(DETOUR).step("walk", "a", "b").end(), r"at the end, the goal requires at\(c\), which is false"),
    (lambda: plan(DETOUR).step("fly", "a", "b"), "no action is called 'fly'"),
    (lambda: plan(DETOUR).holds("at(b)"), r"after 0 steps, at\(b\) does not hold"),
    (lambda: plan(DETOUR).holds("not at(a)"), r"after 0 steps, not at\(a\) does not hold"),
    (lambda: plan(replace(DETOUR, values={})).step("walk", "a", "b"), r"its cost length\(a, b\) has no value"),
]


@pytest.mark.parametrize(("mistake", "reason"), MISTAKES, ids=[row[1][:20] for row in MISTAKES])
def test_mistakes_in_a_plan_are_assertions(mistake, reason):
    with pytest.raises(AssertionError, match=reason):
        mistake()


def test_steps_from_text():
    text = """
        walk(a, b)
        rest
        wait()
    """
    assert steps_from(text) == (Step("walk", ("a", "b")), Step("rest"), Step("wait"))


def test_brute_force_finds_the_cheapest_plan():
    assert brute_force(DETOUR) == 4
    assert len(brute_force_plan(DETOUR)) == 2
    assert brute_force(replace(DETOUR, metric=Metric.LENGTH)) == 1
    assert brute_force(rooms(("a", "b", 1))) is None
    assert brute_force(rooms(goal="at(a)")) == 0
    with pytest.raises(TooManyStates):
        brute_force(DETOUR, max_states=1)


def test_transition_systems_tell_what_can_be_told_from_outside():
    system = transition_system(DETOUR)
    assert system.goals == {2}
    assert system.transitions[0] == {Step("walk", ("a", "b"), 2): 1, Step("walk", ("a", "c"), 5): 2}
    assert system.transitions[2] == {Step("walk", ("c", "a"), 0): 0}
    renamed = (
        WALK.name,
        replace(WALK, modifies=(), provides=(Not(Atom("at", ("?from",))), *WALK.provides, Atom("been", ("?to",)))),
    )
    same = replace(DETOUR, domain=replace(DETOUR.domain, actions=dict([renamed])))
    assert transition_system(same) == system
    assert transition_system(replace(DETOUR, goal=Goal(atom_from("at(b)")))) != system
    assert transition_system(rooms(("a", "c", 5), ("a", "b", 2), ("b", "c", 2))) != system
    with pytest.raises(TooManyStates):
        transition_system(DETOUR, max_states=2)


GOOD = Case(
    "detour",
    DETOUR,
    4,
    ("walk(a, c)", "walk(a, b)\nwalk(b, c)"),
    (("walk(a, b)", "at(c)"), ("walk(b, c)", "requires at(b)")),
)
BAD = [
    (replace(GOOD, valid=("walk(a, b)",)), "detour: valid plan 1 is not valid: at the end"),
    (replace(GOOD, valid=("walk(a, c)",)), "the best cost is said to be 4, but the best of its valid plans has 5"),
    (replace(GOOD, invalid=(("walk(a, c)", "at"),)), "invalid plan 1 is valid"),
    (replace(GOOD, invalid=(("walk(a, b)", "door"),)), "not because 'door'"),
    (replace(GOOD, optimum=None), "said to have no plan, but one has a cost of 4"),
]


def test_cases_that_are_right():
    check_cases([GOOD, Case("closed", rooms(), None)])


@pytest.mark.parametrize(("case", "complaint"), BAD, ids=[row[1][:30] for row in BAD])
def test_cases_that_are_wrong(case, complaint):
    with pytest.raises(AssertionError) as caught:
        check_cases([GOOD, case])
    assert complaint in str(caught.value)


def answering(status, steps):
    found = None if steps is None else plan(DETOUR)
    for step in steps or ():
        found.step(*step)
    return Result(status, StoppedBy.EXHAUSTED, None if found is None else found.so_far(), 0)


ANSWERS = [
    (answering(Status.OPTIMAL, [("walk", "a", "b"), ("walk", "b", "c")]), None),
    (answering(Status.SOLVED, [("walk", "a", "c")]), "expected OPTIMAL with cost 4, but solving gave SOLVED"),
    (answering(Status.UNSOLVABLE, None), "expected OPTIMAL with cost 4, but solving gave UNSOLVABLE"),
    (answering(Status.OPTIMAL, [("walk", "a", "b"), ("walk", "b", "c"), ("walk", "c", "a")]), "gave an invalid plan"),
]


@pytest.mark.parametrize(("answer", "complaint"), ANSWERS, ids=[str(row[1])[-20:] for row in ANSWERS])
def test_cases_with_an_answer(answer, complaint):
    if complaint is None:
        check_cases([GOOD], lambda _: answer)
    else:
        with pytest.raises(AssertionError, match=complaint):
            check_cases([GOOD], lambda _: answer)


def test_random_problems_are_the_same_for_the_same_seed():
    assert random_problem(3) == random_problem(3)
    assert random_problem(3) != random_problem(4)


def test_random_tasks_are_random_problems_ground():
    tasks = [random_task(seed) for seed in range(10)]
    assert any(task.has_axioms for task in tasks)
    assert any(task.actions for task in tasks)


def test_random_problems_contain_what_they_promise():
    found = [random_problem(seed) for seed in range(60)]
    actions = [action for problem in found for action in problem.domain.actions.values()]
    assert any(problem.domain.axioms for problem in found)
    assert any(predicate.stale_with for problem in found for predicate in problem.domain.predicates.values())
    assert any(effect.variables for action in actions for effect in action.when)
    assert {len(p.parameters) for problem in found for p in problem.domain.predicates.values()} == {0, 1, 2, 3}
    assert any("_" in pattern.args for action in actions for pattern in action.modifies)
    assert any("_" not in pattern.args for action in actions for pattern in action.modifies)
    assert any(action.after for action in actions)
    assert any(action.cost == (0,) for action in actions)
    assert any(isinstance(term, Atom) for action in actions for term in action.cost)
    plans = [plan for problem in found[:30] if (plan := brute_force_plan(problem, 2_000))]
    assert any(len(plan) > 1 for plan in plans)
    assert all(validate(plan.problem, plan).valid for plan in plans)


def test_features_limit_random_problems():
    for problem in (random_problem(seed, STRIPS) for seed in range(30)):
        assert not problem.domain.axioms
        for action in problem.domain.actions.values():
            assert (action.when, action.modifies, action.after) == ((), (), ())
            parts = action.requires.parts if isinstance(action.requires, And) else (action.requires,)
            assert all(isinstance(part, Atom | And) for part in parts)
    found = [random_problem(seed, replace(ALL, universal=False)) for seed in range(20)]
    whens = [effect for problem in found for action in problem.domain.actions.values() for effect in action.when]
    assert whens
    assert all(isinstance(effect, When) and not effect.variables for effect in whens)


def test_hypothesis_is_needed_by_its_strategy_only():
    import subprocess

    code = "import sys, planner.testing; sys.exit('hypothesis' in sys.modules or 'networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
