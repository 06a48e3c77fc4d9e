"""Extraction of a policy over facts from the solution of a decision process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from planner.compilations.trajectory_constraints import is_monitor
from planner.lightweight import replace
from planner.model import Atom, Not, Problem
from planner.plan import Step, exact
from planner.policies.lao_star import Check
from planner.policies.markov_decision_process import Graph, Option, Process
from planner.policies.policy import Branch, Node, Policy
from planner.policies.policy_iteration import find_best_policy
from planner.problem_kinds import AnyProblem, classical_of
from planner.task.ground_task import State

SHOWN = 6
"""Most changes of an outcome that are named."""
DIGITS = 9
"""Decimal digits of expected costs of steps."""


def policy_of(graph: Graph, chosen: Sequence[Option | None], problem: AnyProblem, check: Check) -> Policy:
    """Return the policy that takes the `chosen` options in `graph`, with its values.

    The policy contains only nodes that it reaches, and ends in nodes without an option. `check` raises at a limit.
    """
    chosen = [*chosen, *[None] * (len(graph) - len(chosen))]
    order = _in_reading_order(chosen)
    number = {node: place for place, node in enumerate(order)}
    names = Names(graph.process, classical_of(problem))
    nodes = tuple([_node(graph, node, chosen[node], number, names) for node in order])
    success, cost, utility = _evaluate(graph, [chosen[node] for node in order], order, number, check)
    return Policy(nodes, names.watched, problem, success, cost, utility)


def _in_reading_order(chosen: Sequence[Option | None]) -> list[int]:
    """Return the reachable nodes depth first, the likeliest outcome of each step first."""
    found: dict[int, None] = {}
    stack = [0]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found[node] = None
        option = chosen[node]
        if option is not None:
            stack += [after for _, after in sorted(option.branches) if after not in found]
    return [*found]


class Names:
    """Translates the states of a process to facts of its problem."""

    def __init__(self, process: Process, problem: Problem) -> None:
        self._process = process
        self._literals: dict[Atom, tuple[int, bool]] = {}
        for number, fact in enumerate(process.task.facts):
            atom = fact.part if isinstance(fact, Not) else fact
            atom = process.aliases.get(atom, atom) if isinstance(atom, Atom) else atom
            if number in process.task.derived or not isinstance(atom, Atom) or atom in process.ignored:
                continue
            if _is_seen(atom, problem):
                self._literals.setdefault(atom, (number, not isinstance(fact, Not)))
        self.watched = frozenset([*self._literals, *process.unknown])

    def facts(self, state: State) -> frozenset[Atom]:
        """Return the watched facts that are known to hold in `state`."""
        bits = self._process.facts(state)
        held = [atom for atom, (bit, sign) in self._literals.items() if bool(bits >> bit & 1) is sign]
        return frozenset(held) - self.unknown(state)

    def unknown(self, state: State) -> frozenset[Atom]:
        """Return the facts that are unknown in `state`."""
        return frozenset(self._process.unknown_in(state))

    def describe_change(self, before: State, after: State) -> str:
        """Describe the facts that an outcome has changed."""
        if before == after:
            return "nothing changes"
        old, new = self.facts(before), self.facts(after)
        ended = (old | (self.unknown(before) - self.unknown(after))) - new
        words = _sorted_names(new - old) + [f"not {atom}" for atom in _sorted_names(ended)]
        now = self._process.values(before)
        words += [f"{term} = {number}" for term, number in self._process.values(after).items() if number != now[term]]
        if not words:
            return "time passes" if self._process.time(before) is not None else "nothing is seen to change"
        return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def _sorted_names(facts: Iterable[Atom]) -> list[str]:
    """Return the sorted names of facts, without monitors of constraints."""
    return sorted([str(fact) for fact in facts if not is_monitor(fact)])


def _is_seen(atom: Atom, problem: Problem) -> bool:
    """Return whether `atom` is a fact of `problem`, of what ran, or of a monitor, and not an artificial one."""
    return atom.predicate in problem.domain.predicates or atom.predicate.startswith("ran-") or is_monitor(atom)


def _node(graph: Graph, node: int, option: Option | None, number: dict[int, int], names: Names) -> Node:
    state, process = graph.states[node], graph.process
    branches: Iterable[tuple[float, int]] = () if option is None else option.branches

    def branch_to(share: float, after: int) -> Branch:
        return Branch(share, names.describe_change(state, graph.states[after]), number[after])

    return Node(
        names.facts(state),
        _step(process, state, option),
        tuple([branch_to(*branch) for branch in sorted(branches, key=lambda branch: -branch[0])]),
        process.is_goal(state),
        process.purse.as_amounts(graph.left[node]),
        names.unknown(state),
        None if option is None or not option.branches else process.supposed.get(option.choice),
        process.values(state),
        process.tasks(state),
        None if option is None or not option.branches else process.place(option.choice),
        process.time(state),
    )


def _step(process: Process, state: State, option: Option | None) -> Step | None:
    """Return the step of `option`, with its expected cost where the metric depends on the state; None for an end."""
    if option is None or not option.branches:
        return None
    step = process.choices[option.choice].step
    if not process.is_metric:
        return step
    cost = process.step_price(state, option.choice) / process.task.resolution
    return replace(step, cost=exact(Decimal(repr(round(cost, DIGITS)))))


def _evaluate(
    graph: Graph, chosen: Sequence[Option | None], order: Sequence[int], number: dict[int, int], check: Check
) -> tuple[float, float, float]:
    """Return the probability of success, the expected cost and the expected utility of a policy."""
    process = graph.process
    options = []
    for node, option in zip(order, chosen, strict=True):
        if option is not None and option.branches:
            branches = tuple([(share, number[after]) for share, after in option.branches])
            options.append([Option(option.choice, option.cost, branches)])
        else:
            reached = process.is_goal(graph.states[node])
            utility = float(process.utility(graph.states[node])) if reached else 0.0
            price = process.end_price(graph.states[node])
            options.append([Option(-1, price, (), (float(reached), utility))])
    success, utilities, costs = find_best_policy(options, 2, check).values
    return min(1.0, success[0] + 0.0), (costs[0] + process.offset) / process.task.resolution, utilities[0] + 0.0
