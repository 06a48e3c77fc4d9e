"""Questions of one kind: every kind, asked at every door, is answered at every other one, and counted in the world.

A kind of question, a door that asks and a door that answers are a line each in `KINDS`, `ASKERS` and `ANSWERERS`; what
the package has beside them fails a test. `ONLY_AT` says which kinds not every door asks, and why.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import textwrap
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Annotated, Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from doors.registry import APART, DOORS
from pydantic import Field

import executor
from executor import ActionPlan, ActionResult, Agent, Context, Executor, InDoubt, PlannedCalls, Wait, World
from executor.events.answers import HAPPENED, form_of
from executor.events.open_questions import load_open_questions, post_answer, read_open_questions
from executor.journal import Journal
from executor.testing import run_virtual
from executor.tools.results import Metrics
from planner import Domain
from planner.cli import main as command
from planner.errors import InputError


@dataclass(slots=True)
class Office:
    """A world with one action, `act`, whose effect is what the office has `done`."""

    kind: str
    done: list[Any] = field(default_factory=list)
    domain: Domain = field(init=False)
    world: World = field(init=False)
    parameters: dict[str, Any] = field(default_factory=dict)
    tries: int = 0

    def __post_init__(self) -> None:
        self.domain = Domain("office")
        tags = [] if self.kind in ("stuck", "limit") else ["irreversible"]
        tags += ["needs_approval"] if self.kind == "approval" else []
        known = {"approval": Annotated[int, Field(default=60)], "value": int}
        values = {"amount": known[self.kind]} if self.kind in known else {}
        # what a waiting step brings about is what a second step needs: only that is an effect in the world
        self.domain.action("ask", values, provides=["allowed"], tags=[*tags, "trusted"])
        self.domain.action("act", requires=["allowed"], provides=["acted"], tags=["trusted"])
        self.world = World(self.domain)
        self.world.handler("ask")(getattr(self, f"ask_{self.kind}"))
        self.world.handler("act")(lambda: self.done.append("act"))

    @property
    def problem(self) -> Any:
        return self.domain.problem("deal", goal=["acted"])

    def ask_approval(self, amount: int) -> None:
        self.done.append(amount)

    def ask_value(self, amount: int) -> None:
        self.done.append(amount)

    def ask_doubt(self) -> None:
        raise InDoubt("the line is dead")

    def ask_choice(self) -> Wait:
        return Wait("May it be?", choices=("sure", "no way"))

    def ask_meaning(self) -> Wait:
        return Wait("May it be?", choices={"sure": ["allowed"], "never": ["not allowed"]})

    def ask_event(self) -> Wait:
        return Wait(event="paid")

    def ask_result(self) -> Wait:
        return Wait("Ada looks")

    def ask_again(self) -> None:
        self.done.append("ask")

    def ask_flight(self) -> None:
        raise InDoubt("the line is dead")

    def ask_stuck(self) -> bool:
        self.tries += 1
        return self.tries > 1

    def ask_limit(self) -> ActionResult:
        return ActionResult(metrics=Metrics(cost=5))

    async def prepare(self, place: Path) -> None:
        """Let an earlier run do the step, or leave it in doubt, where the question is about that."""
        if self.kind in ("again", "flight"):
            await Executor(self.world, place).run(self.domain.problem(goal=["allowed"]), run=EARLIER)
            self.done.clear()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question: the prefix of its name, answers that fit, do not fit and mean no, and what is done then."""

    prefix: str
    fits: Any
    misfit: Any
    no: Any
    done: tuple[Any, ...] = ("act",)


KINDS = {
    "approval": Kind("approve:", "yes", "perhaps", "no", (60, "act")),
    "value": Kind("fill:", {"amount": 7}, {"amount": "many"}, "no", (7, "act")),
    "doubt": Kind("doubt:", HAPPENED, "{}", "it did not happen"),
    "choice": Kind("wait:", "sure", "perhaps", "no"),
    "meaning": Kind("wait:", "sure", "perhaps", "never"),
    "event": Kind("wait:", {"success": True}, {}, "no"),
    "result": Kind("wait:", {"data": 5}, {}, "no"),
    "again": Kind("again:", "yes", "perhaps", "no", ("ask", "act")),
    "flight": Kind("flight:", HAPPENED, "{}", "it did not happen"),
    "stuck": Kind("stuck:", "try again", "perhaps", "give up"),
    "limit": Kind("limit:", "yes", "perhaps", "no"),
}
EARLIER = "earlier"
NEVER_REFUSED = ("value", "doubt", "flight", "stuck", "limit", "again")
"""Kinds that do not ask whether a step may be done; who says no to doing it again says that it is done."""
EDITED = {"values": {"amount": 20}}


async def ask_to_fill(_: Any) -> Any:
    from executor.loop.parameters import Fillings

    return Fillings({}, question="How much?")


def make_executor(office: Office, place: Path) -> Executor:
    ask = "later" if office.kind in ("stuck", "limit") else None
    return Executor(office.world, place, fill=ask_to_fill if office.kind == "value" else None, ask=ask)


async def ask_by_executor(office: Office, place: Path, callback: Any = None) -> None:
    wanted: Any = office.problem
    if office.kind == "limit":
        steps = [{"id": each, "action": each} for each in ("ask", "act")]
        limits = {"constraints": {"cost": 2}}
        wanted = ActionPlan.model_validate({"steps": steps, "goal": ["acted"], "metadata": limits})
    executor = make_executor(office, place)
    executor.ask = callback or executor.ask
    await executor.run(wanted, run="r")


async def ask_by_agent(office: Office, place: Path) -> None:
    agent = Agent(office.world, office.domain.problem(), journal=place)
    agent.executor.fill = ask_to_fill if office.kind == "value" else None
    agent.executor.ask = "later" if office.kind == "stuck" else None
    await agent.achieve(["acted"])


async def ask_by_calls(office: Office, place: Path) -> None:
    calls = PlannedCalls(office.world, office.problem, run="r", journal=place)
    await calls.call("ask")


async def ask_by_graph(office: Office, place: Path) -> None:
    from doors.call_doors import Caller
    from langgraph.checkpoint.memory import InMemorySaver

    from executor.adapters.langgraph_nodes import planned_agent

    calls = PlannedCalls(office.world, office.problem, run="r", journal=place)
    graph = planned_agent(calls, Caller(), checkpointer=InMemorySaver())
    ended = await graph.ainvoke({"messages": [("user", "Deal.")]}, {"configurable": {"thread_id": "1"}})
    assert ended["__interrupt__"][0].value["form"] is not None


async def ask_by_mcp(office: Office, place: Path) -> None:
    told = await call_server(office, place, "run", {"about": {"goal": ["acted"]}, "name": "r"})
    [asked] = told.structured_content["questions"]
    assert asked["question"].startswith(KINDS[office.kind].prefix)


def ask_by_command(office: Office, place: Path) -> None:
    from doors.mcp_door import SERVED

    SERVED.append(office)
    words = ["run", str(write_world(place)), "--real", "--journal", str(place), "--run", "r", "--time-limit", "none"]

    try:
        with pytest.raises(SystemExit):
            command(words)
    finally:
        SERVED.remove(office)


def write_world(place: Path) -> Path:
    """Write the file that loads the office which is served last."""
    from doors.mcp_door import WORLD_FILE

    path = place.with_suffix(".py")
    path.write_text(textwrap.dedent(WORLD_FILE), encoding="utf-8")
    return path


async def call_server(office: Office, place: Path, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool of an MCP server of its own for the office."""
    from doors.mcp_door import SERVED
    from mcp import Client

    from executor.cli.execute import RunOptions
    from executor.mcp_server.build_server import build_server
    from executor.mcp_server.call_limits import CallLimits
    from planner.language.loading.load import open_source

    path = write_world(place)
    SERVED.append(office)
    try:
        options = RunOptions(str(path), None, is_real=True, journal=place, quiet=True)
        server, _ = build_server(open_source(str(path)), None, options, CallLimits())
    finally:
        SERVED.remove(office)
    async with Client(server, raise_exceptions=True) as client:
        return await client.call_tool(name, arguments)


ASKERS: dict[str, Callable[[Office, Path], Coroutine[Any, Any, None] | None]] = {
    "Executor.run": ask_by_executor,
    "agent": ask_by_agent,
    "planned calls": ask_by_calls,
    "langgraph": ask_by_graph,
    "MCP": ask_by_mcp,
    "command line": ask_by_command,
}
ONLY_AT = {
    "value": {"Executor.run", "agent"},  # at the other doors, a missing value is a wrong call
    "stuck": {"Executor.run", "agent"},  # who has no `ask` gets a run that failed, or chooses the next step
    "limit": {"Executor.run"},  # an `ActionPlan` states limits, a goal does not
}
"""The doors that ask questions of a kind, where these are not all."""


def answer_here(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    run_virtual(make_executor(office, place).resume(run, answers={question: answer}))


def answer_by_executor(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    executor = make_executor(office, place)
    assert [each.question for each in executor.questions(run)] in ([question], [])
    executor.answer(run, question, answer)
    go_on(office, place, run)


def answer_by_post(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    with Journal(place) as journal:
        post_answer(journal, run, question, answer)
    go_on(office, place, run)


def answer_by_command(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    text = json.dumps(answer) if isinstance(answer, dict) else answer
    with pytest.raises(SystemExit) as ended:
        command(["runs", "answer", str(place), run, f"{question}={text}"])
    if ended.value.code:
        raise InputError("the command has refused it")
    go_on(office, place, run)


def answer_by_page(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    from executor.desk.pages.live_server import LiveServer
    from executor.listening.addresses import Address, listen

    address = Address("127.0.0.1", 0)
    with Journal(place) as journal, listen(address) as listening:
        server = LiveServer(listening, address, journal)
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            shown = [each for each in server.runs.feed(run).page().run.questions if each.name == question]
            given = {"run": run, "question": question, "answer": answer, "shown": shown[0].shown if shown else "?"}
            status, said = send_answer(server, given)
        finally:
            server.shutdown()
            serving.join()
    if status != 200:
        raise InputError(said)
    go_on(office, place, run)


def send_answer(server: Any, given: dict[str, Any]) -> tuple[int, str]:
    found = urlsplit(server.url)
    connection = HTTPConnection(found.hostname, found.port)
    headers = {
        "Content-Type": "application/json",
        "Cookie": f"forethought={server.access.session}",
        "Origin": f"http://{found.netloc}",
        "Sec-Fetch-Site": "same-origin",
    }
    connection.request("POST", f"{found.path}answers", json.dumps(given), headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def answer_by_mcp(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    told = asyncio.run(call_server(office, place, "answer", {"run": run, "question": question, "answer": answer}))
    if told.is_error:
        raise InputError(told.content[0].text)


ANSWERERS: dict[str, Callable[[Office, Path, str, str, Any], None]] = {
    "Executor.resume": answer_here,
    "Executor.answer": answer_by_executor,
    "post_answer": answer_by_post,
    "runs answer": answer_by_command,
    "live page": answer_by_page,
    "MCP": answer_by_mcp,
}


def answer_by_calls(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    calls = PlannedCalls(office.world, office.problem, run=run, journal=place)
    asyncio.run(calls.answer(question, answer))


def answer_by_graph(office: Office, place: Path, run: str, question: str, answer: Any) -> None:
    """Let a graph of another process ask the question of its run, and resume its interrupt with the answer."""
    from doors.call_doors import Caller
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from executor.adapters.langgraph_nodes import planned_agent

    calls = PlannedCalls(office.world, office.problem, run=run, journal=place)
    graph = planned_agent(calls, Caller(), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}

    async def talk() -> Any:
        asked = find_interrupt(await graph.ainvoke({"messages": [("user", "Deal.")]}, thread))
        if asked.get("question") != f"{run}:{question}":
            raise InputError("the question is over")
        return find_interrupt(await graph.ainvoke(Command(resume=answer), thread))

    again = asyncio.run(talk())
    if again.get("question") == f"{run}:{question}":  # `{}` is no answer for LangGraph itself, and has no objection
        assert answer == {} or again["objection"]
        raise InputError("the question is still open")


def find_interrupt(told: Any) -> Any:
    return next((each.value for each in told.get("__interrupt__", ())), {})


OF_CALLS: dict[str, Callable[[Office, Path, str, str, Any], None]] = {
    "PlannedCalls.answer": answer_by_calls,
    "LangGraph": answer_by_graph,
}
"""Doors that answer for the runs of toolsets alone."""


def go_on(office: Office, place: Path, run: str) -> None:
    run_virtual(make_executor(office, place).resume(run))


def ask(office: Office, asker: str, place: Path) -> tuple[str, Any]:
    """Let the office be asked at a door, and return the run and its only question, as another process reads them."""
    asyncio.run(office.prepare(place))
    asking = ASKERS[asker](office, place)
    if asking is not None:
        asyncio.run(asking)
    with Journal(place) as journal:
        [run] = [each.run for each in journal.runs() if each.run != EARLIER]
        [asked] = load_open_questions(journal, run).values()
    return run, asked


def list_cells() -> Iterator[tuple[str, str, str]]:
    for kind, asker, answerer in product(KINDS, ASKERS, [*ANSWERERS, *OF_CALLS]):
        if asker in ONLY_AT.get(kind, ASKERS) and (answerer in ANSWERERS or asker in ("planned calls", "langgraph")):
            yield kind, asker, answerer


@pytest.mark.parametrize(("kind", "asker", "answerer"), [*list_cells()])
def test_a_question_is_answered_at_every_door(kind: str, asker: str, answerer: str, tmp_path: Path) -> None:
    office, cell, place = Office(kind), KINDS[kind], tmp_path / "runs.db"
    run, asked = ask(office, asker, place)
    assert asked.question.startswith(cell.prefix)
    assert office.done == []
    answer = {**ANSWERERS, **OF_CALLS}[answerer]
    with pytest.raises(InputError):
        answer(office, place, run, asked.question, cell.misfit)
    with Journal(place) as journal:
        assert [*load_open_questions(journal, run)] == [asked.question]  # it stays open
    assert office.done == []
    answer(office, place, run, asked.question, cell.fits)
    go_on_to_the_end(office, place, run)
    assert office.done == list(cell.done)
    with pytest.raises(InputError, match=r"late|over|refused"):
        answer(office, place, run, asked.question, cell.fits)
    assert office.done == list(cell.done)


def go_on_to_the_end(office: Office, place: Path, run: str) -> None:
    """Go on with a run that a driver of an agent leaves to another one, step by step."""
    with Journal(place) as journal:
        if read_open_questions(journal, run).end:
            return
    calls = PlannedCalls(office.world, office.problem, run=run, journal=place)

    async def main() -> None:
        for step in await calls.next_steps():
            await calls.call(step.action)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("kind", "answerer"), [each for each in product(KINDS, ANSWERERS) if each[0] not in NEVER_REFUSED]
)
def test_no_is_a_refusal(kind: str, answerer: str, tmp_path: Path) -> None:
    office, place = Office(kind), tmp_path / "runs.db"
    run, asked = ask(office, "Executor.run", place)
    ANSWERERS[answerer](office, place, run, asked.question, KINDS[kind].no)
    with Journal(place) as journal:
        assert asked.question not in load_open_questions(journal, run)
        entries = [each.outcome.name for each in journal.ledger.entries()]
    assert office.done == []
    if kind != "meaning":  # there, it is a choice that means a fact
        assert "REFUSED" in entries
        again = run_virtual(make_executor(office, place).run(office.problem, run="again"))
        assert (again.status.name, office.done) == ("WAITING", [])
        assert "was refused" in " ".join(again.questions[0].known)


@pytest.mark.parametrize("answerer", ANSWERERS)
def test_no_to_doing_it_again_leaves_it_done_once(answerer: str, tmp_path: Path) -> None:
    office, place = Office("again"), tmp_path / "runs.db"
    run, asked = ask(office, "Executor.run", place)
    ANSWERERS[answerer](office, place, run, asked.question, "no")
    assert office.done == ["act"]


@pytest.mark.parametrize("answerer", ANSWERERS)
@pytest.mark.parametrize("kind", ["stuck", "limit"])
def test_who_gives_up_ends_the_run(kind: str, answerer: str, tmp_path: Path) -> None:
    office, place = Office(kind), tmp_path / "runs.db"
    run, asked = ask(office, "Executor.run", place)
    ANSWERERS[answerer](office, place, run, asked.question, KINDS[kind].no)
    with Journal(place) as journal:
        assert read_open_questions(journal, run).end
    assert (office.done, office.tries) == ([], 1 if kind == "stuck" else 0)


@pytest.mark.parametrize("kind", ["stuck", "limit"])
def test_a_process_that_asks_nobody_leaves_the_question_open(kind: str, tmp_path: Path) -> None:
    office, place = Office(kind), tmp_path / "runs.db"
    run, asked = ask(office, "Executor.run", place)
    run_virtual(Executor(office.world, place).resume(run))
    with Journal(place) as journal:
        assert [*load_open_questions(journal, run)] == [asked.question]
    assert office.done == []


@pytest.mark.parametrize("answerer", ANSWERERS)
def test_an_approval_with_other_values_is_carried_out_with_these(answerer: str, tmp_path: Path) -> None:
    office, place = Office("approval"), tmp_path / "runs.db"
    run, asked = ask(office, "Executor.run", place)
    for wrong in ({"values": {"amount": "much"}}, {"values": {"sum": 20}}):
        with pytest.raises(InputError):
            ANSWERERS[answerer](office, place, run, asked.question, wrong)
    assert office.done == []
    ANSWERERS[answerer](office, place, run, asked.question, EDITED)
    assert office.done == [20, "act"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_of_a_question_says_what_fits(kind: str, tmp_path: Path) -> None:
    cell, place = KINDS[kind], tmp_path / "runs.db"
    _, asked = ask(Office(kind), "Executor.run", place)
    form = form_of(asked)
    assert json.loads(json.dumps(form)) == form
    jsonschema.validate(cell.fits, form)
    if kind == "approval":
        jsonschema.validate(EDITED, form)
    if form:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(cell.misfit, form)


def test_every_kind_of_question_is_here() -> None:
    """A name of a question begins with its kind: a text with a colon, and nothing else, that no other module begins."""
    assert {each.prefix for each in KINDS.values()} == set(find_prefixes())


OTHER_NAMES = {"file:", "log:", "script:"}
"""What is written like the kind of a question, and is none: places of journals, items of its ledger, a model."""


def find_prefixes() -> Iterator[str]:
    """Yield the beginnings of names in the code of the executor."""
    for path in Path(executor.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch("[a-z]+:", node.value):
                yield from {node.value} - OTHER_NAMES


DOORS_OF = {
    "Executor.run": {"sequential", "parallel", "dag", "reactive", "policy", "timed", "hierarchical"}
    | {"plan by hand", "plan without goal", "named run", "worker", "nested run"},
    "agent": {"agent", "room", "maintain", "when", "at", "every"},
    "planned calls": {"planned calls", "pydantic-ai"},
    "langgraph": {"langgraph"},
    "MCP": {"mcp"},
    "command line": {"command line"},
}
"""The registered doors that ask as a door here does, in other models or words."""
OTHER_DOORS = {"without journal", "agent without journal", "calls without journal", "temporal"}
"""Doors without a journal that another process reads, and Temporal, whose questions have tests of their own."""


def test_every_door_is_here() -> None:
    assert DOORS_OF.keys() == ASKERS.keys()
    assert set().union(*DOORS_OF.values()) | OTHER_DOORS == DOORS.keys() | APART.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_answers_every_kind(kind: str, tmp_path: Path) -> None:
    cell = KINDS[kind]
    for answer, done in ((cell.fits, [*cell.done]), (cell.misfit, []), (None, [])):
        office, place, asked = Office(kind), tmp_path / f"{answer}.db", list[str]()

        def ask(question: Any, answer: Any = answer, asked: list[str] = asked) -> Any:
            asked.append(question.question)
            return answer if question.question.startswith(cell.prefix) else None

        asyncio.run(office.prepare(place))
        run_virtual(ask_by_executor(office, place, ask))
        assert asked[0].startswith(cell.prefix)
        assert office.done == done
        with Journal(place) as journal:
            assert (asked[0] in load_open_questions(journal, "r")) is not bool(done)  # what does not fit is no answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_is_asked_what_an_earlier_process_has_left_open(kind: str, tmp_path: Path) -> None:
    """It is asked once whenever the run is taken up; None leaves the question open."""
    cell, office, place = KINDS[kind], Office(kind), tmp_path / "runs.db"
    asyncio.run(office.prepare(place))
    run_virtual(ask_by_executor(office, place))
    for answer, done in ((None, []), (cell.fits, [*cell.done])):
        executor, asked = make_executor(office, place), list[str]()

        def ask(question: Any, answer: Any = answer, asked: list[str] = asked) -> Any:
            asked.append(question.question)
            return answer if question.question.startswith(cell.prefix) else None

        executor.ask = ask
        run_virtual(executor.resume("r"))
        assert len(asked) == 1
        assert asked[0].startswith(cell.prefix)
        assert office.done == done


@pytest.mark.parametrize("decision", [True, {"values": {"amount": 20}}])
def test_who_approves_is_asked_what_an_earlier_process_has_left_open(decision: Any, tmp_path: Path) -> None:
    office, place, asked = Office("approval"), tmp_path / "runs.db", list[Any]()
    run_virtual(ask_by_executor(office, place))

    def approve(request: Any) -> Any:
        asked.append(request.parameters)
        return decision

    run_virtual(Executor(office.world, place, approve=approve).resume("r"))
    assert asked == [{"amount": 60}]
    assert office.done == [60 if decision is True else 20, "act"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_callback_that_thinks_about_a_wait_holds_nothing_up(goes_on: bool) -> None:
    """Other steps go on, its time may pass, and who answers first is heard; None leaves the question open."""
    domain = Domain("office")
    domain.action("ask", provides=["allowed"], tags=["trusted"])
    domain.action("act", provides=["acted"], tags=["trusted"])
    world, seen = World(domain), list[Any]()

    @world.handler("ask")
    async def ask(context: Context) -> Any:
        if goes_on and context.answer is not None:
            return ActionResult(data=context.answer)
        return Wait("May it be?", event="word", seconds=60, conclusive=True, goes_on=goes_on)

    world.handler("act")(lambda: seen.append("act"))

    def run(thinks: Callable[[Any], Any], says: str = "") -> Any:
        async def main() -> Any:
            seen.clear()
            executor = Executor(world, ask=thinks, model="dag")
            going = executor.start(domain.problem(goal=["allowed", "acted"]))
            if says:
                await asyncio.sleep(5)
                going.announce("word", says)
            outcome = await going
            return outcome.status.name, outcome.state.steps["s1"].result, [*seen]

        return run_virtual(main())

    async def think(seconds: float, answer: Any) -> Any:
        await asyncio.sleep(seconds)
        seen.append("thought")
        return answer

    status, result, told = run(lambda _: think(30, "mine"))
    assert (status, result["data"], told) == ("SUCCEEDED", "mine", ["act", "thought"])
    status, result, told = run(lambda _: think(30, "mine"), says="theirs")
    assert (status, result["data"], told) == ("SUCCEEDED", "theirs", ["act"])
    _, result, told = run(lambda asked: think(90, "mine") if asked.question.startswith("wait:") else None)
    assert told == ["act"]
    assert "no answer came within 60 s" in result["error"]
    assert run(lambda _: None)[0] == "WAITING"
