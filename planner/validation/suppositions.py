"""The verdict on a plan for a problem of which facts are unknown, with what it supposes, and what rests on that.

Plans for problems of which facts are unknown: what they suppose, and whether that is enough.

A plan is valid on suppositions about unknown facts if it works however the other unknown facts turn out, as far as
that shows fact by fact. Suppositions are made where a step, or the goal, asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from planner.lightweight import Final, dataclass, replace
from planner.model import Action, Atom, Formula, Goal, Problem, SoftGoal
from planner.model.formulas import Term, conjunction, conjuncts, substitute
from planner.model.unknown_facts import fix_unknown_facts
from planner.plan import Step, StoppedBy, Supposition
from planner.semantics.incomplete_knowledge import KnowledgeModel, KnowledgeState
from planner.semantics.simulation import bind_parameters
from planner.validation.verdict import Verdict

MOST_TRIES: Final = 10_000
"""After so many suppositions it is not tried on to find others."""
CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that rest on nothing that a step could look at and none has."""

Supposed = dict[Atom, bool]


class _Doubt(Exception):
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


class SuppositionSearch:
    """Looks for suppositions on which `steps` reach the goal of `problem`; those that are `expected` come first.

    If the search is `careful`, guesses are unknown to the steps whose tags ask for care.
    """

    def __init__(
        self, problem: Problem, steps: Sequence[Step], expected: Mapping[Atom, bool], *, careful: bool = True
    ) -> None:
        self.problem = problem
        self.steps = steps
        self.expected = expected
        self.prospect = KnowledgeModel(problem)
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
        start = KnowledgeState(self.prospect)
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

    def _met(
        self, outlook: KnowledgeState, supposed: Supposed, place: int
    ) -> Iterator[tuple[KnowledgeState, Supposed]]:
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
        self, outlook: KnowledgeState, supposed: Supposed, place: int, part: Formula
    ) -> Iterator[tuple[KnowledgeState, Supposed]]:
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
        binding: dict[Term, Term] = dict(bind_parameters(action, self.steps[place]))
        return any(pattern.substitute(binding).matches(fact) for pattern in action.senses)

    def condition(self, place: int) -> Formula:
        """Return what the step at `place` requires, or behind the last one the goal, ground."""
        if place == len(self.steps):
            return self.problem.goal.hard
        action = self.action(place)
        return substitute(action.requires, dict(bind_parameters(action, self.steps[place])))

    def action(self, place: int) -> Action:
        """Return the action of the step at `place`."""
        return self.problem.domain.actions[self.steps[place].action]


def validate_with_suppositions(
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
    search = SuppositionSearch(problem, steps, expected)
    supposed = search.found({})
    if supposed is None:
        careless = _careless(search, known)
        return _rejected(search, known(fix_unknown_facts(problem, ()))) if careless is None else careless
    forgone: list[SoftGoal] = []
    for wish in problem.goal.soft:
        granted = _granted(search, wish, supposed)
        search, supposed = granted or (search, supposed)
        forgone += [] if granted else [wish]
    suppositions = _Resting(search, supposed).suppositions()
    held = [each.fact for each in suppositions if each.holds]
    verdict = known(fix_unknown_facts(problem, held))
    if not verdict.valid:
        return verdict
    demands = [each for each in verdict.forgone if not isinstance(each, SoftGoal)]
    return replace(verdict, suppositions=suppositions, forgone=(*forgone, *demands))


def _granted(
    search: SuppositionSearch, wish: SoftGoal, supposed: Supposed
) -> tuple[SuppositionSearch, Supposed] | None:
    """Return the search in which `wish` is a part of the goal, and what it supposes; None where that is too much."""
    goal = conjunction([*conjuncts(search.problem.goal.hard), wish.condition])
    with_wish = SuppositionSearch(
        replace(search.problem, goal=Goal(goal)), search.steps, {**search.expected, **supposed}
    )
    found = with_wish.found({})
    allowed = {**search.expected, **supposed}
    return None if found is None or not found.items() <= allowed.items() else (with_wish, found)


def _rejected(search: SuppositionSearch, without: Verdict) -> Verdict:
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
    return Verdict(False, without.cost, reason, number, failure.condition)


def _careless(careful: SuppositionSearch, known: Callable[[Problem], Verdict]) -> Verdict | None:
    """Return the verdict on a plan that works only if careful steps rest on guesses; None for other plans.

    A guess is a supposition that a step could have looked at before, and that none has.
    """
    search = SuppositionSearch(careful.problem, careful.steps, careful.expected, careful=False)
    supposed = search.found({})
    if supposed is None or careful.tries > MOST_TRIES:
        return None
    verdict = known(fix_unknown_facts(search.problem, [fact for fact, holds in supposed.items() if holds]))
    blame = _blame(careful, supposed) if verdict.valid else None
    return verdict if blame is None else replace(verdict, valid=False, reason=blame[1], failing_step=blame[0])


def _blame(search: SuppositionSearch, supposed: Supposed) -> tuple[int, str] | None:
    """Return the number of the first careful step that rests on a guess, and what is wrong with that."""
    outlook = _outlook(search, supposed)
    for place, step in enumerate(search.steps):
        guesses = search.guesses(outlook.decided, place)
        if _rests_on(outlook, guesses, search, place):
            return place + 1, _blamed(search, outlook, place, guesses)
        outlook.apply(step, guesses)
    return None


def _blamed(search: SuppositionSearch, outlook: KnowledgeState, place: int, guesses: Sequence[Atom]) -> str:
    """Return that the careful step at `place` rests on one of `guesses`, and what would look at it."""
    step, tag = search.steps[place], min(CAREFUL & search.action(place).tags)
    fact = next((each for each in guesses if _rests_on(outlook, [each], search, place)), guesses[0])
    reason = f"step {place + 1} {step}, which is {tag}, rests on {fact}, which is unknown"
    return f"{reason}; {_looking(search.problem, fact).signature} would look at it before"


def _looking(problem: Problem, fact: Atom) -> Action:
    """Return an action that senses facts of the predicate of `fact`."""
    actions = problem.domain.actions.values()
    return next(each for each in actions if any(pattern.predicate == fact.predicate for pattern in each.senses))


def _outlook(search: SuppositionSearch, supposed: Mapping[Atom, bool]) -> KnowledgeState:
    """Return what is known at the beginning on what is `supposed`."""
    outlook = KnowledgeState(search.prospect)
    for fact, holds in supposed.items():
        outlook.suppose(fact, holds=holds)
    return outlook


def _rests_on(outlook: KnowledgeState, facts: Collection[Atom], search: SuppositionSearch, place: int) -> bool:
    """Return whether the condition or the effects of the step at `place` rest on `facts`; behind the last, the goal."""
    if outlook.rests_on(facts, search.condition(place)):
        return True
    return place < len(search.steps) and outlook.effects_rest_on(facts, search.steps[place])


class _Resting:
    """Finds out which steps rest on what is `supposed`."""

    def __init__(self, search: SuppositionSearch, supposed: Supposed) -> None:
        self._search = search
        self._supposed = supposed

    def suppositions(self) -> tuple[Supposition, ...]:
        """Return what is supposed and needed, with the steps that rest on it, in order of these."""
        resting = self._resting()
        for fact in [fact for fact in self._supposed if not resting[fact]]:
            without = {other: holds for other, holds in self._supposed.items() if other != fact}
            if SuppositionSearch(self._search.problem, self._search.steps, without).found(without) == without:
                self._supposed = without
                resting = self._resting()
        made = [self._supposition(fact, resting[fact]) for fact in self._supposed]
        return tuple(sorted(made, key=lambda each: (each.steps or (len(self._search.steps),))[0]))

    def _supposition(self, fact: Atom, places: Sequence[int]) -> Supposition:
        count = len(self._search.steps)
        first = min(places, default=count)
        looks = [place + 1 for place in range(first) if self._search.senses(place, fact)]
        steps = tuple([place + 1 for place in places if place < count])
        return Supposition(fact, self._supposed[fact], steps, goal=count in places, seen=looks[-1] if looks else None)

    def _resting(self) -> dict[Atom, list[int]]:
        """Return, for each fact, the places of the steps that rest on it; that behind the last one is the goal's."""
        search, outlook = self._search, _outlook(self._search, self._supposed)
        found: dict[Atom, list[int]] = {fact: [] for fact in self._supposed}
        for place in range(len(search.steps) + 1):
            guesses = search.guesses(outlook.decided, place)
            for fact, places in found.items():
                decided = [each for each, by in outlook.decided.items() if by == fact and each not in guesses]
                if _rests_on(outlook, decided, search, place):
                    places.append(place)
            if place < len(search.steps):
                outlook.apply(search.steps[place], guesses)
        return found
