"""Transformations of methods before search: a root task, split methods, and preconditions that are pulled up.

*Splitting*: the number of a method's instances is a product over its parameters. A parameter that only one subtask
reads, and no condition that may change meanwhile, becomes the parameter of a method of its own for a *part*, a task
that stands for the subtask: so choices are added up, not multiplied (Behnke, Höller, Schmid, Bercher and Biundo, 2020).

*Pulling up*: a precondition of a subtask must hold already when the method begins, unless another subtask may bring it
about in between; what every method of a task needs, the task needs (Magnaguagno, Meneguzzi and de Silva, 2020). Static
conditions, and (in)equalities, can be tested at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence, transitive_successors
from planner.compilations.passes import compile_away
from planner.lightweight import Final, replace
from planner.model import Action, Atom, Equals, Formula, Not, Object, Term
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.constructs import Construct
from planner.model.domain import TypeHierarchy
from planner.model.formulas import conjunction, conjuncts, free_variables, substitute

ROOT: Final = "@root"
"""The name of the task above the initial network, and of its only method."""
PART: Final = "@part "
"""What the names of parts, and of their methods, begin with; the method and the place of the subtask follow."""


def preprocess(problem: HtnProblem, *, splitting: bool = True, changing: Iterable[str] = ()) -> HtnProblem:
    """Return `problem` with plain ADL actions and the root task as its network; with `splitting`, methods are split.

    Facts of the predicates `changing` change although no action writes them.
    """
    classical = compile_away(problem.classical, Construct.CHANGES)
    root = Method(ROOT, Atom(ROOT), problem.parameters, network=problem.network)
    tasks, methods = {**problem.domain.tasks, ROOT: Task(ROOT)}, {**problem.domain.methods, ROOT: root}
    domain = HtnDomain(classical.domain, tasks, methods)
    if splitting:
        actions = classical.domain.actions.values()
        written = {predicate for action in actions for predicate, _ in changed_predicates(action)}
        written |= classical.domain.derived.union(changing)
        domain = split_methods(domain, lambda predicate: predicate not in written)
    return HtnProblem(domain, classical, sequence(Atom(ROOT)))


def split_methods(domain: HtnDomain, is_static: Callable[[str], bool]) -> HtnDomain:
    """Return `domain` with parts for separable parameters; `is_static` tells which predicates never change."""
    tasks, methods = dict(domain.tasks), dict[str, Method]()
    for method in domain.methods.values():
        whole = method
        for place in range(len(method.network.subtasks)):
            separable = _separable_parameters(whole, place, is_static)
            if separable:
                whole, part = _split_method(whole, place, separable)
                typed = {each.name: each for each in part.parameters}
                tasks[part.name] = Task(part.name, tuple([typed[each] for each in part.task.args]))
                methods[part.name] = part
        methods[whole.name] = whole
    return HtnDomain(domain.classical, tasks, methods)


def _separable_parameters(method: Method, place: int, is_static: Callable[[str], bool]) -> set[Term]:
    """Return the parameters of `method` that can be chosen when the subtask at `place` begins."""
    names = {each.name for each in method.parameters}
    mine = names.intersection(method.network.subtasks[place].task.args)
    if mine == names:
        return set()
    uses = Counter(term for each in method.network.subtasks for term in {*each.task.args})
    separable = {term for term in mine if uses[term] == 1 and term not in method.task.args}
    for part in (*conjuncts(method.precondition), *conjuncts(method.network.constraints)):
        terms = free_variables(part)
        if not (terms <= mine and _never_changes(part, is_static)):
            separable -= terms
    return separable


def _never_changes(part: Formula, is_static: Callable[[str], bool]) -> bool:
    match part:
        case Equals() | Not(Equals()):
            return True
        case Atom(predicate) | Not(Atom(predicate)):
            return is_static(predicate)
        case _:
            return False


def _split_method(method: Method, place: int, separable: set[Term]) -> tuple[Method, Method]:
    """Return `method` with a part for the subtask at `place`, and the method for that part."""
    subtask, network = method.network.subtasks[place], method.network
    kept, moved = _divide(method.precondition, separable)
    constraints, bound = _divide(network.constraints, separable)
    name = f"{PART}{method.name} {place}"
    shared = [term for term in dict.fromkeys(subtask.task.args) if term.startswith("?") and term not in separable]
    parameters = tuple([each for each in method.parameters if each.name in subtask.task.args])
    part = Method(name, Atom(name, tuple(shared)), parameters, moved, Network((subtask,), (), bound))
    subtasks = list(network.subtasks)
    subtasks[place] = Subtask(part.task, subtask.label)
    whole = replace(
        method,
        parameters=tuple([each for each in method.parameters if each.name not in separable]),
        precondition=kept,
        network=replace(network, subtasks=tuple(subtasks), constraints=constraints),
    )
    return whole, part


def _divide(condition: Formula, terms: set[Term]) -> tuple[Formula, Formula]:
    """Return the parts of `condition` that are about none of `terms`, and the others."""
    parts = [*conjuncts(condition)]
    moved = [part for part in parts if not terms.isdisjoint(free_variables(part))]
    return conjunction([part for part in parts if part not in moved]), conjunction(moved)


ROUNDS: Final = 8
"""Rounds in which needs climb from methods to the task above them; each round is sound."""

CONSTANT: Final = "= "
"""What comes before a constant where a type could stand."""

Kinds = tuple[tuple[str, ...], ...]
"""For each argument the types of its possible values, or the constant."""


class Needs:
    """The preconditions of the tasks of a domain, whose actions are plain ADL.

    With `alone`, nothing but its subtasks happens between the beginning and the end of a method: so it is where all
    tasks are totally ordered. Otherwise only static conditions can be pulled up: other tasks may bring a condition
    about between the beginning of the method and its first step. Any action may change facts of the predicates
    `changing`.
    """

    def __init__(
        self, domain: HtnDomain, objects: Iterable[Object], *, alone: bool, changing: Iterable[str] = ()
    ) -> None:
        self._domain = domain
        self._alone = alone
        self._by_type = TypeHierarchy(domain.classical.types).objects_by_type(objects)
        self._disjoint: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}
        actions = domain.classical.actions
        self._changes = {name: set(_typed_changes(action)) for name, action in actions.items()}
        self._changes |= {name: set() for name in domain.tasks}
        self._propagate_changes()
        self._static = set(domain.classical.predicates) - {
            predicate for action in actions for predicate, _, _ in self._changes[action]
        }
        self._unsteady = domain.classical.derived.union(changing)
        self._static -= self._unsteady
        self._needs: dict[str, list[Formula]] = {
            name: [part for part in conjuncts(action.requires) if _is_simple(part)] for name, action in actions.items()
        }
        self._needs |= {name: [] for name in domain.tasks}
        self._methods: dict[str, list[Method]] = {name: [] for name in domain.tasks}
        for method in domain.methods.values():
            self._methods[method.task.predicate].append(method)
        for _ in range(ROUNDS):
            if not self._propagate_needs():
                break

    def of_method(self, method: Method) -> list[Formula]:
        """Return the literals over its parameters that must hold when `method` begins, beyond its precondition."""
        return [*dict.fromkeys(self._pull_up(method.network))]

    def _propagate_changes(self) -> None:
        """Let a task change what the subtasks of its methods change."""
        above: dict[str, dict[str, None]] = {}
        for method in self._domain.methods.values():
            for subtask in method.network.subtasks:
                above.setdefault(subtask.task.predicate, {})[method.task.predicate] = None
        queue = list(self._changes)
        while queue:
            name = queue.pop()
            for upper in above.get(name, ()):
                if not self._changes[name] <= self._changes[upper]:
                    self._changes[upper] |= self._changes[name]
                    queue.append(upper)

    def _propagate_needs(self) -> bool:
        """Let a task need what all its methods need; return whether any needs changed."""
        changed = False
        for name, task in self._domain.tasks.items():
            found: list[set[Formula]] = []
            for method in self._methods[name]:
                names = {mine: theirs.name for mine, theirs in zip(method.task.args, task.parameters, strict=True)}
                own = [*conjuncts(method.precondition), *conjuncts(method.network.constraints)]
                parts = [part for part in (*own, *self._pull_up(method.network)) if _is_simple(part)]
                found.append({substitute(part, names) for part in parts if free_variables(part) <= names.keys()})
            common = [*set.intersection(*found)] if found else []
            common.sort(key=str)
            changed |= common != self._needs[name]
            self._needs[name] = common
        return changed

    def _pull_up(self, network: Network) -> Iterator[Formula]:
        """Yield the needs of the subtasks of `network` that no other subtask may bring about."""
        after = transitive_successors(len(network.subtasks), network.ordering)
        places: dict[str, int] = {}
        for place, subtask in enumerate(network.subtasks):
            places[subtask.task.predicate] = places.get(subtask.task.predicate, 0) | 1 << place
        for place, subtask in enumerate(network.subtasks):
            name = subtask.task.predicate
            if not self._needs[name]:
                continue
            parameters = (self._domain.tasks.get(name) or self._domain.classical.actions[name]).parameters
            names = {theirs.name: mine for theirs, mine in zip(parameters, subtask.task.args, strict=True)}
            types = {each.name: each.types for each in parameters}
            later = after[place] | 1 << place
            others = [task for task, bits in places.items() if bits & ~later]
            for need in self._needs[name]:
                if self._stays(need, types, others):
                    yield substitute(need, names)

    def _stays(self, need: Formula, types: Mapping[Term, tuple[str, ...]], others: Collection[str]) -> bool:
        """Return whether none of the tasks `others` can make `need`, about objects of `types`, true."""
        match need:
            case Atom():
                atom, sign = need, True
            case Not(Atom() as atom):
                sign = False
            case _:
                return True
        if atom.predicate in self._static:
            return True
        if atom.predicate in self._unsteady or not self._alone:
            return False
        kinds = _kinds(atom, types)
        return not any(
            (predicate, becomes) == (atom.predicate, sign) and not self._have_no_fact_in_common(kinds, theirs)
            for other in others
            for predicate, becomes, theirs in self._changes[other]
        )

    def _have_no_fact_in_common(self, one: Kinds, other: Kinds) -> bool:
        return any(self._are_disjoint(mine, theirs) for mine, theirs in zip(one, other, strict=True))

    def _are_disjoint(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        if (one, other) not in self._disjoint:
            mine, theirs = (
                {name for each in kinds for name in self._by_type.get(each, (each.removeprefix(CONSTANT),))}
                for kinds in (one, other)
            )
            self._disjoint[one, other] = mine.isdisjoint(theirs)
        return self._disjoint[one, other]


def _is_simple(part: Formula) -> bool:
    return isinstance(part, Atom | Equals) or (isinstance(part, Not) and isinstance(part.part, Atom | Equals))


def changed_predicates(action: Action) -> Iterator[tuple[str, bool]]:
    """Yield the predicates that a plain `action` writes, each with whether facts become true (or false)."""
    return ((predicate, becomes) for predicate, becomes, _ in _typed_changes(action))


def _typed_changes(action: Action) -> Iterator[tuple[str, bool, Kinds]]:
    """Yield the predicates that `action` writes, whether facts become true, and the kinds of their arguments."""
    for effect in action.effects:
        types = {each.name: each.types for each in (*action.parameters, *effect.variables)}
        yield from ((atom.predicate, True, _kinds(atom, types)) for atom in positive_atoms(effect.provides))
        yield from ((atom.predicate, False, _kinds(atom, types)) for atom in negated_atoms(effect.provides))


def _kinds(atom: Atom, types: Mapping[Term, tuple[str, ...]]) -> Kinds:
    return tuple([types.get(each, (CONSTANT + each,)) for each in atom.args])
