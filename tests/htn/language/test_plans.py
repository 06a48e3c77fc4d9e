"""Hierarchical plans as text and as JSON: what is written, what is read, and every mistake with its place."""

from __future__ import annotations

import json
import random
from io import StringIO

import pytest
from htn_post import DOMAIN, PLAN, ROUND, STEPS, TREE, atom, by, crowd, did, problem_of, steps_of, tree_of, variables
from rich.console import Console

from htn import problem_kind
from htn.language.hddl import parse_domain, parse_problem
from htn.language.plan_drawing import draw_tree
from htn.language.plan_drawing import tree_of as tree_of_rich
from htn.language.plan_text import plan_from_data, plan_from_text, read_plan, write_plan
from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Node, Subtask, Task, sequence
from htn.verification.chart_parsing import find_decomposition, verify
from htn.verification.plan_verification import complete_bindings, validate
from planner.errors import PlanError
from planner.lightweight import replace
from planner.limits import LimitReached, Limits
from planner.model import TRUE, Action, And, Atom, DomainModel, Equals, Formula, Not, Object, Problem, Variable
from planner.plan import Plan, Step, StoppedBy
from planner.solve import solve

TEXT = """\
==>
0 load p t a
1 drive t a b
2 rest
3 drive t b c
4 unload p t c
5 drive t c b
6 load q t b
7 drive t b a
8 unload q t a
root 9 10 11
9 deliver p c -> bring 12 0 13 4
10 deliver q a -> bring 14 6 15 8
11 break -> nap 2
12 get t a -> stay
13 get t c -> via 16 17
14 get t b -> go 5
15 get t a -> go 7
16 get t b -> go 1
17 get t c -> go 3
<==
"""


def lines(**others: str) -> str:
    """The text with other lines in the place of some: `line_3="…"`."""
    found = TEXT.splitlines()
    for name, line in others.items():
        found[int(name.removeprefix("line_")) - 1] = line
    return "\n".join(found)


def test_a_plan_is_written_as_the_competition_wants_it():
    assert write_plan(PLAN) == TEXT


def test_a_plan_is_read():
    plan = read_plan(TEXT, ROUND)
    assert plan.steps == STEPS
    assert validate(ROUND, plan).valid
    assert write_plan(complete_bindings(ROUND, plan)) == TEXT


def test_a_plan_without_decomposition_is_not_written():
    with pytest.raises(PlanError, match="the plan has no decomposition"):
        write_plan(Plan(STEPS, ROUND))


def numbered(offset: int) -> str:
    """The text with other numbers, and tasks in another order."""
    start, *rest = TEXT.splitlines()
    end = rest.pop()

    def number(word: str) -> str:
        return str(997 * int(word) % 1_009 + offset) if word.isdigit() else word

    moved = [" ".join(number(word) for word in line.split()) for line in rest]
    tasks = moved[10:]
    random.Random(offset).shuffle(tasks)
    return "\n".join([start, *moved[:10], *tasks, end])


LENIENT = {
    "other numbers": numbered(0),
    "negative numbers": numbered(-500),
    "parentheses": TEXT.replace("drive t c b", "(drive t c b)").replace("deliver p c", "(deliver p c)"),
    "brackets": TEXT.replace("drive t c b", "drive[t,c,b]").replace("get t b", "get[t,b]"),
    "upper case": TEXT.upper(),
    "comments": TEXT.replace("\nroot", "\n; the tasks\nroot").replace("rest", "rest ; at last"),
    "blank lines": TEXT.replace("\n", "\n\n  \t"),
    "what a planner prints before": "searching -> 12\n0 nonsense\n" + TEXT,
    "what a planner prints after": TEXT + "solved in 3 s\n0 -> 1",
    "an earlier plan": "==>\n0 rest\nroot 0\n<==\n" + TEXT,
    "no end": TEXT.removesuffix("<==\n"),
    "a first step beside the start": TEXT.replace("==>\n0", "==> 0"),
    "line ends": TEXT.replace("\n", "\r\n"),
    "a task above all": lines(line_11="root 30", line_20="17 get t c -> go 3\n30 __top -> __top_method 9 10 11"),
    "a task above all in brackets": lines(line_11="root 30", line_20="17 get t c -> go 3\n30 __top[] -> m 9 10 11"),
    "roots in another linearisation": lines(line_11="root 9 11 10"),
}


@pytest.mark.parametrize("name", LENIENT)
def test_what_does_not_matter(name):
    plan = read_plan(LENIENT[name], ROUND)
    assert plan.steps == STEPS
    assert validate(ROUND, plan).valid


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_text_is_no_plan(text):
    with pytest.raises(PlanError) as caught:
        plan_from_text(text, ROUND, "plan")
    assert str(caught.value) == (
        "plan:1:1: found nothing, expected a plan; "
        "a plan without steps is the lines '==>', 'root' (with the numbers of its tasks) and '<=='"
    )


@pytest.mark.parametrize("text", ["==>\nroot\n<==\n", "; cost = 0\n", '{"steps": []}'])
def test_a_plan_may_have_no_steps(text):
    assert plan_from_text(text, ROUND).steps == ()


MISTAKES = {
    "empty": ("", "plan:1:1: found no line ==>"),
    "no start": (TEXT.removeprefix("==>\n"), "plan:1:1: found no line ==>"),
    "a step without a number": (lines(line_3="drive t a b"), "plan:3:1: found 'drive', expected the number of a task"),
    "a step that is a number": (lines(line_4="2"), "plan:4:1: found a number alone, expected an action after it"),
    "a number twice": (lines(line_3="0 drive t a b"), "plan:3:1: the number 0 is given twice"),
    "a number twice, among tasks": (lines(line_14="8 break -> nap 2"), "plan:14:1: the number 8 is given twice"),
    "a fraction": (lines(line_4="2.5 rest"), "plan:4:1: found '2.5', expected the number of a task"),
    "an unknown action": (
        lines(line_3="1 drve t a b"),
        "plan:3:3: the problem has no action 'drve'; did you mean 'drive'?",
    ),
    "a task among the steps": (lines(line_3="1 get t b"), "plan:3:3: the problem has no action 'get'"),
    "arguments of an action": (lines(line_3="1 drive t b"), "plan:3:3: 'drive' has 2 arguments here, expected 3"),
    "an unknown object": (lines(line_3="1 drive t a d"), "plan:3:13: the problem has no object 'd'"),
    "no root": (
        "\n".join(line for line in TEXT.splitlines() if not line.startswith("root")),
        "plan:11:15: found '->' before the line 'root'; 'root' comes after the steps",
    ),
    "a root that is no number": (lines(line_11="root 9 10 x"), "plan:11:11: found 'x', expected the number of a task"),
    "a root that is nothing": (lines(line_11="root 9 10 12 99"), "plan:11:14: no line has the number 99"),
    "two roots": (lines(line_12="root 9"), "plan:12:1: found 'root', expected the number of a task"),
    "no arrow": (
        lines(line_14="11 break nap 2"),
        "plan:14:1: found 'break nap 2', expected a task with its arguments, '->', a method",
    ),
    "no task": (lines(line_14="11 -> nap 2"), "plan:14:1: found '-> nap 2', expected a task"),
    "no method": (lines(line_14="11 break ->"), "plan:14:1: found 'break ->', expected a task"),
    "an unknown task": (
        lines(line_12="9 delver p c -> bring 12 0 13 4"),
        "plan:12:3: the problem has no compound task 'delver'; did you mean 'deliver'?",
    ),
    "an action that is decomposed": (
        lines(line_14="11 rest -> nap 2"),
        "plan:14:4: the problem has no compound task 'rest'",
    ),
    "arguments of a task": (lines(line_15="12 get t -> stay"), "plan:15:4: 'get' has 1 argument here, expected 2"),
    "an unknown object of a task": (lines(line_15="12 get t x -> stay"), "plan:15:10: the problem has no object 'x'"),
    "an unknown method": (
        lines(line_15="12 get t a -> sty"),
        "plan:15:15: the problem has no method 'sty'; did you mean 'stay'?",
    ),
    "a subtask that is no number": (
        lines(line_14="11 break -> nap (rest)"),
        "plan:14:18: found 'rest', expected the number of a task",
    ),
    "a subtask that is nothing": (lines(line_14="11 break -> nap 50"), "plan:14:17: no line has the number 50"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_have_places(name):
    text, message = MISTAKES[name]
    with pytest.raises(PlanError) as caught:
        read_plan(text, ROUND, "plan")
    assert message in str(caught.value)


FLAWS = {
    "a subtask of two": (lines(line_20="17 get t c -> go 1"), "is a subtask twice"),
    "a task below itself": (lines(line_16="13 get t c -> via 16 13"), "is a subtask twice"),
    "a task that is nobody's": (lines(line_19="16 get t b -> go 1\n18 get t c -> stay"), "belongs to no task"),
    "a subtask too many": (lines(line_14="11 break -> nap 2 3"), "it has 1 subtask, but 2 here"),
    "another order of a total order": (
        lines(line_12="9 deliver p c -> bring 0 12 13 4"),
        "its subtask 1 is get(?t, ?from), not load(p, t, a); the plan lists its subtasks in the wrong order",
    ),
    "roots in an order that is no linearisation": (
        lines(line_11="root 11 10 9"),
        "subtask 1 is deliver(p, c), not break; the plan lists its subtasks in the wrong order",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_what_can_be_read_but_is_no_plan(name):
    text, reason = FLAWS[name]
    assert reason in validate(ROUND, read_plan(text, ROUND)).reason


MIXED = Method(
    "mixed",
    atom("deliver ?p ?to"),
    variables("p to t from mid"),
    network=Network(
        tuple(Subtask(atom(each)) for each in ("drive ?t ?from ?mid", "rest", "drive ?t ?mid ?to", "rest")),
        ((0, 2), (2, 3)),
    ),
)
SHUFFLED = problem_of("deliver p c")
SHUFFLED = replace(SHUFFLED, domain=replace(DOMAIN, methods={"mixed": MIXED}))


@pytest.mark.parametrize("numbers", ["1 0 2 3", "0 1 2 3", "1 2 3 0", "1 3 2 0", "3 1 2 0"])
def test_subtasks_in_any_linearisation(numbers):
    """The two drives and the two rests can only be told apart by the order of steps."""
    text = f"==>\n0 rest\n1 drive t a b\n2 drive t b c\n3 rest\nroot 4\n4 deliver p c -> mixed {numbers}\n<=="
    plan = complete_bindings(SHUFFLED, read_plan(text, SHUFFLED))
    verdict = validate(SHUFFLED, plan)
    assert verdict.valid is (numbers in {"1 0 2 3", "0 1 2 3", "1 2 3 0"})
    if verdict.valid:
        assert plan.tree.nodes[4].children == (1, 0, 2, 3)
        assert plan.tree.nodes[4].binding == ("p", "c", "t", "a", "b")


@pytest.mark.parametrize("numbers", ["0 2 1 3", "3 2 1 0", "2 0 3 1"])
def test_subtasks_in_an_order_that_is_no_linearisation(numbers):
    text = f"==>\n0 rest\n1 drive t a b\n2 drive t b c\n3 rest\nroot 4\n4 deliver p c -> mixed {numbers}\n<=="
    assert not validate(SHUFFLED, read_plan(text, SHUFFLED)).valid


def test_subtasks_that_fit_in_no_order_are_taken_as_plans_list_them():
    text = "==>\n0 drive t b c\n1 rest\n2 drive t a b\n3 rest\nroot 4\n4 deliver p c -> mixed 3 2 1 0\n<=="
    plan = read_plan(text, SHUFFLED)
    assert plan.tree.nodes[4].children == (3, 2, 1, 0)
    assert not validate(SHUFFLED, plan).valid


def reversed_problem() -> HtnProblem:
    """A method and an initial network whose subtasks are written in the reverse of their total order."""
    subtasks = tuple(Subtask(atom(each)) for each in ("rest", "drive ?t ?mid ?to", "drive ?t ?from ?mid"))
    back = Method(
        "back", atom("deliver ?p ?to"), variables("p to t from mid"), network=Network(subtasks, ((2, 1), (1, 0)))
    )
    problem = problem_of("get t c", "deliver p c", ordering=[(1, 0)])
    return replace(problem, domain=replace(DOMAIN, methods={**DOMAIN.methods, "back": back}))


LISTED = """\
==>
0 drive t a b
1 drive t b c
2 rest
root {roots}
3 get t c -> stay
4 deliver p c -> back {children}
<==
"""


def test_subtasks_are_written_in_a_linearisation():
    problem = reversed_problem()
    plan = read_plan(LISTED.format(roots="4 3", children="0 1 2"), problem)
    assert validate(problem, plan).valid
    assert plan.tree.nodes[4].children == (2, 1, 0)
    assert plan.tree.roots == (3, 4)
    assert write_plan(complete_bindings(problem, plan)) == LISTED.format(roots="4 3", children="0 1 2")


@pytest.mark.parametrize(("roots", "children"), [("3 4", "0 1 2"), ("4 3", "2 1 0"), ("4 3", "0 2 1")])
def test_another_order_than_a_linearisation_is_refused(roots, children):
    problem = reversed_problem()
    verdict = validate(problem, read_plan(LISTED.format(roots=roots, children=children), problem))
    assert not verdict.valid
    assert "the plan lists its subtasks in the wrong order" in verdict.reason


def test_subtasks_that_only_the_arguments_of_the_task_tell_apart():
    network = Network(tuple(Subtask(atom(each)) for each in ("load ?q t b", "load ?p t ?to")))
    both = Method("both", atom("deliver ?p ?to"), variables("p to q"), network=network)
    problem = problem_of("deliver p a")
    problem = replace(problem, domain=replace(DOMAIN, methods={"both": both}))
    plan = read_plan("==>\n0 load p t a\n1 load q t b\nroot 2\n2 deliver p a -> both 0 1\n<==", problem)
    assert plan.tree.nodes[2].children == (1, 0)


def network_of(*texts: str, ordering: tuple[tuple[int, int], ...] = (), constraints: Formula = TRUE) -> Network:
    return Network(tuple(Subtask(atom(each)) for each in texts), ordering, constraints)


AMBIGUOUS = {
    "types": Method(
        "two", atom("break"), variables("p to q from"), network=network_of("deliver ?p ?to", "deliver ?q ?from")
    ),
    "the precondition": Method(
        "two",
        atom("break"),
        variables("p to q from"),
        And((atom("lies ?p a"), atom("lies ?q b"))),
        network_of("deliver ?p ?to", "deliver ?q ?from"),
    ),
    "a constraint": Method(
        "two",
        atom("break"),
        variables("p to q from"),
        network=network_of("deliver ?p ?to", "deliver ?q ?from", constraints=Equals("?from", "a")),
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
@pytest.mark.parametrize("children", ["4 5", "5 4"])
def test_subtasks_that_names_and_order_do_not_tell_apart(name, children):
    method = AMBIGUOUS[name]
    if name == "types":
        small = Method(
            "two", atom("break"), (Variable("?p", ("small",)), *method.parameters[1:]), network=method.network
        )
        method = small
    methods = {"two": method, "bring": Method("bring", atom("deliver ?p ?to"), variables("p to"))}
    problem = problem_of("break")
    types = {**problem.domain.classical.types, "small": ("parcel",)}
    domain = replace(problem.domain, classical=replace(problem.domain.classical, types=types), methods=methods)
    objects = tuple(replace(each, types=("small",)) if each.name == "p" else each for each in problem.classical.objects)
    classical = replace(problem.classical, domain=domain.classical, objects=objects)
    problem = replace(problem, domain=domain, classical=classical)
    text = f"==>\nroot 3\n3 break -> two {children}\n4 deliver p c -> bring\n5 deliver q a -> bring\n<=="
    plan = read_plan(text, problem)
    assert validate(problem, plan).valid
    assert [str(plan.tree.nodes[child].task) for child in plan.tree.nodes[0].children] == [
        "deliver(p, c)",
        "deliver(q, a)",
    ]


def lamps(number: int) -> tuple[HtnProblem, str]:
    """For each lamp two equal tasks, of which the first is done before the lamp goes on, and the other at any time.

    One of them can only be chosen while the lamp is off, and the other one only afterwards: which is which shows
    nowhere but in the states.
    """
    on = Action("on", variables("p"), TRUE, (atom("lies ?p b"),))
    look = Task("look", variables("p"))
    light = Task("light", variables("p"))
    network = network_of("look ?p", "look ?p", "on ?p", ordering=((0, 2),))
    methods = (
        Method("dark", atom("look ?p"), variables("p"), Not(atom("lies ?p b"))),
        Method("bright", atom("look ?p"), variables("p"), atom("lies ?p b")),
        Method("switch", atom("light ?p"), variables("p"), network=network),
    )
    objects = tuple(Object(f"l{each}", ("parcel",)) for each in range(number))
    actions = {"on": on}
    classical = replace(DOMAIN.classical, actions=actions)
    domain = HtnDomain(classical, {"look": look, "light": light}, {each.name: each for each in methods})
    problem = HtnProblem(
        domain, Problem("night", classical, objects), network_of(*(f"light l{x}" for x in range(number)))
    )
    lines = ["==>", *(f"{x} on l{x}" for x in range(number))]
    lines.append("root " + " ".join(str(number + 3 * x) for x in range(number)))
    for x in range(number):
        light_number = number + 3 * x
        lines.append(f"{light_number} light l{x} -> switch {light_number + 1} {light_number + 2} {x}")
        lines += [f"{light_number + 1} look l{x} -> bright", f"{light_number + 2} look l{x} -> dark"]
    return problem, "\n".join([*lines, "<=="])


@pytest.mark.parametrize("number", [1, 2, 12])
def test_equal_subtasks_that_only_the_states_tell_apart(number):
    problem, text = lamps(number)
    assert validate(problem, read_plan(text, problem)).valid
    assert validate(
        problem, read_plan(text.replace("dark", "x").replace("bright", "dark").replace("x", "bright"), problem)
    ).valid
    both_dark = read_plan(text.replace("bright", "dark"), problem)
    assert validate(problem, both_dark).valid
    both_bright = read_plan(text.replace("dark", "bright"), problem)
    assert not validate(problem, both_bright).valid


def test_many_tasks_in_any_order():
    texts = [f"drive t {x} {y}" for x, y in ("ab", "bc", "cb", "ba")] * 250
    problem = problem_of(*texts)
    plan = Plan(steps_of(*texts), problem, tree_of(*(did(number, text) for number, text in enumerate(texts, start=1))))
    text = write_plan(plan)
    numbers = [str(number) for number in range(1_000)]
    random.Random(1).shuffle(numbers)
    mixed = text.replace("root " + " ".join(map(str, range(1_000))), "root " + " ".join(numbers))
    assert mixed != text
    assert validate(problem, read_plan(mixed, problem)).valid


def test_many_equal_tasks_in_any_linearisation():
    """Which of them is which does not matter: that is not tried out."""
    number = 1_500
    problem = problem_of("get t b", *["break"] * number, ordering=[(0, place + 1) for place in range(number)])
    steps = steps_of("drive t a b", *["rest"] * number)
    breaks = (by("break", "nap", "t", did(place + 2, "rest")) for place in range(number))
    plan = Plan(steps, problem, tree_of(by("get t b", "go", "t b a", did(1, "drive t a b")), *breaks))
    assert validate(problem, plan).valid
    first, *others = write_plan(plan).split("root ")[1].split("\n")[0].split()
    root = " ".join(["root", first, *others[::-1]])
    lines = [root if line.startswith("root ") else line for line in write_plan(plan).splitlines()]
    assert validate(problem, read_plan("\n".join(lines), problem)).valid


SPELLED = """(define (domain D) (:requirements :hierarchy) (:types Room) (:constants Hall - Room)
 (:predicates (At ?x - Room))
 (:task Visit :parameters (?x - Room))
 (:method Go-There :parameters (?x - Room) :task (VISIT ?x)
  :subtasks (and (t1 (walk ?X)) (t2 (Rest))) :ordering (< t2 t1))
 (:action Rest :parameters () :effect ())
 (:action Walk :parameters (?x - Room) :effect (at ?x)))"""
SPELLED_PROBLEM = (
    """(define (problem P) (:domain d) (:objects LAB - Room) (:htn :subtasks (and (visit Hall) (visit lab))) (:init))"""
)


def test_names_are_spelled_as_in_the_files():
    """The competition's verifier tells upper and lower case apart."""
    problem = parse_problem(SPELLED_PROBLEM, parse_domain(SPELLED))
    plan = solve(problem).expect_plan()
    text = "==>\n0 Rest\n1 Walk Hall\n2 Rest\n3 Walk LAB\nroot 4 5\n4 Visit Hall -> Go-There 0 1\n"
    assert write_plan(plan) == text + "5 Visit LAB -> Go-There 2 3\n<==\n"
    assert validate(problem, read_plan(write_plan(plan), problem)).valid


ALIKE = """(define (domain alike) (:requirements :hierarchy) (:types TOWER) (:constants Here - TOWER)
 (:predicates (TURN ?x - TOWER) (HERE))
 (:task Tower :parameters (?x - TOWER))
 (:method TOWER :parameters (?x - TOWER) :task (Tower ?x) :subtasks (Turn ?x))
 (:action Turn :parameters (?x - TOWER) :effect (and (TURN ?x) (HERE))))"""
ALIKE_PROBLEM = """(define (problem ALIKE) (:domain alike) (:objects TURN toWer - TOWER) ; Turn
 (:htn :subtasks (and (Tower Here) (Tower toWer) (Tower TURN))) (:init))"""


def test_names_of_each_kind_have_a_spelling_of_their_own():
    problem = parse_problem(ALIKE_PROBLEM, parse_domain(ALIKE))
    text = "==>\n0 Turn Here\n1 Turn toWer\n2 Turn TURN\nroot 3 4 5\n3 Tower Here -> TOWER 0\n"
    text += "4 Tower toWer -> TOWER 1\n5 Tower TURN -> TOWER 2\n<==\n"
    plan = read_plan(text, problem)
    assert validate(problem, plan).valid
    assert write_plan(plan) == text


def test_names_that_are_no_words_are_written_as_in_hddl():
    rest = Action("Have a rest", variables("where"), cost=(0,))
    pause = Method("root -> (1)", Atom("time off"), (), network=sequence(Atom(rest.name, ("Room 2",))))
    classical = DomainModel("office", {"place": ()}, (Object("Room 2", ("place",)),), actions={rest.name: rest})
    domain = HtnDomain(classical, {"time off": Task("time off")}, {pause.name: pause})
    problem = HtnProblem(domain, Problem("day", classical), sequence(Atom("time off")))
    nodes = (Node(Atom("time off"), None, pause.name, (), (1,)), Node(Atom(rest.name, ("Room 2",)), 0))
    plan = Plan((Step(rest.name, ("Room 2",)),), problem, Decomposition(nodes, (0,)))
    assert validate(problem, plan).valid
    text = write_plan(plan)
    assert text == "==>\n0 have-a-rest room-2\nroot 1\n1 time-off -> root---1 0\n<==\n"
    assert write_plan(read_plan(text, problem)) == text


@pytest.mark.parametrize("name", ["__top", "==>", "<==", "root", "->"])
@pytest.mark.parametrize("kind", ["task", "method", "object"])
def test_names_that_the_format_itself_uses(name, kind):
    task, method, thing = (name if kind == each else each for each in ("task", "method", "object"))
    rest = Action("rest", variables("where"), cost=(0,))
    pause = Method(method, Atom(task, ("?where",)), variables("where"), network=sequence(Atom("rest", ("?where",))))
    classical = DomainModel("office", {"place": ()}, (Object(thing, ("place",)),), actions={"rest": rest})
    domain = HtnDomain(classical, {task: Task(task, variables("where"))}, {method: pause})
    problem = HtnProblem(domain, Problem("day", classical), sequence(Atom(task, (thing,))))
    nodes = (Node(Atom(task, (thing,)), None, method, (thing,), (1,)), Node(Atom("rest", (thing,)), 0))
    plan = Plan((Step("rest", (thing,), 0),), problem, Decomposition(nodes, (0,)))
    assert validate(problem, plan).valid
    again = plan_from_text(write_plan(plan), problem)
    assert validate(problem, again).valid
    assert again.steps == plan.steps


def test_json_gives_the_plan_back():
    read = plan_from_text(json.dumps(PLAN.to_dict()), ROUND)
    assert read == PLAN
    assert read.tree == TREE
    assert read.problem is ROUND


def test_json_without_costs_has_those_of_the_actions():
    data = PLAN.to_dict()
    for step in data["steps"]:
        del step["cost"]
    assert plan_from_data({"status": "SOLVED", "plan": data}, ROUND).cost == 12


def with_node(**changes: object) -> dict[str, object]:
    data = PLAN.to_dict()
    data["decomposition"]["nodes"][2] |= changes
    return data


DATA_MISTAKES = {
    "no steps": ({"decomposition": TREE.to_dict()}, "data: found no steps in it"),
    "no decomposition": ({**PLAN.to_dict(), "decomposition": 5}, "data: the decomposition is none; expected"),
    "no nodes": ({**PLAN.to_dict(), "decomposition": {"roots": []}}, "data: the decomposition is none; expected"),
    "names as roots": (
        {**PLAN.to_dict(), "decomposition": {**TREE.to_dict(), "roots": ["deliver"]}},
        "data: the decomposition is none; expected",
    ),
    "objects that are no names": (
        {**PLAN.to_dict(), "decomposition": {**TREE.to_dict(), "binding": [3]}},
        "data: the decomposition is none; expected",
    ),
    "a task that is no name": (with_node(task=3), "data: node 2 of the decomposition is none; expected"),
    "children that are no numbers": (with_node(children=["rest"]), "data: node 2 of the decomposition is none"),
    "a binding that is no list": (with_node(binding="t"), "data: node 2 of the decomposition is none"),
    "arguments that are no names": (with_node(arguments=[1]), "data: node 2 of the decomposition is none"),
}


@pytest.mark.parametrize("name", DATA_MISTAKES)
def test_mistakes_in_json(name):
    data, message = DATA_MISTAKES[name]
    with pytest.raises(PlanError) as caught:
        plan_from_data(data, ROUND, "data")
    assert message in str(caught.value)


BARE = "(load p t a)\n(drive t a b)\n(rest)\n(drive t b c)\n(unload p t c)\n(drive t c b)\n"
BARE += "(load q t b)\n(drive t b a)\n(unload q t a)\n; cost = 12\n"


@pytest.mark.parametrize("text", [BARE, TEXT.partition("root")[0], TEXT.partition("root")[0] + "<=="])
def test_steps_alone_are_a_plan_without_decomposition(text):
    plan = plan_from_text(text, ROUND)
    assert plan == Plan(STEPS, ROUND)
    assert plan.tree is None
    verdict = verify(ROUND, plan, Limits(60))
    assert verdict.valid
    assert verdict.cost == 12


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (STEPS[1:], "step 4 unload(p, t, c): requires in(p, t)"),
        ((*STEPS[:2], *STEPS[3:]), ""),
        ((*STEPS, *steps_of("rest")), "no decomposition of the tasks gives these steps"),
        ((*steps_of("rest"), *STEPS[:2], *STEPS[3:]), ""),
        (STEPS[:5], "at the end, the goal requires lies(q, a)"),
    ],
)
def test_steps_alone_that_are_judged(steps, reason):
    verdict = verify(ROUND, Plan(steps, ROUND), Limits(60))
    assert verdict.valid is (not reason)
    assert reason in verdict.reason


def test_a_plan_with_a_decomposition_is_judged_by_it():
    assert verify(ROUND, PLAN, Limits(0)).valid


def test_tasks_that_nobody_declared_have_no_decomposition():
    assert find_decomposition(problem_of("fly t"), (), Limits(60)) is None
    assert find_decomposition(problem_of("get t"), (), Limits(60)) is None


def test_the_search_for_a_decomposition_keeps_to_its_budget():
    with pytest.raises(LimitReached):
        find_decomposition(ROUND, STEPS, Limits(0))


def test_what_is_not_found_out_in_time_is_not_decided():
    problem, steps = crowd(18)
    verdict = verify(problem, Plan(steps, problem), Limits(0.2))
    assert verdict.stopped_by is StoppedBy.TIME
    assert not verdict.valid
    assert str(verdict).startswith("not decided: the steps can be done")
    assert verdict.to_dict()["stopped_by"] == "time"
    with pytest.raises(LimitReached):
        problem_kind.explain_plan(problem, Plan(steps, problem), Limits(0.2))


def test_a_plan_that_cannot_be_done_is_decided_without_any_time():
    assert problem_kind.validate(ROUND, Plan(STEPS[1:], ROUND), Limits(0)).stopped_by is None


DRAWN = """\
round
├── deliver(p, c)  by bring
│   ├── get(t, a)  by stay
│   ├── 1. load(p, t, a)
│   ├── get(t, c)  by via
│   │   ├── get(t, b)  by go
│   │   │   └── 2. drive(t, a, b)
│   │   └── get(t, c)  by go
│   │       └── 4. drive(t, b, c)
│   └── 5. unload(p, t, c)
├── deliver(q, a)  by bring
│   ├── get(t, b)  by go
│   │   └── 6. drive(t, c, b)
│   ├── 7. load(q, t, b)
│   ├── get(t, a)  by go
│   │   └── 8. drive(t, b, a)
│   └── 9. unload(q, t, a)
└── break  by nap
    └── 3. rest
"""


@pytest.mark.parametrize("depth", [None, 25, 4])
def test_a_plan_is_drawn_as_a_tree(depth):
    assert draw_tree(PLAN, depth=depth) == DRAWN


def test_a_tree_is_drawn_down_to_some_level():
    assert draw_tree(PLAN, depth=1) == (
        "round\n├── deliver(p, c)  by bring\n│   └── … 4 steps below\n"
        "├── deliver(q, a)  by bring\n│   └── … 4 steps below\n└── break  by nap\n    └── … 1 step below\n"
    )


def test_deep_trees_are_drawn():
    problem = problem_of("get t b")
    levels = [Node(atom("get t b"), None, "late", ("t", "b"), (place + 1,)) for place in range(3_000)]
    tree = Decomposition((*levels, Node(atom("get t b"), None, "stay", ("t", "b"))), (0,))
    text = draw_tree(Plan((), problem, tree))
    assert text.endswith("└── … 0 steps below\n")
    assert len(text.splitlines()) == 27
    assert read_plan(write_plan(Plan((), problem, tree)), problem).steps == ()


def tower(levels: int) -> Plan:
    """So many levels, each with a step and all that is below it."""
    nodes = [
        Node(atom("get t b"), None, "via", ("t", "b", "a"), (2 * level + 1, 2 * level + 2))
        if number == 0
        else Node(atom("drive t a b"), level)
        for level in range(levels)
        for number in range(2)
    ]
    nodes.append(Node(atom("get t b"), None, "stay", ("t", "b")))
    return Plan(steps_of(*["drive t a b"] * levels), problem_of("get t b"), Decomposition(tuple(nodes), (0,)))


def test_what_is_too_deep_for_a_screen_is_drawn_further_down():
    lines = draw_tree(tower(60), depth=None).splitlines()
    assert [line for line in lines if not line.startswith((" ", "│"))] == [
        *("round", "└── get(t, b)  by via"),
        *("", "[1] get(t, b)  by via", "├── 25. drive(t, a, b)", "└── get(t, b)  by via"),
        *("", "[2] get(t, b)  by via", "├── 50. drive(t, a, b)", "└── get(t, b)  by via"),
    ]
    assert lines[49].endswith("└── get(t, b)  by via  … [1]")
    assert [line.count(". drive") for line in lines].count(1) == 60
    assert draw_tree(tower(60), depth=40).endswith(" … 21 steps below\n")


def test_drawings_grow_with_the_number_of_tasks_alone():
    short, long = len(draw_tree(tower(500), depth=None)), len(draw_tree(tower(5_000), depth=None))
    assert long < 12 * short


@pytest.mark.parametrize("depth", [1, 3, 25])
def test_plain_drawings_are_those_of_rich(depth):
    console = Console(file=StringIO(), width=500, color_system=None)
    for plan in (PLAN, tower(24)):
        with console.capture() as capture:
            console.print(tree_of_rich(plan, depth=depth))
        assert "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()) == draw_tree(plan, depth=depth)
