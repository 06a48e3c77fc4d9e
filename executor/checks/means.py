"""Whether a world has the means for a plan: handlers, values for data parameters, results with the fields wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from executor.checks.findings import PLAN, PlanFinding, Where
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.dataflow import wanted_facts
from executor.plans.edges import order_of
from executor.world.promises import may_have, may_leave, promise
from executor.world.world import Skill, World
from planner.creation import for_steps
from planner.declare import resolve_action
from planner.model import Action, Atom, DataParameter, Outcome, Problem, When
from planner.model.actions import added

Sources = Mapping[tuple[str, str], str]
"""Which step fills a data parameter: (step, parameter) → step."""


def check_means(
    plan: ActionPlan, problem: Problem, world: World, memory: Collection[str] = (), *, fills: bool = False
) -> list[PlanFinding]:
    """Return what `world` lacks for a `plan` that is valid for `problem`: with an error among that, it is not begun.

    `memory` names the data parameters that working memory has; `fills` says that somebody fills those that are open
    and not fixed.
    """
    if plan.policy is not None:
        return list(_of_policy(plan.policy, world, memory, fills=fills))
    steps = [(number, each, resolve_action(world.model, each.action)) for number, each in enumerate(plan.steps)]
    flows = any(parameter.source for _, _, action in steps for parameter in action.data)
    problem = for_steps(problem, [each.step(problem.domain) for each in plan.steps]) if flows else problem
    sources = order_of(problem, plan.steps).sources if flows else {}
    found = list(without_handler([(number, each, action.name) for number, each, action in steps], world))
    for number, each, action in steps:
        facts = dict(wanted_facts(action, each, each.step(problem.domain)))
        for parameter in action.data:
            given = parameter.name in each.parameters or parameter.name in memory
            before = [action.name for _, _, action in steps[:number]]
            is_open = not (given or may_be_filled(parameter, fills=fills) or _may_be_left(parameter, before, world))
            fact = facts.get(parameter.name)
            if is_open and fact is None:
                found.append(_lacking(Where.of(number, each), action, parameter))
            elif is_open and (each.id, parameter.name) not in sources and str(fact) not in plan.results:
                found.append(
                    _lacking(Where.of(number, each), action, parameter, f": no step provides {fact} before it")
                )
    return [*found, *unpromised(plan, world, sources)]


def may_be_filled(parameter: DataParameter, *, fills: bool) -> bool:
    """Return whether a parameter that nothing has a value for has a default, or is filled by somebody."""
    return parameter.has_default or (fills and not parameter.fixed)


def _may_be_left(parameter: DataParameter, actions: Iterable[str], world: World) -> bool:
    """Return whether a handler of one of `actions` may leave the value of `parameter` in working memory."""
    skills = (skill for action in dict.fromkeys(actions) for skill in world.skills.get(action, ()))
    return any(may_leave(each, parameter.name) for each in skills)


def without_handler(steps: Iterable[tuple[int, PlanStep, str]], world: World) -> Iterator[PlanFinding]:
    """Yield the actions that nobody carries out, each at its first step; `steps` have their numbers and actions."""
    missing: dict[str, list[tuple[int, PlanStep]]] = {}
    for number, step, name in steps:
        if not world.skills.get(name):
            missing.setdefault(name, []).append((number, step))
    for name, places in missing.items():
        more = f", and {len(places) - 1} more steps" if len(places) > 1 else ""
        hint = f"@world.handler({name!r}) says which function does it"
        message = f"{name} has no handler (needed here{more})"
        yield Where.of(*places[0]).error("no-handler", message, "action", hint=hint)


def unpromised(plan: ActionPlan, world: World, sources: Sources) -> Iterator[PlanFinding]:
    """Yield parameters whose value comes from a field that no handler of the step before is declared to return."""
    steps = {
        each.id: (number, each, resolve_action(world.model, each.action)) for number, each in enumerate(plan.steps)
    }
    for (id_, name), provider in sources.items():
        number, step, action = steps[id_]
        if name in step.parameters:
            continue
        parameter = next(each for each in action.data if each.name == name)
        giver = steps[provider][2].name
        message = _broken(parameter, giver, world.skills.get(giver, ()))
        if message:
            yield Where.of(number, step).error(
                "no-field", message, "parameters", hint="mend the path, or the annotation"
            )


def _broken(parameter: DataParameter, action: str, skills: Collection[Skill]) -> str:
    """Return that no handler of `action` is declared to return what `parameter` takes of it; nothing where one may."""
    path = "" if parameter.source is None else parameter.source.path
    if not skills or any(may_have(each.function, path) for each in skills):
        return ""
    promised = " or ".join(dict.fromkeys(promise(each.function) for each in skills))
    return f"{parameter.name!r} comes from {path!r} of the result of {action}, which is declared to return {promised}"


def _lacking(where: Where, action: Action, parameter: DataParameter, why: str = "") -> PlanFinding:
    hint = "give its value under 'parameters' or in working memory, a default, or somebody who fills it"
    message = f"{action.name} lacks a value for {parameter.name!r}{why}"
    return where.error("missing-parameter", message, "parameters", hint=hint)


def _of_policy(
    policy: Mapping[str, object], world: World, memory: Collection[str], *, fills: bool
) -> Iterator[PlanFinding]:
    """Yield the same for a policy, which has steps for each state: for each of its actions once."""
    nodes = policy["nodes"]
    names = dict.fromkeys(each["step"]["action"] for each in nodes if each["step"])  # type: ignore[attr-defined]  # data
    taken = [world.model.actions[name] for name in names]
    for action in taken:
        if not world.skills.get(action.name):
            hint = f"@world.handler({action.name!r}) says which function does it"
            yield PLAN.error("no-handler", f"{action.name} has no handler", "policy", hint=hint)
        for parameter in action.data:
            broken = missing_fields(parameter, taken, world)
            is_given = parameter.name in memory or _may_be_left(parameter, names, world)
            if not (broken or is_given or may_be_filled(parameter, fills=fills)):
                yield PLAN.error("missing-parameter", f"{action.name} lacks a value for {parameter.name!r}", "policy")
            if broken and all(broken):
                yield PLAN.error("no-field", broken[0], "policy", hint="mend the path, or the annotation")


def missing_fields(parameter: DataParameter, actions: Iterable[Action], world: World) -> list[str]:
    """Return, for each of `actions` that may fill a parameter, that no handler of it returns the field; or nothing."""
    givers = [] if parameter.source is None else _givers(parameter.source.fact.predicate, actions)
    return [_broken(parameter, each.name, world.skills.get(each.name, ())) for each in givers]


def _givers(predicate: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions that may provide facts of `predicate`."""
    return [each for each in actions if any(fact.predicate == predicate for fact in _provided(each))]


def _provided(action: Action) -> Iterator[Atom]:
    """Yield the facts that an action may provide."""
    parts: list[When | Outcome] = [*action.effects, *action.outcomes]
    return (fact for part in parts for fact in added(part.provides))
