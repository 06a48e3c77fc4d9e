"""What is given for a run alone reaches its handlers at every door, is given again at resume, and is never written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic_ai import Agent as OtherAgent
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from executor import Agent, Context, Executor, RunStatus, Wait, World
from executor.adapters.langgraph_nodes import planned_agent
from executor.adapters.planned_calls import PlannedCalls
from executor.adapters.pydantic_ai_toolset import ForethoughtToolset
from executor.cli.execute import RunOptions
from executor.journal import open_journal
from executor.mcp_server.run_tools import RunTools
from executor.plan_check.remaining_means import LACKING
from executor.testing import run_virtual
from executor.tools.context import LookContext
from executor.workers.worker import Worker
from planner import Domain, Limits
from planner.errors import InputError

SECRET = "sk-3141592653"
HELD = {"s2": True}
"""The result for which a run waits."""


@dataclass
class Bank:
    """The client of one tenant."""

    secret: str = SECRET
    log: list[str] = field(default_factory=list)


def find_hidden(context):
    """Return the deps of a context, which no code shows."""
    return getattr(context, "de" + "ps")


def make_shop(name="tenant 7", *, uses=True, is_shown=True, tags=("irreversible",)):
    """Return a world that prepares, waits and pays by the clients of its run, if it `uses` them, and a problem.

    The code of what pays shows that it takes them only if that `is_shown`.
    """
    domain = Domain("shop")
    domain.action("prepare", provides=["prepared"], tags=["trusted"])
    domain.action("hold", requires=["prepared"], provides=["held"], tags=["trusted"])
    domain.action("pay", requires=["held"], provides=["paid"], tags=list(tags))
    world, paid = World(domain, name=name), []

    @world.handler("prepare")
    def prepare(context: Context[Bank]) -> None:
        if uses:
            context.deps.log.append("prepared")

    world.handler("hold")(lambda: Wait(event="go"))
    if not is_shown:

        @world.handler("pay")
        async def pay_hidden(context: Context[Bank]) -> None:
            bank = find_hidden(context)
            bank.log.append("paid")
            paid.append(bank.secret)

        world.observer("paid", conclusive=True, settle_within=0)(lambda: bool(paid))
    elif uses:

        @world.handler("pay")
        async def pay(context: Context[Bank]) -> None:
            context.deps.log.append("paid")
            paid.append(context.deps.secret)
    else:
        world.handler("pay")(lambda: paid.append("by nobody"))

    if is_shown:
        world.observer("paid", conclusive=True, settle_within=0)(make_observer(paid, uses=uses))

    @world.observer("held", conclusive=True)
    def see_held() -> bool:
        return True

    return world, domain.problem(goal=["paid"]), paid


def make_observer(paid, *, uses):
    def see(context: LookContext[Bank]) -> bool:
        if uses:
            context.deps.log.append("looked")
        return bool(paid)

    return see


def begin_by_executor(world, problem, journal, deps):
    return run_virtual(Executor(world, journal).run(problem, run="r", deps=deps))


def resume_by_executor(world, _, journal, deps, results=HELD):
    return run_virtual(Executor(world, journal).resume("r", results=results, deps=deps))


def begin_by_default(world, problem, journal, deps):
    return run_virtual(Executor(world, journal, deps=deps).run(problem, run="r"))


def resume_by_default(world, _, journal, deps, results=HELD):
    return run_virtual(Executor(world, journal, deps=deps).resume("r", results=results))


def begin_by_agent(world, problem, journal, deps):
    return run_virtual(Agent(world, problem, journal=journal).achieve(["paid"], run="r", deps=deps)).outcome


def resume_by_agent(world, problem, journal, deps, results=HELD):
    return run_virtual(Agent(world, problem, journal=journal).resume("r", results=results, deps=deps))


def begin_by_calls(world, problem, journal, deps):
    async def main():
        calls = PlannedCalls(world, problem, journal=journal, run="r", deps=deps)
        return [await calls.call(each) for each in ("prepare", "hold")]

    asyncio.run(main())
    return outcome_of(world, journal)


def resume_by_calls(world, problem, journal, deps, results=HELD):
    async def main():
        calls = PlannedCalls(world, problem, journal=journal, run="r", deps=deps)
        for step in results:
            await calls.answer(f"wait:{step}", "yes")
        return await calls.call("pay")

    asyncio.run(main())
    return outcome_of(world, journal)


def obey(messages, info) -> ModelResponse:
    """Call the tool that is offered, once."""
    if len(messages) > 1 or not info.function_tools:
        return ModelResponse([TextPart("done")])
    return ModelResponse([ToolCallPart(each.name, {}) for each in info.function_tools])


def begin_by_pydantic_ai(world, problem, journal, deps):
    toolset = ForethoughtToolset(world, problem, journal=journal, run="r")
    agent = OtherAgent(FunctionModel(obey), toolsets=[toolset], deps_type=Bank)
    for _ in range(2):
        asyncio.run(agent.run("go", deps=deps))
    return outcome_of(world, journal)


def resume_by_pydantic_ai(world, problem, journal, deps, results=HELD):
    async def main():
        toolset = ForethoughtToolset(world, problem, journal=journal, run="r")
        toolset.calls.take_deps(deps)
        for step in results:
            await toolset.calls.answer(f"wait:{step}", "yes")
        await OtherAgent(FunctionModel(obey), toolsets=[toolset], deps_type=Bank).run("go", deps=deps)

    asyncio.run(main())
    return outcome_of(world, journal)


class Obedient(BaseChatModel):
    """Calls the tool that is bound, once for each question."""

    bound: Any = None

    @property
    def _llm_type(self) -> str:
        return "obedient"

    def bind_tools(self, tools, **_):
        return self.model_copy(update={"bound": tools})

    def _generate(self, messages, stop=None, run_manager=None, **_):  # noqa: ARG002 - as the base class has it
        is_new = isinstance(messages[-1], HumanMessage)
        calls = (
            [{"name": each["function"]["name"], "args": {}, "id": "1"} for each in self.bound or ()] if is_new else []
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])


def begin_by_langgraph(world, problem, journal, deps):
    graph = planned_agent(PlannedCalls(world, problem, journal=journal, run="r"), Obedient())
    for _ in range(2):
        asyncio.run(graph.ainvoke({"messages": [HumanMessage("go")]}, context=deps))
    return outcome_of(world, journal)


def resume_by_langgraph(world, problem, journal, deps, results=HELD):
    calls = PlannedCalls(world, problem, journal=journal, run="r")

    async def main():
        calls.take_deps(deps)
        for step in results:
            await calls.answer(f"wait:{step}", "yes")
        await planned_agent(calls, Obedient()).ainvoke({"messages": [HumanMessage("go")]}, context=deps)

    asyncio.run(main())
    return outcome_of(world, journal)


def outcome_of(world, journal):
    """Return the state of the run in the journal, which has the fields of an outcome."""
    return Executor(world, journal).state_of("r")


DOORS = {
    "executor": (begin_by_executor, resume_by_executor),
    "default of the executor": (begin_by_default, resume_by_default),
    "agent": (begin_by_agent, resume_by_agent),
    "planned calls": (begin_by_calls, resume_by_calls),
    "pydantic-ai": (begin_by_pydantic_ai, resume_by_pydantic_ai),
    "LangGraph": (begin_by_langgraph, resume_by_langgraph),
}


def list_bytes(folder):
    """Return all that is written under `folder`."""
    return b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("door", DOORS)
def test_it_is_given_and_given_again(door, tmp_path, caplog):
    begin, resume = DOORS[door]
    world, problem, paid = make_shop()
    first, second = Bank(), Bank()
    assert begin(world, problem, tmp_path / "runs.db", first).status is RunStatus.WAITING
    assert "prepared" in first.log
    assert resume(world, problem, tmp_path / "runs.db", second).status is RunStatus.SUCCEEDED
    assert paid == [SECRET]
    assert "paid" in second.log
    assert "looked" in second.log
    assert SECRET.encode() not in list_bytes(tmp_path)
    assert b"Bank" in list_bytes(tmp_path), "the journal knows what has to be given again"
    assert SECRET not in caplog.text


@pytest.mark.parametrize("door", DOORS)
def test_a_run_without_it_waits_and_says_what_is_missing(door, tmp_path):
    begin, resume = DOORS[door]
    world, problem, paid = make_shop()
    begin(world, problem, tmp_path / "runs.db", Bank())
    ended = resume(world, problem, tmp_path / "runs.db", None)
    assert (ended.status, paid) == (RunStatus.WAITING, [])
    assert ended.reason.startswith(LACKING)
    assert "deps=Bank(…)" in ended.reason
    assert "pay" in ended.reason
    again = resume(world, problem, tmp_path / "runs.db", Bank(), {})
    assert (again.status, paid) == (RunStatus.SUCCEEDED, [SECRET])


@pytest.mark.parametrize("tags", [["irreversible"], []])
@pytest.mark.parametrize("door", DOORS)
def test_a_run_whose_handler_turns_out_to_need_it_waits_too(door, tags, place):
    begin, resume = DOORS[door]
    world, problem, paid = make_shop(is_shown=False, tags=tags)
    begin(world, problem, open_journal(place), Bank())
    ended = resume(world, problem, open_journal(place), None)
    assert (ended.status, paid) == (RunStatus.WAITING, [])
    assert ended.reason.startswith(f"{LACKING}: its deps=Bank(…), which pay take")
    asyncio.run(Worker(Executor(world, open_journal(place))).work(once=True))
    assert outcome_of(world, open_journal(place)).reason == ended.reason, "a worker leaves it alone"
    again = resume(world, problem, open_journal(place), Bank(), {})
    assert (again.status, paid) == (RunStatus.SUCCEEDED, [SECRET])


def test_what_cannot_be_taken_back_and_nobody_sees_is_asked_about(tmp_path):
    """Nobody knows what a handler has done before it asked for what is missing."""
    domain, paid = Domain("shop"), []
    domain.action("hold", provides=["held"], tags=["trusted"])
    domain.action("pay", requires=["held"], provides=["paid"], tags=["irreversible"])
    world = World(domain, name="tenant 7")
    world.handler("hold")(lambda: Wait(event="go"))
    world.handler("pay")(lambda context: paid.append(find_hidden(context).secret))
    begin_by_executor(world, domain.problem(goal=["paid"]), tmp_path / "runs.db", Bank())
    ended = resume_by_executor(world, None, tmp_path / "runs.db", None, {"s1": True})
    assert ended.status is RunStatus.IN_DOUBT
    assert "without its deps=Bank(…)" in ended.reason
    asked = resume_by_executor(world, None, tmp_path / "runs.db", Bank(), {})
    assert (asked.status, [each.question for each in asked.questions], paid) == (RunStatus.IN_DOUBT, ["doubt:s2"], [])
    answers = {"doubt:s2": "it did not happen"}
    run_virtual(Executor(world, tmp_path / "runs.db").resume("r", answers=answers, deps=Bank()))
    assert paid == [SECRET]


@pytest.mark.parametrize("door", DOORS)
def test_a_run_whose_handlers_never_ask_for_it_goes_on(door, tmp_path):
    begin, resume = DOORS[door]
    world, problem, paid = make_shop(uses=False)
    begin(world, problem, tmp_path / "runs.db", Bank())
    assert resume(world, problem, tmp_path / "runs.db", None).status is RunStatus.SUCCEEDED
    assert paid == ["by nobody"]


def test_workers_make_it():
    """See `test_a_worker_makes_it`: a run for a worker is given nothing."""
    world, problem, _ = make_shop()
    executor = Executor(world, None)
    with pytest.raises(InputError, match=r"@world\.deps"):
        executor.start(problem, enqueue=True, deps=Bank())


def add_factory(world):
    """Let the world make the clients of each run; return those made, by run."""
    made = {}

    @world.deps
    def clients(run, memory):
        return made.setdefault(run, Bank(secret=memory.get("tenant", "nobody")))

    return made


def test_a_worker_makes_it(tmp_path):
    world, problem, paid = make_shop()
    made = add_factory(world)

    async def main():
        executor = Executor(world, tmp_path / "runs.db")
        name = await executor.enqueue(problem, memory={"tenant": "t7"})
        await Worker(executor).work(once=True)
        await executor.hand_over(name, results={"s2": True})
        await Worker(Executor(world, tmp_path / "runs.db")).work(once=True)
        return name

    name = asyncio.run(main())
    assert paid == ["t7"]
    assert list(made) == [name]


def test_the_host_of_an_mcp_server_makes_it(tmp_path, monkeypatch):
    world, problem, paid = make_shop()
    made = add_factory(world)
    monkeypatch.setattr("executor.mcp_server.run_tools.find_world", lambda *_: world)

    class Source:
        def domain(self):
            return world.model

    async def main():
        tools = RunTools(Source(), RunOptions("shop", is_real=True, journal=tmp_path / "runs.db"))
        await tools.begin(problem, None, Limits(time_limit=5.0), lambda *_: None, "r", memory={"tenant": "t8"})
        return await tools.go_on("r", {}, {"s2": True}, lambda *_: None)

    assert asyncio.run(main()).status == "SUCCEEDED"
    assert (paid, list(made)) == (["t8"], ["r"])


def test_standing_goals_have_that_of_their_agent(tmp_path):
    domain = Domain("post")
    domain.action("send", requires=["letter"], provides=["sent"], modifies=["letter"], tags=["trusted"])
    world, bank = World(domain), Bank()
    world.handler("send")(lambda context: context.deps.log.append("sent"))

    @world.observer("letter", conclusive=True)
    def letter(context):
        context.deps.log.append("looked")
        return "sent" not in bank.log

    agent = Agent(world, domain.problem(), journal=tmp_path / "runs.db", deps=bank)
    agent.when("letter", achieve="sent")

    async def main():
        async with agent.attend():
            while "sent" not in bank.log:  # noqa: ASYNC110 - the log tells nobody
                await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(main(), 20))
    assert "looked" in bank.log
    assert "sent" in bank.log


@pytest.mark.parametrize("given", [None, Bank(secret="other")])
def test_nested_runs_inherit_it_unless_given_another(given):
    domain = Domain("outer")
    domain.action("whole", provides=["whole"], tags=["trusted"])
    domain.action("part", provides=["part"], tags=["trusted"])
    world, seen = World(domain), []
    executor = Executor(world)

    @world.handler("whole")
    async def whole(context: Context[Bank]) -> None:
        seen.append(context.deps.secret)
        await executor.run(domain.problem(goal=["part"]), deps=given)

    world.handler("part")(lambda context: seen.append(context.deps.secret))
    assert run_virtual(executor.run(domain.problem(goal=["whole"]), deps=Bank())).succeeded
    assert seen == [SECRET, SECRET if given is None else "other"]


def test_hooks_and_checks_have_it():
    world, problem, paid = make_shop(uses=False)
    seen = []

    @world.around
    async def note(call, proceed):
        seen.append(call.context.deps.secret)
        return await proceed()

    @world.check("pay")
    def check(context):
        seen.append(context.deps.secret)

    async def main():
        executor = Executor(world)
        first = await executor.run(problem, run="r", deps=Bank())
        assert (await executor.resume("r", results={"s2": True})).reason.startswith(LACKING)
        return first, await executor.resume("r", deps=Bank())

    _, ended = run_virtual(main())
    assert (ended.status, len(paid)) == (RunStatus.SUCCEEDED, 1)
    assert len(seen) == 4
    assert set(seen) == {SECRET}


def test_a_world_with_irreversible_actions_needs_a_name():
    world, problem, paid = make_shop(name="")
    with pytest.raises(InputError, match="deps= may choose the account"):
        run_virtual(Executor(world).run(problem, deps=Bank()))
    add_factory(world)
    with pytest.raises(InputError, match="deps= may choose the account"):
        run_virtual(Executor(world).run(problem))
    assert paid == []


def test_equal_requests_with_other_clients_are_two_runs_where_the_world_has_no_name():
    domain = Domain("read")
    domain.action("read", provides=["read"], tags=["trusted"])
    world, seen = World(domain), []

    @world.handler("read")
    async def read(context: Context[Bank]) -> None:
        await asyncio.sleep(0.01)
        seen.append(context.deps.secret)

    async def main():
        executor = Executor(world)
        return await asyncio.gather(
            *[executor.run(domain.problem(goal=["read"]), deps=Bank(secret=each)) for each in ("a", "b")]
        )

    one, other = run_virtual(main())
    assert one.run != other.run
    assert sorted(seen) == ["a", "b"]


def test_the_context_of_pydantic_ai_is_no_context_of_ours():
    def tool(ctx: RunContext[Bank]) -> None:
        """Do nothing."""

    domain = Domain("other")
    domain.action("use", {"ctx": str}, provides=["used"])
    World(domain).handler("use")(tool)
