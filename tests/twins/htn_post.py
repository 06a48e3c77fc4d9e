"""A small hierarchical problem for tests, a plan for it, and a short way to write decompositions.

A truck takes two parcels along the road a - b - c. Which parcel comes first is left open, and so is where the second
goes; in between, the driver may have a rest at any time while the truck stands at b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Node, Subtask, Task, sequence
from planner.model.actions import Action
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import TRUE, And, Atom, Equals, Formula, Not, Object, Variable, conjunction
from planner.model.problem import Goal, Problem
from planner.plan import Plan, Step

TYPES = {"t": "truck", "p": "parcel", "q": "parcel", "from": "place", "to": "place", "mid": "place", "where": "place"}


def atom(text: str) -> Atom:
    """`atom("drive t ?from b")`."""
    name, *args = text.split()
    return Atom(name, tuple(args))


def variables(text: str) -> tuple[Variable, ...]:
    return tuple(Variable(f"?{name}", (TYPES[name],)) for name in text.split())


def differ(left: str, right: str) -> Formula:
    return Not(Equals(left, right))


def when(*texts: str) -> Formula:
    return conjunction(atom(text) for text in texts)


def action(head: str, requires: str, provides: str, cost: int = 1) -> Action:
    """An action; requirements and effects are separated by commas, `-` before an effect negates it."""
    names = head.replace("?", "").split()
    found = [each.strip() for each in provides.split(",") if each.strip()]
    effects = tuple(Not(atom(each[1:])) if each.startswith("-") else atom(each) for each in found)
    needs = [each.strip() for each in requires.split(",") if each.strip()]
    return Action(names[0], variables(" ".join(names[1:])), when(*needs), effects, cost=(cost,))


ACTIONS = (
    action("drive ?t ?from ?to", "at ?t ?from, road ?from ?to", "at ?t ?to, -at ?t ?from", 2),
    action("load ?p ?t ?where", "at ?t ?where, lies ?p ?where", "in ?p ?t, -lies ?p ?where"),
    action("unload ?p ?t ?where", "at ?t ?where, in ?p ?t", "lies ?p ?where, -in ?p ?t"),
    action("rest", "", "fresh", 0),
)
PREDICATES = tuple(
    Predicate(head.split()[0], variables(head.partition(" ")[2]))
    for head in ("at t where", "road from to", "lies p where", "in p t", "fresh")
)
METHODS = (
    Method(
        "bring",
        atom("deliver ?p ?to"),
        variables("p to from t"),
        atom("lies ?p ?from"),
        sequence(
            *map(atom, ("get ?t ?from", "load ?p ?t ?from", "get ?t ?to", "unload ?p ?t ?to")),
            constraints=differ("?from", "?to"),
        ),
    ),
    Method("stay", atom("get ?t ?to"), variables("t to"), atom("at ?t ?to")),
    Method(
        "go",
        atom("get ?t ?to"),
        variables("t to from"),
        And((atom("at ?t ?from"), atom("road ?from ?to"))),
        sequence(atom("drive ?t ?from ?to")),
    ),
    Method(
        "via",
        atom("get ?t ?to"),
        variables("t to mid"),
        atom("road ?mid ?to"),
        sequence(atom("get ?t ?mid"), atom("get ?t ?to"), constraints=differ("?mid", "?to")),
    ),
    Method("nap", atom("break"), variables("t"), atom("at ?t b"), sequence(atom("rest"))),
    Method("none", atom("break"), variables("t"), atom("at ?t c")),
    Method("tired", atom("break"), (), Not(atom("fresh")), sequence(atom("rest"))),
    Method("late", atom("get ?t ?to"), variables("t to"), atom("at ?t b"), sequence(atom("get ?t ?to"))),
)
TASKS = (Task("deliver", variables("p to")), Task("get", variables("t to")), Task("break"))
DOMAIN = HtnDomain(
    DomainModel(
        "post",
        types={"truck": (), "parcel": (), "place": ()},
        constants=(Object("b", ("place",)), Object("c", ("place",))),
        predicates={each.name: each for each in PREDICATES},
        actions={each.name: each for each in ACTIONS},
    ),
    {each.name: each for each in TASKS},
    {each.name: each for each in METHODS},
)
OBJECTS = {"t": "truck", "p": "parcel", "q": "parcel", "a": "place"}
INITIAL = ("at t a", "lies p a", "lies q b", "road a b", "road b a", "road b c", "road c b")


def problem_of(
    *tasks: str,
    ordering: Sequence[tuple[int, int]] = (),
    parameters: str = "",
    constraints: Formula = TRUE,
    goal: Formula = TRUE,
) -> HtnProblem:
    objects = tuple(Object(name, (kind,)) for name, kind in OBJECTS.items())
    classical = Problem("round", DOMAIN.classical, objects, tuple(map(atom, INITIAL)), Goal(goal))
    network = Network(tuple(Subtask(atom(task)) for task in tasks), tuple(ordering), constraints)
    return HtnProblem(DOMAIN, classical, network, variables(parameters))


ROUND = problem_of(
    "deliver p c",
    "deliver q ?to",
    "break",
    ordering=[(0, 1)],
    parameters="to",
    constraints=differ("?to", "c"),
    goal=atom("lies q a"),
)
"""First p to c, then q to somewhere else; the driver has a break at any time."""


@dataclass
class Done:
    """A task of a tree that is being written: an action is `step`, a number from 1."""

    task: str
    step: int | None = None
    method: str = ""
    binding: str = ""
    children: Sequence[Done] = ()


def did(number: int, task: str) -> Done:
    return Done(task, number)


def by(task: str, method: str, binding: str, *children: Done) -> Done:
    return Done(task, None, method, binding, children)


def tree_of(*roots: Done, binding: str = "") -> Decomposition:
    """The decomposition; nodes are numbered level by level."""
    items = list(roots)
    nodes = []
    for item in items:
        places = range(len(items), len(items) + len(item.children))
        items.extend(item.children)
        step = None if item.step is None else item.step - 1
        nodes.append(Node(atom(item.task), step, item.method, tuple(item.binding.split()), tuple(places)))
    return Decomposition(tuple(nodes), tuple(range(len(roots))), tuple(binding.split()))


def steps_of(*texts: str) -> tuple[Step, ...]:
    costs = {each.name: each.cost[0] for each in ACTIONS}
    return tuple(Step(each.predicate, each.args, costs.get(each.predicate, 0)) for each in map(atom, texts))


STEPS = steps_of(
    *("load p t a", "drive t a b", "rest", "drive t b c", "unload p t c"),
    *("drive t c b", "load q t b", "drive t b a", "unload q t a"),
)
TREE = tree_of(
    by(
        *("deliver p c", "bring", "p c a t"),
        by("get t a", "stay", "t a"),
        did(1, "load p t a"),
        by(
            *("get t c", "via", "t c b"),
            by("get t b", "go", "t b a", did(2, "drive t a b")),
            by("get t c", "go", "t c b", did(4, "drive t b c")),
        ),
        did(5, "unload p t c"),
    ),
    by(
        *("deliver q a", "bring", "q a b t"),
        by("get t b", "go", "t b c", did(6, "drive t c b")),
        did(7, "load q t b"),
        by("get t a", "go", "t a b", did(8, "drive t b a")),
        did(9, "unload q t a"),
    ),
    by("break", "nap", "t", did(3, "rest")),
    binding="a",
)
PLAN = Plan(STEPS, ROUND, TREE)


def crowd(breaks: int) -> tuple[HtnProblem, tuple[Step, ...]]:
    """So many unordered tasks, and steps for all but one of them: every way to share the steps out comes to nothing."""
    problem = problem_of("get t b", *["break"] * breaks, ordering=[(0, place + 1) for place in range(breaks)])
    return problem, steps_of("drive t a b", *["rest"] * (breaks - 1))
