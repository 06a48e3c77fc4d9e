"""Tasks whose actions create objects: what is created is an argument of the subtask, and of those after it."""

import pytest

from executor import ActionPlan, Executor, RunStatus
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from htn import problem_kind
from htn.compilations.methods_from_actions import as_htn
from htn.language.declare import Methods
from htn.language.documents import documents_of
from planner import Domain, Entity, Status, load
from planner.errors import InputError
from planner.language.documents.document_writer import to_yaml
from planner.limits import Limits
from planner.solve import solve


class Person(Entity):
    pass


class Ticket(Entity):
    pass


def desk(*, careful=False):
    """Return methods for a desk at which each request gets a ticket of its own; `careful`, where none is open."""
    domain = Domain("desk")
    domain.action(
        "create_ticket",
        {"p": Person},
        requires=["waits(p)"],
        provides=["open(t)", "owner(t, p)"],
        creates={"t": Ticket},
        cost=2,
    )
    domain.action("configure", {"t": Ticket}, requires=["open(t)"], provides=["configured(t)"])
    domain.action(
        "close", {"t": Ticket, "p": Person}, requires=["configured(t)", "owner(t, p)"], provides=["not open(t)"]
    )
    domain.action("send_away", {"p": Person}, provides=["not waits(p)"], cost=9)
    how = Methods(domain)
    how.task("serve", p=Person)
    how.method(
        "with-ticket",
        {"p": Person, "t": Ticket},
        task="serve(p)",
        requires=["(forall (?other - Ticket) (not (open ?other)))"] if careful else [],
        subtasks=["create_ticket(p, t)", "configure(t)", "close(t, p)"],
    )
    how.method("without", {"p": Person}, task="serve(p)", subtasks=["send_away(p)"])
    return how


def asked(*names, waiting=True, careful=False, extra=False, **options):
    """Return the problem to serve all these people; with `extra`, there is an open ticket already, and no owner."""
    objects = [*map(Person, names), *([Ticket("old")] if extra else [])]
    initial = [f"waits({each})" for each in names if waiting] + (["open(old)"] if extra else [])
    tasks = [f"serve({each})" for each in names]
    return desk(careful=careful).problem(objects=objects, initial=initial, tasks=tasks, **options)


def test_tasks_are_planned_with_placeholders():
    problem = asked("ann", "ben")
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert str(result.plan).splitlines() == [
        "1. create_ticket(ann, new-ticket-1)",
        "2. configure(new-ticket-1)",
        "3. close(new-ticket-1, ann)",
        "4. create_ticket(ben, new-ticket-2)",
        "5. configure(new-ticket-2)",
        "6. close(new-ticket-2, ben)",
    ]
    assert problem_kind.validate(problem, result.plan).valid
    assert result.plan.problem is problem
    again = problem_kind.read_plan(problem, problem_kind.write_plan(result.plan))
    assert problem_kind.validate(problem, again).valid
    assert problem_kind.explain_plan(problem, again)


def test_steps_alone_are_checked_with_what_they_create():
    problem = asked("ann")
    plan = solve(problem).plan
    steps = type(plan)(plan.steps, problem)
    assert problem_kind.validate(problem, steps).valid
    assert not problem_kind.validate(problem, type(plan)(plan.steps[:2], problem)).valid


def test_preconditions_speak_of_what_exists():
    result = solve(asked("ann", "ben", careful=True))
    assert result.status is Status.OPTIMAL
    assert [step.action for step in result.plan.steps].count("create_ticket") == 2
    rest = solve(asked("ann", "ben", careful=True, extra=True))
    assert [step.action for step in rest.plan.steps] == ["send_away", "send_away"]


def test_what_is_cheaper_without_creating_is_proved():
    result = solve(asked("ann", waiting=False))
    assert result.status is Status.OPTIMAL
    assert [str(step) for step in result.plan.steps] == ["send_away(ann)"]


def test_no_number_of_objects_helps_where_the_goal_is_out_of_reach():
    problem = asked("ann", waiting=False, goal=["waits(ann)"])
    result = solve(problem)
    assert result.status is Status.UNSOLVABLE
    assert "waits(ann)" in str(problem_kind.explain_unsolvable(problem, Limits(10)))


def test_a_domain_that_creates_has_no_findings():
    assert [str(each) for each in problem_kind.check(asked("ann"), Limits(10))] == []


def test_a_subtask_that_creates_says_what_it_calls_it():
    how = desk()
    with pytest.raises(InputError, match=r"create_ticket\(p\) gives action 'create_ticket' 1 argument; it takes 2"):
        how.method("lazy", {"p": Person}, task="serve(p)", subtasks=["create_ticket(p)"]) and how.model


def test_documents_keep_what_subtasks_create(tmp_path):
    problem = asked("ann")
    path = tmp_path / "desk.yaml"
    path.write_text(to_yaml(documents_of(problem, domain=True)))
    read = load(path)
    assert read.domain == problem.domain
    assert solve(read).cost == solve(problem).cost


def test_derived_methods_create():
    result = solve(as_htn(load("helpdesk", "new-account")))
    assert (result.status, result.cost) == (Status.OPTIMAL, 12)


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault(FaultKind.LIES, "create_ticket(ben)"),
        Fault(FaultKind.RAISES, "configure(ticket-2)"),
        Fault(FaultKind.TWICE, "create_ticket(ben)"),
    ],
    ids=str,
)
def test_hierarchical_runs_bind_what_they_create_and_repair_it(fault):
    problem = asked("ann", "ben")
    simulated = SimulatedWorld(problem, faults=[fault] if fault else [])
    outcome = run_virtual(Executor(simulated.world).run(ActionPlan.of(solve(problem).plan)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    closed = [act.step.args for act in simulated.acts if act.step and act.step.predicate == "close"]
    assert [owner for _, owner in closed] == ["ann", "ben"]
    assert all(simulated.holds(f"owner({ticket}, {owner})") for ticket, owner in closed)


def test_what_was_created_in_part_is_not_created_again_for_the_task():
    fault = Fault(FaultKind.CHANGE_AFTER, "create_ticket(ben)", facts=("not open(ticket-2)",))
    problem = asked("ann", "ben")
    simulated = SimulatedWorld(problem, faults=[fault])
    outcome = run_virtual(Executor(simulated.world).run(ActionPlan.of(solve(problem).plan)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    done = [str(act.step) for act in simulated.acts if act.step and "ben" in act.step.args]
    assert done == ["create_ticket(ben, ticket-2)", "send_away(ben)"]
