"""From constraints on the way to conditions and effects of the actions that matter to them.

    hard   an action requires that it does not break the constraint
    soft   where it is broken, a fact says so from then on: a wish that this fact does not hold

Actions keep their names and arguments, so plans need no mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.annotations import Final
from planner.model import (
    FALSE,
    TRUE,
    Action,
    And,
    Atom,
    Constraint,
    Formula,
    Goal,
    Not,
    Number,
    Or,
    Predicate,
    Problem,
    SoftGoal,
    When,
)
from planner.model.actions import added, deleted
from planner.model.formulas import atoms_in, conjunction, conjuncts
from planner.normalise.counters import effect
from planner.normalise.declarations import to_adl
from planner.normalise.happenings import Before, Watching
from planner.normalise.monitors import Monitor, monitor
from planner.normalise.observers import observer
from planner.normalise.regression import both, either, opposite
from planner.records import dataclass, replace

MARK: Final = "@constraint-"
"""What the predicates of monitors begin with; the number of the constraint follows."""


NO_NAMES: Final[Mapping[str, str]] = {}
BROKEN: Final = "-kept"
"""What the predicates end with that never hold."""


def without_constraints(
    problem: Problem, *, soft: bool = True, names: Mapping[str, str] = NO_NAMES, plainly: bool = False
) -> Problem:
    """Return `problem` in plain ADL without constraints: its plans are those that keep the hard ones.

    Soft constraints become soft goals, after those that there are; or are dropped, without `soft`. Actions in `names`
    go by another name where constraints speak of steps. `plainly` has all constraints watched as those on derived
    predicates are. A problem without constraints is returned unchanged.
    """
    if not problem.constraints:
        return problem
    plain = to_adl(problem)
    watching = Watching(plain, names)
    numbered = [(number, each) for number, each in enumerate(plain.constraints) if soft or each.utility is None]
    watches = [_Watch.of(number, each, watching, plainly) for number, each in numbered]
    parts = {
        action.name: [watch.at(before) for watch in watches]
        for action in plain.domain.actions.values()
        for before in [watching.before(action)]
    }
    initial = [fact for watch in watches for fact in watch.initial]
    possible = {*initial, *(atom for found in parts.values() for part in found for atom in part.adds)}
    actions = {name: _acting(plain.domain.actions[name], found, possible) for name, found in parts.items()}
    facts = dict.fromkeys([*initial, *(atom for found in parts.values() for part in found for atom in part.facts)])
    facts |= dict.fromkeys(atom for watch in watches for atom in atoms_in(watch.final) if _is_own(atom))
    predicates = {fact.predicate: Predicate(fact.predicate) for fact in facts}
    hard = [part for watch in watches if watch.utility is None for part in conjuncts(watch.final)]
    wishes = tuple([SoftGoal(watch.final, watch.utility) for watch in watches if watch.utility is not None])
    goal = plain.goal
    return replace(
        plain,
        domain=replace(plain.domain, actions=actions, predicates={**plain.domain.predicates, **predicates}),
        initial=(*plain.initial, *initial),
        goal=Goal(conjunction([*conjuncts(goal.hard), *hard]) if hard else goal.hard, (*goal.soft, *wishes)),
        constraints=(),
    )


def constraint_of(formula: Formula, problem: Problem) -> Constraint | None:
    """Return the constraint of `problem` whose monitor `formula` reads, if there is one."""
    numbers = [atom.predicate.removeprefix(MARK) for atom in atoms_in(formula) if _is_own(atom)]
    return problem.constraints[int(numbers[0].partition("-")[0])] if numbers and problem.constraints else None


def is_monitor(fact: Atom | Not) -> bool:
    """Return whether `fact` is one of a monitor, or the negation of one."""
    atom = fact.part if isinstance(fact, Not) else fact
    return isinstance(atom, Atom) and _is_own(atom)


def _is_own(atom: Atom) -> bool:
    return atom.predicate.startswith(MARK)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one action does about one constraint: what it must `avoid`, and its effects on the monitor."""

    avoid: Formula
    effects: tuple[When, ...]

    @property
    def adds(self) -> list[Atom]:
        return [atom for when in self.effects for atom in added(when.provides)]

    @property
    def facts(self) -> list[Atom]:
        return [atom for when in self.effects for atom in (*added(when.provides), *deleted(when.provides))]


@dataclass(frozen=True, slots=True)
class _Watch:
    """A constraint, its monitor, and what the predicates of the monitor's facts begin with."""

    monitor: Monitor
    name: str
    utility: Number | None

    @classmethod
    def of(cls, number: int, constraint: Constraint, watching: Watching, plainly: bool) -> _Watch:  # noqa: FBT001
        reads = any(map(watching.reads_derived, (constraint.what, constraint.other)))
        name = f"{MARK}{number}"
        made = (observer if plainly or reads else monitor)(constraint, name, watching)
        return cls(made, name, constraint.utility)

    @property
    def broken(self) -> Atom:
        """The fact that a soft constraint has been broken."""
        return Atom(f"{self.name}-broken")

    @property
    def initial(self) -> tuple[Atom, ...]:
        broken = self.utility is not None and self.monitor.broken
        return (*self.monitor.initial, self.broken) if broken else self.monitor.initial

    @property
    def final(self) -> Formula:
        """What must hold at the end, or had better: a fact that nothing makes true where it is broken initially."""
        if self.utility is not None:
            return both([Not(self.broken), self.monitor.final])
        return Atom(self.name + BROKEN) if self.monitor.broken else self.monitor.final

    def at(self, before: Before) -> _Part:
        breaks, effects = self.monitor.breaks(before), self.monitor.effects(before)
        if self.utility is not None:
            return _Part(FALSE, (*effects, *effect(breaks, self.broken)))
        return _Part(breaks, tuple(effects))


def _acting(action: Action, parts: Sequence[_Part], possible: set[Atom]) -> Action:
    """Return `action` with what the constraints ask of it; monitors' facts are among `possible`, or never hold."""
    needs = [part for each in parts for part in conjuncts(opposite(_live(each.avoid, possible)))]
    effects = [replace(when, requires=_live(when.requires, possible)) for each in parts for when in each.effects]
    always = [literal for when in effects if when.requires == TRUE for literal in when.provides]
    if not needs and not effects:
        return action
    return replace(
        action,
        requires=conjunction([*conjuncts(action.requires), *needs]) if needs else action.requires,
        provides=tuple(dict.fromkeys([*action.provides, *always])),
        when=(*action.when, *[when for when in effects if when.requires not in (TRUE, FALSE)]),
    )


def _live(formula: Formula, possible: set[Atom]) -> Formula:
    """Return `formula` with the facts of monitors that never hold put in."""
    match formula:
        case Atom() if _is_own(formula) and formula not in possible:
            return FALSE
        case Not(Atom() as atom) if _is_own(atom) and atom not in possible:
            return TRUE
        case And(parts):
            return both([_live(part, possible) for part in parts])
        case Or(parts):
            return either([_live(part, possible) for part in parts])
        case _:
            return formula
