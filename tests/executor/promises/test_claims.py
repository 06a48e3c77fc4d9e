"""What is said of runs: who may act, what is waited for, what is believed, in which order, in each execution model."""

import asyncio
import json
import time

import pytest

from executor import (
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    JournalError,
    Memory,
    Provenance,
    Recovery,
    Rung,
    RunStatus,
    Seen,
    StepStatus,
    Wait,
    World,
)
from executor.events.answers import RETRY
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain, PlanError
from planner.model import Atom
from planner.solve import solve

MODELS = ("sequential", "parallel", "dag", "reactive")
FAILED, SUCCEEDED, PENDING, IN_DOUBT = (
    StepStatus.FAILED,
    StepStatus.SUCCEEDED,
    StepStatus.PENDING,
    StepStatus.IN_DOUBT,
)


class Works:
    """Actions `do_x` that provide `x`, in the order of `needs`, and `more`; what they do may be replaced."""

    def __init__(self, needs, *, observed=True, more=(), **fields):
        self.truth, self.calls = set(), []
        self.domain = Domain("works")
        for name, required in needs.items():
            self.domain.action(f"do_{name}", {}, requires=required, provides=[name], **fields.get(name, {}))
        for name, others in dict(more).items():
            self.domain.action(name, {}, **others)
        self.world = World(self.domain)
        for name in needs:
            self.world.handler(f"do_{name}")(self.doing(name))
            if observed:
                self.world.observer(name, conclusive=True)(lambda name=name: name in self.truth)

    def doing(self, name, answer=None, *, does=True, seconds=0.0):
        async def handler():
            self.calls.append(name)
            await asyncio.sleep(seconds)
            if does:
                self.truth.add(name)
            return answer

        return handler

    def run(self, *goal, **options):
        return run_virtual(Executor(self.world, **options).run(self.domain.problem(goal=list(goal))))

    def run_plan(self, plan, **options):
        return run_virtual(Executor(self.world, **options).run(ActionPlan.model_validate(plan)))


def statuses(outcome):
    return [each.status for each in outcome.steps]


@pytest.mark.parametrize("model", [*MODELS, "hierarchical"])
def test_what_is_listed_is_chosen_from_though_only_data_links_them(model):
    domain, got = Domain("list"), []
    domain.action("rest", {})
    domain.action("list_all", {})
    domain.action("choose", {"items": list[int]})
    how = Methods(domain)
    how.task("pick")
    how.method("from_list", {}, task="pick()", subtasks=["rest()", "list_all()", "choose()"])
    plan = ActionPlan.of(solve(how.problem(tasks=["pick()"])))
    assert [each.action for each in plan.steps] == ["rest", "list_all", "choose"]
    chooses = plan.steps[2].model_copy(update={"parameters": {"items": "{{s2.data.items}}"}})
    world = World(how.model)

    @world.handler("rest")
    async def rest():
        await asyncio.sleep(2)

    @world.handler("list_all")
    async def list_all():
        await asyncio.sleep(1)
        got.append("listed")
        return {"items": [1, 2]}

    @world.handler("choose")
    async def choose(items):
        got.append(items)

    executor = Executor(world, model=None if model == "hierarchical" else model)
    outcome = run_virtual(executor.run(plan.model_copy(update={"steps": (*plan.steps[:2], chooses)})))
    assert (outcome.status, outcome.state.model) == (RunStatus.SUCCEEDED, model)
    assert got == ["listed", [1, 2]]


@pytest.mark.parametrize("model", ["parallel", "dag"])
def test_in_a_plan_without_a_goal_too_a_failed_step_blocks_exactly_its_dependents(model):
    works = Works({"a": [], "b": [], "c": [], "d": []})
    works.world.handler("do_a")(works.doing("a", answer=False, does=False))
    steps = [{"id": name, "action": f"do_{name}"} for name in "abcd"]
    steps[2]["depends_on"], steps[3]["depends_on"] = "a", "b"
    outcome = works.run_plan({"model": model, "steps": steps})
    assert (outcome.status, statuses(outcome)) == (RunStatus.FAILED, [FAILED, SUCCEEDED, PENDING, SUCCEEDED])
    assert "do_a()" in outcome.reason


def test_a_step_in_doubt_blocks_exactly_its_dependents():
    works = Works({"a": [], "b": [], "c": ["a"], "d": ["b"]}, observed=False)
    works.world.handler("do_a", policy=ExecutionPolicy(timeout=1))(works.doing("a", seconds=60))
    outcome = works.run("c", "d", model="dag")
    assert outcome.status is RunStatus.IN_DOUBT
    assert sorted(works.calls) == ["a", "b", "d"]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_done_in_part_is_completed_by_another_step(model):
    works = Works({"a": [], "b": ["a"]}, b={"cost": 5}, more={"do_both": {"provides": ["a", "b"]}})
    works.world.handler("do_both")(works.doing("a"))
    outcome = works.run("a", "b", model=model)
    assert (outcome.status, statuses(outcome)) == (RunStatus.SUCCEEDED, [StepStatus.PARTIAL, SUCCEEDED])
    assert works.calls == ["a", "b"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("answer", [ActionResult(next_actions=("do_b",)), {"success": True, "next_actions": ["do_b"]}])
def test_hints_at_next_actions_never_run_unasked(model, answer):
    works = Works({"a": [], "b": []})
    works.world.handler("do_a")(works.doing("a", answer))
    assert works.run("a", model=model).status is RunStatus.SUCCEEDED
    assert works.calls == ["a"]


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_looked_at_anew_where_a_handler_requests_that(model):
    works = Works({"a": [], "b": ["a"]})

    @works.world.handler("do_a")
    async def do_a(context):
        works.truth.update("ab")
        context.request_replanning("b is done already")

    outcome = works.run("b", model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.state.changes == (2 if model == "reactive" else 1)
    assert works.calls == ([] if model == "reactive" else ["b"])


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_may_name_actions_otherwise(model):
    works = Works({"a": [], "b": ["a"]}, a={"similes": ["begin it"]}, b={"similes": ["end-it"]})
    steps = [{"id": "1", "action": "Begin It"}, {"id": "2", "action": "END IT"}]
    assert works.run_plan({"model": model, "goal": ["b"], "steps": steps}).status is RunStatus.SUCCEEDED
    assert works.calls == ["a", "b"]


@pytest.mark.parametrize(
    ("policy", "calls"),
    [({"retries": 3}, 4), ({"retries": 3, "retry_on": ["KeyError"]}, 1), ({"retries": 0}, 1)],
)
def test_a_step_is_tried_as_its_plan_says(policy, calls):
    works = Works({"a": []}, a={"tags": ["idempotent"]})

    @works.world.handler("do_a", policy=ExecutionPolicy(retries=7))
    async def do_a():
        works.calls.append("a")
        raise ValueError("no")

    works.run_plan({"goal": ["a"], "steps": [{"id": "1", "action": "do_a", "policy": policy}]})
    assert len(works.calls) == calls


def test_an_author_may_undo_before_anything_else_is_tried():
    undoing = {"requires": ["a"], "provides": ["not a"]}
    works = Works({"a": [], "b": ["a"]}, more={"undo_a": undoing, "do_b_otherwise": {"provides": ["b"], "cost": 9}})
    works.world.handler("do_b")(works.doing("b", answer=False, does=False))
    works.world.handler("do_b_otherwise")(works.doing("b"))
    works.world.handler("undo_a")(lambda: works.truth.discard("a"))
    steps = [{"id": "1", "action": "do_a"}, {"id": "2", "action": "do_b"}]
    rungs = (Rung.COMPENSATE, Rung.PATCH)
    outcome = works.run_plan({"goal": ["b"], "steps": steps}, recovery=Recovery(rungs=rungs))
    assert (outcome.status, works.truth, works.calls) == (RunStatus.COMPENSATED, set(), ["a", "b"])


def test_a_question_may_be_answered_later(tmp_path):
    works = Works({"a": []})
    works.world.handler("do_a")(works.doing("a", answer=False, does=False))
    outcome = works.run("a", ask="later", journal=tmp_path / "runs.db")
    [asked] = outcome.state.questions.values()
    assert outcome.status is RunStatus.WAITING
    assert asked.known == ("the handler returned False",)
    works.world.handler("do_a")(works.doing("a"))
    again = Executor(works.world, journal=tmp_path / "runs.db", ask="later")
    assert run_virtual(again.resume(outcome.run, answers={asked.question: RETRY})).status is RunStatus.SUCCEEDED


def test_who_is_asked_for_permission_may_refuse_and_say_why():
    works, requests = Works({"a": []}), []
    outcome = works.run("a", permit=lambda request: requests.append(request) or "not on Sundays")
    assert (outcome.status, works.calls) == (RunStatus.FAILED, [])
    assert "permission was refused: not on Sundays" in outcome.reason
    assert (requests[0].run, requests[0].step, requests[0].action) == (outcome.run, "s1", "do_a")
    assert works.run("a", permit=lambda _: True).status is RunStatus.SUCCEEDED


def test_what_a_handler_reports_is_not_seen_unless_it_is_trusted():
    def report(tags):
        works = Works({"a": [], "b": ["a"]}, observed=False, a={"tags": tags}, b={"tags": "needs_observed"})
        works.world.handler("do_a")(works.doing("a", None if tags else ActionResult(observed=("a",))))
        return works

    works = report([])
    with pytest.raises(PlanError, match="it rests on a, which do_a"):
        works.run("b")
    note = works.run("a").state.beliefs.note(Atom("a"))
    assert (note.provenance, works.calls) == (Provenance.REPORTED, ["a"])
    works = report(["trusted"])
    assert (statuses(works.run("b")), works.calls) == ([SUCCEEDED, StepStatus.UNVERIFIED], ["a", "b"])


def test_what_is_stale_stays_false_until_somebody_provides_it_again():
    domain, versions = Domain("texts"), [0]
    domain.predicate("summed_up", stale_with=["text"])
    domain.action("sum_up", {}, requires=["text"], provides=["summed_up"])
    domain.action("edit", {}, requires=["text"], provides=["edited"], modifies=["text"])
    world, calls = World(domain), []
    world.handler("sum_up")(lambda: calls.append("sum_up"))
    world.handler("edit")(lambda: calls.append("edit") or versions.append(1))
    world.observer("summed_up")(lambda: "sum_up" in calls)
    world.observer("edited")(lambda: "edit" in calls)
    world.observer("text")(lambda: Seen(value=True, version=len(versions)))
    steps = [{"id": "1", "action": "sum_up"}, {"id": "2", "action": "edit"}]
    plan = {"initial": ["text"], "goal": ["edited"], "steps": steps}
    outcome = run_virtual(Executor(world).run(ActionPlan.model_validate(plan)))
    note = outcome.state.beliefs.note(Atom("summed_up"))
    assert (note.holds, note.provenance) == (False, Provenance.STALE)
    goal = ["edited", "summed_up"]
    calls.clear()
    outcome = run_virtual(Executor(world).run(domain.problem(initial=["text", "summed_up"], goal=goal)))
    assert (outcome.status, calls) == (RunStatus.SUCCEEDED, ["edit", "sum_up"])


def test_a_lock_holds_in_all_runs_of_an_executor():
    works, at_work, most = Works({"a": []}, a={"tags": ["trusted", "read_only"]}, observed=False), [], []

    @works.world.handler("do_a", policy=ExecutionPolicy(lock=True))
    async def do_a():
        at_work.append(1)
        most.append(len(at_work))
        await asyncio.sleep(1)
        at_work.pop()

    async def runs():
        executor = Executor(works.world)
        problem = works.domain.problem(goal=["a"])  # runs without a name would be one run
        return await asyncio.gather(*[executor.run(problem, run=f"r{number}") for number in range(3)])

    assert {each.status for each in run_virtual(runs())} == {RunStatus.SUCCEEDED}
    assert most == [1, 1, 1]


def test_a_step_knows_what_was_returned_before_it():
    works, got = Works({"a": [], "b": ["a"]}), []
    works.world.handler("do_a")(works.doing("a", {"number": 7}))

    @works.world.handler("do_b")
    async def do_b(context):
        got.extend([context.results["do_a"]["data"], context.results["s1"]["data"], "do_c" in context.results])
        works.truth.add("b")

    assert works.run("b").status is RunStatus.SUCCEEDED
    assert got == [{"number": 7}, {"number": 7}, False]


def test_a_memory_forgets_the_least_relevant_first():
    memory = Memory(2)
    memory.set("aim", 1, relevance=5)
    memory.set("colour", "red")
    memory.set("colour", "blue")
    memory.set("size", 3)
    assert memory.to_dict() == {"aim": 1, "size": 3}
    memory.set("size", 4)
    assert [each.value for each in memory.history("size")] == [3, 4]
    assert memory.get("colour", "gone") == "gone"
    assert Memory.from_dict(memory.to_dict(), 2).to_dict() == memory.to_dict()


@pytest.mark.parametrize(
    ("wait", "status", "left"),
    [
        (Wait(seconds=60), SUCCEEDED, 20),
        (Wait("Ada says so", choices=("yes",), deadline=50, conclusive=True), FAILED, 10),
        (Wait("Ada says so", choices=("yes",), deadline=50), IN_DOUBT, 10),
        (Wait(event="the bank has paid", seconds=50), IN_DOUBT, 10),
    ],
)
def test_time_passes_for_what_waits_while_no_process_is_there(wait, status, left, tmp_path, monkeypatch):
    works, clock = Works({"a": []}, a={"tags": ["trusted"]}, observed=False), time.time
    works.world.handler("do_a")(works.doing("a", wait))

    async def twice():
        run = Executor(works.world, journal=tmp_path / "runs.db", stay=True).start(works.domain.problem(goal=["a"]))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 5)
        monkeypatch.setattr(time, "time", lambda: clock() + 40)
        began = asyncio.get_running_loop().time()
        outcome = await Executor(works.world, journal=tmp_path / "runs.db", stay=True).resume(run.id)
        return outcome, asyncio.get_running_loop().time() - began

    outcome, took = run_virtual(twice())
    assert statuses(outcome) == [status]
    assert took == pytest.approx(left, abs=1)


def test_a_run_is_driven_by_one_executor_at_a_time(tmp_path):
    works = Works({"a": []})
    works.world.handler("do_a")(works.doing("a", seconds=10))

    async def both():
        run = Executor(works.world, journal=tmp_path / "runs.db").start(works.domain.problem(goal=["a"]))
        await asyncio.sleep(1)
        with pytest.raises(JournalError, match="drives run"):
            await Executor(works.world, journal=tmp_path / "runs.db").resume(run.id)
        return await run

    assert run_virtual(both()).status is RunStatus.SUCCEEDED
    assert works.calls == ["a"]


@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_begun_after_a_failure_that_ends_the_run(model, listens):
    works = Works({"a": [], "b": [], "c": []})
    works.world.handler("do_a", policy=ExecutionPolicy(on_error="abort"))(works.doing("a", answer=False, does=False))
    steps = [{"id": name, "action": f"do_{name}"} for name in "abc"]
    plan = {"model": model, "goal": ["a", "b", "c"], "steps": steps}
    outcome = works.run_plan(plan, concurrency=1, listeners=(print,) if listens else ())
    assert (outcome.status, statuses(outcome)) == (RunStatus.FAILED, [FAILED, PENDING, PENDING])
    assert works.calls == ["a"]


def test_what_is_about_to_be_done_is_kept_before_it_is_done(tmp_path):
    domain, kept = Domain("mail"), []
    domain.action("send", {"text": str, "copies": int}, provides=["sent"], tags=["trusted"])
    world = World(domain)
    executor = Executor(world, journal=tmp_path / "runs.db")

    @world.handler("send")
    async def send(text, copies, context):  # noqa: ARG001 - handlers take the action's parameters
        kept.extend((entry.kind, json.loads(entry.data)) for entry in executor.journal.read(context.run))

    steps = [{"id": "1", "action": "send", "parameters": {"text": "hello"}}]
    plan = ActionPlan.model_validate({"goal": ["sent"], "steps": steps})
    outcome = run_virtual(executor.run(plan, memory={"copies": 2}))
    kind, started = kept[-1]
    assert (kind, started["step"], started["key"]) == ("StepStarted", "1", f"{outcome.run}/1")
    assert started["parameters"] == {"text": "hello", "copies": 2}
    assert started["sources"] == {"text": "plan", "copies": "memory"}


def test_what_steps_returned_outlives_the_process(tmp_path):
    domain, got = Domain("list"), []
    domain.action("list_all", {}, provides=["listed"], tags=["trusted"])
    domain.action("choose", {"items": list[int], "owner": str}, provides=["chosen"], tags=["needs_approval"])
    world = World(domain)
    world.handler("list_all")(lambda: ActionResult(data={"items": [1, 2]}, values={"owner": "ada"}))
    world.handler("choose")(lambda items, owner: got.append((items, owner)))
    steps = [
        {"id": "1", "action": "list_all"},
        {"id": "2", "action": "choose", "parameters": {"items": "{{1.data.items}}", "owner": "of {{1.values.owner}}"}},
    ]
    plan = ActionPlan.model_validate({"goal": ["chosen"], "steps": steps})
    outcome = run_virtual(Executor(world, journal=tmp_path / "runs.db").run(plan))
    assert (outcome.status, got) == (RunStatus.WAITING, [])
    again = Executor(world, journal=tmp_path / "runs.db")
    outcome = run_virtual(again.resume(outcome.run, answers={"approve:2": True}))
    assert (outcome.status, got) == (RunStatus.UNVERIFIED, [([1, 2], "of ada")])
    assert outcome.state.memory.to_dict() == {"owner": "ada"}
