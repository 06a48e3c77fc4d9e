"""The page of a plan: its causal links, its order, when steps run, and the state at each step.

Each part is collected on its own. Where one does not apply, such as the schedule of a hierarchical plan, the page goes
without it, and a note says why if somebody would miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from executor.desk.pages import document as doc
from executor.desk.pages.layout import lay_out, longest_paths
from planner.compilations.object_creation import for_steps
from planner.errors import ForethoughtError
from planner.explain.near_misses import describe_literal
from planner.explain.plan_explanation import ELIMINATION
from planner.limits import Limits
from planner.model import Atom, Comparison, Not, Number, Problem
from planner.model.arithmetic import show_number
from planner.model.formulas import unmarked
from planner.model.problem import counts_makespan_alone, is_temporal
from planner.partial_order.causal_links import INITIAL, CausalLink, causal_links, order_sequence
from planner.plan import Plan, Result, Status, Step, json_number, name_as_written
from planner.problem_kinds import classical_of
from planner.semantics.simulation import Simulation
from planner.validation.validate import apply_suppositions

MOST_DELTAS: Final = 20_000
"""Most changes of facts and numbers that a page keeps; beyond, a page would grow past a megabyte."""
MOST_CONSTANT: Final = 5_000
"""Most facts that never change that a page lists."""
Found = TypeVar("Found")


def plan_page(plan: Plan, result: Result | None = None, limits: Limits | None = None) -> doc.Page:
    """Return the page of `plan`, a valid plan; `result` adds what is proved of it."""
    collector = _Collector(plan)
    order = collector.attempt("no graph", collector.find_order)
    steps = collector.attempt("", collector.explain) or collector.plain_steps()
    graph = _draw_graph(collector.written, order, collector.links) if plan.steps and order else None
    states = collector.attempt("no states", collector.replay)
    chart = collector.attempt("", lambda: _make_chart(plan, order))
    tree = None
    if collector.is_hierarchical:
        from executor.desk.pages.tree_page import decomposition

        tree = decomposition(plan, limits or Limits(10.0))
    return doc.Page(
        kind="plan",
        title=plan.problem.name,
        subtitle=f"a plan for the domain {plan.problem.domain.name}",
        figures=tuple(_plan_figures(plan, result)),
        notes=(*_plan_notes(plan, result), *collector.notes),
        steps=steps,
        links=tuple(collector.links),
        order=tuple(order.threats(collector.texts)) if order else (),
        graph=graph,
        chart=chart,
        states=states,
        tree=tree,
        texts=collector.texts.all(),
    )


@dataclass(frozen=True, slots=True)
class _Order:
    """Direct orderings of steps: (earlier, later) → (reason, about)."""

    edges: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    def threats(self, texts: doc.Texts) -> Iterator[tuple[int, int, str, int]]:
        """Yield the orderings that are no causal links."""
        for (earlier, later), (reason, about) in self.edges.items():
            if reason != "link":
                yield earlier, later, reason, texts.place(about)


class _Collector:
    """Collects the parts of one page; `links` are causal links with the places of their texts."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.written = name_as_written(plan.steps, plan.problem)
        self.classical = for_steps(classical_of(plan.problem), plan.steps)
        self.is_hierarchical = not isinstance(plan.problem, Problem)
        self.texts = doc.Texts()
        self.links: list[tuple[int, int, int]] = []
        self.notes: list[str] = []

    def attempt(self, without: str, collect: Callable[[], Found]) -> Found | None:
        """Return what `collect` returns; if it does not apply, return None, and note what the page goes `without`."""
        try:
            return collect()
        except ForethoughtError as error:
            if without:
                self.notes.append(f"{without}: {error}")
            return None

    @property
    def as_sequence(self) -> Plan:
        """The plan as one of the classical problem, without its tree."""
        return replace(self.plan, problem=self.classical, tree=None)

    def find_order(self) -> _Order:
        """Find the causal links and the order of the steps."""
        if is_temporal(self.classical):
            return self._find_timed_order()
        for link in causal_links(self.classical, self.as_sequence):
            self._add_link(link.provider, link.consumer, link)
        graph = order_sequence(self.classical, self.as_sequence)
        edges = {}
        for earlier, later, data in graph.edges(data=True):
            about = [self._describe(each) for each in data["links"]]
            edges[earlier, later] = data["reason"], ", ".join(about)
        return _Order(edges)

    def _add_link(self, provider: int, consumer: int, link: CausalLink) -> None:
        self.links.append((provider, consumer, self.texts.place(self._describe(link))))

    def _describe(self, link: CausalLink) -> str:
        return describe_literal(link.condition, self.classical.domain)

    def _find_timed_order(self) -> _Order:
        """Find the causal links of a plan in time, between the steps of its happenings."""
        snap, happenings = _find_happenings(self.as_sequence)
        steps, owners = [], [0]
        for each in happenings:
            steps.append(each.step)
            owners.append(each.number)
            moments = snap.actions[self.plan.steps[each.number - 1].action] if each.number else None
            if moments is not None and each.is_start and moments.lasting:
                steps.append(Step(moments.lasting, each.step.arguments))
                owners.append(each.number)
        owners.append(len(self.plan) + 1)
        edges: dict[tuple[int, int], tuple[str, str]] = {}
        known = {*self.classical.domain.predicates, *self.classical.domain.functions}
        seen = set()
        for link in causal_links(snap.problem, Plan(tuple(steps), snap.problem)):
            earlier, later, text = owners[link.provider], owners[link.consumer], self._describe(link)
            if earlier == later or not _mentioned(link) <= known or (earlier, later, text) in seen:
                continue
            seen.add((earlier, later, text))
            self._add_link(earlier, later, link)
            if earlier != INITIAL and earlier < later <= len(self.plan):
                edges[earlier, later] = "link", text
        return _Order(_reduce(edges))

    def plain_steps(self) -> tuple[doc.StepItem, ...]:
        """Return the steps without reasons."""
        costs = [None if counts_makespan_alone(self.classical) else json_number(each.cost) for each in self.written]
        written = zip(self.written, costs, strict=True)
        return tuple([doc.StepItem(each.action, each.arguments, cost) for each, cost in written])

    def explain(self) -> tuple[doc.StepItem, ...]:
        """Return the steps with what `explain` says of them, and what fails first without each."""
        items = list(self.plain_steps())
        if is_temporal(self.classical):
            return tuple(items)
        if not self.is_hierarchical:
            from planner.explain.plan_explanation import explain_plan

            found = explain_plan(self.plan.problem, self.plan)
            for place, each in enumerate(found.steps):
                items[place] = replace(items[place], redundant=each.redundant, keeps=each.keeps)
        if len(items) <= ELIMINATION:
            items = [replace(each, breaks=what) for each, what in zip(items, self._find_breaks(), strict=True)]
        return tuple(items)

    def _find_breaks(self) -> Iterator[doc.Break | None]:
        """Yield for each step what fails first if the plan goes on without it."""
        problem, _ = apply_suppositions(self.classical, self.as_sequence)
        before = Simulation(problem)
        for number, step in enumerate(self.plan.steps, start=1):
            simulation = before.copy()
            yield self._find_failure(simulation, number + 1)
            before.apply(step)

    def _find_failure(self, simulation: Simulation, first: int) -> doc.Break | None:
        for number, step in enumerate(self.plan.steps[first - 1 :], start=first):
            objection = simulation.find_objection(step)
            if objection is not None:
                return doc.Break(number, self.texts.place(objection.misfit or unmarked(objection.condition)))
            simulation.apply(step)
        goal = simulation.problem.goal.hard
        if simulation.holds(goal):
            return None
        return doc.Break(0, self.texts.place(unmarked(simulation.inspector.smallest_failure(goal, {}))))

    def replay(self) -> doc.States | None:
        """Return the initial state, and what each step changes."""
        if not self.plan.steps:
            return None
        if is_temporal(self.classical):
            return self._replay_in_time()
        problem, _ = apply_suppositions(self.classical, self.as_sequence)
        simulation = Simulation(problem)
        start = self._begin(simulation)
        deltas = []
        for number, step in enumerate(self.plan.steps, start=1):
            deltas.append(self._delta(number, simulation.apply(step)))
        return self._finish(start, deltas)

    def _replay_in_time(self) -> doc.States | None:
        from planner.validation.timed_replay import apply_happening

        snap, happenings = _find_happenings(self.as_sequence)
        simulation = Simulation(snap.problem)
        start = self._begin(simulation)
        deltas = []
        for each in happenings:
            changes = apply_happening(simulation, each, self.plan.times)
            lasts = bool(each.number) and bool(snap.actions[self.plan.steps[each.number - 1].action].end)
            phase = ("starts" if each.is_start else "ends") if lasts else ""
            delta = self._delta(each.number, changes)
            deltas.append(replace(delta, phase=phase, time=json_number(each.time)))
        return self._finish(start, deltas)

    def _begin(self, simulation: Simulation) -> tuple[list[Atom], dict[Atom, str]]:
        shown = [fact for fact in simulation.problem.initial if self._is_shown(fact)]
        values = {fluent: show_number(value) for fluent, value in simulation.values.items() if self._is_shown(fluent)}
        return list(dict.fromkeys(shown)), values

    def _is_shown(self, fact: Atom) -> bool:
        domain = self.classical.domain
        return fact.predicate in domain.predicates or fact.predicate in domain.functions

    def _delta(self, number: int, changes: Any) -> doc.Delta:
        place = self.texts.place
        return doc.Delta(
            number,
            tuple([place(str(fact)) for fact in changes.added if self._is_shown(fact)]),
            tuple([place(str(fact)) for fact in changes.removed if self._is_shown(fact)]),
            tuple(
                [
                    (place(str(each.fluent)), show_number(each.before), show_number(each.after))
                    for each in changes.numbers
                    if self._is_shown(each.fluent)
                ]
            ),
        )

    def _finish(self, start: tuple[list[Atom], dict[Atom, str]], deltas: Sequence[doc.Delta]) -> doc.States | None:
        """Split what holds initially into what changes and what does not; None where a page cannot hold all changes."""
        changed = {fact for each in deltas for fact in (*each.added, *each.removed)}
        moved = {fluent for each in deltas for fluent, *_ in each.numbers}
        if sum(len(each.added) + len(each.removed) + len(each.numbers) for each in deltas) > MOST_DELTAS:
            self.notes.append("no states: the plan changes more facts than a page can hold")
            return None
        facts, values = start
        find = self.texts.find
        still = [str(fact) for fact in facts if find(str(fact)) not in changed]
        still += [f"{fluent} = {value}" for fluent, value in values.items() if find(str(fluent)) not in moved]
        if len(still) > MOST_CONSTANT:
            self.notes.append(f"of {len(still):,} facts that never change, the first {MOST_CONSTANT:,} are listed")
        return doc.States(
            tuple([place for fact in facts if (place := find(str(fact))) in changed]),
            tuple(deltas),
            tuple([(place, value) for fluent, value in values.items() if (place := find(str(fluent))) in moved]),
            tuple(map(self.texts.place, still[:MOST_CONSTANT])),
        )


def _mentioned(link: CausalLink) -> set[str]:
    part = link.condition.part if isinstance(link.condition, Not) else link.condition
    if isinstance(part, Comparison):
        return {each.predicate for each in part.functions}
    return {part.predicate} if isinstance(part, Atom) else set()


def _find_happenings(plan: Plan) -> tuple[Any, list[Any]]:
    """Return the snap problem of a plan in time, and its happenings in their order."""
    from planner.semantics.snap_actions import make_snap_problem
    from planner.validation.timed_replay import find_happenings

    snap = make_snap_problem(plan.problem)
    return snap, find_happenings(plan.problem, snap, plan.steps, plan.times)


def _reduce(edges: dict[tuple[int, int], tuple[str, str]]) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the edges, all from smaller to greater numbers, that no other path stands for."""
    before: dict[int, list[int]] = {}
    for earlier, later in edges:
        before.setdefault(later, []).append(earlier)
    closed: dict[int, int] = {}
    kept = {}
    for later in range(1, max((edge[1] for edge in edges), default=0) + 1):
        covered = 0
        for earlier in sorted(before.get(later, ()), reverse=True):
            if not covered >> earlier & 1:
                kept[earlier, later] = edges[earlier, later]
                covered |= 1 << earlier | closed.get(earlier, 0)
        closed[later] = covered
    return kept


def _draw_graph(steps: Sequence[Step], order: _Order, links: Iterable[tuple[int, int, int]]) -> doc.Graph:
    """Draw the order of `steps`, and the goal behind the steps that serve it and that nothing follows."""
    last = {earlier for earlier, _ in order.edges}
    goal = len(steps) + 1
    serving = sorted({provider for provider, consumer, _ in links if consumer == goal and provider != INITIAL} - last)
    pairs = [(earlier - 1, later - 1) for earlier, later in order.edges] + [(each - 1, goal - 1) for each in serving]
    drawn = lay_out(goal if serving else len(steps), pairs)
    nodes = [
        doc.GraphNode(step.action, layer, y, "step", ", ".join(step.arguments), number)
        for number, (step, layer, y) in enumerate(zip(steps, drawn.layers, drawn.heights, strict=False), start=1)
    ]
    if serving:
        nodes.append(doc.GraphNode("Goal", drawn.layers[-1], drawn.heights[-1], "goal", "", goal))
    edges = [
        doc.GraphEdge(earlier - 1, later - 1, reason, about, drawn.bends[earlier - 1, later - 1])
        for (earlier, later), (reason, about) in order.edges.items()
    ]
    edges += [doc.GraphEdge(each - 1, goal - 1, "goal", "", drawn.bends[each - 1, goal - 1]) for each in serving]
    return doc.Graph(tuple(nodes), tuple(edges))


def _make_chart(plan: Plan, order: _Order | None) -> doc.Chart | None:
    """Return when the steps start and end; None where the plan is a sequence without durations."""
    if not plan.steps:
        return None
    if plan.times:
        return _chart_of_times(plan)
    if isinstance(plan.problem, Problem) and any(each.duration for each in plan.problem.domain.actions.values()):
        from planner.scheduling.schedule import schedule

        found = schedule(plan)
        starts, ends = ([float(each) for each in times] for times in (found.starts, found.ends))
        if any(ends):
            return doc.Chart("seconds", tuple(starts), tuple(ends), critical=found.critical_path, origin=_origin(plan))
    if order is None or not isinstance(plan.problem, Problem):
        return None
    rounds = longest_paths(len(plan), [(earlier - 1, later - 1) for earlier, later in order.edges])
    if max(rounds) == len(plan) - 1:
        return None
    return doc.Chart("rounds", tuple(rounds), tuple([each + 1 for each in rounds]))


def _chart_of_times(plan: Plan) -> doc.Chart:
    starts = tuple([float(each.start) for each in plan.times])
    ends = tuple([float(each.end) for each in plan.times])
    problem = classical_of(plan.problem)
    markers = [doc.Marker(float(each.by), f"due: {each.condition}") for each in problem.due]
    markers += [doc.Marker(float(each.time), ", ".join(map(str, each.provides))) for each in problem.timed]
    if problem.deadline is not None:
        markers.append(doc.Marker(float(problem.deadline), "deadline"))
    chart = doc.Chart("seconds", starts, ends, markers=tuple(markers), origin=_origin(plan))
    if not isinstance(plan.problem, Problem):
        return chart
    from planner.explain.timed_explanation import explain_times

    try:
        found = explain_times(plan.problem, plan)
    except ForethoughtError:
        return chart
    slack = tuple([float(each) for each in found.slack])
    critical = tuple([number for number, each in enumerate(slack, start=1) if not each])
    chain = [(float(each.time), f"{each.what}, {each.reason}" if each.reason else each.what) for each in found.chain]
    return replace(chart, slack=slack, critical=critical, chain=tuple(chain))


def _origin(plan: Plan) -> str:
    start = classical_of(plan.problem).starts_at
    return "" if start is None else start.isoformat()


_TONES: Final[dict[Status, doc.Tone]] = {Status.OPTIMAL: "good", Status.SOLVED: "plain"}


def result_figures(result: Result) -> Iterator[doc.Figure]:
    """Yield what is proved: the status, the lower bound and the gap."""
    yield doc.Figure("status", result.status.name.lower(), _TONES.get(result.status, "warn"))
    if result.lower_bound is not None and result.status is not Status.OPTIMAL:
        yield doc.Figure("lower bound", str(result.lower_bound))
    if result.gap:
        yield doc.Figure("gap", f"{result.gap:.1%}", "warn")


def _plan_figures(plan: Plan, result: Result | None) -> Iterator[doc.Figure]:
    if result is not None:
        yield from result_figures(result)
    yield doc.Figure("steps", f"{len(plan):,}")
    if not plan.times or not counts_makespan_alone(classical_of(plan.problem)):
        yield doc.Figure("cost", f"{plan.cost:,}")
    if plan.times:
        yield doc.Figure("makespan", _show_seconds(plan.makespan or 0))
    if plan.utility is not None:
        yield doc.Figure("utility", str(plan.utility))


def _show_seconds(seconds: Number) -> str:
    """Return a time as "90 s", or from an hour on as "130:10:00 h"."""
    if seconds < 3600:  # the seconds of an hour
        return f"{float(seconds):g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}{f':{rest:02}' if rest else ''} h"


def _plan_notes(plan: Plan, result: Result | None) -> Iterator[str]:
    if result is not None and result.reason:
        yield result.reason
    if not plan.steps:
        yield "The plan is empty: what is wanted holds initially."
    yield from [f"The plan goes {each}." for each in _forgone(plan)]
    yield from [f"The plan supposes {each}." for each in plan.suppositions]


def _forgone(plan: Plan) -> list[str]:
    from planner.plan import describe_forgone

    return describe_forgone(plan.forgone)
