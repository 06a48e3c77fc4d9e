"""A hierarchical problem as a classical one whose relaxed reachability goes along the hierarchy.

A method becomes an action that needs its task to be *demanded*, and demands its subtasks; an action needs to be
demanded, too. What can be reached then, with deletes ignored, is all that a decomposition can use: grounding along the
hierarchy from above and along the state from the front at once (Behnke, Höller, Schmid, Bercher and Biundo, 2020, do
it in turns).
"""

from __future__ import annotations

from htn.model import HtnProblem, Method, Task, sequence
from htn.needs import Needs, changes
from htn.rooted import ROOT, rooted
from htn.split import split
from planner.annotations import Final
from planner.model import Action, Atom, Predicate, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.normalise import to_adl
from planner.records import replace

DEMANDED: Final = "@do "
"""What the predicate of a demand begins with; the name of the task follows."""
METHOD: Final = "@by "
"""What the action that stands for a method begins with; the name of the method follows."""
RAN: Final = Atom("@ran")
"""A fact that everything makes true: what changes nothing must not vanish."""


def plain(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with actions whose effects are plain ADL, methods split, and a single task in its network."""
    classical = to_adl(problem.classical)
    written = {predicate for action in classical.domain.actions.values() for predicate, _ in changes(action)}
    written |= classical.domain.derived
    domain = replace(rooted(problem), classical=classical.domain)
    domain = split(domain, lambda predicate: predicate not in written)
    return HtnProblem(domain, classical, sequence(Atom(ROOT)))


def program(problem: HtnProblem) -> Problem:
    """Return the classical problem whose reachable actions are the actions and methods of the plain `problem`."""
    domain, classical = problem.domain, problem.classical
    needs = Needs(domain, classical.all_objects, alone=problem.is_ordered)
    actions = [_action(action) for action in classical.domain.actions.values()]
    actions += [_method(method, needs) for method in domain.methods.values()]
    predicates = [*map(_demand, domain.tasks.values()), *map(_demand, classical.domain.actions.values())]
    grown = replace(
        classical.domain,
        actions={action.name: action for action in actions},
        predicates={**classical.domain.predicates, **{each.name: each for each in predicates}, RAN.predicate: _ran()},
    )
    initial = (*classical.initial, demanded(Atom(ROOT)))
    return replace(classical, domain=grown, initial=initial)


def demanded(task: Atom) -> Atom:
    """Return the fact that `task` is demanded."""
    return Atom(DEMANDED + task.predicate, task.args)


def _demand(task: Task | Action) -> Predicate:
    return Predicate(DEMANDED + task.name, task.parameters)


def _ran() -> Predicate:
    return Predicate(RAN.predicate)


def _action(action: Action) -> Action:
    parameters = tuple([variable.name for variable in action.parameters])
    requires = conjunction([demanded(Atom(action.name, parameters)), *conjuncts(action.requires)])
    return replace(action, requires=requires, provides=(*action.provides, RAN))


def _method(method: Method, needs: Needs) -> Action:
    parts = [demanded(method.task), *conjuncts(method.precondition), *conjuncts(method.network.constraints)]
    parts += [need for need in needs.of_method(method) if need not in parts]
    demands = dict.fromkeys(demanded(subtask.task) for subtask in method.network.subtasks)
    return Action(METHOD + method.name, method.parameters, conjunction(parts), (RAN, *demands), cost=(0,))
