"""Find the objects for which a standing goal is in force, and whether its goal is met.

After a change of facts only the objects in question are judged again: a changed fact is unified with the atoms of the
condition and of the goal, and joins find the other objects. Conditions with quantifiers or derived predicates are
judged for all objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from executor.agent.standing_goals.goal_conditions import GoalPattern
from executor.events.events import Note, Provenance
from executor.observe.beliefs import Beliefs
from executor.observe.condition_facts import is_certain, patterns_of
from executor.observe.discovery import find_new_objects
from planner.lightweight import replace
from planner.model import OPEN, Atom, Formula, Object, Problem
from planner.model.domain import TypeHierarchy
from planner.model.formulas import atoms_in, is_variable, substitute
from planner.model.problem import seal_like
from planner.model.unknown_facts import find_hidden_variables, restrict_unknown_facts

Objects = tuple[str, ...]


class Picture:
    """The believed state of the world, in which conditions are judged; `problem` states it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.beliefs = Beliefs(problem)
        self.facts = frozenset(problem.initial)

    def compare(self, problem: Problem) -> dict[Atom, bool]:
        """Return the facts whose value in `problem` differs, with that value."""
        if problem.initial is self.problem.initial:
            return {}
        now = frozenset(problem.initial)
        return {fact: fact in now for fact in sorted(now ^ self.facts, key=str)}

    def adopt(self, problem: Problem) -> bool:
        """Take over `problem`; return whether other things than facts changed, so that all has to be judged again."""
        changed = self.compare(problem)
        same = ("objects", "domain", "unknown", "likely", "ran", "values")
        if any(getattr(problem, name) != getattr(self.problem, name) for name in same):
            self.__init__(problem)  # type: ignore[misc]  # all of it is made anew
            return True
        self.problem = problem
        self.facts = frozenset(problem.initial)
        self.beliefs.adopt([Note(fact, holds, Provenance.GIVEN) for fact, holds in changed.items()])
        return False

    def holds(self, formula: Formula) -> bool:
        """Return whether the ground `formula` is believed to hold, whatever unknown facts are."""
        if self.beliefs.is_sure:
            return self.beliefs.is_true(formula)
        return is_certain(formula, self.beliefs.truth, self.beliefs.simulation.rules.universe, positive=True)

    def facts_of(self, formula: Formula) -> list[Atom]:
        """Return the facts that the ground `formula` depends on."""
        return self.beliefs.facts_of(formula, {})

    def find(self, pattern: GoalPattern, changed: Collection[Atom] | None = None) -> set[Objects]:
        """Return the objects for which the condition of `pattern` holds.

        With `changed`, return at least those among them on which a change of these facts could bear.
        """
        rules = self.beliefs.simulation.rules
        if not pattern.variables:
            return {()} if self.holds(pattern.condition) else set()
        outer: list[dict[str, str]] = [{}]
        if changed is not None and pattern.is_local:
            outer = list(_unify(pattern, changed))
            if not outer:
                return set()
        domains = rules.universe.domains(pattern.variables)
        goals = [rules.compiler.compile(pattern.condition)]
        solve = self.beliefs.simulation.world.solver.solutions
        found = (
            solution
            for binding in outer
            if all(value in domains[name] for name, value in binding.items())
            for solution in solve(goals, domains, dict(binding))
        )
        rows = {tuple([solution[name] for name in domains]) for solution in found}
        return rows if self.beliefs.is_sure else {row for row in rows if self.holds(pattern.condition_for(row))}

    def find_related(self, pattern: GoalPattern, changed: Collection[Atom] | None, among: set[Objects]) -> set[Objects]:
        """Return those of `among` on which a change of the facts `changed` could bear."""
        if changed is None or not pattern.is_local or not among:
            return among
        names = [each.name for each in pattern.variables]
        bindings = [[binding.get(name) for name in names] for binding in _unify(pattern, changed)]
        return {
            row
            for row in among
            if any(all(mine in (None, other) for mine, other in zip(each, row, strict=True)) for each in bindings)
        }

    def patterns_of(self, pattern: GoalPattern) -> list[Atom]:
        """Return the patterns of facts on which the condition depends, with `_` in place of variables."""
        opened = substitute(pattern.condition, {each.name: OPEN for each in pattern.variables})
        atoms = [
            Atom(each.predicate, tuple([OPEN if is_variable(arg) else arg for arg in each.args]))
            for each in atoms_in(opened)
        ]
        return list(dict.fromkeys([*atoms, *patterns_of(pattern.condition, self.problem.domain)]))


def _unify(pattern: GoalPattern, changed: Iterable[Atom]) -> Iterator[dict[str, str]]:
    """Yield the bindings under which an atom of the condition or of the goal is one of the facts `changed`."""
    by_predicate: dict[str, list[Atom]] = {}
    for fact in changed:
        by_predicate.setdefault(fact.predicate, []).append(fact)
    seen = set()
    for atom in (each for part in (pattern.condition, pattern.goal) for each in atoms_in(part)):
        for fact in by_predicate.get(atom.predicate, ()):
            binding: dict[str, str] = {}
            fits = all(
                binding.setdefault(mine, other) == other if is_variable(mine) else mine == other
                for mine, other in zip(atom.args, fact.args, strict=True)
            )
            key = frozenset(binding.items())
            if fits and key not in seen:
                seen.add(key)
                yield binding


def select_fitting(problem: Problem, facts: Mapping[Atom, bool]) -> tuple[dict[Atom, bool], dict[str, Object]]:
    """Return the facts that can be of `problem`, and the objects that they name and it lacks.

    Derived facts, and facts about things of the wrong type, or that cannot become objects, are left out.
    """
    domain, known = problem.domain, {each.name: each.types for each in problem.all_objects}
    found = find_new_objects([fact for fact, holds in facts.items() if holds], domain, lambda name: known.get(name, ()))
    types, hierarchy = {**known, **found}, TypeHierarchy(domain.types)

    def fits(fact: Atom) -> bool:
        places = domain.predicates[fact.predicate].parameters
        return fact.predicate not in domain.derived and all(
            name in types and hierarchy.is_a(types[name], place.types)
            for name, place in zip(fact.args, places, strict=True)
        )

    new = {name: Object(name, kinds) for name, kinds in found.items()}
    return {fact: holds for fact, holds in facts.items() if fits(fact)}, new


def with_facts(problem: Problem, facts: Mapping[Atom, bool]) -> Problem:
    """Return `problem` with changed facts, and with the objects that they name and it lacks."""
    fitting, new = select_fitting(problem, facts)
    if not fitting:
        return problem
    initial = dict.fromkeys(problem.initial)
    for fact, holds in fitting.items():
        if holds:
            initial[fact] = None
        else:
            initial.pop(fact, None)
    objects = (*problem.objects, *new.values()) if new else problem.objects
    found = replace(problem, objects=objects, initial=tuple(initial))
    if problem.unknown:
        hidden = {fact for each in find_hidden_variables(problem) for fact in each.facts}
        unknown, likely = restrict_unknown_facts(problem, frozenset(hidden - fitting.keys()))
        found = replace(found, unknown=unknown, likely=likely)
    return seal_like(found, problem)
