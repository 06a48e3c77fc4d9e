"""Our problems in the forms that other planners take: the same states, the same steps, the same costs."""

from __future__ import annotations

from decimal import Decimal

import pytest
from engines_random import Draw, cheapest, states

from planner.errors import UnsupportedError
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model.actions import Action, CostFunction, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import FALSE, TRUE, And, Atom, Exists, Forall, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Metric, Problem, SoftGoal
from planner.plan import Status, Step
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.unified_planning.engine_forms import width
from planner.unified_planning.propositional_form import to_propositional
from planner.validation.validate import check_steps, validate


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_there_and_back_again_does_the_same(seed: int, tree: bool) -> None:
    problem = Draw(seed, tree=tree).problem()
    outgoing = to_unified_planning(problem)
    incoming = from_unified_planning(outgoing.problem)
    objects = {name: word for word, name in outgoing.objects.items()}
    fluents = {name: name.lower() for name in problem.domain.predicates}

    def renamed(facts: frozenset[Atom]) -> frozenset[Atom]:
        return frozenset(Atom(fluents[fact.predicate], tuple([objects[arg] for arg in fact.args])) for fact in facts)

    def shown(facts: frozenset[Atom]) -> frozenset[Atom]:
        return frozenset(fact for fact in facts if fact.predicate in fluents.values())

    def back(step: Step) -> Step:
        (found,) = outgoing.steps(incoming.plan([step]))
        return found

    ours, theirs = states(problem), states(incoming.problem)
    if ours is None:
        assert theirs is None
    else:
        assert theirs is not None
        assert summary(ours, renamed, lambda step: step) == summary(theirs, shown, back)


def summary(graph, project, rename):
    """Return what can be told of `graph` whatever things are called: steps that change nothing left out."""
    return {
        project(facts): (
            goal,
            {rename(Step(step.action, step.arguments)): project(then) for step, then in steps.items() if then != facts},
        )
        for facts, (goal, steps) in graph.items()
    }


@pytest.mark.parametrize("seed", range(80))
def test_without_parameters_the_optimum_is_the_same(seed: int) -> None:
    problem = Draw(seed, axioms=True, costs=True).problem()
    task, graph = ground(problem, Limits()), states(problem)
    if graph is None:
        pytest.skip("many states")
    expected = cheapest(graph)
    if task.unreachable_goal is not None:
        assert expected is None
        return
    for conditional in (True, False):
        plain = to_propositional(task, conditional=conditional)
        actions = plain.problem.domain.actions.values()
        assert not any(action.parameters or (action.when and not conditional) for action in actions)
        image = states(plain.problem, 1000)
        assert image is not None
        found = cheapest(image)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            verdict = check_steps(problem, plain.steps(found[0]))
            assert (verdict.valid, verdict.cost) == (True, expected[1])


def errand(**changes) -> Problem:
    """One walker between two places, `cost` as given."""
    origin, target = Variable("?from", ("place",)), Variable("?to", ("place",))
    walk = Action(
        "walk",
        (origin, target),
        requires=changes.pop("requires", Atom("at", ("?from",))),
        provides=changes.pop("provides", (Atom("at", ("?to",)), Not(Atom("at", ("?from",))))),
        when=changes.pop("when", ()),
        cost=changes.pop("cost", (1,)),
    )
    domain = DomainModel(
        "errand",
        {"place": ()},
        predicates={"at": Predicate("at", (origin,))},
        functions={"toll": Function("toll", (origin,)), "fee": Function("fee")},
        actions={"walk": walk},
        axioms=changes.pop("axioms", ()),
    )
    given = {
        "objects": (Object("a", ("place",)), Object("b", ("place",))),
        "initial": (Atom("at", ("a",)),),
        "goal": Goal(Atom("at", ("b",))),
        "values": {Atom("toll", ("a",)): Decimal("0.25"), Atom("toll", ("b",)): 2, Atom("fee"): 1},
    }
    return Problem("errand", domain, **(given | changes))


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ((1,), None),
        ((3,), None),
        ((), {("a", "b"): 0, ("b", "a"): 0}),
        ((0,), {("a", "b"): 0, ("b", "a"): 0}),
        ((Atom("toll", ("?from",)),), {("a", "b"): 25, ("b", "a"): 200}),
        ((Atom("toll", ("?from",)), 1), {("a", "b"): 125, ("b", "a"): 300}),
        ((Atom("toll", ("?from",)), Atom("toll", ("?to",)), Atom("fee")), {("a", "b"): 325, ("b", "a"): 325}),
        (
            (CostFunction(lambda origin, target: Decimal("1.5") if origin < target else 0),),
            {("a", "b"): 150, ("b", "a"): 0},
        ),
    ],
)
def test_costs_become_integers_of_one_term(cost, expected) -> None:
    """None: all actions cost the same, so that length will do."""
    target = to_unified_planning(errand(cost=cost, initial=(Atom("at", ("a",)), Atom("at", ("b",))))).problem
    incoming = from_unified_planning(target)
    (metric,) = target.quality_metrics
    assert metric.is_minimize_sequential_plan_length() == (expected is None)
    for ends, number in (expected or {}).items():
        steps = [step for step in Simulation(incoming.problem).applicable() if step.arguments == ends]
        assert [step.cost for step in steps] == [number]
    assert target.kind.has_real_numbers_in_actions_cost() is False


def test_length_is_the_metric_where_it_is_ours() -> None:
    problem = errand(cost=(Atom("toll", ("?from",)),), metric=Metric.LENGTH)
    assert to_unified_planning(problem).problem.quality_metrics[0].is_minimize_sequential_plan_length()


def test_a_goal_that_is_false_stays_false() -> None:
    problem = to_unified_planning(errand(goal=Goal(FALSE))).problem
    assert from_unified_planning(problem).problem.goal.hard == Atom("never")


@pytest.mark.parametrize(
    ("formula", "holds"),
    [(Exists((Variable("?x", ("room",)),), TRUE), False), (Forall((Variable("?x", ("room",)),), FALSE), True)],
)
@pytest.mark.parametrize("objects", [(), (Object("shed", ("place",)),)])
@pytest.mark.parametrize("subtype", [False, True])
def test_quantifiers_over_types_without_objects_have_a_value(formula, holds, objects, subtype) -> None:
    """unified-planning drops a variable that the body does not mention."""
    types = {"place": (), "room": ("place",)} | ({"hall": ("room",)} if subtype else {})
    domain = DomainModel("empty", types, predicates={"on": Predicate("on")})
    target = to_unified_planning(Problem("empty", domain, objects, goal=Goal(formula))).problem
    assert [str(goal) for goal in target.goals] == ([] if holds else ["never"])
    halls = (*objects, Object("hall-1", ("hall",))) if subtype else (*objects, Object("room-1", ("room",)))
    target = to_unified_planning(Problem("full", domain, halls, goal=Goal(formula))).problem
    assert [str(goal) for goal in target.goals] == (["never"] if holds else [])


def test_a_universal_effect_without_objects_changes_nothing() -> None:
    effect = When(TRUE, (Atom("on"),), (), (Variable("?x", ("room",)),))
    domain = DomainModel(
        "empty",
        {"room": ()},
        predicates={"on": Predicate("on")},
        actions={"switch": Action("switch", when=(effect,))},
    )
    for objects, names in (((), []), ((Object("hall", ("room",)),), ["switch"])):
        target = to_unified_planning(Problem("empty", domain, objects, goal=Goal(Atom("on")))).problem
        assert [action.name for action in target.actions] == names


def test_actions_that_can_do_nothing_are_left_out() -> None:
    assert to_unified_planning(errand(requires=FALSE)).problem.actions == []


def test_what_is_added_is_not_deleted_besides() -> None:
    here, there = Atom("at", ("?to",)), Atom("at", ("?from",))
    when = When(there, (Not(here),))
    (action,) = to_unified_planning(errand(provides=(here, Not(here), Not(there)), when=(when,))).problem.actions
    assert [str(effect) for effect in action.effects] == ["at(to) := true", "at(from) := false"]


@pytest.mark.parametrize(
    ("changes", "construct"),
    [
        ({"unknown": (Atom("at", ("b",)),)}, "unknown facts"),
        ({"axioms": (Axiom("far", (), Atom("at", ("b",))),)}, "derived predicates"),
    ],
)
def test_what_has_no_words(changes, construct) -> None:
    with pytest.raises(UnsupportedError) as error:
        to_unified_planning(errand(**changes))
    assert error.value.construct == construct


def test_wishes_become_actions_that_grant_or_forgo_them() -> None:
    problem = errand(goal=Goal(Atom("at", ("b",)), (SoftGoal(Atom("at", ("a",)), 3), SoftGoal(Atom("at", ("b",)), 2))))
    outgoing = to_unified_planning(problem)
    incoming = from_unified_planning(outgoing.problem)
    found = solve(incoming.problem)
    assert found.status is Status.OPTIMAL
    steps = outgoing.steps(incoming.plan(found.expect_plan()))
    verdict = validate(problem, steps)
    assert verdict.valid
    assert [str(wish.condition) for wish in verdict.forgone] == ["at(a)"]
    assert verdict.cost + 3 == solve(problem).expect_plan().charge


def test_budgets_become_numbers() -> None:
    dear = errand(budgets={"cost": 0})
    assert solve(from_unified_planning(to_unified_planning(dear).problem).problem).status is Status.UNSOLVABLE
    assert solve(dear).status is Status.UNSOLVABLE


def test_derived_predicates_that_depend_on_themselves_cannot_be_split() -> None:
    link, x, y, z = "link", *[Variable(name) for name in ("?x", "?y", "?z")]
    far = Exists((y,), And((Atom(link, ("?x", "?y")), Atom("far", ("?y", "?z")))))
    axiom = Axiom("far", (x, z), Or((Atom(link, ("?x", "?z")), far)))
    lay = Action("lay", (x, y), provides=(Atom(link, ("?x", "?y")),))
    domain = DomainModel(
        "d",
        predicates={link: Predicate(link, (x, y)), "far": Predicate("far", (x, z))},
        actions={"lay": lay},
        axioms=(axiom,),
    )
    objects = tuple(Object(name) for name in "abc")
    task = ground(Problem("p", domain, objects, goal=Goal(Atom("far", ("a", "c")))), Limits())
    with pytest.raises(UnsupportedError, match="depend on themselves"):
        to_propositional(task)


@pytest.mark.parametrize(
    ("formula", "conjunctions"),
    [
        (Atom("a"), 1),
        (And((Or((Atom("a"), Atom("b"))),) * 10), 2**10),
        (Not(Or((And((Atom("a"), Atom("b"))),) * 3)), 2**3),
        (Imply(And((Atom("a"), Atom("b"))), Atom("c")), 3),
        (Not(Imply(Atom("a"), Or((Atom("b"), Atom("c"))))), 1),
        (FALSE, 0),
    ],
)
def test_width_counts_what_is_multiplied_out(formula, conjunctions) -> None:
    assert width(formula) == conjunctions
