"""The decision process of a problem of which facts are unknown: its states say what is known.

A step that senses comes out as what it sees is likely, given what is known by then. A step whose condition misses
nothing but one unknown fact may be taken all the same: with the probability of that fact it comes out as it does,
otherwise nothing changes, what it costs is spent, and the fact is known to be otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from planner.annotations import Final
from planner.budget import Budget
from planner.errors import UnsupportedError
from planner.model import Action, Atom, Problem
from planner.model.hidden import decided
from planner.plan import Step
from planner.records import dataclass
from planner.task import State, facts_of
from planner.uncertain.determinise import ROUNDING, chances, determinise, relevant
from planner.uncertain.process import Choice, Process, grounded, process_of
from planner.unknown.belief import Belief
from planner.unknown.knowledge import Translation
from planner.unknown.names import CAREFUL
from planner.unknown.readings import mentions
from planner.unknown.relevance import senses, that_matters, translated
from planner.unknown.suppositions import supposing

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


def sensing_process_of(problem: Problem, budget: Budget) -> Process:
    """Return the decision process of `problem`, of which facts are unknown; a plain one where they do not matter.

    Raises as `process_of` does, and `UnsupportedError` where effects or derived facts rest on unknown facts.
    """
    kept, matter = that_matters(problem, (), relevant, _tells)
    compiled = determinise(kept)
    asked = translated(problem, compiled.problem, matter)
    if asked is None:
        return process_of(decided(problem, ()), budget)
    _refuse(asked)
    made = supposing(asked, asked.knowing(), None)
    ground = grounded(made.problem, compiled.ways, kept.domain.actions, budget, whole=True)
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
    return action.tags.isdisjoint(CAREFUL) and 1 - sum(chances(action, choice.step.arguments)) <= ROUNDING
