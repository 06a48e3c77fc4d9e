"""Writes hierarchical domains and problems as HDDL, with names that every HDDL reader accepts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from htn.compilations.methods_from_actions import as_htn, derived_methods
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from planner.compilations.object_creation import refuse_creation
from planner.compilations.required_values import require_values
from planner.errors import UnsupportedError
from planner.language.pddl import pddl_writer as pddl
from planner.language.pddl.legal_names import RESERVED, Names, Renaming, make_distinct, make_legal, variables_of
from planner.language.pddl.number_bounds import require_bounds
from planner.language.pddl.sections import choose_free_name
from planner.language.pddl.timed_form import asks_for_time, compile_time
from planner.lightweight import dataclass, field, replace
from planner.model import TRUE, Atom, DomainModel, Problem, Variable, is_numeric
from planner.model.domain import has_numbers, refuse_unfinished
from planner.problem_kinds import AnyDomain, AnyProblem


@dataclass(frozen=True, slots=True)
class HtnNames:
    """The names in the files: `heads` are actions and tasks, `classical` has the others."""

    classical: Names
    heads: Mapping[str, str]
    methods: Mapping[str, str]

    @classmethod
    def of(cls, domain: HtnDomain, problem: HtnProblem | None = None) -> HtnNames:
        """Choose the names for `domain`, and for the objects and variables of `problem`.

        Legal names stay, others change, and the names of one kind are distinct. The names of a domain do not depend on
        the problem.
        """
        source = domain.classical
        constants = _legal_names([*(each.name for each in source.constants), *source.unfinished.undeclared])
        objects = [each.name for each in problem.classical.objects if each.name not in constants] if problem else []
        (others,) = make_distinct([objects], {*RESERVED, *constants.values()})
        actions, tasks = make_distinct([source.actions, domain.tasks], set(RESERVED))
        (bound,) = make_distinct([dict.fromkeys(each.name[1:] for each in _declared_variables(domain, problem))], set())
        variables = {f"?{name}": f"?{word}" for name, word in bound.items()}
        types, predicates, functions = map(_legal_names, (source.types, source.predicates, source.functions))
        classical = Names(types, predicates, functions, actions, constants | others, variables)
        return cls(classical, actions | tasks, _legal_names(domain.methods))

    @property
    def changes_nothing(self) -> bool:
        """Whether all names of the problem and the classical domain stay unchanged."""
        names = self.classical
        tables = (names.types, names.predicates, names.functions, names.objects, names.variables, self.heads)
        return all(name == word for table in tables for name, word in table.items())


def _legal_names(names: Collection[str]) -> dict[str, str]:
    return make_distinct([names], set(RESERVED))[0]


def _declared_variables(domain: HtnDomain, problem: HtnProblem | None) -> Iterator[Variable]:
    """Yield all declared variables, with repetitions."""
    goal = [problem.classical.goal.hard] if problem else []
    yield from variables_of(domain.classical, [*goal, *(each.precondition for each in domain.methods.values())])
    yield from problem.parameters if problem else ()
    for task in domain.tasks.values():
        yield from task.parameters
    for method in domain.methods.values():
        yield from method.parameters


def rename_domain(domain: HtnDomain, *, in_time: bool = False) -> HtnDomain:
    """Rename `domain`, whose classical part is plain ADL, to legal names; durations are kept `in_time` only."""
    return _Renaming(HtnNames.of(domain), in_time).domain(domain)


def rename_problem(problem: HtnProblem, *, in_time: bool = False) -> HtnProblem:
    """Rename `problem`, whose classical part is plain ADL, and its domain as `rename_domain` does."""
    names = HtnNames.of(problem.domain, problem)
    rename = _Renaming(names, in_time)
    classical = problem.classical if names.changes_nothing else rename.classical.problem(problem.classical)
    domain, network = rename.domain(problem.domain), rename.network(problem.network)
    classical = replace(classical, name=make_legal(problem.name), domain=domain.classical)
    return HtnProblem(domain, classical, network, rename.classical.variables(problem.parameters))


@dataclass(slots=True)
class _Renaming:
    names: HtnNames
    in_time: bool = False
    classical: Renaming = field(init=False)

    def __post_init__(self) -> None:
        self.classical = Renaming(self.names.classical, self.in_time)

    def domain(self, domain: HtnDomain) -> HtnDomain:
        tasks = [
            Task(self.names.heads[each.name], self.classical.variables(each.parameters))
            for each in domain.tasks.values()
        ]
        methods = [self.method(method) for method in domain.methods.values()]
        return HtnDomain(
            self.classical.domain(domain.classical),
            {each.name: each for each in tasks},
            {each.name: each for each in methods},
        )

    def method(self, method: Method) -> Method:
        return Method(
            self.names.methods[method.name],
            self.task(method.task),
            self.classical.variables(method.parameters),
            self.classical.formula(method.precondition),
            self.network(method.network),
        )

    def network(self, network: Network) -> Network:
        labels = _legal_labels(network)
        subtasks = [Subtask(self.task(each.task), label) for each, label in zip(network.subtasks, labels, strict=True)]
        return Network(tuple(subtasks), network.ordering, self.classical.formula(network.constraints))

    def task(self, task: Atom) -> Atom:
        return Atom(self.names.heads[task.predicate], tuple(map(self.classical.term, task.args)))


def _legal_labels(network: Network) -> list[str]:
    """Return distinct legal labels for the subtasks; none if no subtask has a label."""
    given = [subtask.label for subtask in network.subtasks]
    if not any(given):
        return given
    taken = {label for label in given if label and make_legal(label) == label}
    free, found = set(taken), []
    for place, label in enumerate(given, start=1):
        found.append(label if label in free else choose_free_name(make_legal(label) if label else f"t{place}", taken))
        free.discard(label)
    return found


def write_domain(domain: HtnDomain) -> str:
    """Write `domain` as HDDL: other constructs become plain ADL, and illegal names change.

    Requirements are the fewest that the domain needs. Raises `UnsupportedError` for constructs that HDDL cannot
    express: objects that actions create, costs that Python computes.
    """
    refuse_unfinished(domain.classical, "in HDDL")
    plain = _to_plain_domain(domain)
    return _write_plain_domain(rename_domain(plain), costs=_has_costs(plain.classical))


def _write_plain_domain(written: HtnDomain, *, costs: bool, timed: bool = False) -> str:
    classical, methods = written.classical, written.methods.values()
    conditions = [part for method in methods for part in (method.precondition, method.network.constraints)]
    required = [":hierarchy", *pddl.find_requirements(classical, conditions, costs=costs, timed=timed)]
    if any(method.precondition != TRUE for method in methods):
        required.append(":method-preconditions")
    return "\n".join(
        [
            f"(define (domain {classical.name})",
            f"  (:requirements {' '.join(required)})",
            *pddl.write_declarations(classical, costs=costs, numbers=True),
            *map(_write_task, written.tasks.values()),
            *map(_write_method, methods),
            *pddl.write_actions(classical, costs=costs),
            ")\n",
        ]
    )


def write_problem(problem: HtnProblem) -> str:
    """Write `problem` as HDDL that fits the result of `write_domain` for its domain.

    Raises `UnsupportedError` for soft goals and facts declared unknown.
    """
    from planner.language.pddl.export import to_plain_outcomes

    plain = require_bounds(to_plain_outcomes(problem.classical))
    domain = replace(problem.domain, classical=plain.domain)
    written = rename_problem(replace(problem, domain=domain, classical=plain))
    classical = written.classical
    costs = pddl.counts_costs(classical) or bool(classical.values and not is_numeric(classical))
    return _write_plain_problem(written, costs=costs)


def _write_plain_problem(written: HtnProblem, *, costs: bool) -> str:
    classical = written.classical
    parameters = [f"    :parameters {pddl.write_variables(written.parameters)}"]
    goal = [] if classical.goal.hard == TRUE else [f"  (:goal {pddl.write_block(classical.goal.hard, '    ')})"]
    return "\n".join(
        [
            *pddl.write_opening(classical),
            "  (:htn",
            *parameters,
            *_write_network(written.network),
            "  )",
            *pddl.write_initial(classical, costs=costs),
            *goal,
            *pddl.write_metric(classical, costs=costs),
            ")\n",
        ]
    )


def _to_plain_domain(domain: HtnDomain) -> HtnDomain:
    """Return `domain` with plain ADL actions."""
    from planner.language.pddl.export import to_plain_outcomes

    refuse_creation(domain.classical, "in HDDL")
    return replace(domain, classical=require_bounds(to_plain_outcomes(Problem(domain.name, domain.classical))).domain)


def _has_costs(domain: DomainModel) -> bool:
    priced = any(action.cost for action in domain.actions.values())
    return priced or bool(domain.functions and not has_numbers(domain))


def _write_task(task: Task) -> str:
    return f"  (:task {task.name}\n    :parameters {pddl.write_variables(task.parameters)}\n  )"


def _write_method(method: Method) -> str:
    lines = [
        f"  (:method {method.name}",
        f"    :parameters {pddl.write_variables(method.parameters)}",
        f"    :task {pddl.write_atom(method.task)}",
    ]
    if method.precondition != TRUE:
        lines.append(f"    :precondition {pddl.write_block(method.precondition, '    ')}")
    return "\n".join([*lines, *_write_network(method.network), "  )"])


def _write_network(network: Network) -> list[str]:
    """Return the lines for `network`: `:ordered-subtasks` if its ordering is the written sequence."""
    size, ordering = len(network.subtasks), network.ordering
    chain = ordering == tuple([(place - 1, place) for place in range(1, size)])
    labels = [subtask.label for subtask in network.subtasks]
    if not chain and ordering and not any(labels):
        labels = [f"t{place}" for place in range(1, size + 1)]
    tasks = [pddl.write_atom(subtask.task) for subtask in network.subtasks]
    listed = [f"({label} {task})" if label else task for label, task in zip(labels, tasks, strict=True)]
    key = ":ordered-subtasks" if chain and size else ":subtasks"
    lines = [f"    {key} {pddl.write_conjunction(listed, '    ') if size else '()'}"]
    if ordering and not chain:
        pairs = [f"(< {labels[first]} {labels[second]})" for first, second in ordering]
        lines.append(f"    :ordering {pddl.write_conjunction(pairs, '    ')}")
    if network.constraints != TRUE:
        lines.append(f"    :constraints {pddl.write_block(network.constraints, '    ')}")
    return lines


def write(source: AnyDomain | AnyProblem) -> dict[str, str]:
    """Write a domain, or a problem with its domain, as HDDL: texts by file name.

    A classical domain gets the tasks and methods derived from its actions. Raises as `write_domain` and `write_problem`
    do, and `UnsupportedError` for a classical problem in time: derived tasks come one after another, so its steps would
    neither overlap nor hold while other steps need them.
    """
    match source:
        case DomainModel():
            source = derived_methods(source)
        case Problem():
            _refuse_derived_in_time(source)
            source = as_htn(source)
    match source:
        case HtnDomain():
            return {"domain.hddl": write_domain(source)}
        case HtnProblem():
            classical = require_values(source.classical)
            if classical is not source.classical:
                domain = replace(source.domain, classical=classical.domain)
                source = replace(source, domain=domain, classical=classical)
            if asks_for_time(source.classical):
                return _write_in_time(source)
            return {"domain.hddl": write_domain(source.domain), "problem.hddl": write_problem(source)}
    raise UnsupportedError(f"writing HDDL for '{source.name}'", "classical and hierarchical problems are written")


def _refuse_derived_in_time(problem: Problem) -> None:
    if asks_for_time(problem):
        hint = "write it in PDDL (--to pddl), or declare tasks whose methods say which steps may overlap"
        raise UnsupportedError(f"'{problem.name}' in time, in HDDL, with tasks that follow from its actions", hint)


def _write_in_time(problem: HtnProblem) -> dict[str, str]:
    """Write `problem` with durative actions and timed initial literals (Pellier et al., 2023: HDDL 2.1)."""
    refuse_creation(problem.domain.classical, "in HDDL")
    if problem.classical.due:
        raise UnsupportedError("deadlines of goals beside tasks, in HDDL", "YAML and JSON documents say it (--to yaml)")
    plain = compile_time(problem.classical, "in HDDL").problem
    timed = replace(problem, domain=replace(problem.domain, classical=plain.domain), classical=plain, seal=())
    written = rename_problem(timed, in_time=True)
    costs = pddl.counts_costs(written.classical)
    return {
        "domain.hddl": _write_plain_domain(written.domain, costs=costs, timed=bool(plain.timed)),
        "problem.hddl": _write_plain_problem(written, costs=costs),
    }
