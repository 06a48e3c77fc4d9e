"""Lint of hierarchies: findings about tasks and methods, besides those about the actions below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from htn.compilations.htn_reductions import add_reachable_placeholders
from htn.explain.impossible_tasks import INITIAL_TASKS, RelaxedHierarchy, find_impossible_tasks, relax
from htn.explain.report import Failure, Lack
from htn.grounding.instances import METHOD
from htn.lint.method_lint import check_methods
from htn.lint.sister_lint import check_sisters
from htn.model import HtnDomain, HtnProblem, Method, has_numbers
from planner.errors import did_you_mean
from planner.lightweight import Final
from planner.limits import Limits
from planner.lint.action_lint import find_contradiction
from planner.lint.findings import Finding, Level, collect_usage, conjoined_atoms, provided_atoms, wanted_atoms
from planner.lint.problem_lint import Parts, check_domain, check_problem
from planner.lint.proof_lint import judge_by_proof, names_known_objects
from planner.model import Goal, Problem
from planner.model.formulas import Atom, atoms_in, comparisons_in, conjunction, free_variables
from planner.problem_kinds import AnyProblem

if TYPE_CHECKING:
    from planner.explain.single_repairs import Repair


def check_conditions(domain: HtnDomain, problem: Problem | None) -> Iterator[Finding]:
    """Yield a finding for each predicate that methods ask for and neither actions nor the initial state provide.

    A declared one that some method needs is worth a note, and a warning where another name is near; one that nobody
    declared is a warning however methods name it. Without a problem, initial states may provide all but those that
    nobody declared and whose names are near another one.
    """
    uses = collect_usage(domain.classical)
    given = {*uses.provided, *domain.classical.derived, *uses.needed}
    if problem is not None:
        given |= {fact.predicate for fact in (*problem.initial, *problem.unknown)}
    asking, needing = _asking_methods(domain)
    for name, method in asking.items():
        is_new, near = name in domain.inferred, _suggest_predicate(name, domain)
        if name in given or not (is_new or name in needing) or (problem is None and not (is_new and near)):
            continue
        if problem is None:
            message = f"method {method} asks for it and no action provides it; unless initial states do, it is misspelt"
        else:
            so = f"method {needing[name]} can never apply" if name in needing else "it never holds"
            message = f"neither an action nor the initial state provides it, so {so}"
        if is_new:
            message = f"only method {method} names it, at {domain.inferred[name]}, and nobody declares it; {message}"
        level = Level.WARNING if is_new or near else Level.HINT
        at = f"method {needing.get(name, method)}"
        yield Finding(level, "never-provided", f"predicate {name}", message, near or "", "requires", name, at=at)


def _asking_methods(domain: HtnDomain) -> tuple[dict[str, str], dict[str, str]]:
    """Return the first method that asks for each predicate, and the first that cannot do without a fact of it."""
    asking: dict[str, str] = {}
    needing: dict[str, str] = {}
    for method in domain.methods.values():
        for atom in atoms_in(method.precondition):
            asking.setdefault(atom.predicate, method.name)
        for atom in conjoined_atoms(method.precondition):
            needing.setdefault(atom.predicate, method.name)
    return asking, needing


def _suggest_predicate(name: str, domain: HtnDomain) -> str | None:
    """Return the declared predicate that `name` may misspell: one with as many arguments, if there is one."""
    predicates = domain.classical.predicates
    arity = len(predicates[name].parameters)
    known = [each for each in predicates if each != name and each not in domain.inferred]
    alike = [each for each in known if len(predicates[each].parameters) == arity]
    return did_you_mean(name, alike) or did_you_mean(name, known)


_INTENDED_RULES: Final = {"no-effect", "unused-parameter", "no-goal", "useless-action", "dead-end", "same-value"}
"""Rules that do not hold here: methods give an action its arguments, and may want it in the plan for its own sake."""
_USE_RULES: Final = {"unused-predicate", "never-required", "unused-type", "unused-function", "never-read"}
"""Rules about what actions do not use: methods and tasks may use it."""


def check_hierarchy(domain: HtnDomain) -> list[Finding]:
    """Return the findings about `domain` that need no objects, the worst first."""
    classical = _keep_valid(domain, check_domain(domain.classical))
    structure = [*_check_structure(domain), *check_methods(domain, frozenset(), in_turn=False)]
    return _sort_by_level([*classical, *structure, *check_conditions(domain, None)])


def check_htn_problem(problem: HtnProblem, limits: Limits, *, prove: bool = True, search: bool = True) -> list[Finding]:
    """Return the findings about `problem` and its domain, the worst first; raises `LimitReached`.

    With `prove`, a short search looks for a proof that there is no plan, with `search` others do as in
    `planner.lint.problem_lint.check_problem`.
    """
    domain = problem.domain
    classical = list(_keep_valid(domain, check_problem(problem.classical, limits, prove=False, search=search)))
    results = _find_results(problem)  # what the last tasks of all provide is required by nobody
    classical = [each for each in classical if each.rule != "never-required" or each.at not in results]
    wanted = frozenset(atom.predicate for atom in wanted_atoms(problem.classical))
    structure = [*_check_structure(domain), *check_methods(domain, wanted, in_turn=problem.network.is_sequence)]
    conditions = check_conditions(domain, problem.classical)
    parts, reached = Parts(), list[Finding]()
    with parts.check("which tasks can be done"):
        reached += _check_reachability(problem, limits)
    forgotten = {each.states for each in reached if each.rule == "missing-fact"}
    classical = [each for each in classical if each.rule != "missing-fact" or each.states not in forgotten]
    found = [*classical, *structure, *conditions, *reached]
    with parts.check("whether there is a plan"):
        if prove:
            relevant = [f"action {name}" for name in domain.classical.actions]
            found = judge_by_proof(
                problem, found, limits, relevant, repairs=lambda: _repairs(problem), judge=_look_again
            )
    return _sort_by_level([*found, *parts.tell(problem.name)])


def _find_results(problem: HtnProblem) -> set[str]:
    """Return the actions, such as "action drive", that may be the last of an initial task; all without a goal."""
    names = [each.task.predicate for each in problem.network.subtasks]
    if problem.classical.goal == Goal():
        return {f"action {name}" for name in problem.domain.classical.actions}
    seen = set(names)
    while names:
        for method in problem.domain.methods_for(names.pop()):
            network = method.network
            last = {*range(len(network.subtasks))} - {first for first, _ in network.ordering}
            new = {network.subtasks[place].task.predicate for place in last} - seen
            seen |= new
            names += new
    return {f"action {name}" for name in seen}


def _repairs(problem: HtnProblem) -> Sequence[Repair]:
    from htn.explain.task_repairs import list_task_repairs

    return list_task_repairs(problem)


def _look_again(problem: AnyProblem, limits: Limits) -> list[Finding]:
    """Lint a repaired problem, without a proof that there is a plan."""
    assert isinstance(problem, HtnProblem)
    return check_htn_problem(problem, limits, prove=False, search=False)


def _sort_by_level(findings: list[Finding]) -> list[Finding]:
    order = list(Level)
    return sorted(findings, key=lambda finding: order.index(finding.level))


def _keep_valid(domain: HtnDomain, findings: list[Finding]) -> Iterator[Finding]:
    """Yield those `findings` about the classical part that hold with methods above it."""
    used = {f"predicate {atom.predicate}" for each in domain.methods.values() for atom in atoms_in(each.precondition)}
    scopes = [each.parameters for each in domain.tasks.values()] + [each.parameters for each in domain.methods.values()]
    compared = [part for each in domain.methods.values() for part in comparisons_in(each.precondition)]
    used |= {f"function {term.predicate}" for part in compared for term in part.functions}
    used |= {f"type {name}" for parameters in scopes for each in parameters for name in each.types}
    asked = {atom.predicate for each in domain.methods.values() for atom in atoms_in(each.precondition)}
    for finding in findings:
        if finding.rule == "never-given-back" and isinstance(finding.part, Atom) and finding.part.predicate in asked:
            continue
        if finding.rule not in _INTENDED_RULES and not (finding.rule in _USE_RULES and finding.place in used):
            yield finding


def _check_structure(domain: HtnDomain) -> Iterator[Finding]:
    """Yield findings about methods, tasks without (terminating) methods, and actions that no method leads to."""
    for method in domain.methods.values():
        yield from _check_method(method)
    yield from check_sisters(domain)
    users: dict[str, list[str]] = {}
    for method in domain.methods.values():
        for name in dict.fromkeys(each.task.predicate for each in method.network.subtasks):
            users.setdefault(name, []).append(method.name)
    terminating = _terminating_tasks(domain)
    for name in domain.tasks:
        place = f"task {name}"
        if not domain.methods_for(name):
            cannot = f", so method {users[name][0]} can never be used" if name in users else ""
            yield Finding(Level.WARNING, "no-method", place, f"no method is for it{cannot}")
        elif name not in terminating:
            yield Finding(Level.WARNING, "endless-task", place, "no choice of methods comes to an end")
    for name in domain.classical.actions:
        if name not in users:
            message = "no method leads to it"
            yield Finding(Level.HINT, "unused-action", f"action {name}", message, "it may be a task of some problem")


def _check_method(method: Method) -> Iterator[Finding]:
    place = f"method {method.name}"
    condition = conjunction([method.precondition, method.network.constraints])
    clash = find_contradiction(condition)
    if clash is not None:
        message = f"it can never apply: what it requires contradicts itself ({clash})"
        yield Finding(Level.ERROR, "contradicting-requires", place, message, field="requires")
    used = free_variables(condition).union(method.task.args, *(each.task.args for each in method.network.subtasks))
    for parameter in method.parameters:
        if parameter.name not in used:
            message = f"the parameter '{parameter.name.removeprefix('?')}' is used nowhere"
            name = parameter.name.removeprefix("?")
            yield Finding(Level.WARNING, "unused-parameter", place, message, "leave it out", "parameters", name)


def _terminating_tasks(domain: HtnDomain) -> set[str]:
    """Return the tasks that some choice of methods brings to an end; those without methods count as such."""
    found = {*domain.classical.actions, *(name for name in domain.tasks if not domain.methods_for(name))}
    size = -1
    while size < len(found):
        size = len(found)
        for method in domain.methods.values():
            if all(each.task.predicate in found for each in method.network.subtasks):
                found.add(method.task.predicate)
    return found


def _check_reachability(problem: HtnProblem, limits: Limits) -> Iterator[Finding]:
    """Yield the tasks that can never be done, not even with deletes ignored."""
    relaxed = relax(_without_numbers(add_reachable_placeholders(problem)), limits)
    yield from _check_dead_methods(problem.domain, relaxed)
    failures = find_impossible_tasks(relaxed)
    roots = [each for each in failures if _is_root(each, failures, problem)] or list(failures)
    for failure in roots[:MOST_TASKS]:
        yield _report_task(failure, len(failures) - len(roots))
    for lack in dict.fromkeys(lack for each in roots for way in each.attempts[:1] for lack in way.lacks):
        yield from _find_forgotten(lack, roots, problem)


MOST_TASKS: Final = 5
"""Most tasks of which is said that they can never be done."""


def _is_root(failure: Failure, failures: Sequence[Failure], problem: HtnProblem) -> bool:
    """Return whether `failure` rests on no other one: neither on its subtasks, nor on what another task would give."""
    if not failure.attempts or any(way.undoable for way in failure.attempts):
        return not failure.attempts
    names = {each.task.partition("(")[0] for each in failures}
    actions = [each for each in problem.domain.classical.actions.values() if each.name in names]
    given = {atom.predicate for each in actions for atom in provided_atoms(each)}
    own = failure.task.partition("(")[0]
    mine = {x.predicate for each in actions if each.name == own for x in provided_atoms(each)}
    lacked = {lack.condition.partition("(")[0] for way in failure.attempts for lack in way.lacks}
    return lacked.isdisjoint(given - mine)


def _report_task(failure: Failure, more: int) -> Finding:
    tried = str(failure.attempts[0]) if failure.attempts else "no method is for it"
    initial = failure.task == INITIAL_TASKS
    place, they = (failure.task, "they") if initial else (f"task {failure.task}", "it")
    also = f" ({more} more task{'s' if more > 1 else ''} cannot be done for want of that)" if more else ""
    return Finding(Level.ERROR, "impossible-task", place, f"{they} can never be done: {tried}{also}")


def _find_forgotten(lack: Lack, roots: Sequence[Failure], problem: HtnProblem) -> Iterator[Finding]:
    """Yield that the fact of `lack` is not stated, where no action gives it, and such facts of other objects are."""
    name = lack.condition.partition("(")[0]
    like = [fact for fact in problem.classical.initial if fact.predicate == name]
    given = collect_usage(problem.domain.classical).provided
    is_known = names_known_objects(lack.condition, problem.classical)
    if like and name not in given and is_known and str(lack.condition) not in map(str, like):
        needing = next(each.task for each in roots if any(lack in way.lacks for way in each.attempts))
        message = f"{lack.condition} is not stated, though {like[0]} is: {needing} needs it, and no action gives it"
        hint = f"state {lack.condition}, if it holds"
        yield Finding(Level.ERROR, "missing-fact", "initial", message, hint, part=like[-1], states=lack.condition)


def _check_dead_methods(domain: HtnDomain, relaxed: RelaxedHierarchy) -> Iterator[Finding]:
    """Yield the methods that never apply, though their task is demanded and another method for it applies."""
    applied = {name for name in domain.methods if relaxed.relaxed.relation(f"{METHOD}{name}").rows}
    for method in domain.methods.values():
        others = [each for each in domain.methods_for(method.task.predicate) if each.name in applied]
        known = set(relaxed.domain.methods)
        if method.name in known and method.name not in applied and others:
            message = "it can never apply in this problem"
            hint = f"its task is done by {others[0].name} alone" if len(others) == 1 else ""
            yield Finding(Level.HINT, "dead-method", f"method {method.name}", message, hint, "requires")


def _without_numbers(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with all comparisons of numbers taken for possible."""
    if not has_numbers(problem):
        return problem
    from htn.grounding.numeric_hierarchy import abstract_hierarchy

    return abstract_hierarchy(problem).plain
