"""Plans for tasks on suppositions about unknown facts: the classical translation, in the methods, too.

The searches are those of `planner.compilations.contingent.assumption_based_planning`. Suppositions come before all
tasks: a task of its own supposes one fact after the other. So whether a look pays is not weighed here; a look is taken
where the tasks contain it, or a step needs it that rests on no guess.
"""

from __future__ import annotations

from collections.abc import Sequence

from htn.compilations.htn_in_time import is_in_time, schedule_tasks
from htn.compilations.htn_reductions import find_own_nodes
from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from planner.compilations.contingent.assumption_based_planning import Frame, is_exact, solve_frame
from planner.compilations.contingent.knowledge import (
    Translation,
    make_translation,
    read_predicates,
    translate_all,
    unknown_predicates,
)
from planner.compilations.contingent.readings import Reading, reading_of_known, translate
from planner.compilations.contingent.supposition_actions import BEGIN, Supposing
from planner.compilations.passes import compile_away
from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.model import Atom, Formula, Problem
from planner.model.constructs import Construct
from planner.model.domain import creates_objects
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, unsupported_result

SUPPOSE: Final = "@suppose"
"""The task that supposes facts."""


def list_preconditions(problem: HtnProblem) -> list[Formula]:
    """Return the preconditions of the methods."""
    return [each.precondition for each in problem.domain.methods.values()]


def read_methods(problem: HtnProblem, classical: Problem, reading: Reading) -> HtnProblem:
    """Return `problem` with a translation as its classical part, and preconditions of methods in the same `reading`."""
    methods = {
        name: replace(each, precondition=translate(each.precondition, reading))
        for name, each in problem.domain.methods.items()
    }
    domain = replace(problem.domain, classical=classical.domain, methods=methods)
    return replace(problem, classical=classical, domain=domain, seal=())


def suppose_unknown_facts(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result | None:
    """Plan on suppositions about unknown facts; return None without any, or where objects are to be created first."""
    classical = problem.classical
    if not classical.unknown or options.engine is not None:
        return None
    if creates_objects(classical.domain):
        reason = "unknown facts beside objects that actions create, with tasks in time"
        return unsupported_result(reason) if is_in_time(problem) else None
    try:
        asked = _prepare(problem)
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    if asked is None:
        known = replace(problem, classical=replace(classical, unknown=(), likely={}), seal=())
        found = solve(known, options)
        return found if found.plan is None else replace(found, plan=replace(found.plan, problem=problem))
    return solve_frame(_frame_of(problem, asked), options, solve)


def _prepare(problem: HtnProblem) -> Translation | None:
    classical, read = problem.classical, list_preconditions(problem)
    if is_in_time(problem):
        return translate_all(classical, read, lasts=True)
    matter = unknown_predicates(classical) & read_predicates(classical, read)
    return make_translation(classical, compile_away(classical, Construct.CHANGES), matter)


def _frame_of(problem: HtnProblem, asked: Translation) -> Frame:
    from htn.verification.supposed_plans import verify_on_suppositions

    return Frame(
        problem,
        asked,
        lambda translated, reading: read_methods(problem, translated, reading),
        lambda made: _suppose_first(problem, asked, made),
        lambda plan, made: _restore(plan, problem, asked, made),
        lambda plan: verify_on_suppositions(problem, plan),
        lambda _: None,
        is_early=True,
        is_exact=is_exact(asked),
        also=tuple(list_preconditions(problem)),
    )


def _suppose_first(problem: HtnProblem, asked: Translation, made: Supposing) -> HtnProblem:
    """Return the problem in which the task to suppose facts comes first, then an end of that, then all other tasks."""
    plain = read_methods(problem, made.problem, reading_of_known(asked.words.possible))
    methods = {SUPPOSE: Method(SUPPOSE, Atom(SUPPOSE))}
    for name in made.meaning:
        parameters = made.problem.domain.actions[name].parameters
        step = Atom(name, tuple([each.name for each in parameters]))
        methods[f"{SUPPOSE}-by-{name}"] = Method(
            f"{SUPPOSE}-by-{name}", Atom(SUPPOSE), parameters, network=sequence(step, Atom(SUPPOSE))
        )
    domain = HtnDomain(
        made.problem.domain,
        {**plain.domain.tasks, SUPPOSE: Task(SUPPOSE)},
        {**methods, **plain.domain.methods},
        plain.domain.inferred,
        plain.domain.spelling,
    )
    return replace(plain, domain=domain, network=_after_suppositions(plain.network))


def _after_suppositions(network: Network) -> Network:
    moved = [(first + 2, second + 2) for first, second in network.ordering]
    after = [(1, place + 2) for place in range(len(network.subtasks))]
    first = (Subtask(Atom(SUPPOSE)), Subtask(Atom(BEGIN)))
    return replace(network, subtasks=(*first, *network.subtasks), ordering=((0, 1), *after, *moved))


def _restore(plan: Plan, problem: HtnProblem, asked: Translation, made: Supposing) -> Plan:
    """Return `plan` without suppositions; in time, as early as its order allows."""
    kept = [place for place, step in enumerate(plan.steps) if made.is_own(step)]
    steps = tuple([plan.steps[place] for place in kept])
    tree = plan.tree
    if isinstance(tree, Decomposition):
        tree = tree.keep(find_own_nodes(tree, problem)).move_steps({place: new for new, place in enumerate(kept)})
    found = replace(plan, steps=steps, tree=tree, problem=problem)
    if not plan.times:
        return found
    known = asked.suppose(asked.knowing(), made.find_supposed(plan.steps))
    hierarchy = read_methods(problem, known, reading_of_known(asked.words.possible))
    early = schedule_tasks(hierarchy, replace(found, problem=hierarchy, times=()))
    later = replace(found, times=tuple([plan.times[place] for place in kept]))
    return later if early is None else replace(early, problem=problem)


def find_needs(problem: HtnProblem, plan: Plan, reading: Reading) -> dict[int, Sequence[Formula]]:
    """Return for numbers of steps the ground preconditions, in this `reading`, of methods that begin with the step."""
    from htn.compilations.htn_in_time import steps_below
    from planner.model.formulas import TRUE, substitute

    found: dict[int, list[Formula]] = {}
    if not isinstance(plan.tree, Decomposition):
        return {}
    for node, steps in zip(plan.tree.nodes, steps_below(plan.tree), strict=True):
        if node.step is not None or not steps:
            continue
        method = problem.domain.methods[node.method]
        if method.precondition != TRUE and len(node.binding) == len(method.parameters):
            binding = dict(zip([each.name for each in method.parameters], node.binding, strict=True))
            needed = translate(substitute(method.precondition, binding), reading)
            found.setdefault(min(steps) + 1, []).append(needed)
    return {number: tuple(each) for number, each in found.items()}
