"""Steps that cannot begin have not failed, whatever the cause, the execution model, and the end of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan, StatusCode

from executor import ActionPlan, ExecutionPolicy, Executor, Journal, RunOutcome, RunStatus, StepStatus, World
from executor.desk.pages.run_page import RunStory, run_page
from executor.events import events
from executor.events.run_state import RunState
from executor.learning.experience import Experience
from executor.report.progress import summary
from executor.report.tracing import Spans
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain
from planner.lightweight import replace
from planner.solve import solve

MODELS = ("sequential", "reactive", "parallel", "dag", "hierarchical", "timed")


RAISED = "RuntimeError: out of order"


def fail(*_: Any) -> Any:
    raise RuntimeError("out of order")


class Told(NonRecordingSpan):
    """A span that knows whether it was called an error."""

    def __init__(self, name: str) -> None:
        super().__init__(INVALID_SPAN_CONTEXT)
        self.name, self.is_bad = name, False

    def set_status(self, status: Any, *_: Any) -> None:
        self.is_bad = status.status_code is StatusCode.ERROR


class Tracer:
    def __init__(self) -> None:
        self.spans: list[Told] = []

    def start_span(self, name: str, *_: Any, **__: Any) -> Told:
        self.spans.append(Told(name))
        return self.spans[-1]


@dataclass
class Works:
    """Works with the plan `fetch`, `cut`, `sell`, of which `cut` cannot begin when its turn comes.

    When something is fetched, the fact `ends` ends and `fuel` is left; the observer of `hidden` raises. The others
    are about `cut` and its step in the plan. Where `can_mend`, another action brings "open" again.
    """

    ends: str = ""
    hidden: str = ""
    fuel: int = 9
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    policy: ExecutionPolicy | None = None
    skills: int = 1
    requires: tuple[str, ...] = ()
    check: Callable[[], Any] | None = None
    can_mend: bool = False
    goal: Sequence[str] = ("sold",)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts, self.called, self.left = {"open", "lit"}, list[str](), 9
        self.domain = domain = Domain("works")
        domain.predicate("open")
        domain.predicate("lit")
        domain.function("fuel", low=0)
        needs = ["fetched", "open", "fuel >= 5"]
        domain.action("fetch", {}, provides=["fetched"])
        changes: dict[str, Any] = {"provides": ["made"], "modifies": "fuel -= 5", "tags": self.tags}
        domain.action("cut", self.parameters, requires=needs, **changes)
        domain.action("sell", {}, requires=["made"], provides=["sold"])
        if self.can_mend:
            domain.action("unlock", {}, provides=["open"])
        self.world = World(domain)
        for name, fact in {"fetch": "fetched", "sell": "sold", "unlock": "open"}.items():
            if name != "unlock" or self.can_mend:
                self.world.handler(name)(lambda name=name, fact=fact: self.act(name, fact))
        for number in range(self.skills):
            self.world.handler("cut", name=f"skill{number}", policy=self.policy)(self.cut)
        if self.check is not None:
            self.world.check("cut")(self.check)
        for fact in ("open", "lit", "fetched", "made", "sold"):
            self.world.observer(fact, conclusive=True)(lambda fact=fact: self.look(fact))
        self.world.observer("fuel")(lambda: self.left)

    def cut(self, **_: Any) -> None:
        self.act("cut", "made")
        self.left -= 5

    def act(self, name: str, fact: str) -> None:
        self.called.append(name)
        self.facts.add(fact)
        if name == "fetch":
            self.facts.discard(self.ends)
            self.left = self.fuel

    def look(self, fact: str) -> Any:
        return fail() if fact == self.hidden else fact in self.facts

    def run(self, model: str, journal: Any = None, listeners: Sequence[Any] = ()) -> RunOutcome:
        names = ("fetch", "cut", "sell")
        given: dict[str, Any] = {"initial": ["open", "lit"], "values": {"fuel": 9}, "goal": list(self.goal)}
        if model == "hierarchical":
            self.world.domain = how = Methods(self.domain)
            how.task("work")
            how.method("by_hand", {}, task="work()", subtasks=[f"{name}()" for name in names])
            plan = ActionPlan.of(solve(how.problem(tasks=["work()"], **given)))
        else:
            steps = [{"id": f"s{number}", "action": name} for number, name in enumerate(names, start=1)]
            plan = ActionPlan(name="work", model=model, steps=steps, **given)  # type: ignore[arg-type]
        fetch, cut, sell = plan.steps
        cut = cut.model_copy(update={"requires": self.requires})
        executor = Executor(self.world, journal, listeners=listeners, **self.options)
        return run_virtual(executor.run(plan.model_copy(update={"steps": (fetch, cut, sell)}), run="r"))


FINAL = ["irreversible"]
CAUSES: dict[str, tuple[dict[str, Any], RunStatus, str]] = {
    "its precondition has ended": (
        {"ends": "open", "tags": FINAL},
        RunStatus.IMPOSSIBLE,
        "it requires open, which does not hold",
    ),
    "its stated condition has ended": (
        {"ends": "lit", "requires": ("lit",)},
        RunStatus.FAILED,
        "the step requires lit, which does not hold",
    ),
    "nobody can say whether its precondition holds": (
        {"hidden": "open", "tags": FINAL},
        RunStatus.FAILED,
        "it requires open, which does not hold",
    ),
    "an amount is too small": ({"fuel": 3}, RunStatus.IMPOSSIBLE, "it requires fuel >= 5, but fuel is 3"),
    "its check refuses": ({"check": lambda: "the blade is blunt"}, RunStatus.FAILED, "the blade is blunt"),
    "its check raises": ({"check": fail}, RunStatus.FAILED, f"the check raised {RAISED}"),
    "nothing fills its parameter": (
        {"parameters": {"depth": int}, "options": {"fill": fail}},
        RunStatus.FAILED,
        f"the open parameters of cut() were not filled: {RAISED}",
    ),
    "no handler is chosen": (
        {"skills": 2, "policy": ExecutionPolicy(skills=fail)},
        RunStatus.FAILED,
        f"no handler was chosen: {RAISED}",
    ),
    "whoever approves raises": (
        {"tags": ["needs_approval"], "options": {"approve": fail}},
        RunStatus.FAILED,
        f"approval was refused: whoever decides has said neither yes nor no: {RAISED}",
    ),
    "the run goes on without it": (
        {"check": fail, "policy": ExecutionPolicy(on_error="continue")},
        RunStatus.FAILED,
        f"the check raised {RAISED}",
    ),
    "the run is given up at once": (
        {"check": fail, "policy": ExecutionPolicy(on_error="abort")},
        RunStatus.FAILED,
        f"the check raised {RAISED}",
    ),
    "the run has no goal": ({"check": fail, "goal": ()}, RunStatus.FAILED, f"the check raised {RAISED}"),
    "another step makes it possible": ({"ends": "open", "tags": FINAL, "can_mend": True}, RunStatus.SUCCEEDED, ""),
    "the goal holds without it": ({"check": fail, "goal": ("fetched",)}, RunStatus.SUCCEEDED, ""),
}
"""By cause: the works, the status of the run, and why `cut` cannot begin: the first line of the run's reason."""
OTHERWISE: dict[tuple[str, str], tuple[RunStatus, str]] = {
    ("hierarchical", "another step makes it possible"): (RunStatus.FAILED, "it requires open, which does not hold"),
    ("hierarchical", "the goal holds without it"): (RunStatus.FAILED, f"the check raised {RAISED}"),
    ("timed", "its precondition has ended"): (RunStatus.FAILED, "it requires open"),
    ("timed", "nobody can say whether its precondition holds"): (RunStatus.FAILED, "it requires open"),
    ("timed", "an amount is too small"): (RunStatus.FAILED, "it requires fuel >= 5"),
    ("timed", "the run goes on without it"): (RunStatus.FAILED, "sell() cannot happen: made"),
    ("timed", "another step makes it possible"): (RunStatus.FAILED, "it requires open"),
}
"""What differs, by execution model and cause."""


@pytest.mark.parametrize("is_kept", [False, True], ids=["", "journal"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("cause", CAUSES)
def test_a_step_that_cannot_begin_is_skipped_and_has_not_failed(cause, model, is_kept, tmp_path):
    fields, *usual = CAUSES[cause]
    status, reason = OTHERWISE.get((model, cause), usual)
    works, told, tracer = Works(**fields), list[events.Event](), Tracer()
    journal = Journal(tmp_path / "runs.db") if is_kept else None
    outcome = works.run(model, journal, (told.append, Spans(tracer)))  # type: ignore[arg-type]
    first, *_ = outcome.reason.splitlines() or [""]
    assert outcome.status is status, outcome.reason
    assert first in {reason, f"cut(): {reason}", f"nothing of the plan works any more: {reason}"}
    assert not {step.status for step in outcome.steps} & {StepStatus.FAILED}
    was_told = [each for each in told if isinstance(each, events.StepEnded) and each.obstacle]
    assert [each.status for each in was_told] == [StepStatus.PENDING] * len(was_told)
    assert was_told or model == "reactive", "a reactive run may notice before it comes to the step"
    assert not any(isinstance(each, events.StepEnded) and each.status is StepStatus.FAILED for each in told)
    for each in was_told:
        assert outcome.state.steps[each.step].status is StepStatus.SKIPPED
        assert outcome.state.steps[each.step].reason == each.reason
    assert not any(span.is_bad for span in tracer.spans if not span.name.startswith("run"))
    text = summary(outcome.state)
    assert "Failed" not in text
    assert not was_told or f"Left out ({sum(each.status is StepStatus.SKIPPED for each in outcome.steps)})" in text
    done = sum(bool(each.attempts) for each in outcome.steps)
    assert f"{done} of " in text, "what is skipped, as it could not begin, is not done"
    if journal is not None:
        statuses = {each.id: each.status.name.lower() for each in outcome.steps}
        kept = Executor(works.world, journal).state_of("r")
        assert {id_: each.status.name.lower() for id_, each in kept.steps.items()} == statuses
        page = run_page(journal)
        assert {each.id: each.status or "pending" for each in page.steps} == statuses
        assert all(tally.failed == 0 for tally in Experience().read(journal).tallies().values())
        journal.close()


@pytest.mark.parametrize("model", MODELS)
def test_a_step_that_a_person_has_refused_has_failed_without_an_attempt(model):
    outcome = Works(tags=["needs_approval"], options={"approve": lambda _: False}).run(model)
    assert [(each.status, each.attempts) for each in outcome.steps][1] == (StepStatus.FAILED, 0)
    assert outcome.reason.startswith("cut(): approval was refused")


@pytest.mark.parametrize("model", MODELS)
def test_a_step_that_cannot_begin_is_pending_while_the_run_waits(model, tmp_path):
    works = Works(check=lambda: None if "lit" in works.facts else "the blade is blunt", ends="lit")
    works.options = {"ask": "later"}
    with Journal(tmp_path / "runs.db") as journal:
        waiting = works.run(model, journal)
        assert waiting.status is RunStatus.WAITING, waiting.reason
        plan = [waiting.state.steps[id_] for id_ in waiting.state.order]
        left = [each for each in plan if each.status is StepStatus.PENDING]
        assert [(each.step.action, each.is_pending, each.reason) for each in left] == [
            ("cut", False, "the blade is blunt"),
            ("sell", True, ""),
        ]
        assert waiting.state.pending() == left[1:]
        works.facts.add("lit")
        question = waiting.questions[0].question
        outcome = run_virtual(Executor(works.world, journal).resume("r", answers={question: "try again"}))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert works.called == ["fetch", "cut", "sell"]
    assert {each.status for each in outcome.steps} == {StepStatus.SUCCEEDED, StepStatus.SKIPPED}


@pytest.mark.parametrize("model", ["sequential", "reactive", "parallel", "dag"])
def test_what_depends_on_a_step_that_cannot_begin_is_not_begun_either(model):
    domain, done = Domain("labels"), list[str]()
    for name in ("cut", "label", "sweep"):
        domain.action(name, {}, tags=["trusted"])
    world = World(domain)
    for name in ("cut", "label", "sweep"):
        world.handler(name)(lambda name=name: done.append(name))
    world.check("cut")(fail)
    world.policy("cut", ExecutionPolicy(on_error="continue"))
    steps: list[Any] = [{"id": name, "action": name} for name in ("cut", "label", "sweep")]
    steps[1]["depends_on"] = ["cut"]
    outcome = run_virtual(Executor(world).run(ActionPlan(name="labels", model=model, steps=steps)))
    assert outcome.status is RunStatus.FAILED
    assert outcome.reason == f"cut(): the check raised {RAISED}"
    assert done == ["sweep"]


def test_a_journal_of_before_calls_an_obstacle_a_failure_and_means_the_same():
    works = Works(check=fail)
    told: list[events.Event] = []
    outcome = works.run("sequential", listeners=(told.append,))
    story, state = RunStory(), RunState(works.domain.model, outcome.state.plan, outcome.state.source)
    for event in told:
        before = event
        if isinstance(event, events.StepEnded) and event.obstacle:
            before = replace(event, status=StepStatus.FAILED, obstacle=False)
        data = {name: each for name, each in events.event_to_data(before).items() if name != "obstacle"}
        read = events.event_from_data(type(before).__name__, data)
        state.apply(read)
        story.take(0.0, read)
    assert state.steps["s2"].status is StepStatus.SKIPPED
    assert [each.status for each in state.steps.values()] == [each.status for each in outcome.steps]
    assert [each.status or "pending" for each in story.page("r").steps] == ["succeeded", "skipped", "pending"]
    assert dict(state.tried) == dict(outcome.state.tried)
