"""Who takes a capacity over from whom: a step that holds some of it comes after those that give it back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal

from executor.dispatching.dispatch_network import APART, DispatchNetwork
from executor.dispatching.timetable import Planned
from planner.errors import PlanError
from planner.lightweight import dataclass, replace
from planner.model import Problem
from planner.model.arithmetic import Exact, exact_value
from planner.plan import Step
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import sum_of


@dataclass(frozen=True, slots=True)
class _Share:
    """An `amount` of a capacity that the step `about` gives back `until` a planned time; "" has never been held."""

    until: Decimal
    about: str
    amount: Exact


def chain_capacities(
    found: DispatchNetwork,
    problem: Problem,
    steps: Mapping[str, Step],
    running: Collection[str],
    planned: Mapping[str, Planned],
) -> None:
    """Let each of `steps` that holds a capacity come after those from which it takes its share over.

    The planned times say who has it before: first the steps that come before anyway, then whoever gives it back first.
    (Policella, Smith, Cesta and Oddi, 2004: chaining.) Raises `PlanError` where there is not enough at some time.
    """
    values = Values.of(problem)
    order = sorted(steps, key=lambda id_: (id_ not in running, planned[id_].start))
    for name, whole in problem.capacity.items():
        pool: list[_Share] | None = [_Share(Decimal("-Infinity"), "", exact_value(whole))]
        for id_ in order:
            action = problem.domain.actions[steps[id_].action]
            if name not in action.holds:
                continue
            needed = values.evaluate(sum_of(action.holds[name]), bind_parameters(action, steps[id_]))
            if not needed or pool is None:
                continue
            start = Decimal("-Infinity") if id_ in running else planned[id_].start
            pool = _take_over(found, pool, _Share(planned[id_].end, id_, needed), start)
            if pool is None:
                raise PlanError(f"step {id_!r} finds too little of {name} when it is planned to start")


def chain_again(network: DispatchNetwork, problem: Problem, planned: Mapping[str, Planned]) -> None:
    """Let the steps of `network` that are left take the capacities over anew from those at work."""
    left = {about: step for about, step in network.steps.items() if network.ends[about] not in network.happened}
    network.edges = dict(network.unchained)
    network.deferred.clear()
    running = [about for about in left if network.is_running(about)]
    chain_capacities(network, problem, left, running, planned)


def _take_over(found: DispatchNetwork, pool: list[_Share], need: _Share, start: Decimal) -> list[_Share] | None:
    """Let a step that starts take the share that it needs from `pool`; return the pool after it, if that is enough."""
    node, left = found.starts[need.about], need.amount
    kept: list[_Share] = []
    for share in sorted(pool, key=lambda each: (not _comes_before(found, each.about, node), each.until)):
        taken = min(share.amount, left) if share.until <= start else 0
        left -= taken
        if taken and share.about:
            before = found.ends[share.about]
            found.edges[before, node] = max(found.edges.get((before, node), 0), APART)
        if share.amount > taken:
            kept.append(replace(share, amount=share.amount - taken))
    return None if left > 0 else [*kept, need]


def _comes_before(found: DispatchNetwork, about: str, node: int) -> bool:
    return bool(about) and found.edges.get((found.ends[about], node), -1) >= 0
