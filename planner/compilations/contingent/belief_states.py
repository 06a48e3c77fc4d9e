"""Belief states: what the states of a ground task say of unknown facts, and how steps and sightings change that.

A sensing step comes out as what it sees is likely, given what is known by then. A step whose condition lacks nothing
but one unknown fact may be taken all the same: with the probability of that fact it comes out as declared; otherwise
nothing changes, its cost is spent, and the fact is known to be otherwise.

For the check on the declared problem, an unknown fact is drawn when it first matters: when somebody looks at it, or
when a step is tried that rests on it. That check is the interpreter of `planner.semantics`, and shares no code with
grounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product

from planner.compilations.contingent.assumption_based_planning import supposing
from planner.compilations.contingent.knowledge import (
    CAREFUL,
    Translation,
    Vocabulary,
    mentions,
    renamed,
    senses,
    that_matters,
    translated,
)
from planner.compilations.determinization import ROUNDING, determinize, keep_relevant_actions, outcome_probabilities
from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Final, dataclass
from planner.limits import Limits
from planner.model import Action, Atom, Formula, Not, Problem
from planner.model.formulas import substitute
from planner.model.unknown_facts import HiddenVariable, find_hidden_variables, fix_unknown_facts
from planner.plan import Step, exact_sum
from planner.policies.evaluation import Declared, Spent, Strategy, View, World
from planner.policies.markov_decision_process import Choice, Process, grounded, process_of
from planner.semantics.incomplete_knowledge import KnowledgeModel
from planner.semantics.simulation import Simulation, bind_parameters
from planner.task.ground_task import State, Task, facts_of

Sight = tuple[Fraction, State]


@dataclass(frozen=True, slots=True)
class _Fact:
    """An unknown fact: the `bit` that is set while it is; what is set and what is cleared to make it known.

    `about` are the facts of the task that stand for it, or for its negation.
    """

    bit: State
    true: tuple[State, State]
    false: tuple[State, State]
    about: frozenset[int]


class Belief:
    """Reads and changes what states say of the facts of `variables`, of which `task` speaks in terms of `words`.

    Of variables of which nothing is `read`, nobody wants to know anything.
    """

    def __init__(
        self, task: Task, variables: Sequence[HiddenVariable], words: Vocabulary, read: Container[int]
    ) -> None:
        self._numbers: dict[Atom | Not, int] = {fact: number for number, fact in enumerate(task.facts)}
        found = [fact for variable in variables for fact in variable.facts]
        self._facts = {fact: self._made(fact, words) for fact in found if renamed(fact, words.open) in self._numbers}
        self._variables = [each for each in variables if self._is_read(each, read)]
        kept = [fact for variable in self._variables for fact in variable.facts]
        self._facts = {fact: self._facts[fact] for fact in kept if fact in self._facts}
        self._owner = {fact: variable for variable in self._variables for fact in variable.facts}
        names = {*words.seen.values()}
        seen = [number for fact, number in self._numbers.items() if isinstance(fact, Atom) and fact.predicate in names]
        self._traces = sum([1 << number for number in seen])
        """What says that a step has looked, which is not remembered."""
        self.aliases = {renamed(fact, words.possible): fact for fact in found}
        """The facts that say what is possible, and what they are of: what is known and possible, holds."""
        self.ignored = frozenset(found).difference(self._facts)
        """The facts of which nobody wants to know anything."""

    def _is_read(self, variable: HiddenVariable, read: Container[int]) -> bool:
        facts = [self._facts[fact] for fact in variable.facts if fact in self._facts]
        return any(number in read for fact in facts for number in fact.about)

    def _made(self, fact: Atom, words: Vocabulary) -> _Fact:
        possible, open_ = renamed(fact, words.possible), renamed(fact, words.open)
        numbers = [self._numbers.get(each) for each in (fact, Not(fact), possible, Not(possible))]
        return _Fact(
            1 << self._numbers[open_],
            self._masks({fact: True, possible: True, open_: False}),
            self._masks({fact: False, possible: False, open_: False}),
            frozenset([number for number in numbers if number is not None]),
        )

    def _masks(self, literals: dict[Atom, bool]) -> tuple[State, State]:
        """Return what is set, and what is cleared, where these literals become true."""
        masks = [0, 0]
        for atom, holds in literals.items():
            for fact, sign in ((atom, holds), (Not(atom), not holds)):
                if fact in self._numbers:
                    masks[not sign] |= 1 << self._numbers[fact]
        return masks[0], masks[1]

    @property
    def bits(self) -> dict[Atom, State]:
        """The unknown facts, each with the bit that is set as long as it is unknown."""
        return {fact: each.bit for fact, each in self._facts.items()}

    def unknown(self, state: State) -> list[Atom]:
        """Return the facts that are unknown in `state`."""
        return [fact for fact, each in self._facts.items() if state & each.bit]

    def about(self, fact: Atom) -> frozenset[int]:
        """Return the facts of the task that stand for `fact` and its negation."""
        return self._facts[fact].about

    def told(self, state: State, fact: Atom, *, holds: bool) -> State:
        """Return `state` with the unknown `fact` known to hold, or not, and what follows from that."""
        state = self._told(state, fact, holds=holds)
        for other in self._owner[fact].facts if holds else ():
            if other in self._facts and state & self._facts[other].bit:
                state = self._told(state, other, holds=False)
        return self.concluded(state)

    def _told(self, state: State, fact: Atom, *, holds: bool) -> State:
        made = self._facts[fact]
        new, gone = made.true if holds else made.false
        return (state | new) & ~gone

    def concluded(self, state: State) -> State:
        """Return `state` with what must hold as nothing else is left, and without traces of looks."""
        state &= ~self._traces
        for variable in self._variables:
            if not variable.none:
                left = self._open(state, variable)
                if len(left) == 1:
                    state = self._told(state, left[0], holds=True)
        return state

    def _open(self, state: State, variable: HiddenVariable) -> list[Atom]:
        return [fact for fact in variable.facts if fact in self._facts and state & self._facts[fact].bit]

    def chance(self, state: State, fact: Atom, *, holds: bool) -> Fraction:
        """Return the probability that the unknown `fact` holds, or that it does not, as far as `state` says."""
        variable = self._owner[fact]
        left = self._open(state, variable)
        shares = dict(zip(variable.facts, variable.chances, strict=True))
        total = sum([shares[each] for each in left], variable.none)
        share = shares[fact] / total if total else Fraction(0)
        return share if holds else 1 - share

    def ways(self, patterns: Sequence[Atom]) -> int:
        """Return in how many ways what is seen of `patterns` may come out at most."""
        number = 1
        for variable in self._variables:
            number *= 1 + sum(any(pattern.matches(fact) for pattern in patterns) for fact in variable.facts)
        return number

    def sights(self, state: State, patterns: Sequence[Atom]) -> Iterable[Sight]:
        """Return what may be seen in `state` of the facts of `patterns`: probabilities, and the states after that."""
        if not patterns:
            return ((Fraction(1), state),)
        seen = [[*self._sights(state, variable, patterns)] for variable in self._variables]
        return [self._together(state, choice) for choice in product(*[each for each in seen if each])]

    def _sights(
        self, state: State, variable: HiddenVariable, patterns: Sequence[Atom]
    ) -> Iterator[tuple[Fraction, dict[Atom, bool]]]:
        """Yield what may be seen of one variable; nothing where nothing new may be."""
        facts = [each for each in self._open(state, variable) if any(pattern.matches(each) for pattern in patterns)]
        rest = Fraction(1)
        for fact in facts:
            share = self.chance(state, fact, holds=True)
            rest -= share
            if share:
                yield share, {fact: True}
        if facts and rest > 0:
            yield rest, dict.fromkeys(facts, False)

    def _together(self, state: State, choice: Iterable[tuple[Fraction, dict[Atom, bool]]]) -> Sight:
        chance = Fraction(1)
        for share, facts in choice:
            chance *= share
            for fact, holds in facts.items():
                if state & self._facts[fact].bit:
                    state = self.told(state, fact, holds=holds)
        return chance, state


MOST_SIGHTS: Final = 1024
"""What a step sees may come out in so many ways at most."""


@dataclass(frozen=True, slots=True)
class Gamble:
    """The choice of this number, taken although it is unknown whether `fact` is as it asks for: `holds`, or not."""

    choice: int
    fact: Atom
    holds: bool


class SensingProcess(Process):
    """The decision process of `process`, in whose states `belief` says what is known.

    `sights` are the patterns of facts that a choice looks at, by its number; `daring` are the choices that may be taken
    on a fact that is unknown. Choices on unknown facts have numbers of their own, behind all others.
    """

    def __init__(
        self, process: Process, belief: Belief, sights: Mapping[int, Sequence[Atom]], daring: frozenset[int]
    ) -> None:
        self._all = [*process.choices]
        super().__init__(process.task, self._all, process.wishes, process.purse)
        self.belief = belief
        self.initial = belief.concluded(self.initial)
        self.unknown, self.aliases, self.ignored = belief.bits, belief.aliases, belief.ignored
        self._sights = sights
        self._daring = daring
        self._numbers: dict[Gamble, int] = {}
        self._gambles: dict[int, Gamble] = {}
        self.supposed: dict[int, tuple[Atom, bool]] = {}

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice comes out in one way: not where facts are unknown."""
        return False

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the choices that there are in `state`, ascending."""
        known = super().applicable(state)
        found = {*known}
        for fact in self.belief.unknown(state):
            for holds in (True, False):
                after = self.belief.told(state, fact, holds=holds)
                for choice in super().applicable(after):
                    if choice in self._daring and choice not in found and self._misses_only(choice, state, fact):
                        known.append(self._number(Gamble(choice, fact, holds)))
        return sorted(known)

    def _misses_only(self, choice: int, state: State, fact: Atom) -> bool:
        """Return whether nothing but `fact` is missing for `choice` in `state`."""
        closed, about = self.space.closed(state), self.belief.about(fact)
        return all(closed >> number & 1 or number in about for number in self.choices[choice].precondition)

    def _number(self, gamble: Gamble) -> int:
        if gamble not in self._numbers:
            number = self._numbers[gamble] = len(self._all)
            self._gambles[number], self.supposed[number] = gamble, (gamble.fact, gamble.holds)
            self._all.append(self._all[gamble.choice])
        return self._numbers[gamble]

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return `(probability, next state)` for what may come of `choice`; no state occurs twice."""
        gamble = self._gambles.get(choice)
        if gamble is None:
            return _merged(self._seen(state, choice))
        share = float(self.belief.chance(state, gamble.fact, holds=gamble.holds))
        right = self.belief.told(state, gamble.fact, holds=gamble.holds)
        wrong = self.belief.told(state, gamble.fact, holds=not gamble.holds)
        after = [(share * each, other) for each, other in self._seen(right, gamble.choice)]
        return _merged([*after, (1 - share, wrong)])

    def _seen(self, state: State, choice: int) -> Iterator[tuple[float, State]]:
        """Yield what comes of `choice` and of what it looks at."""
        for share, after in super().outcomes(state, choice):
            for chance, seen in self.belief.sights(self.belief.concluded(after), self._sights.get(choice, ())):
                yield share * float(chance), seen


def _merged(outcomes: Iterable[tuple[float, State]]) -> list[tuple[float, State]]:
    found: dict[State, float] = {}
    for share, state in outcomes:
        found[state] = found.get(state, 0.0) + share
    return [(share, state) for state, share in found.items() if share > 0]


def sensing_process_of(problem: Problem, limits: Limits) -> Process:
    """Return the decision process of `problem`, of which facts are unknown; a plain one where they do not matter.

    Raises as `process_of` does, and `UnsupportedError` where effects or derived facts rest on unknown facts.
    """
    kept, matter = that_matters(problem, (), keep_relevant_actions, _tells)
    compiled = determinize(kept)
    asked = translated(problem, compiled.problem, matter)
    if asked is None:
        return process_of(fix_unknown_facts(problem, ()), limits)
    _refuse(asked)
    made = supposing(asked, asked.knowing(), None)
    ground = grounded(made.problem, compiled.ways, kept.domain.actions, limits, whole=True)
    cases = [facts_of(case) for wish in ground.wishes for case in wish.cases]
    read = {*ground.task.goal, *chain(*[each.precondition for each in ground.choices], *cases)}
    belief = Belief(ground.task, asked.variables, asked.words, read)
    actions = problem.domain.actions
    sights = {number: _sights(actions[each.step.action], each.step) for number, each in enumerate(ground.choices)}
    for number, patterns in sights.items():
        if belief.ways(patterns) > MOST_SIGHTS:
            raise UnsupportedError(f"so many independent facts in one look, as in {ground.choices[number].step}")
    once = Counter([each.step for each in ground.choices])
    daring = [number for number, each in enumerate(ground.choices) if once[each.step] == 1 and _dares(each, actions)]
    return SensingProcess(ground, belief, sights, frozenset(daring))


def _tells(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` may be taken for what it says of facts of `predicates`, be it by failing."""
    return senses(action, predicates) or mentions(action.requires, predicates)


def _refuse(asked: Translation) -> None:
    """Raise `UnsupportedError` where unknown facts have an effect on more than what can be done."""
    domain, possible = asked.problem.domain, asked.words.possible
    for axiom in domain.axioms:
        if axiom.predicate in possible:
            raise UnsupportedError(f"derived facts that rest on unknown ones, such as those of '{axiom.predicate}'")
    for name, action in domain.actions.items():
        if any(mentions(when.requires, possible) for when in action.when):
            raise UnsupportedError(f"effects that rest on unknown facts, as those of '{name}'")


def _sights(action: Action, step: Step) -> tuple[Atom, ...]:
    """Return patterns of the facts that `step` looks at."""
    binding = dict(zip([each.name for each in action.parameters], step.arguments, strict=True))
    return tuple([pattern.substitute(binding) for pattern in action.senses])


def _dares(choice: Choice, actions: Mapping[str, Action]) -> bool:
    """Return whether `choice` may be taken on a fact that is unknown: if it fails, that shows how the fact is."""
    action = actions[choice.step.action]
    return action.tags.isdisjoint(CAREFUL) and 1 - sum(outcome_probabilities(action, choice.step.arguments)) <= ROUNDING


class Insight(View):
    """A `simulation` of what is known, and the `unknown` facts, none of which holds there."""

    def __init__(self, simulation: Simulation, unknown: Mapping[Atom, None]) -> None:
        super().__init__(simulation)
        self.unknown = unknown

    def without(self, patterns: Iterable[Atom]) -> dict[Atom, None]:
        """Return the unknown facts that none of `patterns` covers."""
        patterns = [*patterns]
        return {fact: None for fact in self.unknown if not any(pattern.matches(fact) for pattern in patterns)}


class HiddenWorld(World):
    """`problem`, of which facts are unknown, as one acts in it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(fix_unknown_facts(problem, ()))
        self._prospect = KnowledgeModel(problem)
        variables = find_hidden_variables(problem)
        self._owner = {fact: variable for variable in variables for fact in variable.facts}
        initial = Insight(self.declared.initial, dict.fromkeys(self._owner))
        for variable in variables:
            if not variable.none and len(variable.facts) == 1:
                initial = self._told(initial, variable.facts[0], holds=True)
        self.declared = _Outcomes(self, self.declared, initial)

    def key(self, state: Insight, spent: Spent) -> tuple[object, ...]:
        """Return what tells states apart."""
        return state.facts, frozenset(state.history), spent, frozenset(state.unknown)

    def asked(self, strategy: Strategy, state: Insight, spent: Spent) -> Step | None:
        """Return the step that `strategy` takes; raises `PlanError` where nobody could think that it can be taken."""
        step = self.said(strategy, state, spent, unknown=frozenset(state.unknown))
        if step is None or self._holds(self.required(step), state, surely=False):
            return step
        raise PlanError(f"{step} cannot be taken, however the unknown facts are")

    def worth(self, state: Insight) -> tuple[bool, float]:
        """Return whether the goal is known to hold in `state`, and what ending there is worth."""
        if not self._holds(self.problem.goal.hard, state, surely=True):
            return False, 0.0
        wishes = [each for each in self.problem.goal.soft if self._holds(each.condition, state, surely=True)]
        return True, float(exact_sum([wish.utility for wish in wishes]))

    def required(self, step: Step) -> Formula:
        """Return what `step` requires, ground."""
        action = self.problem.domain.actions[step.action]
        return substitute(action.requires, dict(bind_parameters(action, step)))

    def _holds(self, formula: Formula, state: Insight, *, surely: bool) -> bool:
        return self._prospect.holds(formula, state.facts, state.unknown, surely=surely)

    def tried(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield how the facts may be on which it rests what comes of trying `step`, with probabilities."""
        facts = [] if self._holds(self.required(step), state, surely=True) else [self.required(step)]
        facts += [each.requires for each in self.problem.domain.actions[step.action].when]
        about = dict.fromkeys(fact for formula in facts for fact, _ in self._prospect.about(formula, state.unknown))
        yield from self.drawn(state, about)

    def drawn(self, state: Insight, facts: Iterable[Atom]) -> Iterator[tuple[float, Insight]]:
        """Yield how those of `facts` may be that are unknown, with probabilities."""
        fact = next((fact for fact in facts if fact in state.unknown), None)
        if fact is None:
            yield 1.0, state
            return
        variable = self._owner[fact]
        left = [share for each, share in zip(variable.facts, variable.chances, strict=True) if each in state.unknown]
        share = variable.chances[variable.facts.index(fact)] / (sum(left) + variable.none)
        for holds, chance in ((True, share), (False, 1 - share)):
            if chance:
                for rest, after in self.drawn(self._told(state, fact, holds=holds), facts):
                    yield float(chance) * rest, after

    def _told(self, state: Insight, fact: Atom, *, holds: bool) -> Insight:
        """Return what is known when the unknown `fact` holds, or does not, and what follows from that."""
        variable = self._owner[fact]
        gone = variable.facts if holds else (fact,)
        left = {each: None for each in state.unknown if each not in gone}
        simulation = state.simulation.copy()
        if holds:
            simulation.world.update((), [fact])
        after = Insight(simulation, left)
        others = [each for each in variable.facts if each in left]
        if len(others) == 1 and not variable.none and not holds:
            return self._told(after, others[0], holds=True)
        return after


class _Outcomes:
    """What may come of steps in a hidden world."""

    def __init__(self, world: HiddenWorld, declared: Declared, initial: Insight) -> None:
        self._world = world
        self._declared = declared
        self.initial = initial

    def outcomes(self, state: Insight, step: Step) -> Iterator[tuple[float, Insight]]:
        """Yield `(probability, next state)` for all that may come of trying `step`; where it fails, nothing changes."""
        action = self._world.problem.domain.actions[step.action]
        senses = [pattern.substitute(dict(bind_parameters(action, step))) for pattern in action.senses]
        for chance, tried in self._world.tried(state, step):
            if tried.simulation.objection(step) is not None:
                yield chance, tried
                continue
            for share, after, changes in self._declared.ways(tried.simulation, step):
                written = [] if changes is None else [*changes.provided, *changes.retracted]
                reached = Insight(after, tried.without(written))
                seen = [fact for fact in reached.unknown if any(pattern.matches(fact) for pattern in senses)]
                for each, known in self._world.drawn(reached, seen):
                    yield chance * share * each, known
