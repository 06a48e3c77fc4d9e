"""Steps that must not change places although no fact says so: one writes an item that the other reads or writes.

An item of `modifies` is changed in place, say a document; whether a fact about it holds may stay as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.model import OPEN, Action, Atom, Formula, Problem
from planner.model.atoms import is_variable
from planner.model.formulas import atoms_in
from planner.order.patterns import overlap
from planner.plan import Step
from planner.records import dataclass
from planner.validate.effects import staleness_of


@dataclass(frozen=True, slots=True)
class Patterns:
    """What an action, or a step, writes by `modifies`, and all that it reads or writes."""

    written: tuple[Atom, ...]
    touched: tuple[Atom, ...]


class Items:
    """Answers which steps of `problem` write an item that another one touches."""

    def __init__(self, problem: Problem) -> None:
        self._domain = problem.domain
        self._below = _below(problem)
        self._actions: dict[str, Patterns] = {}
        self._steps: dict[Step, Patterns] = {}
        self.any = any(when.modifies for action in problem.domain.actions.values() for when in action.effects)
        """Whether any action modifies anything."""

    def clash(self, one: Step, other: Step) -> bool:
        """Return whether one of the steps writes an item that the other reads or writes."""
        mine, theirs = self._of(one), self._of(other)
        return _overlap(mine.written, theirs.touched) or _overlap(theirs.written, mine.touched)

    def _of(self, step: Step) -> Patterns:
        if step not in self._steps:
            action = self._domain.actions.get(step.action)
            self._steps[step] = Patterns((), ()) if action is None else self._bound(action, step)
        return self._steps[step]

    def _bound(self, action: Action, step: Step) -> Patterns:
        """Return the patterns of `step`; what its parameters do not say is open."""
        if action.name not in self._actions:
            self._actions[action.name] = self._patterns(action)
        lifted = self._actions[action.name]
        binding = {each.name: value for each, value in zip(action.parameters, step.arguments, strict=False)}
        written, touched = [_ground(patterns, binding) for patterns in (lifted.written, lifted.touched)]
        return Patterns(written, (*touched, *staleness_of(self._domain).of(touched)) if written else touched)

    def _patterns(self, action: Action) -> Patterns:
        written = [atom for when in action.effects for atom in when.modifies]
        given = [next(atoms_in(literal)) for when in action.effects for literal in when.provides]
        conditions = [action.requires, *[when.requires for when in action.effects]]
        read = [atom for condition in conditions for atom in self._read(condition)]
        return Patterns(tuple(dict.fromkeys(written)), tuple(dict.fromkeys([*written, *given, *read])))

    def _read(self, condition: Formula) -> Iterator[Atom]:
        """Yield the atoms that `condition` reads, those below derived ones in place of these."""
        for atom in atoms_in(condition):
            yield from self._below.get(atom.predicate, (atom,))


def _below(problem: Problem) -> dict[str, tuple[Atom, ...]]:
    """Return for each derived predicate what it may depend on, with open arguments."""
    domain = problem.domain
    reads: dict[str, set[tuple[str, int]]] = {}
    for axiom in domain.axioms:
        found = {(atom.predicate, len(atom.args)) for atom in atoms_in(axiom.condition)}
        reads.setdefault(axiom.predicate, set()).update(found)
    for below in reads.values():
        waiting = [name for name, _ in below]
        while waiting:
            more = reads.get(waiting.pop(), set()) - below
            below.update(more)
            waiting += [name for name, _ in more]
    return {
        name: tuple([Atom(base, (OPEN,) * size) for base, size in sorted(below) if base not in reads])
        for name, below in reads.items()
    }


def _ground(patterns: Iterable[Atom], binding: dict[str, str]) -> tuple[Atom, ...]:
    bound = [pattern.substitute(binding) for pattern in patterns]
    return tuple(
        [Atom(each.predicate, tuple([OPEN if is_variable(arg) else arg for arg in each.args])) for each in bound]
    )


def _overlap(some: Iterable[Atom], others: tuple[Atom, ...]) -> bool:
    return any(overlap(one, other) for one in some for other in others)
