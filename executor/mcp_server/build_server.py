"""Build the MCP server of a domain from the official SDK: tools with schemas, progress, cancellation, elicitation.

A question of a run goes to the person at the client where the client can ask: in the midst of a call by the protocol up
to 2025, and between two rounds of the same call since 2026. Where it cannot, the answer of the call has the question.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import anyio
import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, ValidationError

from executor.cli.execute import RunOptions
from executor.mcp_server import tool_data
from executor.mcp_server.call_limits import CallLimits
from executor.mcp_server.planning_tools import SHOWN, PlanningTools
from executor.mcp_server.run_tools import RunTools, Tell
from executor.mcp_server.tool_data import Given, RunAnswer, Steps
from planner.cli.output import judge
from planner.errors import ForethoughtError, PlanError, printable
from planner.language.loading.load import Source, open_source
from planner.limits import LimitReached, Limits
from planner.plan import Plan, Progress, json_number

INSTRUCTIONS: Final = """\
Plans for the domain {name!r}, proved before they are carried out. Begin with `describe`: it lists the actions, the \
predicates and the problems. Facts and conditions are written `predicate(object, …)`, steps `action(object, …)`. \
`about` says what a call is about: another goal or state, further objects, a problem by name or as text. `plan` finds \
a plan, `why_not` says why there is none, `validate` and `repair` judge and mend yours, `run` carries one out \
({world}) and observes what happens."""
MOST_BEHIND: Final = 20
"""Most notifications of progress that may wait for the client; of more, only the last is sent."""
MOST_ROUNDS: Final = 100
"""Most rounds of questions in one call."""

About = Annotated[Given | None, Field(description="What the call is about; by default the served problem as it is.")]
Seconds = Annotated[float | None, Field(description="Time limit of the search; the server's own is the most.", gt=0)]
Name = Annotated[str, Field(description="The name of a run, as `run` returns it.")]
Reply = TypeVar("Reply", bound=BaseModel)


def make_server(
    domain: str, problem: str | None = None, *, real: bool = False, journal: Path | None = None
) -> tuple[MCPServer, RunTools]:
    """Return the server of `forethought mcp DOMAIN [PROBLEM]` with its default limits, for programs that embed it.

    Also return its runs: await their `interrupt_all()` when the server stops. Raises `InputError` for mistakes.
    """
    options = RunOptions(domain, problem, is_real=real, journal=journal, quiet=True)
    return build_server(open_source(domain), problem, options, CallLimits())


def build_server(
    source: Source, problem: str | None, options: RunOptions, limits: CallLimits, **security: Any
) -> tuple[MCPServer, RunTools]:
    """Return a server for the domain of `source`, and its runs, to be interrupted when it stops.

    `problem` names the problem that calls are about by default; `security` are options of `MCPServer`. Raises
    `InputError` for mistakes in domain, problem and options.
    """
    planning = PlanningTools(source, problem)
    runs = RunTools(source, options)

    desk = Desk(limits)
    tools = [
        *QuestionTools(planning, desk).tools(),
        *RunningTools(planning, runs, desk, is_real=options.is_real).tools(),
    ]
    world = "by the handlers of the domain" if options.is_real else "in a simulated world"
    server = MCPServer(
        f"forethought-{planning.name}",
        title=f"Forethought: {planning.name}",
        instructions=INSTRUCTIONS.format(name=planning.name, world=world),
        tools=tools,
        log_level="ERROR",
        **security,
    )
    return server, runs


class StrictTool(Tool):  # type: ignore[misc]  # the SDK's types are not followed
    """A tool that refuses arguments which it does not have, and whose errors are our messages alone."""

    @classmethod
    def of(cls, function: Callable[..., Any], hints: types.ToolAnnotations) -> StrictTool:
        """Make a tool of `function`, whose docstring describes it."""
        tool: StrictTool = cls.from_function(function, annotations=hints)
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
        return tool

    async def run(self, arguments: dict[str, Any], context: Context, convert_result: bool = False) -> Any:
        """Call the function; raises `ToolError`."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if isinstance(error, UnexpectedToolError):
                raise
            if not isinstance(error.__cause__, ValidationError):
                raise ToolError(str(error).removeprefix(f"Error executing tool {self.name}: ")) from None
            mistakes = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.__cause__.errors()]
            known = ", ".join(self.fn_metadata.arg_model.model_fields)
            raise ToolError(f"{'; '.join(mistakes[:5])} (`{self.name}` takes: {known})") from None


class Desk:
    """Lets calls do their work in threads, within the limits of the server."""

    def __init__(self, limits: CallLimits) -> None:
        self.limits = limits

    @asynccontextmanager
    async def call(self, *arguments: Any) -> AsyncIterator[None]:
        """Admit a call with these arguments, and raise our errors in the body as errors of tools."""
        with _told_errors():
            self.limits.check(arguments)
            async with self.limits.turn():
                yield

    async def answer(
        self, work: Callable[..., Reply], about: Given | None, *given: Any, seconds: float | None = None
    ) -> Reply:
        """Return what `work(about, limits, …)` returns, in a thread."""
        async with self.call(None if about is None else about.model_dump(), *given):
            limits = self.limits.limit_search(seconds)
            reply: Reply = await call_in_thread(partial(work, about or Given(), limits, *given), limits)
            return reply


async def call_in_thread(call: Callable[[], Any], limits: Limits) -> Any:
    """Call `call` in a thread; a cancellation ends its search, and waits for the end of the thread."""
    job = asyncio.ensure_future(anyio.to_thread.run_sync(call))
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        if limits.cancel is not None:
            limits.cancel.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([job])
        if not job.cancelled():
            job.exception()  # asyncio reports exceptions that nobody has asked for
        raise


@contextmanager
def _told_errors() -> Iterator[None]:
    """Raise our errors, and limits that were reached, as errors of tools, which carry their messages."""
    try:
        yield
    except RecursionError:
        raise ToolError("the call nests too deeply") from None
    except ForethoughtError as error:
        raise ToolError(printable(str(error))) from None
    except (LimitReached, MemoryError) as stop:
        raise ToolError(judge(stop)[1]) from None


@asynccontextmanager
async def progress_to(context: Context) -> AsyncIterator[Tell]:
    """Notify the client of progress while the body lasts; the value is a function for any thread."""
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[tuple[float, float | None, str] | None] = asyncio.Queue()

    def tell(done: float, total: float | None, text: str) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(news.put_nowait, (done, total, text))

    async def notify() -> None:
        last = 0.0
        while (latest := await news.get()) is not None:
            done, total, text = latest
            if news.qsize() < MOST_BEHIND:
                last = max(done, last + 0.001)  # by the protocol, each number is above the one before
                await context.report_progress(last, total, text)

    notifying = asyncio.ensure_future(notify())
    try:
        yield tell
        loop.call_soon(news.put_nowait, None)  # after what threads have told by now
        await notifying
    finally:
        notifying.cancel()


class QuestionTools:
    """Tools that change nothing."""

    def __init__(self, planning: PlanningTools, desk: Desk) -> None:
        self._planning = planning
        self._desk = desk

    def tools(self) -> list[Tool]:
        """Return the tools."""
        hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        looking: list[Callable[..., Any]] = [
            self.describe,
            self.applicable,
            self.progress,
            self.landmarks,
            self.reachable,
            self.simplify,
            self.first_steps,
            self.relevant,
        ]
        planning: list[Callable[..., Any]] = [
            self.plan,
            self.candidates,
            self.validate,
            self.explain,
            self.why_not,
            self.repair,
        ]
        return [StrictTool.of(each, hints) for each in (*looking, *planning)]

    async def describe(self, about: About = None) -> tool_data.DomainAnswer:
        """List the actions, predicates and types of the domain, and objects, state and goal of the problem."""
        return await self._desk.answer(self._planning.describe, about)

    async def plan(
        self,
        context: Context,
        about: About = None,
        mode: Annotated[
            Literal["anytime", "first", "optimal"],
            Field(description="When to stop: with a proof or at the time limit; at any plan; with a proof only."),
        ] = "anytime",
        time_limit: Seconds = None,
    ) -> tool_data.PlanAnswer:
        """Find a plan, the cheapest if time allows, or prove that there is none."""
        async with progress_to(context) as tell:

            def report(found: Progress) -> None:
                cost = "no plan yet" if found.plan is None else f"a plan of cost {json_number(found.plan.cost)}"
                tell(found.elapsed, None, f"{cost}, none costs less than {json_number(found.lower_bound) or 0}")

            return await self._desk.answer(self._planning.plan, about, mode, report, seconds=time_limit)

    async def candidates(
        self,
        about: About = None,
        number: Annotated[int, Field(description="How many plans.", ge=1, le=1000)] = 3,
        within: Annotated[
            float | None, Field(description="Only plans that cost at most this times the optimum.", ge=1)
        ] = None,
        time_limit: Seconds = None,
    ) -> tool_data.CandidatesAnswer:
        """Find several plans, the cheapest first."""
        return await self._desk.answer(self._planning.candidates, about, number, within, seconds=time_limit)

    async def validate(self, steps: Steps, about: About = None) -> tool_data.VerdictAnswer:
        """Check a plan step by step: whether it reaches the goal, or where and why it fails."""
        return await self._desk.answer(self._planning.validate, about, steps)

    async def explain(
        self, steps: Steps | None = None, about: About = None, time_limit: Seconds = None
    ) -> tool_data.ExplanationAnswer:
        """Explain why each step of a plan is there, and which could be left out; without steps, of a plan found now."""
        return await self._desk.answer(self._planning.explain, about, steps, seconds=time_limit)

    async def why_not(
        self,
        step: Annotated[
            Steps | None, Field(description="Ask about this step instead: why it cannot be done in the state.")
        ] = None,
        about: About = None,
        time_limit: Seconds = None,
    ) -> tool_data.ExplanationAnswer:
        """Explain why there is no plan: what is missing, and the smallest change that would give one."""
        return await self._desk.answer(self._planning.why_not, about, step, seconds=time_limit)

    async def repair(self, steps: Steps, about: About = None, time_limit: Seconds = None) -> tool_data.RepairAnswer:
        """Repair a plan with the least change, also one with wrong names or missing arguments."""
        return await self._desk.answer(self._planning.repair, about, steps, seconds=time_limit)

    async def applicable(
        self, about: About = None, most: Annotated[int, Field(description="Most steps to list.", ge=0)] = SHOWN
    ) -> tool_data.StepsAnswer:
        """List the steps that can be done in the state."""
        return await self._desk.answer(self._planning.applicable, about, most)

    async def progress(self, steps: Steps, about: About = None) -> tool_data.ProgressAnswer:
        """Apply steps to the state: what each of them changes, and what holds at the end."""
        return await self._desk.answer(self._planning.progress, about, steps)

    async def landmarks(self, about: About = None) -> tool_data.LandmarksAnswer:
        """List the facts that every plan makes true at some time, each with its proof."""
        return await self._desk.answer(self._planning.landmarks, about)

    async def reachable(
        self,
        facts: Annotated[list[str] | None, Field(description="Can these facts become true?")] = None,
        steps: Annotated[list[str] | None, Field(description="Can these steps be done at some time?")] = None,
        about: About = None,
        time_limit: Seconds = None,
    ) -> tool_data.ReachableAnswer:
        """Say whether facts and steps can be reached from the state; without any, list all that cannot."""
        return await self._desk.answer(self._planning.reachable, about, facts, steps, seconds=time_limit)

    async def simplify(
        self, steps: Steps, about: About = None, time_limit: Seconds = None
    ) -> tool_data.SimplifiedAnswer:
        """Leave out the steps that a plan does not need."""
        return await self._desk.answer(self._planning.simplify, about, steps, seconds=time_limit)

    async def first_steps(self, about: About = None, time_limit: Seconds = None) -> tool_data.FirstStepsAnswer:
        """List all steps with which a cheapest plan begins: the best next steps."""
        return await self._desk.answer(self._planning.first_steps, about, seconds=time_limit)

    async def relevant(
        self, about: About = None, most: Annotated[int, Field(description="Most actions to list.", ge=1)] = 50
    ) -> tool_data.RelevantAnswer:
        """List the actions that may help to reach the goal, the most useful first, without planning."""
        return await self._desk.answer(self._planning.relevant, about, most)


class RunningTools:
    """Tools that carry out plans."""

    def __init__(self, planning: PlanningTools, runs: RunTools, desk: Desk, *, is_real: bool) -> None:
        self._planning = planning
        self._runs = runs
        self._desk = desk
        self._is_real = is_real

    def tools(self) -> list[Tool]:
        """Return the tools."""
        real = self._is_real
        acts = types.ToolAnnotations(
            read_only_hint=False, destructive_hint=real, idempotent_hint=False, open_world_hint=real
        )
        looks = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        acting = [StrictTool.of(each, acts) for each in (self.run, self.answer, self.resume)]
        return [*acting, StrictTool.of(self.state, looks)]

    async def run(
        self,
        context: Context,
        about: About = None,
        steps: Annotated[
            Steps | None, Field(description="Carry out this plan; by default, one that is found now.")
        ] = None,
        name: Annotated[
            str | None, Field(description="A name for the run: a second call with it is refused, not done twice.")
        ] = None,
        time_limit: Seconds = None,
    ) -> RunAnswer | types.InputRequiredResult:
        """Carry out a plan, and observe what each step does: patch it where the world differs, and say how it ended.

        A run that waits for an answer ends as WAITING: `answer` its questions, or go on with `resume`.
        """

        async def begin(tell: Tell) -> RunAnswer:
            return await self._begin(about, steps, name, time_limit, tell)

        return await self._drive(context, begin)

    async def answer(
        self,
        context: Context,
        run: Name,
        question: Annotated[str, Field(description="The name of an open question, such as 'approve:s3'.")],
        answer: Annotated[Any, Field(description="One of the choices; for a step in doubt, also its result.")],
    ) -> RunAnswer | types.InputRequiredResult:
        """Answer an open question of a run that waits, and go on with the run."""
        return await self._drive(context, partial(self._runs.go_on, run, {question: answer}, {}))

    async def resume(
        self,
        context: Context,
        run: Name,
        answers: Annotated[dict[str, Any], Field(description="Answers, by question.")] = {},  # noqa: B006 - not written
        results: Annotated[dict[str, Any], Field(description="Results of waiting steps, by step.")] = {},  # noqa: B006
    ) -> RunAnswer | types.InputRequiredResult:
        """Go on with a run that waits, or that was broken off: nothing that was observed done is done again."""
        return await self._drive(context, partial(self._runs.go_on, run, answers, results))

    async def state(self, run: Name | None = None) -> tool_data.RunsAnswer:
        """Say how a run stands, or list all runs."""
        async with self._desk.call(run):
            if run is not None:
                return tool_data.RunsAnswer(runs=[self._runs.state(run)])
            return tool_data.RunsAnswer(runs=self._runs.list_runs())

    async def _begin(
        self, about: Given | None, steps: Any, name: str | None, seconds: float | None, tell: Tell
    ) -> RunAnswer:
        limits = self._desk.limits.limit_search(seconds)
        given = about or Given()

        def prepare() -> tuple[Any, Plan | None]:
            if given.domain_text is not None:
                raise PlanError("a run is of the served domain", hint="leave `domain_text` out")
            problem = self._planning.find_problem(given)
            if steps is not None:
                return problem, self._planning.read_plan(problem, steps)
            return problem, None if self._is_real else self._runs.find_plan(problem, limits)

        tell(0, None, "planning")
        problem, plan = await call_in_thread(prepare, limits)
        return await self._runs.begin(problem, plan, limits, tell, name)

    async def _drive(
        self, context: Context, drive: Callable[[Tell], Awaitable[RunAnswer]]
    ) -> RunAnswer | types.InputRequiredResult:
        """Drive a run, and ask the person at the client its questions, as long as there are any and they answer."""
        state = context.request_state
        asked = None if state is None else json.loads(state)
        async with self._desk.call(context.input_responses and "…"), progress_to(context) as tell:
            if asked is None:
                found = await drive(tell)
            else:
                given = read_responses(context.input_responses or {})
                found = await self._go_on(asked["run"], given, tell)
                if not given:
                    return found
            for _ in range(MOST_ROUNDS):
                if found.status not in ("WAITING", "IN_DOUBT") or not found.questions or not can_ask(context):
                    return found
                if not context.session.can_send_request:
                    requests = {each["question"]: make_request(each) for each in found.questions}
                    return types.InputRequiredResult(
                        input_requests=requests, request_state=json.dumps({"run": found.run})
                    )
                given = await ask_now(context, found.questions)
                if not given:
                    return found
                found = await self._go_on(found.run, given, tell)
            return found

    async def _go_on(self, run: str, answers: Mapping[str, Any], tell: Tell) -> RunAnswer:
        if not answers:
            return self._runs.state(run)
        return await self._runs.go_on(run, answers, {}, tell)


def can_ask(context: Context) -> bool:
    """Return whether the client can show forms to a person."""
    capabilities = context.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def make_request(question: Mapping[str, Any]) -> types.ElicitRequest:
    """Make the form for a question of a run."""
    text = "\n".join([question["text"], *map(str, question["known"])])
    choices = list(question["choices"])
    answer: dict[str, Any] = {"type": "string", "title": "Answer"} | ({"enum": choices} if choices else {})
    created = {name: {"type": "string", "title": f"Created: {name}"} for name in question.get("creates", ())}
    schema = {"type": "object", "properties": {"answer": answer, **created}, "required": ["answer"]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=schema))


async def ask_now(context: Context, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask the questions one after the other in the midst of a call, and return the answers that were given.

    A client that fails to ask has given no answer: the run waits, and its questions are in the answer of the call.
    """
    given: dict[str, Any] = {}
    for each in questions:
        params = make_request(each).params
        try:
            reply = await context.session.elicit_form(
                params.message, params.requested_schema, related_request_id=context.request_id
            )
        except (MCPError, ValidationError):
            return given
        given |= read_responses({each["question"]: reply})
    return given


def read_responses(responses: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers in the forms that came back: to decline an approval is to refuse it, else no answer."""
    found: dict[str, Any] = {}
    for question, reply in responses.items():
        action, content = getattr(reply, "action", None), getattr(reply, "content", None) or {}
        if action == "accept" and "answer" in content:
            created = {name: value for name, value in content.items() if name != "answer" and value}
            found[question] = {"created": created} if created else content["answer"]
        elif action == "decline" and question.startswith("approve:"):
            found[question] = "no"
    return found
