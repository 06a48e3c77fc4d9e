"""What the states of a ground task say of unknown facts, and how that changes with what is seen."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from planner.model import Atom, Not
from planner.model.hidden import Hidden
from planner.records import dataclass
from planner.task import State, Task
from planner.unknown.names import Vocabulary
from planner.unknown.readings import renamed

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

    def __init__(self, task: Task, variables: Sequence[Hidden], words: Vocabulary, read: Container[int]) -> None:
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

    def _is_read(self, variable: Hidden, read: Container[int]) -> bool:
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

    def _open(self, state: State, variable: Hidden) -> list[Atom]:
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
        self, state: State, variable: Hidden, patterns: Sequence[Atom]
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
