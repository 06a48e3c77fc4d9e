"""Validates plans for problems with unknown facts: finds suppositions, and the steps that depend on them.

A plan is valid on suppositions about unknown facts if it works in three-valued logic for all values of the other
unknown facts (assumption-based planning: Davis-Mendelow, Baier and McIlraith, 2013). The search adds a supposition when
a step, or the goal, requires it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from planner.lightweight import Final, dataclass, replace
from planner.model import Action, Atom, Formula, Goal, Problem, SoftGoal
from planner.model.formulas import Term, conjuncts, substitute, with_conjuncts
from planner.model.unknown_facts import fix_unknown_facts
from planner.plan import Step, StoppedBy, Supposition
from planner.semantics.incomplete_knowledge import KnowledgeModel, KnowledgeState
from planner.semantics.simulation import bind_parameters
from planner.validation.verdict import Verdict

MOST_TRIES: Final = 10_000
"""Maximum number of suppositions that a search tries."""
CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that may not depend on a supposition which a step could have sensed before and none has."""

Supposed = dict[Atom, bool]


class _Doubt(Exception):
    """Earlier effects depend on `fact`, so the search must suppose it from the beginning."""

    def __init__(self, fact: Atom) -> None:
        super().__init__(fact)
        self.fact = fact


@dataclass(frozen=True, slots=True, eq=False)
class _Failure:
    """Why a plan fails at the step of this number, or at its end."""

    number: int
    reason: str
    condition: Formula | None = None


class SuppositionSearch:
    """Searches for suppositions on which `steps` reach the goal of `problem`; it tries `expected` ones first.

    If the search is `careful`, steps with a tag of `CAREFUL` treat guesses as unknown. A guess is a supposition that an
    earlier step could have sensed and none has.
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

    def search(self, supposed: Supposed) -> Supposed | None:
        """Return sufficient suppositions that include `supposed`; None if there are none."""
        try:
            return self._search_forward(supposed)
        except _Doubt as doubt:
            for holds in self._order_truth_values(doubt.fact, wanted=True):
                found = self.search({**supposed, doubt.fact: holds})
                if found is not None:
                    return found
            return None

    def _search_forward(self, supposed: Supposed) -> Supposed | None:
        """Search through the steps in order, and backtrack from a failing step. Raises `_Doubt`."""
        start = KnowledgeState(self.prospect)
        for fact, holds in supposed.items():
            if fact not in start.open:
                return None
            start.suppose(fact, holds=holds)
        # One generator of alternatives for each step so far, and one for the next step or the goal.
        ways = [self._satisfy(start, supposed, 0)]
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
                ways.append(self._satisfy(outlook, reached[1], len(ways)))
        return None

    def _satisfy(
        self, outlook: KnowledgeState, supposed: Supposed, place: int
    ) -> Iterator[tuple[KnowledgeState, Supposed]]:
        """Yield suppositions on which the precondition of the step at `place`, or the goal, surely holds."""
        misfit = outlook.misfit(self.steps[place]) if place < len(self.steps) else ""
        if misfit:
            self._record_failure(place, misfit, None)
            return
        condition, guesses = self.condition(place), self.guesses(outlook.decided, place)
        if outlook.holds(condition, surely=True, unknown=guesses):
            yield outlook, supposed
        elif not outlook.holds(condition, surely=False):
            part = next(each for each in conjuncts(condition) if not outlook.holds(each, surely=False))
            self._record_failure(place, f"requires {part}, which does not hold, whatever is unknown", part)
        else:
            parts = conjuncts(condition)
            part = next(each for each in parts if not outlook.holds(each, surely=True, unknown=guesses))
            yield from self._suppose(outlook, supposed, place, part)

    def _suppose(
        self, outlook: KnowledgeState, supposed: Supposed, place: int, part: Formula
    ) -> Iterator[tuple[KnowledgeState, Supposed]]:
        """Yield the same where `part` possibly holds, with one more fact supposed to hold, and then not to hold."""
        guesses = self.guesses(outlook.open, place)
        options = self.prospect.about(part, [fact for fact in outlook.open if fact not in guesses])
        if not options:
            for fact in [fact for fact in outlook.doubt_causes if fact not in supposed]:
                raise _Doubt(fact)
            self._record_failure(
                place, f"requires {part}, which holds in some cases, and no supposition makes it sure", part
            )
            return
        fact, wanted = min(options, key=lambda option: option[0] not in self.expected)
        if fact in outlook.doubt_causes:
            raise _Doubt(fact)
        for holds in self._order_truth_values(fact, wanted=wanted):
            self.tries += 1
            if self.tries > MOST_TRIES:
                return
            after = outlook.copy()
            after.suppose(fact, holds=holds)
            yield from self._satisfy(after, {**supposed, fact: holds}, place)

    def _order_truth_values(self, fact: Atom, *, wanted: bool) -> tuple[bool, bool]:
        first = self.expected.get(fact, wanted)
        return first, not first

    def _record_failure(self, place: int, reason: str, condition: Formula | None) -> None:
        if place + 1 >= self.failure.number:
            self.failure = _Failure(place + 1, reason, condition)

    def guesses(self, facts: Mapping[Atom, Atom | None], place: int) -> list[Atom]:
        """Return the `facts` that the step at `place` must not depend on; none unless it has a tag of `CAREFUL`.

        These are facts that some action senses, but no earlier step has sensed the fact or the supposition that decides
        it.
        """
        if place == len(self.steps) or not self._careful or self.action(place).tags.isdisjoint(CAREFUL):
            return []
        visible = [fact for fact in facts if fact.predicate in self._visible]
        deciding = [(fact, [each for each in (fact, facts[fact]) if each is not None]) for fact in visible]
        return [
            fact
            for fact, seen in deciding
            if not any(self.senses(before, each) for before in range(place) for each in seen)
        ]

    def senses(self, place: int, fact: Atom) -> bool:
        """Return whether the step at `place` senses `fact`."""
        action = self.action(place)
        if not action.senses:
            return False
        binding: dict[Term, Term] = dict(bind_parameters(action, self.steps[place]))
        return any(pattern.substitute(binding).matches(fact) for pattern in action.senses)

    def condition(self, place: int) -> Formula:
        """Return the ground precondition of the step at `place`, or after the last step the goal."""
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
    """Validate `steps` on some suppositions, if possible as `expected`.

    `known` gives the verdict for a problem with nothing unknown. A step with a tag of `CAREFUL` depends on no guess.
    The plan forgoes a soft goal unless it surely holds on the suppositions of the rest of the plan, or on expected
    ones.
    """
    search = SuppositionSearch(problem, steps, expected)
    supposed = search.search({})
    if supposed is None:
        careless = _find_careless_step(search, known)
        return _make_rejection(search, known(fix_unknown_facts(problem, ()))) if careless is None else careless
    forgone: list[SoftGoal] = []
    for wish in problem.goal.soft:
        granted = _include_wish(search, wish, supposed)
        search, supposed = granted or (search, supposed)
        forgone += [] if granted else [wish]
    suppositions = _DependencyAnalysis(search, supposed).suppositions()
    held = [each.fact for each in suppositions if each.holds]
    verdict = known(fix_unknown_facts(problem, held))
    if not verdict.valid:
        return verdict
    demands = [each for each in verdict.forgone if not isinstance(each, SoftGoal)]
    return replace(verdict, suppositions=suppositions, forgone=(*forgone, *demands))


def _include_wish(
    search: SuppositionSearch, wish: SoftGoal, supposed: Supposed
) -> tuple[SuppositionSearch, Supposed] | None:
    """Search again with `wish` as a part of the goal; return None if that needs new suppositions."""
    goal = with_conjuncts(search.problem.goal.hard, wish.condition)
    with_wish = SuppositionSearch(
        replace(search.problem, goal=Goal(goal)), search.steps, {**search.expected, **supposed}
    )
    found = with_wish.search({})
    allowed = {**search.expected, **supposed}
    return None if found is None or not found.items() <= allowed.items() else (with_wish, found)


def _make_rejection(search: SuppositionSearch, without: Verdict) -> Verdict:
    """Return the negative verdict if no suppositions suffice; `without` is the verdict if no unknown fact holds."""
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


def _find_careless_step(careful: SuppositionSearch, known: Callable[[Problem], Verdict]) -> Verdict | None:
    """Return the negative verdict on a plan that works only if careful steps depend on guesses; None for others."""
    search = SuppositionSearch(careful.problem, careful.steps, careful.expected, careful=False)
    supposed = search.search({})
    if supposed is None or careful.tries > MOST_TRIES:
        return None
    verdict = known(fix_unknown_facts(search.problem, [fact for fact, holds in supposed.items() if holds]))
    blame = _blame(careful, supposed) if verdict.valid else None
    return verdict if blame is None else replace(verdict, valid=False, reason=blame[1], failing_step=blame[0])


def _blame(search: SuppositionSearch, supposed: Supposed) -> tuple[int, str] | None:
    """Return the number of the first careful step that depends on a guess, with the reason for a verdict."""
    outlook = _make_initial_state(search, supposed)
    for place, step in enumerate(search.steps):
        guesses = search.guesses(outlook.decided, place)
        if _rests_on(outlook, guesses, search, place):
            tag = min(CAREFUL & search.action(place).tags)
            fact = next((each for each in guesses if _rests_on(outlook, [each], search, place)), guesses[0])
            actions = search.problem.domain.actions.values()
            looking = next(
                each for each in actions if any(pattern.predicate == fact.predicate for pattern in each.senses)
            )
            reason = f"step {place + 1} {step}, which is {tag}, rests on {fact}, which is unknown"
            return place + 1, f"{reason}; {looking.signature} would look at it before"
        outlook.apply(step, guesses)
    return None


def _make_initial_state(search: SuppositionSearch, supposed: Mapping[Atom, bool]) -> KnowledgeState:
    """Return the initial state of knowledge with what is `supposed`."""
    outlook = KnowledgeState(search.prospect)
    for fact, holds in supposed.items():
        outlook.suppose(fact, holds=holds)
    return outlook


def _rests_on(outlook: KnowledgeState, facts: Collection[Atom], search: SuppositionSearch, place: int) -> bool:
    """Return whether the step at `place`, or after the last step the goal, depends on `facts`."""
    if outlook.rests_on(facts, search.condition(place)):
        return True
    return place < len(search.steps) and outlook.effects_rest_on(facts, search.steps[place])


class _DependencyAnalysis:
    """Finds the steps that depend on each supposition in `supposed`."""

    def __init__(self, search: SuppositionSearch, supposed: Supposed) -> None:
        self._search = search
        self._supposed = supposed

    def suppositions(self) -> tuple[Supposition, ...]:
        """Return the suppositions that are needed, with the steps that depend on them, in order of these."""
        resting = self._find_dependents()
        for fact in [fact for fact in self._supposed if not resting[fact]]:
            without = {other: holds for other, holds in self._supposed.items() if other != fact}
            if SuppositionSearch(self._search.problem, self._search.steps, without).search(without) == without:
                self._supposed = without
                resting = self._find_dependents()
        made = [self._make_supposition(fact, resting[fact]) for fact in self._supposed]
        return tuple(sorted(made, key=lambda each: (each.steps or (len(self._search.steps),))[0]))

    def _make_supposition(self, fact: Atom, places: Sequence[int]) -> Supposition:
        count = len(self._search.steps)
        first = min(places, default=count)
        looks = [place + 1 for place in range(first) if self._search.senses(place, fact)]
        steps = tuple([place + 1 for place in places if place < count])
        return Supposition(fact, self._supposed[fact], steps, goal=count in places, seen=looks[-1] if looks else None)

    def _find_dependents(self) -> dict[Atom, list[int]]:
        """Return, for each fact, the places of the steps that depend on it; the goal's place is after the last step."""
        search, outlook = self._search, _make_initial_state(self._search, self._supposed)
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
