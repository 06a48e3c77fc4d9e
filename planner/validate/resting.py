"""The verdict on a plan for a problem of which facts are unknown, with what it supposes, and what rests on that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from planner.model import Action, Atom, Goal, Problem, SoftGoal
from planner.model.atoms import Term
from planner.model.formulas import conjunction, conjuncts
from planner.model.hidden import decided
from planner.plan import Step, StoppedBy, Supposition
from planner.records import replace
from planner.validate.outlook import Outlook
from planner.validate.simulation import bound
from planner.validate.supposing import CAREFUL, MOST_TRIES, Supposed, Supposing
from planner.validate.verdict import Verdict


def verdict_supposing(
    problem: Problem,
    steps: Sequence[Step],
    expected: Mapping[Atom, bool],
    known: Callable[[Problem], Verdict],
) -> Verdict:
    """Return whether `steps` work on some suppositions, which are made as `expected` where that will do.

    `known` gives the verdict where nothing is unknown. A step that does not rest on what nobody has seen, as its tags
    say, rests on no supposition that an earlier step could have looked at and did not. Soft goals are forgone unless
    they surely hold on what the rest of the plan supposes, or what is expected.
    """
    search = Supposing(problem, steps, expected)
    supposed = search.found({})
    if supposed is None:
        return _rejected(search, known(decided(problem, ())))
    forgone: list[SoftGoal] = []
    for wish in problem.goal.soft:
        granted = _granted(search, wish, supposed)
        search, supposed = granted or (search, supposed)
        forgone += [] if granted else [wish]
    suppositions = _Resting(search, supposed).suppositions()
    held = [each.fact for each in suppositions if each.holds]
    verdict = known(decided(problem, held))
    if not verdict.valid:
        return verdict
    careless = _careless(search, suppositions)
    if careless:
        return replace(verdict, valid=False, reason=careless[1], failing_step=careless[0])
    demands = [each for each in verdict.forgone if not isinstance(each, SoftGoal)]
    return replace(verdict, suppositions=suppositions, forgone=(*forgone, *demands))


def _granted(search: Supposing, wish: SoftGoal, supposed: Supposed) -> tuple[Supposing, Supposed] | None:
    """Return the search in which `wish` is a part of the goal, and what it supposes; None where that is too much."""
    goal = conjunction([*conjuncts(search.problem.goal.hard), wish.condition])
    with_wish = Supposing(replace(search.problem, goal=Goal(goal)), search.steps, {**search.expected, **supposed})
    found = with_wish.found({})
    allowed = {**search.expected, **supposed}
    return None if found is None or not found.items() <= allowed.items() else (with_wish, found)


def _rejected(search: Supposing, without: Verdict) -> Verdict:
    """Return the verdict where no suppositions will do; `without` is the one where what is unknown does not hold."""
    if search.tries > MOST_TRIES:
        reason = f"none of {MOST_TRIES} suppositions about unknown facts makes the plan work"
        return replace(without, valid=False, reason=reason, stopped_by=StoppedBy.INCOMPLETE, unmet=())
    number, failure = search.failure.number, search.failure
    if number > len(search.steps):
        reason = f"at the end, the goal {failure.reason}"
        unmet = () if failure.condition is None else (failure.condition,)
        return Verdict(valid=False, cost=without.cost, reason=reason, unmet=unmet)
    reason = f"step {number} {search.steps[number - 1]}: {failure.reason}"
    return Verdict(False, without.cost, reason, number, failure.condition)  # noqa: FBT003 - a verdict


def _careless(search: Supposing, suppositions: Sequence[Supposition]) -> tuple[int, str] | None:
    """Return the first careful step that rests on what could have been looked at, and what is wrong with that."""
    for supposition in suppositions:
        looks = [action for action in search.problem.domain.actions.values() if _may_sense(action, supposition.fact)]
        for number in supposition.steps if looks else ():
            tags = sorted(CAREFUL & search.action(number - 1).tags)
            if tags and not any(_senses(search, place, supposition.fact) for place in range(number - 1)):
                step = search.steps[number - 1]
                reason = f"step {number} {step}, which is {tags[0]}, rests on {supposition.fact}, which is unknown"
                return number, f"{reason}; {looks[0].signature} would look at it before"
    return None


def _may_sense(action: Action, fact: Atom) -> bool:
    return any(pattern.predicate == fact.predicate for pattern in action.senses)


def _senses(search: Supposing, place: int, fact: Atom) -> bool:
    """Return whether the step at `place` says whether `fact` holds."""
    action = search.action(place)
    if not action.senses:
        return False
    binding: dict[Term, Term] = dict(bound(action, search.steps[place]))
    return any(pattern.substitute(binding).matches(fact) for pattern in action.senses)


class _Resting:
    """Finds out which steps rest on what is `supposed`."""

    def __init__(self, search: Supposing, supposed: Supposed) -> None:
        self._search = search
        self._supposed = supposed

    def suppositions(self) -> tuple[Supposition, ...]:
        """Return what is supposed and needed, with the steps that rest on it, in order of these."""
        resting = self._resting()
        for fact in [fact for fact in self._supposed if not resting[fact]]:
            without = {other: holds for other, holds in self._supposed.items() if other != fact}
            if Supposing(self._search.problem, self._search.steps, without).found(without) == without:
                self._supposed = without
                resting = self._resting()
        made = [self._supposition(fact, resting[fact]) for fact in self._supposed]
        return tuple(sorted(made, key=lambda each: (each.steps or (len(self._search.steps),))[0]))

    def _supposition(self, fact: Atom, places: Sequence[int]) -> Supposition:
        count = len(self._search.steps)
        first = min(places, default=count)
        looks = [place + 1 for place in range(first) if _senses(self._search, place, fact)]
        steps = tuple([place + 1 for place in places if place < count])
        return Supposition(fact, self._supposed[fact], steps, goal=count in places, seen=looks[-1] if looks else None)

    def _resting(self) -> dict[Atom, list[int]]:
        """Return, for each fact, the places of the steps that rest on it; that behind the last one is the goal's."""
        search, outlook = self._search, Outlook(self._search.prospect)
        for fact, holds in self._supposed.items():
            outlook.suppose(fact, holds=holds)
        found: dict[Atom, list[int]] = {fact: [] for fact in self._supposed}
        unwritten = dict.fromkeys(self._supposed)
        for place in range(len(search.steps) + 1):
            condition = search.condition(place)
            for fact, _ in search.prospect.about(condition, unwritten):
                if place not in found[fact] and outlook.rests_on(fact, condition):
                    found[fact].append(place)
            if place < len(search.steps):
                self._apply(outlook, place, unwritten, found)
        return found

    def _apply(self, outlook: Outlook, place: int, unwritten: dict[Atom, None], found: dict[Atom, list[int]]) -> None:
        """Apply the step at `place`; a step whose effects rest on a fact counts where none has before."""
        step = self._search.steps[place]
        for fact in self._search.prospect.read_by(step.action, unwritten):
            if not found[fact]:
                found[fact].append(place)
        written = outlook.apply(step)
        for fact in [fact for fact in unwritten if any(pattern.matches(fact) for pattern in written)]:
            del unwritten[fact]
