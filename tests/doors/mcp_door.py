"""The door of the MCP server, with the client of its SDK."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from doors.door import Door, Question, Told

if TYPE_CHECKING:
    from doors.scenes import Site

WORLD_FILE = """
from doors.mcp_door import SERVED
world, problem = SERVED[-1].world, SERVED[-1].problem
"""
SERVED: list[Any] = []
"""The sites of MCP servers, the newest last: their files take the world from there."""


class McpDoor(Door):
    """The MCP server of a domain, and the SDK's own client."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        from executor.cli.execute import RunOptions
        from executor.mcp_server.build_server import build_server
        from executor.mcp_server.call_limits import CallLimits
        from planner.language.loading.load import open_source

        path = site.folder / f"served{len(SERVED)}.py"
        path.write_text(textwrap.dedent(WORLD_FILE), encoding="utf-8")
        SERVED.append(site)
        try:
            options = RunOptions(str(path), None, is_real=True, journal=site.folder / "till.db", quiet=True)
            self.server, self.runs = build_server(open_source(str(path)), None, options, CallLimits())
        finally:
            SERVED.pop()
        self.runs._journal.close()  # each process of a story has one open journal, which dies with it
        self.runs._journal = site.journal
        self.runs._executor.journal = site.journal
        self.runs._executor = self.runs._make_executor(self.runs._executor.world)

    async def _call(self, name: str, **arguments: Any) -> Any:
        from mcp import Client

        async with Client(self.server, raise_exceptions=True) as client:
            return await client.call_tool(name, arguments)

    def _tell(self, answer: Any) -> Told:
        if answer.is_error:
            return Told("REFUSED", answer.content[0].text)
        found = answer.structured_content
        asked = [
            Question(found["run"], each["question"], "; ".join((each["text"], *each["known"])), tuple(each["choices"]))
            for each in found["questions"]
        ]
        return Told(found["status"], found["reason"], tuple(asked))

    async def ask(self) -> Told:
        return self._tell(await self._call("run", about={"goal": self.goal}))

    async def answer(self, question: Question, answer: Any) -> Told:
        return self._tell(await self._call("answer", run=question.run, question=question.name, answer=answer))

    async def resume(self) -> Told | None:
        listed = (await self._call("state")).structured_content["runs"]
        left = [each["run"] for each in listed if each["status"] in ("PROPOSED", "ACTIVE", "WAITING", "IN_DOUBT")]
        told = None
        for run in left:
            told = self._tell(await self._call("resume", run=run))
        return told
