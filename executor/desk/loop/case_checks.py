"""Checks of one case: the optimum, plans that are valid or not, properties of states, simulated runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from executor.desk.loop.case_documents import (
    PROPERTIES,
    CaseDocument,
    InvalidDocument,
    PropertyDocument,
    RunDocument,
    StepsDocument,
    Suite,
    plan_of,
)
from executor.desk.loop.judgements import (
    Answer,
    Judgement,
    cost_of,
    judge_at_most,
    judge_end,
    judge_makespan,
    judge_optimum,
    judge_state,
    list_steps,
    makespan_of,
    without_verdict,
)
from planner.compilations.object_creation import for_steps
from planner.errors import InputError, NoPlan, UnsupportedError, did_you_mean
from planner.language.declare.declared_names import Types
from planner.language.declare.model_builder import objects_of
from planner.language.declare.problem_builder import ProblemBuilder
from planner.language.documents.text_formats import DocumentPlace
from planner.language.loading.load import is_file, is_readable, load_from
from planner.lightweight import replace
from planner.limits import LimitReached, Limits
from planner.model import Atom, Formula, Metric, Not, Number, Problem
from planner.model.problem import Goal, refuse_time, seal
from planner.plan import Plan, Result, Status, Step, name_as_written
from planner.problem_kinds import AnyProblem, classical_of, service_of, with_classical
from planner.questions.notation import read_step
from planner.semantics.simulation import Simulation
from planner.semantics.snap_actions import make_snap_problem
from planner.solve import solve
from planner.validation.timed_replay import apply_happening, find_happenings
from planner.validation.validate import validate
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from executor import RunStatus
    from executor.cli.execute import Simulated

INITIALLY: Final = "in the initial state"

CUT: Final = 'between brackets a comma ends the value, so quote the step: "move(r1, hall, lab)"'


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation of a case, at `place`, and how it was met."""

    what: str
    judgement: Judgement
    message: str
    seconds: float
    place: DocumentPlace

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready data."""
        at = self.place.location
        return {
            "check": self.what,
            "result": self.judgement.name.lower(),
            "message": self.message,
            "seconds": round(self.seconds, 3),
            "line": at.line,
            "column": at.column,
        }


@dataclass(slots=True)
class CaseRun:
    """Runs the checks of one case; `steps` and `methods` collect the names that its plans and runs have used."""

    suite: Suite
    name: str
    case: CaseDocument
    place: DocumentPlace
    updates: bool = False
    """Whether what is proved of costs replaces what the case states, so that a difference is no failure."""
    steps: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    checks: list[Check] = field(default_factory=list)
    result: Result | None = None
    _spent: float = 0.0
    """Seconds of work for the next check."""

    def run(self) -> None:
        """Run all checks of the case. Raises `InputError` for mistakes in the case or in its problem."""
        problem = self._load()
        self._add("plan", self.place, lambda: self._solve(problem))
        for what, place, check in self._list_checks(problem):
            self._add(what, place, check)

    @property
    def seconds(self) -> float:
        """How long all checks took."""
        return sum(each.seconds for each in self.checks)

    @property
    def limits(self) -> Limits:
        """The limits of one check, from now on."""
        limit = self.suite.written.time_limit if self.case.time_limit is None else self.case.time_limit
        return Limits(float(limit))

    def _add(self, what: str, place: DocumentPlace, check: Callable[[], Answer | None]) -> None:
        """Run one check and keep its answer; None is no check, but work for the next one, whose time includes it."""
        began = time.monotonic()
        try:
            answer = check()
        except UnsupportedError as error:
            answer = Judgement.UNSUPPORTED, str(error)
        except LimitReached as stop:
            answer = Judgement.UNDECIDED, f"stopped by {stop.stopped_by.value}"
        self._spent += time.monotonic() - began
        if answer is not None:
            self.checks.append(Check(what, *answer, self._spent, place))
            self._spent = 0.0

    def _load(self) -> AnyProblem:
        """Load the problem of the case, with its changes."""
        found = self._load_unchanged()
        case, classical = self.case, classical_of(found)
        if not case.adding and not case.without and case.goal is None:
            return found
        builder = ProblemBuilder(classical.domain, {each.name: each for each in classical.objects}, self.place)
        changed = _change_facts(builder, classical, case, self.place)
        if case.goal is not None:
            wanted = builder.condition(case.goal, self.place.within("goal"))
            changed = replace(changed, goal=replace(changed.goal, hard=wanted))
        return with_classical(found, seal(changed))  # type: ignore[no-any-return]  # as loosely typed as problems are

    def _load_unchanged(self) -> AnyProblem:
        named, place = self.case.problem, self.place.within("problem")
        source = self.suite.source
        own = source.problems()
        if named is None and self.name not in own and len(own) == 1:
            named = next(iter(own))
        wanted = self.name if named is None else named
        beside = self.suite.file.parent / wanted
        if wanted not in own and (is_readable(wanted) or is_file(str(beside))):
            wanted = str(beside)
        if wanted not in own and is_readable(wanted) and not is_file(wanted):
            raise place.error(f"there is no file {wanted!r}", "its path begins at this file")
        try:
            return load_from(source, wanted)
        except InputError as error:
            if error.location is not None or (named is None and self.name in own):
                raise
            raise place.error(error.message, error.hint) from None

    def _solve(self, problem: AnyProblem) -> Answer | None:
        """Solve the problem; without expectations of cost, some plan is expected."""
        case = self.case
        states_cost = case.optimum is not None or case.makespan is not None
        over_plan = any(each.over == "plan" for each in case.properties)
        mode = "anytime" if states_cost or over_plan or self.updates or case.at_most is not None else "first"
        self.result = result = solve(problem, mode=mode, time_limit=self.limits.time_limit)
        if result.plan is not None:
            self._cover(result.plan)
        if states_cost or case.at_most is not None or case.unsolvable is not None:
            return None
        return self._judge_solvable(result, solvable=True)

    def _cover(self, plan: Plan) -> None:
        self.steps.update(each.action for each in name_as_written(plan.steps, classical_of(plan.problem)))
        if plan.tree is not None:
            self.methods.update(node.method for node in plan.tree.nodes if node.method)

    def _list_checks(self, problem: AnyProblem) -> Iterator[tuple[str, DocumentPlace, Callable[[], Answer]]]:
        case, result, within = self.case, self.result, self.place.within
        if result is not None:
            if case.unsolvable is not None:
                what = "unsolvable" if case.unsolvable else "solvable"
                yield what, within("unsolvable"), lambda: self._judge_solvable(result, solvable=what == "solvable")
            if case.optimum is not None:
                yield f"optimum {case.optimum}", within("optimum"), self._compare(judge_optimum, case.optimum, cost_of)
            if case.makespan is not None:
                judge = self._compare(judge_makespan, case.makespan, makespan_of)
                yield f"makespan {case.makespan}", within("makespan"), judge
            if case.at_most is not None:
                yield f"at most {case.at_most}", within("at_most"), _bind(judge_at_most, result, case.at_most)
        for number, valid in enumerate(case.valid):
            here = within("valid", number)
            yield f"valid plan {number + 1}", here, _bind(self._check_valid, problem, plan_of(valid), here)
        for number, invalid in enumerate(case.invalid):
            here = within("invalid", number)
            yield f"invalid plan {number + 1}", here, _bind(self._check_invalid, problem, plan_of(invalid), here)
        for number, each in enumerate(case.properties):
            here = within("properties", number)
            kind, condition = _read_property(each, here)
            what = f"{kind} {' and '.join(getattr(each, kind))}"
            formula = _builder_of(problem, here).condition(condition, here.within(kind))
            if each.over == "states":
                yield f"{what}, in all states", here, _bind(self._check_states, problem, kind, formula)
            else:
                yield what, here, _bind(self._check_plan_states, kind, formula)
        for number, run in enumerate(case.runs):
            here = within("runs", number)
            wanted = _read_outcomes(run, here.within("outcome"))
            simulation = _read_simulation(problem, run, here)
            for seed in run.seeds:
                yield f"run with seed {seed}", here, _bind(self._check_run, problem, run, seed, wanted, simulation)

    @property
    def proved(self) -> Plan | None:
        """The plan that is proved optimal, and replaces what the case states unless the case denies it."""
        result = self.result
        return None if result is None or result.status is not Status.OPTIMAL or self.case.unsolvable else result.plan

    def _compare(
        self, judge: Callable[[Result, Number], Answer], stated: Any, measure: Callable[[Plan], Number]
    ) -> Callable[[], Answer]:
        """Make the check of what was proved against what is `stated`, which it replaces where the case is updated."""

        def compare() -> Answer:
            assert self.result is not None
            answer = judge(self.result, stated)
            if self.updates and answer[0] is Judgement.FAILED and self.proved is not None:
                return Judgement.PASSED, f"updated from {stated} to {measure(self.proved)}"
            return answer

        return compare

    def _judge_solvable(self, result: Result, *, solvable: bool) -> Answer:
        match result.status:
            case Status.OPTIMAL | Status.SOLVED:
                message = f"there is a plan: {list_steps(result.plan)}"
                return (Judgement.PASSED, "") if solvable else (Judgement.FAILED, message)
            case Status.UNSOLVABLE:
                message = f"there is no plan: {result.describe()}; 'forethought explain' says what is missing"
                return (Judgement.FAILED, message) if solvable else (Judgement.PASSED, "")
        return without_verdict(result)

    def _read_steps(
        self, problem: AnyProblem, written: StepsDocument | InvalidDocument, place: DocumentPlace
    ) -> tuple[Plan, Number | None]:
        """Return the plan of a case, and the cost that its file claims."""
        if (written.steps is None) == (written.file is None):
            raise place.error("a plan has either the key 'steps' or the key 'file'")
        if written.file is not None:
            from planner.cli.options import read_plan_file

            path = self.suite.file.parent / written.file
            if not path.is_file():
                raise place.within("file").error(f"there is no file {str(path)!r}", "its path begins at this file")
            return read_plan_file(path, problem)
        steps = written.steps or []
        here = place.within("steps") if isinstance(_value_at(place), dict) else place
        return Plan(tuple([self._read_step(problem, text, here, at) for at, text in enumerate(steps)]), problem), None

    def _read_step(self, problem: AnyProblem, text: str, place: DocumentPlace, number: int) -> Step:
        here = place.within(number) if isinstance(_value_at(place), list) else place
        try:
            return read_step(classical_of(problem), text)
        except InputError as error:
            is_cut = text.count("(") != text.count(")")
            raise here.error(error.message, CUT if is_cut else error.hint) from None

    def _validate(self, problem: AnyProblem, plan: Plan, claimed: Number | None) -> Verdict:
        if isinstance(problem, Problem):
            return validate(problem, plan if plan.times else plan.steps, claimed_cost=claimed)
        return service_of(problem).validate(problem, plan, self.limits)

    def _check_valid(self, problem: AnyProblem, written: StepsDocument, place: DocumentPlace) -> Answer:
        plan, claimed = self._read_steps(problem, written, place)
        verdict = self._validate(problem, plan, claimed)
        self._cover(plan)
        if verdict.stopped_by is not None:
            return Judgement.UNDECIDED, str(verdict)
        if not verdict.valid:
            return Judgement.FAILED, verdict.reason
        if written.cost is not None and written.cost != verdict.cost:
            return Judgement.FAILED, f"the plan costs {verdict.cost}, not {written.cost}"
        return Judgement.PASSED, ""

    def _check_invalid(
        self, problem: AnyProblem, written: StepsDocument | InvalidDocument, place: DocumentPlace
    ) -> Answer:
        fails_at = written.fails_at if isinstance(written, InvalidDocument) else None
        because = written.because if isinstance(written, InvalidDocument) else None
        if fails_at not in (None, "goal") and not (isinstance(fails_at, int) and fails_at > 0):
            raise place.within("fails_at").error(f"found {fails_at!r}, expected the number of a step", "or 'goal'")
        plan, claimed = self._read_steps(problem, written, place)
        verdict = self._validate(problem, plan, claimed)
        if verdict.stopped_by is not None:
            return Judgement.UNDECIDED, str(verdict)
        if verdict.valid:
            return Judgement.FAILED, f"the plan is valid, and costs {verdict.cost}"
        failing = "goal" if verdict.failing_step is None else verdict.failing_step
        if fails_at is not None and failing != fails_at:
            return Judgement.FAILED, f"expected it to fail at {_name_place(fails_at)}, but {verdict.reason}"
        if because is not None and because not in verdict.reason:
            return Judgement.FAILED, f"expected a reason with {because!r}, but {verdict.reason}"
        return Judgement.PASSED, ""

    def _check_plan_states(self, kind: str, formula: Formula) -> Answer:
        """Check a property of the states that the plan goes through."""
        result = self.result
        if result is None or result.plan is None:
            return Judgement.UNDECIDED, "there is no plan to look at"
        if result.status is not Status.OPTIMAL:
            return Judgement.UNDECIDED, f"another plan may be the best: {result.describe()}"
        for after, simulation in _replay(result.plan):
            if simulation.holds(formula) is not (kind == "always"):
                return judge_state(kind, f"{after} of the plan")
        return judge_end(kind, "state of the plan")

    def _check_states(self, problem: AnyProblem, kind: str, formula: Formula) -> Answer:
        """Check a property of all states that steps can reach, by a search for a plan that leads to the opposite."""
        classical = classical_of(problem)
        refuse_time(classical, "asked about all states")
        goal = Goal(Not(formula) if kind == "always" else formula)
        asked = replace(classical, goal=goal, metric=Metric.LENGTH, constraints=(), budgets={}, deadline=None)
        result = solve(asked, mode="first", time_limit=self.limits.time_limit)
        if result.plan is not None:
            return judge_state(kind, f"after {list_steps(result.plan)}" if result.plan.steps else INITIALLY)
        return (
            judge_end(kind, "state that can be reached")
            if result.status is Status.UNSOLVABLE
            else without_verdict(result)
        )

    def _check_run(
        self, problem: AnyProblem, run: RunDocument, seed: int, wanted: frozenset[RunStatus], simulation: Simulated
    ) -> Answer:
        """Carry the problem out in a simulated world."""
        from executor.cli.execute import RunOptions, RunTask, run_task

        options = RunOptions(
            self.suite.domain, faults=float(run.faults), chances=run.chances, seed=seed, approves=True, quiet=True
        )
        task = RunTask(problem, None, classical_of(problem).entities, simulated=simulation)
        limits = self.limits
        try:
            ended = run_task(options, self.suite.source, task, (lambda: limits.remaining, None))
        except NoPlan as error:
            return Judgement.FAILED, str(error)
        if ended.error is not None:
            raise ended.error
        outcome = ended.outcome
        self.steps.update(each.step.action for each in outcome.steps)
        if outcome.status in wanted:
            return Judgement.PASSED, ""
        reason = f": {outcome.reason}" if outcome.reason else ""
        return Judgement.FAILED, f"the run ended {outcome.status.name}{reason}"


def _replay(plan: Plan) -> Iterator[tuple[str, Simulation]]:
    """Yield the states that `plan` goes through, each with words for when: in time, after each happening."""
    classical = classical_of(plan.problem)
    if not plan.times:
        simulation = Simulation(for_steps(classical, plan.steps))
        yield INITIALLY, simulation
        for number, step in enumerate(plan.steps, start=1):
            simulation.apply(step)
            yield f"after step {number} {step}", simulation
        return
    snap = make_snap_problem(classical)
    simulation = Simulation(snap.problem)
    yield INITIALLY, simulation
    for each in find_happenings(classical, snap, plan.steps, plan.times):
        apply_happening(simulation, each, plan.times)
        yield f"at {each.time} s", simulation


def _bind(check: Callable[..., Answer], *arguments: Any) -> Callable[[], Answer]:
    return lambda: check(*arguments)


def _name_place(fails_at: int | str) -> str:
    return "the goal" if fails_at == "goal" else f"step {fails_at}"


def _builder_of(problem: AnyProblem, place: DocumentPlace) -> ProblemBuilder:
    classical = classical_of(problem)
    return ProblemBuilder(classical.domain, {each.name: each for each in classical.objects}, place)


def _read_property(written: PropertyDocument, place: DocumentPlace) -> tuple[str, Sequence[str]]:
    given = [kind for kind in PROPERTIES if getattr(written, kind) is not None]
    if len(given) != 1:
        raise place.error("a property has one of the keys " + ", ".join(PROPERTIES))
    return given[0], getattr(written, given[0])


def _change_facts(
    builder: ProblemBuilder, problem: Problem, written: CaseDocument | RunDocument, place: DocumentPlace
) -> Problem:
    """Add and drop the facts that `written` names; raises `DocumentError` for one that does not hold anyway."""
    initial = dict.fromkeys(problem.initial)
    for here, fact in _read_facts(builder, written.without, place.within("without")):
        if fact not in initial:
            near = did_you_mean(str(fact), map(str, initial))
            raise here.error(f"{fact} does not hold in problem {problem.name!r} anyway", near)
        del initial[fact]
    for _, fact in _read_facts(builder, written.adding, place.within("adding")):
        initial[fact] = None
    return replace(problem, initial=tuple(initial))


def _read_facts(
    builder: ProblemBuilder, texts: Sequence[str], place: DocumentPlace
) -> Iterator[tuple[DocumentPlace, Atom]]:
    for number, text in enumerate(texts):
        here = place.within(number)
        fact = builder.condition(text, here)
        if not isinstance(fact, Atom):
            raise here.error(f"expected a fact, found {text!r}", "write name(object, …)")
        yield here, fact


def _read_simulation(problem: AnyProblem, run: RunDocument, place: DocumentPlace) -> Simulated:
    """Return the true problem of the world of `run`, and what is observed there; raises `DocumentError`."""
    from executor.cli.execute import Simulated
    from executor.testing.simulated_observers import ALL

    classical = classical_of(problem)
    domain, known = classical.domain, {each.name: each for each in classical.objects}
    more, _ = objects_of(run.objects, Types.of(domain.types), place.within("objects"))
    for name in more:
        if name in known:
            where = place.within("objects", name)
            raise where.error(f"the problem {classical.name!r} has an object {name!r} already", "leave it out here")
    for number, name in enumerate(run.unseen):
        if name not in domain.predicates:
            where = place.within("unseen", number)
            raise where.error(f"there is no predicate {name!r}", did_you_mean(name, domain.predicates))
    builder = ProblemBuilder(domain, known | more, place)
    true = replace(classical, objects=(*classical.objects, *more.values()))
    observed = [each for each in (*domain.predicates, *domain.functions) if each not in run.unseen]
    observe = replace(ALL, predicates=observed) if run.unseen else ALL
    return Simulated(with_classical(problem, seal(_change_facts(builder, true, run, place))), observe)


def _read_outcomes(run: RunDocument, place: DocumentPlace) -> frozenset[RunStatus]:
    from executor import RunStatus

    known = RunStatus.__members__
    for each in run.outcome:
        if each not in known:
            raise place.error(f"no run ends {each!r}", did_you_mean(each, known) or f"one of {', '.join(known)}")
    if not 0 <= run.faults <= 1:
        raise place.error(f"faults are a probability from 0 to 1, not {run.faults}")
    return frozenset([known[each] for each in run.outcome])


def _value_at(place: DocumentPlace) -> Any:
    """Return the data of the document at `place`."""
    found: Any = place.document.data
    for key in place.path:
        found = found[key]
    return found
