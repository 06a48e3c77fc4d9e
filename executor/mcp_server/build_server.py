"""Build the MCP server of a domain from the official SDK."""

from __future__ import annotations

from typing import Any, Final

from mcp.server import MCPServer

from executor.cli.execute import RunOptions
from executor.cli.places import journal_place
from executor.journal import Place
from executor.mcp_server.call_limits import CallLimits
from executor.mcp_server.planning_tools import PlanningTools
from executor.mcp_server.question_tools import QuestionTools
from executor.mcp_server.run_tools import RunTools
from executor.mcp_server.running_tools import RunningTools
from executor.mcp_server.strict_calls import Desk
from planner.language.loading.load import Source, open_source

INSTRUCTIONS: Final = """\
Plans for the domain {name!r}, proved before they are carried out. Begin with `describe`: it lists the actions, the \
predicates and the problems. Facts and conditions are written `predicate(object, …)`, steps `action(object, …)`. \
`about` says what a call is about: another goal or state, further objects, a problem by name or as text. `plan` finds \
a plan, `why_not` says why there is none, or why it is not another one, `validate` and `repair` judge and mend yours, \
`run` carries one out ({world}) and observes what happens."""


def make_server(
    domain: str, problem: str | None = None, *, real: bool = False, journal: Place | str | None = None
) -> tuple[MCPServer, RunTools]:
    """Return the server of `forethought mcp DOMAIN [PROBLEM]` with its default limits, for programs that embed it.

    Also return its runs: await their `interrupt_all()` when the server stops. Raises `InputError` for mistakes.
    """
    place = journal_place(journal) if isinstance(journal, str) else journal
    options = RunOptions(domain, problem, is_real=real, journal=place, quiet=True)
    return build_server(open_source(domain), problem, options, CallLimits())


def build_server(
    source: Source, problem: str | None, options: RunOptions, limits: CallLimits, **security: Any
) -> tuple[MCPServer, RunTools]:
    """Return a server for the domain of `source`, and its runs, to be interrupted when it stops.

    `problem` names the problem that calls are about by default; `security` are options of `MCPServer`. Raises
    `InputError` for mistakes in domain, problem and options.
    """
    planning = PlanningTools(source, problem)
    runs = RunTools(source, options, planning.entities)

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
