"""Hierarchies in YAML and JSON: read, written, and the exact message that each mistake gives."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from effort import share

from benchmarks.htn_brute import cheapest_steps
from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from benchmarks.random_problems import random_problem
from htn.compilations.methods_from_actions import as_htn, derived_methods
from htn.language.documents import documents_of
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from planner import DocumentError, UnsupportedError, json_schema, load, read_documents, write_json, write_yaml
from planner.model import And, Atom, DomainModel, Equals, Not, Object, Problem, Variable
from planner.plan import Step

DOMAIN = """\
domain: courier
types: {robot: object, room: object, parcel: object}
constants: {hall: room}
predicates: {at: [robot, room], lies: [parcel, room]}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)"]
    provides: ["at(robot, target)", "not at(robot, origin)"]
  take:
    parameters: {robot: robot, parcel: parcel, room: room}
    requires: ["at(robot, room)", "lies(parcel, room)"]
    provides: ["has(robot, parcel)", "not lies(parcel, room)"]
tasks:
  go: {parameters: {robot: robot, room: room}, description: be there}
  fetch: {parameters: {parcel: parcel}}
  rest:
methods:
  there: {parameters: {robot: robot, room: room}, task: "go(robot, room)", requires: "at(robot, room)"}
  onwards:
    description: one step
    parameters: {robot: robot, here: room, room: room}
    task: go(robot, room)
    requires: ["at(robot, here)", "not broken(robot)"]
    constraints: ["here != room"]
    subtasks:
      - move(robot, here, room)
  pick-up:
    parameters: {robot: robot, parcel: parcel, room: room}
    task: fetch(parcel)
    subtasks: ["a: go(robot, room)", "b: rest", "c: take(robot, parcel, room)"]
    ordering: [[a, c]]
  pause: {task: rest}
"""
PROBLEM = """\
problem: one-parcel
domain: courier
objects: {r2: robot, lab: room, p: parcel}
initial: ["at(r2, hall)", "lies(p, lab)"]
tasks: ["fetch(p)"]
goal: ["has(r2, p)"]
"""
BOTH = f"{DOMAIN}---\n{PROBLEM}"


def plain(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with the parents of all types stated."""
    types = {name: parents or ("object",) for name, parents in problem.domain.classical.types.items()}
    classical = replace(problem.domain.classical, types=types)
    domain = replace(problem.domain, classical=classical)
    return replace(problem, domain=domain, classical=replace(problem.classical, domain=classical))


def read(text: str = BOTH) -> HtnProblem:
    (problem,) = read_documents(text).problems
    assert isinstance(problem, HtnProblem)
    return problem


def test_values_of_problems_have_the_resolution_of_the_domain():
    domain = DOMAIN.replace("predicates:", "resolution: 0.5\nfunctions: {far: [room]}\npredicates:")
    problem = PROBLEM + "values: {far(lab): 2.3}\n"
    (found,) = read_documents(f"{domain}---\n{problem}").problems
    assert isinstance(found, HtnProblem)
    assert found.classical.values == {Atom("far", ("lab",)): Decimal("2.5")}


def test_domains_and_problems_are_read() -> None:
    found = read()
    domain = found.domain
    assert isinstance(domain, HtnDomain)
    robot, room, parcel = (Variable(f"?{name}", (name,)) for name in ("robot", "room", "parcel"))
    assert domain.tasks == {
        "go": Task("go", (robot, room), "be there"),
        "fetch": Task("fetch", (parcel,)),
        "rest": Task("rest"),
    }
    assert list(domain.methods) == ["there", "onwards", "pick-up", "pause"]
    assert domain.methods["onwards"] == Method(
        "onwards",
        Atom("go", ("?robot", "?room")),
        (robot, Variable("?here", ("room",)), room),
        And((Atom("at", ("?robot", "?here")), Not(Atom("broken", ("?robot",))))),
        sequence(Atom("move", ("?robot", "?here", "?room")), constraints=Not(Equals("?here", "?room"))),
        "one step",
    )
    assert domain.methods["pick-up"].network.ordering == ((0, 2),)
    assert [each.label for each in domain.methods["pick-up"].network.subtasks] == ["a", "b", "c"]
    assert found.network == sequence(Atom("fetch", ("p",)))
    expected = (Step("move", ("r2", "hall", "lab"), 1), Step("take", ("r2", "p", "lab"), 1))
    assert cheapest_steps(found) == expected


@pytest.mark.parametrize(
    ("tasks", "network"),
    [
        ("[]", Network()),
        ("fetch(p)", sequence(Atom("fetch", ("p",)))),
        ("[rest, 'fetch(p)']", sequence(Atom("rest"), Atom("fetch", ("p",)))),
        ("{subtasks: [rest, 'fetch(p)']}", sequence(Atom("rest"), Atom("fetch", ("p",)))),
        (
            "{subtasks: [rest, 'fetch(p)'], ordered: false}",
            Network((Subtask(Atom("rest")), Subtask(Atom("fetch", ("p",))))),
        ),
        (
            "{subtasks: ['a: rest', 'b: fetch(p)'], ordering: ['b < a']}",
            Network((Subtask(Atom("rest")), Subtask(Atom("fetch", ("p",)))), ((1, 0),)),
        ),
        (
            "{parameters: {x: parcel}, subtasks: ['fetch(x)'], constraints: ['x == p']}",
            sequence(Atom("fetch", ("?x",)), constraints=Equals("?x", "p")),
        ),
    ],
)
def test_initial_tasks(tasks: str, network: Network) -> None:
    found = read(BOTH.replace('tasks: ["fetch(p)"]', f"tasks: {tasks}"))
    assert found.network == network
    assert found.parameters == ((Variable("?x", ("parcel",)),) if "?x" in str(network) else ())


def test_tasks_of_a_classical_domain_are_actions() -> None:
    classical = DOMAIN[: DOMAIN.index("tasks:")]
    problem = PROBLEM.replace("fetch(p)", "move(r2, hall, lab)")
    found = read(f"{classical}---\n{problem}")
    assert found.domain.tasks == {}
    assert cheapest_steps(read(f"{classical}---\n{problem}".replace("has(r2, p)", "at(r2, lab)"))) == (
        Step("move", ("r2", "hall", "lab"), 1),
    )


def test_derived_methods_on_request() -> None:
    classical = DOMAIN[: DOMAIN.index("tasks:")] + "derived_methods: true\n"
    found = read(f"{classical}---\n{PROBLEM}".replace("fetch(p)", "achieve-has(r2, p)"))
    assert found.domain == derived_methods(found.domain.classical)
    assert cheapest_steps(found) == (Step("move", ("r2", "hall", "lab"), 1), Step("take", ("r2", "p", "lab"), 1))
    own = 'methods: {mine: {task: "achieve-has(r, p)", parameters: {r: robot, p: parcel}, requires: "has(r, p)"}}\n'
    (domain,) = read_documents(classical + own).domains
    assert isinstance(domain, HtnDomain)
    assert next(iter(domain.methods)) == "mine"


def test_documents_without_tasks_stay_classical() -> None:
    found = read_documents(DOMAIN[: DOMAIN.index("tasks:")] + "---\n" + PROBLEM.replace('tasks: ["fetch(p)"]\n', ""))
    assert isinstance(found.domains[0], DomainModel)
    assert found.classical_domains == found.domains
    assert isinstance(found.problems[0], Problem)


def test_files_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text(BOTH)
    (tmp_path / "domain.yaml").write_text(DOMAIN)
    (tmp_path / "p.yaml").write_text(PROBLEM)
    assert load(tmp_path / "both.yaml") == load(tmp_path / "domain.yaml", tmp_path / "p.yaml") == read()
    assert load(tmp_path, "p") == read()
    (tmp_path / "both.json").write_text(write_json(read()))
    assert load(tmp_path / "both.json") == read()


@pytest.mark.parametrize("features", [ORDERED, PARTIAL, HtnFeatures(classical=WILD)])
def test_what_is_written_reads_back(features: HtnFeatures) -> None:
    for seed in share(range(25), 4):
        problem = plain(random_htn(seed, features))
        for write in (write_yaml, write_json):
            assert read(write(problem)) == problem, seed
            (domain,) = read_documents(write(problem.domain)).domains
            assert domain == problem.domain, seed
            alone = read_documents(write(problem, domain=False), domain=problem.domain).problems
            assert alone == (problem,), seed


def test_editors_are_told() -> None:
    parts = json_schema()["$defs"]
    assert {"tasks", "methods"} <= parts["DomainDocument"]["properties"].keys()
    assert "tasks" in parts["ProblemDocument"]["properties"]
    assert parts["MethodDocument"]["required"] == ["task"]
    wanted = {"task", "parameters", "requires", "subtasks", "ordered", "ordering", "constraints", "description"}
    assert parts["MethodDocument"]["properties"].keys() == wanted


def test_derived_methods_are_written() -> None:
    for seed in range(20):
        problem = plain(as_htn(random_problem(seed)))
        assert read(write_yaml(problem)) == problem, seed


def test_a_parameter_that_is_named_like_an_object_keeps_its_sign() -> None:
    problem = read()
    hall = Variable("?hall", ("room",))
    robot = Variable("?robot", ("robot",))
    network = sequence(Atom("go", ("?robot", "?hall")), Atom("go", ("?robot", "hall")))
    method = Method("both", Atom("go", ("?robot", "?hall")), (robot, hall), network=network)
    domain = replace(problem.domain, methods={"both": method})
    assert read_documents(write_yaml(domain)).domains == (domain,)


def test_labels_that_orders_need_are_made() -> None:
    problem = read()
    tasks = (Subtask(Atom("rest"), "t2"), Subtask(Atom("rest")), Subtask(Atom("rest"), "end"))
    problem = replace(problem, network=Network(tasks, ((0, 1), (0, 2))))
    (document,) = documents_of(problem, domain=False)
    assert document["tasks"] == {
        "subtasks": ["t2: rest", "t2-: rest", "end: rest"],
        "ordering": [["t2", "t2-"], ["t2", "end"]],
    }


def test_what_has_no_text_is_not_written() -> None:
    domain = read().domain
    with pytest.raises(UnsupportedError, match="'and' in a document"):
        write_yaml(replace(domain, tasks={"and": Task("and")}))
    assert Object("lab", ("room",)) in read().classical.objects


ERRORS = [
    ("  rest:\n", "  go there:\n", "17:3: 'go there' cannot name a task; a name has no spaces, commas, quotes or "),
    (
        "fetch: {parameters: {parcel: parcel}}",
        "fetch: {parameters: {parcel: parcl}}",
        "16:32: unknown type 'parcl'; did ",
    ),
    (
        "fetch: {parameters: {parcel: parcel}}",
        "fetch: {parameters: {parcel: str}}",
        "16:24: parameter 'parcel' of task ",
    ),
    (
        "fetch: {parameters:",
        "fetch: {parameter:",
        "16:11: tasks.fetch has no key 'parameter'; did you mean 'parameters'?",
    ),
    ("  rest:\n", "  move:\n", "17:3: task 'move' is also an action of domain 'courier'; rename one of them"),
    ("task: fetch(parcel)", "task: fetsh(parcel)", "30:11: there is no task 'fetsh'; did you mean 'fetch'?"),
    (
        "task: fetch(parcel)",
        "task: fetch(room)",
        "30:17: 'room' in fetch(room) is 'room', but task 'fetch' takes 'parcel' ",
    ),
    (
        "task: fetch(parcel)",
        "task: fetch(parcel, room)",
        "30:11: fetch(parcel, room) gives task 'fetch' 2 arguments; it ",
    ),
    ("task: fetch(parcel)", "task: fetch(parcel", "30:11: 'fetch(parcel' lacks a ')'"),
    ("    task: fetch(parcel)\n", "", "28:3: methods.pick-up lacks the key 'task'"),
    (
        "- move(robot, here, room)",
        "- mov(robot, here, room)",
        "27:9: there is no task or action 'mov'; did you mean 'move'?",
    ),
    (
        "- move(robot, here, room)",
        "- move(robot, here, rom)",
        "27:27: 'rom' in move(robot, here, rom) is neither a parameter",
    ),
    (
        "- move(robot, here, room)",
        "- at(robot, here)",
        "27:9: there is no task or action 'at'; 'at' is a predicate: what ",
    ),
    ("- move(robot, here, room)", "- [a]", "27:9: methods.onwards.subtasks[1]: found a list, expected a text"),
    ("- move(robot, here, room)", "move: x", "26:5: methods.onwards.subtasks: found a mapping, expected a text"),
    ('"not broken(robot)"', '"at(robot)"', "24:36: at(robot) gives predicate 'at' 1 argument; it takes 2 arguments"),
    ('"here != room"', '"here =! room"', "25:20: 'here =! room' is no atom; equality is written a == b"),
    ('"here != room"', '"at(robot, here)"', "25:20: a constraint says that two terms are equal or not, and "),
    ("ordering: [[a, c]]", "ordering: [[a, d]]", "32:20: no subtask has the label 'd'; the labels are a, b, c"),
    ("ordering: [[a, c]]", "ordering: [a]", "32:16: ['a'] orders no subtasks; write a pair of labels: ('a', 'b'), or "),
    ("ordering: [[a, c]]", "ordering: [[a, c], [c, a]]", "32:5: the ordering runs in a circle: a < c < a; remove one"),
    (
        "ordering: [[a, c]]",
        "ordering: []\n    ordered: true",
        "33:5: the tasks are ordered, and an ordering is given; say ",
    ),
    (
        "ordering: [[a, c]]",
        "ordered: maybe",
        "32:14: methods.pick-up.ordered: found the text 'maybe', expected true or ",
    ),
    (
        "ordering: [[a, c]]",
        "orderings: [[a, c]]",
        "32:5: methods.pick-up has no key 'orderings'; did you mean 'ordering'?",
    ),
    ('tasks: ["fetch(p)"]', 'tasks: ["fetsh(p)"]', "39:10: there is no task or action 'fetsh'; did you mean 'fetch'?"),
    ('tasks: ["fetch(p)"]', 'tasks: ["fetch(q)"]', "39:16: 'q' in fetch(q) is no object of the problem"),
    (
        'tasks: ["fetch(p)"]',
        'tasks: {subtask: ["fetch(p)"]}',
        "39:9: tasks has no key 'subtask'; did you mean 'subtasks'?",
    ),
    ('tasks: ["fetch(p)"]', "tasks: 3", "39:1: tasks: found the number 3, expected a text; put quotes around it"),
    ('tasks: ["fetch(p)"]\n', "", "35:10: problem 'one-parcel' has no tasks, but its domain 'courier' has methods; "),
]


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_mistakes_and_their_messages(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert BOTH.count(old) == 1
    path = tmp_path / "file.yaml"
    path.write_text(BOTH.replace(old, new))
    with pytest.raises(DocumentError) as caught:
        read_documents(path)
    assert str(caught.value).removeprefix(f"{path}:")[: len(message)] == message
