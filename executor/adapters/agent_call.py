"""What the call of an agent means in a run: a step that is offered, another reversible one, or a mistake.

The objects of a call have their real names; in the plan of a run, created objects have those of placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from executor import StepStatus, World
from executor.agent.foreign_plans.parse_steps import Call, resolve_calls
from executor.events.remaining_budget import can_be_paid
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.driver import Choice
from executor.observe.believed_problem import predict_facts
from executor.observe.step_verdict import expect_effects
from executor.plans.action_plan import steps_of
from executor.plans.created_objects import find_similar_steps
from executor.recovery.options import Options
from executor.tools.json_data import dump_json
from planner.errors import did_you_mean, printable
from planner.lightweight import replace
from planner.model import Action, Atom, Problem, TypeHierarchy
from planner.model.formulas import unmarked
from planner.plan import Step
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call with real names (`shown`) and with those of the plan (`step`); `wrong` says what is wrong with it.

    `values` are those for data parameters.
    """

    shown: Step
    step: Step
    values: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""


def read_call(world: World, problem: Problem, state: RunState, name: str, arguments: Mapping[str, Any]) -> AgentCall:
    """Read the call of a tool in `world`; `problem` is the one that the run believes in, with real names."""

    def refuse(wrong: str) -> AgentCall:
        return AgentCall(Step(str(name)), Step(str(name)), {}, wrong)

    if not isinstance(arguments, Mapping) or not all(isinstance(each, str) for each in arguments):
        return refuse(f"arguments are a mapping from names, got {printable(repr(arguments)):.80}")
    action = world.model.actions.get(name) if isinstance(name, str) else None
    without = set(world.without_handler())
    if action is not None and action.name in without:
        return refuse(f"the tool {action.name!r} has no handler: @world.handler({action.name!r}) says who does it")
    if action is None:
        tools = [each for each in world.model.actions if each not in without]
        hint = did_you_mean(str(name), tools) or "call one of those that are offered"
        return refuse(f"there is no tool {str(name)!r}; {hint}")
    created = {each.removeprefix("?"): f"{each.removeprefix('?')}-new" for each in action.creates}
    [found] = resolve_calls(problem, [Call(name, named={**arguments, **created}, text=name)])
    known = {each.name.removeprefix("?") for each in action.parameters} | {each.name for each in action.data}
    unknown = [each for each in arguments if each not in known] if not found.wrong else []
    wrong = found.wrong or (f"{action.signature} has no argument {unknown[0]!r}" if unknown else "")
    shown = Step(found.step.action, action.declared_arguments(found.step.arguments))
    wrong = wrong or _find_misfit(problem, action, shown) or _find_kept(action, found.data)
    step = Step(shown.action, tuple(map(state.objects.plan_name, shown.arguments)))
    return AgentCall(shown, step, found.data, wrong or _find_lack(state, action, found.data))


def _find_misfit(problem: Problem, action: Action, step: Step) -> str:
    """Return which argument is no object, or of another type."""
    types = {each.name: each.types for each in problem.all_objects}
    hierarchy = TypeHierarchy(problem.domain.types)
    for parameter, name in zip(action.parameters, step.arguments, strict=True):
        if name not in types:
            return f"there is no object {name!r:.80}"
        if not hierarchy.is_a(types[name], parameter.types):
            return f"{name} is no {' or '.join(parameter.types)}"
    return ""


def _find_kept(action: Action, data: Mapping[str, Any]) -> str:
    """Return which value in `data` the domain provides itself, so that no agent may give it."""
    for each in action.data:
        if each.name in data and each.source is not None:
            fact = unmarked(each.source.fact)
            return f"{each.name!r} of {action.signature} comes from the result that provided {fact}; leave it out"
        if each.name in data and each.fixed:
            return f"{each.name!r} of {action.signature} is fixed; leave it out"
    return ""


def _find_lack(state: RunState, action: Action, data: Mapping[str, Any]) -> str:
    """Return which value is missing that nothing else gives."""
    for each in action.data:
        given = each.name in data or each.name in state.memory or each.has_default
        if not (given or each.source is not None or each.fixed):
            return f"{action.signature} lacks a value for {each.name!r}"
    return ""


SO: Final = "what it brings about is so already"


def describe_dead_end(state: RunState) -> str:
    """Describe why no plan is known."""
    facts = [str(each["fact"]) for each in (state.missing or {}).get("missing", ())]
    return f"{state.reason}\nnothing brings about {', '.join(facts)}" if facts else state.reason


def find_waiting(state: RunState, step: Step) -> StepRecord | None:
    """Return the waiting step that `step` calls again, if there is one."""
    return next((each for each in state.with_status(StepStatus.WAITING) if _is_same(each, step)), None)


def find_choice(call: AgentCall, offered: Sequence[StepRecord], options: Options) -> tuple[Choice | None, str]:
    """Return the step that `call` chooses in the present state, or None and why it must not be done now."""
    state, action = options.state, options.state.domain.actions[call.step.action]
    wrong = _find_stop(state, call.step)
    if wrong:
        return None, wrong
    marked = bool(call.values) and (_has_seen_text(state) or _differs_from_request(state, call.values))
    planned = next((each for each in offered if _is_same(each, call.step)), None)
    if planned is not None:
        return Choice(planned.id, call.values, marked), ""
    if "irreversible" in action.tags:
        if not action.creates and _is_so_already(state, call.step):
            return None, SO
        cause = "" if state.pending() else describe_dead_end(state).replace("\n", "; ")
        needed = f"no plan is known: {cause}" if cause else "it is not what the plan needs next"
        return None, f"it cannot be taken back, and {needed}"
    if any(_is_same(each, call.step) for each in state.pending()):
        return None, "it comes later in the plan"
    step = _complete_step(state, call.step)
    if step is None:
        return None, "there is no room in this run for another object that it creates"
    wrong = _find_objection(options, step)
    if wrong:
        return None, wrong
    [plan] = steps_of([step], state.domain, state.steps)
    return Choice(plan, call.values, marked), ""


def _find_stop(state: RunState, step: Step) -> str:
    """Return why no step like `step` may begin, whatever the plan needs."""
    if state.status.is_over:
        done = state.status.name in ("SUCCEEDED", "UNVERIFIED", "LOWERED")
        return "the goal is reached, and nothing is left to do" if done else f"the run is over: {state.reason}"
    waiting = find_waiting(state, step)
    if waiting is not None:
        return f"this call waits for an answer to {(waiting.wait or {}).get('question') or waiting.id!r}"
    for each in state.with_status(StepStatus.IN_DOUBT):
        if _is_same(each, step):
            return f"it cannot be taken back, and may have been done already: {each.reason}"
        return f"it is open whether {each.step} happened: somebody has to say so first"
    return ""


def _is_same(record: StepRecord, step: Step) -> bool:
    return record.step.action == step.action and record.step.arguments[: len(step.arguments)] == step.arguments


def _complete_step(state: RunState, step: Step) -> Step | None:
    """Return `step` with free placeholders for the objects that it creates; None if there are none left."""
    own = len(step.arguments)
    whole = Step(step.action, (*step.arguments, *state.domain.actions[step.action].creates))
    taken = {name for each in state.pending() for name in each.plan.created.values()}
    for each in find_similar_steps(state.source, state.problem, whole):
        made = each.arguments[own:]
        if len(set(made)) == len(made) and all(state.objects.is_open(name) and name not in taken for name in made):
            return each
    return None


def _find_objection(options: Options, step: Step) -> str:
    """Return why `step` is not applicable as far as is known, or would break what the run has to keep."""
    beliefs = options.state.beliefs
    found = beliefs.simulation.find_objection(step)
    if found is not None:
        if any(beliefs.holds(fact) is None for fact in beliefs.facts_of(beliefs.precondition_of(step), {})):
            return ""  # it is looked at before the step begins
        return found.misfit or f"it requires {found.condition}, which does not hold"
    if _is_so_already(options.state, step):
        return SO
    problem = options.make_problem()
    if not can_be_paid(problem, [step]):
        return "what is left of the budgets does not suffice for it"
    simulation = Simulation(problem)
    watches = ConstraintMonitors(simulation)
    simulation.apply(step)
    watches.look(simulation, step)
    watches.look(simulation)
    return "" if watches.broken is None else f"it would break {watches.broken}"


def _is_so_already(state: RunState, step: Step) -> bool:
    """Return whether the facts that `step` provides hold, as far as is known, and it would change nothing else."""
    if "read_only" in state.domain.actions[step.action].tags:
        return False
    effects = expect_effects(state.beliefs, step)
    return bool(effects.facts) and not (effects.changed or effects.items)


def _has_seen_text(state: RunState) -> bool:
    """Return whether tools have told the agent anything before."""
    results = (state.steps[id_].result or {} for id_ in state.finished)
    return any(result.get(name) for result in results for name in ("text", "data", "error"))


def _differs_from_request(state: RunState, values: Mapping[str, Any]) -> bool:
    """Return whether the request gives another value for one of the data parameters."""
    given = {name: state.request[name] for name in values if name in state.request}
    return dump_json(given) != dump_json({name: values[name] for name in given})


@dataclass(slots=True, eq=False)
class Wish:
    """Drives a run by one step: the one that `call` asks for."""

    call: AgentCall
    is_refused: bool = False
    """Whether somebody has refused this very call: an irreversible step is not begun without asking for an approval."""
    chosen: str = ""
    """The id of the step, once it is chosen."""
    refused: str = ""
    """Why it must not be done now."""
    expected: frozenset[Atom] | None = None
    """The facts that should hold after it, if it is applicable as far as is known."""

    def choose(self, offered: Sequence[StepRecord], options: Options) -> Choice | None:
        """Choose the step, the first time that this is asked."""
        if self.chosen or self.refused:
            return None
        choice, self.refused = find_choice(self.call, offered, options)
        if choice is None:
            return None
        choice = replace(choice, marked=choice.marked or self.is_refused)
        state = options.state
        if isinstance(choice.step, str):
            self.chosen, step = choice.step, state.steps[choice.step].step
        else:
            self.chosen, step = choice.step.id, choice.step.step(state.domain)
        self.expected = predict_facts(state, step)
        return choice
