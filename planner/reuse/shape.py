"""The shape of a problem: what is left of it when its objects lose their names.

Objects are told apart by what is said of them: colours are refined until nothing more tells two objects apart
(Weisfeiler and Leman, 1968), then one of those that look alike is singled out, and so on. Problems with equal texts are
the same up to the names of objects; the same problem may have two texts, where objects look alike and are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from planner.annotations import Final
from planner.model import Atom, Constraint, Formula, Problem
from planner.model.constraints import Done
from planner.model.formulas import atoms_in, conjuncts, substitute
from planner.normalise import relevant_part
from planner.records import dataclass
from planner.reuse.declared import calls_python, declared

MOST_SINGLED: Final = 64
"""Objects that look like others are singled out so often; what then still looks alike is told apart by name."""
Colours = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """`text` says a problem with its objects numbered; `objects` are their names, by number.

    `is_whole`: the text says all that plans and their costs depend on; else Python functions do, too.
    """

    text: str
    objects: tuple[str, ...]
    is_whole: bool = True

    @property
    def key(self) -> str:
        """A short name of the shape."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers of the objects as texts, by name."""
        return {name: f"#{number}" for number, name in enumerate(self.objects)}

    def onto(self, other: Shape) -> dict[str, str]:
        """Return which object of `other`, a shape with the same text, stands for which of this one."""
        return dict(zip(self.objects, other.objects, strict=True))


def shape_of(problem: Problem) -> Shape:
    """Return the shape of `problem`: of what matters for its plans, and nothing else."""
    said = _Said(problem)
    colours = said.refined({name: said.first[name] for name in said.names})
    for _ in range(MOST_SINGLED):
        alike = _first_alike(said.names, colours)
        if alike is None:
            break
        colours = said.refined({**colours, alike: f"{colours[alike]}!"})
    order = tuple(sorted(said.names, key=lambda name: (colours[name], name)))
    numbers = {name: f"#{number}" for number, name in enumerate(order)}
    return Shape("\n".join(said.text(numbers)), order, not calls_python(said.problem.domain))


def _first_alike(names: Iterable[str], colours: Colours) -> str | None:
    """Return an object that another one looks like; None where all are told apart."""
    by_colour: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in names:
        if colours[name] in by_colour:
            found[colours[name]] = by_colour[colours[name]]
        by_colour.setdefault(colours[name], name)
    return found[min(found)] if found else None


class _Said:
    """What a problem says of its objects; constants of the domain keep their names."""

    def __init__(self, problem: Problem) -> None:
        part = relevant_part(problem)
        constants = {each.name for each in part.domain.constants}
        self.problem = part
        self.names = [each.name for each in problem.objects if each.name not in constants]
        self.first = {each.name: " | ".join(sorted(each.types)) for each in problem.objects}
        known = set(self.names)
        self._of: dict[str, list[tuple[int, str, Atom]]] = {name: [] for name in self.names}
        for tag, atom in self._atoms():
            for place, arg in enumerate(atom.args):
                if arg in known:
                    self._of[arg].append((place, tag, atom))

    def _atoms(self) -> Iterator[tuple[str, Atom]]:
        """Yield all atoms that the problem states or asks for, with where it does."""
        yield from self._stated()
        part = self.problem
        yield from (("goal", atom) for atom in atoms_in(part.goal.hard))
        for wish in part.goal.soft:
            yield from ((f"wish {wish.utility}", atom) for atom in atoms_in(wish.condition))
        for each in part.constraints:
            for place, happening in enumerate(each.happenings):
                atoms = [happening.action] if isinstance(happening, Done) else atoms_in(happening)
                yield from ((f"{_kind(each)} {place}", atom) for atom in atoms)

    def _stated(self) -> Iterator[tuple[str, Atom]]:
        """Yield the atoms that stand alone."""
        part = self.problem
        yield from (("initial", atom) for atom in part.initial)
        yield from ((f"value {number}", term) for term, number in part.values.items())
        yield from (("ran", atom) for atom in part.ran)
        yield from (("unknown", atom) for atom in part.unknown)
        yield from ((f"likely {chance}", atom) for atom, chance in part.likely.items())

    def refined(self, colours: Colours) -> dict[str, str]:
        """Return `colours` as fine as what is said of objects can make them."""
        kinds = len(set(colours.values()))
        while True:
            finer = {name: self._colour(name, colours) for name in self.names}
            if len(set(finer.values())) == kinds:
                return dict(colours)
            colours, kinds = finer, len(set(finer.values()))

    def _colour(self, name: str, colours: Colours) -> str:
        def seen(arg: str) -> str:
            return "*" if arg == name else colours.get(arg, arg)

        said = sorted(
            f"{tag} {place} {atom.predicate} {' '.join(map(seen, atom.args))}" for place, tag, atom in self._of[name]
        )
        return sha256("\n".join([colours[name], *said]).encode()).hexdigest()

    def text(self, numbers: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of the problem, with numbers for names."""
        part = self.problem
        yield declared(part.domain)
        yield from (f"{numbers[name]}: {self.first[name]}" for name in sorted(self.names, key=numbers.__getitem__))
        yield from sorted(f"{tag}: {atom.substitute(numbers)}" for tag, atom in self._stated())
        yield from sorted(f"goal: {_renamed(each, numbers)}" for each in conjuncts(part.goal.hard))
        yield from sorted(f"wish {wish.utility}: {_renamed(wish.condition, numbers)}" for wish in part.goal.soft)
        yield from sorted(f"{_kind(each)}: {_happening(each, numbers)}" for each in part.constraints)
        yield f"limits: {sorted(part.budgets.items())} {part.deadline} {part.metric}"


def _renamed(formula: Formula, numbers: Mapping[str, str]) -> str:
    return repr(substitute(formula, numbers))


def _kind(constraint: Constraint) -> str:
    return f"constraint {constraint.kind.name} {constraint.times} {constraint.utility}"


def _happening(constraint: Constraint, numbers: Mapping[str, str]) -> str:
    found = constraint.mapped(lambda each: substitute(each, numbers), lambda step: step.substitute(numbers))
    return repr(found.happenings)
