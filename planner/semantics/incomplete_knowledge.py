"""Evaluate conditions and effects in states of which some facts are unknown, in three-valued logic (Kleene, 1952).

One state has two tables for each predicate: `p` has the facts that surely hold, `p?` those that possibly hold. Each
condition is compiled twice. To decide whether it surely holds, positive occurrences of an atom look into `p` and
negative ones into `p?`; to decide whether it possibly holds, the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from planner.lightweight import replace
from planner.model import OPEN, Atom, Axiom, Formula, Imply, Not, Problem, When, is_variable
from planner.model.formulas import children, literals_in, with_children
from planner.model.unknown_facts import find_hidden_variables
from planner.plan import Step
from planner.semantics.axioms import Axioms, World
from planner.semantics.condition_solver import Condition, State
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import Rules, bind_parameters
from planner.semantics.step_effects import Changes, Effect, compute_changes


def possibility_of(fact: Atom) -> Atom:
    """Return the fact of `p?` that says that `fact`, of `p`, possibly holds."""
    return Atom(f"{fact.predicate}?", fact.args)


def _read(formula: Formula, *, helps: bool, surely: bool) -> Formula:
    """Rewrite `formula` to ask whether it holds `surely`, or possibly; `helps` where its truth is wanted."""
    match formula:
        case Atom():
            return formula if helps is surely else possibility_of(formula)
        case Not(part):
            return Not(_read(part, helps=not helps, surely=surely))
        case Imply(premise, conclusion):
            return Imply(_read(premise, helps=not helps, surely=surely), _read(conclusion, helps=helps, surely=surely))
    return with_children(formula, tuple([_read(each, helps=helps, surely=surely) for each in children(formula)]))


def _open_variables(atom: Atom) -> Atom:
    return Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))


class KnowledgeModel:
    """The rules of `problem`, which has unknown facts, that are the same in all states."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rules = Rules(replace(problem, unknown=()))
        domain = problem.domain
        axioms = [
            Axiom(name, axiom.parameters, _read(axiom.condition, helps=True, surely=surely))
            for axiom in domain.axioms
            for name, surely in ((axiom.predicate, True), (f"{axiom.predicate}?", False))
        ]
        twofold = replace(problem, domain=replace(domain, axioms=tuple(axioms)))
        self.axioms = Axioms(twofold, self.rules.universe)
        groups = [(each, variable.facts) for variable in find_hidden_variables(problem) for each in variable.facts]
        self.rivals = {fact: tuple([each for each in facts if each != fact]) for fact, facts in groups}
        """The unknown facts, each with the others of its item."""
        self._effects: dict[str, tuple[tuple[Effect, ...], tuple[Effect, ...]]] = {}
        self._conditions: dict[tuple[Formula, bool], Condition] = {}

    def condition(self, formula: Formula, *, surely: bool) -> Condition:
        """Compile the condition under which `formula` surely, or possibly, holds."""
        key = formula, surely
        if key not in self._conditions:
            self._conditions[key] = self.rules.compiler.compile(_read(formula, helps=True, surely=surely))
        return self._conditions[key]

    def holds(
        self,
        formula: Formula,
        facts: Iterable[Atom],
        unknown: Iterable[Atom],
        *,
        surely: bool,
        values: Values | None = None,
    ) -> bool:
        """Return whether the ground `formula` surely, or possibly, holds, given true `facts` and `unknown` ones.

        `values` are those of functions, which are known.
        """
        facts = [*facts]
        world = World(State([*facts, *map(possibility_of, chain(facts, unknown))], values), self.axioms)
        return world.solver.holds(self.condition(formula, surely=surely), {})

    def effects(self, name: str) -> tuple[tuple[Effect, ...], tuple[Effect, ...]]:
        """Return the effects of the action `name` that surely, and that possibly, happen."""
        if name not in self._effects:
            declared = self.problem.domain.actions[name].effects
            self._effects[name] = (self._compile(declared, surely=True), self._compile(declared, surely=False))
        return self._effects[name]

    def about(self, formula: Formula, facts: Iterable[Atom]) -> list[tuple[Atom, bool]]:
        """Return those of `facts` that the ground `formula` mentions, and whether it requires them to be true.

        Where it mentions a derived predicate, all facts count that match an atom of its axioms.
        """
        patterns: dict[tuple[Atom, bool], None] = {}
        queue = [(_open_variables(atom), sign) for atom, sign in literals_in(formula)]
        while queue:
            atom, sign = queue.pop(0)
            if (atom, sign) in patterns:
                continue
            patterns[atom, sign] = None
            for axiom in self.problem.domain.axioms:
                if axiom.predicate == atom.predicate:
                    queue += [
                        (_open_variables(each), inner) for each, inner in literals_in(axiom.condition, positive=sign)
                    ]
        return [(fact, sign) for pattern, sign in patterns for fact in facts if pattern.matches(fact)]

    def read_by(self, name: str, facts: Iterable[Atom]) -> list[Atom]:
        """Return those of `facts` that the conditions of the effects of the action `name` mention."""
        effects = self.problem.domain.actions[name].effects
        return [fact for effect in effects for fact, _ in self.about(effect.requires, facts)]

    def _compile(self, effects: Iterable[When], *, surely: bool) -> tuple[Effect, ...]:
        domains = self.rules.universe.domains
        read = [(each, self.condition(each.requires, surely=surely)) for each in effects]
        return tuple([Effect(each, domains(each.variables), condition) for each, condition in read])


class KnowledgeState:
    """A state in which the facts `open` are still as unknown as they were initially.

    The outcome of some earlier effect depended on the facts `doubted`. `decided` maps each fact to the supposition that
    decides it, until a step surely writes it: a supposed fact to itself, and the facts of its item that it excludes.
    """

    def __init__(self, prospect: KnowledgeModel) -> None:
        self.prospect = prospect
        self.open = dict.fromkeys(prospect.rivals)
        self.doubt_causes: set[Atom] = set()
        self.decided: dict[Atom, Atom] = {}
        stated = prospect.problem.initial
        self._world = World(State([*stated, *map(possibility_of, chain(stated, self.open))]), prospect.axioms)
        self._ran = State(prospect.problem.ran)

    def copy(self) -> KnowledgeState:
        """Return an independent copy."""
        twin = KnowledgeState.__new__(KnowledgeState)
        twin.prospect, twin.open, twin.doubt_causes = self.prospect, {**self.open}, {*self.doubt_causes}
        twin.decided = {**self.decided}
        twin._world, twin._ran = self._world.copy(), self._ran.copy()  # noqa: SLF001 - of its own
        return twin

    def holds(self, formula: Formula, *, surely: bool, unknown: Iterable[Atom] = ()) -> bool:
        """Return whether the ground `formula` surely, or possibly, holds while the facts `unknown` are unknown."""
        with self._assume_unknown(unknown):
            return self._world.solver.holds(self.prospect.condition(formula, surely=surely), {})

    def misfit(self, step: Step) -> str:
        """Return why `step` cannot be taken here, whatever the unknown facts are; "" where it can."""
        wrong = self.prospect.rules.misfit(step)
        if wrong:
            return wrong
        action = self.prospect.problem.domain.actions[step.action]
        needed = [pattern.substitute(bind_parameters(action, step)) for pattern in action.after]
        missing = next((pattern for pattern in needed if not self._ran.matching(pattern)), None)
        return "" if missing is None else f"it comes after {missing}, which has not run before it"

    def suppose(self, fact: Atom, *, holds: bool) -> None:
        """Suppose that the open `fact` holds, and so no other fact of its item; or that it does not hold."""
        others = [each for each in self.prospect.rivals[fact] if each in self.open] if holds else []
        self._world.update(map(possibility_of, others if holds else [fact]), [fact] if holds else [])
        for each in (fact, *others):
            del self.open[each]
            self.decided[each] = fact

    def rests_on(self, facts: Collection[Atom], formula: Formula) -> bool:
        """Return whether the ground `formula` depends on `facts`: it would not surely hold if they were unknown."""
        facts = [fact for fact, _ in self.prospect.about(formula, facts)]
        return bool(facts) and not self.holds(formula, surely=True, unknown=facts)

    def effects_rest_on(self, facts: Collection[Atom], step: Step) -> bool:
        """Return whether the effects of `step` depend on `facts`: they would differ if these were unknown."""
        facts = self.prospect.read_by(step.action, facts)
        return bool(facts) and self._find_writes(step, facts) != self._find_writes(step)

    @contextmanager
    def _assume_unknown(self, facts: Iterable[Atom]) -> Iterator[None]:
        """Make `facts` unknown inside the context."""
        facts, state = dict.fromkeys(facts), self._world.state
        held = [fact for fact in facts if fact in state]
        excluded = [possibility_of(fact) for fact in facts if possibility_of(fact) not in state]
        self._world.update(held, excluded)
        try:
            yield
        finally:
            self._world.update(excluded, held)

    def _find_changes(self, step: Step, unknown: Iterable[Atom] = ()) -> list[Changes]:
        """Return the sure and the possible changes of `step` while the facts `unknown` are unknown."""
        rules = self.prospect.rules
        binding = bind_parameters(rules.problem.domain.actions[step.action], step)
        with self._assume_unknown(unknown):
            return [
                compute_changes(self._world, effects, rules.staleness, binding)
                for effects in self.prospect.effects(step.action)
            ]

    def _find_writes(self, step: Step, unknown: Iterable[Atom] = ()) -> list[tuple[Collection[Atom], ...]]:
        """Return what `step` surely writes and what it possibly writes while the facts `unknown` are unknown."""
        found = self._find_changes(step, unknown)
        return [tuple(map(frozenset, (each.provided, each.retracted, each.modified))) for each in found]

    def apply(self, step: Step, unknown: Iterable[Atom] = ()) -> None:
        """Apply `step` with the effects that it has while the facts `unknown` are unknown."""
        state = self._world.state
        certain, possible = self._find_changes(step, unknown)
        if certain != possible:
            self.doubt_causes.update(self.prospect.read_by(step.action, self.open))
        lost = [fact for each in possible.retracted for fact in state.matching(each)]
        excluded = [fact for each in certain.retracted for fact in state.matching(possibility_of(each))]
        self._world.update([*lost, *excluded], [*certain.provided, *map(possibility_of, possible.provided)])
        for facts, written in ((self.open, possible), (self.decided, certain)):
            patterns = [*written.provided, *written.retracted]
            for fact in [fact for fact in facts if any(pattern.matches(fact) for pattern in patterns)]:
                del facts[fact]
        self._ran.update((), [Atom(step.action, step.arguments)])
