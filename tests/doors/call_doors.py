"""Doors for agents of other frameworks, which call one tool after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doors.door import Door, Question, Told
from doors.scenes import MEDDLED
from executor import PlannedCalls
from executor.adapters.planned_calls import CallReport

if TYPE_CHECKING:
    from doors.scenes import Site

MOST_CALLS = 12
"""Calls of an agent in one request."""


def choose_arguments(site: Site, schema: Any) -> dict[str, Any]:
    """Return the first object that the schema of a tool lists for each of its parameters.

    Where somebody has approved another amount, the agent has changed its mind about it meanwhile.
    """
    found = {name: each["enum"][0] for name, each in schema.get("properties", {}).items() if "enum" in each}
    is_edited = site.scene.approval == "edited" and any(each.kind == "answer" for each in site.bank.log)
    return {**found, "amount": str(MEDDLED)} if is_edited and "amount" in schema.get("properties", {}) else found


class CallsDoor(Door):
    """`PlannedCalls`, driven by an agent that calls what is offered, and insists on paying."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.calls = self._make_calls()

    def _make_calls(self) -> Any:
        return PlannedCalls(self.site.world, self.problem, journal=self.site.journal)

    async def ask(self) -> Told:
        told: Any = None
        for _ in range(MOST_CALLS):
            offered = [step.action for step in await self.calls.next_steps()]
            if self.calls.is_reached:
                return Told("SUCCEEDED")
            name = offered[0] if offered else "pay"
            schemas = {each.name: each.parameters for each in await self.calls.offers()}
            told = await self.calls.call(name, choose_arguments(self.site, schemas.get(name, {})))
            if told.question is not None:
                return self._tell(told)
            if not offered:
                return await self._tell_open(told)
            if told.status in ("REFUSED", "FAILED", "IN_DOUBT") and name != "pay":
                insisted = await self.calls.call("pay")
                if insisted.question is not None:
                    return self._tell(insisted)
        return self._tell(told)

    async def _tell_open(self, report: Any) -> Told:
        """Tell what is asked where nothing can be called, or else the latest report."""
        question = await self.calls.find_question()
        return self._tell(report if question is None else CallReport("", "WAITING", question=question))

    def _tell(self, report: Any) -> Told:
        if self.calls.is_reached:
            return Told("SUCCEEDED")
        asked = ()
        if report.question is not None:
            run, _, _ = report.question["question"].partition(":")
            text = "; ".join((report.question["text"], *report.question.get("known", ())))
            asked = (Question(run, report.question["question"], text, tuple(report.question["choices"])),)
        if report.status in ("SUCCEEDED", "SKIPPED"):
            return Told("OPEN", report.reason or "the goal is not reached, and nothing more was called", asked)
        return Told(report.status, report.reason, asked)

    async def answer(self, question: Question, answer: Any) -> Told:
        report = await self.calls.answer(question.name, answer)
        return self._tell(report) if report.question is not None else await self.ask()

    async def resume(self) -> Told | None:
        return await self.ask()


class ToolsetDoor(CallsDoor):
    """pydantic-ai's agent with our toolset, and a model that calls the first tool that it is offered."""

    def _make_calls(self) -> Any:
        from executor.adapters.pydantic_ai_toolset import ForethoughtToolset

        self.toolset = ForethoughtToolset(self.site.world, self.problem, journal=self.site.journal)
        return self.toolset.calls

    def _make_agent(self) -> Any:
        from pydantic_ai import Agent as Other
        from pydantic_ai import DeferredToolRequests
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        def choose(messages, info):
            if not info.function_tools or len(messages) > 2 * MOST_CALLS:
                return ModelResponse([TextPart("done")])
            tool = info.function_tools[0]
            return ModelResponse([ToolCallPart(tool.name, choose_arguments(self.site, tool.parameters_json_schema))])

        return Other(FunctionModel(choose), toolsets=[self.toolset], output_type=[str, DeferredToolRequests])

    async def ask(self) -> Told:
        return await self._run(user_prompt="Deal.")

    async def _run(self, **given: Any) -> Told:
        from pydantic_ai import DeferredToolRequests

        ended = await self._make_agent().run(**given)
        if isinstance(ended.output, DeferredToolRequests) and ended.output.approvals:
            self.history, call = ended.all_messages(), ended.output.approvals[0]
            shown = ended.output.metadata[call.tool_call_id]
            text = f"approve {'; '.join((shown['text'], *shown['known']))}"
            return Told("WAITING", "approval", (Question("", call.tool_call_id, text),))
        if self.calls.is_reached:
            return Told("SUCCEEDED")
        reports = self.calls.reports or [CallReport("", "REFUSED", reason=await self.calls.describe())]
        return await self._tell_open(reports[-1])

    async def answer(self, question: Question, answer: Any) -> Told:
        if not question.text.startswith("approve"):
            return await super().answer(question, answer)
        from pydantic_ai import DeferredToolResults

        given = DeferredToolResults(approvals={question.name: answer in (True, "yes")})
        return await self._run(message_history=self.history, deferred_tool_results=given)


INTERRUPT = "interrupt "
"""Begins the names of questions that a graph asks."""


class GraphDoor(CallsDoor):
    """A graph of LangGraph, with a model that calls the first tool that it is offered."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        from langgraph.checkpoint.memory import InMemorySaver

        from executor.adapters.langgraph_nodes import planned_agent

        self.graph = planned_agent(self.calls, Caller(site), checkpointer=InMemorySaver())
        self.threads = 0

    async def ask(self) -> Told:
        self.threads += 1
        return await self._go({"messages": [("user", "Deal.")]})

    async def _go(self, given: Any) -> Told:
        options = {"configurable": {"thread_id": str(self.threads)}, "recursion_limit": 60}
        ended = await self.graph.ainvoke(given, options)
        if ended.get("__interrupt__"):
            value = ended["__interrupt__"][0].value
            text = "; ".join((value["text"], *value["known"]))
            shown = f"approve {text}" if "approve" in value else text
            name = f"{INTERRUPT}{value.get('question', '')}"
            return Told("WAITING", "a question", (Question("", name, shown, tuple(value["choices"])),))
        if self.calls.is_reached:
            return Told("SUCCEEDED")
        reports = self.calls.reports or [CallReport("", "REFUSED", reason=await self.calls.describe())]
        return await self._tell_open(reports[-1])

    async def answer(self, question: Question, answer: Any) -> Told:
        if not question.name.startswith(INTERRUPT):
            return await super().answer(question, answer)
        from langgraph.types import Command

        return await self._go(Command(resume=answer))


class Caller:
    """A chat model that calls the first tool that it is offered."""

    def __init__(self, site: Site | None = None, tools: Any = ()) -> None:
        self.site, self.tools = site, tools

    def bind_tools(self, tools: Any) -> Caller:
        return Caller(self.site, tools)

    async def ainvoke(self, messages: Any) -> Any:
        from langchain_core.messages import AIMessage

        if not self.tools or len(messages) > 2 * MOST_CALLS:
            return AIMessage("done")
        tool = self.tools[0]["function"]
        given = {} if self.site is None else choose_arguments(self.site, tool["parameters"])
        call = {"name": tool["name"], "args": given, "id": str(len(messages))}
        return AIMessage("", tool_calls=[call])
