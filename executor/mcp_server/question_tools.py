"""Tools that answer questions about problems, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import Field

from executor.mcp_server import tool_data
from executor.mcp_server.planning_tools import SHOWN, PlanningTools
from executor.mcp_server.strict_calls import About, Desk, Seconds, StrictTool, progress_to
from executor.mcp_server.tool_data import Steps
from planner.plan import Progress, json_number


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
        question: Annotated[
            str | None,
            Field(
                description="Ask instead why the plan does not do otherwise, or what would change: 'by truck1',"
                " 'without step 3', 'load before drive', 'never at(r2, hall)', 'by method m', 'cheaper',"
                " 'if not door(a, b)'."
            ),
        ] = None,
        steps: Annotated[
            Steps | None, Field(description="The plan that `question` is about; by default the best one.")
        ] = None,
        about: About = None,
        time_limit: Seconds = None,
    ) -> tool_data.ExplanationAnswer:
        """Explain why there is no plan, and the smallest change that would give one; or why not another plan."""
        return await self._desk.answer(self._planning.why_not, about, step, question, steps, seconds=time_limit)

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
