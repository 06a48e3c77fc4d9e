"""Methods that follow from declared actions: decomposition reaches what classical search reaches, at the same cost."""

from dataclasses import replace

import pytest
from brute_force import brute_force
from effort import share

from benchmarks.htn_brute import TooManyNetworks, accepts, cheapest, cheapest_steps
from benchmarks.random_hierarchies import ORDERED, random_htn
from benchmarks.random_problems import ALL, STRIPS, Features, random_problem
from htn.compilations.methods_from_actions import add_derived_methods, as_htn, derived_methods
from htn.model import HtnDomain, HtnProblem, Method, Task, sequence
from planner import Domain, When
from planner.model import TRUE, And, Atom, Equals, Not, Problem, Variable
from planner.plan import Step
from planner.validation.validate import validate

SMALL = [
    replace(STRIPS, actions=3, objects=3),
    replace(STRIPS, actions=3, objects=3, negative=True, equality=True),
    replace(ALL, actions=3, objects=3, either=False, after=False),
    replace(ALL, actions=3, objects=3),
]


@pytest.mark.parametrize("features", SMALL)
def test_decomposition_solves_what_search_solves_at_the_same_cost(features: Features) -> None:
    compared = solved = 0
    for seed in share(range(60), 4):
        problem = random_problem(seed, features)
        try:
            steps = cheapest_steps(as_htn(problem), 300)
        except TooManyNetworks:
            continue
        cost = None if steps is None else sum(step.cost for step in steps)
        assert cost == brute_force(problem), seed
        compared += 1
        if steps:
            assert validate(problem, steps).valid, seed
            solved += 1
    assert compared > 6
    assert solved > 2


def test_derived_methods_change_nothing_for_tasks_written_by_hand() -> None:
    for seed in range(40):
        problem = random_htn(seed, ORDERED)
        assert cheapest(replace(problem, domain=add_derived_methods(problem.domain))) == cheapest(problem), seed


@pytest.mark.parametrize("features", SMALL)
def test_what_is_derived_fits_together(features: Features) -> None:
    for seed in range(30):
        problem = random_problem(seed, features)
        domain = as_htn(problem).domain
        signatures = {**domain.classical.actions, **domain.tasks}
        constants = {each.name for each in domain.classical.constants}
        for method in domain.methods.values():
            names = [each.name for each in method.parameters]
            assert len(set(names)) == len(names)
            assert len(set(method.task.args)) == len(method.task.args) or set(method.task.args) & constants
            for task in (method.task, *[each.task for each in method.network.subtasks]):
                assert {*task.args} <= {*names, *constants}
                assert len(task.args) == len(signatures[task.predicate].parameters)


def switches() -> Domain:
    domain = Domain("switches", types={"lamp": "object"})
    domain.action("press", {"lamp": "lamp"}, requires="dark(lamp)", provides=["lit(lamp)", "not dark(lamp)"])
    domain.action("reset", {"lamp": "lamp"}, provides=["dark(lamp)", "not lit(lamp)"])
    return domain


def test_methods_of_a_domain() -> None:
    found = derived_methods(switches().model)
    assert list(found.tasks) == ["achieve-dark", "achieve-lit", "do-anything"]
    assert {name: (str(each.task), steps_of(each)) for name, each in found.methods.items()} == {
        "dark-holds": ("achieve-dark(?lamp)", []),
        "dark-by-reset": ("achieve-dark(?lamp)", ["reset(?lamp)"]),
        "dark-another-way": ("achieve-dark(?lamp)", ["do-anything", "achieve-dark(?lamp)"]),
        "lit-holds": ("achieve-lit(?lamp)", []),
        "lit-by-press": ("achieve-lit(?lamp)", ["achieve-dark(?lamp)", "press(?lamp)"]),
        "lit-another-way": ("achieve-lit(?lamp)", ["do-anything", "achieve-lit(?lamp)"]),
        "do-press": ("do-anything", ["press(?lamp)"]),
        "do-reset": ("do-anything", ["reset(?lamp)"]),
    }


def steps_of(method: Method) -> list[str]:
    assert method.network.is_sequence
    return [str(each.task) for each in method.network.subtasks]


def test_the_goal_is_a_task_with_its_objects_as_arguments() -> None:
    problem = switches().problem(objects={"a": "lamp", "b": "lamp"}, goal=["lit(b)", "not lit(a)", "dark(a)"])
    found = as_htn(problem)
    assert [str(each.task) for each in found.network.subtasks] == ["achieve-goal(b, a)"]
    assert found.classical is problem
    assert found.domain.methods["achieve-goal-holds"].precondition == And(
        (Atom("lit", ("?goal1",)), Not(Atom("lit", ("?goal2",))), Atom("dark", ("?goal2",)))
    )
    in_order = ["achieve-lit(?goal1)", "achieve-dark(?goal2)", "achieve-goal(?goal1, ?goal2)"]
    assert steps_of(found.domain.methods["achieve-goal-in-order"]) == in_order


def interleaved() -> Problem:
    """Return a problem whose two goals undo each other, unless a step for each comes before both."""
    domain = Domain("two")
    for one in ("a", "b"):
        domain.action(f"prepare-{one}", provides=[f"ready-{one}", "not a", "not b"])
        domain.action(f"finish-{one}", requires=f"ready-{one}", provides=one)
    domain.action("lock", requires=["a", "b"], provides=["locked"])
    return domain.problem(goal=["a", "b", "locked"])


def test_goals_that_only_work_interleaved() -> None:
    problem = interleaved()
    steps = cheapest_steps(as_htn(problem))
    assert steps is not None
    assert len(steps) == brute_force(problem) == 5
    goals = [replace(problem, goal=replace(problem.goal, hard=Atom(name))) for name in ("a", "b")]
    one_after_the_other = [step for goal in goals for step in cheapest_steps(as_htn(goal)) or ()]
    assert not validate(problem, [*one_after_the_other, Step("lock")]).valid


def test_goals_without_a_fact_to_achieve_use_the_last_resort() -> None:
    problem = switches().problem(objects={"a": "lamp"}, initial=["lit(a)"], goal=["not lit(a)"])
    found = as_htn(problem)
    assert "achieve-goal-in-order" not in found.domain.methods
    assert cheapest_steps(found) == (Step("reset", ("a",), 1),)


def test_a_fact_for_all_objects_is_one_for_each() -> None:
    goal = ["(forall (?l - lamp) (lit ?l))", "dark(c)"]
    problem = switches().problem(objects=dict.fromkeys("abc", "lamp"), initial=["dark(c)"], goal=goal)
    found = as_htn(problem)
    assert [str(each.task) for each in found.network.subtasks] == ["achieve-goal(a, b, c)"]
    in_order = [f"achieve-lit(?goal{number})" for number in (1, 2, 3)]
    again = "achieve-goal(?goal1, ?goal2, ?goal3)"
    assert steps_of(found.domain.methods["achieve-goal-in-order"]) == [*in_order, "achieve-dark(?goal3)", again]


def test_conditional_effects_are_followed_by_another_look() -> None:
    domain = Domain("lamps", types={"lamp": "object"})
    effect = When("wired(x)", "lit(x)", variables={"x": "lamp"})
    domain.action("power", when=[effect], cost=2)
    domain.action("wire", {"lamp": "lamp"}, provides="wired(lamp)")
    problem = domain.problem(objects={"a": "lamp"}, goal="lit(a)")
    method = as_htn(problem).domain.methods["lit-by-power"]
    assert [each.name for each in method.parameters] == ["?x"]
    assert steps_of(method) == ["achieve-wired(?x)", "power", "achieve-lit(?x)"]
    assert cheapest(as_htn(problem)) == 3


def test_repeated_and_constant_arguments() -> None:
    domain = Domain("knots", types={"rope": "object"}, constants={"post": "rope"})
    domain.predicate("tied", "rope", "rope")
    domain.action("loop", {"r": "rope"}, provides="tied(r, r)")
    domain.action("moor", {"r": "rope"}, provides="tied(r, post)")
    methods = derived_methods(domain.model).methods
    assert methods["tied-by-loop"].task == Atom("achieve-tied", ("?r", "?r-2"))
    assert methods["tied-by-loop"].parameters == (Variable("?r", ("rope",)), Variable("?r-2", ("rope",)))
    assert methods["tied-by-loop"].network.constraints == Equals("?r-2", "?r")
    assert methods["tied-by-moor"].task == Atom("achieve-tied", ("?r", "post"))


def test_names_that_are_taken_are_numbered_and_own_tasks_come_first() -> None:
    model = switches().model
    own = Method("lit-holds", Atom("achieve-lit", ("?lamp",)), (Variable("?lamp", ("lamp",)),), TRUE, sequence())
    hand = HtnDomain(
        model,
        {"achieve-lit": Task("achieve-lit", (Variable("?lamp", ("lamp",)),)), "Achieve-Dark": Task("Achieve-Dark")},
        {own.name: own},
    )
    found = add_derived_methods(hand)
    assert list(found.tasks) == ["achieve-lit", "Achieve-Dark", "achieve-dark-2", "do-anything"]
    assert [each.name for each in found.methods_for("achieve-lit")] == [
        "lit-holds",
        "lit-holds-2",
        "lit-by-press",
        "lit-another-way",
    ]


def test_own_methods_for_derived_tasks_are_used() -> None:
    model = switches().model
    lamp = (Variable("?lamp", ("lamp",)),)
    twice = sequence(Atom("achieve-dark", ("?lamp",)), Atom("press", ("?lamp",)))
    hand = HtnDomain(model, {"blink": Task("blink", lamp)}, {})
    hand = replace(hand, methods={"m": Method("m", Atom("blink", ("?lamp",)), lamp, TRUE, twice)})
    problem = switches().problem(objects={"a": "lamp"}, initial=["lit(a)"])
    steps = (Step("reset", ("a",), 1), Step("press", ("a",), 1))
    blinking = HtnProblem(add_derived_methods(hand), problem, sequence(Atom("blink", ("a",))))
    assert cheapest_steps(blinking) == steps
    assert accepts(blinking, (*steps, *steps))
