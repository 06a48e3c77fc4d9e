"""Find careful steps of a plan that can never begin, as nobody can observe what they rest on.

The plan is carried out in thought, with the best that can happen: each handler succeeds, and each effect that an
observer can see is seen. What is only assumed or reported even then will never be observed, and a careful step that
rests on it will never begin. Where a plan does not work as far as is known, nothing is claimed about its later steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from executor.dispatching.moments import Moments
from executor.events.events import Note, Provenance
from executor.events.fluent_values import FluentValue
from executor.observe.beliefs import CAREFUL, Beliefs
from executor.observe.condition_facts import find_predicates
from executor.observe.observe import LookResult
from executor.observe.reports import literal_of
from executor.observe.step_verdict import Expected, expect_effects, judge
from executor.plans.action_plan import PlanStep
from executor.plans.created_objects import add_spare_placeholders, find_internal_predicates
from executor.plans.stated_steps import ConditionReader
from executor.plans.suppositions import parse_suppositions, sensed_by
from executor.tools.observers import Observer
from executor.tools.results import ActionResult
from executor.tools.world import World
from planner.language.declare import resolve_action
from planner.language.declare.fields import CodePlace
from planner.lightweight import dataclass, replace
from planner.model import Action, Atom, DomainModel, Formula, Outcome, Problem, When, is_temporal
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.domain import numeric_fluents
from planner.model.formulas import comparisons_in, conjunction
from planner.plan import Step
from planner.semantics.numeric_state import bounds_on
from planner.semantics.step_effects import staleness_of

if TYPE_CHECKING:
    from planner.policies.policy import Node, Policy


@dataclass(frozen=True, slots=True)
class Unobservable:
    """The careful `step`, number `number` of its plan, can never begin: it rests on `fact`, which nobody can observe.

    `provider` is the last step before it that changes the fact, if there is one; it `is_proposed` if its contract is
    not confirmed.
    """

    number: int
    step: Step
    fact: Atom
    provider: Step | None = None
    is_proposed: bool = False

    def __str__(self) -> str:
        origin = "" if self.provider is None else f", which {self.provider} changes,"
        return f"{self.step} can never begin: it rests on {self.fact}{origin} and nobody can observe that"

    @property
    def hint(self) -> str:
        """How to mend it."""
        count = len(self.fact.args) - isinstance(self.fact, FluentValue)  # the last one is its value
        pattern = str(Atom(self.fact.predicate, ("_",) * count))
        names = [self.fact.predicate, *([] if self.provider is None else [self.provider.action])]
        otherwise = f"confirm what {names[-1]} declares" if self.is_proposed else f"tag {' or '.join(names)} 'trusted'"
        return f"@world.observer({pattern!r}) says who looks, or {otherwise}"


def find_unobservable(
    plan: Sequence[PlanStep], problem: Problem, world: World, beliefs: Beliefs | None = None
) -> list[Unobservable]:
    """Return the careful steps of `plan` that can never begin: from the initial state of `problem`, or from `beliefs`.

    Raises `InputError` where a step is no instance of an action, or states an invalid condition.
    """
    actions = [resolve_action(world.model, name) for name in dict.fromkeys(each.action for each in plan)]
    blind = find_blind_spots(actions, world, stated=any(each.requires for each in plan))
    written = _find_written(actions, world.model) if blind else set()
    written |= {fact.predicate for fact in problem.unknown}
    if beliefs is not None:
        written |= {note.fact.predicate for note in beliefs.notes() if not beliefs.is_seen(note.fact)}
    if blind.isdisjoint(written):
        return []
    ground = [each.step(world.model) for each in plan]
    if beliefs is None:
        problem, beliefs = _believe_stated(problem, ground)
    return list(Rehearsal(problem, beliefs, world).find_stuck(plan, ground))


def _believe_stated(problem: Problem, steps: Sequence[Step]) -> tuple[Problem, Beliefs]:
    """Return `problem` with placeholders for what `steps` create, and the beliefs of a run before its first step."""
    whole = add_spare_placeholders(problem, steps)
    return whole, Beliefs(whole, find_internal_predicates(problem.domain, whole))


def find_blind_spots(actions: Sequence[Action], world: World, *, stated: bool = False) -> frozenset[str]:
    """Return the predicates and fluents that careful ones of `actions` read, and that not all can be observed of.

    Derived predicates are left out, and trusted ones, unless the contract of an action is not confirmed. With `stated`,
    steps have conditions of their own: all may be read.
    """
    domain = world.model
    careful = [each for each in actions if not each.tags.isdisjoint(CAREFUL)]
    if not careful:
        return frozenset()
    fluents = numeric_fluents(domain)
    if stated:
        named = fluents.union(domain.predicates)
    else:
        conditions = [part for each in careful for part in (each.requires, each.throughout, each.at_start.requires)]
        conditions += [bound for each in careful for bound in _list_bounds(each, domain)]
        read = [term.predicate for each in conditions for part in comparisons_in(each) for term in part.functions]
        named = find_predicates(conditions, domain).union(fluents.intersection(read))
    seen = {each.pattern.predicate for each in world.observers if _sees_all(each)}
    is_proposed = any("unconfirmed" in each.tags for each in actions)
    trusted = {name for name, each in domain.predicates.items() if "trusted" in each.tags and not is_proposed}
    return named - seen - trusted - domain.derived


def _list_bounds(action: Action, domain: DomainModel) -> Iterator[Formula]:
    """Yield the bounds of numbers that an action changes: they are conditions of it."""
    for fluent in dict.fromkeys(each.fluent for each in action.numbers):
        yield from bounds_on(fluent, [each for each in action.numbers if each.fluent == fluent], domain)


def _sees_all(observer: Observer) -> bool:
    """Return whether `observer` decides the facts of its predicate for all objects."""
    return len({*observer.parameters.values(), *observer.open}) == len(observer.pattern.args)


def _find_written(actions: Sequence[Action], domain: DomainModel) -> set[str]:
    """Return the predicates and fluents that `actions` may change in any outcome."""
    parts: list[When | Outcome] = [*(part for each in actions for part in each.effects)]
    parts += [part for each in actions for part in each.outcomes]
    atoms = [
        atom
        for part in parts
        for atom in (*positive_atoms(part.provides), *negated_atoms(part.provides), *part.modifies)
    ]
    fluents = {number.fluent.predicate for part in parts for number in part.numbers}
    return {each.predicate for each in (*atoms, *staleness_of(domain).of(atoms))} | fluents


class Rehearsal:
    """Carries out steps in thought, from the state of `beliefs`, with the best that can happen in `world`."""

    def __init__(self, problem: Problem, beliefs: Beliefs, world: World) -> None:
        self._now = beliefs.after(())
        self._world = world
        self._domain = beliefs.simulation.problem.domain
        self._reader = ConditionReader(problem)
        self._moments = Moments(problem) if is_temporal(problem) else None
        self._sensed: set[Atom] = set()
        """Unknown facts that a step has sensed."""
        self._providers: dict[Atom, Step] = {}

    def find_stuck(self, plan: Sequence[PlanStep], ground: Sequence[Step]) -> Iterator[Unobservable]:
        """Yield the careful steps that can never begin, up to the first step that does not work as far as is known."""
        for number, (each, step) in enumerate(zip(plan, ground, strict=True)):
            action = self._domain.actions[step.action]
            is_careful = not action.tags.isdisjoint(CAREFUL)
            self._now.adopt(self._suppose(each, is_careful=is_careful))
            if is_careful:
                for fact in self.find_doubts(self._combine_conditions(each, step)):
                    provider = self._providers.get(fact)
                    tags = self._domain.actions[provider.action].tags if provider is not None else ()
                    yield Unobservable(number, step, fact, provider, "unconfirmed" in tags)
            if self._now.simulation.find_objection(step) is not None:
                return
            self._carry_out(each, step, action)

    def _combine_conditions(self, each: PlanStep, step: Step) -> Formula:
        """Return the conjunction of the precondition of a step and the condition that it states itself."""
        own = self._now.precondition_of(step) if self._moments is None else self._moments.precondition_of(step)
        return conjunction([own, self._reader.condition(each.requires, _place_of(each))]) if each.requires else own

    def _suppose(self, each: PlanStep, *, is_careful: bool) -> Iterator[Note]:
        """Yield the suppositions of a step as notes; a careful step has only those that somebody sees or has sensed."""
        for note in self._now.list_suppositions(parse_suppositions(each.supposes)):
            if self._sees(note.fact) or note.fact in self._sensed:
                yield replace(note, provenance=Provenance.OBSERVED)
            elif not is_careful:
                yield note

    def find_doubts(self, condition: Formula) -> list[Atom]:
        """Return the decisive facts of a careful condition that nobody has observed, and nobody can."""
        now = self._now
        seen = [fact for fact in now.derived_of(condition) if self._sees(fact)]
        now.adopt([Note(fact, now.holds(fact), Provenance.OBSERVED) for fact in seen])

        def is_unsure(fact: Atom) -> bool:
            if now.holds(fact) is None:
                return not (self._sees(fact) or fact in self._sensed)
            return not (now.is_seen(fact) or self._sees(fact))

        return now.find_decisive(condition, is_unsure)

    def _carry_out(self, each: PlanStep, step: Step, action: Action) -> None:
        """Believe that the step was done, and that all its effects were seen that can be."""
        expected = self._expect(each, step)
        seen = {fact: holds for fact, holds in expected.facts.items() if self._sees(fact)}
        looked = LookResult(seen, [Note(fact, holds, Provenance.OBSERVED) for fact, holds in seen.items()])
        notes = judge(action, ActionResult(), expected, looked, self._now).notes
        self._providers.update(dict.fromkeys([note.fact for note in notes], step))
        if "unconfirmed" not in action.tags:
            patterns = sensed_by(self._domain, step)
            self._sensed.update(fact for fact in self._now.unknown if any(each.matches(fact) for each in patterns))
            values = [self._now.value(term) for term in self._now.unread] if patterns else []
            told = [each for each in values if each.value is not None and any(x.matches(each) for x in patterns)]
            notes = (*notes, *[Note(fact, True, Provenance.OBSERVED) for fact in told])
        self._now.adopt(notes)
        self._now.record_action(step)

    def _expect(self, each: PlanStep, step: Step) -> Expected:
        found = expect_effects(self._now, step)
        if not each.expects:
            return found
        effects, _ = self._reader.expected(each.expects, _place_of(each))
        return replace(found, facts={**found.facts, **dict(map(literal_of, effects))})

    def _sees(self, fact: Atom) -> bool:
        """Return whether somebody can observe `fact`, or `fact` is about placeholders only."""
        return bool(self._world.observers_of(fact)) or self._now.is_internal(fact)


def _place_of(each: PlanStep) -> CodePlace:
    return CodePlace(f"step {each.id!r}")


def find_unobservable_nodes(
    data: Mapping[str, Any], problem: Problem, world: World, beliefs: Beliefs | None = None
) -> list[Unobservable]:
    """Return the careful steps of a policy, as `data`, that can never begin, on whatever way they are reached.

    The policy begins in the initial state of `problem`, or in that of `beliefs`.
    """
    from planner.policies.policy import Policy

    names = dict.fromkeys(each["step"]["action"] for each in data["nodes"] if each["step"])
    if not find_blind_spots([world.model.actions[name] for name in names], world):
        return []
    if beliefs is None:
        problem, beliefs = _believe_stated(problem, ())
    policy, found = Policy.from_dict(data, problem), dict[tuple[Step, Atom], Unobservable]()
    for number, unseen in _spread_unseen(policy, world.model, beliefs).items():
        node = policy.nodes[number]
        if node.step is None or world.model.actions[node.step.action].tags.isdisjoint(CAREFUL):
            continue
        now = beliefs.after(_note_node(policy, node, unseen, world.model))
        for fact in Rehearsal(problem, now, world).find_doubts(now.precondition_of(node.step)):
            found.setdefault((node.step, fact), Unobservable(number, node.step, fact))
    return list(found.values())


def _spread_unseen(policy: Policy, domain: DomainModel, beliefs: Beliefs) -> dict[int, frozenset[Atom]]:
    """Return, by node of `policy`, the facts that every way to it changes without a word that counts as seen."""
    unseen = [note.fact for note in beliefs.notes() if note.holds is not None and not beliefs.is_seen(note.fact)]
    found, waiting = {0: frozenset(unseen)}, [0]
    while waiting:
        number = waiting.pop()
        node = policy.nodes[number]
        for branch in node.branches if node.step is not None else ():
            assert node.step is not None
            after = found[number] | _find_unseen_changes(node, policy.nodes[branch.node], node.step, domain)
            known = found.get(branch.node, after)
            if branch.node not in found or not known <= after:
                found[branch.node] = known & after
                waiting.append(branch.node)
    return found


def _find_unseen_changes(node: Node, after: Node, step: Step, domain: DomainModel) -> frozenset[Atom]:
    """Return the facts that differ in `after`, unless the handler's word for them counts as an observation."""
    tags = domain.actions[step.action].tags
    if "unconfirmed" in tags:
        return (node.facts ^ after.facts) | (node.unknown - after.unknown)
    if "trusted" in tags:
        return frozenset()
    patterns = sensed_by(domain, step)
    learned = {fact for fact in node.unknown - after.unknown if any(each.matches(fact) for each in patterns)}
    return ((node.facts ^ after.facts) | (node.unknown - after.unknown)) - learned


def _note_node(policy: Policy, node: Node, unseen: frozenset[Atom], domain: DomainModel) -> list[Note]:
    """Return notes on the watched facts as they are in `node`."""
    watched = [fact for fact in policy.watched if fact.predicate in domain.predicates]
    notes = [
        Note(fact, fact in node.facts, Provenance.ASSUMED if fact in unseen else Provenance.OBSERVED)
        for fact in watched
        if fact not in node.unknown
    ]
    return [*notes, *(Note(fact, None, Provenance.UNKNOWN) for fact in node.unknown)]
