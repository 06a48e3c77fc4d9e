"""Lint of goals: problems without one, actions that cannot contribute, and traps, after which the goal is lost.

A fact of the goal is lost for good where an action ends it and no action provides it. Other traps are looked for in
small problems: in the first states of a breadth-first search, a step after which the goal is out of reach even if no
fact ever ended (the delete relaxation) is a dead end for certain.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from planner.errors import ForethoughtError
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.lint.findings import Finding, Level, ended_atoms, provided_atoms, wanted_atoms
from planner.model.actions import Action
from planner.model.domain import DomainModel, numeric_effects
from planner.model.formulas import OPEN, TRUE, Atom, Formula, Not, atoms_in, conjuncts, is_variable
from planner.model.problem import Problem
from planner.semantics.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plan import Step

    _Reached = tuple[Simulation, tuple[Step, ...]]

SECONDS: Final = 0.4
"""Time in which dead ends are looked for."""
STATES: Final = 60
"""Most states of which the steps are looked at."""
OBJECTS: Final = 40
"""Most objects of a problem in which dead ends are looked for."""


def check_goal_given(problem: Problem) -> Iterator[Finding]:
    """Yield that the problem asks for nothing, and the actions that cannot contribute to what it asks for."""
    if problem.goal.hard == TRUE and not problem.goal.soft and not problem.constraints:
        message = "it asks for nothing: the empty plan solves it"
        yield Finding(Level.WARNING, "no-goal", f"problem {problem.name}", message, "state a goal")


def check_lost_goals(problem: Problem) -> Iterator[Finding]:
    """Yield the actions after which a literal of the goal is lost for good."""
    given, ended = (_group_effects(problem.domain, each) for each in (provided_atoms, ended_atoms))
    for part in conjuncts(problem.goal.hard):
        fact = part.part if isinstance(part, Not) else part
        if not isinstance(fact, Atom) or fact.predicate in problem.domain.derived or problem.timed:
            continue
        back, away = (ended, given) if isinstance(part, Not) else (given, ended)
        if any(_may_be(atom, fact) for _, atom in back.get(fact.predicate, ())):
            continue
        if problem.domain.predicates[fact.predicate].stale_with:
            continue
        lost: dict[str, Atom] = {}
        for action, atom in away.get(fact.predicate, ()):
            if _may_be(atom, fact):
                lost.setdefault(action.name, atom)
        for name, pattern in lost.items():
            message = f"after it, {part} of the goal may be lost for good: no action gives it back"
            hint = "let an action give it back, or keep this one from it by what it requires"
            yield Finding(Level.HINT, "lost-goal", f"action {name}", message, hint, "provides", pattern)


def _group_effects(
    domain: DomainModel, collect: Callable[[Action], Iterable[Atom]]
) -> dict[str, list[tuple[Action, Atom]]]:
    """Return the effects that `collect` finds in actions, with these, by predicate."""
    found: dict[str, list[tuple[Action, Atom]]] = {}
    for action in domain.actions.values():
        for atom in collect(action):
            found.setdefault(atom.predicate, []).append((action, atom))
    return found


def _may_be(pattern: Atom, fact: Atom) -> bool:
    """Return whether the arguments of `pattern`, an effect, may be those of the ground `fact`."""
    return pattern.predicate == fact.predicate and all(
        is_variable(mine) or mine in (OPEN, other) for mine, other in zip(pattern.args, fact.args, strict=True)
    )


def check_dead_ends(problem: Problem, limits: Limits, is_hopeless: Callable[[Problem], bool]) -> Iterator[Finding]:
    """Yield the first step of each action that leads to a dead end; `is_hopeless` tests the problem from a state."""
    plain = not (problem.unknown or problem.timed or problem.ran or problem.domain.axioms or problem.domain.functions)
    known = [*problem.domain.actions.values()]
    unusual = any(x.outcomes or x.creates or x.after or x.senses for x in known)
    if not plain or unusual or len(problem.all_objects) > OBJECTS or problem.goal.hard == TRUE:
        return
    until = time.monotonic() + SECONDS
    told: dict[str, Finding] = {}
    try:
        if not is_hopeless(problem):
            _explore(problem, limits, is_hopeless, until, told)
    except (ForethoughtError, LimitReached):
        pass
    yield from told.values()


def _explore(
    problem: Problem, limits: Limits, is_hopeless: Callable[[Problem], bool], until: float, told: dict[str, Finding]
) -> None:
    """Look at the steps from the first states; record a finding for each action that leads to a dead end."""
    start = Simulation(problem)
    queue: list[_Reached] = [(start, ())]
    seen = {start.facts}
    for simulation, before in _growing(queue):
        for step in simulation.applicable():
            limits.check()
            if time.monotonic() > until:
                return
            after = simulation.copy()
            after.apply(step)
            facts = after.facts
            if facts in seen or after.holds(problem.goal.hard):
                continue
            seen.add(facts)
            if is_hopeless(replace(problem, initial=tuple(sorted(facts, key=str)))):
                tags = problem.domain.actions[step.action].tags
                if step.action not in told and "irreversible" not in tags:
                    lost = sorted(simulation.facts - facts, key=str)
                    causes = [
                        x for x in lost if not is_hopeless(replace(problem, initial=(*sorted(facts, key=str), x)))
                    ]
                    told[step.action] = _report_dead_end(step, before, causes)
            elif len(queue) < STATES:
                queue.append((after, (*before, step)))


def _report_dead_end(step: Step, before: tuple[Step, ...], causes: list[Atom]) -> Finding:
    """Report the step that leads to a dead end; with any of the facts `causes`, which it ends, it would not be one."""
    done = f" after {', '.join(map(str, before))}" if before else ""
    message = f"{step}{done} leads to a state from which the goal cannot be reached any more"
    hint = "keep it from that by what it requires, or let an action undo it"
    if causes:
        message += f": {causes[0]} is gone for good"
        hint = f"let an action give {causes[0].predicate}(…) back, or keep this one from it by what it requires"
    return Finding(Level.HINT, "dead-end", f"action {step.action}", message, hint)


def _growing(queue: list[_Reached]) -> Iterator[_Reached]:
    """Yield the items of `queue`, those that are added meanwhile included."""
    number = 0
    while number < len(queue):
        yield queue[number]
        number += 1


def check_useless(problem: Problem) -> Iterator[Finding]:
    """Yield the actions whose effects, and what they make possible, say nothing of what the problem asks for."""
    wanted = {atom.predicate for atom in wanted_atoms(problem)}
    if (
        not wanted
        or problem.domain.functions
        or problem.constraints
        or any(x.after for x in problem.domain.actions.values())
    ):
        return
    useful = find_relevant_actions(problem)
    for action in problem.domain.actions.values():
        place = f"action {action.name}"
        if (provided_atoms(action) or ended_atoms(action)) and place not in useful:
            message = "nothing that it changes leads to the goal"
            yield Finding(Level.HINT, "useless-action", place, message, "it may be for another problem")


def find_relevant_actions(problem: Problem) -> frozenset[str]:
    """Return the actions, such as "action drive", that write what the goal, or what leads to it, asks for.

    Those that change numbers, or have other duties than facts, count as well.
    """
    actions = problem.domain.actions
    writers: dict[str, set[str]] = {}
    for action in actions.values():
        for atom in (*provided_atoms(action), *ended_atoms(action)):
            writers.setdefault(atom.predicate, set()).add(action.name)
    relevant = _close({atom.predicate for atom in wanted_atoms(problem)}, problem, writers)
    found = {name for predicate in relevant for name in writers.get(predicate, ())}
    found |= {each.name for each in actions.values() if next(numeric_effects(each), None) is not None}
    return frozenset([f"action {name}" for name in found])


def _close(wanted: set[str], problem: Problem, writers: Mapping[str, set[str]]) -> set[str]:
    """Return `wanted` with all predicates on which what writes them rests."""
    axioms: dict[str, list[Formula]] = {}
    for axiom in problem.domain.axioms:
        axioms.setdefault(axiom.predicate, []).append(axiom.condition)
    relevant, open_, useful = set(wanted), list(wanted), set[str]()
    while open_:
        name = open_.pop()
        conditions = [*axioms.get(name, ())]
        for each in writers.get(name, set()) - useful:
            useful.add(each)
            action = problem.domain.actions[each]
            conditions += [action.requires, *[x.requires for x in action.effects]]
        new = {atom.predicate for each in conditions for atom in atoms_in(each)} - relevant
        relevant |= new
        open_ += new
    return relevant
