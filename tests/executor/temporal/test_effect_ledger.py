"""An irreversible step is done once on Temporal, whichever run asks for it, on whatever queue."""

import asyncio
import json
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path

import pytest

from executor import CANNOT_SAY, ActionPlan, ActionResult, RunStatus, Seen, Wait, World
from executor.events.events import StepStatus
from executor.ledger.records import Flight
from planner import Domain
from planner.cli import main as command
from planner.lightweight import replace

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
pytestmark = pytest.mark.timeout(300)
SCRIPT = Path(__file__).with_name("till.py")
numbers = count()
FINAL = "irreversible"


@pytest.fixture(scope="module")
def tills():
    spec = spec_from_file_location("till", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_till(tills, tmp_path):
    """Return a function that makes the only till of its name on the server."""
    return lambda **more: tills.Till(f"till-{next(numbers)}", tmp_path / "payments", **more)


def step_of(outcome):
    [step] = outcome.steps
    return step


async def until(condition):
    async with asyncio.timeout(100):
        while not condition():  # noqa: ASYNC110 - handlers tell nobody
            await asyncio.sleep(0.02)


def carry_out(on_temporal, till, *runs, **options):
    """Carry out runs of orders one after another, each with its options; return the outcomes."""

    async def carry_out_all():
        async with on_temporal(till.world, **options) as executor:
            return [await executor.run(till.problem(order), **more) for order, more in runs]

    return asyncio.run(carry_out_all())


def test_two_runs_at_once_pay_once(on_temporal, make_till):
    till = make_till(sees=True)

    async def main():
        async with on_temporal(till.world) as executor:
            return await asyncio.gather(*[executor.run(till.problem("slow"), join=False) for _ in range(3)])

    outcomes = asyncio.run(main())
    assert len(till.read()) == 1
    assert [each.succeeded for each in outcomes] == [True] * 3
    statuses = sorted(step_of(each).status.name for each in outcomes)
    assert statuses == ["SKIPPED", "SKIPPED", "SUCCEEDED"]


def test_a_flight_taken_in_place_of_itself_is_found_by_what_it_brings_now(on_temporal, make_till):
    from executor.temporal.effect_ledger import EffectsOnServer

    till, item = make_till(), f"step {next(numbers)}"
    first = Flight(item, "pay(o1)", "r1", "s1", "k", 1.0, brings=json.dumps({"marks": [f"{item} a"]}))
    now = replace(first, brings=json.dumps({"marks": [f"{item} a", f"{item} b"]}))

    async def main():
        async with on_temporal(till.world) as executor:
            book = EffectsOnServer(executor.client, till.world.name, lambda _: False)
            await book.take(first, None)
            await book.take(now, first)
            return [await book.find_like([f"{item} {mark}"]) for mark in "abc"]

    assert asyncio.run(main()) == [[item], [item], []]


def test_a_later_run_on_another_queue_sees_that_it_is_so_already(on_temporal, make_till):
    till = make_till(sees=True)
    [first] = carry_out(on_temporal, till, ("o1", {}))
    [second] = carry_out(on_temporal, till, ("o1", {}), queue="another till", look="never")
    assert (step_of(first).status, step_of(second).status) == (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
    assert step_of(second).reason == f"already so: run {first.run!r} has done it"
    assert len(till.read()) == 1


def test_where_nobody_can_look_a_second_run_is_asked(on_temporal, make_till):
    till = make_till()

    async def main():
        async with on_temporal(till.world) as executor:
            first = await executor.run(till.problem("o1"))
            second = await executor.run(till.problem("o1"))
            assert (second.status, len(till.read())) == (RunStatus.WAITING, 1)
            [question] = second.questions
            assert f"was done, as reported, by run {first.run!r}" in question.known[-1]
            told = await executor.resume(second.run, answers={question.question: "no"})
            assert (step_of(told).status, len(till.read())) == (StepStatus.SKIPPED, 1)
            await executor.run(till.problem("o1"), again=("pay(o1)",))
            await executor.run(till.problem("o1"), occasion="2026-12")
            return await executor.run(till.problem("o1"), occasion="2026-12")

    last = asyncio.run(main())
    assert last.status is RunStatus.WAITING
    keys = [key for _, key in till.read()]
    assert len(set(keys)) == len(keys) == 3, "each is a new entry with a new key"


def test_a_handler_that_raises_leaves_doubt_for_all_runs(on_temporal, make_till):
    till = make_till()
    till.replies["o1"] = OSError("the line is dead")

    async def main():
        async with on_temporal(till.world) as executor:
            first = await executor.run(till.problem("o1"))
            second = await executor.run(till.problem("o1"))
            assert [each.status for each in (first, second)] == [RunStatus.IN_DOUBT, RunStatus.WAITING]
            [question] = second.questions
            assert question.text.startswith(f"Nobody can say whether pay(o1), begun by run {first.run!r}, happened: ")
            second = await executor.resume(second.run, answers={question.question: "it happened"})
            assert step_of(second).status is StepStatus.SKIPPED
            first = await executor.resume(first.run)
            assert (first.status, step_of(first).status) == (RunStatus.UNVERIFIED, StepStatus.UNVERIFIED)

    asyncio.run(main())
    assert len(till.read()) == 1


def test_a_look_ends_doubt(on_temporal, make_till):
    till = make_till(sees=True, settle_within=0.2)
    till.replies["o1"] = OSError("the line is dead")
    [outcome, again] = carry_out(on_temporal, till, ("o1", {}), ("o1", {}))
    assert outcome.succeeded
    assert step_of(again).status is StepStatus.SKIPPED
    assert len(till.read()) == 1


def test_a_run_waits_for_a_step_that_waits_and_goes_on_by_itself(on_temporal, make_till):
    till = make_till()
    till.replies["o1"] = Wait(event="settled")

    async def main():
        async with on_temporal(till.world) as executor:
            first, second = [await executor.run(till.problem("o1")) for _ in range(2)]
            assert [each.status for each in (first, second)] == [RunStatus.WAITING] * 2
            assert second.questions == ()
            await executor.follow(first.run).announce("settled")
            async with asyncio.timeout(60):
                while not (second := await executor.follow(second.run)).questions:  # noqa: ASYNC110 - asked again
                    await asyncio.sleep(0.05)
            assert "was done, as reported" in second.questions[0].known[-1]

    asyncio.run(main())
    assert len(till.read()) == 1


def test_a_refusal_counts_for_later_runs(on_temporal, make_till):
    till = make_till(tags=["needs_approval"])
    [first] = carry_out(on_temporal, till, ("o1", {}), approve=lambda _: "no")
    [second] = carry_out(on_temporal, till, ("o1", {}))
    assert first.status is RunStatus.FAILED
    assert second.status is RunStatus.WAITING
    assert "was refused by run" in str(second.questions[0].known)
    assert till.read() == []


def test_a_run_that_was_ended_by_hand_leaves_doubt(on_temporal, make_till, monkeypatch):
    monkeypatch.setattr("executor.temporal.effect_ledger.DOUBT", 0.3)
    till = make_till()

    async def main():
        async with on_temporal(till.world) as executor:
            first = executor.start(till.problem("slow"))
            await until(till.read)
            await executor.client.get_workflow_handle(first.id).terminate("by hand")
            second = await executor.run(till.problem("slow"))
            assert second.status is RunStatus.WAITING
            assert "the run was broken off while it was being done" in second.questions[0].text

    asyncio.run(main())
    assert len(till.read()) == 1


def test_a_worker_that_dies_leaves_doubt_that_blocks_others_until_it_is_answered(server, tills, tmp_path):
    till = tills.Till(f"killed-{next(numbers)}", tmp_path / "payments")

    def start_worker():
        return subprocess.Popen([sys.executable, SCRIPT, server, till.world.name, till.file], stderr=subprocess.DEVNULL)

    workers = [start_worker()]

    async def main():
        from temporalio.client import Client

        from executor.temporal import TemporalExecutor

        executor = TemporalExecutor(till.world, await Client.connect(server), heartbeat=2.0)
        first = executor.start(till.problem("stuck"))
        await first.wait_until_begun()
        await until(till.read)
        second = executor.start(till.problem("stuck"), join=False)
        await second.wait_until_begun()
        workers[0].kill()
        workers.append(start_worker())
        outcomes = await asyncio.gather(first, second)
        assert [each.status for each in outcomes] == [RunStatus.IN_DOUBT, RunStatus.WAITING]
        [question] = outcomes[1].questions
        told = await executor.resume(second.id, answers={question.question: "it happened"})
        assert step_of(told).status is StepStatus.SKIPPED

    try:
        asyncio.run(main())
    finally:
        for each in workers:
            each.kill()
            each.wait()
    assert len(till.read()) == 1


def test_dropped_workflows_are_replayed_and_the_ledger_goes_on_in_new_histories(server, make_till, monkeypatch):
    monkeypatch.setattr("executor.temporal.effect_ledger.MOST_EVENTS", 8)
    till = make_till()

    async def main():
        from temporalio.worker import Replayer

        from executor.temporal import TemporalExecutor
        from executor.temporal.effect_ledger import StepEffect
        from executor.temporal.outside import HostRunner
        from executor.temporal.plan_run import PlanRun
        from executor.testing.temporal_server import connect_when_ready

        executor = TemporalExecutor(till.world, await connect_when_ready(server))
        worker = executor.worker(max_cached_workflows=0)
        async with worker:
            for number in range(3):
                outcome = await executor.run(till.problem("o1"), run=f"{till.world.name}-{number}", again=["pay(o1)"])
                assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
            asked = await executor.run(till.problem("o1"))
            await executor.resume(asked.run, answers={asked.questions[0].question: "yes"})
            histories = [
                await executor.client.get_workflow_handle(run).fetch_history()
                for run in (f"{till.world.name}-0", asked.run)
            ]
        replayer = Replayer(workflows=[PlanRun, StepEffect], workflow_runner=HostRunner(worker.activities))
        for each in histories:
            await replayer.replay_workflow(each)

    asyncio.run(main())
    assert len({key for _, key in till.read()}) == len(till.read()) == 4


def test_the_ledger_is_listed_and_settled_by_its_command(on_temporal, server, make_till, capsys):
    till = make_till()
    till.replies["o2"] = OSError("the line is dead")

    def ledger(*words):
        with pytest.raises(SystemExit) as end:
            command(["runs", "ledger", f"temporal://{server}", *words])
        said = capsys.readouterr()
        assert end.value.code == 0, said.err
        return said.out

    def wait_for(text):
        """Return the line of the ledger with `text`: the server lists news within a second."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if found := [each for each in ledger().splitlines() if text in each]:
                return found[0]
            time.sleep(0.1)
        raise AssertionError(ledger())

    carry_out(on_temporal, till, ("o1", {"run": "paying-1"}), ("o2", {"run": "paying-2"}))
    assert "DONE, as reported  pay(o1)  paying-1" in wait_for("paying-1")
    doubt = wait_for("paying-2")
    assert "IN_DOUBT  pay(o2)  paying-2" in doubt
    assert ledger(f"{doubt.split()[0]}=not") == f"settled {doubt.split()[0]}\n"
    del till.replies["o2"]
    [outcome] = carry_out(on_temporal, till, ("o2", {}))
    assert step_of(outcome).status is StepStatus.UNVERIFIED
    assert wait_for("NOT_DONE  pay(o2)  paying-2")


class Office:
    """Documents are published in place, and tickets are opened; the handler raises once, before or after it has acted.

    While it `is_down`, observers see nothing of either.
    """

    def __init__(self, name, *, acts):
        self.acts_before_it_raises, self.has_raised, self.is_down = acts, False, False
        self.acts, self.keys, self.tickets = [], [], ["T-0"]
        domain = self.domain = Domain("office", types=["document", "ticket"])
        for action in ("publish", "stamp"):
            domain.action(action, {"d": "document"}, requires=["drafted(d)"], modifies=["drafted(d)"], tags=[FINAL])
        for action in ("open", "transfer"):
            domain.action(action, {}, creates={"ticket": "ticket"}, provides=["open(ticket)"], tags=[FINAL])
        self.world = World(domain, name=name)
        self.world.handler("publish")(self.publish)
        self.world.handler("open")(self.open)
        self.world.handler("stamp")(self.publish)
        self.world.handler("transfer")(self.open)
        seeing = {"conclusive": True, "settle_within": 0.2}
        self.world.observer("drafted(d)", **seeing)(lambda d: True if self.is_down else Seen(True, len(self.acts)))  # noqa: ARG005 - there is one
        self.world.observer("open(_)", **seeing)(lambda: CANNOT_SAY if self.is_down else list(self.tickets))

    def act(self, key):
        self.keys.append(key)
        self.is_down = not self.has_raised and self.stays_down
        if self.has_raised or self.acts_before_it_raises:
            self.acts.append(key)
            self.tickets.append(f"T-{len(self.tickets)}")
        if not self.has_raised:
            self.has_raised = True
            raise OSError("the line is dead")

    stays_down = False

    async def publish(self, d, context):  # noqa: ARG002 - handlers take the action's parameters
        self.act(context.key)

    async def open(self, context):
        self.act(context.key)
        return ActionResult(created={"ticket": self.tickets[-1]})

    def plan(self, action):
        step = {"id": "s1", "action": action}
        step |= {"arguments": {"d": "d1"}} if action in {"publish", "stamp"} else {"creates": {"ticket": "new"}}
        return ActionPlan.model_validate({"objects": {"d1": "document"}, "initial": ["drafted(d1)"], "steps": [step]})


@pytest.mark.parametrize("action", ["publish", "open"])
@pytest.mark.parametrize("acts", [False, True], ids=["raises before", "raises after"])
@pytest.mark.parametrize("again", [False, True], ids=["same run", "second run"])
def test_a_comparison_with_what_was_before_ends_doubt(on_temporal, action, acts, again):
    office = Office(f"office-{next(numbers)}", acts=acts)
    office.stays_down = again

    async def main():
        async with on_temporal(office.world) as executor:
            first = await executor.run(office.plan(action))
            if not again:
                return first
            assert first.status is RunStatus.IN_DOUBT
            office.is_down = False
            return await executor.run(office.plan(action))

    outcome = asyncio.run(main())
    assert (len(office.acts), len({*office.keys})) == (1, 1)
    assert step_of(outcome).status is (StepStatus.SKIPPED if again and acts else StepStatus.SUCCEEDED), outcome.reason
    if action == "open":
        assert outcome.state.objects.created == {"new": "T-1"}


@pytest.mark.parametrize(("action", "other"), [("publish", "stamp"), ("open", "transfer")])
def test_what_another_run_has_done_meanwhile_ends_no_doubt(on_temporal, action, other):
    office = Office(f"office-{next(numbers)}", acts=False)
    office.stays_down = True

    async def main():
        async with on_temporal(office.world) as executor:
            first = await executor.run(office.plan(action))
            assert first.status is RunStatus.IN_DOUBT
            office.is_down = False
            assert step_of(await executor.run(office.plan(other))).status is StepStatus.SUCCEEDED
            return await executor.resume(first.run)

    outcome = asyncio.run(main())
    assert (outcome.status, len(outcome.questions), len(office.acts)) == (RunStatus.IN_DOUBT, 1, 1)


async def leave_run_from_before(tills, client, domain, entries, *, is_told=True):
    """Let the server have a run that is over, with these events, as versions without a ledger left it."""
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    from executor.temporal.plan_run import WORKFLOW
    from executor.temporal.value_data import pack_entries

    told = {"entries": pack_entries(entries), "refusal": {}} if is_told else {}
    name = f"before {domain}"
    options = {"task_queue": name, "id": name, "memo": {"domain": domain}}
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue=name, workflows=[tills.EarlierRun], workflow_runner=runner):
        handle = await client.start_workflow(WORKFLOW, told, **options)
        if is_told:
            await handle.result()
        else:
            await handle.terminate()
    async with asyncio.timeout(30):
        while (await client.count_workflows(f'WorkflowId="{name}"')).count != 1:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.1)
    return name


async def forget_world(executor, run):
    """Return the events of a run as versions without a ledger wrote them."""
    from executor.temporal.run_events import read_entries

    first, *others = await read_entries(executor.client, run)
    begun = json.loads(first[1])
    return [(first[0], json.dumps({**begun, "world": ""}), first[2]), *others]


@pytest.mark.parametrize("is_doubt", [False, True])
def test_what_runs_from_before_the_ledger_have_done_counts(is_doubt, on_temporal, tills, make_till):
    first, later = [make_till(domain=f"till-before-{is_doubt}") for _ in range(2)]
    first.replies["o1"] = OSError("the line is dead") if is_doubt else None

    async def main():
        async with on_temporal(first.world) as executor:
            done = await executor.run(first.problem("o1"))
            assert done.status is (RunStatus.IN_DOUBT if is_doubt else RunStatus.UNVERIFIED)
            entries = await forget_world(executor, done.run)
            await leave_run_from_before(tills, executor.client, first.domain.name, entries)
        async with on_temporal(later.world) as executor:
            asked = await executor.run(later.problem("o1"))
            other = await executor.run(later.problem("o2"))
        async with on_temporal(later.world) as executor:
            again = await executor.run(later.problem("o2"))
        return asked, other, again

    asked, other, again = asyncio.run(main())
    assert asked.status is RunStatus.WAITING
    [question] = asked.questions
    told = f"{question.text} {question.known}"
    assert ("Nobody can say whether pay(o1)" if is_doubt else "was done, as reported, by run") in told
    assert other.status is RunStatus.UNVERIFIED
    assert again.status is RunStatus.WAITING
    assert [order for order, _ in later.read()] == ["o1", "o2"], "the first payment was that of the earlier run"


def test_what_was_done_before_the_tag_counts(on_temporal, tills, tmp_path):
    name, payments = f"till-{next(numbers)}", tmp_path / "payments"

    async def ask(order, *, is_final):
        till = tills.Till(name, payments, domain=f"domain-of-{name}", is_final=is_final)
        async with on_temporal(till.world) as executor:
            return await executor.run(till.problem(order), join=False)

    async def main():
        return [await ask("o1", is_final=False), await ask("o1", is_final=True), await ask("o2", is_final=True)]

    first, asked, other = asyncio.run(main())
    assert first.status is other.status is RunStatus.UNVERIFIED
    assert asked.status is RunStatus.WAITING
    assert "was done, as reported, by run" in f"{asked.questions[0].text} {asked.questions[0].known}"
    assert [order for order, _ in tills.Till(name, payments).read()] == ["o1", "o2"]


def test_a_run_from_before_the_ledger_of_which_nobody_tells_is_named(on_temporal, tills, make_till, caplog):
    till = make_till(domain="till-that-is-gone")

    async def main():
        async with on_temporal(till.world) as executor:
            name = await leave_run_from_before(tills, executor.client, till.domain.name, (), is_told=False)
            return name, await executor.run(till.problem("o1"))

    name, outcome = asyncio.run(main())
    assert outcome.status is RunStatus.UNVERIFIED
    assert f"what these runs from before the ledger have done is not known: {name}" in caplog.text
