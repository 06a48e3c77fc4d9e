"""Actions that may come out in several declared ways: which of them it was, by what was seen and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from executor.looking.beliefs import Beliefs
from executor.looking.judge import Expected, Judgement, expected_by
from executor.looking.observe import Looked
from executor.looking.reports import literal_of
from executor.record.status import StepStatus
from planner.model import Action, Atom, Literal, Outcome
from planner.plan import Step
from planner.records import replace
from planner.validate import Simulation

OTHERWISE: Final = "it came out in another way that its action declares"


def alternatives(beliefs: Beliefs, step: Step) -> list[Expected]:
    """Return what `step`, which can be applied, may change now by its outcomes; nothing where it has but one."""
    action = beliefs.simulation.problem.domain.actions[step.action]
    return [expected_by(beliefs, _as_if(beliefs, replaced).changes(step)) for replaced in _variants(action)]


def _variants(action: Action) -> list[Action]:
    return [replace(action, provides=each.provides, modifies=each.modifies) for each in _others(action)]


def _others(action: Action) -> list[Outcome]:
    intended = action.provides, action.modifies
    return [each for each in action.outcomes if (each.provides, each.modifies) != intended]


def labels(action: Action) -> list[str]:
    """Return what the outcomes of `action` are called: the intended one first, then those of `alternatives`."""
    intended = action.provides, action.modifies
    first = [each for each in action.outcomes if (each.provides, each.modifies) == intended]
    return [label(each) for each in (*(first[:1] or [Outcome(Decimal(1), *intended)]), *_others(action))]


def label(outcome: Outcome) -> str:
    """Return what `outcome` is called where runs are remembered: its name, or else its effects."""
    effects = [*map(str, outcome.provides), *(f"modifies {each}" for each in outcome.modifies)]
    return outcome.name or ", ".join(effects) or "nothing"


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
        is_known = intended.status is StepStatus.SUCCEEDED or _supported(ways[0], known)
        return replace(intended, way=0) if is_known and intended.status.is_done else intended
    for number, way in enumerate(ways):
        if way not in fitting:
            continue
        found = judge(way)
        if found.status.is_done and (certain or _supported(way, known)):
            others = tuple([note for note in looked.notes if note.fact in about and note.fact not in way.facts])
            news = tuple([note for note in others if note.holds is not beliefs.holds(note.fact)])
            return replace(found, reason=found.reason or OTHERWISE, notes=(*found.notes, *news), way=number)
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
