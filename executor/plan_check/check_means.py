"""Check whether a world has the means for a plan: handlers, values for data parameters, result fields, observers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from executor.plan_check.plan_findings import PLAN, PlanFinding, PlanPlace
from executor.plan_check.unobservable_conditions import Unobservable, find_unobservable, find_unobservable_nodes
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.partial_order import find_wanted_facts, order_of
from executor.plans.steps_in_turn import take_in_turn
from executor.tools.returned_values import describe_return_type, may_have, may_leave
from executor.tools.world import Skill, World
from planner.compilations.object_creation import for_steps
from planner.language.declare import resolve_action
from planner.model import Action, Atom, DataParameter, Outcome, Problem, When
from planner.model.actions import positive_atoms

UNOBSERVABLE: Final = "unobservable-condition"
"""The rule about careful steps that can never begin."""
Sources = Mapping[tuple[str, str], str]
"""Maps (step, parameter) to the step that fills the parameter."""


def check_means(
    plan: ActionPlan, problem: Problem, world: World, memory: Collection[str] = (), *, fills: bool = False
) -> list[PlanFinding]:
    """Return what `world` lacks for a `plan` that is valid for `problem`; with an error among that, no run begins.

    `memory` names the data parameters that working memory has. `fills` says that a language model or a person fills
    open parameters that are not fixed.
    """
    if plan.policy is not None:
        return list(_check_policy_means(plan.policy, problem, world, memory, fills=fills))
    found = check_values(plan, problem, world, memory, fills=fills)
    return [*found, *report_unobservable(plan.steps, find_unobservable(plan.steps, problem, world))]


def report_unobservable(steps: Sequence[PlanStep], found: Iterable[Unobservable]) -> Iterator[PlanFinding]:
    """Yield an error for each careful step among `steps` that can never begin."""
    for each in found:
        where = PlanPlace.of(each.number, steps[each.number]) if steps else PLAN
        yield where.error(UNOBSERVABLE, str(each), "action" if steps else "policy", hint=each.hint)


def check_values(
    plan: ActionPlan, problem: Problem, world: World, memory: Collection[str] = (), *, fills: bool = False
) -> list[PlanFinding]:
    """Return missing handlers, and data parameters that nothing can fill, with the arguments of `check_means`."""
    steps = [(number, each, resolve_action(world.model, each.action)) for number, each in enumerate(plan.steps)]
    flows = any(parameter.source for _, _, action in steps for parameter in action.data)
    problem = for_steps(problem, [each.step(problem.domain) for each in plan.steps]) if flows else problem
    sources = order_of(take_in_turn(problem), plan.steps).sources if flows else {}
    found = list(check_handlers([(number, each, action.name) for number, each, action in steps], world))
    for number, each, action in steps:
        facts = dict(find_wanted_facts(action, each, each.step(problem.domain)))
        for parameter in action.data:
            given = parameter.name in each.parameters or parameter.name in memory
            before = [action.name for _, _, action in steps[:number]]
            is_open = not (given or may_be_filled(parameter, fills=fills) or may_be_left(parameter, before, world))
            fact = facts.get(parameter.name)
            where = PlanPlace.of(number, each)
            if is_open and fact is None:
                found.append(_report_missing_value(where, action, parameter))
            elif is_open and (each.id, parameter.name) not in sources and str(fact) not in plan.results:
                why = f": no step provides {fact} before it"
                found.append(_report_missing_value(where, action, parameter, why))
    return [*found, *check_promised_fields(plan, world, sources)]


def may_be_filled(parameter: DataParameter, *, fills: bool) -> bool:
    """Return whether a parameter without a value has a default, or may be filled during the run."""
    return parameter.has_default or (fills and not parameter.fixed)


def may_be_left(parameter: DataParameter, actions: Iterable[str], world: World) -> bool:
    """Return whether a handler of one of `actions` may leave the value of `parameter` in working memory."""
    skills = (skill for action in dict.fromkeys(actions) for skill in world.skills.get(action, ()))
    return any(may_leave(each, parameter.name) for each in skills)


def check_handlers(steps: Iterable[tuple[int, PlanStep, str]], world: World) -> Iterator[PlanFinding]:
    """Yield an error for each action without a handler, at its first step; `steps` are (number, step, action name)."""
    missing: dict[str, list[tuple[int, PlanStep]]] = {}
    for number, step, name in steps:
        if not world.skills.get(name):
            missing.setdefault(name, []).append((number, step))
    for name, places in missing.items():
        more = f", and {len(places) - 1} more steps" if len(places) > 1 else ""
        held = world.withheld.get(name)
        hint = None if held else f"@world.handler({name!r}) says which function does it"
        message = f"{name} {f'must not be carried out: {held}' if held else 'has no handler'} (needed here{more})"
        yield PlanPlace.of(*places[0]).error("no-handler", message, "action", hint=hint)


def check_promised_fields(plan: ActionPlan, world: World, sources: Sources) -> Iterator[PlanFinding]:
    """Yield parameters that take a result field which no handler is declared to return."""
    steps = {
        each.id: (number, each, resolve_action(world.model, each.action)) for number, each in enumerate(plan.steps)
    }
    for (id_, name), provider in sources.items():
        number, step, action = steps[id_]
        if name in step.parameters:
            continue
        parameter = next(each for each in action.data if each.name == name)
        giver = steps[provider][2].name
        message = _describe_missing_field(parameter, giver, world.skills.get(giver, ()))
        if message:
            yield PlanPlace.of(number, step).error(
                "no-field", message, "parameters", hint="mend the path, or the annotation"
            )


def _describe_missing_field(parameter: DataParameter, action: str, skills: Collection[Skill]) -> str:
    """Describe the field that `parameter` takes from `action` and that no handler returns; "" if one may return it."""
    path = "" if parameter.source is None else parameter.source.path
    if not skills or any(may_have(each.function, path) for each in skills):
        return ""
    promised = " or ".join(dict.fromkeys(describe_return_type(each.function) for each in skills))
    return f"{parameter.name!r} comes from {path!r} of the result of {action}, which is declared to return {promised}"


def _report_missing_value(where: PlanPlace, action: Action, parameter: DataParameter, why: str = "") -> PlanFinding:
    hint = "give its value under 'parameters' or in working memory, a default, or somebody who fills it"
    message = f"{lacks_value(action, parameter)}{why}"
    return where.error("missing-parameter", message, "parameters", hint=hint)


def lacks_value(action: Action, parameter: DataParameter) -> str:
    """Return the message that nothing fills a parameter."""
    return f"{action.name} lacks a value for {parameter.name!r}"


def _check_policy_means(
    policy: Mapping[str, object], problem: Problem, world: World, memory: Collection[str], *, fills: bool
) -> Iterator[PlanFinding]:
    """Yield what `world` lacks for a policy, once for each of its actions."""
    nodes = policy["nodes"]
    names = dict.fromkeys(each["step"]["action"] for each in nodes if each["step"])  # type: ignore[attr-defined]  # data
    taken = [world.model.actions[name] for name in names]
    for action in taken:
        if not world.skills.get(action.name):
            hint = f"@world.handler({action.name!r}) says which function does it"
            yield PLAN.error("no-handler", f"{action.name} has no handler", "policy", hint=hint)
        for parameter in action.data:
            broken = find_missing_fields(parameter, taken, world)
            is_given = parameter.name in memory or may_be_left(parameter, names, world)
            if not (broken or is_given or may_be_filled(parameter, fills=fills)):
                yield PLAN.error("missing-parameter", lacks_value(action, parameter), "policy")
            if broken and all(broken):
                yield PLAN.error("no-field", broken[0], "policy", hint="mend the path, or the annotation")
    yield from report_unobservable((), find_unobservable_nodes(policy, problem, world))


def find_missing_fields(parameter: DataParameter, actions: Iterable[Action], world: World) -> list[str]:
    """Describe, for each of `actions` that may fill `parameter`, the field that no handler of it returns."""
    givers = [] if parameter.source is None else _find_providers(parameter.source.fact.predicate, actions)
    return [_describe_missing_field(parameter, each.name, world.skills.get(each.name, ())) for each in givers]


def _find_providers(predicate: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions that may provide facts of `predicate`."""
    return [each for each in actions if any(fact.predicate == predicate for fact in _provided_facts(each))]


def _provided_facts(action: Action) -> Iterator[Atom]:
    """Yield the facts that an action may provide."""
    parts: list[When | Outcome] = [*action.effects, *action.outcomes]
    return (fact for part in parts for fact in positive_atoms(part.provides))
