"""Answer questions about the problems of one domain, with limits: what the server offers besides runs.

Every method takes a `Given`, which says what the question is about, and limits of the call; it is a plain function that
runs in a thread, and ends soon after `limits.cancel` is set. Files are never read for a client: problems have the names
that the served domain gives them, or come as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from executor.agent.foreign_plans.parse_steps import read_calls, resolve_calls
from executor.agent.foreign_plans.repair_plan import repair_plan
from executor.mcp_server import tool_data
from planner import questions
from planner.errors import InputError, PlanError
from planner.explain.any_problem import explain_any_plan, explain_no_plan
from planner.explain.why_not import ask
from planner.language.declare.fields import CodePlace
from planner.language.declare.problem_builder import ProblemBuilder
from planner.language.loading.load import Source, is_text, load_from, load_named, open_source
from planner.lightweight import replace
from planner.limits import Limits, check_regularly
from planner.model import DomainModel, Metric, Object, Problem
from planner.model.formulas import unmarked
from planner.model.object_names import read_term
from planner.model.unknown_numbers import find_unread
from planner.plan import Plan, Progress, Step, json_number
from planner.problem_kinds import AnyDomain, AnyProblem, classical_of, service_of, with_classical
from planner.questions.notation import without_times
from planner.ranking.relevant_actions import relevant_actions
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.topk.top_k import k_best
from planner.validation.validate import choose_versions, validate

SHOWN: Final = 1_000
"""Most facts, objects or steps that one answer lists, unless the call asks for more."""
MOST_COUNTED: Final = 20_000
"""Most applicable steps that are counted."""
LONGEST: Final = 300
"""Most characters of a message about one step."""
SEARCH_SHARE: Final = 0.5
"""Share of the time limit in which `why_not` searches for a plan; the rest is for the explanation."""
CALL: Final = CodePlace("the call")
"""The place of mistakes in what a client says."""


class PlanningTools:
    """Answers about the problems of `source`; `problem` is the name of the one that calls are about by default."""

    def __init__(self, source: Source, problem: str | None = None) -> None:
        self._source = source
        self._served = load_from(source, problem) if problem is not None else None
        self.domain: AnyDomain = source.domain() if self._served is None else self._served.domain

    @property
    def name(self) -> str:
        """The name of the served domain."""
        return self.domain.name

    @property
    def entities(self) -> Mapping[str, object]:
        """The Python values of objects, by name, in the problem that calls are about by default."""
        first = self._served or next(iter(self._source.problems().values()), None)
        return {} if first is None else classical_of(first).entities

    def problem_names(self) -> list[str]:
        """Return the names of the problems that clients may ask about."""
        own = list(self._source.problems())
        return own if self._served is None or self._served.name in own else [self._served.name, *own]

    def find_problem(self, given: tool_data.Given, *, needs_goal: bool = True) -> AnyProblem:
        """Return the problem that a call is about; raises `InputError` for mistakes."""
        base = self._find_base(given)
        if isinstance(base, DomainModel):
            if given.goal is None and needs_goal:
                raise InputError(
                    "there is no problem, and the call has no goal", hint="give `goal`, `state`, `objects`"
                )
            return _restate(Problem(f"{base.name}-call", base), given)
        if given.goal is None and given.state is None and not given.objects:
            return base
        changed = _restate(classical_of(base), given)
        found: AnyProblem = with_classical(base, changed)
        return found

    def _find_base(self, given: tool_data.Given) -> AnyProblem | DomainModel:
        """Return the problem that is named, or given as text, or the domain where there is none."""
        if given.domain_text is not None or given.problem_text is not None:
            if given.problem is not None:
                raise InputError("the call has both `problem` and a text", hint="leave one of them out")
            return _read_texts(given.domain_text, given.problem_text, self._source)
        own = self._source.problems()
        if given.problem is not None:
            if self._served is not None and given.problem == self._served.name:
                return self._served
            if given.problem not in own:
                names = ", ".join(self.problem_names()[:20]) or "none"
                raise InputError(f"there is no problem {given.problem!r}", hint=f"the problems are: {names}")
            return own[given.problem]
        if self._served is not None:
            return self._served
        first = next(iter(own), None)
        return _classical_domain(self.domain) if first is None else own[first]

    def classical(self, given: tool_data.Given, *, needs_goal: bool = True) -> Problem:
        """Return the classical part of the problem that a call is about."""
        return classical_of(self.find_problem(given, needs_goal=needs_goal))

    def describe(self, given: tool_data.Given, _: Limits) -> tool_data.DomainAnswer:
        """Return the vocabulary of the domain, and the problem."""
        base = self._find_base(given)
        problem = None if isinstance(base, DomainModel) else classical_of(base)
        domain = _classical_domain(self.domain) if problem is None else problem.domain
        return tool_data.DomainAnswer(
            domain=domain.name,
            description=domain.description,
            types={name: list(parents) for name, parents in domain.types.items()},
            predicates={
                name: [" | ".join(each.types) for each in predicate.parameters]
                for name, predicate in islice(domain.predicates.items(), SHOWN)
            },
            actions=[_describe_action(action) for action in islice(domain.actions.values(), SHOWN)],
            problems=self.problem_names()[:SHOWN],
            problem=None if problem is None else _describe_problem(problem),
        )

    def plan(
        self,
        given: tool_data.Given,
        limits: Limits,
        mode: str = "anytime",
        report: Callable[[Progress], None] | None = None,
    ) -> tool_data.PlanAnswer:
        """Search for a plan; `report` is told of every better plan and bound."""
        problem = self.find_problem(given)
        found = solve(problem, mode=mode, on_progress=report, **_options_of(limits))
        data = {name: value for name, value in found.to_dict().items() if name != "history"}
        plan = data.pop("plan") or {}
        return tool_data.PlanAnswer(**data, steps=plan.pop("steps", None), **plan)

    def candidates(
        self, given: tool_data.Given, limits: Limits, number: int, within: float | None
    ) -> tool_data.CandidatesAnswer:
        """Return the cheapest plans."""
        found = k_best(self.find_problem(given), number, within=within, **_options_of(limits))
        return tool_data.CandidatesAnswer(**found.to_dict())

    def validate(self, given: tool_data.Given, limits: Limits, steps: Any) -> tool_data.VerdictAnswer:
        """Check a plan step by step."""
        problem = self.find_problem(given)
        if isinstance(problem, Problem):
            verdict = validate(problem, read_steps(problem, steps))
        else:
            verdict = service_of(problem).validate(problem, self.read_plan(problem, steps), limits)
        return tool_data.VerdictAnswer(**verdict.to_dict())

    def explain(self, given: tool_data.Given, limits: Limits, steps: Any) -> tool_data.ExplanationAnswer:
        """Explain why each step of a plan is there; without `steps`, of the plan that a search finds."""
        problem = self.find_problem(given)
        if steps is None:
            plan = solve(problem, **_options_of(limits))
            reasons = explain_any_plan(plan.expect_plan(), limits)
            return tool_data.ExplanationAnswer(text=str(reasons), data=reasons.to_dict())
        reasons = explain_any_plan(self.read_plan(problem, steps), limits)
        return tool_data.ExplanationAnswer(text=str(reasons), data=reasons.to_dict())

    def why_not(
        self, given: tool_data.Given, limits: Limits, step: Any = None, question: str | None = None, steps: Any = None
    ) -> tool_data.ExplanationAnswer:
        """Explain why there is no plan and which smallest change would give one; or why `step` cannot be done now.

        A contrastive `question` is about the plan of `steps`, or about the best plan.
        """
        if step is not None and question is not None:
            raise InputError("the call has both `step` and `question`", hint="leave one of them out")
        if steps is not None and question is None:
            raise InputError("`steps` is a plan, and no question is about it", hint="give `question` too")
        problem = self.find_problem(given, needs_goal=step is None)
        if step is not None:
            return _explain_step(classical_of(problem), step)
        if question is not None:
            answer = ask(problem, question, limits, None if steps is None else self.read_plan(problem, steps))
            return tool_data.ExplanationAnswer(text=str(answer), data=answer.to_dict())
        found = solve(problem, mode="first", **_options_of(limits.share(SEARCH_SHARE)))
        if found.plan is not None:
            text = f"There is a plan, cost {found.plan.cost}:\n{found.plan}"
            return tool_data.ExplanationAnswer(text=text, data={"solvable": True, "plan": found.plan.to_dict()})
        reasons = explain_no_plan(problem, limits.share(1.0), found.status)
        return tool_data.ExplanationAnswer(text=str(reasons), data=reasons.to_dict() | {"status": found.status.name})

    def repair(self, given: tool_data.Given, limits: Limits, steps: Any) -> tool_data.RepairAnswer:
        """Repair a plan with the least change."""
        found = repair_plan(self.find_problem(given), steps, **_options_of(limits)).to_dict()
        plan = found.pop("plan") or {}
        return tool_data.RepairAnswer(**found, steps=plan.pop("steps", None), **plan)

    def applicable(self, given: tool_data.Given, limits: Limits, most: int = SHOWN) -> tool_data.StepsAnswer:
        """Return the steps that can be done in the state."""
        steps, complete = _list_applicable(Simulation(without_times(self.classical(given, needs_goal=False))), limits)
        found = [_step_data(each) for each in steps[:most]]
        return tool_data.StepsAnswer(steps=found, total=len(steps), complete=complete)

    def progress(self, given: tool_data.Given, _: Limits, steps: Any) -> tool_data.ProgressAnswer:
        """Apply steps to the state, up to the first that cannot be done."""
        problem = without_times(self.classical(given, needs_goal=False))
        simulation = Simulation(problem)
        changes: list[dict[str, Any]] = []
        failing, reason = None, ""
        for number, step in enumerate(read_steps(problem, steps), start=1):
            objection = simulation.find_objection(step)
            if objection is not None:
                failing, reason = number, f"step {number} {step}: {_describe_objection(objection)}"
                break
            made = simulation.apply(step)
            written = {"added": _as_texts(problem, made.added), "removed": _as_texts(problem, made.removed)}
            changes.append({"step": questions.spell(problem, step), **written})
        return tool_data.ProgressAnswer(
            state=_as_texts(problem, simulation.facts),
            changes=changes,
            goal_reached=simulation.holds(problem.goal.hard),
            failing_step=failing,
            reason=reason,
        )

    def landmarks(self, given: tool_data.Given, limits: Limits) -> tool_data.LandmarksAnswer:
        """Return the facts that every plan makes true."""
        found = questions.fact_landmarks(self.classical(given), **_options_of(limits))
        return tool_data.LandmarksAnswer(**found.to_dict())

    def reachable(
        self, given: tool_data.Given, limits: Limits, facts: list[str] | None, steps: list[str] | None
    ) -> tool_data.ReachableAnswer:
        """Say of `facts` and `steps` whether any plan reaches them; without any, return all that none reaches."""
        problem = self.classical(given, needs_goal=False)
        everything = facts is None and steps is None
        found = []
        if everything or facts is not None:
            found.append(questions.reachable_facts(problem, facts=facts, **_options_of(limits)))
        if everything or steps is not None:
            found.append(questions.reachable_steps(problem, steps=steps, **_options_of(limits)))  # type: ignore[arg-type]
        if not everything:
            return tool_data.ReachableAnswer(answers=[each.to_dict() for one in found for each in one.answers])
        none, never = [[questions.spell(problem, each) for each in one.unreachable][:SHOWN] for one in found]
        return tool_data.ReachableAnswer(answers=[], unreachable_facts=none, unreachable_steps=never)

    def simplify(self, given: tool_data.Given, limits: Limits, steps: Any) -> tool_data.SimplifiedAnswer:
        """Return a plan without the steps that it does not need."""
        problem = self.classical(given)
        found = questions.simplify(problem, list(read_steps(problem, steps)), **_options_of(limits))
        return tool_data.SimplifiedAnswer(**found.to_dict())

    def first_steps(self, given: tool_data.Given, limits: Limits) -> tool_data.FirstStepsAnswer:
        """Return all steps with which cheapest plans begin."""
        found = questions.optimal_first_steps(self.find_problem(given), **_options_of(limits))
        return tool_data.FirstStepsAnswer(**found.to_dict())

    def relevant(self, given: tool_data.Given, _: Limits, most: int = 50) -> tool_data.RelevantAnswer:
        """Return the actions that may help to reach the goal, the most useful first."""
        found = relevant_actions(self.find_problem(given), limit=most)
        described = [{**each.to_dict(), "description": each.action.description} for each in found]
        return tool_data.RelevantAnswer(actions=described)

    def read_plan(self, problem: AnyProblem, steps: Any) -> Plan:
        """Read a plan for `problem`; a hierarchical one is a text. Raises `PlanError`."""
        if isinstance(problem, Problem):
            return Plan(read_steps(problem, steps), problem)
        if not isinstance(steps, str):
            hint = "give one text that `forethought solve` has written, with its tasks"
            raise PlanError("a plan for tasks is a text", hint=hint)
        plan: Plan = service_of(problem).read_plan(problem, steps, "the plan")
        return plan


def _options_of(limits: Limits) -> dict[str, Any]:
    """Return `limits` as the options that searches take."""
    return {"time_limit": limits.remaining, "memory_limit": limits.memory_limit, "cancel": limits.cancel}


def read_steps(problem: Problem, given: Any) -> tuple[Step, ...]:
    """Read steps in any form that agents write; raises `PlanError` with all that cannot be understood."""
    found = resolve_calls(problem, read_calls(given))
    wrong = [f"step {number}: {each.wrong:.{LONGEST}}" for number, each in enumerate(found, start=1) if each.wrong]
    if wrong:
        raise PlanError("\n".join(wrong[:20]))
    plain = Simulation(problem)
    steps = choose_versions([each.step for each in found], problem)
    return tuple([replace(step, cost=_cost_of(plain, step)) for step in steps])


def _cost_of(simulation: Simulation, step: Step) -> Any:
    try:
        return simulation.cost(step)
    except InputError:
        return 0


def _read_texts(domain_text: str | None, problem_text: str | None, served: Source) -> AnyProblem | DomainModel:
    """Read a problem, or a domain alone; a problem alone is for the served domain."""
    for name, text in (("domain_text", domain_text), ("problem_text", problem_text)):
        if text is not None and not is_text(text):
            hint = "it begins with '(define', with 'domain: NAME' or with 'problem: NAME'"
            raise InputError(f"`{name}` is no domain or problem in PDDL, HDDL, YAML or JSON", hint=hint)
    source = served if domain_text is None else open_source(domain_text)
    found: Any = load_named(source, problem_text)
    return found if hasattr(found, "domain") else _classical_domain(found)


def _classical_domain(domain: AnyDomain) -> DomainModel:
    return domain if isinstance(domain, DomainModel) else domain.classical  # type: ignore[attr-defined]


def _restate(problem: Problem, given: tool_data.Given) -> Problem:
    """Replace goal and state of `problem`, and add objects."""
    known = {each.name: each for each in problem.objects}
    for text, kind in (given.objects or {}).items():
        name = read_term(text)
        if name in known and known[name].types != (kind,):
            types = " or ".join(known[name].types)
            raise InputError(f"there is an object {name!r} already, of type {types}", hint="take another name")
        if kind not in problem.domain.types and kind != "object":
            types = ", ".join(problem.domain.types) or "object"
            raise InputError(f"the object {name!r} is of the unknown type {kind!r}", hint=f"the types are {types}")
        known[name] = Object(name, (kind,))
    builder = ProblemBuilder(problem.domain, known, CALL)
    stated = builder.build(
        "call",
        problem.initial if given.state is None else given.state,
        [] if given.goal is None else given.goal,
        values=problem.values,
        unknown=(*problem.unknown, *find_unread(problem)),
        metric=Metric.COST,
        resolution=None,
        entities={},
    )
    goal = problem.goal if given.goal is None else stated.goal
    return replace(problem, objects=stated.objects, initial=stated.initial, goal=goal)


def _explain_step(problem: Problem, step: Any) -> tool_data.ExplanationAnswer:
    """Say why one step cannot be done in the state, or that it can."""
    steps = read_steps(problem, step)
    if len(steps) != 1:
        raise PlanError(f"`step` is one step, and these are {len(steps)}", hint="`validate` checks a plan")
    objection = Simulation(problem).find_objection(steps[0])
    if objection is None:
        return tool_data.ExplanationAnswer(text=f"{steps[0]} can be done now.", data={"applicable": True})
    reason = _describe_objection(objection)
    condition = None if objection.misfit else str(objection.condition)
    data = {"applicable": False, "reason": reason, "condition": condition}
    return tool_data.ExplanationAnswer(text=f"{steps[0]} cannot be done now: {reason}.", data=data)


def _list_applicable(simulation: Simulation, limits: Limits) -> tuple[list[Step], bool]:
    """List the steps that can be done, and whether these are all: some actions have more than anybody can list."""
    found: dict[Step, None] = {}
    for name in simulation.problem.domain.actions:
        schema = simulation.rules.schema(name)
        solutions = simulation.world.solver.solutions([schema.requires], schema.domains, {})
        for solution in check_regularly(solutions, limits.check):
            step = Step(name, tuple([solution[each] for each in schema.domains]))
            if step not in found and simulation.find_objection(step) is None:
                found[replace(step, cost=simulation.cost(step))] = None
            if len(found) >= MOST_COUNTED:
                return list(found), False
    return sorted(found, key=lambda step: (step.action, step.arguments)), True


def _describe_objection(objection: Any) -> str:
    return objection.misfit or f"it requires {objection.condition}, which does not hold"


def _step_data(step: Step) -> tool_data.PlanStep:
    return tool_data.PlanStep(action=step.action, arguments=list(step.arguments), cost=json_number(step.cost))


def _as_texts(problem: Problem, facts: Iterable[Any]) -> list[str]:
    return sorted(questions.spell(problem, each) for each in facts)


def _describe_action(action: Any) -> dict[str, Any]:
    data = {
        "action": action.name,
        "parameters": {each.name.removeprefix("?"): " | ".join(each.types) for each in action.parameters},
        "requires": unmarked(action.requires),
        "provides": [unmarked(each) for each in action.provides],
        "modifies": [unmarked(each) for each in action.modifies],
        "description": action.description,
        "tags": sorted(action.tags),
    }
    return {name: value for name, value in data.items() if value}


def _describe_problem(problem: Problem) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": problem.name,
        "objects": {each.name: " | ".join(each.types) for each in islice(problem.all_objects, SHOWN)},
        "state": [str(each) for each in islice(problem.initial, SHOWN)],
        "goal": str(problem.goal.hard),
    }
    left = {"objects": len(problem.all_objects) - SHOWN, "state": len(problem.initial) - SHOWN}
    more = {name: number for name, number in left.items() if number > 0}
    return data | ({"left_out": more} if more else {})
