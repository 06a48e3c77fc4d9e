"""Actions that may come out in several declared ways: which of them it was, by what was seen and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from executor.looking.beliefs import Beliefs
from executor.looking.judge import Expected, Judgement, expected_by
from executor.looking.observe import Looked
from executor.looking.reports import literal_of
from executor.record.status import StepStatus
from planner.model import Action, Atom, Literal
from planner.plan import Step
from planner.records import replace
from planner.validate import Simulation

OTHERWISE: Final = "it came out in another way that its action declares"


def alternatives(beliefs: Beliefs, step: Step) -> list[Expected]:
    """Return what `step`, which can be applied, may change now by its outcomes; nothing where it has but one."""
    action = beliefs.simulation.problem.domain.actions[step.action]
    return [expected_by(beliefs, _as_if(beliefs, replaced).changes(step)) for replaced in _variants(action)]


def _variants(action: Action) -> list[Action]:
    variants = [replace(action, provides=each.provides, modifies=each.modifies) for each in action.outcomes]
    return [each for each in variants if (each.provides, each.modifies) != (action.provides, action.modifies)]


def _as_if(beliefs: Beliefs, action: Action) -> Simulation:
    """Return the state in which `action` is another."""
    now = beliefs.problem
    return Simulation(replace(now, domain=replace(now.domain, actions={**now.domain.actions, action.name: action})))


def as_it_came_out(
    ways: Sequence[Expected],
    judge: Callable[[Expected], Judgement],
    looked: Looked,
    beliefs: Beliefs,
    *,
    observed: Iterable[str | Literal],
    doubt: str,
) -> Judgement:
    """Return what `judge` says about a step that may have come out in several `ways`, the first of them intended.

    Another way is taken where what was seen, or else reported as `observed`, speaks against those before it; and for
    it, unless all was conclusively looked at.
    """
    intended = judge(ways[0])
    known = dict(map(literal_of, observed)) | looked.seen
    about = dict.fromkeys(fact for way in ways for fact in way.facts)
    changed = frozenset(fact for way in ways for fact in way.changed)
    fitting = [way for way in ways if _fits(way, known, about, beliefs)]
    certain = looked.conclusive.issuperset(changed) and looked.seen.keys() >= changed
    if ways[0] in fitting and (_supported(ways[0], known) or not any(_supported(way, known) for way in fitting)):
        return intended
    for way in fitting:
        found = judge(way)
        if found.status.is_done and (certain or _supported(way, known)):
            others = tuple([note for note in looked.notes if note.fact in about and note.fact not in way.facts])
            news = tuple([note for note in others if note.holds is not beliefs.holds(note.fact)])
            return replace(found, reason=found.reason or OTHERWISE, notes=(*found.notes, *news))
    if not intended.absent or certain:
        return intended
    status = StepStatus.IN_DOUBT if doubt else intended.status
    return replace(intended, status=status, absent=False, known=False)


def _fits(way: Expected, known: Mapping[Atom, bool], about: Iterable[Atom], beliefs: Beliefs) -> bool:
    """Return whether nothing that is `known` speaks against `way`."""
    return all(known[fact] is way.facts.get(fact, beliefs.holds(fact)) for fact in about if fact in known)


def _supported(way: Expected, known: Mapping[Atom, bool]) -> bool:
    """Return whether some effect of `way` is known to have come about."""
    return any(known.get(fact) is way.facts[fact] for fact in way.changed)
