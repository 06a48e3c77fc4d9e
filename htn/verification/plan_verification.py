"""The independent verifier of hierarchical plans: it checks a plan and the decomposition that justifies it.

It shares no code with the stages that find plans. `decomposition_tree` compares the tree with tasks and methods, and
the order of its steps; then `Sweep` passes over the states, for steps, preconditions of methods, and the goal.
`total_order` accepts plans with totally ordered tasks in a single pass, and leaves the others to these. Behnke, Höller
and Biundo (2015, "On the Complexity of HTN Plan Verification and Its Implications for Plan Recognition") and Höller et
al. (2020, "HDDL: An Extension to PDDL for Expressing Hierarchical Planning Problems") state what is to be checked.

A precondition changes nothing, so it is best for what follows that it is tested as early as the order allows. One that
fails is tested again when facts that it reads have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from htn.model import Decomposition, HtnProblem
from htn.verification.decomposition_tree import Events, FlawError, Frame, check_order, events_of, frames_of
from htn.verification.total_order import SinglePass, is_totally_ordered
from planner.errors import InputError, kind_of
from planner.lightweight import Any, replace
from planner.model import And, Formula
from planner.model.domain import creates_objects
from planner.model.formulas import TRUE, atoms_in, substitute
from planner.plan import Plan, Step
from planner.semantics.axioms import functions_read, name_function
from planner.semantics.condition_solver import Binding, Condition, Domains
from planner.semantics.simulation import Simulation
from planner.validation.validate import Replay
from planner.validation.verdict import Verdict


def check_constraints(frames: Iterable[Frame], simulation: Simulation) -> None:
    """Raise `FlawError` where a complete binding breaks a constraint, which no state can change."""
    for frame in frames:
        constraints = frame.method.network.constraints
        if constraints != TRUE and not frame.is_open and not simulation.holds(substitute(constraints, frame.binding)):
            failure = simulation.inspector.smallest_failure(constraints, frame.binding)
            raise FlawError(f"{frame}: its constraint {failure} is broken")


class Sweep:
    """The pass over the states of a plan: the bindings of the methods that have begun, by node, are `found`.

    `slots` has the numbers of the steps before which they began, by node, in the order in which they did.
    """

    def __init__(self, replay: Replay, frames: Iterable[Frame], events: Events) -> None:
        self.found: dict[int, tuple[str, ...]] = {}
        self.slots: dict[int, int] = {}
        self.events = events
        self._replay = replay
        self.frames = {2 * frame.place: frame for frame in frames}
        """By the events of their beginnings."""
        self._waits_for = events.waits_for.copy()
        self._compiled: dict[str, tuple[Condition, frozenset[str]]] = {}
        self._waiting: dict[int, int] = {}
        """The beginnings that wait for the precondition alone, and the slots since which they wait."""
        self._readers: dict[str, dict[int, None]] = {}
        self._slot = 0

    def verdict(self, plan: Plan) -> Verdict:
        """Return the verdict on `plan`, whose steps are in order."""
        steps = plan.steps
        step_events = {number: event for event, number in self.events.steps.items()}
        self._settle([event for event, number in enumerate(self._waits_for) if not number])
        for number, step in enumerate(steps):
            if self._waits_for[step_events[number]]:
                return self._failure(steps)
            objection = self._replay.find_objection(step)
            if objection is not None:
                return objection
            changes = self._replay.apply(step)
            self._slot = number + 1
            touched = {fact.predicate for fact in (*changes.added, *changes.removed)}
            touched.update([name_function(each.fluent.predicate) for each in changes.numbers])
            again = dict.fromkeys(event for predicate in touched for event in self._readers.get(predicate, ()))
            self._settle([*again, *self._successors(step_events[number])])
        return self._failure(steps) if self._waiting else self._replay.judge_end(plan.cost)

    def _settle(self, ready: list[int]) -> None:
        """Let all events happen that can happen in this slot, beginning with `ready`."""
        while ready:
            event = ready.pop()
            frame = self.frames.get(event)
            if event in self.events.steps:
                continue
            if frame is None or self._begin(frame):
                self._forget(event)
                ready.extend(self._successors(event))
            elif event not in self._waiting:
                self._waiting[event] = self._slot
                for predicate in self._condition(frame)[1]:
                    self._readers.setdefault(predicate, {})[event] = None

    def _forget(self, event: int) -> None:
        """Stop waiting for the precondition of the beginning `event`."""
        if self._waiting.pop(event, None) is not None:
            for predicate in self._condition(self.frames[event])[1]:
                del self._readers[predicate][event]

    def _successors(self, event: int) -> list[int]:
        """Return the events that wait for nothing more now that `event` has happened."""
        for other in self.events.following[event]:
            self._waits_for[other] -= 1
        return [other for other in self.events.following[event] if not self._waits_for[other]]

    def _condition(self, frame: Frame) -> tuple[Condition, frozenset[str]]:
        """Return the condition for the method of `frame` to begin, and the base predicates and functions it reads."""
        method = frame.method
        if method.name not in self._compiled:
            rules = self._replay.simulation.rules
            formula = And((method.precondition, method.network.constraints))
            predicates = {atom.predicate for atom in atoms_in(formula)}
            reads = [rules.axioms.reads(each) if each in rules.axioms else {each} for each in predicates]
            condition = rules.compiler.compile(formula)
            functions = map(name_function, functions_read(condition))
            self._compiled[method.name] = condition, frozenset(functions).union(*reads)
        return self._compiled[method.name]

    def _begin(self, frame: Frame) -> bool:
        """Begin the method of `frame` with some binding, if that is possible; return whether it is."""
        names = [parameter.name for parameter in frame.method.parameters]
        condition = self._condition(frame)[0]
        solver = self._replay.simulation.world.solver
        binding: Binding | None = frame.binding
        if frame.is_open:
            binding = next(solver.solutions([condition], self._domains(frame), frame.binding), None)
        elif not solver.holds(condition, frame.binding):
            binding = None
        if binding is None:
            return False
        self.found[frame.place] = tuple([binding[name] for name in names])
        self.slots[frame.place] = self._slot
        return True

    def _domains(self, frame: Frame) -> Domains:
        missing = [each for each in frame.method.parameters if each.name not in frame.binding]
        return self._replay.simulation.rules.universe.domains(tuple(missing))

    def _failure(self, steps: Sequence[Step]) -> Verdict:
        """Return the verdict on a plan in which a method cannot begin; of several, the last in the tree."""
        event = self._culprit(steps)
        frame, since, now = self.frames[event], self._waiting[event], self._slot
        until = f"before step {now + 1} {steps[now]}" if now < len(steps) else "at the end"
        if since < now:
            until = f"at no time between step {since} and {'step ' + str(now + 1) if now < len(steps) else 'the end'}"
            until = until.replace("between step 0", "between the beginning")
        condition, why = self._missing(frame)
        reason = f"{frame} requires {condition}{why} ({until})"
        failing = now + 1 if now < len(steps) else None
        return Verdict(valid=False, cost=self._replay.cost, reason=reason, failing_step=failing, condition=condition)

    def _culprit(self, steps: Sequence[Step]) -> int:
        """Return the beginning of a method that the next step waits for."""
        if self._slot == len(steps):
            return max(self._waiting)
        before: dict[int, list[int]] = {}
        for event, others in enumerate(self.events.following):
            for other in others:
                before.setdefault(other, []).append(event)
        stack = [event for event, number in self.events.steps.items() if number == self._slot]
        seen = set(stack)
        while stack[-1] not in self._waiting:
            fresh = [event for event in before.get(stack.pop(), ()) if event not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        return stack[-1]

    def _missing(self, frame: Frame) -> tuple[Formula, str]:
        """Return the condition that keeps the method of `frame` from beginning, and why it does not hold."""
        method = frame.method
        whole = And(tuple([part for part in (method.precondition, method.network.constraints) if part != TRUE]))
        if frame.is_open:
            names = ", ".join(self._domains(frame))
            return substitute(whole, frame.binding), f", and there are no objects for {names} to make it hold"
        condition = self._replay.simulation.inspector.smallest_failure(whole, frame.binding)
        return condition, f", {self._replay.chronicle.account(condition)}"


def validate(problem: HtnProblem, plan: Plan) -> Verdict:
    """Check that `plan.tree` decomposes the tasks of `problem` into the steps of `plan`, and that these are applicable.

    A method's precondition holds in some state after everything that is ordered before its task, and before the first
    of its steps. Where a method (or the initial network) has no binding, any that fits will do. Never raises for a bad
    plan; raises `InputError` for arguments of the wrong kind, and as `planner.validation.validate` does.
    """
    return _check(problem, plan)[0]


def complete_bindings(problem: HtnProblem, plan: Plan) -> Plan:
    """Return `plan` with bindings for all methods that have none, where it is valid; otherwise as it is."""
    verdict, found = _check(problem, plan)
    if not verdict.valid:
        return plan
    tree: Decomposition = plan.tree
    nodes = [
        replace(node, binding=found[place]) if node.step is None else node for place, node in enumerate(tree.nodes)
    ]
    return replace(plan, tree=Decomposition(tuple(nodes), tree.roots, found[len(nodes)]))


def _check(problem: HtnProblem, plan: Plan) -> tuple[Verdict, dict[int, tuple[str, ...]]]:
    _check_arguments(problem, plan)
    if creates_objects(problem.classical.domain):
        from htn.compilations.htn_reductions import add_placeholders_of_steps

        problem = add_placeholders_of_steps(problem, plan.steps)
    if plan.tree is None:
        return _flaw_verdict("the plan has no decomposition"), {}
    if is_totally_ordered(problem, plan.tree):
        single = SinglePass(problem, plan)
        verdict = single.verdict()
        if verdict is not None:
            return verdict, single.found
    return check_thoroughly(problem, plan)


def check_thoroughly(problem: HtnProblem, plan: Plan) -> tuple[Verdict, dict[int, tuple[str, ...]]]:
    """Return the verdict on `plan`, which has a decomposition, and the bindings of its methods by node."""
    try:
        sweep = make_sweep(problem, plan)
    except FlawError as flaw:
        return _flaw_verdict(str(flaw)), {}
    return sweep.verdict(plan), sweep.found


def make_sweep(problem: HtnProblem, plan: Plan) -> Sweep:
    """Return the pass over the states of `plan`, whose decomposition fits its steps. Raises `FlawError` otherwise."""
    replay = Replay(problem.classical)
    frames = frames_of(problem, plan.steps, plan.tree, replay.simulation.rules.universe)
    events = events_of(plan.tree, frames)
    check_order(events, frames, plan.steps)
    check_constraints(frames, replay.simulation)
    return Sweep(replay, frames, events)


def _flaw_verdict(reason: str) -> Verdict:
    return Verdict(valid=False, cost=0, reason=reason)


def _check_arguments(problem: Any, plan: Any) -> None:
    if not isinstance(problem, HtnProblem):
        raise InputError(f"{kind_of(problem)} is no hierarchical problem", hint="planner.validate checks others")
    if not isinstance(plan, Plan):
        raise InputError(f"{kind_of(plan)} is no plan", hint="Plan(steps, problem, decomposition) is one")
    if plan.tree is not None and not isinstance(plan.tree, Decomposition):
        raise InputError(f"{kind_of(plan.tree)} is no decomposition", hint="htn.model has the class")


__all__ = ["check_thoroughly", "complete_bindings", "make_sweep", "validate"]
