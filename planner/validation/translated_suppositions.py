"""Validates plans beside numbers, times, tasks and constraints where facts are unknown.

The validator translates the problem, as it is declared, to one whose states record knowledge, and in which the supposed
facts are known from the beginning. A plan works on suppositions if the validator of that kind of problem accepts it
there. Some ways in which the other unknown facts may turn out are replayed, too, without the translation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

from planner.compilations.contingent.knowledge import CAREFUL, Translation, translate_all
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model.actions import DURATION
from planner.model.arithmetic import exact_value
from planner.model.formulas import OPEN, Atom, Formula, is_variable, literals_in
from planner.model.problem import Problem
from planner.model.unknown_facts import HiddenVariable, fix_unknown_facts
from planner.plan import Plan, Step, StepTime, StoppedBy, Supposition
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import find_happenings, in_turn
from planner.validation.verdict import Verdict

MOST_TRIES: Final = 1_000
"""Suppositions that the search for sufficient ones tries at most."""
WORLDS: Final = 6
"""Ways in which the other unknown facts turn out that are replayed, beside that in which none of them holds."""

Supposed = dict[Atom, bool]
Needs = Mapping[int, Sequence[Formula]]
"""Ground conditions beside those of the actions, by the numbers of the steps before which they must hold."""
Known = Callable[[Problem, Translation], Verdict]
"""Judges the plan in a problem whose states record knowledge by a translation."""


def validate_by_translation(
    problem: Problem,
    plan: Plan,
    known: Known,
    world: Callable[[Problem], Verdict],
    *,
    also: Sequence[Formula] = (),
    needs: Callable[[Translation], Needs] = lambda _: {},
    lasts: bool = False,
) -> Verdict:
    """Validate `plan` of a problem whose classical part is `problem`, if possible on the suppositions of `plan`.

    `known` judges it in a translated problem, and `world` in one with nothing unknown. The formulas `also` are read,
    too; `needs` has those that must hold before steps, as knowledge. Where the problem `lasts`, it is one in time even
    if nothing in it says so. Raises `UnsupportedError` where facts grow stale with unknown ones.
    """
    asked = translate_all(problem, also, lasts=lasts)
    if asked is None:
        return world(fix_unknown_facts(problem, ()))
    search = _Search(problem, asked, plan, known, needs(asked))
    found = search.find({each.fact: each.holds for each in plan.suppositions if each.fact in search.rivals})
    if found is None:
        return search.reject(world(fix_unknown_facts(problem, ())))
    supposed, verdict = search.drop_needless(*found)
    for facts in _find_worlds(asked.variables, supposed):
        judged = world(fix_unknown_facts(problem, facts))
        if not judged.valid:
            return judged
    suppositions = search.describe(supposed)
    return replace(verdict, suppositions=suppositions, forgone=search.name_forgone(verdict))


def _find_worlds(variables: Sequence[HiddenVariable], supposed: Mapping[Atom, bool]) -> Iterator[list[Atom]]:
    """Yield facts that hold in some ways in which `variables` may turn out where all is as `supposed`."""
    least: list[Atom] = []
    choices: list[list[Atom | None]] = []
    for variable in variables:
        held = [fact for fact in variable.facts if supposed.get(fact)]
        free: list[Atom | None] = [*(fact for fact in variable.facts if fact not in supposed)]
        least += held
        choices.append(free if not held and free else [])
    yield least
    rng = Random(len(least))
    free_ones = [each for each in choices if each]
    for _ in range(WORLDS if free_ones else 0):
        yield [*least, *(fact for each in free_ones if rng.random() < 0.7 for fact in [rng.choice(each)] if fact)]


@dataclass(slots=True)
class _Search:
    """Searches for suppositions on which `plan` works, and for the steps that rest on each."""

    problem: Problem
    asked: Translation
    plan: Plan
    known: Known
    needs: Needs
    rivals: dict[Atom, tuple[Atom, ...]] = field(init=False)
    """The unknown facts, each with all facts of its item."""
    names: dict[str, str] = field(init=False)
    """The predicates of the translation that say something about facts of a predicate."""
    knowing: Problem = field(init=False)
    tries: int = 0
    failure: Verdict | None = None

    def __post_init__(self) -> None:
        self.rivals = {each: variable.facts for variable in self.asked.variables for each in variable.facts}
        words = self.asked.words
        parts = (words.possible, words.checked, words.suspected)
        self.names = {new: name for names in parts for name, new in names.items()}
        self.knowing = self.asked.knowing()

    def judge(self, supposed: Mapping[Atom, bool]) -> Verdict:
        """Return the verdict on the plan where the facts are as `supposed`."""
        return self.known(self.asked.suppose(self.knowing, supposed), self.asked)

    def find(self, supposed: Supposed) -> tuple[Supposed, Verdict] | None:
        """Return sufficient suppositions that include `supposed`, with the verdict; None if there are none."""
        verdict = self.judge(supposed)
        if verdict.valid:
            return supposed, verdict
        if self.failure is None or (verdict.failing_step or len(self.plan) + 1) >= (
            self.failure.failing_step or len(self.plan) + 1
        ):
            self.failure = verdict
        choice = next(self._choose(verdict, supposed), None)
        if choice is None:
            return None
        fact, wanted = choice
        for holds in (wanted, not wanted):
            self.tries += 1
            if self.tries > MOST_TRIES:
                return None
            found = self.find({**supposed, fact: holds})
            if found is not None:
                return found
        return None

    def _choose(self, verdict: Verdict, supposed: Mapping[Atom, bool]) -> Iterator[tuple[Atom, bool]]:
        """Yield open facts that what failed reads, with the wanted truth; then others, which effects may depend on."""
        decided = {other for fact, holds in supposed.items() if holds for other in self.rivals[fact]}
        open_facts = [fact for fact in self.rivals if fact not in supposed and fact not in decided]
        formulas = [*([] if verdict.condition is None else [verdict.condition]), *verdict.unmet]
        if verdict.constraint is not None:
            formulas += verdict.constraint.conditions
        if verdict.failing_step is not None and not formulas:
            return
        seen = dict.fromkeys(self._find_read(formulas, open_facts))
        yield from seen
        yield from ((fact, True) for fact in open_facts if (fact, True) not in seen and (fact, False) not in seen)

    def _find_read(self, formulas: Iterable[Formula], facts: Sequence[Atom]) -> Iterator[tuple[Atom, bool]]:
        """Yield those of `facts` that `formulas` read, through axioms, with the truth that helps."""
        queue = [pair for formula in formulas for pair in literals_in(formula)]
        seen = set[tuple[Atom, bool]]()
        while queue:
            atom, sign = queue.pop(0)
            atom = Atom(self.names.get(atom.predicate, atom.predicate), tuple([_opened(arg) for arg in atom.args]))
            if (atom, sign) in seen:
                continue
            seen.add((atom, sign))
            yield from ((fact, sign) for fact in facts if atom.matches(fact))
            for axiom in self.problem.domain.axioms:
                if axiom.predicate == atom.predicate:
                    queue += literals_in(axiom.condition, positive=sign)

    def drop_needless(self, supposed: Supposed, verdict: Verdict) -> tuple[Supposed, Verdict]:
        """Return `supposed` without what the plan works without, forgoing no more wishes."""
        for fact in [*supposed]:
            less = {other: holds for other, holds in supposed.items() if other != fact}
            judged = self.judge(less)
            if judged.valid and len(judged.forgone) <= len(verdict.forgone):
                supposed, verdict = less, judged
        return supposed, verdict

    def name_forgone(self, verdict: Verdict) -> tuple[Any, ...]:
        """Return the wishes of the problem that the plan forgoes."""
        pairs = zip(self.problem.wishes, self.knowing.wishes, strict=True)
        return tuple([wish for wish, known in pairs if known in verdict.forgone])

    def reject(self, without: Verdict) -> Verdict:
        """Return the negative verdict; `without` is the one where no unknown fact holds."""
        careless = self._blame()
        if careless is not None:
            return careless
        if self.tries > MOST_TRIES:
            reason = f"none of {MOST_TRIES} suppositions about unknown facts makes the plan work"
            return replace(without, valid=False, reason=reason, stopped_by=StoppedBy.INCOMPLETE, unmet=())
        if not without.valid:
            return replace(without, reason=f"{without.reason}; no supposition about unknown facts makes the plan work")
        reason = "the plan works in some cases, and no supposition about unknown facts makes it sure"
        return replace(without, valid=False, reason=reason, suppositions=(), forgone=())

    def _blame(self) -> Verdict | None:
        """Return the verdict on a careful step that rests on a guess; None where none failed for that."""
        guessed = {new: name for name, new in self.asked.words.guessed.items()}
        failure = self.failure
        if failure is None or failure.condition is None or failure.failing_step is None:
            return None
        read = [atom for atom, _ in literals_in(failure.condition) if atom.predicate in guessed]
        step = self.plan.steps[failure.failing_step - 1]
        tags = CAREFUL & self.problem.domain.actions[step.action].tags
        if not read or not tags:
            return None
        fact = Atom(guessed[read[0].predicate], read[0].args)
        looking = next(
            each
            for each in self.problem.domain.actions.values()
            if any(pattern.predicate == fact.predicate for pattern in each.senses)
        )
        reason = f"step {failure.failing_step} {step}, which is {min(tags)}, rests on {fact}, which is unknown"
        reason += f"; {looking.signature} would look at it before"
        return replace(failure, reason=reason, condition=None)

    def describe(self, supposed: Mapping[Atom, bool]) -> tuple[Supposition, ...]:
        """Return the suppositions with the steps that rest on them, in the order of these."""
        resting = _Dependents(self, supposed).find()
        made = [self._describe(fact, supposed[fact], resting[fact]) for fact in supposed]
        return tuple(sorted(made, key=lambda each: (each.steps or (len(self.plan),))[0]))

    def _describe(self, fact: Atom, holds: bool, places: Sequence[int]) -> Supposition:
        """Return one supposition; `places` are numbers of steps, or 0 for the goal.

        What no step and no part of the goal needs, a constraint does: the plan as a whole rests on it.
        """
        steps = tuple([place for place in places if place])
        looks = [number for number in self.looks_at(fact) if not steps or self._is_before(number, steps[0])]
        return Supposition(fact, holds, steps, goal=0 in places or not steps, seen=looks[-1] if looks else None)

    def looks_at(self, fact: Atom) -> list[int]:
        """Return the numbers of the steps that sense `fact`."""
        found = []
        for number, step in enumerate(self.plan.steps, 1):
            action = self.problem.domain.actions[step.action]
            binding = dict(bind_parameters(action, step)) if action.senses else {}
            if any(pattern.substitute(binding).matches(fact) for pattern in action.senses):
                found.append(number)
        return found

    def _is_before(self, number: int, other: int) -> bool:
        """Return whether the step `number` ends before the step `other` starts."""
        times = self.plan.times
        return times[number - 1].end < times[other - 1].start if times else number < other


def _opened(arg: str) -> str:
    return OPEN if is_variable(arg) else arg


@dataclass(slots=True)
class _Dependents:
    """Finds the steps that depend on each supposition, by states in which what it decides is unknown."""

    search: _Search
    supposed: Mapping[Atom, bool]
    found: dict[Atom, list[int]] = field(init=False)
    decided: dict[Atom, Atom] = field(init=False)

    def __post_init__(self) -> None:
        rivals = self.search.rivals
        self.found = {fact: [] for fact in self.supposed}
        self.decided = {fact: fact for fact in self.supposed}
        for fact, holds in self.supposed.items():
            self.decided |= {each: fact for each in rivals[fact] if holds and each != fact}

    def find(self) -> dict[Atom, list[int]]:
        """Return the numbers of the steps that rest on each supposition, and 0 where the goal does."""
        held = self.search.asked.suppose(self.search.knowing, self.supposed)
        plan = self.search.plan
        if self.search.asked.lasts:
            walk = _walk_times(held, plan.steps, plan.times or in_turn(held, plan.steps).times)
        else:
            walk = _walk(held, plan.steps)
        for number, simulation, step in walk:
            for fact, places in self.found.items():
                mine = [each for each, by in self.decided.items() if by == fact]
                if mine and number not in places and self._rests(simulation, step, mine, number):
                    places.append(number)
            if step is not None:
                changes = simulation.changes(step)
                written = [*changes.provided, *changes.retracted]
                for fact in [each for each in self.decided if any(pattern.matches(each) for pattern in written)]:
                    del self.decided[fact]
        return self.found

    def _rests(self, simulation: Simulation, step: Step | None, facts: Sequence[Atom], number: int) -> bool:
        """Return whether the step, of this `number`, or the goal, would not do as it does if `facts` were unknown."""
        possible = self.search.asked.words.possible
        trial = simulation.copy()
        twins = [Atom(possible[fact.predicate], fact.args) for fact in facts]
        trial.world.update(facts, twins, ())
        if step is None:
            return not trial.holds(trial.problem.goal.hard)
        if simulation.find_objection(step) is None and trial.find_objection(step) is not None:
            return True
        if any(simulation.holds(each) and not trial.holds(each) for each in self.search.needs.get(number, ())):
            return True
        before, after = simulation.changes(step), trial.changes(step)
        return (before.provided, before.retracted, before.numbers) != (after.provided, after.retracted, after.numbers)


Walk = Iterator[tuple[int, Simulation, Step | None]]
"""The numbers of steps, or 0 for the goal, the state before each, and what happens next."""


def _walk(problem: Problem, steps: Sequence[Step]) -> Walk:
    simulation = Simulation(problem)
    for number, step in enumerate(steps, 1):
        yield number, simulation, step
        simulation.apply(step)
    yield 0, simulation, None


def _walk_times(problem: Problem, steps: Sequence[Step], times: Sequence[StepTime]) -> Walk:
    snap = make_snap_problem(problem)
    simulation = Simulation(snap.problem)
    fluents = simulation.world.state.values.fluents
    for happening in find_happenings(problem, snap, steps, times):
        if happening.number:
            fluents[DURATION.predicate, ()] = exact_value(times[happening.number - 1].duration)
            yield happening.number, simulation, happening.step
        simulation.apply(happening.step)
        fluents.pop((DURATION.predicate, ()), None)
        if happening.number and happening.is_start:
            lasting = snap.actions[steps[happening.number - 1].action].lasting
            if lasting:
                yield happening.number, simulation, Step(lasting, happening.step.arguments)
    yield 0, simulation, None
