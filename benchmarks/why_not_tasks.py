"""Contrastive answers about random small problems with tasks, judged by the enumeration of their decompositions.

`python -m benchmarks.why_not_trials --tasks` runs it. The enumeration goes over pairs of a state and what remains to be
done, cheapest first, and watches on the way which steps are done and which methods are used: it knows nothing of
foils. Where it has too much to look at, the question does not count.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from typing import Final

from benchmarks.htn_brute import (
    MOST_TASKS,
    Progression,
    Remaining,
    Replay,
    TooManyNetworks,
    World,
    predecessors,
    remaining_of,
    replaced,
)
from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from benchmarks.why_not_brute import Cover, Done, Watch, watch_avoid, watch_order, watch_use
from benchmarks.why_not_judge import Asked, Trial, ask_and_judge, judge_bounds, judge_outcome, steps_of
from htn.model import Decomposition, HtnProblem, Network, Node
from htn.problem_kind import validate
from planner.errors import ForethoughtError
from planner.explain.conflicts import Kind
from planner.explain.contrastive_answer import WhyNot
from planner.explain.why_not import why_not
from planner.model import Atom, Formula, Goal
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Plan
from planner.solve import solve

QUESTIONS: Final = 4
"""Questions about one problem."""
MOST_NETWORKS: Final = 1_500
"""Most states with what remains to be done that are looked at for one judgement."""
KINDS: Final = (ORDERED, PARTIAL, HtnFeatures(classical=WILD))
OnNode = Callable[[int, Node], int | None]
"""What is known after a method is used, as the progress of a `Watch` is what is known after a step."""


def _keep(known: int, _: Node) -> int:
    return known


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """A question, and what it demands of methods besides steps."""

    asked: Asked
    on_node: OnNode = _keep


@dataclass(frozen=True, slots=True)
class TaskSubject:
    """A problem with tasks that is asked about, and the plan that the questions are about, if one is given."""

    problem: HtnProblem
    plan: Plan
    given: bool
    least: Fraction
    done: Sequence[Done] = field(default=())


class Watching(Progression):
    """Uniform-cost search that watches steps and uses of methods."""

    def find_least(self, watch: Watch, on_node: OnNode, starts: Iterable[Network]) -> Fraction | None:
        """Return the least cost of a plan that does what is watched for; raises `TooManyNetworks`."""
        ticket, closed = count(), set[tuple[int, Remaining, int]]()
        queue = [(Fraction(0), 0, next(ticket), 0, remaining_of(start), 0) for start in starts]
        while queue:
            cost, work, _, state, remaining, known = heapq.heappop(queue)
            if (state, remaining, known) in closed:
                continue
            if not remaining and self.world.is_end(state) and known in watch.accepted:
                return cost
            closed.add((state, remaining, known))
            if len(closed) > self.limit or len(remaining) > MOST_TASKS:
                raise TooManyNetworks("too much to look at")
            for more, end, rest, then in self._watched_moves(state, remaining, known, watch, on_node):
                heapq.heappush(queue, (cost + more, work + 1, next(ticket), end, rest, then))
        return None

    def _watched_moves(
        self, state: int, remaining: Remaining, known: int, watch: Watch, on_node: OnNode
    ) -> Iterator[tuple[Fraction, int, Remaining, int]]:
        for place, (task, before) in enumerate(remaining):
            if before:
                continue
            if self.hierarchy.is_action(task):
                after = self.world.after(state, task)
                then = None if after is None else watch.progress(known, (task.predicate, *task.args))
                if after is not None and then is not None:
                    yield Fraction(after[0].cost), after[1], replaced(remaining, place, Network()), then
                continue
            for network, node in self.hierarchy.ways_by_methods(state, task):
                then = on_node(known, node)
                if then is not None:
                    yield Fraction(0), state, replaced(remaining, place, network), then


def find_least(
    problem: HtnProblem, question: TaskQuestion | None = None, required: Iterable[int] | None = None
) -> Fraction | None:
    """Return the least cost of a plan that does what is asked for; None where there is none.

    Initial tasks that are not `required` may be left undone. Raises `TooManyNetworks`.
    """
    return _search(World(problem), question, required)


def _search(world: World, question: TaskQuestion | None, required: Iterable[int] | None = None) -> Fraction | None:
    search = Watching(world, MOST_NETWORKS)
    starts = list(search.hierarchy.starts())
    if required is not None:
        starts = [part for start in starts for part in _leave_out(start, set(required))]
    watch, on_node = (Watch(), _keep) if question is None else (question.asked.watch, question.on_node)
    return search.find_least(watch, on_node, starts)


def _leave_out(network: Network, required: set[int]) -> Iterator[Network]:
    """Yield the network without some of the tasks that are not required, for each choice of these."""
    before = predecessors(network)
    for choice in product((True, False), repeat=len(network.subtasks)):
        kept = [place for place, stays in enumerate(choice) if stays]
        if required <= {*kept}:
            number = {place: new for new, place in enumerate(kept)}
            order = [(number[one], number[other]) for other in kept for one in before[other] if one in number]
            yield Network(tuple([network.subtasks[place] for place in kept]), tuple(order))


class _TaskAsker:
    """Draws questions about a subject."""

    def __init__(self, subject: TaskSubject, rng: random.Random) -> None:
        self._subject = subject
        self._problem = subject.problem
        self._rng = rng

    def ask(self) -> TaskQuestion | None:
        """Return a question; None where the problem has nothing to ask about."""
        kinds = [self._method, self._method, self._method, self._fact, self._cheaper]
        if self._subject.done:
            kinds += [self._use, self._avoid, self._order, self._order]
        if self._subject.given and self._subject.plan.steps:
            kinds += [self._without_step, self._step_order]
        return self._rng.choice(kinds)()

    def _mention(self) -> tuple[str, Cover]:
        """Return the words for some steps, and the test for them."""
        step = self._rng.choice(self._subject.done)
        name, args = step[0], step[1:]
        way = self._rng.randrange(3)
        if way == 0 and args:
            thing = self._rng.choice(args)
            return thing, lambda other: thing in other[1:]
        if way == 1 or not args:
            return f"action {name}", lambda other: other[0] == name
        kept = [arg if self._rng.random() < 0.6 else "_" for arg in args]
        return f"{name}({', '.join(kept)})", lambda other: other[0] == name and _fits(kept, other[1:])

    def _use(self) -> TaskQuestion:
        words, covers = self._mention()
        return TaskQuestion(Asked(f"why not with {words}?", "use", watch_use(covers)))

    def _avoid(self) -> TaskQuestion:
        words, covers = self._mention()
        text = self._rng.choice(["without {}", "why {}"]).format(words)
        return TaskQuestion(Asked(text, "avoid", watch_avoid(covers)))

    def _order(self) -> TaskQuestion:
        (one, first), (two, later) = self._mention(), self._mention()
        return TaskQuestion(Asked(f"{one} before {two}", "order", watch_order(first, later)))

    def _cheaper(self) -> TaskQuestion:
        return TaskQuestion(Asked("cheaper", "cheaper"))

    def _without_step(self) -> TaskQuestion:
        steps = steps_of(self._subject.plan)
        number = self._rng.randint(1, len(steps))
        watch = watch_avoid(lambda step: step == steps[number - 1])
        return TaskQuestion(Asked(f"without step {number}", "without step", watch))

    def _step_order(self) -> TaskQuestion:
        steps = steps_of(self._subject.plan)
        one, two = sorted([self._rng.randint(1, len(steps)) for _ in range(2)])
        first, later = steps[two - 1], steps[one - 1]
        watch = watch_order(lambda step: step == first, lambda step: step == later)
        return TaskQuestion(Asked(f"why {one} before {two}", "order of steps", watch))

    def _fact(self) -> TaskQuestion | None:
        classical, rng = self._problem.classical, self._rng
        if classical.initial and rng.random() < 0.6:
            fact = rng.choice(classical.initial)
            return TaskQuestion(Asked(f"if not {fact}", "fact forbidden", fact=fact, holds=False))
        names = [item.name for item in classical.all_objects]
        predicates = [
            each for name, each in classical.domain.predicates.items() if name not in classical.domain.derived
        ]
        predicate = rng.choice(predicates)
        fact = Atom(predicate.name, tuple([rng.choice(names) for _ in predicate.parameters]))
        return TaskQuestion(Asked(f"what if {fact}?", "fact forced", fact=fact))

    def _method(self) -> TaskQuestion | None:
        """Return a question about a task, a method, or a task that is done by a method."""
        tree = self._subject.plan.tree
        nodes = [node for node in tree.nodes if node.step is None] if isinstance(tree, Decomposition) else []
        methods = list(self._problem.domain.methods.values())
        if not methods:
            return None
        if nodes and self._rng.random() < 0.5:
            node = self._rng.choice(nodes)
            task, method, binding = node.task, node.method, node.binding
        else:
            drawn = self._rng.choice(methods)
            open_task = Atom(drawn.task.predicate, ("_",) * len(drawn.task.args))
            task, method, binding = open_task, drawn.name, ("_",) * len(drawn.parameters)
        words, covers = self._node_words(task, method, binding)
        if self._rng.random() < 0.5:
            watch = Watch(accepted=frozenset({1}))
            return TaskQuestion(
                Asked(f"by {words}", "method used", watch), lambda known, node: 1 if covers(node) else known
            )
        return TaskQuestion(
            Asked(f"without {words}", "method avoided"), lambda known, node: None if covers(node) else known
        )

    def _node_words(self, task: Atom, method: str, binding: Sequence[str]) -> tuple[str, Callable[[Node], bool]]:
        args, objects = self._open(task.args), self._open(binding)
        of_task = f"task {task.predicate}" + (f"({', '.join(args)})" if args else "")
        of_method = f"method {method}" + (f"({', '.join(objects)})" if objects else "")

        def does(node: Node) -> bool:
            return node.task.predicate == task.predicate and _fits(args, node.task.args)

        def uses(node: Node) -> bool:
            return node.method == method and _fits(objects, node.binding)

        return self._rng.choice([
            (of_task, does),
            (of_method, uses),
            (f"{of_task} by {of_method}", lambda node: does(node) and uses(node)),
        ])  # fmt: skip

    def _open(self, args: Sequence[str]) -> list[str]:
        return [arg if self._rng.random() < 0.5 else "_" for arg in args]


def _fits(pattern: Sequence[str], args: Sequence[str]) -> bool:
    return all(one in ("_", two) for one, two in zip(pattern, args, strict=True))


def try_question(subject: TaskSubject, question: TaskQuestion, time_limit: float) -> Trial | None:
    """Ask one question, and judge the answer; None where it does not fit, or is too large to be judged."""
    plan = subject.plan if subject.given else None
    return ask_and_judge(
        question.asked,
        lambda: why_not(subject.problem, question.asked.text, plan=plan, time_limit=time_limit),
        lambda answer: "; ".join(_judge(subject, question, answer)),
        (TooManyNetworks,),
    )


def _judge(subject: TaskSubject, question: TaskQuestion, answer: WhyNot) -> Iterator[str]:
    problem = _change_facts(subject.problem, question.asked, answer)
    least = find_least(problem, question)
    yield from judge_bounds(answer, subject.least, least, about_cost=question.asked.kind == "cheaper")
    yield from judge_outcome(answer)
    if answer.plan is not None:
        yield from _judge_plan(problem, question, answer.plan)
        if answer.proved and Fraction(answer.plan.cost) != least:
            yield f"cost {answer.plan.cost} is said to be proved, and the least is {least}"
    for conflict in answer.conflicts:
        demands = conflict.demands
        if _has_plan(subject.problem, problem, question, [(each.kind, each.what) for each in demands]):
            yield f"'{conflict}', and there is a plan"
        for left_out in demands if conflict.smallest else ():
            rest = [(each.kind, each.what) for each in demands if each is not left_out]
            if not _has_plan(subject.problem, problem, question, rest):
                yield f"'{conflict}' is not smallest"


def _judge_plan(problem: HtnProblem, question: TaskQuestion, plan: Plan) -> Iterator[str]:
    """Yield what is wrong with a plan, by the checker of plans and by the enumeration."""
    verdict = validate(problem, plan)
    if not verdict.valid:
        yield f"the plan is not valid: {verdict.reason}"
    if _search(Replay(problem, plan.steps), question) is None:
        yield "no decomposition of the plan does what is asked for"
    known: int | None = 0
    for node in plan.tree.nodes:
        known = known if known is None or node.step is not None else question.on_node(known, node)
    if known is None or (question.asked.kind == "method used" and known not in question.asked.watch.accepted):
        yield "the decomposition of the plan does not do what is asked for"


def _has_plan(
    declared: HtnProblem, changed: HtnProblem, question: TaskQuestion, demands: Sequence[tuple[Kind, object]]
) -> bool:
    """Return whether there is a plan with some of the tasks and parts of the goal, which does what is asked for."""
    asks = any(kind is Kind.FOIL for kind, _ in demands)
    problem = changed if asks else declared
    goals: list[Formula] = [part for part in conjuncts(problem.classical.goal.hard) if (Kind.GOAL, part) in demands]
    problem = replace(problem, classical=replace(problem.classical, goal=Goal(conjunction(goals))))
    required = [what[0] for kind, what in demands if kind is Kind.TASK and isinstance(what, tuple)]
    return find_least(problem, question if asks else None, required) is not None


def _change_facts(problem: HtnProblem, asked: Asked, answer: WhyNot) -> HtnProblem:
    """Return the problem with the fact forced or forbidden, without the facts that the answer says it replaces."""
    if asked.fact is None:
        return problem
    said = answer.question.text.partition(" instead of ")[2]
    classical = problem.classical
    kept = [fact for fact in classical.initial if fact != asked.fact and str(fact) not in said]
    initial = (*kept, asked.fact) if asked.holds else tuple(kept)
    return replace(problem, classical=replace(classical, initial=initial))


def draw_subject(seed: int) -> TaskSubject | None:
    """Return the problem of `seed`, with a plan of it; None where it has none, or too much to look at."""
    problem = random_htn(seed, KINDS[seed % len(KINDS)])
    try:
        least = find_least(problem)
    except (TooManyNetworks, ForethoughtError):
        return None
    if least is None:
        return None
    found = solve(problem, mode="first" if seed % 4 else "anytime", time_limit=10)
    if found.plan is None:
        return None
    done = sorted({*steps_of(found.plan), *_draw_steps(problem, random.Random(seed))})
    return TaskSubject(problem, found.plan, bool(seed % 2), least, done)


def _draw_steps(problem: HtnProblem, rng: random.Random) -> Iterator[Done]:
    """Yield some steps that methods may lead to, if the objects fit."""
    from planner.semantics.simulation import Simulation

    steps = list(Simulation(problem.classical).applicable())
    for step in rng.sample(steps, min(3, len(steps))):
        yield (step.action, *step.arguments)


def draw_task_trials(seed: int, questions: int, time_limit: float) -> Iterator[tuple[int, Asked, Trial]]:
    """Yield the trials of so many questions, about problems from `seed` on."""
    made = 0
    while made < questions:
        subject = draw_subject(seed)
        if subject is not None:
            asker = _TaskAsker(subject, random.Random(seed))
            for _ in range(QUESTIONS):
                question = asker.ask()
                trial = None if question is None else try_question(subject, question, time_limit)
                if question is not None and trial is not None and made < questions:
                    made += 1
                    yield seed, question.asked, trial
        seed += 1
