"""Towers of Hanoi as tasks, and the plan for any number of rings: as long as tests want it to be."""

from __future__ import annotations

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Node, Task, sequence
from planner.model import Action, And, Atom, DomainModel, Not, Object, Predicate, Problem, Variable
from planner.plan import Plan, Step

POLES = "abc"


def _atom(text: str) -> Atom:
    name, *args = text.split()
    return Atom(name, tuple(args))


def _variables(text: str) -> tuple[Variable, ...]:
    kinds = {"r": "ring", "s": "ring", "x": "pole", "y": "pole", "z": "pole"}
    return tuple(Variable(f"?{name}", (kinds[name],)) for name in text.split())


MOVE = Action("move", _variables("r x y"), _atom("at ?r ?x"), (_atom("at ?r ?y"), Not(_atom("at ?r ?x"))), cost=(1,))
SHIFT = _atom("shift ?r ?x ?y")
ALL = _variables("r x y s z")
METHODS = (
    Method("last", SHIFT, ALL[:3], _atom("smallest ?r"), sequence(_atom("move ?r ?x ?y"))),
    Method(
        "through",
        SHIFT,
        ALL,
        And((_atom("above ?s ?r"), _atom("third ?x ?y ?z"), _atom("at ?s ?x"))),
        sequence(_atom("shift ?s ?x ?z"), _atom("move ?r ?x ?y"), _atom("shift ?s ?z ?y")),
    ),
)


def towers(rings: int) -> HtnProblem:
    """Shift `rings` rings from a to b."""
    heads = ("at r x", "smallest r", "above s r", "third x y z")
    predicates = {head.split()[0]: Predicate(head.split()[0], _variables(head.partition(" ")[2])) for head in heads}
    classical = DomainModel("towers", {"ring": (), "pole": ()}, predicates=predicates, actions={"move": MOVE})
    domain = HtnDomain(classical, {"shift": Task("shift", ALL[:3])}, {each.name: each for each in METHODS})
    objects = [Object(f"r{number}", ("ring",)) for number in range(rings)]
    objects += [Object(pole, ("pole",)) for pole in POLES]
    facts = ["smallest r0", *(f"at r{number} a" for number in range(rings))]
    facts += [f"above r{number} r{number + 1}" for number in range(rings - 1)]
    facts += [f"third {x} {y} {z}" for x in POLES for y in POLES for z in POLES if len({x, y, z}) == len(POLES)]
    problem = Problem("tower", classical, tuple(objects), tuple(map(_atom, facts)))
    return HtnProblem(domain, problem, sequence(_atom(f"shift r{rings - 1} a b")))


def tower_plan(rings: int, *, bound: bool = True) -> Plan:
    """The only plan: 2 ** rings - 1 steps, and twice as many tasks; with `bound`, with all bindings."""
    nodes: list[Node | None] = [None]
    steps: list[Step] = []
    todo: list[tuple[int, int, str, str, bool]] = [(0, rings - 1, "a", "b", True)]
    while todo:
        place, ring, start, end, is_task = todo.pop()
        if not is_task:
            nodes[place] = Node(_atom(f"move r{ring} {start} {end}"), len(steps))
            steps.append(Step("move", (f"r{ring}", start, end), 1))
            continue
        count = 3 if ring else 1
        children = tuple(range(len(nodes), len(nodes) + count))
        nodes += [None] * count
        (other,) = {*POLES} - {start, end}
        binding = (f"r{ring}", start, end, *((f"r{ring - 1}", other) if ring else ()))
        method = "through" if ring else "last"
        nodes[place] = Node(_atom(f"shift r{ring} {start} {end}"), None, method, binding if bound else (), children)
        move = (children[ring > 0], ring, start, end, False)
        if ring:
            todo += [(children[2], ring - 1, other, end, True), move, (children[0], ring - 1, start, other, True)]
        else:
            todo.append(move)
    tree = Decomposition(tuple([node for node in nodes if node is not None]), (0,))
    return Plan(tuple(steps), towers(rings), tree)
