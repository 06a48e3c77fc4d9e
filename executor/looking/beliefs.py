"""What a run believes about the world: facts, each with where it comes from.

The facts that hold are the state of a `Simulation`: conditions and effects mean what they mean to the validator. What
is unknown is no fact of that state, and no condition may rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from executor.looking.needs import facts_of
from executor.record.facts import TRUSTED, Note, Provenance
from planner.model import OPEN, Atom, Formula, Problem
from planner.plan import Step
from planner.records import replace
from planner.validate import Changes, Simulation
from planner.validate.effects import staleness_of
from planner.validate.simulation import bound

SEEN = frozenset({Provenance.GIVEN, Provenance.OBSERVED})


class Beliefs:
    """The state of a run's world, as far as it is known; what its problem declares unknown is not, until it is seen."""

    def __init__(self, problem: Problem, internal: frozenset[str] = frozenset()) -> None:
        self._simulation = Simulation(replace(problem, unknown=()))
        self._notes: dict[Atom, Note] = {}
        self._unknown: set[Atom] = set()
        self._internal = internal
        self._staleness = staleness_of(problem.domain)
        tags = problem.domain.predicates.items()
        self._trusted = internal.union(name for name, predicate in tags if "trusted" in predicate.tags)
        if problem.unknown:
            facts = [fact for pattern in problem.unknown for fact in self._instances(pattern)]
            self.take([Note(fact, None, Provenance.UNKNOWN, "the problem") for fact in facts])

    def _instances(self, pattern: Atom) -> Iterator[Atom]:
        """Yield the facts that `pattern` covers, but for those that are stated to hold."""
        problem, universe = self._simulation.problem, self._simulation.rules.universe
        kinds = problem.domain.predicates[pattern.predicate].parameters
        values = [
            universe.of_types(kind.types) if arg == OPEN else (arg,)
            for arg, kind in zip(pattern.args, kinds, strict=True)
        ]
        facts = (Atom(pattern.predicate, row) for row in product(*values))
        return (fact for fact in facts if fact not in self._simulation.world.state)

    @property
    def simulation(self) -> Simulation:
        """The state, to ask and not to change."""
        return self._simulation

    @property
    def problem(self) -> Problem:
        """The problem as it stands now: its initial state is what holds, and what ran has run."""
        simulation = self._simulation
        return replace(simulation.problem, initial=tuple(simulation.world.state), ran=tuple(simulation.history))

    def holds(self, fact: Atom) -> bool | None:
        """Return whether `fact` holds; None where that is unknown."""
        note = self._notes.get(fact)
        return fact in self._simulation.world.state if note is None else note.holds

    def note(self, fact: Atom) -> Note:
        """Return what is known about `fact`, and from where."""
        found = self._notes.get(fact)
        return found or Note(fact, fact in self._simulation.world.state, Provenance.GIVEN)

    def notes(self) -> Iterator[Note]:
        """Yield what became known since the problem was stated."""
        yield from self._notes.values()

    def is_seen(self, fact: Atom) -> bool:
        """Return whether somebody looked (or the problem states it), or its predicate is trusted."""
        note = self._notes.get(fact)
        if note is None or note.provenance in SEEN:
            return True
        return self.is_trusted(fact) and note.provenance is not Provenance.UNKNOWN

    def is_internal(self, fact: Atom) -> bool:
        """Return whether `fact` is about a placeholder as such."""
        return fact.predicate in self._internal

    def is_trusted(self, fact: Atom) -> bool:
        """Return whether what is believed about `fact` counts as seen, though nobody has looked."""
        note = self._notes.get(fact)
        return fact.predicate in self._trusted or (note is not None and note.source == TRUSTED)

    def would_change(self, notes: Iterable[Note]) -> list[Note]:
        """Return those of `notes`, which are observations, that are news, and what goes stale with them.

        A stale fact stays false for observers that know no version: they cannot tell what it was made from.
        """
        news = [note for note in notes if self._is_known(note.fact) and self._is_news(note)]
        written = [note.fact for note in news if note.holds is not None and note.holds is not self.holds(note.fact)]
        seen = {note.fact for note in news}
        stale = [fact for fact in self._stale_after(written) if fact not in seen]
        return [*news, *(Note(fact, False, Provenance.STALE) for fact in stale)]  # noqa: FBT003 - a truth value

    def _is_known(self, fact: Atom) -> bool:
        """Return whether the problem has the objects of `fact`: observers may see others."""
        return all(arg in self._simulation.rules.universe for arg in fact.args)

    def _is_news(self, note: Note) -> bool:
        known = self._notes.get(note.fact)
        if known is None:
            return note.holds is not (note.fact in self._simulation.world.state) or note.version is not None
        if known.provenance is Provenance.STALE and note.holds and note.version is None:
            return False
        return (known.holds, known.provenance, known.version) != (note.holds, note.provenance, note.version)

    def _stale_after(self, written: Iterable[Atom]) -> list[Atom]:
        state = self._simulation.world.state
        return [fact for pattern in self._staleness.of(written) for fact in state.matching(pattern)]

    def stale_by(self, changes: Changes) -> frozenset[Atom]:
        """Return the facts among those that `changes` end which go stale, and are not undone by the step itself."""
        if not self._staleness:
            return frozenset()
        patterns = self._staleness.of([*changes.provided, *changes.retracted, *changes.modified])
        return frozenset(fact for fact in changes.removed if any(pattern.matches(fact) for pattern in patterns))

    def take(self, notes: Iterable[Note]) -> None:
        """Believe `notes`."""
        removed: list[Atom] = []
        added: list[Atom] = []
        for note in notes:
            (added if note.holds else removed).append(note.fact)
            self._notes[note.fact] = note
            if note.holds is None:
                self._unknown.add(note.fact)
            elif self._unknown:
                self._unknown.discard(note.fact)
        self._simulation.world.update(removed, added)

    def did(self, step: Step) -> None:
        """Note that the action of `step` has run, for those that come after it."""
        if step.action in self._simulation.rules.remembered:
            self._simulation.history.update((), [Atom(step.action, step.arguments)])

    def facts_of(self, formula: Formula, binding: Mapping[str, str]) -> list[Atom]:
        """Return the ground facts, derived ones left out, whose truth `formula` may depend on."""
        rules = self._simulation.rules
        return facts_of(formula, rules.problem.domain, rules.universe, binding)

    def needs(self, step: Step) -> list[Atom]:
        """Return the facts on which it may depend whether `step` can be applied."""
        action = self._simulation.problem.domain.actions[step.action]
        return self.facts_of(action.requires, bound(action, step))

    def doubtful(self, step: Step, *, careful: bool) -> list[Atom]:
        """Return the facts on which it depends whether `step` can be applied, and on which it may not rest.

        Those are unknown facts, and where it is `careful` all that nobody has seen.
        """
        if not (careful or self._unknown):
            return []
        return self.decisive(
            [fact for fact in self.needs(step) if self.holds(fact) is None or (careful and not self.is_seen(fact))],
            lambda simulation: simulation.objection(step) is None,
        )

    def decisive(self, facts: list[Atom], test: Callable[[Simulation], bool]) -> list[Atom]:
        """Return those of `facts` that make `test` come out otherwise if they are not as is believed.

        All of them, where none does alone and all do together.
        """
        if not facts:
            return []
        now = test(self._simulation)
        found = [fact for fact in facts if test(self._toggled([fact])) is not now]
        if found or len(facts) == 1:
            return found
        return facts if test(self._toggled(facts)) is not now else []

    def _toggled(self, facts: Iterable[Atom]) -> Simulation:
        twin, state = self._simulation.copy(), self._simulation.world.state
        facts = list(facts)
        twin.world.update([fact for fact in facts if fact in state], [fact for fact in facts if fact not in state])
        return twin

    def is_true(self, formula: Formula) -> bool:
        """Return whether `formula` holds as far as is known; unknown facts count as false."""
        return self._simulation.holds(formula)


def is_in_place(item: Atom) -> bool:
    """Return whether an item of `modifies` is changed in place, and stays true."""
    return OPEN not in item.args
