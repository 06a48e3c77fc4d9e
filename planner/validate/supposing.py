"""Plans for problems of which facts are unknown: what they suppose, and whether that is enough.

A plan is valid on suppositions about unknown facts if it works however the other unknown facts turn out, as far as
that shows fact by fact. Suppositions are made where a step, or the goal, asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.annotations import Final
from planner.model import Action, Atom, Formula, Problem
from planner.model.atoms import Term
from planner.model.formulas import conjuncts, substitute
from planner.plan import Step
from planner.records import dataclass
from planner.validate.outlook import Outlook, Prospect
from planner.validate.simulation import bound

MOST_TRIES: Final = 10_000
"""After so many suppositions it is not tried on to find others."""
CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that rest on nothing that a step could look at and none has."""

Supposed = dict[Atom, bool]


class _Doubt(Exception):  # noqa: N818 - a way out of nested functions, never seen outside
    """What has happened so far rests on `fact`: it has to be supposed from the beginning."""

    def __init__(self, fact: Atom) -> None:
        super().__init__(fact)
        self.fact = fact


@dataclass(frozen=True, slots=True, eq=False)
class _Failure:
    """Why a plan does not work: at the step of this number, or at its end."""

    number: int
    reason: str
    condition: Formula | None = None


class Supposing:
    """Looks for suppositions on which `steps` reach the goal of `problem`; those that are `expected` come first.

    If the search is `careful`, guesses are unknown to the steps whose tags ask for care.
    """

    def __init__(
        self, problem: Problem, steps: Sequence[Step], expected: Mapping[Atom, bool], *, careful: bool = True
    ) -> None:
        self.problem = problem
        self.steps = steps
        self.expected = expected
        self.prospect = Prospect(problem)
        self.failure = _Failure(0, "")
        self.tries = 0
        self._careful = careful
        senses = [pattern for action in problem.domain.actions.values() for pattern in action.senses]
        self._visible = {pattern.predicate for pattern in senses}

    def found(self, supposed: Supposed) -> Supposed | None:
        """Return suppositions that are enough, `supposed` among them; None where there are none."""
        try:
            return self._forward(supposed)
        except _Doubt as doubt:
            for holds in self._ways(doubt.fact, wanted=True):
                found = self.found({**supposed, doubt.fact: holds})
                if found is not None:
                    return found
            return None

    def _forward(self, supposed: Supposed) -> Supposed | None:
        """Go through the steps, and back where they cannot go on; raises `_Doubt`."""
        start = Outlook(self.prospect)
        for fact, holds in supposed.items():
            if fact not in start.open:
                return None
            start.suppose(fact, holds=holds)
        ways = [self._met(start, supposed, 0)]
        while ways:
            reached = next(ways[-1], None)
            if reached is None:
                ways.pop()
            elif len(ways) > len(self.steps):
                return reached[1]
            else:
                outlook = reached[0].copy()
                place = len(ways) - 1
                outlook.apply(self.steps[place], self.guesses(outlook.decided, place))
                ways.append(self._met(outlook, reached[1], len(ways)))
        return None

    def _met(self, outlook: Outlook, supposed: Supposed, place: int) -> Iterator[tuple[Outlook, Supposed]]:
        """Yield suppositions on which what the step at `place` requires, or the goal, surely holds."""
        misfit = outlook.misfit(self.steps[place]) if place < len(self.steps) else ""
        if misfit:
            self._failed(place, misfit, None)
            return
        condition, guesses = self.condition(place), self.guesses(outlook.decided, place)
        if outlook.holds(condition, surely=True, unknown=guesses):
            yield outlook, supposed
        elif not outlook.holds(condition, surely=False):
            part = next(each for each in conjuncts(condition) if not outlook.holds(each, surely=False))
            self._failed(place, f"requires {part}, which does not hold, whatever is unknown", part)
        else:
            parts = conjuncts(condition)
            part = next(each for each in parts if not outlook.holds(each, surely=True, unknown=guesses))
            yield from self._decided(outlook, supposed, place, part)

    def _decided(
        self, outlook: Outlook, supposed: Supposed, place: int, part: Formula
    ) -> Iterator[tuple[Outlook, Supposed]]:
        """Yield the same where `part` possibly holds: with one more fact supposed, either way."""
        guesses = self.guesses(outlook.open, place)
        options = self.prospect.about(part, [fact for fact in outlook.open if fact not in guesses])
        if not options:
            for fact in [fact for fact in outlook.doubted if fact not in supposed]:
                raise _Doubt(fact)
            self._failed(place, f"requires {part}, which holds in some cases, and no supposition makes it sure", part)
            return
        fact, wanted = min(options, key=lambda option: option[0] not in self.expected)
        if fact in outlook.doubted:
            raise _Doubt(fact)
        for holds in self._ways(fact, wanted=wanted):
            self.tries += 1
            if self.tries > MOST_TRIES:
                return
            after = outlook.copy()
            after.suppose(fact, holds=holds)
            yield from self._met(after, {**supposed, fact: holds}, place)

    def _ways(self, fact: Atom, *, wanted: bool) -> tuple[bool, bool]:
        first = self.expected.get(fact, wanted)
        return first, not first

    def _failed(self, place: int, reason: str, condition: Formula | None) -> None:
        if place + 1 >= self.failure.number:
            self.failure = _Failure(place + 1, reason, condition)

    def guesses(self, facts: Mapping[Atom, Atom | None], place: int) -> list[Atom]:
        """Return those of `facts` on which the step at `place` may not rest: none unless its tags ask for care.

        These are the facts that some action could look at, where no earlier step has looked at the fact or at the
        supposition that decides it.
        """
        if place == len(self.steps) or not self._careful or self.action(place).tags.isdisjoint(CAREFUL):
            return []
        visible = [fact for fact in facts if fact.predicate in self._visible]
        return [fact for fact in visible if not any(self._tells(before, fact, facts[fact]) for before in range(place))]

    def _tells(self, place: int, fact: Atom, supposed: Atom | None) -> bool:
        return self.senses(place, fact) or (supposed is not None and self.senses(place, supposed))

    def senses(self, place: int, fact: Atom) -> bool:
        """Return whether the step at `place` says whether `fact` holds."""
        action = self.action(place)
        if not action.senses:
            return False
        binding: dict[Term, Term] = dict(bound(action, self.steps[place]))
        return any(pattern.substitute(binding).matches(fact) for pattern in action.senses)

    def condition(self, place: int) -> Formula:
        """Return what the step at `place` requires, or behind the last one the goal, ground."""
        if place == len(self.steps):
            return self.problem.goal.hard
        action = self.action(place)
        return substitute(action.requires, dict(bound(action, self.steps[place])))

    def action(self, place: int) -> Action:
        """Return the action of the step at `place`."""
        return self.problem.domain.actions[self.steps[place].action]
