"""Verification of plans without decomposition: which decomposition of the tasks yields these steps, by chart parsing.

Totally ordered methods are the rules of a grammar whose words are actions (Höller, Behnke, Bercher and Biundo, 2014,
"Language Classification of Hierarchical Planning Problems"). So this is Earley's algorithm (1970, "An Efficient
Context-Free Parsing Algorithm") for rules with parameters. What a task yields from a slot on is computed once, for all
places where it is needed. A slot is the place between two steps; a precondition is tested in the slot in which its
method begins.

Where tasks are partially ordered, a task yields any *set* of steps from a slot on, and unordered tasks share the steps
out. A method begins in the first slot in which its precondition holds: the earlier, the better for what comes after it.
There may be exponentially many sets (the question is NP-complete: Behnke, Höller and Biundo, 2015, "On the Complexity
of HTN Plan Verification and Its Implications for Plan Recognition"), so this is for small cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter

from htn.compilations.htn_in_time import as_plain_plans, check_times, is_in_time, schedule_tasks, without_changes
from htn.compilations.htn_reductions import add_placeholders_of_steps
from htn.model import Decomposition, HtnProblem, Method, Node
from htn.verification.decomposition_tree import INITIAL
from htn.verification.plan_verification import validate
from planner.lightweight import Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import Action, Atom, Problem, Variable, is_variable
from planner.plan import Plan, Step, StoppedBy
from planner.semantics.axioms import World
from planner.semantics.changes_to_come import depends_on, find_changing
from planner.semantics.condition_solver import Binding, Condition, Domains, State, Table
from planner.validation.validate import Replay, check_steps
from planner.validation.verdict import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A method as a grammar rule; `order` is a linearisation of its subtasks, and `subtasks` are in this order.

    `after` has for each place the places that come after it at once.
    """

    method: Method
    order: tuple[int, ...]
    subtasks: tuple[Atom, ...]
    after: tuple[tuple[int, ...], ...]
    precondition: Condition
    constraints: Condition


class Grammar:
    """The methods of `problem` as rules, and the states of `steps`, up to the first step that cannot be applied.

    The initial network is the method of a task of its own, `top`. Raises `LimitReached`.
    """

    def __init__(self, problem: HtnProblem, steps: Sequence[Step], limits: Limits) -> None:
        self._replay = Replay(problem.classical)
        self.top = Atom(INITIAL)
        self.steps = [Atom(step.action, step.arguments) for step in steps]
        self.worlds, self.is_plan = self._replay_steps(steps, limits)
        self.actions = problem.domain.classical.actions
        self._parameters = {name: task.parameters for name, task in problem.domain.tasks.items()}
        self._rules: dict[str, list[Rule]] = {name: [] for name in problem.domain.tasks}
        for method in problem.domain.methods.values():
            self._rules.setdefault(method.task.predicate, []).append(self._make_rule(method))
        initial = Method(INITIAL, self.top, problem.parameters, network=problem.network)
        self._rules[INITIAL] = [self._make_rule(initial)]

    def rules_for(self, task: str) -> list[Rule]:
        """Return the rules of the compound task of this name; none where there is no such task."""
        return self._rules.get(task, [])

    def fits(self, task: Atom) -> bool:
        """Return whether the arguments of the compound `task` have the types of its parameters; variables always do."""
        parameters = self._parameters.get(task.predicate, ())
        return len(parameters) == len(task.args) and all(
            is_variable(argument) or self.is_instance(argument, parameter)
            for parameter, argument in zip(parameters, task.args, strict=True)
        )

    def is_instance(self, name: str, parameter: Variable) -> bool:
        """Return whether the object `name` is of the type of `parameter`."""
        return name in self._replay.simulation.rules.universe.of_types(parameter.types)

    def domains(self, method: Method, binding: Binding) -> Domains:
        """Return the domains of the parameters of `method` that `binding` lacks."""
        missing = tuple([each for each in method.parameters if each.name not in binding])
        return self._replay.simulation.rules.universe.domains(missing)

    def extend(self, method: Method, pattern: Atom, task: Atom, known: Binding) -> Binding | None:
        """Return `known` extended so that `pattern`, a task of `method`, is `task`; None where names or types differ.

        Variables of `task` are open.
        """
        if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
            return None
        binding = known.copy()
        for term, value in zip(pattern.args, task.args, strict=True):
            if not is_variable(value) and (binding.setdefault(term, value) if is_variable(term) else term) != value:
                return None
        fresh = (each for each in method.parameters if each.name in binding and each.name not in known)
        return binding if all(self.is_instance(binding[each.name], each) for each in fresh) else None

    def _make_rule(self, method: Method) -> Rule:
        network = method.network
        sorter = TopologicalSorter(dict.fromkeys(range(len(network.subtasks)), ()))
        after: list[list[int]] = [[] for _ in network.subtasks]
        for first, second in network.ordering:
            sorter.add(second, first)
            after[first].append(second)
        order = tuple(sorter.static_order())
        subtasks = tuple([network.subtasks[place].task for place in order])
        compiler = self._replay.simulation.rules.compiler
        conditions = compiler.compile(method.precondition), compiler.compile(network.constraints)
        return Rule(method, order, subtasks, tuple(map(tuple, after)), *conditions)

    def _replay_steps(self, steps: Sequence[Step], limits: Limits) -> tuple[list[World], bool]:
        """Return the state in each slot, and whether all steps can be applied and reach the goal.

        Facts of predicates that a step leaves alone are in one table for both states.
        """
        simulation = self._replay.simulation
        worlds = [World(simulation.world.state.copy(), simulation.rules.axioms)]
        for step in steps:
            limits.check()
            if self._replay.find_objection(step) is not None:
                return worlds, False
            changes = self._replay.apply(step)
            before = worlds[-1].state.values
            state = State(values=simulation.world.state.values.copy() if changes.numbers else before)
            state.tables = worlds[-1].state.tables.copy()
            for predicate in {fact.predicate for fact in (*changes.added, *changes.removed)}:
                state.tables[predicate] = Table(simulation.world.state.table(predicate).rows)
            worlds.append(World(state, simulation.rules.axioms))
        return worlds, self._replay.judge_end(None).valid


_ANY: Final = "?"
"""An open argument."""

Call = tuple[Atom, int]
"""A task, and the first slot in which it may begin."""

Answer = tuple[Atom, int, int]
"""A ground task, its steps as bits, and the slot in which it ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """An item of the chart: a method of `call` whose first `done` subtasks (in the order of the rule) are parsed.

    `steps` are the steps of these subtasks, as bits, and `end` is the slot in which they have ended. `begins` has the
    first slot in which each subtask may begin. `before` is the item without the last subtask, which became `child`.
    """

    call: Call
    rule: Rule
    binding: Binding
    begins: tuple[int, ...]
    done: int = 0
    steps: int = 0
    end: int = 0
    before: Item | None = None
    child: Item | int = -1


class Chart:
    """What tasks yield, as far as the initial tasks need it; with `is_ordered`, only consecutive steps."""

    def __init__(self, grammar: Grammar, limits: Limits, *, is_ordered: bool) -> None:
        self._grammar = grammar
        self._limits = limits
        self._is_ordered = is_ordered
        self._answers: dict[Call, dict[Answer, Item]] = {}
        self._waiting: dict[Call, list[Item]] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._agenda: list[Item] = []

    def parse(self) -> Decomposition | None:
        """Return a decomposition of the initial tasks into all steps; None where there is none."""
        top = (self._grammar.top, 0)
        everything = (1 << len(self._grammar.steps)) - 1
        self._begin(top)
        while self._agenda:
            self._limits.check()
            self._advance(self._agenda.pop())
            for (_, steps, _), item in self._answers[top].items():
                if steps == everything:
                    return self._build_tree(item)
        return None

    def _begin(self, call: Call) -> None:
        """Predict: enter the methods of a task that is asked for the first time."""
        self._answers[call], self._waiting[call] = {}, []
        task, slot = call
        if self._grammar.fits(task):
            for rule in self._grammar.rules_for(task.predicate):
                binding = self._grammar.extend(rule.method, rule.method.task, task, {})
                if binding is not None:
                    for solution, begin in self._beginnings(rule, binding, slot):
                        self._enter(Item(call, rule, solution, (begin,) * len(rule.order), end=begin))

    def _beginnings(self, rule: Rule, binding: Binding, slot: int) -> Iterator[tuple[Binding, int]]:
        """Yield the bindings with which `rule` can begin from `slot` on, each with the first slot in which it can."""
        free = self._grammar.domains(rule.method, binding)
        asked = {name: values for name, values in free.items() if name in rule.precondition.free}
        known: set[tuple[str, ...]] = set()
        for later, world in enumerate(self._grammar.worlds[slot : slot + 1 if self._is_ordered else None], start=slot):
            for solution in world.solver.solutions([rule.precondition], asked, binding):
                self._limits.check()
                values = tuple([solution[name] for name in asked])
                if values not in known:
                    known.add(values)
                    yield solution, later
            if known and not asked:
                return

    def _enter(self, item: Item) -> None:
        names = [parameter.name for parameter in item.rule.method.parameters]
        values = tuple([item.binding.get(name, _ANY) for name in names])
        key = (item.call, item.rule.method.name, values, item.begins, item.done, item.steps, item.end)
        if key not in self._seen:
            self._seen.add(key)
            self._agenda.append(item)

    def _advance(self, item: Item) -> None:
        """Parse the next subtask of `item`, or complete the item."""
        if item.done == len(item.rule.order):
            self._complete(item)
            return
        subtask = item.rule.subtasks[item.done].substitute(item.binding)
        begin = item.begins[item.rule.order[item.done]]
        if subtask.predicate in self._grammar.actions:
            steps = self._grammar.steps[begin : begin + 1 if self._is_ordered else None]
            for number, step in enumerate(steps, start=begin):
                self._extend(item, (step, 1 << number, number + 1), number)
            return
        call = (Atom(subtask.predicate, tuple([_ANY if is_variable(arg) else arg for arg in subtask.args])), begin)
        if call not in self._answers:
            self._begin(call)
        self._waiting[call].append(item)
        for answer, child in list(self._answers[call].items()):
            self._extend(item, answer, child)

    def _extend(self, item: Item, answer: Answer, child: Item | int) -> None:
        """Enter `item` with its next subtask parsed as `answer`, where that fits."""
        task, steps, end = answer
        rule, place = item.rule, item.rule.order[item.done]
        if steps & item.steps:
            return
        binding = self._grammar.extend(rule.method, rule.subtasks[item.done], task, item.binding)
        if binding is not None:
            begins = list(item.begins)
            begins[place] = 0
            for later in rule.after[place]:
                begins[later] = max(begins[later], end)
            steps, end = item.steps | steps, max(item.end, end)
            self._enter(Item(item.call, rule, binding, tuple(begins), item.done + 1, steps, end, item, child))

    def _complete(self, item: Item) -> None:
        """Answer the call of `item` for all values of its remaining parameters."""
        rule, answers = item.rule, self._answers[item.call]
        domains = self._grammar.domains(rule.method, item.binding)
        solver = self._grammar.worlds[0].solver
        for binding in solver.solutions([rule.constraints], domains, item.binding):
            self._limits.check()
            task = rule.method.task.substitute(binding)
            if not self._grammar.fits(task) or any((task, item.steps, end) in answers for end in range(item.end + 1)):
                continue
            answer = (task, item.steps, item.end)
            answers[answer] = Item(
                item.call, rule, binding, item.begins, item.done, item.steps, item.end, item.before, item.child
            )
            for other in list(self._waiting[item.call]):
                self._extend(other, answer, answers[answer])

    def _build_tree(self, top: Item) -> Decomposition:
        """Return the decomposition below `top`, level by level; answers come of earlier answers, so this ends."""
        found: list[Item | int] = [top]
        below: list[tuple[int, ...]] = []
        for each in found:
            children = [] if isinstance(each, int) else _children(each)
            below.append(tuple(range(len(found) - 1, len(found) - 1 + len(children))))
            found.extend(children)
        nodes = [self._build_node(each, places) for each, places in zip(found, below, strict=True)]
        return Decomposition(tuple(nodes[1:]), below[0], nodes[0].binding)

    def _build_node(self, found: Item | int, children: tuple[int, ...]) -> Node:
        if isinstance(found, int):
            return Node(self._grammar.steps[found], found)
        method = found.rule.method
        binding = tuple([found.binding[parameter.name] for parameter in method.parameters])
        return Node(method.task.substitute(found.binding), None, method.name, binding, children)


def _children(item: Item) -> list[Item | int]:
    """Return the items or steps of the subtasks of the method of `item`, in their order."""
    children: dict[int, Item | int] = {}
    current = item
    while current.before is not None:
        children[item.rule.order[current.done - 1]] = current.child
        current = current.before
    return [children[place] for place in sorted(children)]


def find_decomposition(problem: HtnProblem, steps: Sequence[Step], limits: Limits) -> Decomposition | None:
    """Return a decomposition with which `steps` are a plan of `problem`; None where it is proved that there is none.

    Total orders take polynomial time in the number of steps, partial orders may take very long. Raises `LimitReached`
    when `limits` is used up, and `InputError` for a problem with mistakes, as `planner.validation.validate` does.
    """
    problem = add_placeholders_of_steps(problem, steps)
    grammar = Grammar(problem, steps, limits)
    if not grammar.is_plan:
        return None
    return Chart(grammar, limits, is_ordered=problem.is_ordered).parse()


def verify(problem: HtnProblem, plan: Plan, limits: Limits) -> Verdict:
    """Return whether `plan` works: as `validate` where it has a decomposition, else whether it has any.

    Where `limits` is used up in the search for a decomposition, the verdict says by which limit. Where time is planned,
    the steps must decompose the tasks as a sequence, and their times must keep the order of the tasks.
    """
    if problem.classical.unknown:
        from htn.verification.supposed_plans import verify_on_suppositions

        return verify_on_suppositions(problem, plan, limits)
    if is_in_time(problem):
        return _verify_in_time(problem, plan, limits)
    if plan.tree is not None:
        return validate(problem, plan)
    verdict = check_steps(problem.classical, plan)
    if not verdict.valid:
        return verdict
    try:
        tree = find_decomposition(problem, plan.steps, limits)
    except LimitReached as limit:
        return _undecided_verdict(verdict, limit.stopped_by)
    except MemoryError:
        return _undecided_verdict(verdict, StoppedBy.MEMORY)
    if tree is None:
        return Verdict(valid=False, cost=verdict.cost, reason="no decomposition of the tasks gives these steps")
    return validate(problem, replace(plan, problem=problem, tree=tree))


def _verify_in_time(problem: HtnProblem, plan: Plan, limits: Limits) -> Verdict:
    """Return the verdict on `plan` of a problem in time."""
    if problem.classical.timed and not plan.times:
        plan = schedule_tasks(problem, plan) or plan
    verdicts = []
    for plain in as_plain_plans(problem, plan):
        verdicts.append(verify(plain.problem, plain, limits))
        if verdicts[-1].valid:
            tree = plan.tree
            if tree is None:
                found = find_decomposition(plain.problem, plain.steps, limits)
                tree = without_changes(problem, replace(plain, tree=found)).tree
            return check_times(problem, replace(plan, tree=tree))
    overlapping = verify_overlapping(problem, plan, limits) if plan.times else None
    return verdicts[0] if overlapping is None else overlapping


def verify_overlapping(problem: HtnProblem, plan: Plan, limits: Limits) -> Verdict | None:
    """Return the verdict on `plan`, whose steps may need each other, by its times; None where that says nothing."""
    bare = _without_states(problem, plan.steps)
    found = plan if plan.tree is not None else decompose_in_time(problem, plan, limits)
    if bare is None or found is None:
        return None
    steps = tuple([replace(step, cost=0) for step in plan.steps])
    decomposed = validate(bare, replace(found, steps=steps, problem=bare, times=(), time_cost=0))
    return check_times(problem, found) if decomposed.valid else None


def _without_states(problem: HtnProblem, steps: Sequence[Step]) -> HtnProblem | None:
    """Return the tasks of `problem` over actions that need and change nothing; None where methods look at what changes.

    Then names and order say whether `steps` decompose the tasks, though no sequence of them may be carried out.
    """
    problem = add_placeholders_of_steps(problem, steps)
    classical = problem.classical
    changing, methods = find_changing(classical), problem.domain.methods.values()
    if classical.unknown or any(depends_on(method.precondition, changing) for method in methods):
        return None
    actions = {name: Action(name, each.parameters, cost=()) for name, each in classical.domain.actions.items()}
    domain = replace(classical.domain, actions=actions)
    bare = Problem(classical.name, domain, classical.objects, classical.initial, values=classical.values)
    return replace(problem, domain=replace(problem.domain, classical=domain), classical=bare, seal=())


def decompose_in_time(problem: HtnProblem, plan: Plan, limits: Limits) -> Plan | None:
    """Return `plan`, which has times, with a decomposition into its steps in the order of their starts.

    Return None without one, and where methods look at what changes. Raises `LimitReached`.
    """
    bare = _without_states(problem, plan.steps)
    tree = None if bare is None else find_decomposition(bare, [replace(step, cost=0) for step in plan.steps], limits)
    return None if tree is None else replace(plan, problem=problem, tree=tree)


def _undecided_verdict(verdict: Verdict, stopped_by: StoppedBy) -> Verdict:
    reason = (
        "the steps can be done and reach the goal, but whether the tasks decompose into them was not found out: "
        f"stopped by {stopped_by.value}; a plan with its decomposition is checked at once"
    )
    return Verdict(valid=False, cost=verdict.cost, reason=reason, stopped_by=stopped_by)
