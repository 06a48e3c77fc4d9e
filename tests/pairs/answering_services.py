"""The services that answer questions about problems and plans: checkers, orders, explanations, changes, rankings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

from pairs.enumeration import Node, Optimum, follow, optimum, unknown_ways
from pairs.happenings import SEPARATION, settle
from pairs.interpreter import Ground, World
from pairs.judging import RIGHT, Case, Kind, Verdict, service, wrong
from pairs.trajectories import Kept, Price, forgone, look_all, may_go_on

from htn.lint.hierarchy_lint import check_htn_problem as check_tasks
from htn.model import HtnProblem
from planner import Limits, Plan, Step, lab, partial_order, questions, rank, schedule, validate, why_not
from planner.explain.any_problem import explain_any_plan, explain_no_plan
from planner.lightweight import replace
from planner.lint.problem_lint import check_problem
from planner.model import Atom, Problem
from planner.model.actions import Constraint, ConstraintKind, Done
from planner.plan import Status, StepTime
from planner.reuse.templates import lift
from planner.validation.timed_replay import price_plan

MOST_ORDERS = 200


def as_decimal(value: Fraction) -> Any:
    """Return a number as plans state it."""
    return int(value) if value.denominator == 1 else Decimal(value.numerator) / Decimal(value.denominator)


def make_plan(case: Case, truth: Optimum) -> Plan:
    """Return the plan of the enumeration as one of the planner."""
    steps = tuple([Step(each.predicate, each.args) for each in truth.steps])
    if not case.is_timed:
        ways = [replay(case.classical, list(steps), facts) for facts in unknown_ways(case.classical)]
        costs = next(each.costs for each in ways if each is not None)
        return Plan(
            tuple([replace(step, cost=as_decimal(cost)) for step, cost in zip(steps, costs, strict=True)]), case.problem
        )
    spans = [(start, duration, step) for (start, duration), step in zip(truth.times, steps, strict=False)]
    spans.sort(key=lambda each: each[0])
    times = tuple([StepTime(as_decimal(start), as_decimal(duration)) for start, duration, _ in spans])
    return price(case, Plan(tuple([step for _, _, step in spans]), case.problem, times=times))


def price(case: Case, plan: Plan) -> Plan:
    """Return `plan`, in time, with the costs that it claims; one that is not valid claims none."""
    return replace(price_plan(replace(plan, problem=case.classical)), problem=case.problem)


@dataclass(frozen=True)
class Replay:
    """What the steps of a sequence cost, and its charge."""

    costs: tuple[Fraction, ...]
    charge: Fraction


def replay(problem: Problem, steps: list[Step], facts: frozenset[Atom]) -> Replay | None:
    """Replay the sequence `steps`; return None where it is no plan."""
    world = World(problem)
    start, price, charges = world.start(facts), Price(world), [Fraction(0)]
    node = Node(start, look_all(world, tuple([Kept() for _ in problem.constraints]), state=start))
    for step in steps:
        ground = ground_step(world, step)
        after = None if ground is None else follow(world, node, ground)
        if after is None or not may_go_on(world, after.kept):
            return None
        node = after
        charges.append(price.charge(node.state, node.cost, Fraction(0)))
    lost = forgone(world, node.state, node.kept)
    costs = tuple([after - before for before, after in pairwise(charges)])
    return None if lost is None else Replay(costs, charges[-1] + lost)


def ground_step(world: World, step: Step) -> Ground | None:
    action = world.domain.actions.get(step.action)
    names = [each.name for each in action.parameters] + list(action.creates) if action else []
    return Ground(action, dict(zip(names, step.arguments, strict=True))) if len(names) == len(step.arguments) else None


def valid_ways(case: Case, steps: list[Step]) -> list[Fraction]:
    """Return the charges of the sequence in all ways of the unknown facts in which it is a plan."""
    found = [replay(case.classical, steps, facts) for facts in unknown_ways(case.classical)]
    return [each.charge for each in found if each is not None]


@service
def judge_validate(case: Case) -> Verdict:
    truth = case.truth
    if truth is None:
        return RIGHT
    plan = make_plan(case, truth)
    verdict = validate(case.problem, plan)
    if not verdict.valid:
        return wrong(f"{plan} is a plan, but: {verdict.reason}")
    charge = Fraction(verdict.cost) + sum(Fraction(each.utility) for each in verdict.forgone)
    if charge != truth.charge:
        return wrong(f"{plan} is charged {truth.charge}, not {charge}")
    for place, left_out in enumerate(plan.steps):
        rest = [each for number, each in enumerate(plan.steps) if number != place]
        if case.is_in_time or case.has_tasks:
            is_plan = left_out.action != "drop" and None
        else:
            is_plan = bool(valid_ways(case, rest))
        times = [each for number, each in enumerate(plan.times) if number != place]
        found = validate(case.problem, Plan(tuple(rest), case.problem, times=tuple(times)) if times else rest)
        if is_plan is not None and found.valid != is_plan:
            return wrong(f"without {left_out} it is {'a' if is_plan else 'no'} plan, but: {found}")
    return Verdict(Kind.PROVED)


@service
def judge_partial_order(case: Case) -> Verdict:
    plan = case.plan
    graph = partial_order(case.problem, plan)
    if plan.times:
        return judge_order_in_time(case, plan, graph)
    charge, found = Fraction(plan.charge), Verdict(Kind.PROVED)
    for order in islice(linearise(graph), MOST_ORDERS):
        steps = [plan.steps[number - 1] for number in order]
        if case.has_tasks:
            charges = [Fraction(validate(case.problem, steps).cost)] if validate(case.problem, steps).valid else []
            found = RIGHT
        else:
            charges = valid_ways(case, steps)
        if not any(charge == each for each in charges) and not (case.has_tasks and charges):
            return wrong(f"{[*map(str, steps)]} is in the order of {plan}, but is charged {charges}, not {charge}")
    return found


def judge_order_in_time(case: Case, plan: Plan, graph: Any) -> Verdict:
    """Judge the order of happenings: other ones that keep it are plans, wherever they have times."""
    own = {node: moment_of(node, plan, case.classical) for node in graph}
    for one, other, data in graph.edges(data=True):
        if own[other] - own[one] < Fraction(data["gap"]):
            return wrong(f"{plan} does not keep {data['gap']} from {one} to {other}")
    free = replace(case.classical, deadline=None, due=(), seal=())
    problem = replace(case.problem, classical=free, seal=()) if case.has_tasks else free
    for order in islice(linearise(graph), MOST_ORDERS):
        times = settle_order(order, graph, plan, own)
        if times is None:
            continue
        spans = [
            StepTime(as_decimal(times[number, "start"]), each.duration) for number, each in enumerate(plan.times, 1)
        ]
        places = sorted(range(len(spans)), key=lambda place: (spans[place].start, place))
        tree = plan.tree and plan.tree.move_steps({place: new for new, place in enumerate(places)})
        other = Plan(
            tuple([plan.steps[place] for place in places]),
            problem,
            tree,
            times=tuple([spans[place] for place in places]),
        )
        known = replace(free, unknown=(), likely={})
        priced = replace(price_plan(replace(other, problem=known)), problem=problem)
        verdict = validate(problem, priced)
        if not verdict.valid:
            return wrong(f"{other} keeps the order of {plan}, but: {verdict.reason}")
    return RIGHT


def moment_of(node: tuple[int, str], plan: Plan, problem: Problem) -> Fraction:
    number, kind = node
    if kind == "event":
        return Fraction(problem.timed[number - 1].time)
    time = plan.times[number - 1]
    return Fraction(time.start if kind == "start" else time.end)


def settle_order(order: Any, graph: Any, plan: Plan, own: dict[Any, Fraction]) -> dict[Any, Fraction] | None:
    """Return the earliest times of happenings in the sequence `order`; None where there are none."""
    apart = {*graph.graph["apart"]} | {(other, one) for one, other in graph.graph["apart"]}
    nodes = {node: place for place, node in enumerate(order, start=1)}
    edges = [(nodes[one], nodes[other], Fraction(data["gap"])) for one, other, data in graph.edges(data=True)]
    for one, other in pairwise(order):
        edges.append((nodes[one], nodes[other], Fraction(0)))
    for place, one in enumerate(order):
        edges += [(nodes[one], nodes[other], SEPARATION) for other in order[place + 1 :] if (one, other) in apart]
        if one[1] == "event":
            edges += [(0, nodes[one], own[one]), (nodes[one], 0, -own[one])]
    for number, each in enumerate(plan.times, start=1):
        if (number, "end") in nodes:
            edges.append((nodes[number, "end"], nodes[number, "start"], -Fraction(each.duration)))
    times = settle([Fraction(0)] * (len(order) + 1), edges)
    return None if times is None else {node: times[place] for node, place in nodes.items()}


def linearise(graph: Any, done: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the linearisations of an order."""
    if len(done) == len(graph):
        yield done
    for number in graph:
        if number not in done and all(each in done for each in graph.predecessors(number)):
            yield from linearise(graph, (*done, number))


@service
def judge_schedule(case: Case) -> Verdict:
    found = schedule(case.plan)
    for step, start, end in zip(case.plan.steps, found.starts, found.ends, strict=True):
        if start < 0 or end < start:
            return wrong(f"{step} starts at {start} and ends at {end}")
    if case.plan.times and [each.start for each in case.plan.times] != [*found.starts]:
        return wrong(f"the plan starts its steps at {case.plan.times}, not at {found.starts}")
    return RIGHT


@service
def judge_explain(case: Case) -> Verdict:
    result = case.result
    if result.plan is not None:
        said = str(explain_any_plan(result.plan, Limits(case.limit)))
        missing = [step for step in result.plan.steps if step.action not in said]
        return wrong(f"it says nothing of {missing[0]}: {said}") if missing else RIGHT
    said = str(explain_no_plan(case.problem, Limits(case.limit)))
    return RIGHT if said else wrong("it says nothing")


@service
def judge_why_not(case: Case) -> Verdict:
    step = Atom("go", ("home", "mid"))
    asked = add_constraint(case, Constraint(ConstraintKind.SOMETIME, Done(step)))
    return judge_answer(case, str(step), optimum(asked))


@service
def judge_what_if(case: Case) -> Verdict:
    here, there = Atom("at", ("home",)), Atom("at", ("shop",))
    moved = tuple([there if each == here else each for each in case.classical.initial])
    return judge_answer(case, f"if {there}", optimum(change(case, initial=moved)))


def add_constraint(case: Case, constraint: Constraint) -> Problem | HtnProblem:
    return change(case, constraints=(*case.classical.constraints, constraint))


def change(case: Case, **fields: Any) -> Problem | HtnProblem:
    """Return the problem with other fields."""
    classical = replace(case.classical, **fields, seal=())
    problem = case.problem
    return replace(problem, classical=classical, seal=()) if isinstance(problem, HtnProblem) else classical


def judge_answer(case: Case, question: str, truth: Optimum | None) -> Verdict:
    """Judge the answer to a contrastive question by the optimum of the changed problem."""
    found = why_not(case.problem, question, time_limit=case.limit)
    said = f"{found.outcome.name}, proved: {found.proved}"
    best = "there is no such plan" if truth is None else f"the best such plan is charged {float(truth.charge)}"
    if found.outcome.name == "IMPOSSIBLE":
        return Verdict(Kind.PROVED) if truth is None else wrong(f"{said}, but {best}")
    if found.plan is None:
        return Verdict(Kind.NOTHING, f"{said} ({best})")
    charge = Fraction(found.plan.charge)
    if truth is None or charge < truth.charge:
        return wrong(f"{said}, {charge} by {found.plan}, but {best}")
    if charge == truth.charge:
        return Verdict(Kind.PROVED if found.proved else Kind.RIGHT)
    if found.proved and not found.plan.suppositions:
        return wrong(f"{said}, {charge}, but {best}")
    return Verdict(Kind.RIGHT if found.plan.suppositions else Kind.WORSE, f"{charge}, but {best}")


@service
def judge_questions(case: Case) -> Verdict:
    world = World(case.classical)
    start = world.start()
    node = Node(start, look_all(world, tuple([Kept() for _ in case.classical.constraints]), state=start))
    plain = World(replace(case.classical, budgets={}, seal=()))
    steps = {str(each.head) for each in world.ground(start) if follow(plain, node, each) is not None}
    told = {str(Atom(each.action, each.arguments[: sized(case, each)])) for each in questions.applicable(case.problem)}
    if told != steps:
        return wrong(f"applicable: {sorted(told)}, but {sorted(steps)}")
    first = questions.optimal_first_steps(case.problem, time_limit=case.limit)
    if first.status is not Status.OPTIMAL:
        return Verdict(Kind.NOTHING, f"first steps: {first.status.name}")
    free = optimum(change(case, constraints=(), budgets={}, deadline=None))
    if free is not None and not case.classical.wishes and Fraction(first.cost) != free.charge:
        return wrong(f"first steps: cost {first.cost}, but the optimum is {free.charge}")
    return Verdict(Kind.PROVED)


def sized(case: Case, step: Step) -> int:
    return len(case.classical.domain.actions[step.action].parameters)


@service
def judge_rank(case: Case) -> Verdict:
    plans = [case.plan, *([] if case.result.plan is None else [case.result.plan])]
    ranked = rank(plans, "cost")
    costs = [each.cost for each in ranked]
    return RIGHT if costs == sorted(costs) else wrong(f"ranked by cost: {costs}")


@service
def judge_templates(case: Case) -> Verdict:
    plan = case.plan
    found = lift(plan, "errand").plan_for(case.problem)
    if found is None:
        return Verdict(Kind.NOTHING, "the template does not fit the problem of its own plan")
    verdict = validate(case.problem, found)
    return RIGHT if verdict.valid else wrong(f"{found} is no plan: {verdict.reason}")


@service
def judge_lab(case: Case) -> Verdict:
    space = lab.ground(case.problem)
    return RIGHT if space.actions else wrong("there are no ground actions")


@service
def judge_check(case: Case) -> Verdict:
    problem = case.problem
    checked = check_tasks if isinstance(problem, HtnProblem) else check_problem
    findings = checked(problem, Limits(case.limit))
    bad = [each for each in findings if each.level.name == "ERROR"]
    if bad and case.truth is not None:
        return wrong(f"{bad[0]}")
    if case.result.status is Status.UNSUPPORTED and not any("refuse" in str(each) for each in findings):
        return wrong(f"it does not tell that solve refuses it: {case.result.reason}")
    return RIGHT
