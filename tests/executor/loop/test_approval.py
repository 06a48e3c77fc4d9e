"""What needs approval is done as it was approved, and only if it was."""

import asyncio
from typing import Literal

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, RunStatus, World
from planner import Domain
from planner.errors import InputError


class Post:
    """Letters that somebody has to allow; `sent` has those that were sent."""

    def __init__(self, policy=None):
        self.sent, domain = [], Domain("post")

        @domain.action(provides=["sent"], tags=["needs_approval"], description="Sends a letter.")
        def send(text: str, copies: int = 2):
            self.sent.append((text, copies))
            if len(self.sent) < 2 and policy is not None:
                raise OSError("the box is full")

        domain.action("write", {}, provides=["written"])
        self.world = World(domain)
        self.world.handler("write")(lambda context: context.memory.set("text", "something else"))
        if policy is not None:
            self.world.policy("send", policy)
            self.world.observer("sent", conclusive=True)(lambda: len(self.sent) > 1)

    def plan(self, **parameters):
        return ActionPlan.model_validate({"steps": [{"id": "s", "action": "send", "parameters": parameters}]})


def test_who_approves_sees_all_that_will_be_done():
    post, seen = Post(), []

    def approve(request):
        seen.append(request)
        return True

    for role in ("approve", "permit"):
        executor = Executor(post.world, **{"approve": lambda _: True, role: approve})
        asyncio.run(executor.run(post.plan(text="Dear Ann")))
    assert [each.parameters for each in seen] == [{"text": "Dear Ann", "copies": 2}] * 2
    assert post.sent == [("Dear Ann", 2)] * 2


def test_a_question_says_all_that_will_be_done(tmp_path):
    post, letter = Post(), "Dear Ann,\n" + "buy " * 1000
    executor = Executor(post.world, tmp_path / "runs.db")
    outcome = asyncio.run(executor.run(post.plan(text=letter), run="r"))
    question = outcome.state.questions["approve:s"]
    assert question.text == "May send() be done, its text, copies as follows?"
    assert question.known[0] == "Sends a letter."
    assert question.known[1:] == ('text = "Dear Ann,\\n' + "buy " * 1000 + '"', "copies = 2")


@pytest.mark.parametrize("stay", [True, False])
def test_what_was_approved_is_what_is_done(tmp_path, stay):
    """Working memory changes between the question and its answer."""
    post = Post()
    executor = Executor(post.world, tmp_path / "runs.db", model="dag", stay=stay)
    steps = [{"id": "s", "action": "send"}, {"id": "w", "action": "write"}]
    plan = ActionPlan.model_validate({"steps": steps})

    async def main():
        run = executor.start(plan, run="r", memory={"text": "Dear Ann"})
        if stay:
            async for event in run.events():
                if type(event).__name__ == "StepEnded" and event.step == "w":
                    run.answer("approve:s", "yes")
            return await run
        assert (await run).status is RunStatus.WAITING
        return await executor.resume("r", answers={"approve:s": "yes"})

    outcome = asyncio.run(main())
    assert outcome.state.memory.get("text") == "something else"
    assert post.sent == [("Dear Ann", 2)]
    assert outcome.state.steps["s"].parameters == {"text": "Dear Ann", "copies": 2}


def test_attempts_after_the_first_are_made_with_what_was_approved():
    post = Post(ExecutionPolicy(retries=1, backoff=0, jitter=0))

    def forget(event):
        if type(event).__name__ == "RungTaken":
            run.state.memory.restore("text", "something else")

    async def main():
        nonlocal run
        run = Executor(post.world, approve=lambda _: True).start(post.plan(), memory={"text": "Dear Ann"})
        run.listen(forget)
        return await run

    run = None
    assert asyncio.run(main()).status is RunStatus.SUCCEEDED
    assert post.sent == [("Dear Ann", 2)] * 2


def test_nobody_is_asked_about_what_cannot_be_filled():
    post, asked = Post(), []
    domain_plan = post.plan()
    executor = Executor(post.world, approve=asked.append)
    with pytest.raises(InputError, match="lacks a value for 'text'"):
        asyncio.run(executor.run(domain_plan))
    outcome = asyncio.run(executor.run(domain_plan, memory={"text": 7}))
    assert outcome.status is RunStatus.FAILED
    assert "'text' cannot be 7" in outcome.steps[0].reason
    assert asked == []


CONSENT = [True, "yes", "YES", " Yes ", "y", "true", "True"]
REFUSALS = {
    False: "",
    "no": "",
    "NO": "",
    "n": "",
    "false": "",
    "no: too long": "no: too long",
    "No, never": "No, never",
}


@pytest.mark.parametrize("how", ["approve", "permit", "ask", "resume"])
@pytest.mark.parametrize("answer", [*CONSENT, *REFUSALS])
def test_yes_is_yes_and_no_is_no_in_whatever_way_it_is_said(tmp_path, how, answer):
    post = Post()
    others = {"approve": lambda _: True} if how == "permit" else {}
    callbacks = others if how == "resume" else {**others, how: lambda _: answer}
    executor = Executor(post.world, tmp_path / "runs.db", **callbacks)
    outcome = asyncio.run(executor.run(post.plan(text="x"), run="r"))
    if how == "resume":
        outcome = asyncio.run(executor.resume("r", answers={"approve:s": answer}))
    if answer in CONSENT:
        assert post.sent == [("x", 2)]
        return
    what = "permission" if how == "permit" else "approval"
    said = f": {REFUSALS[answer]}" if REFUSALS[answer] else ""
    assert (post.sent, outcome.steps[0].reason) == ([], f"{what} was refused{said}")


@pytest.mark.parametrize("answer", ["maybe", "yess", "", 1, None, "nowhere", ["yes"]])
def test_an_answer_that_is_neither_leaves_the_question_open(tmp_path, answer):
    post = Post()
    executor = Executor(post.world, tmp_path / "runs.db")
    asyncio.run(executor.run(post.plan(text="x"), run="r"))
    with pytest.raises(InputError, match="say one of: yes, no, or 'no: …' with the reason"):
        asyncio.run(executor.resume("r", answers={"approve:s": answer}))
    asyncio.run(executor.resume("r", answers={"approve:s": "y"}))
    assert post.sent == [("x", 2)]


def ask_for_bills(place, *, has_other_way):
    """Begin a run that pays three bills, which wait for approvals; return the executor, its outcome and the bank."""
    desk, bank = Domain("desk", types=["bill"]), []
    desk.action("pay", {"x": "bill", "amount": int}, provides=["paid(x)"], tags=["irreversible", "needs_approval"])
    desk.action("book", {"x": "bill"}, requires=["paid(x)"], provides=["closed(x)"], tags=["trusted"])
    if has_other_way:
        desk.action("dispute", {"x": "bill"}, provides=["closed(x)"], tags=["trusted"], cost=50)
    world, names = World(desk), ("a", "b", "c")
    world.handler("pay")(lambda x, amount: bank.append((x, amount)))
    for name in ("book", "dispute") if has_other_way else ("book",):
        world.handler(name)(lambda x: x)
    world.observer("paid(_)", conclusive=True, settle_within=0)(lambda: [x for x, _ in bank])
    bills = desk.problem(objects=dict.fromkeys(names, "bill"), goal=[f"closed({x})" for x in names])
    executor = Executor(world, place)
    return executor, asyncio.run(executor.run(bills, run="r", memory={"amount": 12})), bank


@pytest.mark.parametrize("has_other_way", [True, False])
@pytest.mark.parametrize("refused", ["a", "b", "c"])
def test_a_refusal_leaves_what_is_approved_with_it_as_it_is(tmp_path, refused, has_other_way):
    """The answers come together: while the others are about to begin, the refusal is patched around."""
    executor, outcome, bank = ask_for_bills(tmp_path / "runs.db", has_other_way=has_other_way)
    said = {each.question: {"values": {"amount": 3}} for each in outcome.questions}
    said |= {each.question: "no" for each in outcome.questions if f"pay({refused})" in each.text}
    assert len(said) == 3
    outcome = asyncio.run(executor.resume("r", answers=said))
    wanted = [(x, 3) for x in "abc" if x != refused]
    assert outcome.questions == ()
    if has_other_way:
        assert (outcome.status, sorted(bank)) == (RunStatus.SUCCEEDED, wanted)
    else:
        assert outcome.status is RunStatus.FAILED
        assert set(bank) <= set(wanted)


def test_a_run_that_waits_after_a_refusal_says_for_what(tmp_path):
    executor, outcome, bank = ask_for_bills(tmp_path / "runs.db", has_other_way=False)
    refused = next(each.question for each in outcome.questions if "pay(a)" in each.text)
    outcome = asyncio.run(executor.resume("r", answers={refused: "no: wrong"}))
    assert (outcome.status, bank) == (RunStatus.WAITING, [])
    first, *others = outcome.reason.splitlines()
    assert first == "pay(a): approval was refused: no: wrong"
    assert [each.split(" be done")[0] for each in others[-2:]] == [f"open question: May pay({x})" for x in "bc"]


@pytest.mark.parametrize("values", [{"copys": 1}, {"copies": "lots"}, {"text": None}])
def test_an_approval_with_values_that_do_not_fit_is_none(values):
    post = Post()
    executor = Executor(post.world, approve=lambda _: {"values": values})
    outcome = asyncio.run(executor.run(post.plan(text="x")))
    assert post.sent == []
    assert outcome.steps[0].reason.startswith("approval was refused: whoever decides has said neither yes nor no: ")
    assert next(iter(values)) in outcome.steps[0].reason
    assert asyncio.run(Executor(post.world, approve=lambda _: {"values": {"copies": 1}}).run(post.plan(text="x")))
    assert post.sent == [("x", 1)]


def test_a_permission_changes_no_values():
    post = Post()
    executor = Executor(post.world, permit=lambda _: {"values": {"copies": 1}}, approve=lambda _: True)
    outcome = asyncio.run(executor.run(post.plan(text="x")))
    assert post.sent == []
    assert "`permit` changes no values, `approve` does" in outcome.steps[0].reason


def test_an_objection_to_a_choice_names_the_choices(tmp_path):
    domain, sent = Domain("post"), []

    @domain.action(provides=["sent"], tags=["needs_approval", "trusted"])
    def send(how: Literal["air", "sea"]) -> None:
        sent.append(how)

    executor = Executor(World(domain), tmp_path / "runs.db")
    asyncio.run(executor.run(domain.problem(goal=["sent"]), run="r", memory={"how": "air"}))
    with pytest.raises(InputError, match="'how' cannot be 'rail'; say one of: air, sea"):
        asyncio.run(executor.resume("r", answers={"approve:s1": {"values": {"how": "rail"}}}))
    asyncio.run(executor.resume("r", answers={"approve:s1": {"values": {"how": "sea"}}}))
    assert sent == ["sea"]


@pytest.mark.parametrize("role", ["approve", "permit"])
@pytest.mark.parametrize("name", ["o7", "o 7", 'say "hi"', "https://shop.example/8?a=(b)", ""])
def test_whoever_decides_gets_names_as_they_are(name, role):
    domain, seen = Domain("post", types=["letter"]), []
    domain.action("send", {"x": "letter"}, provides=["sent(x)"], tags=["needs_approval", "trusted"])
    world = World(domain)
    world.handler("send")(lambda x: seen.append(x) or "sent")
    letters = domain.problem(objects={name: "letter"}, goal="(forall (?x - letter) (sent ?x))")
    decide = {"approve": lambda _: True, role: lambda request: seen.append(request.arguments["x"]) or True}
    assert asyncio.run(Executor(world, **decide).run(letters)).succeeded
    assert seen == [name, name]
