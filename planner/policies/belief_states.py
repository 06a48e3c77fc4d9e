"""Belief states (Kaelbling, Littman and Cassandra, 1998): Markov decision processes over knowledge of facts.

The outcomes of a sensing step have the probabilities of its observations under the present knowledge. A policy may try
a step whose condition lacks only one unknown fact. With the probability of that fact, the step has its declared
outcome. Otherwise only the cost changes, and the fact is known to be false.

`hidden_world` evaluates policies on the declared problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product

from planner.compilations.contingent.knowledge import (
    CAREFUL,
    Translation,
    Vocabulary,
    find_what_matters,
    make_translation,
    senses,
)
from planner.compilations.contingent.readings import mentions, rename
from planner.compilations.contingent.supposition_actions import add_suppositions
from planner.compilations.determinization import ROUNDING, determinize, keep_relevant_actions, outcome_probabilities
from planner.errors import UnsupportedError
from planner.lightweight import Final, dataclass, replace
from planner.limits import Limits
from planner.model import Action, Atom, Not, Problem
from planner.model.problem import NumericMetric
from planner.model.unknown_facts import HiddenVariable, fix_unknown_facts
from planner.plan import Step
from planner.policies.markov_decision_process import FAINT, Choice, Process, with_marks
from planner.policies.process_grounding import ground_process, process_of
from planner.task.ground_task import State, Task, facts_of

Sight = tuple[Fraction, State]


@dataclass(frozen=True, slots=True)
class _Fact:
    """An unknown fact: the `bit` of states in which it is unknown, and the bits to set and clear to make it known.

    `about` are the facts of the task that stand for the fact and for its negation.
    """

    bit: State
    true: tuple[State, State]
    false: tuple[State, State]
    about: frozenset[int]


class Belief:
    """Reads and changes the knowledge in states of `task` about the facts of `variables`, in the vocabulary `words`.

    Variables without a fact in `read` are ignored.
    """

    def __init__(
        self, task: Task, variables: Sequence[HiddenVariable], words: Vocabulary, read: Container[int]
    ) -> None:
        self._numbers: dict[Atom | Not, int] = {fact: number for number, fact in enumerate(task.facts)}
        found = [fact for variable in variables for fact in variable.facts]
        self._facts = {
            fact: self._make_fact(fact, words) for fact in found if rename(fact, words.open) in self._numbers
        }
        self._variables = [each for each in variables if self._is_read(each, read)]
        kept = [fact for variable in self._variables for fact in variable.facts]
        unread = [made for fact, made in self._facts.items() if fact not in kept]
        self._facts = {fact: self._facts[fact] for fact in kept if fact in self._facts}
        self._owner = {fact: variable for variable in self._variables for fact in variable.facts}
        names = {*words.seen.values()}
        seen = [number for fact, number in self._numbers.items() if isinstance(fact, Atom) and fact.predicate in names]
        seen += [number for made in unread for number in made.about]
        self._traces = sum([1 << number for number in seen]) | sum([made.bit for made in unread])
        """The bits that states do not keep: they say that a step has sensed a fact, or nothing reads them."""
        self.aliases = {rename(fact, words.possible): fact for fact in found}
        """Maps the facts `possibly-…` to the facts that they are about."""
        self.ignored = frozenset(found).difference(self._facts)
        """The unknown facts that nothing reads."""

    def _is_read(self, variable: HiddenVariable, read: Container[int]) -> bool:
        facts = [self._facts[fact] for fact in variable.facts if fact in self._facts]
        return any(number in read for fact in facts for number in fact.about)

    def _make_fact(self, fact: Atom, words: Vocabulary) -> _Fact:
        possible, open_ = rename(fact, words.possible), rename(fact, words.open)
        numbers = [self._numbers.get(each) for each in (fact, Not(fact), possible, Not(possible))]
        return _Fact(
            1 << self._numbers[open_],
            self._masks({fact: True, possible: True, open_: False}),
            self._masks({fact: False, possible: False, open_: False}),
            frozenset([number for number in numbers if number is not None]),
        )

    def _masks(self, literals: dict[Atom, bool]) -> tuple[State, State]:
        """Return the bits to set, and the bits to clear, to make these literals true."""
        masks = [0, 0]
        for atom, holds in literals.items():
            for fact, sign in ((atom, holds), (Not(atom), not holds)):
                if fact in self._numbers:
                    masks[not sign] |= 1 << self._numbers[fact]
        return masks[0], masks[1]

    @property
    def bits(self) -> dict[Atom, State]:
        """The unknown facts, each with the bit that is set while it is unknown."""
        return {fact: each.bit for fact, each in self._facts.items()}

    def unknown(self, state: State) -> list[Atom]:
        """Return the facts that are unknown in `state`."""
        return [fact for fact, each in self._facts.items() if state & each.bit]

    def about(self, fact: Atom) -> frozenset[int]:
        """Return the facts of the task that stand for `fact` and its negation."""
        return self._facts[fact].about

    def learn(self, state: State, fact: Atom, *, holds: bool) -> State:
        """Return `state` after learning whether the unknown `fact` holds, with all conclusions."""
        state = self._learn(state, fact, holds=holds)
        for other in self._owner[fact].facts if holds else ():
            if other in self._facts and state & self._facts[other].bit:
                state = self._learn(state, other, holds=False)
        return self.conclude(state)

    def _learn(self, state: State, fact: Atom, *, holds: bool) -> State:
        made = self._facts[fact]
        new, gone = made.true if holds else made.false
        return (state | new) & ~gone

    def conclude(self, state: State) -> State:
        """Return `state` with the last open fact of each variable concluded, and without the bits of sensed facts."""
        state &= ~self._traces
        for variable in self._variables:
            if not variable.none:
                left = self._open_facts(state, variable)
                if len(left) == 1:
                    state = self._learn(state, left[0], holds=True)
        return state

    def _open_facts(self, state: State, variable: HiddenVariable) -> list[Atom]:
        return [fact for fact in variable.facts if fact in self._facts and state & self._facts[fact].bit]

    def chance(self, state: State, fact: Atom, *, holds: bool) -> Fraction:
        """Return the probability in `state` that the unknown `fact` holds, or that it does not."""
        variable = self._owner[fact]
        left = self._open_facts(state, variable)
        shares = dict(zip(variable.facts, variable.chances, strict=True))
        total = sum([shares[each] for each in left], variable.none)
        share = shares[fact] / total if total else Fraction(0)
        return share if holds else 1 - share

    def count_results(self, patterns: Sequence[Atom]) -> int:
        """Return an upper bound on the possible results of sensing `patterns`."""
        number = 1
        for variable in self._variables:
            number *= 1 + sum(any(pattern.matches(fact) for pattern in patterns) for fact in variable.facts)
        return number

    def sense(self, state: State, patterns: Sequence[Atom]) -> Iterable[Sight]:
        """Return the probabilities and successor states of sensing the facts of `patterns` in `state`."""
        if not patterns:
            return ((Fraction(1), state),)
        seen = [[*self._sense_variable(state, variable, patterns)] for variable in self._variables]
        return [self._combine(state, choice) for choice in product(*[each for each in seen if each])]

    def _sense_variable(
        self, state: State, variable: HiddenVariable, patterns: Sequence[Atom]
    ) -> Iterator[tuple[Fraction, dict[Atom, bool]]]:
        """Yield the probabilities and results of sensing one variable; none if `patterns` reveal nothing new."""
        facts = [
            each for each in self._open_facts(state, variable) if any(pattern.matches(each) for pattern in patterns)
        ]
        rest = Fraction(1)
        for fact in facts:
            share = self.chance(state, fact, holds=True)
            rest -= share
            if share:
                yield share, {fact: True}
        if facts and rest > 0:
            yield rest, dict.fromkeys(facts, False)

    def _combine(self, state: State, choice: Iterable[tuple[Fraction, dict[Atom, bool]]]) -> Sight:
        chance = Fraction(1)
        for share, facts in choice:
            chance *= share
            for fact, holds in facts.items():
                if state & self._facts[fact].bit:
                    state = self.learn(state, fact, holds=holds)
        return chance, state


MOST_SIGHTS: Final = 1024
"""Maximum number of results of one sensing step."""


@dataclass(frozen=True, slots=True)
class Gamble:
    """The choice of this number, tried while it is unknown whether `fact` has the required truth `holds`."""

    choice: int
    fact: Atom
    holds: bool


class SensingProcess(Process):
    """The decision process of `process` over belief states, which `belief` reads and changes.

    `sense` maps the number of a choice to the patterns that it senses. `daring` are the choices that may be tried on an
    unknown fact; as gambles, these have numbers of their own, behind all others.
    """

    def __init__(
        self, process: Process, belief: Belief, sights: Mapping[int, Sequence[Atom]], daring: frozenset[int]
    ) -> None:
        self._all = [*process.choices]
        super().__init__(process.task, self._all, process.wishes, process.purse)
        self.numeric, self.ends, self.is_metric = process.numeric, process.ends, process.is_metric
        self.is_guided, self.space = process.is_guided, process.space
        self.belief = belief
        self.initial = self._with_facts(process.initial, belief.conclude(self.facts(process.initial)))
        self.unknown, self.aliases, self.ignored = belief.bits, belief.aliases, belief.ignored
        self._sights = sights
        self._daring = daring
        self._numbers: dict[Gamble, int] = {}
        self._gambles: dict[int, Gamble] = {}
        self.supposed: dict[int, tuple[Atom, bool]] = {}

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice has one outcome: False, since facts are unknown."""
        return False

    def _with_facts(self, state: State, facts: State) -> State:
        """Return the state with the values of `state` and these facts."""
        return facts if self.numeric is None else self.numeric.with_facts(state, facts)

    def _learn(self, state: State, fact: Atom, *, holds: bool) -> State:
        return self._with_facts(state, self.belief.learn(self.facts(state), fact, holds=holds))

    def unknown_in(self, state: State) -> list[Atom]:
        """Return the facts that are unknown in `state`."""
        return self.belief.unknown(self.facts(state))

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the choices in `state`, ascending."""
        known = super().applicable(state)
        found = {*known}
        for fact in self.unknown_in(state):
            for holds in (True, False):
                after = self._learn(state, fact, holds=holds)
                for choice in super().applicable(after):
                    if choice in self._daring and choice not in found and self._lacks_only(choice, state, fact):
                        known.append(self._number_of(Gamble(choice, fact, holds)))
        return sorted(known)

    def _lacks_only(self, choice: int, state: State, fact: Atom) -> bool:
        """Return whether the condition of `choice` lacks only `fact` in `state`."""
        closed, about = self.space.closed(state), self.belief.about(fact)
        return all(closed >> number & 1 or number in about for number in self.choices[choice].precondition)

    def _number_of(self, gamble: Gamble) -> int:
        if gamble not in self._numbers:
            number = self._numbers[gamble] = len(self._all)
            self._gambles[number], self.supposed[number] = gamble, (gamble.fact, gamble.holds)
            self._all.append(self._all[gamble.choice])
        return self._numbers[gamble]

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return `(probability, next state)` for the outcomes of `choice`; no state occurs twice."""
        found: dict[State, float] = {}
        for share, after, _ in self.results(state, choice):
            found[after] = found.get(after, 0.0) + share
        return [(share, after) for after, share in found.items()]

    def results(self, state: State, choice: int) -> list[tuple[float, State, bool]]:
        """Return the distribution of the state after `choice`, and of whether its step has happened."""
        gamble = self._gambles.get(choice)
        if gamble is None:
            return _merge(self._sense_results(state, choice))
        share = float(self.belief.chance(self.facts(state), gamble.fact, holds=gamble.holds))
        right = self._learn(state, gamble.fact, holds=gamble.holds)
        wrong = self._learn(state, gamble.fact, holds=not gamble.holds)
        after = [(share * each, other, done) for each, other, done in self._sense_results(right, gamble.choice)]
        return _merge([*after, (1 - share, wrong, False)])

    def _sense_results(self, state: State, choice: int) -> Iterator[tuple[float, State, bool]]:
        """Yield the results of `choice`, combined with those of its sensing."""
        plain = super().outcomes(state, choice)
        failing = self.choices[choice].failing
        for share, after in plain:
            happens = share - failing * (after == state)
            if failing and after == state:
                yield failing, state, False
            known = self.belief.conclude(self.facts(after))
            for chance, seen in self.belief.sense(known, self._sights.get(choice, ())):
                yield happens * float(chance), self._with_facts(after, seen), True


def _merge(results: Iterable[tuple[float, State, bool]]) -> list[tuple[float, State, bool]]:
    found: dict[tuple[State, bool], float] = {}
    for share, state, done in results:
        found[state, done] = found.get((state, done), 0.0) + share
    return [(share, state, done) for (state, done), share in found.items() if share > FAINT]


def sensing_process_of(problem: Problem, limits: Limits, *, whole: bool = False) -> Process:
    """Return the decision process of `problem` over belief states; a plain process if no unknown fact matters.

    With `whole`, keep what the goal does not need, too.
    Raises as `process_of` does, and `UnsupportedError` if effects or derived facts depend on unknown facts.
    """
    kept, matter = find_what_matters(problem, (), _keep_all if whole else keep_relevant_actions, _informs)
    compiled = determinize(kept)
    plain = with_marks(compiled.problem, {name: way.action for name, way in compiled.ways.items()})
    asked = make_translation(problem, plain, matter)
    if asked is None:
        return process_of(fix_unknown_facts(problem, ()), limits, whole=whole)
    _refuse_dependent_effects(asked)
    made = add_suppositions(asked, asked.knowing(), None)
    if isinstance(problem.metric, NumericMetric):
        made = replace(made, problem=replace(made.problem, metric=problem.metric))
    ground = ground_process(made.problem, compiled.ways, kept.domain.actions, limits, whole=True, by_ends=True)
    cases = [facts_of(case) for wish in ground.wishes for case in wish.cases]
    read = {*ground.task.goal, *chain(*[each.precondition for each in ground.choices], *cases)}
    belief = Belief(ground.task, asked.variables, asked.words, read)
    actions = problem.domain.actions
    sights = {
        number: _sensed_patterns(actions[each.step.action], each.step) for number, each in enumerate(ground.choices)
    }
    for number, patterns in sights.items():
        if belief.count_results(patterns) > MOST_SIGHTS:
            raise UnsupportedError(f"so many independent facts in one look, as in {ground.choices[number].step}")
    once = Counter([each.step for each in ground.choices])
    daring = [
        number for number, each in enumerate(ground.choices) if once[each.step] == 1 and _may_gamble(each, actions)
    ]
    return SensingProcess(ground, belief, sights, frozenset(daring))


def _keep_all(problem: Problem, _used: Iterable[str] = ()) -> Problem:
    return problem


def _informs(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` informs about facts of `predicates`, by sensing or by failing."""
    return senses(action, predicates) or mentions(action.requires, predicates)


def _refuse_dependent_effects(asked: Translation) -> None:
    """Raise `UnsupportedError` where unknown facts affect derived facts or conditional effects."""
    domain, possible = asked.problem.domain, asked.words.possible
    for axiom in domain.axioms:
        if axiom.predicate in possible:
            raise UnsupportedError(f"derived facts that rest on unknown ones, such as those of '{axiom.predicate}'")
    for name, action in domain.actions.items():
        if any(mentions(when.requires, possible) for when in action.when):
            raise UnsupportedError(f"effects that rest on unknown facts, as those of '{name}'")


def _sensed_patterns(action: Action, step: Step) -> tuple[Atom, ...]:
    """Return the patterns of facts that `step` senses."""
    binding = dict(zip([each.name for each in action.parameters], step.arguments, strict=True))
    return tuple([pattern.substitute(binding) for pattern in action.senses])


def _may_gamble(choice: Choice, actions: Mapping[str, Action]) -> bool:
    """Return whether `choice` may be tried on an unknown fact: it has no risk, so that a failure reveals the fact."""
    action = actions[choice.step.action]
    return action.tags.isdisjoint(CAREFUL) and 1 - sum(outcome_probabilities(action, choice.step.arguments)) <= ROUNDING
