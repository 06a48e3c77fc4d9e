"""Top-k plans of a hierarchical problem: the cheapest plans first, each sequence of steps once.

`DecompositionGraph` is the search space: a node is a state with a task network. `StepAutomaton` is a part of that graph
determinised over steps, so that each sequence of steps is one path however many decompositions lead to it (subset
construction: Rabin and Scott, 1959).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from htn import kernels
from htn.compilations.htn_reductions import compile_away, compile_wishes, remove_wishes
from htn.grounding.ground_htn import GroundHtn, ground
from htn.model import HtnProblem, has_numbers
from htn.search.htn_incumbent import keeps_budgets, plan_of, tree_of
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.task_networks import NetworkSpace, Node
from htn.verification.plan_verification import validate
from planner.compilations.driver import value_plan
from planner.jit.common_kernel import INFINITE
from planner.lightweight import Final, dataclass, replace
from planner.limits import Finishing, Limits
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.problem import is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result
from planner.task.ground_task import INFINITY, Task, facts_of
from planner.topk.candidates import CandidateOptions, Candidates, Making, no_limit
from planner.topk.completions import Completions
from planner.topk.exploration import Explored, Part, Within
from planner.topk.partial_order_reduction import Commuting, Items, Sleep, Variants
from planner.topk.plan_enumeration import PlanEnumeration

SOLVED: Final = (Construct.CREATION, Construct.UNKNOWN, Construct.UNKNOWN_NUMBERS, Construct.DEADLINE)
"""Constructs of problems whose plans are not listed by a graph."""
MANY: Final = 1024
"""Tasks of a network from which on larger networks are no worse."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Numbers of edges: each codes the place of an open task, and the action there, or the method for it.

    Indexed by an edge, it gives the cost of the edge.
    """

    actions: int
    methods: int
    costs: Sequence[int]

    def __getitem__(self, edge: int) -> int:
        action = self.action(edge)
        return 0 if action is None else self.costs[action]

    def action(self, edge: int) -> int | None:
        """Return the action of the edge; None where it decomposes a task."""
        number = edge % (self.actions + self.methods)
        return number if number < self.actions else None

    def move(self, edge: int) -> int:
        """Return the move of the edge (see `htn.search.htn_incumbent.tree_of`)."""
        place, number = divmod(edge, self.actions + self.methods)
        return place * (self.methods + 1) + max(0, number - self.actions + 1)

    def edge(self, move: int, task: int) -> int:
        """Return the edge of a `move` that applies or decomposes `task`."""
        place, method = divmod(move, self.methods + 1)
        return place * (self.actions + self.methods) + (self.actions + method - 1 if method else task)


class DecompositionGraph:
    """The search space: states with networks as numbers, and edges that apply actions or decompose tasks.

    The first compound task that no other comes before is decomposed before any action is applied: its precondition is
    checked whenever it holds, so nothing is lost. Plans of the same steps are paths with the same actions.
    """

    def __init__(self, packed: PackedHierarchy) -> None:
        self.space = NetworkSpace(packed, packed.costs, 0)
        self.costs = Edges(len(packed.costs), len(packed.ground.methods), packed.costs)
        self.initial = 0
        self._known = [self.space.initial]
        self._numbers = {self.space.initial: 0}

    def successors(self, number: int) -> list[tuple[int, int]]:
        """Return the edges from the node `number`, each with the number of the next node."""
        space, node = self.space, self._known[number]
        return [
            (self.costs.edge(move, space.task(node, move)), self._number(child))
            for place in self._next_places(node)
            for child, move in space.moves(node, place)
        ]

    def is_goal(self, number: int) -> bool:
        """Return whether no tasks are left, and the goal holds."""
        state, network = self._known[number]
        return not network and self.space.is_goal(state)

    def estimate(self, number: int) -> int:
        """Return a lower bound of the cost from the node on; `INFINITY` for a dead end."""
        node = self._known[number]
        if not node[1]:
            return 0 if self.is_goal(number) else INFINITY
        if not self._next_places(node) or self.space.estimate(node) >= INFINITE:
            return INFINITY
        return self.space.least_cost(node[1])

    def order(self, number: int, estimate: int) -> int:
        """Return the sort key of a node among those with the same f: the estimate, then the number of open tasks."""
        return estimate * MANY + min(len(self._known[number][1]), MANY - 1)

    def _next_places(self, node: Node) -> list[int]:
        """Return the places of the tasks that may be next in `node`."""
        places = self.space.available(node[1])
        return [place for place in places if self.space.is_compound(node[1][place][0])][:1] or places

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self._known))
        if number == len(self._known):
            self._known.append(node)
        return number


class StepAutomaton:
    """The graph `within` some cost, determinised over steps: a state is a set of nodes after the same steps.

    `first[a]` is the representative of all actions that are the same step as a.
    """

    def __init__(self, within: Within, edges: Edges, first: list[int]) -> None:
        self.bound, self.beyond = within.bound, within.beyond
        self.within, self.by = within, edges
        self._first = first
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._edges: dict[int, dict[int, int]] = {}
        self.start = self._number([within.start])

    def distance(self, state: int) -> int:
        """Return the cost of the cheapest path from `state` to the goal; `INFINITY` where there is none."""
        return min([self.within.distance(node) for node in self._sets[state]], default=INFINITY)

    def is_goal(self, state: int) -> bool:
        """Return whether some node of `state` is a goal."""
        return not self.within.goals.isdisjoint(self._sets[state])

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        found = self._edges.get(state)
        if found is None:
            found = self._edges[state] = self._expand(state)
        return found

    def _expand(self, state: int) -> dict[int, int]:
        children: dict[int, list[int]] = {}
        for node in self._sets[state]:
            for edge, child in self.within.edges(node).items():
                action = self.by.action(edge)
                if action is not None:
                    children.setdefault(self._first[action], []).append(child)
        return {action: self._number(children[action]) for action in sorted(children)}

    def steps(self, node: int) -> list[tuple[int, int, int]]:
        """Return the actions at `node` of the graph, each with its edge and the next node."""
        actions = [(self.by.action(edge), edge, child) for edge, child in self.within.edges(node).items()]
        return [(self._first[action], edge, child) for action, edge, child in actions if action is not None]

    def decompositions(self, node: int) -> list[tuple[int, int]]:
        """Return the edges from `node` of the graph that decompose a task, each with the next node."""
        return [(edge, child) for edge, child in self.within.edges(node).items() if self.by.action(edge) is None]

    def _number(self, nodes: Iterable[int]) -> int:
        """Return the number of the set of nodes that decompositions of `nodes` lead to, without nodes to decompose."""
        waiting = [node for node in nodes if self.within.distance(node) < INFINITY]
        seen = {*waiting}
        kept = []
        while waiting:
            node = waiting.pop()
            further = self.decompositions(node)
            if not further:
                kept.append(node)
            for _, child in further:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        found = frozenset(kept)
        number = self._numbers.setdefault(found, len(self._sets))
        if number == len(self._sets):
            self._sets.append(found)
        return number


class GraphExploration(Explored):
    """The part of `graph` through which plans go that cost no more than a bound; `latest` is the part returned last.

    `first[a]` is the representative of all actions that are the same step as a.
    """

    def __init__(self, graph: DecompositionGraph, first: list[int]) -> None:
        super().__init__(graph, graph.estimate, past_goals=False, order=graph.order)
        self._edges_of, self._first_of = graph.costs, first
        self.latest: StepAutomaton | None = None

    def part(self, bound: int) -> StepAutomaton:  # type: ignore[override]  # both are parts for listings
        """Return the part through which plans go that cost no more than `bound`, by steps, as far as expanded."""
        self.latest = StepAutomaton(super().part(bound), self._edges_of, self._first_of)
        return self.latest


Layer = dict[int, tuple[int, int]]
"""Nodes after the same steps, each with the node before it and the edge from there."""
NO_PARENT: Final = (-1, -1)
"""Node and edge before the first node."""


def moves_of(part: StepAutomaton, plan: Sequence[int]) -> list[int]:
    """Return the moves (see `tree_of`) of a decomposition in `part` whose steps are those of `plan`."""
    layers = [_decompose_all(part, {part.within.start: NO_PARENT})]
    for action in plan:
        layer: Layer = {}
        for node in layers[-1]:
            for done, edge, child in part.steps(node):
                if done == action:
                    layer.setdefault(child, (node, edge))
        layers.append(_decompose_all(part, layer))
    node = next(node for node in layers[-1] if node in part.within.goals)
    edges: list[int] = []
    for layer in reversed(layers):
        while layer[node] != NO_PARENT:
            node, edge = layer[node]
            edges.append(edge)
            if part.by.action(edge) is not None:
                break
    return [part.by.move(edge) for edge in reversed(edges)]


def _decompose_all(part: StepAutomaton, layer: Layer) -> Layer:
    """Return `layer` with all nodes that decompositions lead to."""
    waiting = [*layer]
    for node in waiting:
        for edge, child in part.decompositions(node):
            if child not in layer:
                layer[child] = node, edge
                waiting.append(child)
    return layer


class LocalSleep(Sleep):
    """Sleep sets with conditional independence (Katz and Peled, 1992).

    Two actions are independent in a state where both orders lead to the same state of `part`.
    """

    def __init__(self, commuting: Commuting, part: Part) -> None:
        super().__init__(commuting)
        self._part = part

    def keep_asleep(self, state: int, asleep: int, action: int) -> int:
        """Return which of those `asleep` go on sleeping when `action` is done in `state`."""
        here, found = self._part.edges(state), 0
        then = self._part.edges(here[action])
        for place in facts_of(super().keep_asleep(state, asleep, action)):
            other = self.action(place)
            both = self._part.edges(here[other]).get(action) if other in here else None
            if both is not None and then.get(other) == both:
                found |= 1 << place
        return found


class HtnPlanEnumeration(PlanEnumeration):
    """Enumerates the plans of a hierarchical problem, whose parts are step automata already."""

    def merge_variants(self, part: Part) -> Part:
        """Return `part`."""
        return part

    def make_sleep_sets(self, commuting: Commuting, part: Part) -> Sleep:
        """Return the sleep sets that leave few orders of independent steps."""
        return LocalSleep(commuting, part)

    def order_steps(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan` unchanged, since the tasks may allow no other order."""
        return tuple(plan)

    def key_of(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return the representative of the plans that differ from `plan` in the order of independent steps."""
        return plan if self.commuting is None else self.commuting.sort_steps(plan)

    def generate_plans(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Return the plans of at least the cost `lower_bound`.

        Such lists contain no plan with superfluous steps: the other steps would be a cheaper plan, since no step is
        free, and all cheaper plans were expanded.
        """
        return (tuple(plan) for plan in completions if self.space.cost_of(plan) >= self.lower_bound)


def candidates(problem: HtnProblem, limits: Limits, options: CandidateOptions) -> Candidates:
    """Return the plans for `problem`, each with a decomposition; see `planner.topk.top_k`.

    Plans with the same steps are one, whatever they came of. Where no graph lists the plans, the problem is solved
    again and again without the plans so far. Raises `UnsupportedError` for problems that it does not take.
    """
    classical = problem.classical
    is_solved = has_numbers(problem) or is_temporal(classical) or has(classical, *SOLVED)
    return (SolvedCandidates if is_solved else HtnCandidates)(problem, limits, options)


class SolvedCandidates(Candidates):
    """The plans of a hierarchical problem, which is solved again and again."""

    def _answer(self, problem: HtnProblem, options: SolveOptions) -> Result:
        from htn.solve import answer

        return answer(problem, options)


class HtnCandidates(Candidates):
    """The plans of a hierarchical problem."""

    def _prepare(self) -> tuple[Task, PlanEnumeration, Making] | None:
        plain = _without_wishes(self.problem)
        found = ground(plain, self._limits)
        if found.unreachable_goal is not None or found.root is None:
            return None
        check = self._limits.check
        graph = DecompositionGraph(PackedHierarchy(found, kernels.load_kernels(), check))
        space = graph.space.space
        exploration = GraphExploration(graph, Variants(space.task, check).first)
        commuting = None if self._options.orders else _commuting_actions(space.task, found, self.problem, check)
        limit = no_limit if self.problem.classical.is_limited else self._options.limit
        listing = HtnPlanEnumeration(space, exploration, commuting, limit, check, frugal=not self._options.wasteful)
        return space.task, listing, PlanMaker(self.problem, plain, found, exploration).plan


def _commuting_actions(task: Task, ground: GroundHtn, problem: HtnProblem, check: Callable[[], None]) -> Commuting:
    read = {fact for method in ground.methods for fact in method.precondition}
    return Commuting(task, check, Items(problem.classical), others=read)


def _without_wishes(problem: HtnProblem) -> HtnProblem:
    """Return `problem` without wishes and constraints."""
    if not problem.classical.wishes:
        return compile_away(problem, *CONSTRAINED)
    plain: HtnProblem = compile_wishes(problem).problem
    return plain


class PlanMaker:
    """Makes and validates plans for `problem` from actions, with the decompositions that `exploration` knows.

    `ground` is the ground form of `plain`, the problem without wishes and constraints.
    """

    def __init__(
        self, problem: HtnProblem, plain: HtnProblem, ground: GroundHtn, exploration: GraphExploration
    ) -> None:
        self._problem, self._plain, self._ground, self._exploration = problem, plain, ground, exploration
        self._unlimited = replace(problem, classical=replace(problem.classical, budgets={}))

    def plan(self, actions: Sequence[int]) -> Plan | None:
        """Return the plan; None where it breaks a budget, or forgoes a wish that comes true."""
        part = self._exploration.latest
        assert part is not None
        with Finishing():
            whole = plan_of(tree_of(self._ground, moves_of(part, actions)), self._plain, self._ground)
            plan = self._to_declared(whole)
            verdict = validate(self._unlimited, plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
            if not keeps_budgets(plan):
                return None
        if not self._problem.classical.wishes:
            return plan
        plan = value_plan(plan, verdict)
        return plan if plan.charge == whole.cost else None

    def _to_declared(self, plan: Plan) -> Plan:
        if not self._problem.classical.wishes:
            return replace(plan, problem=self._problem)
        return remove_wishes(plan, self._problem)
