"""Changes at known times as tasks: each is an action of its own that is done once, in the order of the times.

The tasks of the problem and these of the changes are in no order, so that a decomposition says between which steps each
change comes. With a clock in the state, sequences are found whose steps fit, one after another, between the changes
that matter to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from htn.model import Decomposition, HtnProblem, Node, Subtask
from planner.grounding.ground_temporal import hard_deadlines, meeting
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, NumericEffect, When
from planner.model.actions import Moment as DeclaredMoment
from planner.model.domain import Function
from planner.model.formulas import (
    OPEN,
    Arithmetic,
    Atom,
    Comparison,
    Number,
    atoms_in,
    conjunction,
    with_conjuncts,
)
from planner.model.problem import Problem
from planner.model.timing import TimedEffect
from planner.model.unknown_facts import instances_of
from planner.plan import Plan, Step
from planner.scheduling.happening_schedule import END, EVENT, START, Moment
from planner.semantics.durations import least_term
from planner.semantics.snap_actions import SnapProblem, split_moments

CLOCK: Final = Atom("the clock")


def add_changes(sequential: HtnProblem, timed: Problem, snap: SnapProblem) -> HtnProblem:
    """Return the problem of sequences with tasks for the known changes of `timed`, whose moments are in `snap`."""
    changes = {name: snap.problem.domain.actions[name] for name in snap.events}
    domain = sequential.domain.classical
    domain = replace(domain, actions={**domain.actions, **changes})
    network, first = sequential.network, len(sequential.network.subtasks)
    order = sorted(range(len(snap.events)), key=lambda number: timed.timed[number].time)
    network = replace(
        network,
        subtasks=(*network.subtasks, *[Subtask(Atom(name)) for name in snap.events]),
        ordering=(*network.ordering, *[(first + one, first + other) for one, other in pairwise(order)]),
    )
    return replace(
        sequential,
        domain=replace(sequential.domain, classical=domain),
        classical=replace(sequential.classical, domain=domain),
        network=network,
        seal=(),
    )


def add_clock(sequential: HtnProblem, timed: Problem, snap: SnapProblem) -> HtnProblem:
    """Return the problem that `add_changes` returned with a clock, which runs while steps last.

    A step that reads or writes what a change has written begins later than that, and has ended where the change is
    still to come; what else is at work then does not matter. A deadline of a goal becomes a task: an action for which
    the goal holds, and the clock is not past the deadline.
    """
    clocked = _Clocked(timed, dict(zip(snap.events, timed.timed, strict=True)))
    classical = sequential.classical
    domain = classical.domain
    actions = {name: clocked.rewrite(action) for name, action in domain.actions.items()}
    functions = {**domain.functions, CLOCK.predicate: Function(CLOCK.predicate)}
    for predicate in clocked.written:
        for fluent in (_changed(Atom(predicate)), _touched(Atom(predicate))):
            functions[fluent.predicate] = Function(fluent.predicate, domain.predicates[predicate].parameters)
    meetings = {meeting(place): due for place, due in enumerate(hard_deadlines(timed))}
    for name, due in meetings.items():
        in_time = with_conjuncts(due.condition, Comparison(CLOCK, "<=", due.by))
        actions[name] = Action(name, requires=in_time, cost=())
    tasks = tuple([Subtask(Atom(name)) for name in meetings])
    network = replace(sequential.network, subtasks=(*sequential.network.subtasks, *tasks))
    domain = replace(domain, actions=actions, functions=functions)
    classical = replace(classical, domain=domain, values={**classical.values, CLOCK: 0, **clocked.values()})
    if timed.deadline is not None:
        hard = with_conjuncts(classical.goal.hard, Comparison(CLOCK, "<=", timed.deadline))
        classical = replace(classical, goal=replace(classical.goal, hard=hard))
    domains = replace(sequential.domain, classical=classical.domain)
    return replace(sequential, domain=domains, classical=classical, network=network, seal=())


def _changed(fact: Atom) -> Atom:
    """Return the fluent that says when a change last wrote `fact`."""
    return Atom(f"{fact.predicate} was changed", fact.args)


def _touched(fact: Atom) -> Atom:
    """Return the fluent that says until when a step last read or wrote `fact`."""
    return Atom(f"{fact.predicate} was in use", fact.args)


@dataclass(frozen=True, slots=True)
class _Clocked:
    """Actions of sequences, with conditions and effects on the clock; `changes` has the change of each such action."""

    timed: Problem
    changes: Mapping[str, TimedEffect]

    @property
    def written(self) -> set[str]:
        """The predicates that changes write."""
        return {fact.predicate for change in self.changes.values() for fact in _facts_of(change)}

    def values(self) -> dict[Atom, Number]:
        """Return the first values of the fluents: long ago."""
        parameters = {name: self.timed.domain.predicates[name].parameters for name in self.written}
        patterns = [Atom(name, (OPEN,) * len(each)) for name, each in parameters.items()]
        facts = [fact for pattern in patterns for fact in instances_of(self.timed, pattern)]
        return {of(fact): -1 for fact in facts for of in (_changed, _touched)}

    def rewrite(self, action: Action) -> Action:
        """Return `action`, a step or a change, with the clock."""
        change = self.changes.get(action.name)
        if change is not None:
            facts = _facts_of(change)
            over = [Comparison(_touched(fact), "<=", change.time) for fact in facts]
            numbers = [NumericEffect(_changed(fact), ":=", change.time) for fact in facts]
            requires = with_conjuncts(action.requires, *over)
            return replace(action, requires=requires, numbers=(*action.numbers, *numbers))
        declared = self.timed.domain.actions[action.name]
        facts = self._find_touched(declared)
        branches = [self._begin(at, CLOCK if at is None else _changed(at), facts, declared) for at in (None, *facts)]
        return replace(action, when=(*action.when, *branches))

    def _begin(self, at: Atom | None, begin: Atom, facts: Sequence[Atom], action: Action) -> When:
        """Return what a step does with the clock that begins at `begin`: at once, or after the change of the fact `at`.

        Of the `facts` that it reads or writes, none was changed later, and none before `at` in their order as late.
        """
        if at is None:
            needs = [Comparison(_changed(fact), "<=", CLOCK) for fact in facts]
        else:
            place = facts.index(at)
            earlier = [Comparison(_changed(fact), "<", begin) for fact in facts[:place]]
            not_later = [Comparison(_changed(fact), "<=", begin) for fact in facts[place + 1 :]]
            needs = [Comparison(begin, ">", CLOCK), *earlier, *not_later]
        end = Arithmetic("+", (begin, least_term(action)))
        return When(
            conjunction(needs),
            numbers=tuple([NumericEffect(each, ":=", end) for each in (*map(_touched, facts), CLOCK)]),
        )

    def _find_touched(self, action: Action) -> list[Atom]:
        """Return the facts that steps of `action` read or write and changes write; not those of any object."""
        start, throughout, end = split_moments(action)
        read = [*atoms_in(start.requires), *atoms_in(throughout), *atoms_in(end.requires)]
        known = {parameter.name for parameter in action.parameters}
        known |= {each.name for each in self.timed.all_objects}
        changing = self.written
        facts = [fact for fact in (*read, *_literals(start), *_literals(end)) if fact.predicate in changing]
        return list(dict.fromkeys(fact for fact in facts if known.issuperset(fact.args)))


def _facts_of(change: TimedEffect) -> list[Atom]:
    return [fact for literal in change.provides for fact in atoms_in(literal)]


def _literals(moment: DeclaredMoment) -> Iterator[Atom]:
    for effect in moment.effects:
        for literal in effect.provides:
            yield from atoms_in(literal)


def take_out(plan: Plan, snap: SnapProblem) -> tuple[Plan, list[Moment]]:
    """Return `plan` with its own steps alone, and the happenings of its steps and changes in their order."""
    moments: list[Moment] = []
    kept: list[int] = []
    for place, step in enumerate(plan.steps):
        if step.action in snap.events:
            moments.append(Moment(EVENT, snap.events.index(step.action)))
        elif step.action in snap.actions:
            moments += [Moment(kind, len(kept)) for kind in (START, END)]
            kept.append(place)
    tree = plan.tree
    if isinstance(tree, Decomposition):
        new = {place: number for number, place in enumerate(kept)}
        stay = [number for number, node in enumerate(tree.nodes) if node.step is None or node.step in new]
        tree = tree.keep(stay).move_steps(new)
    return replace(plan, steps=tuple([plan.steps[place] for place in kept]), tree=tree), moments


def put_in(plan: Plan, timed: Problem, snap: SnapProblem) -> Iterator[Plan]:
    """Yield `plan`, which has times, as sequences with changes: each after what began before, or after what ended."""
    for moments in ([each.start for each in plan.times], [each.end for each in plan.times]):
        keys = [(time, 1, number) for number, time in enumerate(moments)]
        keys += [(each.time, 0, number) for number, each in enumerate(timed.timed)]
        order = sorted(keys)
        steps = [Step(snap.events[number]) if not is_step else plan.steps[number] for _, is_step, number in order]
        yield replace(plan, steps=tuple(steps), times=(), tree=_put_nodes(plan.tree, order, snap))


def _put_nodes(tree: object, order: Sequence[tuple[object, int, int]], snap: SnapProblem) -> Decomposition | None:
    """Return `tree` with roots for the changes, and with the places that the steps have in `order`."""
    if not isinstance(tree, Decomposition):
        return None
    place_of = {(is_step, number): place for place, (_, is_step, number) in enumerate(order)}
    tree = tree.move_steps({number: place for (is_step, number), place in place_of.items() if is_step})
    changes = [Node(Atom(name), step=place_of[0, number]) for number, name in enumerate(snap.events)]
    roots = range(len(tree.nodes), len(tree.nodes) + len(changes))
    return replace(tree, nodes=(*tree.nodes, *changes), roots=(*tree.roots, *roots))
