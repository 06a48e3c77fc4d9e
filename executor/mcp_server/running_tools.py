"""Tools that carry out plans.

A question of a run goes to the person at the client where the client can ask: in the midst of a call by the protocol up
to 2025, and between two rounds of the same call since 2026. Where it cannot, the answer of the call has the question.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import Field

from executor.mcp_server import tool_data
from executor.mcp_server.elicitation import ask_now, can_ask, make_request, read_responses
from executor.mcp_server.planning_tools import PlanningTools
from executor.mcp_server.run_tools import RunTools, Tell
from executor.mcp_server.strict_calls import About, Desk, Seconds, StrictTool, call_in_thread, progress_to
from executor.mcp_server.tool_data import Given, RunAnswer, Steps
from planner.errors import PlanError
from planner.plan import Plan

MOST_ROUNDS: Final = 100
"""Most rounds of questions in one call."""

Name = Annotated[str, Field(description="The name of a run, as `run` returns it.")]


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
        *,
        name: Annotated[
            str | None,
            Field(
                description="A name for the run: a second call with it and the same goal and values joins the run, "
                "any other is refused; in a simulated world, every other."
            ),
        ] = None,
        occasion: Annotated[
            str,
            Field(
                description="What the run is for, such as '2026-11': what was done on another one may be done again."
            ),
        ] = "",
        again: Annotated[
            list[str],
            Field(description="Irreversible steps, such as 'pay(o7)', to do once more though they were done before."),
        ] = [],  # noqa: B006 - not written
        memory: Annotated[
            dict[str, Any],
            Field(description="Values of working memory by name: data parameters of these names take them."),
        ] = {},  # noqa: B006 - not written
        join: Annotated[
            bool, Field(description="Whether the call may join a run for the same; false: it is a run of its own.")
        ] = True,
        time_limit: Seconds = None,
    ) -> RunAnswer | types.InputRequiredResult:
        """Carry out a plan, and observe what each step does: patch it where the world differs, and say how it ended.

        A run that waits for an answer ends as WAITING: `answer` its questions, or go on with `resume`.
        """

        async def begin(tell: Tell) -> RunAnswer:
            options = {"name": name, "occasion": occasion, "again": again, "memory": memory, "join": join}
            return await self._begin(about, steps, options, time_limit, tell)

        told = None if about is None else about.model_dump()
        return await self._drive(context, begin, told, steps, name, occasion, again, memory)

    async def answer(
        self,
        context: Context,
        run: Name,
        question: Annotated[str, Field(description="The name of an open question, such as 'approve:s3' or 'wait:s3'.")],
        answer: Annotated[Any, Field(description="What fits the form of the question: one of its choices, or values.")],
    ) -> RunAnswer | types.InputRequiredResult:
        """Answer an open question of a run that waits, and go on with the run."""
        return await self._drive(context, partial(self._runs.go_on, run, {question: answer}, {}), run, question, answer)

    async def resume(
        self,
        context: Context,
        run: Name,
        answers: Annotated[dict[str, Any], Field(description="Answers, by question.")] = {},  # noqa: B006 - not written
        results: Annotated[dict[str, Any], Field(description="Results of waiting steps, by step.")] = {},  # noqa: B006
    ) -> RunAnswer | types.InputRequiredResult:
        """Go on with a run that waits, or that was broken off: nothing that was observed done is done again."""
        return await self._drive(context, partial(self._runs.go_on, run, answers, results), run, answers, results)

    async def state(self, run: Name | None = None) -> tool_data.RunsAnswer:
        """Say how a run stands, or list all runs."""
        async with self._desk.call(run):
            if run is not None:
                return tool_data.RunsAnswer(runs=[self._runs.state(run)])
            return tool_data.RunsAnswer(runs=self._runs.list_runs())

    async def _begin(
        self,
        about: Given | None,
        steps: Any,
        options: Mapping[str, Any],
        seconds: float | None,
        tell: Tell,
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
        return await self._runs.begin(problem, plan, limits, tell, **options)

    async def _drive(
        self, context: Context, drive: Callable[[Tell], Awaitable[RunAnswer]], *arguments: Any
    ) -> RunAnswer | types.InputRequiredResult:
        """Drive a run, and ask the person at the client its questions, as long as there are any and they answer.

        While a person thinks, the call takes no turn from others.
        """
        async with progress_to(context) as tell:
            async with self._desk.call(*arguments):
                if context.request_state is None:
                    found, given = await drive(tell), None
                else:
                    run = json.loads(context.request_state)["run"]
                    given = read_responses(context.input_responses or {})
                    found = await self._go_on(run, given, tell) if given else self._runs.state(run)
            for _ in range(MOST_ROUNDS):
                forms = found.questions if found.status in ("WAITING", "IN_DOUBT") else []
                if not forms or given == {} or not can_ask(context):
                    break
                if not context.session.can_send_request:
                    requests = {each["question"]: make_request(each) for each in forms}
                    state = json.dumps({"run": found.run})
                    return types.InputRequiredResult(input_requests=requests, request_state=state)
                given = await ask_now(context, forms)
                if given:
                    async with self._desk.call(given):
                        found = await self._go_on(found.run, given, tell)
            return found

    async def _go_on(self, run: str, given: Mapping[str, Any], tell: Tell) -> RunAnswer:
        return await self._runs.go_on(run, given, {}, tell)
