"""What is read from unified-planning's hierarchical problems, what is not, and plans there and back."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from unified_planning.environment import Environment
from unified_planning.model.htn import HierarchicalProblem, Method, Task
from unified_planning.plans import (
    ActionInstance,
    HierarchicalPlan,
    PartialOrderPlan,
    SequentialPlan,
    TimeTriggeredPlan,
)
from unified_planning.plans.hierarchical_plan import Decomposition, MethodInstance
from unified_planning.shortcuts import (
    GT,
    LE,
    And,
    AnytimePlanner,
    BoolType,
    Equals,
    Fluent,
    GlobalStartTiming,
    Iff,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    Not,
    Object,
    OneshotPlanner,
    Or,
    PlanValidator,
    Timing,
    UserType,
    get_environment,
)

from htn.model import HtnProblem
from htn.unified_planning import HtnIncoming
from planner.errors import InputError, PlanError, UnsupportedError
from planner.model import TRUE, Atom, Exists, Metric, Variable
from planner.model import And as Both
from planner.model import Equals as Same
from planner.model import Not as No
from planner.model import Or as Either
from planner.plan import Status, StoppedBy
from planner.solve import solve
from planner.unified_planning import problem_features, register
from planner.unified_planning.conversion import from_unified_planning
from planner.unified_planning.engine import convert_verdict
from planner.validation.verdict import Verdict


class Errands:
    """A problem to add to: a walker, places, a task to get somewhere, and methods for it."""

    def __init__(self) -> None:
        self.thing = UserType("thing")
        self.place = UserType("place", self.thing)
        self.at, self.road = Fluent("at", place=self.place), Fluent("road", a=self.place, b=self.place)
        self.where = Fluent("where", self.place)
        self.problem = HierarchicalProblem("errands")
        self.problem.add_fluent(self.at, default_initial_value=False)
        self.problem.add_fluent(self.road, default_initial_value=True)
        self.places = [Object(name, self.place) for name in ("home", "shop", "park")]
        self.problem.add_objects(self.places)
        self.home, self.shop, self.park = self.places
        self.problem.add_fluent(self.where, default_initial_value=self.home)
        self.problem.set_initial_value(self.at(self.home), value=True)
        self.walk = InstantaneousAction("walk", a=self.place, b=self.place)
        self.walk.add_precondition(self.at(self.walk.a))
        self.walk.add_precondition(self.road(self.walk.a, self.walk.b))
        self.walk.add_effect(self.at(self.walk.a), value=False)
        self.walk.add_effect(self.at(self.walk.b), value=True)
        self.problem.add_action(self.walk)
        self.go = self.problem.add_task("go", to=self.place)
        self.stay = Method("stay", to=self.place)
        self.stay.set_task(self.go)
        self.stay.add_precondition(self.at(self.stay.to))
        self.move = Method("move", to=self.place, by=self.place)
        self.move.set_task(self.go)
        self.step = self.move.add_subtask(self.walk, self.move.by, self.move.to)
        self.problem.add_method(self.stay)
        self.problem.add_method(self.move)
        self.network = self.problem.task_network

    def read(self) -> HtnIncoming:
        found = from_unified_planning(self.problem)
        assert isinstance(found, HtnIncoming)
        return found

    def plan(self) -> HierarchicalPlan:
        """Return the plan that walks from home to the shop, where the network is to go there."""
        (there,) = self.network.subtasks
        argument = self.problem.environment.expression_manager.ObjectExp
        home, shop = argument(self.home), argument(self.shop)
        walk = ActionInstance(self.walk, (home, shop))
        done = MethodInstance(self.move, (shop, home), Decomposition({self.step.identifier: walk}))
        return HierarchicalPlan(SequentialPlan([walk]), Decomposition({there.identifier: done}))


def test_tasks_methods_and_the_network() -> None:
    errands = Errands()
    first = errands.network.add_subtask(errands.go, errands.shop)
    second = errands.network.add_subtask(errands.go, errands.park)
    errands.network.set_ordered(second, first)
    read = errands.read().problem
    assert isinstance(read, HtnProblem)
    assert [(task.name, task.parameters) for task in read.domain.tasks.values()] == [
        ("go", (Variable("?to", ("place",)),))
    ]
    move = read.domain.methods["move"]
    assert (move.task, move.precondition) == (Atom("go", ("?to",)), TRUE)
    assert [each.task for each in move.network.subtasks] == [Atom("walk", ("?by", "?to"))]
    assert read.domain.methods["stay"].precondition == Atom("at", ("?to",))
    assert [each.task for each in read.network.subtasks] == [Atom("go", ("shop",)), Atom("go", ("park",))]
    assert (read.network.ordering, read.parameters) == (((1, 0),), ())
    assert solve(read).cost == 2


def test_variables_of_the_network_and_equalities_are_kept() -> None:
    errands = Errands()
    end = errands.network.add_variable("end", errands.place)
    errands.network.add_subtask(errands.go, end)
    errands.network.add_constraint(And(Not(Equals(end, errands.home)), Not(Equals(end, errands.park))))
    read = errands.read().problem
    assert read.parameters == (Variable("?end", ("place",)),)
    assert read.network.constraints == Both((No(Same("?end", "home")), No(Same("?end", "park"))))
    assert [step.arguments for step in solve(read).plan.steps] == [("home", "shop")]


def test_other_constraints_of_a_method_are_preconditions() -> None:
    errands = Errands()
    errands.move.add_constraint(Or(Equals(errands.move.to, errands.park), Equals(errands.move.by, errands.shop)))
    errands.move.add_constraint(Not(Equals(errands.move.to, errands.move.by)))
    move = errands.read().problem.domain.methods["move"]
    assert move.precondition == Either((Same("?to", "park"), Same("?by", "shop")))
    assert move.network.constraints == No(Same("?to", "?by"))


def test_other_constraints_of_the_network_stand_in_a_method_above_it() -> None:
    errands = Errands()
    end = errands.network.add_variable("end", errands.place)
    there = errands.network.add_subtask(errands.go, end)
    errands.network.add_constraint(Or(Equals(end, errands.shop), Equals(end, errands.park)))
    incoming = errands.read()
    assert (incoming.problem.parameters, incoming.top.parameters) == ((), (Variable("?end", ("place",)),))
    plan = solve(incoming.problem).expect_plan()
    foreign = incoming.plan(plan)
    assert [*foreign.decomposition.subtasks] == [there.identifier]
    assert incoming.read(foreign).steps == plan.steps
    assert incoming.verdict(foreign).valid


def test_a_fluent_that_is_an_object_may_be_read_before_a_method() -> None:
    errands = Errands()
    errands.stay.add_precondition(Equals(errands.where, errands.stay.to))
    errands.stay.add_precondition(errands.at(errands.where))
    condition = errands.read().problem.domain.methods["stay"].precondition
    assert Atom("where", ("?to",)) in condition.parts
    assert any(isinstance(part, Exists) for part in condition.parts)


def test_the_task_of_a_method_has_the_method_s_own_parameters() -> None:
    errands = Errands()
    wide = Method("wide", to=errands.thing)
    wide.set_task(errands.go)  # takes the parameters of the task, which are of another type
    errands.problem.add_method(wide)
    method = errands.read().problem.domain.methods["wide"]
    assert method.task.args == tuple(each.name for each in method.parameters)


def test_names_that_mean_something_here_are_changed() -> None:
    errands = Errands()
    task = errands.problem.add_task("?what")
    method = Method("_")
    method.set_task(task)
    errands.problem.add_method(method)
    domain = errands.read().problem.domain
    assert {"x?what", "go"} == set(domain.tasks)
    assert domain.methods["x_"].task == Atom("x?what")


def test_costs_come_with_the_metric() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    errands.problem.add_quality_metric(MinimizeActionCosts({errands.walk: 7}))
    read = errands.read().problem
    assert (read.classical.metric, solve(read).cost) == (Metric.COST, 7)


def test_actions_that_no_method_names_need_no_cost() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    errands.problem.add_action(InstantaneousAction("rest"))
    read = errands.read().problem
    named = {each.task.predicate for method in read.domain.methods.values() for each in method.network.subtasks}
    costs = {each: 7 for each in errands.problem.actions if each.name in named}
    errands.problem.add_quality_metric(MinimizeActionCosts(costs))
    left_out = [each.name for each in errands.problem.actions if each not in costs]
    read = errands.read().problem
    assert left_out
    assert solve(read).has_plan
    costs.pop(next(iter(costs)))
    errands.problem.clear_quality_metrics()
    errands.problem.add_quality_metric(MinimizeActionCosts(costs))
    with pytest.raises(UnsupportedError, match="without a cost"):
        errands.read()


def test_problems_of_an_environment_of_their_own() -> None:
    world = Environment()
    problem = HierarchicalProblem("other", world)
    done = Fluent("done", environment=world)
    problem.add_fluent(done, default_initial_value=False)
    act = InstantaneousAction("act", _env=world)
    act.add_effect(done, True)
    problem.add_action(act)
    problem.task_network.add_subtask(act)
    incoming = from_unified_planning(problem)
    plan = incoming.plan(solve(incoming.problem).expect_plan())
    assert (plan.action_plan.environment, incoming.verdict(plan).valid) == (world, True)


def temporal(errands: Errands) -> None:
    errands.move.add_constraint(GT(errands.step.start, 3))


def delayed(errands: Errands) -> None:
    other = errands.move.add_subtask(errands.go, errands.move.by)
    errands.move.set_strictly_before(Timing(2, errands.step.end), other)


def overlapping(errands: Errands) -> None:
    other = errands.move.add_subtask(errands.go, errands.move.by)
    errands.move.set_strictly_before(errands.step.start, other.start)


def either_order(errands: Errands) -> None:
    other = errands.move.add_subtask(errands.go, errands.move.by)
    end, start = errands.step.end, other.start
    errands.move.add_constraint(LE(end, start))


def absolute(errands: Errands) -> None:
    errands.move.set_strictly_before(GlobalStartTiming(), errands.step.start)


@pytest.mark.parametrize("change", [temporal, delayed, overlapping, either_order, absolute])
def test_constraints_on_time_are_refused(change) -> None:
    errands = Errands()
    change(errands)
    with pytest.raises(UnsupportedError, match="of the method move, which is on time") as error:
        errands.read()
    assert error.value.hint == "subtasks are ordered by set_ordered and set_strictly_before(subtask, subtask)"


def test_orders_may_be_conjunctions() -> None:
    errands = Errands()
    first, second, third = [errands.network.add_subtask(errands.go, each) for each in errands.places]
    before = get_environment().expression_manager.LT
    points = [(Timing(0, one.end), Timing(0, other.start)) for one, other in ((first, second), (second, third))]
    errands.network.add_constraint(And(*[before(*pair) for pair in points]))
    assert errands.read().problem.network.ordering == ((0, 1), (1, 2))


def in_a_circle(errands: Errands) -> None:
    other = errands.move.add_subtask(errands.go, errands.move.by, ident="other")
    errands.move.set_ordered(errands.step, other)
    errands.move.set_ordered(other, errands.step)


def of_another_network(errands: Errands) -> None:
    errands.move.set_ordered(errands.step, errands.network.add_subtask(errands.go, errands.shop, ident="elsewhere"))


def unknown_task(errands: Errands) -> None:
    errands.move.add_subtask(Task("fly"))


def unknown_action(errands: Errands) -> None:
    errands.move.add_subtask(InstantaneousAction("walk"))


def unknown_parameter(errands: Errands) -> None:
    errands.stay.add_subtask(errands.go, errands.move.by)


def parameter_of_another_type(errands: Errands) -> None:
    errands.stay.add_precondition(Equals(Method("m", to=errands.thing).to, errands.home))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_a_circle, r"the order of the method move goes round in a circle: \S+ < \S+ < \S+; remove one of them"),
        (of_another_network, "the method move orders a subtask 'elsewhere' that it does not have; it has: "),
        (unknown_task, r"fly\(\), but the problem has no such task or action; add_task or add_action makes fly known"),
        (unknown_action, r"walk\(\), but the problem has no such task or action"),
        (unknown_parameter, "the subtask .* of the method stay has the parameter by, which is none there"),
        (parameter_of_another_type, "the precondition of the method stay has the parameter to-2, which is none there"),
    ],
)
def test_contradictions_are_mistakes(change, message: str) -> None:
    errands = Errands()
    change(errands)
    with pytest.raises(InputError, match=message):
        errands.read()


def test_arguments_that_read_fluents_are_refused() -> None:
    errands = Errands()
    errands.move.add_subtask(errands.go, errands.where)
    with pytest.raises(UnsupportedError, match=r"where of .* in the method move, which reads a fluent; use a"):
        errands.read()


@pytest.mark.parametrize("kind", [IntType(0, 3), BoolType()])
def test_parameters_that_are_no_objects_are_refused(kind) -> None:
    errands = Errands()
    errands.problem.add_task("wait", time=kind)
    with pytest.raises(UnsupportedError, match="the parameter time of type"):
        errands.read()


def test_plans_there_and_back() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    incoming, theirs = errands.read(), errands.plan()
    ours = incoming.read(theirs)
    assert incoming.verdict(theirs).valid
    assert incoming.plan(ours) == theirs
    assert ours == solve(incoming.problem).plan


def test_a_sequence_needs_a_decomposition_that_gives_it() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    incoming, flat = errands.read(), errands.plan().action_plan
    assert incoming.verdict(flat).valid
    assert incoming.verdict(SequentialPlan([])).reason == "no decomposition of the tasks gives these steps"


def test_steps_with_times_are_a_sequence() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    (walk,) = errands.plan().action_plan.actions
    back = ActionInstance(errands.walk, walk.actual_parameters[::-1])
    plan = TimeTriggeredPlan([(2, back, None), (1, walk, None)])
    assert [step.arguments for step in errands.read().read(plan).steps] == [("home", "shop"), ("shop", "home")]


def without_subtask(plan: HierarchicalPlan) -> HierarchicalPlan:
    return HierarchicalPlan(plan.action_plan, Decomposition({}))


def without_step(plan: HierarchicalPlan) -> HierarchicalPlan:
    return HierarchicalPlan(SequentialPlan([]), plan.decomposition)


def strange_method(plan: HierarchicalPlan) -> HierarchicalPlan:
    (name,) = plan.decomposition.subtasks
    done = MethodInstance(Method("fly"), (), Decomposition({}))
    return HierarchicalPlan(SequentialPlan([]), Decomposition({name: done}))


def strange_action(_: HierarchicalPlan) -> SequentialPlan:
    return SequentialPlan([ActionInstance(InstantaneousAction("fly"))])


def partial_order(plan: HierarchicalPlan) -> PartialOrderPlan:
    return PartialOrderPlan({plan.action_plan.actions[0]: []})


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (without_subtask, r"the subtask .*go\(shop\) of the initial task network was not done"),
        (without_step, r"walk\(home, shop\) came of a task, but is no step of the plan"),
        (strange_method, "the method fly is none of the problem"),
        (strange_action, "the action fly is none of the problem"),
        (partial_order, "a PartialOrderPlan is no sequence of steps"),
    ],
)
def test_what_is_no_plan(broken, message: str) -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    incoming, plan = errands.read(), broken(errands.plan())
    with pytest.raises(PlanError, match=message):
        incoming.read(plan)
    assert not incoming.verdict(plan).valid


def test_equal_steps_are_found_where_they_are_not_the_same() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    plan = errands.plan()
    copies = [ActionInstance(each.action, each.actual_parameters) for each in plan.action_plan.actions]
    assert errands.read().verdict(HierarchicalPlan(SequentialPlan(copies), plan.decomposition)).valid


def test_a_plan_without_decomposition_has_none_there() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.home)
    incoming = errands.read()
    plan = solve(incoming.problem).expect_plan()
    with pytest.raises(PlanError, match="the plan has no decomposition"):
        incoming.plan(type(plan)(plan.steps, plan.problem))


def test_the_engine_takes_hierarchical_problems() -> None:
    register()
    get_environment().credits_stream = None
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    errands.problem.add_quality_metric(MinimizeActionCosts({errands.walk: 7}))
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(errands.problem)
    assert result.status.name == "SOLVED_OPTIMALLY"
    assert isinstance(result.plan, HierarchicalPlan)
    assert result.plan == errands.plan()
    with PlanValidator(name="forethought") as engine:
        valid = engine.validate(errands.problem, result.plan)
        invalid = engine.validate(errands.problem, without_step(result.plan))
    assert (valid.status.name, [*valid.metric_evaluations.values()]) == ("VALID", [7])
    assert invalid.status.name == "INVALID"


def test_better_plans_come_with_their_decompositions() -> None:
    register()
    get_environment().credits_stream = None
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    errands.problem.add_quality_metric(MinimizeActionCosts({errands.walk: 7}))
    with AnytimePlanner(name="forethought") as engine:
        *_, last = engine.get_solutions(errands.problem, timeout=60)
    assert (last.status.name, last.plan) == ("SOLVED_OPTIMALLY", errands.plan())


def test_a_verdict_that_a_limit_kept_from_being_reached_is_unknown() -> None:
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    verdict = Verdict(valid=False, cost=7, reason="too long", stopped_by=StoppedBy.TIME)
    found = convert_verdict(verdict, errands.plan(), errands.read(), "forethought")
    assert (found.status.name, found.log_messages[0].message) == ("UNKNOWN", "too long")


def test_a_converter_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("HIERARCHICAL", "htn.nowhere", problem_features.GROUP)
    monkeypatch.setattr(problem_features, "entry_points", lambda **_: [broken])
    problem_features.converters.cache_clear()
    with pytest.raises(InputError, match=r"the converter htn\.nowhere of HIERARCHICAL problems cannot be imported"):
        Errands().read()
    problem_features.converters.cache_clear()


def test_without_a_converter_tasks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_features, "converters", dict)
    with pytest.raises(UnsupportedError, match="hierarchical task networks"):
        Errands().read()


def test_decompositions_may_be_deep() -> None:
    errands, depth = Errands(), 3_000
    again = Method("again", to=errands.place, by=errands.place)
    again.set_task(errands.go)
    inner = again.add_subtask(errands.go, again.to)
    errands.problem.add_method(again)
    top = errands.network.add_subtask(errands.go, errands.home)
    argument = errands.problem.environment.expression_manager.ObjectExp(errands.home)
    done = MethodInstance(errands.stay, (argument,), Decomposition({}))
    for _ in range(depth):
        done = MethodInstance(again, (argument, argument), Decomposition({inner.identifier: done}))
    incoming = errands.read()
    plan = HierarchicalPlan(SequentialPlan([]), Decomposition({top.identifier: done}))
    ours = incoming.read(plan)
    assert len(ours.tree.nodes) == depth + 1
    assert incoming.verdict(plan).valid
    assert incoming.read(incoming.plan(ours)) == ours


def test_tasks_that_cannot_be_done_are_proved_so() -> None:
    register()
    get_environment().credits_stream = None
    errands = Errands()
    errands.network.add_subtask(errands.go, errands.shop)
    errands.walk.add_precondition(Iff(errands.at(errands.shop), errands.at(errands.home)))
    assert solve(errands.read().problem).status is Status.UNSOLVABLE
    with OneshotPlanner(name="forethought") as engine:
        assert engine.solve(errands.problem).status.name == "UNSOLVABLE_PROVEN"
