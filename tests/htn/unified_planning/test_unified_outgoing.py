"""Our hierarchical problems as unified-planning's: what becomes of each part, and of plans."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from unified_planning.environment import Environment
from unified_planning.model import InstantaneousAction
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.plans import ActionInstance, HierarchicalPlan, SequentialPlan
from unified_planning.plans.hierarchical_plan import Decomposition

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.unified_planning import HtnOutgoing
from htn.verification.plan_verification import validate
from planner.errors import PlanError, UnsupportedError
from planner.model.actions import Action
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import FALSE, TRUE, Atom, Equals, Exists, Forall, Formula, Not, Object, Or, Variable
from planner.model.problem import Goal, Metric, Problem
from planner.plan import Plan
from planner.solve import solve
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning

PLACE = ("place",)
HERE, THERE = Variable("?here", PLACE), Variable("?there", PLACE)
GO = Atom("Go", ("?there",))
WALK = Atom("walk", ("?here", "?there"))
MOVE = Method("move", GO, (THERE, HERE), Atom("at", ("?here",)), sequence(WALK))
STAY = Method("stay", GO, (THERE,), Atom("at", ("?there",)))


def errands(
    *methods: Method,
    task: Variable = THERE,
    types: dict[str, tuple[str, ...]] | None = None,
    network: Network | None = None,
    parameters: tuple[Variable, ...] = (),
    requires: Formula = TRUE,
    **classical: object,
) -> HtnProblem:
    """Return the problem to go to the shop, by `methods`; arguments replace other parts of it."""
    walk = Action(
        "walk", (HERE, THERE), Atom("at", ("?here",)), (Atom("at", ("?there",)), Not(Atom("at", ("?here",)))), cost=(3,)
    )
    domain = DomainModel(
        "errands",
        types={"place": (), "shop": ("place",), **(types or {})},
        predicates={"at": Predicate("at", (Variable("?where", PLACE),))},
        actions={"walk": walk, "look": Action("look", requires=requires, cost=(0,))},
    )
    objects = (Object("Home", PLACE), Object("grocer", ("shop",)))
    plain = Problem("one", domain, objects, (Atom("at", ("Home",)),), metric=Metric.COST)
    given = sequence(Atom("Go", ("grocer",))) if network is None else network
    hierarchy = HtnDomain(domain, {"Go": Task("Go", (task,))}, {each.name: each for each in methods})
    return HtnProblem(hierarchy, replace(plain, **classical), given, parameters)


def write_decomposition(problem: HtnProblem) -> HierarchicalProblem:
    found = to_unified_planning(problem)
    assert isinstance(found, HtnOutgoing)
    return found.problem


def solved(problem: HtnProblem) -> object:
    """Return the optimal cost, after the way there and back; the plan is replayed on `problem`."""
    outgoing = to_unified_planning(problem)
    incoming = from_unified_planning(outgoing.problem)
    result = solve(incoming.problem)
    if result.plan is None:
        return result.status
    plan = outgoing.plan(incoming.plan(result.plan))
    verdict = validate(problem, plan)
    assert verdict.valid, verdict
    assert plan.tree.binding or not problem.parameters or not outgoing.is_rooted
    return plan.cost


def test_tasks_methods_and_the_network() -> None:
    target = write_decomposition(errands(STAY, MOVE))
    assert [str(each) for each in target.tasks] == ["go[there=place - object]"]
    assert [each.name for each in target.methods] == ["stay", "move"]
    stay, move = target.methods
    assert (str(move.achieved_task.task.name), [each.name for each in move.achieved_task.parameters]) == (
        "go",
        ["there"],
    )
    assert [str(each) for each in move.preconditions] == ["at(here)"]
    assert [str(each) for each in move.subtasks] == ["t1: walk(here, there)"]
    assert (stay.subtasks, [str(each) for each in target.task_network.subtasks]) == ([], ["t1: go(grocer)"])
    assert [each.name for each in target.actions] == ["walk", "look"]
    assert solved(errands(STAY, MOVE)) == 3


def test_orders_are_those_of_subtasks() -> None:
    subtasks = tuple([Subtask(Atom("Go", (name,)), label) for name, label in (("Home", "Late"), ("grocer", ""))])
    target = write_decomposition(errands(STAY, MOVE, network=Network(subtasks, ((1, 0),))))
    assert target.task_network.total_order() == ["t2", "late"]
    loose = write_decomposition(errands(STAY, MOVE, network=Network(subtasks)))
    assert (loose.task_network.total_order(), loose.task_network.partial_order()) == (None, [])


def test_labels_that_are_the_same_are_told_apart() -> None:
    subtasks = (Subtask(Atom("look"), "t2"), Subtask(Atom("look")), Subtask(Atom("look"), "T2"))
    target = write_decomposition(errands(network=Network(subtasks)))
    assert [each.identifier for each in target.task_network.subtasks] == ["t2", "t2-2", "t2-3"]


def test_parameters_of_the_problem_are_variables_of_the_network() -> None:
    network = Network((Subtask(GO),), constraints=Not(Equals("?there", "Home")))
    problem = errands(STAY, MOVE, network=network, parameters=(THERE,))
    target = write_decomposition(problem)
    assert [str(each) for each in target.task_network.variables] == ["place - object there"]
    assert [str(each) for each in target.task_network.constraints] == ["(not (there == home))"]
    assert solved(problem) == 3


@pytest.mark.parametrize(
    ("method", "constraints"),
    [
        (Method("move", Atom("Go", ("grocer",)), (HERE,), TRUE, sequence(Atom("walk", ("?here", "grocer")))), 1),
        (Method("move", GO, (THERE, Variable("?here")), TRUE, sequence(WALK)), 0),
        (Method("move", GO, (Variable("?there"), HERE), TRUE, sequence(WALK)), 1),
    ],
)
def test_arguments_of_tasks_are_parameters_of_their_types(method: Method, constraints: int) -> None:
    problem = errands(method)
    (target,) = write_decomposition(problem).methods
    assert len(target.constraints) == constraints
    assert [each.type.name for each in target.achieved_task.parameters] == ["place"]
    assert len(target.parameters) == len(method.parameters) + constraints
    assert solved(problem) == 3


def test_an_argument_twice_becomes_two_parameters() -> None:
    task = Task("Pair", (HERE, THERE))
    domain = errands(MOVE, STAY).domain
    method = Method("both", Atom("Pair", ("?there", "?there")), (THERE,), network=sequence(GO))
    domain = replace(domain, tasks={**domain.tasks, "Pair": task}, methods={**domain.methods, "both": method})
    good = replace(errands(), domain=domain, network=sequence(Atom("Pair", ("grocer", "grocer"))))
    assert solved(good) == 3
    bad = replace(good, network=sequence(Atom("Pair", ("grocer", "Home"))))
    assert solved(bad) is solve(bad).status


def test_types_with_two_parents_become_conditions() -> None:
    types = {"kiosk": ("shop", "thing"), "thing": ()}
    problem = errands(STAY, MOVE, types=types)
    target = write_decomposition(problem)
    assert {"is-place(there)", "is-place(here)", "at(here)"} == {
        str(each) for each in target.method("move").preconditions
    }
    assert solved(problem) == 3
    network = Network((Subtask(GO),), constraints=Not(Equals("?there", "Home")))
    rooted = replace(problem, network=network, parameters=(Variable("?there", ("shop",)),))
    outgoing = to_unified_planning(rooted)
    assert outgoing.is_rooted
    assert (outgoing.problem.task_network.variables, len(outgoing.problem.task_network.subtasks)) == ([], 1)
    assert solved(rooted) == 3


def test_parameters_of_one_of_several_types() -> None:
    either = Variable("?there", ("shop", "thing"))
    problem = errands(replace(STAY, parameters=(either,)), MOVE, types={"thing": ()})
    assert solved(problem) == 3


def test_what_can_never_be_is_left_out_of_methods_only() -> None:
    never = replace(MOVE, name="never", precondition=FALSE)
    clash = replace(MOVE, name="clash", network=replace(MOVE.network, constraints=Not(Equals("?here", "?here"))))
    problem = errands(never, clash, STAY, MOVE, requires=FALSE)
    target = write_decomposition(problem)
    assert [each.name for each in target.methods] == ["stay", "move"]
    assert [each.name for each in target.actions] == ["walk", "look"]
    assert solved(problem) == 3
    blocked = replace(problem, network=sequence(Atom("look")))
    assert solved(blocked) is solve(blocked).status


def test_an_action_without_effects_stays() -> None:
    problem = errands(STAY, MOVE, network=sequence(Atom("look"), Atom("Go", ("grocer",)), Atom("look")))
    assert solved(problem) == 3


def test_names_of_all_kinds_are_different() -> None:
    tasks = {"at": Task("at", (THERE,))}
    methods = {
        "walk": Method("walk", Atom("at", ("?there",)), (THERE, HERE), Atom("at", ("?here",)), sequence(WALK)),
        "at": Method("at", Atom("at", ("?there",)), (THERE,), Atom("at", ("?there",))),
    }
    domain = HtnDomain(errands().domain.classical, tasks, methods)
    problem = replace(errands(), domain=domain, network=sequence(Atom("at", ("grocer",))))
    target = write_decomposition(problem)
    names = [each.name for each in (*target.fluents, *target.actions, *target.tasks, *target.methods)]
    assert len({*names, *(each.name for each in target.all_objects)}) == len(names) + 2
    assert solved(problem) == 3


def test_conditions_may_be_any() -> None:
    either = Or((Atom("at", ("?there",)), Not(Atom("at", ("?there",)))))
    assert solved(errands(replace(MOVE, precondition=either))) == 3


def test_quantifiers_over_types_without_objects_have_a_value_in_methods() -> None:
    for formula, cost in ((Forall((Variable("?x", ("depot",)),), FALSE), 3), (Exists((HERE,), TRUE), 3)):
        assert solved(errands(replace(MOVE, precondition=formula), types={"depot": ()})) == cost
    nowhere = Exists((Variable("?x", ("depot",)),), TRUE)
    assert write_decomposition(errands(STAY, replace(MOVE, precondition=nowhere), types={"depot": ()})).methods == [
        *write_decomposition(errands(STAY)).methods
    ]


def test_goals_besides_tasks_count() -> None:
    problem = errands(network=Network((Subtask(Atom("look")),)), goal=Goal(Atom("at", ("grocer",))))
    assert solved(problem) is solve(problem).status


def test_costs_are_exactly_those_of_the_problem() -> None:
    target = write_decomposition(errands(STAY, MOVE))
    (metric,) = target.quality_metrics
    assert [str(metric.get_action_cost(each)) for each in target.actions] == ["3", "0"]
    (length,) = write_decomposition(errands(STAY, MOVE, metric=Metric.LENGTH)).quality_metrics
    assert length.is_minimize_sequential_plan_length()


def test_decimals_are_multiplied_and_plans_have_the_exact_costs() -> None:
    problem = errands(STAY, MOVE)
    walk = replace(problem.domain.classical.actions["walk"], cost=(Decimal("0.5"),))
    classical = replace(problem.domain.classical, actions={**problem.domain.classical.actions, "walk": walk})
    half = replace(
        problem,
        domain=replace(problem.domain, classical=classical),
        classical=replace(problem.classical, domain=classical),
    )
    assert solved(half) == Decimal("0.5")


def test_another_environment() -> None:
    world = Environment()
    target = to_unified_planning(errands(STAY, MOVE), world).problem
    assert target.environment is world
    assert from_unified_planning(target).problem.network.subtasks[0].task == Atom("go", ("grocer",))


def test_derived_predicates_are_refused() -> None:
    problem = errands(STAY, MOVE)
    domain = replace(problem.domain.classical, axioms=(Axiom("near", (), Atom("at", ("grocer",))),))
    domain = replace(domain, predicates={**domain.predicates, "near": Predicate("near")})
    derived = replace(
        problem,
        domain=replace(problem.domain, classical=domain),
        classical=replace(problem.classical, domain=domain),
    )
    with pytest.raises(UnsupportedError, match="derived predicates"):
        to_unified_planning(derived)


def test_plans_of_other_problems_are_refused() -> None:
    outgoing = to_unified_planning(errands(STAY, MOVE))
    look = to_unified_planning(errands(network=sequence(Atom("look"))), Environment()).problem
    other = from_unified_planning(look)
    plan = other.plan(solve(other.problem).expect_plan())
    with pytest.raises(PlanError, match=r"the subtask t1: go\(grocer\) of the initial task network was not done"):
        outgoing.plan(HierarchicalPlan(plan.action_plan, Decomposition({})))
    with pytest.raises(PlanError, match="the plan has 'fly', which the problem does not have"):
        outgoing.plan(SequentialPlan([ActionInstance(InstantaneousAction("fly"))]))
    assert outgoing.plan(SequentialPlan([])) == Plan((), outgoing.source)
