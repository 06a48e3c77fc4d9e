"""The page of a policy: what to do in each state that may come about, what may come of it, and what it is worth.

The states with a step are numbered as `str(policy)` numbers them; all states in which the policy ends at the goal are
one node of the graph, and all others in which it ends another one. The page is made from the data of `Policy.to_dict`
or of `Decision.to_dict`, so that no domain is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from executor.desk.pages import document as doc
from executor.desk.pages.layout import lay_out
from executor.desk.pages.search_part import search_of_data
from planner.errors import InputError, Location
from planner.plan import StoppedBy
from planner.policies.policy import percent

SWEEPS: Final = 2_000
"""Most sweeps of value iteration over the states; each one costs some 1 µs for each outcome."""
CLOSE_ENOUGH: Final = 1e-9
"""Largest change of a value in the last sweep."""
_Share = Annotated[float, Field(ge=0, le=1)]


class _Step(BaseModel):
    action: str
    arguments: tuple[str, ...] = ()
    cost: float = 0.0


class _Branch(BaseModel):
    probability: _Share
    node: Annotated[int, Field(ge=0)]
    change: str = ""


class _Node(BaseModel):
    facts: tuple[str, ...]
    step: _Step | None
    branches: tuple[_Branch, ...] = ()
    goal: bool = False
    left: dict[str, float] = {}
    values: dict[str, float | None] = {}
    unknown: tuple[str, ...] = ()
    supposed: dict[str, bool] = {}


class _Policy(BaseModel):
    nodes: Annotated[tuple[_Node, ...], Field(min_length=1)]
    success: _Share = 0.0
    cost: float = 0.0
    utility: float = 0.0


class _Decision(BaseModel):
    policy: _Policy
    status: str = ""
    stopped_by: str = ""
    objective: str = ""
    success_bound: float | None = None
    expected_cost: float | None = None
    cost_bound: float | None = None
    utility: float | None = None
    validated: bool | None = None
    reason: str = ""
    statistics: dict[str, int | float | str] = {}


def policy_page(data: Mapping[str, Any], title: str, source: str = "") -> doc.Page:
    """Return the page of a policy or decision in JSON; raises `InputError` where it holds no policy, or is none."""
    if data.get("policy", data) is None:
        raise InputError(f"it holds no policy: {data.get('reason') or data.get('status')}", Location(source or title))
    try:
        found = _Decision.model_validate(data if "policy" in data else {"policy": data})
    except ValidationError as error:
        command = "forethought solve --objective success --json"
        raise doc.refuse_data(error, "policy", command, source or title) from None
    _check_branches(found.policy, source or title)
    return _Collector(found).page(title)


def _check_branches(policy: _Policy, source: str) -> None:
    for number, node in enumerate(policy.nodes):
        strange = next((each.node for each in node.branches if each.node >= len(policy.nodes)), None)
        if strange is not None:
            message = f"a branch of node {number} leads to node {strange}, and there are {len(policy.nodes)} from 0"
            raise InputError(message, Location(source))


class _Collector:
    """Collects the parts of the page of one decision."""

    def __init__(self, found: _Decision) -> None:
        self.found, self.nodes = found, found.policy.nodes
        self.steps = [place for place, node in enumerate(self.nodes) if node.step is not None]
        self.numbers = {place: number for number, place in enumerate(self.steps, start=1)}
        self.goal = len(self.steps) + 1
        self.texts = doc.Texts()

    def page(self, title: str) -> doc.Page:
        """Return the page."""
        found, outcomes = self.found, tuple(self._find_outcomes())
        return doc.Page(
            kind="policy",
            title=title,
            subtitle="a policy: what to do in every state that may come about",
            figures=tuple(self._figures()),
            notes=tuple(filter(None, found.reason.splitlines())),
            steps=tuple(self._find_steps()),
            links=tuple(self._find_links(outcomes)),
            graph=self._draw(outcomes) if self.steps else None,
            policy=doc.Policy(tuple(self._find_states()), outcomes),
            search=self._search(),
            texts=self.texts.all(),
        )

    def _search(self) -> doc.Search | None:
        if not self.found.statistics:
            return None
        stopped_by = {each.name.lower(): each.value for each in StoppedBy}.get(self.found.stopped_by, "")
        return search_of_data({}, {**self.found.statistics, "stopped by": stopped_by})

    def _figures(self) -> Iterator[doc.Figure]:
        found = self.found
        if found.status:
            yield doc.Figure("status", found.status.lower(), "good" if found.status == "OPTIMAL" else "plain")
        sure = found.policy.success >= 1 - CLOSE_ENOUGH
        yield doc.Figure("success", percent(found.policy.success), "good" if sure else "warn")
        if not sure and found.success_bound is not None and found.status != "OPTIMAL":
            yield doc.Figure("at most", percent(found.success_bound))
        cost = found.policy.cost if found.expected_cost is None else found.expected_cost
        yield doc.Figure("expected cost", f"{cost:.4g}")
        if found.utility is not None:
            yield doc.Figure("expected utility", f"{found.utility:.4g}")
        if found.objective:
            yield doc.Figure("objective", found.objective)
        yield doc.Figure("states", f"{len(self.nodes):,}")

    def _find_steps(self) -> Iterator[doc.StepItem]:
        for place in self.steps:
            step = self.nodes[place].step
            assert step is not None
            yield doc.StepItem(step.action, step.arguments, _whole(step.cost))

    def _number(self, place: int) -> int:
        """Return the number of the state at `place`; the goal and the other ends have the numbers after the steps."""
        return self.numbers.get(place, self.goal if self.nodes[place].goal else self.goal + 1)

    def _find_outcomes(self) -> Iterator[doc.PolicyOutcome]:
        for place in self.steps:
            for each in self.nodes[place].branches:
                text = self.texts.place(each.change)
                yield doc.PolicyOutcome(self.numbers[place], self._number(each.node), each.probability, text)

    def _find_links(self, outcomes: Sequence[doc.PolicyOutcome]) -> Iterator[tuple[int, int, int]]:
        for each in outcomes:
            if each.source != each.target <= self.goal:
                yield each.source, each.target, each.change

    def _find_states(self) -> Iterator[doc.PolicyState]:
        success = self._iterate([float(node.goal) for node in self.nodes], [0.0] * len(self.nodes))
        prices = [0.0 if node.step is None else node.step.cost for node in self.nodes]
        costs = self._iterate([0.0] * len(self.nodes), prices)
        visits = self._count_visits()
        for place in self.steps:
            node = self.nodes[place]
            yield doc.PolicyState(
                tuple(map(self.texts.place, [*node.facts, *_describe_numbers(node)])),
                tuple(map(self.texts.place, node.unknown)),
                tuple([fact if holds else f"not {fact}" for fact, holds in node.supposed.items()]),
                round(success[place], 6),
                round(costs[place], 6),
                round(visits[place], 6),
            )

    def _iterate(self, values: list[float], prices: Sequence[float]) -> list[float]:
        """Return the expected sums of `prices`, and of `values` where the policy ends, from each state on."""
        for _ in range(SWEEPS):
            change = 0.0
            for place in reversed(self.steps):
                value = prices[place]
                stays = 0.0
                for each in self.nodes[place].branches:
                    if each.node == place:
                        stays += each.probability
                    else:
                        value += each.probability * values[each.node]
                value = value / (1 - stays) if stays < 1 else values[place]
                change = max(change, abs(value - values[place]))
                values[place] = value
            if change <= CLOSE_ENOUGH:
                break
        return values

    def _count_visits(self) -> list[float]:
        """Return how often each state is visited in the mean."""
        visits, now = [0.0] * len(self.nodes), {0: 1.0}
        for _ in range(SWEEPS):
            after: dict[int, float] = {}
            for place, share in now.items():
                visits[place] += share
                for each in self.nodes[place].branches:
                    after[each.node] = after.get(each.node, 0.0) + share * each.probability
            now = {place: share for place, share in after.items() if share > CLOSE_ENOUGH}
            if not now:
                break
        return visits

    def _draw(self, outcomes: Sequence[doc.PolicyOutcome]) -> doc.Graph:
        """Draw the states with steps, and the ends; edges that lead back take no part in the layers."""
        last = max([self.goal - 1, *[each.target for each in outcomes]])
        edges = list(dict.fromkeys([(each.source - 1, each.target - 1) for each in outcomes]))
        onward = _leave_out_cycles(last, edges)
        drawn = lay_out(last, onward)
        nodes = [
            doc.GraphNode(step.action, drawn.layers[at], drawn.heights[at], "step", ", ".join(step.arguments), at + 1)
            for at, step in enumerate(self._find_steps())
        ]
        ends = (("Goal", "goal"), ("Gives up", "end"))
        for at, (label, kind) in zip(range(self.goal - 1, last), ends, strict=False):
            nodes.append(doc.GraphNode(label, drawn.layers[at], drawn.heights[at], kind, "", at + 1))
        shares: dict[tuple[int, int], float] = {}
        for each in outcomes:
            edge = each.source - 1, each.target - 1
            shares[edge] = shares.get(edge, 0.0) + each.probability
        known = {*onward}
        return doc.Graph(
            tuple(nodes),
            tuple(
                [
                    doc.GraphEdge(
                        *edge, "outcome" if edge in known else "back", percent(shares[edge]), drawn.bends.get(edge, ())
                    )
                    for edge in edges
                ]
            ),
        )


def _leave_out_cycles(size: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return `edges` without those that lead back to a node on the way, in a depth-first walk from node 0."""
    following: list[list[int]] = [[] for _ in range(size)]
    for source, target in edges:
        following[source].append(target)
    kept: list[tuple[int, int]] = []
    state = [0] * size  # 1: on the way, 2: left for good
    for start in range(size):
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(following[start]))]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if state[target] == 1:
                    continue
                kept.append((node, target))
                if not state[target]:
                    state[target] = 1
                    stack.append((target, iter(following[target])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return kept


def _describe_numbers(node: _Node) -> Iterator[str]:
    for name, value in node.values.items():
        yield f"{name} = {'undefined' if value is None else f'{value:g}'}"
    for name, amount in node.left.items():
        yield f"{name}: {amount:g} left"


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
