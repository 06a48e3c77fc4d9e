"""Derived methods: every classical domain is a hierarchical one, too.

For each predicate that some action provides there is a task `achieve-P(…)`, done when P holds:

    P-holds             no subtasks, where P holds already
    P-by-A              achieve what the action A requires, one thing after the other; then do A, which provides P
    P-another-way       do any action, then achieve P (the last resort)

The last resort makes this complete: any plan that reaches P is some actions and then P-holds. A problem's goal is a
task of its own, as two goals may only be reachable interleaved; its methods achieve one fact of the goal after
another and then the goal again, for one may have undone another, or do any action first.

For each comparison that a condition requires, such as `fuel(robot) >= 5`, there is a task `achieve-fuel(robot)`, too.
It is done when the comparison holds; else an action that brings its sides nearer to that is applied, and then the task
is done again: "refuel until enough".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, product

from htn.model import HtnDomain, HtnProblem, Method, Network, Task, seal_problem, sequence
from planner.language.declare.model_builder import written_atoms
from planner.lightweight import Final, dataclass, replace
from planner.model import TRUE, And, Atom, Equals, Forall, Formula, Object, Variable
from planner.model.actions import Action, NumericEffect, When, positive_atoms
from planner.model.domain import DomainModel, TypeHierarchy, numeric_fluents
from planner.model.formulas import (
    Arithmetic,
    Comparison,
    Expression,
    atoms_in,
    comparisons_in,
    conjunction,
    conjuncts,
    free_variables,
    functions_in,
    is_variable,
    substitute,
    walk,
)
from planner.model.problem import Problem

ANYTHING: Final = "do-anything"
GOAL: Final = "achieve-goal"


def derived_methods(domain: DomainModel) -> HtnDomain:
    """Return `domain` with the tasks and methods that follow from its actions."""
    return add_derived_methods(HtnDomain(domain))


def add_derived_methods(domain: HtnDomain) -> HtnDomain:
    """Return `domain` with the derived tasks and methods after its own.

    A derived task that has the name and the types of one that is there already is that one: its own methods come first.
    Where only the name is the same, the derived one is numbered.
    """
    return _Deriver(domain).result()


def as_htn(problem: Problem, domain: HtnDomain | None = None) -> HtnProblem:
    """Return `problem` as the task to achieve its goal; the cheapest plans of both cost the same.

    `domain` has methods written by hand, which come before the derived ones; its classical domain is the problem's.
    """
    deriver = _Deriver(HtnDomain(problem.domain) if domain is None else domain)
    task = deriver.add_goal(problem)
    found = HtnProblem(deriver.result(), problem, sequence(task))
    return found if problem.unsealed or domain is not None else seal_problem(found)


@dataclass(frozen=True, slots=True)
class _Changer:
    """A numeric effect, which happens where `condition` holds before the action."""

    action: Action
    effect: NumericEffect
    parameters: tuple[Variable, ...]
    condition: Formula


Pattern = tuple[Comparison, tuple[tuple[str, ...], ...]]
"""A comparison over numbered variables, and their types."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """An effect that adds `fact` where `condition` holds before the action; `always` if the action requires it."""

    action: Action
    fact: Atom
    parameters: tuple[Variable, ...]
    condition: Formula
    always: bool


class _Deriver:
    def __init__(self, domain: HtnDomain) -> None:
        self._domain = domain
        self._classical = _with_created_parameters(domain.classical)
        self._tasks = dict(domain.tasks)
        self._methods = dict(domain.methods)
        names = (*domain.tasks, *domain.methods, *domain.classical.actions, *domain.classical.predicates)
        self._taken = {name.casefold() for name in names}
        self._changing = changing_predicates(domain.classical)
        self._providers = _find_providers(self._classical)
        self._fluents = numeric_fluents(self._classical)
        self._changers = [*_find_changers(self._classical)]
        self._reach: dict[Pattern, str] = {}
        named = [each.name for changer in self._changers for each in changer.parameters]
        prefixes = ("?item" + "-" * number for number in count())
        self._item = next(each for each in prefixes if not any(name.startswith(each) for name in named))
        """What the names of the parameters of tasks for comparisons begin with: those of no action do."""
        self._achieve: dict[str, str] = {}
        for name in self._providers:
            self._achieve[name] = self._add_task(f"achieve-{name}", domain.classical.predicates[name].parameters)
        self._anything = self._add_task(ANYTHING, ())
        for name in self._achieve:
            self._add_achieving(name)
        for action in self._classical.actions.values():
            self._add_method(
                f"do-{action.name}", Atom(self._anything), action.parameters, network=sequence(_atom_of(action))
            )

    def result(self) -> HtnDomain:
        return replace(self._domain, tasks=self._tasks, methods=self._methods)

    def _add_task(self, name: str, parameters: tuple[Variable, ...]) -> str:
        known = self._domain.tasks.get(name)
        if known is not None and _types(known.parameters) == _types(parameters):
            return name
        name = self._fresh(name)
        self._tasks[name] = Task(name, parameters)
        return name

    def _add_method(
        self,
        name: str,
        task: Atom,
        parameters: tuple[Variable, ...],
        precondition: Formula = TRUE,
        network: Network | None = None,
    ) -> None:
        name = self._fresh(name)
        self._methods[name] = Method(name, task, parameters, precondition, network or Network())

    def _fresh(self, name: str) -> str:
        """Return `name`, numbered where something has it already, in whatever case."""
        numbered = (name if number == 1 else f"{name}-{number}" for number in count(1))
        free = next(each for each in numbered if each.casefold() not in self._taken)
        self._taken.add(free.casefold())
        return free

    def _add_achieving(self, predicate: str) -> None:
        task = self._tasks[self._achieve[predicate]]
        args = tuple([each.name for each in task.parameters])
        head = Atom(task.name, args)
        self._add_method(f"{predicate}-holds", head, task.parameters, Atom(predicate, args))
        for provider in self._providers[predicate]:
            self._add_providing(head.predicate, provider)
        another = sequence(Atom(self._anything), head)
        self._add_method(f"{predicate}-another-way", head, task.parameters, network=another)

    def _add_providing(self, task: str, provider: _Provider) -> None:
        """Add the method that achieves the condition of `provider`, and then applies its action."""
        args, more, same = self._separate_arguments(provider)
        steps = [*self._achieve_tasks(provider.condition, provider.parameters), _atom_of(provider.action)]
        if not provider.always:
            steps.append(Atom(task, args))
        self._add_method(
            f"{provider.fact.predicate}-by-{provider.action.name}",
            Atom(task, args),
            (*provider.parameters, *more),
            conjunction([part for part in conjuncts(provider.condition) if self._stays(part)]),
            sequence(*steps, constraints=same),
        )

    def _separate_arguments(self, provider: _Provider) -> tuple[tuple[str, ...], tuple[Variable, ...], Formula]:
        """Return the arguments of the provided fact without repetitions, the new variables, and their equalities."""
        args: list[str] = []
        more: list[Variable] = []
        taken = {each.name for each in provider.parameters}
        predicate = self._classical.predicates[provider.fact.predicate]
        for arg, parameter in zip(provider.fact.args, predicate.parameters, strict=True):
            if arg in args and arg in taken:
                name = next(each for number in count(2) if (each := f"{arg}-{number}") not in taken)
                taken.add(name)
                more.append(Variable(name, parameter.types))
                args.append(name)
            else:
                args.append(arg)
        same = [Equals(each.name, provider.fact.args[args.index(each.name)]) for each in more]
        return tuple(args), tuple(more), conjunction(same) if same else TRUE

    def _achieve_tasks(self, condition: Formula, parameters: Sequence[Variable]) -> list[Atom]:
        """Return the tasks to achieve the facts and comparisons in `condition`, over its `parameters`, each once."""
        found: dict[Atom, None] = {}
        for part in conjuncts(condition):
            if isinstance(part, Atom) and part.predicate in self._achieve:
                found[Atom(self._achieve[part.predicate], part.args)] = None
            elif isinstance(part, Comparison) and not self._stays(part):
                found[self._comparison_task(part, {each.name: each.types for each in parameters})] = None
        return [*found]

    def _comparison_task(self, comparison: Comparison, types: Mapping[str, tuple[str, ...]]) -> Atom:
        """Return the task to achieve `comparison`, over variables of these `types`; add it where it is new."""
        terms = dict.fromkeys(arg for term in comparison.functions for arg in term.args if is_variable(arg))
        names = {term: f"{self._item}{number}" for number, term in enumerate(terms, 1)}
        pattern = comparison.substitute(names), tuple([types[term] for term in terms])
        if pattern not in self._reach:
            fluent = next(term.predicate for term in comparison.functions if term.predicate in self._fluents)
            self._reach[pattern] = self._fresh(f"achieve-{fluent}")
            self._add_reaching(fluent, self._reach[pattern], *pattern)
        return Atom(self._reach[pattern], tuple(terms))

    def _add_reaching(self, fluent: str, name: str, comparison: Comparison, types: Sequence[tuple[str, ...]]) -> None:
        """Add the task to achieve `comparison`, and its methods."""
        parameters = tuple([Variable(f"{self._item}{number}", each) for number, each in enumerate(types, 1)])
        head = Atom(name, tuple([each.name for each in parameters]))
        self._tasks[name] = Task(name, parameters)
        self._add_method(f"{fluent}-holds", head, parameters, comparison)
        for term in dict.fromkeys(comparison.functions):
            direction = _wanted_direction(comparison, term)
            for changer in self._changers:
                if changer.effect.fluent.predicate == term.predicate and _may_help(changer.effect, direction):
                    self._add_changing(fluent, head, parameters, term, changer)
        self._add_method(f"{fluent}-another-way", head, parameters, network=sequence(Atom(self._anything), head))

    def _add_changing(
        self, fluent: str, head: Atom, parameters: tuple[Variable, ...], term: Atom, changer: _Changer
    ) -> None:
        """Add the method that applies the action of `changer` to `term`, and then does the task `head` again."""
        same = [
            Equals(mine, other)
            for mine, other in zip(term.args, changer.effect.fluent.args, strict=True)
            if mine != other
        ]
        self._add_method(
            f"{fluent}-by-{changer.action.name}",
            head,
            (*parameters, *changer.parameters),
            conjunction([part for part in conjuncts(changer.condition) if self._stays(part)]),
            sequence(
                *self._achieve_tasks(changer.condition, changer.parameters),
                _atom_of(changer.action),
                head,
                constraints=conjunction(same) if same else TRUE,
            ),
        )

    def _stays(self, part: Formula) -> bool:
        """Return whether no action changes what `part` reads."""
        read = (term.predicate for each in comparisons_in(part) for term in each.functions)
        changing = any(atom.predicate in self._changing for atom in atoms_in(part))
        return part != TRUE and not changing and self._fluents.isdisjoint(read)

    def add_goal(self, problem: Problem) -> Atom:
        """Add the task to reach the problem's goal, and return it with the objects of the goal as its arguments."""
        goal = _expand_goal(problem)
        chosen = list(_objects_in(goal, problem))
        used = {variable.name for part in walk(goal) for variable in getattr(part, "variables", ())}
        names = (name for number in count(1) if (name := f"?goal{number}") not in used)
        lifted = {each.name: next(names) for each in chosen}
        parameters = tuple([Variable(lifted[each.name], each.types[:1]) for each in chosen])
        name = self._fresh(GOAL)
        self._tasks[name] = Task(name, parameters)
        head = Atom(name, tuple(lifted.values()))
        goal = substitute(goal, lifted)
        self._add_method(f"{name}-holds", head, parameters, goal)
        facts = self._achieve_tasks(goal, parameters)
        if facts:
            self._add_method(f"{name}-in-order", head, parameters, network=sequence(*facts, head))
        another = sequence(Atom(self._anything), head)
        self._add_method(f"{name}-another-way", head, parameters, network=another)
        return Atom(name, tuple(lifted))


def _expand_goal(problem: Problem) -> Formula:
    """Return the goal with universally quantified atoms expanded to one atom for each object."""
    hierarchy = TypeHierarchy(problem.domain.types)
    members = hierarchy.objects_by_type(problem.all_objects)
    parts: list[Formula] = []
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Forall) and isinstance(part.part, Atom):
            names = [variable.name for variable in part.variables]
            columns = [
                {each: None for type_ in variable.types for each in members[type_]} for variable in part.variables
            ]
            rows = product(*columns)
            parts += [part.part.substitute(dict(zip(names, row, strict=True))) for row in rows]
        else:
            parts.append(part)
    return conjunction(parts)


def changing_predicates(domain: DomainModel) -> set[str]:
    """Return the predicates whose facts may change: written, derived, or stale with others."""
    found = {atom.predicate for action in domain.actions.values() for atom in written_atoms(action)}
    found |= {predicate.name for predicate in domain.predicates.values() if predicate.stale_with}
    return found | domain.derived


def _find_providers(domain: DomainModel) -> dict[str, list[_Provider]]:
    """Return the providers of each predicate, in the order in which predicates are declared."""
    found: dict[str, list[_Provider]] = {name: [] for name in domain.predicates}
    constants = {each.name for each in domain.constants}
    for action in domain.actions.values():
        for effect in action.effects:
            for provider in _providers_in(action, effect):
                known = constants | {each.name for each in provider.parameters}
                if known.issuperset(provider.fact.args):
                    found[provider.fact.predicate].append(provider)
    return {name: providers for name, providers in found.items() if providers}


def _providers_in(action: Action, effect: When) -> Iterator[_Provider]:
    """Yield the providers in `effect`; variables of the effect that a fact uses become parameters."""
    mine = {each.name for each in action.parameters}
    if mine & {each.name for each in effect.variables}:
        return
    always = effect.requires == TRUE
    condition = action.requires if always else And((action.requires, effect.requires))
    for fact in positive_atoms(effect.provides):
        needed = {*fact.args, *free_variables(effect.requires)}
        variables = tuple([each for each in effect.variables if each.name in needed])
        yield _Provider(action, fact, (*action.parameters, *variables), condition, always)


def _find_changers(domain: DomainModel) -> Iterator[_Changer]:
    """Yield the numeric effects of the actions of `domain`; variables of an effect become parameters."""
    for action in domain.actions.values():
        mine = {each.name for each in action.parameters}
        for effect in action.effects:
            if not mine & {each.name for each in effect.variables}:
                condition = action.requires
                if effect.requires != TRUE:
                    condition = And((action.requires, effect.requires))
                for change in effect.numbers:
                    needed = {*change.fluent.args, *free_variables(effect.requires)}
                    needed.update(arg for term in functions_in(change.value) for arg in term.args)
                    variables = tuple([each for each in effect.variables if each.name in needed])
                    yield _Changer(action, change, (*action.parameters, *variables), condition)


def _wanted_direction(comparison: Comparison, term: Atom) -> int:
    """Return 1 where the value of `term` is to rise for `comparison` to hold, -1 where it is to fall, 0 for either."""
    sign = _sign_of(term, comparison.left) - _sign_of(term, comparison.right)
    return {">": 1, "<": -1}.get(comparison.relation[0], 0) * ((sign > 0) - (sign < 0))


def _sign_of(term: Atom, expression: Expression) -> float:
    """Return how `expression` grows with `term`, by its sign; 0 where it does not, or where that is not known."""
    match expression:
        case Atom():
            return float(expression == term)
        case Arithmetic("+", parts):
            return sum([_sign_of(term, part) for part in parts])
        case Arithmetic("-", (part,)):
            return -_sign_of(term, part)
        case Arithmetic("-", (left, right)):
            return _sign_of(term, left) - _sign_of(term, right)
        case Arithmetic("*", (factor, part)) | Arithmetic("*" | "/", (part, factor)) if not isinstance(
            factor, Atom | Arithmetic
        ):
            return _sign_of(term, part) * float(factor)
    return 0


def _may_help(effect: NumericEffect, direction: int) -> bool:
    """Return whether `effect` is likely to move its fluent in this direction.

    An expression that it adds is taken for positive; where that is wrong, the last resort has the action.
    """
    if not effect.is_additive or not direction:
        return True
    amount = 1 if isinstance(effect.value, Atom | Arithmetic) else effect.value
    return (amount if effect.operator == "+=" else -amount) * direction > 0


def _with_created_parameters(domain: DomainModel) -> DomainModel:
    """Return `domain` with the objects that actions create as their last parameters, as in subtasks."""
    actions = domain.actions.items()
    return replace(domain, actions={name: replace(each, parameters=each.step_parameters) for name, each in actions})


def _atom_of(action: Action) -> Atom:
    return Atom(action.name, tuple([each.name for each in action.parameters]))


def _types(parameters: Iterable[Variable]) -> list[tuple[str, ...]]:
    return [each.types for each in parameters]


def _objects_in(goal: Formula, problem: Problem) -> Iterator[Object]:
    """Yield the objects that `goal` names, which its domain does not know, each once."""
    constants = {each.name for each in problem.domain.constants}
    objects: Mapping[str, Object] = {each.name: each for each in problem.objects if each.name not in constants}
    terms: dict[str, None] = {}
    for part in walk(goal):
        match part:
            case Atom(_, args):
                terms.update(dict.fromkeys(args))
            case Equals(left, right):
                terms.update({left: None, right: None})
            case Comparison():
                terms.update(dict.fromkeys(arg for term in part.functions for arg in term.args))
    return (objects[term] for term in terms if term in objects)
