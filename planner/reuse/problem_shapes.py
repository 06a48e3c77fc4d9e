"""Shapes of problems: all that plans depend on, with numbers for the names of objects.

Objects are numbered by colour refinement (Weisfeiler and Leman, 1968): colours are refined by the facts about objects,
then one of several objects of the same colour is singled out, and so on. Problems of equal shape are isomorphic, and
proofs hold for all of them; the converse may fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.lightweight import Final, dataclass, replace
from planner.model import Action, Atom, Constraint, DomainModel, Formula, Metric, Problem
from planner.model.actions import CostFunction, CostTerm, Done
from planner.model.formulas import (
    Comparison,
    atoms_in,
    conjuncts,
    functions_in,
    substitute,
    substitute_expression,
    walk,
)
from planner.model.problem import NumericMetric, is_numeric, is_temporal
from planner.model.timing import TimedEffect

SEMANTIC_FIELDS: Final = (
    *("name", "parameters", "requires", "provides", "modifies", "when", "after", "creates", "duration", "risk"),
    *("outcomes", "senses", "measures", "lists", "cases", "numbers", "throughout", "at_start", "at_end"),
)
"""Fields of an action that plans depend on, beside its cost and what it uses and holds."""


def write_declarations(domain: DomainModel) -> str:
    """Return the declarations of `domain` that plans depend on as text; Python functions by name."""
    stale = [(each.name, each.parameters, each.stale_with) for each in domain.predicates.values() if each.stale_with]
    actions = "\n".join(map(_write_action, domain.actions.values()))
    functions = domain.functions.values()
    bounds = [(each.name, each.low, each.high) for each in functions if (each.low, each.high) != (None, None)]
    names = f"{domain.name} {dict(domain.types)!r} {domain.constants!r} {stale!r} {bounds!r}"
    return f"{names}\n{actions}\n{domain.axioms!r}"


def calls_python(domain: DomainModel) -> bool:
    """Return whether costs or uses in `domain` come from Python functions, whose results may depend on anything."""
    return any(
        isinstance(term, CostFunction)
        for action in domain.actions.values()
        for terms in (action.cost, *action.uses.values(), *action.holds.values())
        for term in terms
    )


def _write_action(action: Action) -> str:
    parts = [repr(getattr(action, name)) for name in SEMANTIC_FIELDS]
    cost = [_write_term(each) for each in action.cost]
    uses, holds = [
        {name: [_write_term(each) for each in terms] for name, terms in sorted(amounts.items())}
        for amounts in (action.uses, action.holds)
    ]
    return f"{' '.join(parts)} {cost} {uses} {holds}"


def _write_term(term: CostTerm) -> str:
    if not isinstance(term, CostFunction):
        return repr(term)
    function = term.function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"


MAX_SINGLED_OUT: Final = 64
"""Number of objects that are singled out; the remaining ones of equal colour are ordered by name."""
Colours = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """The `text` of a problem with its objects numbered, and the names of the `objects`, by number.

    `is_whole` says that the text determines plans and costs: no Python function gives costs or uses.
    """

    text: str
    objects: tuple[str, ...]
    is_whole: bool = True

    @property
    def key(self) -> str:
        """A hash of the shape."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers of the objects as texts, by name."""
        return {name: f"#{number}" for number, name in enumerate(self.objects)}

    def onto(self, other: Shape) -> dict[str, str]:
        """Return the object of `other`, a shape with the same text, for each object of this one."""
        return dict(zip(self.objects, other.objects, strict=True))


def shape_of(problem: Problem) -> Shape:
    """Return the shape of the part of `problem` that its plans depend on."""
    statements = _Statements(problem)
    colours = statements.refine({name: statements.first[name] for name in statements.names})
    for _ in range(MAX_SINGLED_OUT):
        alike = _find_alike(statements.names, colours)
        if alike is None:
            break
        colours = statements.refine({**colours, alike: f"{colours[alike]}!"})
    order = tuple(sorted(statements.names, key=lambda name: (colours[name], name)))
    numbers = {name: f"#{number}" for number, name in enumerate(order)}
    return Shape("\n".join(statements.text(numbers)), order, not calls_python(statements.problem.domain))


def _find_alike(names: Iterable[str], colours: Colours) -> str | None:
    """Return an object of the first colour that several objects have; None if all colours differ."""
    by_colour: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in names:
        if colours[name] in by_colour:
            found[colours[name]] = by_colour[colours[name]]
        by_colour.setdefault(colours[name], name)
    return found[min(found)] if found else None


class _Statements:
    """The atoms of a problem about each object; constants of the domain keep their names."""

    def __init__(self, problem: Problem) -> None:
        part = problem if is_numeric(problem) or is_temporal(problem) else remove_irrelevant_actions(problem)
        constants = {each.name for each in part.domain.constants}
        self.problem = part
        self.names = [each.name for each in problem.objects if each.name not in constants]
        self.first = {each.name: " | ".join(sorted(each.types)) for each in problem.objects}
        known = set(self.names)
        self._about: dict[str, list[tuple[int, str, Atom]]] = {name: [] for name in self.names}
        for tag, atom in self._atoms():
            for place, arg in enumerate(atom.args):
                if arg in known:
                    self._about[arg].append((place, tag, atom))

    def _atoms(self) -> Iterator[tuple[str, Atom]]:
        """Yield all atoms in the problem, each with a tag for its place."""
        yield from self._stated_atoms()
        part = self.problem
        yield from (("goal", atom) for atom in _terms_in(part.goal.hard))
        for wish in part.goal.soft:
            yield from ((f"wish {wish.utility}", atom) for atom in _terms_in(wish.condition))
        for each in part.constraints:
            for place, happening in enumerate(each.happenings):
                atoms = [happening.action] if isinstance(happening, Done) else _terms_in(happening)
                yield from ((f"{_kind(each)} {place}", atom) for atom in atoms)
        if isinstance(part.metric, NumericMetric):
            yield from (("metric", term) for term in functions_in(part.metric.expression))
        for change in part.timed:
            yield from ((f"at {change.time} {type(each)}", atom) for each in change.provides for atom in atoms_in(each))
            for number in change.numbers:
                yield f"at {change.time} {number.operator}", number.fluent
                yield from ((f"at {change.time} by", term) for term in functions_in(number.value))
        for due in part.due:
            yield from ((f"due {due.by} {due.weight}", atom) for atom in _terms_in(due.condition))

    def _stated_atoms(self) -> Iterator[tuple[str, Atom]]:
        """Yield the atoms that are stated as facts."""
        part = self.problem
        yield from (("initial", atom) for atom in part.initial)
        yield from ((f"value {number}", term) for term, number in part.values.items())
        yield from (("ran", atom) for atom in part.ran)
        yield from (("unknown", atom) for atom in part.unknown)
        yield from ((f"likely {chance}", atom) for atom, chance in part.likely.items())

    def refine(self, colours: Colours) -> dict[str, str]:
        """Return `colours` refined until no statement tells objects of one colour apart."""
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
            f"{tag} {place} {atom.predicate} {' '.join(map(seen, atom.args))}" for place, tag, atom in self._about[name]
        )
        return sha256("\n".join([colours[name], *said]).encode()).hexdigest()

    def text(self, numbers: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of the problem, with numbers for names."""
        part = self.problem
        yield write_declarations(part.domain)
        yield from (f"{numbers[name]}: {self.first[name]}" for name in sorted(self.names, key=numbers.__getitem__))
        yield from sorted(f"{tag}: {atom.substitute(numbers)}" for tag, atom in self._stated_atoms())
        yield from sorted(f"goal: {_rename(each, numbers)}" for each in conjuncts(part.goal.hard))
        yield from sorted(f"wish {wish.utility}: {_rename(wish.condition, numbers)}" for wish in part.goal.soft)
        yield from sorted(f"{_kind(each)}: {_write_happenings(each, numbers)}" for each in part.constraints)
        yield from sorted(f"timed: {_write_change(each, numbers)}" for each in part.timed)
        yield from sorted(f"due {each.by} {each.weight}: {_rename(each.condition, numbers)}" for each in part.due)
        limits = f"{sorted(part.budgets.items())} {sorted(part.capacity.items())} {part.deadline}"
        yield f"limits: {limits} {_write_metric(part.metric, numbers)}"


def _write_metric(metric: Metric | NumericMetric, numbers: Mapping[str, str]) -> str:
    if isinstance(metric, Metric):
        return str(metric)
    return str(replace(metric, expression=substitute_expression(metric.expression, numbers)))


def _write_change(change: TimedEffect, numbers: Mapping[str, str]) -> str:
    facts = sorted(_rename(each, numbers) for each in change.provides)
    changes = sorted(
        f"{each.fluent.substitute(numbers)} {each.operator} {substitute_expression(each.value, numbers)}"
        for each in change.numbers
    )
    return f"{change.time} {facts} {changes}"


def _terms_in(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms in `formula`, and the function terms in its comparisons."""
    for part in walk(formula):
        if isinstance(part, Atom):
            yield part
        elif isinstance(part, Comparison):
            yield from part.functions


def _rename(formula: Formula, numbers: Mapping[str, str]) -> str:
    return repr(substitute(formula, numbers))


def _kind(constraint: Constraint) -> str:
    return f"constraint {constraint.kind.name} {constraint.times} {constraint.utility}"


def _write_happenings(constraint: Constraint, numbers: Mapping[str, str]) -> str:
    found = constraint.mapped(lambda each: substitute(each, numbers), lambda step: step.substitute(numbers))
    return repr(found.happenings)
