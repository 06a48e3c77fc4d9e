"""Derived methods: every classical domain is a hierarchical one, too.

For each predicate that some action provides there is a task `achieve-P(…)`, done when P holds:

    P-holds             no subtasks, where P holds already
    P-by-A              achieve what the action A requires, one thing after the other; then do A, which provides P
    P-another-way       do any action, then achieve P (the last resort)

The last resort makes this complete: any plan that reaches P is some actions and then P-holds. A problem's goal is a
task of its own, as two goals may only be reachable interleaved; its methods achieve one fact of the goal after
another and then the goal again, for one may have undone another, or do any action first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count, product

from htn.model import HtnDomain, HtnProblem, Method, Network, Task, seal_problem, sequence
from planner.language.declare.model_builder import written_atoms
from planner.lightweight import Final, dataclass, replace
from planner.model import TRUE, And, Atom, Equals, Forall, Formula, Object, Variable
from planner.model.actions import Action, When, positive_atoms
from planner.model.domain import DomainModel, TypeHierarchy
from planner.model.formulas import atoms_in, conjunction, conjuncts, free_variables, substitute, walk
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
        steps = [*self._achieve_tasks(provider.condition), _atom_of(provider.action)]
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

    def _achieve_tasks(self, condition: Formula) -> list[Atom]:
        """Return the tasks to achieve the facts in `condition`, each once."""
        facts = [part for part in conjuncts(condition) if isinstance(part, Atom) and part.predicate in self._achieve]
        return [Atom(self._achieve[fact.predicate], fact.args) for fact in dict.fromkeys(facts)]

    def _stays(self, part: Formula) -> bool:
        return part != TRUE and not any(atom.predicate in self._changing for atom in atoms_in(part))

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
        facts = self._achieve_tasks(goal)
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
    return (objects[term] for term in terms if term in objects)
