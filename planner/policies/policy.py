"""Policies: the step to take in each reachable state, as a graph that can be followed, printed and written as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from planner.compilations.passes import compile_away
from planner.errors import PlanError, did_you_mean
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import Any, dataclass, field, replace
from planner.model import COST, Atom, Number
from planner.model.arithmetic import Exact, exact_value
from planner.model.constructs import Construct, has
from planner.model.domain import creates_objects
from planner.model.problem import is_temporal
from planner.plan import Step, exact, json_number
from planner.problem_kinds import AnyProblem, classical_of
from planner.semantics.spending import find_left, make_sequential

Values = tuple["Exact | None", ...]
Key = tuple[frozenset[Atom], frozenset[Atom]]
"""The watched facts that are known to hold, and those that are unknown."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a step: its probability, its changes in words, and the node that it leads to."""

    probability: float
    change: str
    node: int


@dataclass(frozen=True, slots=True)
class Node:
    """A state of a policy: `facts` are the watched facts that hold.

    Without a `step` the policy ends here: at the goal if `is_goal`, else because the goal cannot be reached any more or
    because no search has expanded the state. `left` is the rest of each budget. The truth of facts in `unknown` is
    unknown; `supposed` is the one that the step assumes, and whether it assumes that the fact holds. `values` are those
    of the numeric fluents that distinguish states. In a hierarchy, `tasks` are those left to be done, the step does or
    decomposes the one at `place`, and a step that decomposes has the name of a method. In time, `time` is when the next
    step can begin, in seconds from the beginning, where that matters.
    """

    facts: frozenset[Atom]
    step: Step | None = None
    branches: tuple[Branch, ...] = ()
    is_goal: bool = False
    left: Mapping[str, Number] = field(default_factory=dict)
    unknown: frozenset[Atom] = frozenset()
    supposed: tuple[Atom, bool] | None = None
    values: Mapping[Atom, Number] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    place: int | None = None
    time: Number | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: the next step in each state that it may reach.

    The first of `nodes` is the initial state. `watched` are the facts that distinguish states; those named `ran-…` say
    which actions ran, for actions that must come after others. `success` is the probability of ending at the goal,
    `cost` the expected cost until the end, and `utility` the expected utility of the soft goals at the end.
    """

    nodes: tuple[Node, ...]
    watched: frozenset[Atom]
    problem: AnyProblem = field(repr=False, compare=False)
    success: float = 0.0
    cost: float = 0.0
    utility: float = 0.0
    _places: dict[tuple[object, ...], list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def is_ambiguous(self) -> bool:
        """Whether two nodes with different steps cannot be told apart by what `node` is given."""
        steps: dict[tuple[object, ...], Step | None] = {}
        for node in self.nodes:
            left = tuple(sorted(node.left.items()))
            values = _key_of(self.nodes[0].values, node.values)
            key = node.facts, node.unknown, values, node.tasks, node.time, left
            if steps.setdefault(key, node.step) != node.step:
                return True
        return False

    @property
    def beyond_facts(self) -> str:
        """What a follower must tell beside facts, values and budgets, in words; "" where that is all."""
        classical = classical_of(self.problem)
        if classical is not self.problem:
            return "tasks"
        if creates_objects(classical.domain):
            return "objects that steps create"
        return "time" if has(classical, Construct.DEADLINE) or is_temporal(classical) else ""

    def next_step(
        self,
        facts: Iterable[Atom],
        *,
        ran: Iterable[Atom] = (),
        spent: Mapping[str, Number] | None = None,
        unknown: Iterable[Atom] = (),
        kept: Iterable[Atom] = (),
        values: Mapping[Atom, Exact | Number] | None = None,
        tasks: Iterable[str] = (),
        now: Number | None = None,
    ) -> Step | None:
        """Return the step to take in the state in which exactly `facts` hold, derived ones aside.

        `ran` are the actions that ran before, as ground atoms, where some must come after others; `spent` is the amount
        used of each budget; `unknown` are the facts whose truth is unknown; `kept` are the facts of the monitors of
        constraints (`Kept.facts`); `values` are those of the numeric fluents. In a hierarchy, `tasks` are those left,
        as nodes name them; in time, `now` is the number of seconds from the beginning. None where the policy ends
        (`node` tells how), and in states that it cannot reach.
        """
        node = self.node(facts, ran=ran, spent=spent, unknown=unknown, kept=kept, values=values, tasks=tasks, now=now)
        return None if node is None else node.step

    def node(
        self,
        facts: Iterable[Atom],
        *,
        ran: Iterable[Atom] = (),
        spent: Mapping[str, Number] | None = None,
        unknown: Iterable[Atom] = (),
        kept: Iterable[Atom] = (),
        values: Mapping[Atom, Exact | Number] | None = None,
        tasks: Iterable[str] = (),
        now: Number | None = None,
    ) -> Node | None:
        """Return the node of a state, given as to `next_step`; None for a state that the policy cannot reach.

        If more is left of the budgets than in any node of this state, return the node with the most left; and of those
        that begin no earlier than `now`, the earliest.
        """
        if not self._places:
            for number, node in enumerate(self.nodes):
                key_values = _key_of(self.nodes[0].values, node.values)
                self._places.setdefault((node.facts, node.unknown, key_values, node.tasks), []).append(number)
        ran, problem = tuple(ran), make_sequential(classical_of(self.problem))
        history = compile_away(replace(problem, initial=(), ran=ran), Construct.CHANGES).initial if ran else ()
        key = self.watched.intersection(facts).union(
            self.watched.intersection(history), self.watched.intersection(kept)
        )
        open_ = self.watched.intersection(unknown)
        known = _key_of(self.nodes[0].values, values or {})
        places = self._places.get((key - open_, open_, known, tuple(tasks)), ())
        found = _find_next_in_time([self.nodes[number] for number in places], now)
        left = find_left(problem, spent or {})
        if not left:
            return found[0] if found else None
        within = [node for node in found if all(left[name] >= amount for name, amount in node.left.items())]
        return max(within, key=lambda node: (node.left.get(COST, 0), sum(node.left.values())), default=None)

    def __str__(self) -> str:
        numbers: dict[int, int] = {}
        for place, node in enumerate(self.nodes):
            if node.step is not None:
                numbers[place] = len(numbers) + 1
        return "\n".join(line for place in numbers for line in _lines(self, place, numbers)) or "no steps"

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON-ready data for `from_dict`."""
        return {
            "success": self.success,
            "cost": self.cost,
            "utility": self.utility,
            "watched": sorted(map(str, self.watched)),
            "nodes": [_node_data(node) for node in self.nodes],
        }

    @classmethod
    def from_dict(cls, data: Any, problem: AnyProblem) -> Policy:
        """Return the policy for `problem` from the data of `to_dict`; raise `PlanError` for data that do not fit."""
        match data:
            case {"watched": list() as watched, "nodes": list() as nodes} if nodes:
                found = tuple([_parse_node(item, number, len(nodes), problem) for number, item in enumerate(nodes)])
                values = {name: _parse_real(data.get(name, 0), name) for name in ("success", "cost", "utility")}
                return Policy(found, frozenset(_parse_atoms(watched, "watched")), problem, **values)
        raise PlanError(
            "this is no policy",
            hint='expected {"watched": […], "nodes": [{"facts": […], "step": …, "branches": […]}, …]}',
        )


def _find_next_in_time(nodes: list[Node], now: Number | None) -> list[Node]:
    """Return those of `nodes` that begin first among those that begin no earlier than `now`, or at any time."""
    if now is None or all(node.time is None for node in nodes):
        return nodes
    later = [node for node in nodes if node.time is not None and node.time >= now]
    first = min([node.time for node in later if node.time is not None], default=None)
    return [node for node in later if node.time == first] or [node for node in nodes if node.time is None]


def _key_of(fluents: Iterable[Atom], values: Mapping[Atom, Exact | Number]) -> Values:
    """Return the `values` of `fluents`, None for one without a value."""
    return tuple([exact_value(values[each]) if each in values else None for each in fluents])


def _node_data(node: Node) -> dict[str, Any]:
    step = node.step
    return {
        "facts": sorted(map(str, node.facts)),
        "goal": node.is_goal,
        **({"left": {name: json_number(amount) for name, amount in node.left.items()}} if node.left else {}),
        **({"values": {str(term): json_number(number) for term, number in node.values.items()}} if node.values else {}),
        **({"unknown": sorted(map(str, node.unknown))} if node.unknown else {}),
        **({"tasks": list(node.tasks)} if node.tasks else {}),
        **({} if node.place is None else {"place": node.place}),
        **({} if node.time is None else {"time": json_number(node.time)}),
        **({"supposed": {str(node.supposed[0]): node.supposed[1]}} if node.supposed else {}),
        "step": step and {"action": step.action, "arguments": list(step.arguments), "cost": json_number(step.cost)},
        "branches": [
            {"probability": each.probability, "change": each.change, "node": each.node} for each in node.branches
        ],
    }


def _parse_node(item: Any, number: int, count: int, problem: AnyProblem) -> Node:
    where = f"node {number}"
    match item:
        case {"facts": list() as facts, "step": step, "branches": list() as branches}:
            left, values = item.get("left", {}), item.get("values", {})
            if isinstance(left, dict) and isinstance(values, dict):
                terms = _parse_atoms([*values], where)
                return Node(
                    frozenset(_parse_atoms(facts, where)),
                    None if step is None else _parse_step(step, where, problem),
                    tuple([_parse_branch(each, where, count) for each in branches]),
                    item.get("goal") is True,
                    {name: _parse_number(amount, where) for name, amount in left.items()},
                    frozenset(_parse_atoms(item.get("unknown", []), where)),
                    _parse_supposition(item.get("supposed"), where),
                    {term: _parse_number(each, where) for term, each in zip(terms, values.values(), strict=True)},
                    tuple(map(str, item.get("tasks") or ())),
                    item.get("place"),
                    None if item.get("time") is None else _parse_number(item["time"], where),
                )
    raise PlanError(f"{where} is no node of a policy", hint="a node has 'facts', 'step' and 'branches'")


def _parse_step(item: Any, where: str, problem: AnyProblem) -> Step:
    match item:
        case {"action": str(action), "arguments": list(arguments)} if all(isinstance(word, str) for word in arguments):
            actions = classical_of(problem).domain.actions
            declared: Any = actions.get(action) or getattr(problem.domain, "methods", {}).get(action)
            if declared is None:
                raise PlanError(
                    f"{where}: the problem has no action {action!r}",
                    hint=did_you_mean(action, actions) or "check that the policy belongs to this problem",
                )
            if len(arguments) != len(getattr(declared, "step_parameters", declared.parameters)):
                called = getattr(declared, "signature", action)
                raise PlanError(f"{where}: {called} is given {len(arguments)} arguments")
            return Step(action, tuple(arguments), _parse_number(item.get("cost", 0), where))
    raise PlanError(f"{where}: its step is none", hint='expected {"action": "move", "arguments": ["r1", "a", "b"]}')


def _parse_supposition(item: Any, where: str) -> tuple[Atom, bool] | None:
    match item:
        case None:
            return None
        case dict() if len(item) == 1 and all(isinstance(holds, bool) for holds in item.values()):
            ((text, holds),) = item.items()
            return _parse_atoms([text], where)[0], holds
    raise PlanError(f"{where}: {item!r} is nothing that is supposed", hint='expected {"open(d1)": true}')


def _parse_branch(item: Any, where: str, count: int) -> Branch:
    match item:
        case {"probability": int() | float() | Decimal() as share, "node": int(node)} if 0 <= node < count:
            return Branch(float(share), str(item.get("change", "")), node)
    raise PlanError(f"{where}: {item!r} is no branch", hint='expected {"probability": 0.5, "node": 2}')


def _parse_atoms(texts: list[Any], where: str) -> list[Atom]:
    try:
        return [parse_atom(str(text)) for text in texts]
    except NotationError as error:
        raise PlanError(f"{where}: {error.problem}", hint=error.hint) from None


def _parse_number(value: Any, where: str) -> Number:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return exact(Decimal(str(value)))
    raise PlanError(f"{where}: {value!r} is no number")


def _parse_real(value: Any, where: str) -> float:
    return float(_parse_number(value, where))


def _lines(policy: Policy, place: int, numbers: dict[int, int]) -> Iterator[str]:
    """Yield the numbered step of a node, and its outcomes unless only the next step can follow."""
    node = policy.nodes[place]
    yield f"{numbers[place]}. {node.step}{_describe_supposition(node)}{_describe_time(node)}"
    following = numbers[place] + 1
    if [numbers.get(branch.node) for branch in node.branches] == [following]:
        return
    for branch in node.branches:
        yield f"     {percent(branch.probability)}: {branch.change} → {_where(policy, place, branch, numbers)}"


def _describe_supposition(node: Node) -> str:
    if node.supposed is None:
        return ""
    fact, holds = node.supposed
    return f", supposing {fact}" if holds else f", supposing not {fact}"


def _describe_time(node: Node) -> str:
    return f", from {node.time} s on" if node.time else ""


def _where(policy: Policy, place: int, branch: Branch, numbers: dict[int, int]) -> str:
    if branch.node == place:
        return "again"
    if branch.node in numbers:
        return str(numbers[branch.node])
    return describe_end(policy.nodes[branch.node])


def describe_end(node: Node) -> str:
    """Describe how a policy ends in `node`."""
    return "the goal" if node.is_goal else "the end, without the goal"


def percent(probability: float) -> str:
    """Return a probability in percent, with enough digits to distinguish it from 0 and 1."""
    for digits in (3, 6, 9):
        text = f"{100 * probability:.{digits}g}"
        if text not in ("0", "100") or probability in (0.0, 1.0):
            break
    return f"{text} %"
