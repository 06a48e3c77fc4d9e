"""Why a plan in time ends when it does: its chart, the slack of its steps, and the chain that decides its end.

The network of the plan's happenings says what each of them waits for. A step is critical if it cannot come later
without a later end. The critical chain goes back from the end: each happening comes as soon as the one before it
allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.explain.timed_gains import CapacityGains, find_gains
from planner.lightweight import Final, dataclass
from planner.limits import Limits
from planner.model.formulas import Number
from planner.model.problem import Problem
from planner.plan import Plan, Step, name_as_written
from planner.scheduling.happening_schedule import END, EVENT, START, Moment, Network, make_network
from planner.semantics.durations import chosen_durations
from planner.semantics.snap_actions import make_snap_problem, name_as_declared
from planner.validation.timed_replay import find_happenings

BAR: Final = "█"
SLACK: Final = "░"
WIDTH: Final = 60
"""Columns of a chart for the time of a plan."""


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A happening of the critical chain: `what` happens at `time`, and the `reason` why not earlier."""

    time: Number
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.time}: {self.what}" + (f", {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class TimedExplanation:
    """What a plan in time waits for.

    `slack` has for each step how many seconds later it may come without a later end of the plan. `chain` are the
    happenings that decide the end, from the beginning on. `gains` say what one more of each capacity gives; None where
    nobody asked.
    """

    plan: Plan
    slack: tuple[Number, ...]
    chain: tuple[ChainLink, ...]
    gains: CapacityGains | None = None

    def __str__(self) -> str:
        end = self.plan.makespan or 0
        if not self.plan.steps:
            return "the plan has no steps: the goal is reached without any"
        lines = [f"why it ends at {end}:", *[f"  {each}" for each in self.chain]]
        gains = str(self.gains) if self.gains is not None else ""
        return "\n".join([draw_chart(self.plan, self.slack), "", *lines, *(["", gains] if gains else [])])

    def to_dict(self) -> dict[str, object]:
        """Return the explanation as JSON-ready data."""
        chain = [{"time": float(each.time), "what": each.what, "reason": each.reason} for each in self.chain]
        data: dict[str, object] = {"plan": self.plan.to_dict(), "slack": [float(each) for each in self.slack]}
        data["critical_chain"] = chain
        return data if self.gains is None else {**data, "what_would_help": self.gains.to_dict()}


def draw_chart(plan: Plan, slack: Sequence[Number] = (), width: int = WIDTH) -> str:
    """Return a chart of a plan in time: a line a step, with its start, its name, and a bar from start to end.

    Shaded columns behind a bar are its `slack`; a bar without any is critical.
    """
    end = float(plan.makespan or 0) or 1.0
    names = [str(step) for step in name_as_written(plan.steps, plan.problem)]
    longest = max(map(len, names), default=0)
    slack = slack or (0,) * len(names)
    lines = []
    for name, time, spare in zip(names, plan.times, slack, strict=True):
        first, last = (round(float(each) / end * width) for each in (time.start, time.end))
        bar = BAR * max(1, last - first)
        shade = SLACK * max(0, min(width - first - len(bar), round(float(spare) / end * width)))
        lines.append(f"{float(time.start):10.3f}  {name:<{longest}}  {' ' * first}{bar}{shade}".rstrip())
    return "\n".join(lines)


def explain_times(problem: Problem, plan: Plan, limits: Limits | None = None) -> TimedExplanation:
    """Explain when the steps of `plan`, a valid plan in time for `problem`, come and why not earlier.

    With `limits`, also search within them for what one more of each capacity gives. Raises `PlanError` for a plan that
    is not valid.
    """
    if not plan.steps:
        return TimedExplanation(plan, (), ())
    slack, chain = _explain_order(problem, plan)
    return TimedExplanation(plan, slack, chain, None if limits is None else find_gains(problem, plan, limits))


def _explain_order(problem: Problem, plan: Plan) -> tuple[tuple[Number, ...], tuple[ChainLink, ...]]:
    """Return the slack of the steps, and the critical chain."""
    snap = make_snap_problem(problem)
    happenings = find_happenings(problem, snap, plan.steps, plan.times)
    sequence = [
        Moment(EVENT, snap.events.index(each.step.action))
        if not each.number
        else Moment(START if each.is_start else END, each.number - 1)
        for each in happenings
    ]
    chosen = chosen_durations(problem, plan.steps, [time.duration for time in plan.times])
    network = make_network(problem, snap, plan.steps, sequence, durations=chosen)
    times = [0] * network.nodes
    labels = ["the beginning"] * network.nodes
    for number, (start, end) in enumerate(zip(network.starts, network.ends, strict=True)):
        times[start] = network.ticks(plan.times[number].start)
        times[end] = network.ticks(plan.times[number].end)
    nodes = _nodes_of(network, sequence)
    for happening, node in zip(happenings, nodes, strict=True):
        times[node] = network.ticks(happening.time)
        labels[node] = _label(happening.number, plan, is_start=happening.is_start, network=network)
    latest = _find_latest(network, max(times[end] for end in network.ends))
    slack = tuple([network.seconds(max(0, latest[node] - times[node])) for node in network.starts])
    return slack, tuple(_find_chain(problem, network, times, labels))


def _nodes_of(network: Network, sequence: Sequence[Moment]) -> list[int]:
    """Return the node of each happening: starts and ends have theirs, changes at known times those that are left."""
    taken = {*network.starts, *network.ends}
    left = iter([node for node in range(1, network.nodes) if node not in taken])
    found = []
    for moment in sequence:
        if moment.kind == EVENT:
            found.append(next(left))
        else:
            found.append((network.starts if moment.kind == START else network.ends)[moment.number])
    return found


def _label(number: int, plan: Plan, *, is_start: bool, network: Network) -> str:
    if not number:
        return "a change at a known time"
    step: Step = plan.steps[number - 1]
    if network.starts[number - 1] == network.ends[number - 1]:
        return f"{step} happens"
    return f"{step} {'starts' if is_start else 'ends'}"


def _find_latest(network: Network, end: int) -> list[int]:
    """Return the latest tick of each node by which nothing ends later than at `end`."""
    latest = [end] * network.nodes
    latest[0] = 0
    changed = True
    while changed:
        changed = False
        for (earlier, later), least in network.edges.items():
            if earlier and latest[later] - least < latest[earlier]:
                latest[earlier] = latest[later] - least
                changed = True
    return latest


def _find_chain(problem: Problem, network: Network, times: Sequence[int], labels: Sequence[str]) -> list[ChainLink]:
    """Return the happenings from the beginning to the last end, each as soon as the one before it allows.

    The chain begins with what happens at once, or at a known time, where some chain does.
    """
    before: dict[int, list[int]] = {}
    for (earlier, later), least in network.edges.items():
        if least >= 0 and times[later] - times[earlier] == least:
            before.setdefault(later, []).append(earlier)
    path = _trace_back(max(network.ends, key=lambda end: times[end]), before, times)
    own = {end: start for start, end in zip(network.starts, network.ends, strict=True) if start != end}
    found: list[ChainLink] = []
    for node, earlier in zip(path, [*path[1:], 0], strict=True):
        time = network.seconds(times[node])
        if not earlier:
            free = times[node] > 0 and 0 not in before.get(node, ())
            reason = "and nothing that it waits for keeps it from coming earlier" if free else ""
        elif earlier == own.get(node):
            reason = f"as it lasts {network.seconds(times[node] - times[earlier])} s"
        else:
            about = name_as_declared(network.about.get((earlier, node), ""), problem).removeprefix("that ")
            reason = f"not before {labels[earlier]} at {network.seconds(times[earlier])}" + (
                f": {about}" if about else ""
            )
        found.append(ChainLink(time, labels[node], reason))
    return found[::-1]


def _trace_back(last: int, before: Mapping[int, Sequence[int]], times: Sequence[int]) -> list[int]:
    """Return nodes from `last` back to one that waits for the beginning alone, or else as far as nodes wait."""
    after: dict[int, int] = {last: 0}
    stack, end = [last], last
    while stack:
        node = stack.pop()
        if times[node] == 0 or 0 in before.get(node, ()):
            end = node
            break
        if times[node] < times[end]:
            end = node
        for earlier in sorted(before.get(node, ()), key=lambda each: times[each], reverse=True):
            if earlier not in after:
                after[earlier] = node
                stack.append(earlier)
    path = [end]
    while path[-1] != last:
        path.append(after[path[-1]])
    return path[::-1]
