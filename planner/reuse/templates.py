"""Templates: plans with parameters, declared or lifted from plans that worked.

What a template needs is what its steps need together from the start: the kernel of a triangle table (Fikes, Hart and
Nilsson, 1972). Where that holds of some objects, its steps lead to what it provides; the checker has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.annotations import Any, Final
from planner.documents.atoms import Notation
from planner.model import Atom, Formula, Object, Problem, TypeHierarchy, Variable, is_variable
from planner.model.formulas import conjuncts
from planner.plan import Plan
from planner.records import dataclass, field
from planner.reuse.checked import checked

Values = Mapping[int, Mapping[str, Any]]
TRIED: Final = 100
"""Choices of objects that are tried, at most."""


@dataclass(frozen=True, slots=True)
class Template:
    """Steps over `parameters` (typed variables) that lead from where `requires` holds to where `provides` does.

    `values` are those of data parameters, by the place of the step.
    """

    name: str
    parameters: tuple[Variable, ...]
    requires: Formula
    provides: Formula
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    values: Values = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the template as `read_templates` takes it, below its name."""
        names = [each.name for each in self.parameters]
        write = Notation(names, ())
        steps = [str(Atom(action, tuple([arg.removeprefix("?") for arg in args]))) for action, args in self.steps]
        return {
            "parameters": {each.name.removeprefix("?"): " | ".join(each.types) for each in self.parameters},
            "requires": [*write.formula(self.requires)],
            "provides": [*write.formula(self.provides)],
            "steps": [
                {"step": step, "values": dict(self.values[number])} if number in self.values else step
                for number, step in enumerate(steps)
            ],
        }

    def plan_for(self, problem: Problem) -> Plan | None:
        """Return the template's plan for `problem` with some objects, checked.

        None where it does not fit, and where nothing is to be done.
        """
        wanted = [part for part in conjuncts(problem.goal.hard) if isinstance(part, Atom)]
        given = [part for part in conjuncts(self.provides) if isinstance(part, Atom)]
        if not wanted or checked(problem, (), {}) is not None:
            return None
        objects = {each.name: each for each in problem.all_objects}
        choice = _Choice(self, problem, objects)
        for number, binding in enumerate(choice.meeting(wanted, given, {})):
            if number >= TRIED:
                return None
            plan = checked(problem, self.steps, binding)
            if plan is not None:
                return plan
        return None


class _Choice:
    """Chooses objects for the parameters of a template: first those of the goal, then those of what it requires."""

    def __init__(self, template: Template, problem: Problem, objects: Mapping[str, Object]) -> None:
        self._types = {each.name: each.types for each in template.parameters}
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._objects = objects
        self._facts: dict[str, list[Atom]] = {}
        for fact in problem.initial:
            self._facts.setdefault(fact.predicate, []).append(fact)
        self._needs = [part for part in conjuncts(template.requires) if isinstance(part, Atom)]
        self._rest = list(self._types)

    def meeting(
        self, wanted: Sequence[Formula], given: Sequence[Formula], binding: Mapping[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the choices with which all of `wanted` are among what is `given`."""
        if not wanted:
            yield from self._met(self._needs, binding)
            return
        for part in given:
            found = self._matched(part, wanted[0], binding)
            if found is not None:
                yield from self.meeting(wanted[1:], given, found)

    def _met(self, needs: Sequence[Atom], binding: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the choices with which `needs` hold at the start, and then those of all other parameters."""
        if needs:
            for fact in self._facts.get(needs[0].predicate, ()):
                found = self._matched(needs[0], fact, binding)
                if found is not None:
                    yield from self._met(needs[1:], found)
            return
        open_ = next((name for name in self._rest if name not in binding), None)
        if open_ is None:
            yield dict(binding)
            return
        for name in self._objects:
            if self._fits(open_, name):
                yield from self._met((), {**binding, open_: name})

    def _matched(self, pattern: Formula, fact: Formula, binding: Mapping[str, str]) -> dict[str, str] | None:
        if not (isinstance(pattern, Atom) and isinstance(fact, Atom)) or pattern.predicate != fact.predicate:
            return None
        found = dict(binding)
        for mine, theirs in zip(pattern.args, fact.args, strict=True):
            known = found.get(mine) if is_variable(mine) else mine
            if known is None and self._fits(mine, theirs):
                found[mine] = theirs
            elif known != theirs:
                return None
        return found

    def _fits(self, variable: str, name: str) -> bool:
        item = self._objects.get(name)
        return item is not None and self._hierarchy.is_a(item.types, self._types[variable])
