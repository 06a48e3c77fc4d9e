"""Whatever way a hierarchical problem is made, its names are looked up once before anything is done with it."""

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from domains.travel import couple
from htn import problem_kind
from htn.compilations.methods_from_actions import as_htn
from htn.language.declare import Methods
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.repair.subtree_repair import repair
from htn.verification.plan_verification import validate
from planner import Domain, Limits, Plan, Status, Step, candidates, solve, write_yaml
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Atom, Constraint, ConstraintKind, Done, Equals, Goal, Not, Object, Variable
from planner.problem_kinds import resolve_problem
from planner.unified_planning.conversion import to_unified_planning


def office() -> HtnProblem:
    domain = Domain("office", types={"machine": "object", "robot": "machine", "room": "object"})
    domain.action(
        "move",
        {"r": "robot", "a": "room", "b": "room"},
        requires=["at(r, a)", "door(a, b)"],
        provides=["at(r, b)"],
        modifies=["at(r, _)"],
    )
    how = Methods(domain)
    how.task("go", r="robot", b="room")
    how.method("there", {"r": "robot", "b": "room"}, task="go(r, b)", requires=["at(r, b)"], subtasks=[])
    how.method(
        "on",
        {"r": "robot", "a": "room", "n": "room", "b": "room"},
        task="go(r, b)",
        requires=["at(r, a)", "door(a, n)"],
        subtasks=["move(r, a, n)", "go(r, b)"],
    )
    return how.problem(
        objects={"r2": "robot", "press": "machine", "hall": "room", "lab": "room"},
        initial=["at(r2, hall)", "door(hall, lab)"],
        tasks=["go(r2, lab)"],
    )


def tasks(*atoms: Any, **fields: Any) -> Callable[[HtnProblem], HtnProblem]:
    return lambda problem: replace(problem, network=Network(tuple(map(Subtask, atoms)), **fields))


def classical(**fields: Any) -> Callable[[HtnProblem], HtnProblem]:
    return lambda problem: replace(problem, classical=replace(problem.classical, **fields))


def domain(**fields: Any) -> Callable[[HtnProblem], HtnProblem]:
    return lambda problem: replace(problem, domain=replace(problem.domain, **fields))


def method(**fields: Any) -> Callable[[HtnProblem], HtnProblem]:
    def changed(problem: HtnProblem) -> HtnProblem:
        methods = problem.domain.methods
        return replace(
            problem, domain=replace(problem.domain, methods=methods | {"on": replace(methods["on"], **fields)})
        )

    return changed


def both(problem: HtnProblem, **fields: Any) -> HtnProblem:
    """Return `problem` over a classical domain with other `fields`."""
    changed = replace(problem.classical.domain, **fields)
    whole = replace(problem, classical=replace(problem.classical, domain=changed))
    return replace(whole, domain=replace(problem.domain, classical=changed))


GO, LOST = Atom("go", ("r2", "lab")), Atom("go", ("r2", "xx"))
MISTAKES: dict[str, Callable[[HtnProblem], HtnProblem]] = {
    "problem 'office', tasks: 'xx' in go(r2, xx) is no object of the problem": tasks(LOST),
    "problem 'office', tasks: 'lab' in go(lab, r2) is 'room', but task 'go' takes 'robot' there": tasks(
        Atom("go", ("lab", "r2"))
    ),
    "tasks: 'press' in go(press, lab) is 'machine', but task 'go' takes 'robot' there": tasks(
        Atom("go", ("press", "lab"))
    ),
    "problem 'office', tasks: '?x' in go(r2, ?x) is no parameter of the problem": tasks(Atom("go", ("r2", "?x"))),
    "tasks: there is no task or action 'goo'; did you mean 'go'?": tasks(Atom("goo", ("r2", "lab"))),
    "tasks: go(r2) gives task 'go' 1 argument; it takes 2 arguments": tasks(Atom("go", ("r2",))),
    "tasks: move(r2) gives action 'move' 1 argument; it takes 3 arguments": tasks(Atom("move", ("r2",))),
    "tasks: 3 is no task; write 'name(arg, …)'": tasks(3),
    "tasks: 'go(r2' lacks a ')'": tasks("go(r2"),
    "tasks: 'xx' in go(r2, xx) is no object": tasks("go(r2, xx)"),
    "tasks: 7 in an atom is no name": tasks(Atom("go", ("r2", 7))),  # type: ignore[arg-type]
    "tasks: None is no network; write sequence(Atom(…), …)": lambda problem: replace(problem, network=None),
    "tasks: () is no network": lambda problem: replace(problem, network=()),
    "tasks: 5 are no subtasks; give a tuple of Subtask(Atom(…))": lambda problem: replace(
        problem,
        network=Network(5),  # type: ignore[arg-type]
    ),
    "tasks, ordering: (0, 2) is no pair of places of subtasks; the places are 0 to 1": tasks(
        GO, GO, ordering=((0, 2),)
    ),
    "tasks, ordering: 'ab' is no pair of places": tasks(GO, GO, ordering=("ab",)),
    "tasks, ordering: None is no ordering; give pairs": tasks(GO, GO, ordering=None),
    "tasks, ordering: the ordering runs in a circle: go(r2, lab) (0) < go(r2, lab) (0)": tasks(GO, ordering=((0, 0),)),
    "tasks, constraints: a constraint says that two terms are equal or not, and 'at(r2, lab)' does": tasks(
        GO, constraints=Atom("at", ("r2", "lab"))
    ),
    "tasks, constraints: 'xx' in": tasks(GO, constraints=Not(Equals("r2", "xx"))),
    "parameters: parameter '?r' is of the unknown type 'robo'; did you mean 'robot'?": lambda problem: replace(
        problem, parameters=(Variable("?r", ("robo",)),)
    ),
    "parameters: 'r' is no parameter; write Variable('?r'": lambda problem: replace(problem, parameters=("r",)),
    "parameters: parameter '?r' is there twice": lambda problem: replace(
        problem, parameters=(Variable("?r", ("robot",)), Variable("?r", ("room",)))
    ),
    "parameters: None are no parameters": lambda problem: replace(problem, parameters=None),
    "goal: zork: domain 'office' has no predicate 'zork'": classical(goal=Goal(Atom("zork"))),
    "goal: 'xx' in at(r2, xx) is no object of the problem": classical(goal=Goal(Atom("at", ("r2", "xx")))),
    "constraints: zork: domain 'office' has no action 'zork'": classical(
        constraints=(Constraint(ConstraintKind.SOMETIME, Done(Atom("zork"))),)
    ),
    "initial: att(r2, hall): domain 'office' has no predicate 'att'; did you mean 'at'?": classical(
        initial=(Atom("att", ("r2", "hall")),)
    ),
    "tasks: 'lab' in go(r2, lab) is no object of the problem": classical(
        objects=(Object("r2", ("robot",)),), initial=()
    ),
    "problem 'office': the domain is a DomainModel; give an HtnDomain": lambda problem: replace(
        problem, domain=problem.domain.classical
    ),
    "the hierarchy and the classical part are of different domains; replace both": lambda problem: replace(
        problem, domain=replace(problem.domain, classical=replace(problem.domain.classical, actions={}))
    ),
    "domain 'office', methods, on, subtasks: there is no task or action 'move'": lambda problem: both(
        problem, actions={}
    ),
    "domain 'office', tasks: None are no tasks; give a mapping from names to Task(…)": domain(tasks=None),
    "domain 'office', tasks: 'go' is no task; write Task('name', …)": domain(tasks={"go": "go"}),
    "domain 'office', tasks: task 'come' stands there as 'go'": domain(tasks={"go": Task("come")}),
    "domain 'office', tasks, move: task 'move' is also an action": domain(tasks={"move": Task("move")}),
    "domain 'office', tasks, go, parameters: parameter '?r' is of the unknown type 'robo'": domain(
        tasks={"go": Task("go", (Variable("?r", ("robo",)),))}
    ),
    "domain 'office', methods, there, task: there is no task 'go'": domain(tasks={}),
    "domain 'office', methods: 5 are no methods": domain(methods=5),
    "domain 'office', methods, on, task: there is no task 'goo'; did you mean 'go'?": method(
        task=Atom("goo", ("?r", "?b"))
    ),
    "methods, on, task: go(r) gives task 'go' 1 argument; it takes 2": method(task=Atom("go", ("?r",))),
    "methods, on, task: move(r, a, b) is an action": method(task=Atom("move", ("?r", "?a", "?b"))),
    "methods, on, requires: zork(?r): domain 'office' has no predicate 'zork'": method(
        precondition=Atom("zork", ("?r",))
    ),
    "methods, on, requires: at(r) gives predicate 'at' 1 argument": method(precondition=Atom("at", ("?r",))),
    "methods, on, requires: '?z' in at(?r, ?z) is no parameter of method 'on'": method(
        precondition=Atom("at", ("?r", "?z"))
    ),
    "methods, on, requires: None is no condition": method(precondition=None),
    "methods, on, subtasks: there is no task or action 'moves'; did you mean 'move'?": method(
        network=sequence(Atom("moves", ("?r", "?a", "?b")))
    ),
    "methods, on, subtasks: '?z' in go(?r, ?z) is no parameter of method 'on'": method(
        network=sequence(Atom("go", ("?r", "?z")))
    ),
    "methods, on, subtasks, ordering: (5, 7) is no pair of places": method(
        network=Network((Subtask(Atom("go", ("?r", "?b"))),), ((5, 7),))
    ),
    "on, subtasks, ordering: the ordering runs in a circle: go(?r, ?b) (0) < go(?r, ?a) (1) < go(?r, ?b) (0)": (
        method(
            network=Network((Subtask(Atom("go", ("?r", "?b"))), Subtask(Atom("go", ("?r", "?a")))), ((0, 1), (1, 0)))
        )
    ),
    "methods, on, parameters: parameter '?r' is of the unknown type 'robo'": method(
        parameters=(Variable("?r", ("robo",)),)
    ),
}
STEPS = (Step("move", ("r2", "hall", "lab"), 1),)


def decomposed(problem: HtnProblem) -> Plan:
    """Return a plan of the problem that `problem` was made of."""
    return replace(found_plan(), problem=problem)


@functools.cache
def found_plan() -> Plan:
    return solve(office()).expect_plan()


ENTRIES: dict[str, Callable[[HtnProblem], object]] = {
    "solve": solve,
    "solve with an engine": lambda problem: solve(problem, engine="aries"),
    "problem.solve": solve,
    "candidates": candidates,
    "why_not": lambda problem: problem_kind.explain_unsolvable(problem, Limits(5)),
    "check": lambda problem: problem_kind.check(problem, Limits(5)),
    "validate": lambda problem: problem_kind.validate(problem, decomposed(problem)),
    "validate steps": lambda problem: problem_kind.validate(problem, Plan(STEPS, problem)),
    "explain_plan": lambda problem: problem_kind.explain_plan(problem, decomposed(problem)),
    "repair": lambda problem: repair(problem, decomposed(problem)),
    "to_unified_planning": to_unified_planning,
    "write_yaml": write_yaml,
    "grounded": lambda problem: problem_kind.to_unified_planning(problem, is_ground=True),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_names_that_mean_nothing_are_mistakes_and_no_proofs(message: str) -> None:
    problem = MISTAKES[message](office())
    for entry, use in ENTRIES.items():
        with pytest.raises(InputError) as refused:
            use(problem)
        assert message in str(refused.value), entry


def test_every_entry_takes_problems_that_mean_something() -> None:
    for entry, use in ENTRIES.items():
        if "engine" not in entry:
            use(office())


def test_texts_in_networks_and_methods_are_read() -> None:
    problem = replace(office(), network=Network(("go(r2, lab)",)))  # type: ignore[arg-type]
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    plan = found.expect_plan()
    assert [str(step) for step in plan.steps] == ["move(r2, hall, lab)"]
    assert plan.problem.network == office().network
    assert validate(plan.problem, plan).valid
    assert validate(office(), replace(plan, problem=office())).valid
    read = problem_kind.resolve(method(precondition="(and (at ?r ?a) (door ?a ?n))")(office()))
    assert read.domain.methods["on"].precondition == office().domain.methods["on"].precondition


def test_problems_made_by_hand_are_looked_up() -> None:
    source = office()
    made = HtnProblem(
        HtnDomain(source.domain.classical, source.domain.tasks, source.domain.methods),
        replace(source.classical, seal=()),
        sequence(GO),
    )
    assert not made.is_sealed
    plan = solve(made).expect_plan()
    assert plan.problem is made
    assert validate(made, plan).valid
    with pytest.raises(InputError, match="'xx' in go"):
        solve(replace(made, network=sequence(LOST)))


def test_a_method_may_name_objects_and_reuse_a_name_in_a_quantifier() -> None:
    problem = office()
    named = Method("straight", GO, (), Atom("at", ("r2", "hall")), sequence(Atom("move", ("r2", "hall", "lab"))))
    changed = replace(problem, domain=replace(problem.domain, methods={"straight": named}))
    found = solve(changed)
    assert found.status is Status.OPTIMAL
    assert validate(found.plan.problem, found.plan).valid


def test_readers_and_derivation_give_sealed_problems() -> None:
    for problem in (office(), couple(), as_htn(office().classical)):
        assert problem.is_sealed
        assert problem_kind.resolve(problem) is problem
        assert resolve_problem(problem) is problem
        assert pickle.loads(pickle.dumps(problem)).is_sealed
        assert copy.deepcopy(problem).is_sealed
        assert problem == replace(problem, seal=())


def test_a_seal_is_broken_by_what_is_replaced() -> None:
    problem = office()
    assert not replace(problem, network=Network()).is_sealed
    assert not replace(problem, parameters=(Variable("?r", ("robot",)),)).is_sealed
    assert not replace(problem, domain=replace(problem.domain)).is_sealed
    assert not classical(goal=Goal())(problem).is_sealed
    assert replace(problem, spelling=problem.spelling).is_sealed
    assert problem_kind.resolve(classical(goal="at(r2, lab)")(problem)).is_sealed


def test_methods_are_looked_up_again_only_where_what_they_name_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from htn.language.declare import resolve_htn

    read = []
    original = resolve_htn._Reader.domain
    monkeypatch.setattr(resolve_htn._Reader, "domain", lambda reader: read.append(reader) or original(reader))
    problem = office()
    priced = {name: replace(each, cost=(5,)) for name, each in problem.classical.domain.actions.items()}
    changes = (
        classical(goal=Goal()),
        lambda each: replace(each, network=Network()),
        lambda each: both(each, actions=priced),
    )
    counts = []
    for change in (*changes[:2], method(description="by foot")):
        read.clear()
        problem_kind.resolve(change(problem))
        counts.append(len(read))
    assert counts == [0, 0, 1]
    assert solve(both(problem, actions=priced)).cost == 5
