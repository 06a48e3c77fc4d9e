"""Check the structure, the problem and the steps of a plan before it runs, and report all mistakes at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Final

from executor.dispatching.timetable import TIMED
from executor.plan_check.check_means import UNOBSERVABLE, check_handlers, check_means
from executor.plan_check.check_steps import Vocabulary, check_conditions, check_data_sources, check_stated
from executor.plan_check.estimate import check_limits
from executor.plan_check.plan_findings import PLAN, Hints, Path, PlanFinding, PlanPlace
from executor.plans.action_plan import REFERENCE, ActionPlan, Goals, PlanStep, texts_in
from executor.plans.partial_order import order_of
from executor.tools.results import ActionResult
from executor.tools.world import World, domain_model_of
from planner.compilations.object_creation import for_steps
from planner.errors import InputError
from planner.language.declare import Domain
from planner.language.declare.atom_syntax import NotationError, explain_bad_name, parse_atom
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import CodePlace
from planner.language.declare.model_builder import objects_of
from planner.language.documents.text_formats import Document
from planner.model import Action, DomainModel, Problem, is_temporal
from planner.model.object_names import is_name
from planner.plan import Step
from planner.problem_kinds import AnyDomain
from planner.semantics.simulation import Rules
from planner.semantics.step_effects import staleness_of


def check_alternatives(plan: ActionPlan, problem: Problem) -> Iterator[PlanFinding]:
    """Yield the steps of alternatives that are no ground actions of `problem`."""
    if not plan.alternatives:
        return
    rules = Rules(replace(problem, unknown=()))
    for number, texts in enumerate(plan.alternatives):
        for place, text in enumerate(texts):
            found, hint = _find_misfit(text, rules)
            if found:
                yield PLAN.error("alternative", found, "alternatives", number, place, hint=hint)


def _find_misfit(text: str, rules: Rules) -> tuple[str, str]:
    try:
        atom = parse_atom(text)
    except NotationError as mistake:
        return f"{text!r} is no ground action: {mistake.problem}", mistake.hint or ""
    return rules.misfit(Step(atom.predicate, atom.args)), ""


@dataclass(frozen=True, slots=True)
class Statement:
    """The problem that a plan states, and the plan, both without the parts that have mistakes.

    `has_start` says whether the initial state is known.
    """

    plan: ActionPlan
    problem: Problem
    findings: tuple[PlanFinding, ...]
    has_start: bool


def read_statement(plan: ActionPlan, domain: DomainModel) -> Statement:
    """Build the problem that `plan` states, and find all mistakes in the statement."""
    try:
        return Statement(plan, plan.problem(domain), (), has_start=True)
    except InputError:
        known, findings = _check_objects(plan, domain)
        start = not findings
        if not is_name(plan.name):
            message, rule = explain_bad_name(plan.name, "a problem")
            findings.append(PLAN.error("statement", message, "name", hint=rule))
            known = known.model_copy(update={"name": "plan"})
        good = known.model_copy(update=_NOTHING)
        for path, fields in _split_statement(known):
            facts = {"unknown": good.unknown, "initial": good.initial} if "likely" in fields else {}
            try:
                known.model_copy(update={**_NOTHING, **facts, **fields}).problem(domain)
            except InputError as error:
                findings.append(PLAN.from_error("statement", error, *path))
                start = start and path[0] in _LATER
            else:
                good = _merge_fields(good, fields)
        return Statement(good, good.problem(domain), tuple(findings), start)


_LATER: Final = {
    "goal": Goals(),
    "constraints": (),
    "budgets": {},
    "deadline": None,
    "metric": "cost",
    "timed": (),
    "due": (),
}
"""Empty values of the fields that do not describe the initial state."""
_NOTHING: Final = {**_LATER, "initial": (), "values": {}, "unknown": (), "likely": {}, "ran": ()}


def _check_objects(plan: ActionPlan, domain: DomainModel) -> tuple[ActionPlan, list[PlanFinding]]:
    """Return `plan` with its valid objects only, and the mistakes in the others."""
    place = CodePlace("the plan")
    good, findings = {}, []
    constants = {each.name: each.types for each in domain.constants}
    for name, types in plan.objects.items():
        try:
            (found,) = objects_of({name: types}, Types.of(domain.types), place)[0].values()
        except InputError as error:
            findings.append(PLAN.from_error("statement", error, "objects", name))
            continue
        if constants.get(found.name, found.types) == found.types:
            good[name] = types
        else:
            message = f"object {name!r} is a constant of another type, {' or '.join(constants[found.name])}"
            findings.append(PLAN.error("statement", message, "objects", name))
    return plan.model_copy(update={"objects": good}), findings


def _split_statement(plan: ActionPlan) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each item of the statement of a plan: its path, and the fields that have just this item."""
    for name in ("initial", "unknown", "ran"):
        for index, text in enumerate(getattr(plan, name)):
            yield (name, index), {name: (text,)}
    for term, value in plan.values.items():
        yield ("values", term), {"values": {term: value}}
    for name in ("likely", "budgets"):
        for key, value in getattr(plan, name).items():
            yield (name, key), {name: {key: value}}
    for index, each in enumerate(plan.constraints):
        yield ("constraints", index), {"constraints": (each,)}
    if plan.deadline is not None:
        yield ("deadline",), {"deadline": plan.deadline}
    for name in ("timed", "due"):
        for index, each in enumerate(getattr(plan, name)):
            yield (name, index), {name: (each,)}
    yield ("metric",), {"metric": plan.metric}
    for index, text in enumerate(plan.goal.hard):
        yield ("goal", "hard", index), {"goal": Goals(hard=(text,))}
    for text, utility in plan.goal.soft.items():
        yield ("goal", "soft", text), {"goal": Goals(soft={text: utility})}


def _merge_fields(plan: ActionPlan, fields: dict[str, Any]) -> ActionPlan:
    """Add the item in `fields` to `plan`."""
    ((name, value),) = fields.items()
    known = getattr(plan, name)
    if isinstance(value, Goals):
        more: Any = Goals(hard=(*known.hard, *value.hard), soft={**known.soft, **value.soft})
    elif isinstance(value, dict):
        more = {**known, **value}
    else:
        more = (*known, *value) if isinstance(value, tuple) else value
    return plan.model_copy(update={name: more})


FIELDS: Final = frozenset(each.name for each in fields(ActionResult))


def check_structure(plan: ActionPlan) -> Iterator[PlanFinding]:
    """Yield mistakes in ids, dependencies, references and the decomposition."""
    if not (plan.steps or plan.tasks or plan.goal.hard or plan.goal.soft):
        yield PLAN.error("empty", "the plan has neither steps nor a goal, so that nothing can come of it", "steps")
    places: dict[str, int] = {}
    for number, step in enumerate(plan.steps):
        if step.id in places:
            message = f"two steps have the id {step.id!r}: it is that of step {places[step.id] + 1}, too"
            yield PlanPlace.of(number, step).error("same-id", message, "id")
        places.setdefault(step.id, number)
    circular = _find_cycles(plan, places)
    for cycle in circular:
        first = plan.steps[places[cycle[0]]]
        message = f"{' → '.join(map(repr, [*cycle, cycle[0]]))}: each of these waits for the next, so that none begins"
        yield PlanPlace.of(places[first.id], first).error("cycle", message, "depends_on")
    hints = Hints()
    waiting = {id_ for cycle in circular for id_ in cycle}
    for number, step in enumerate(plan.steps):
        yield from _check_dependencies(number, step, places, waiting, hints)
        yield from _check_references(number, step, places, hints)
    yield from _check_decomposition(plan)


def _find_cycles(plan: ActionPlan, places: Mapping[str, int]) -> list[list[str]]:
    """Return disjoint cycles of dependencies."""
    needs = {each.id: [id_ for id_ in each.depends_on if id_ in places and id_ != each.id] for each in plan.steps}
    found: list[list[str]] = []
    done: set[str] = set()
    for start in needs:  # depth-first search: a step that is met again on the current path closes a cycle
        path: dict[str, Iterator[str]] = {}
        stack = [start] if start not in done else []
        while stack:
            top = stack[-1]
            following = next(path.setdefault(top, iter(needs[top])), None)
            if following is None or top in done:
                done.add(stack.pop())
            elif following in path and following not in done:
                circle = stack[stack.index(following) :]
                found.append(circle)
                done.update(circle)
            elif following not in done:
                stack.append(following)
    return found


def _check_dependencies(
    number: int, step: PlanStep, places: Mapping[str, int], waiting: set[str], hints: Hints
) -> Iterator[PlanFinding]:
    where = PlanPlace.of(number, step)
    for index, id_ in enumerate(step.depends_on):
        here = "depends_on", index
        if id_ == step.id:
            yield where.error("cycle", "it depends on itself", *here)
        elif id_ not in places:
            hint = hints.near(id_, places, f"the steps are {', '.join(islice(places, 8))}")
            yield where.error("unknown-step", f"it depends on {id_!r}, which is no step", *here, hint=hint)
        elif places[id_] > number and not {id_, step.id} <= waiting:
            hint = "list the steps in an order in which they can run"
            yield where.error("later-step", f"it depends on {id_!r}, which comes after it", *here, hint=hint)


def _check_references(number: int, step: PlanStep, places: Mapping[str, int], hints: Hints) -> Iterator[PlanFinding]:
    where = PlanPlace.of(number, step)
    for name, value in step.parameters.items():
        here = "parameters", name
        for text in texts_in(value):
            if "{{" in REFERENCE.sub("", text):
                yield where.error("reference", f"{text!r} holds no reference", *here, hint="write {{step.data.field}}")
            for match in REFERENCE.finditer(text):
                found = _check_reference(match, places, number, hints)
                if found is not None:
                    rule, message, hint = found
                    yield where.error(rule, message, *here, hint=hint)


def _check_reference(
    match: re.Match[str], places: Mapping[str, int], number: int, hints: Hints
) -> tuple[str, str, str] | None:
    """Return the rule, the message and the hint of a mistake in a reference of the step at place `number`."""
    what, id_, path = match[0], match[1], match[2] or ""
    first = path.split(".", maxsplit=1)[0]
    if id_ not in places:
        return "unknown-step", f"{what} refers to {id_!r}, which is no step", hints.near(id_, places)
    if places[id_] >= number:
        which = "this step itself" if places[id_] == number else f"{id_!r}, which comes after it"
        return "later-step", f"{what} refers to the result of {which}", ""
    if first and first not in FIELDS:
        hint = hints.near(first, FIELDS, f"write {{{{{id_}.data.{path}}}}} for what its handler returned")
        return "reference", f"{what}: a result has no {first!r}", hint
    return None


def _check_decomposition(plan: ActionPlan) -> Iterator[PlanFinding]:
    if plan.model == "policy" and plan.policy is None:
        message = "the execution model is policy, but the plan does not say what it follows"
        yield PLAN.error("policy", message, "model", hint="choose another model, or give its policy")
    if plan.decomposition is None:
        if plan.model == "hierarchical":
            message = "the execution model is hierarchical, but the plan does not say what it came of"
            yield PLAN.error("decomposition", message, "model", hint="choose another model, or give its decomposition")
        return
    nodes: Any = plan.decomposition.get("nodes")
    leaves = [each for each in nodes if isinstance(each, dict) and "step" in each] if isinstance(nodes, list) else []
    said = [(each["step"], each.get("task"), each.get("arguments")) for each in leaves]
    given = [[*each.arguments.values(), *each.creates.values()] for each in plan.steps]
    steps = [(place, each.action, given[place]) for place, each in enumerate(plan.steps)]
    if sorted(said, key=str) != sorted(steps, key=str):
        message = "the decomposition does not lead to the steps of the plan"
        yield PLAN.error("decomposition", message, "decomposition", hint="leave it out, with another execution model")


NAMES: Final = frozenset({"action", "arguments", "creates"})
"""The fields of a step that name its action and objects."""
MEANS: Final = frozenset({"no-handler", "missing-parameter", "no-field", UNOBSERVABLE})
"""The rules about what a world lacks for a plan."""


def check_plan(
    plan: ActionPlan,
    world: World | Domain | AnyDomain,
    *,
    memory: Collection[str] = (),
    model: bool = False,
    document: Document | None = None,
) -> list[PlanFinding]:
    """Return all mistakes in `plan`, in the order of its steps; a plan without errors can be run.

    With a `World`, actions need handlers. `memory` names the data parameters that working memory has; with `model`, a
    language model fills those that are not fixed. `document` is the source of the plan: with it, findings have places.
    """
    domain = world.model if isinstance(world, World) else domain_model_of(world)
    told = read_statement(plan, domain)
    vocabulary = Vocabulary(domain, {each.name: each.types for each in told.problem.objects}, memory, model=model)
    structure = list(check_structure(plan))
    words = list(vocabulary.check(plan))
    found = [*_check_status(plan), *told.findings, *structure, *words]
    if not any(each.rule == "same-id" for each in structure):
        bad = {each.step for each in words if each.is_error and each.path[2] in NAMES}
        found += _check_simulation(told, vocabulary, bad, in_order=not structure)
    if isinstance(world, World):
        known = [(number, each, vocabulary.action(each)) for number, each in enumerate(plan.steps)]
        named = [(number, each, action.name) for number, each, action in known if isinstance(action, Action)]
        found += check_handlers(named, world)
        if not any(each.is_error and each.rule not in MEANS for each in found) and told.has_start:
            means = check_means(plan, told.problem, world, memory, fills=model)
            found = [*[each for each in found if each.rule not in MEANS], *means]
    return _sort_findings(found, document)


def errors_in(findings: Iterable[PlanFinding]) -> list[PlanFinding]:
    """Return the findings that keep a plan from running."""
    return [each for each in findings if each.is_error]


def _check_status(plan: ActionPlan) -> Iterator[PlanFinding]:
    """Yield an error for a plan whose status says that it is over."""
    if plan.status in ("completed", "abandoned"):
        hint = 'to carry it out again: plan.model_copy(update={"status": "proposed"})'
        yield PLAN.error("status", f"the plan is {plan.status}", "status", hint=hint)


def _check_simulation(
    told: Statement, vocabulary: Vocabulary, bad: set[str], *, in_order: bool
) -> Iterator[PlanFinding]:
    """Yield the mistakes that a simulation of the resolved steps finds."""
    plan, problem = told.plan, told.problem
    fit = [each for each in plan.steps if each.id not in bad]
    fits = [each.id for each in fit]
    problem = for_steps(problem, [each.step(problem.domain) for each in fit])
    findings, steps = check_stated(problem, plan.model_copy(update={"steps": tuple(fit)}))
    places = {each.id: number for number, each in enumerate(plan.steps)}
    yield from (replace(each, path=("steps", places[each.step], *each.path[2:])) for each in findings)
    yield from check_alternatives(plan, told.problem)
    if told.has_start:
        left_out = list(_find_changes_left_out(plan, vocabulary, bad, problem))
        if plan.policy is not None:
            yield from _check_policy(plan, problem)
            return
        if plan.model == TIMED or is_temporal(problem):
            yield from _check_times(problem, plan, bad)
            return
        yield from check_conditions(problem, plan, steps, left_out)
        if in_order:
            sources = order_of(problem, steps).sources
            yield from check_data_sources(plan, problem.domain, dict(zip(fits, left_out, strict=False)), sources)
            yield from check_limits(problem, plan, steps)


def _check_times(problem: Problem, plan: ActionPlan, bad: set[str]) -> Iterator[PlanFinding]:
    """Yield why the steps of a plan in time do not lead to the goal at their times; unresolved steps keep it silent."""
    from executor.dispatching.build_network import check_times

    if plan.model != TIMED:
        message = f"the problem asks for a plan in time, and the execution model is {plan.model!r}"
        yield PLAN.error("model", message, "model", hint=f"'{TIMED}' carries steps out by their times")
        return
    reason = "" if bad else check_times(problem, plan)
    if reason:
        yield PLAN.error("times", reason, "steps")


def _check_policy(plan: ActionPlan, problem: Problem) -> Iterator[PlanFinding]:
    """Yield the mistakes in the policy that `plan` follows."""
    from planner.policies.policy import Policy

    try:
        Policy.from_dict(plan.policy, problem)
    except InputError as error:
        yield PLAN.from_error("policy", error, "policy")
    if plan.steps or plan.model != "policy":
        message = "a plan that follows a policy has no steps of its own, and the execution model 'policy'"
        yield PLAN.error("policy", message, "steps" if plan.steps else "model")


def _find_changes_left_out(
    plan: ActionPlan, vocabulary: Vocabulary, bad: set[str], problem: Problem
) -> Iterator[set[str]]:
    """Yield, for each resolved step and for the goal, the predicates that unresolved steps before it may change."""
    changed: set[str] = set()
    for each in plan.steps:
        if each.id in bad:
            action = vocabulary.action(each)
            changes = (
                _changed_predicates(action, problem) if isinstance(action, Action) else set(problem.domain.predicates)
            )
            changed = {*changed, *changes, f"ran {each.action}"}
        else:
            yield changed
    yield changed


def _changed_predicates(action: Action, problem: Problem) -> set[str]:
    """Return the predicates of facts that `action` may change."""
    written = [atom for effect in action.effects for atom in effect.written]
    stale = staleness_of(problem.domain).of(written)
    return {each.predicate for each in (*written, *stale)}


def _sort_findings(findings: Sequence[PlanFinding], document: Document | None) -> list[PlanFinding]:
    """Sort `findings` in the order of the steps, those about the whole plan first; add places in `document`."""

    def key(finding: PlanFinding) -> tuple[bool, int]:
        about_step = finding.path[:1] == ("steps",) and len(finding.path) > 1
        return about_step, int(finding.path[1]) if about_step else 0

    ordered = sorted(findings, key=key)
    if document is None:
        return ordered
    return [replace(each, location=document.location(each.path)) for each in ordered]
