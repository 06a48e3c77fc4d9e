"""`forethought view`: one self-contained page of a plan, a decomposition, a policy, a run, a domain or candidates.

With `--serve`, pages follow the runs of a journal, and take answers.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeGuard, cast

import typer

from executor.cli.run import Memory, seconds_of
from planner.cli.interrupt import Watchman, interruptible, limited_memory, remaining_seconds
from planner.cli.output import Exit, check_writable, exit_of, give, is_terminal, tell, write_atomically
from planner.cli.watching import ABOUT as ABOUT_WATCH
from planner.cli.watching import limit_words, watch
from planner.errors import InputError, Location, PlanError
from planner.language.loading.load import Source, is_file, is_readable, load_from, open_source
from planner.limits import LimitReached, Limits
from planner.plan import Plan, Progress, Result, Status, exact

if TYPE_CHECKING:
    from executor.desk.pages.document import AnswerItem, Page, Search
    from executor.journal import Place
    from executor.temporal.connection import TemporalAddress
    from planner.lint.findings import Finding
    from planner.problem_kinds import AnyDomain, AnyProblem

app = typer.Typer()
SQLITE: Final = b"SQLite format 3\0"
"""Beginning of a journal's file."""
JOURNALS: Final = (".db", ".db3", ".sqlite", ".sqlite3", ".journal")
"""Endings of files that can be nothing else than journals here."""
ADDRESS: Final = re.compile(r"[a-z][a-z0-9+]*://", re.IGNORECASE)
"""Beginning of the address of a database."""
CHECK_SECONDS: Final = 5.0
"""Most seconds for the findings of `check`; a page goes without them if they take longer."""


class Format(StrEnum):
    """What to write."""

    HTML = "html"
    JSON = "json"
    SVG = "svg"
    DOT = "dot"
    MERMAID = "mermaid"
    PNG = "png"


class Aim(StrEnum):
    """What a policy is for; a name of `planner.policies.decision.Objective` in small letters."""

    SUCCESS = "success"
    COST = "cost"
    UTILITY = "utility"


class Part(StrEnum):
    """What a picture shows."""

    GRAPH = "graph"
    CHART = "chart"
    TREE = "tree"


@app.command()
def view(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A domain, a journal, or a JSON result; '-' for JSON on stdin.")],
    problem: Annotated[str | None, typer.Argument(help="A problem; of a journal, the id of a run.")] = None,
    plan: Annotated[
        str | None, typer.Argument(help="A file with a plan, a policy or candidates.", show_default="solves")
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there.")] = None,
    to: Annotated[Format, typer.Option(help="What to write.")] = Format.HTML,
    of: Annotated[Part, typer.Option(help="What a picture shows (svg, dot, mermaid, png).")] = Part.GRAPH,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    domain_only: Annotated[bool, typer.Option("--domain", help="Show the domain alone; solve nothing.")] = False,
    objective: Annotated[
        Aim | None, typer.Option(help="Show a policy for uncertain outcomes, as `solve --objective` finds it.")
    ] = None,
    penalty: Annotated[float | None, typer.Option(metavar="N", min=0, help="Cost of giving up, for that.")] = None,
    why_not: Annotated[
        list[str] | None, typer.Option(metavar="QUESTION", help="Answer in the page, as `explain --why-not` does.")
    ] = None,
    what_if: Annotated[
        list[str] | None, typer.Option(metavar="CHANGE", help="Answer in the page, as `explain --what-if` does.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="For reading and solving; 'none' for no limit.")
    ] = 10.0,
    memory_limit: Memory = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Follow the runs of a journal live, and answer their questions in the page.")
    ] = False,
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where --serve listens; port 0 is any that is free.")
    ] = "127.0.0.1:0",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages, only errors.")] = False,
    watching: Annotated[bool, typer.Option("--watch", help=ABOUT_WATCH)] = False,
) -> None:
    """Show a plan, a decomposition, a policy, a run, a domain or candidates as one HTML page."""
    started = context.obj if isinstance(context.obj, float) else time.monotonic()
    if serve:
        if out is not None or to is not Format.HTML or watching or domain_only or plan is not None:
            raise InputError("--serve takes a journal and a run", hint="leave --out, --to, --watch and --domain out")
        _serve(what, problem, address, open_page=open_page, quiet=quiet)
    _check_target(out, to, open_page=open_page)
    questions = (*(why_not or ()), *[f"if {each}" for each in what_if or ()])
    if watching:
        named = [each for each in (what, problem, plan) if each is not None]
        limits = limit_words(time_limit, memory_limit)
        flags = [*(["--domain"] if domain_only else []), *(["--quiet"] if quiet else [])]
        flags += [] if objective is None else [f"--objective={objective}"]
        flags += [] if penalty is None else [f"--penalty={penalty:g}"]
        flags += [f"--why-not={each}" for each in questions]
        _watch([f"--to={to}", f"--of={of}", *limits, *flags], named, out, open_page=open_page)
    asked = _Asked(what, problem, plan, domain_only, remaining_seconds(time_limit, started), memory_limit)
    if penalty is not None and objective is not Aim.COST:
        raise InputError("--penalty is what giving up costs a policy", hint="add --objective cost")
    page, code = _collect(replace(asked, objective=objective, penalty=penalty, questions=questions))
    written = _write(page, to, of)
    if out is None and open_page:
        out = _temporary_file(to)
    if out is None:
        assert isinstance(written, str)
        give(written)
    else:
        _write_file(out, written)
        if not quiet:
            tell(f"{page.title}: {out} ({out.stat().st_size / 1000:,.0f} kB)" if out.is_file() else page.title)
    if open_page and out is not None:
        webbrowser.open(out.resolve().as_uri())
    raise typer.Exit(code)


def _watch(options: list[str], named: list[str], out: Path | None, *, open_page: bool) -> NoReturn:
    """Write the page again whenever a file changes; the browser shows it once, and is reloaded by hand."""
    if out is None:
        raise InputError("--watch writes the page again and again", hint="name its file with --out FILE")
    if open_page:
        webbrowser.open(out.resolve().as_uri())
    watch(["view", *options, f"--out={out}", "--", *named], named, out)


def _serve(what: str, run: str | None, address: str, *, open_page: bool, quiet: bool) -> NoReturn:
    """Serve the runs of the journal `what` until a signal comes."""
    from executor.desk.pages.live_server import serve
    from executor.listening.addresses import read_address

    place = _find_journal(what)
    is_elsewhere = what.startswith("temporal://")
    if place is None or is_elsewhere or (isinstance(place, Path) and not place.is_file()):
        shown = "without --serve, 'view' shows a run on Temporal"
        hint = shown if is_elsewhere else "forethought run … --journal FILE makes one"
        raise InputError(f"--serve follows runs in a journal, and {what} is none", hint=hint)
    serve(cast("Place", place), run, read_address(address, "--address"), open_page=open_page, quiet=quiet)
    raise typer.Exit(Exit.OK)


def _is_journal(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command names, and its limits."""

    what: str
    problem: str | None
    plan: str | None
    domain_only: bool
    seconds: float | None
    memory: float | None
    objective: Aim | None = None
    penalty: float | None = None
    questions: tuple[str, ...] = ()


def _check_target(out: Path | None, to: Format, *, open_page: bool) -> None:
    """Raise `InputError` or `OSError` where nothing could be written, before anything is searched."""
    if out is not None:
        check_writable(out)
    elif not open_page and (to is Format.PNG or (to is Format.HTML and is_terminal(sys.stdout))):
        raise InputError(f"a page in {to.upper()} needs a file", hint=f"--out FILE.{to}, or --open")


def _temporary_file(to: Format) -> Path:
    with tempfile.NamedTemporaryFile(prefix="forethought-", suffix=f".{to}", delete=False) as file:
        return Path(file.name)


def _write_file(out: Path, written: str | bytes) -> None:
    if isinstance(written, bytes):
        out.write_bytes(written)
    else:
        write_atomically(out, written)


def _write(page: Page, to: Format, of: Part) -> str | bytes:
    """Return `page`, or a picture of a part of it, in a format."""
    if to is Format.HTML:
        from executor.desk.pages.html import write_html

        return write_html(page)
    if to is Format.JSON:
        from executor.desk.pages.document import to_json

        return to_json(page)
    if to in (Format.SVG, Format.PNG):
        from executor.desk.pages import drawings

        svg: str = getattr(drawings, f"draw_{of}")(page)
        if to is Format.SVG:
            return svg
        from executor.desk.pages.raster import write_png

        return write_png(svg)
    from executor.desk.pages import diagrams

    write: Callable[[Page], str] | None = getattr(diagrams, f"{to}_{of}", None)
    if write is None:
        raise InputError(f"there are no charts in {to.upper()}", hint="--to svg or --to mermaid draws one")
    return write(page)


def _collect(asked: _Asked) -> tuple[Page, Exit]:
    """Find out what the words name, and collect its page."""
    found = _find_collected(asked)
    if found is None:
        return _page_of_domain(asked)
    if asked.questions:
        raise InputError("--why-not and --what-if need a problem", hint="name its domain, the problem, and the plan")
    return found, Exit.OK


def _find_collected(asked: _Asked) -> Page | None:
    """Return the page of a journal or of JSON; None where a domain is named."""
    if asked.what == "-":
        return _page_of_json(sys.stdin.read(), "<stdin>")
    place = _find_journal(asked.what)
    if place is not None:
        return _page_of_run(place, asked)
    path = Path(asked.what)
    if path.is_file() and path.suffix.lower() == ".json" and asked.problem is None:
        text = _read(path)
        if _is_shown(_parse(text, asked.what)):
            return _page_of_json(text, asked.what)
    return None


def _find_journal(what: str) -> Place | TemporalAddress | None:
    """Return the place of the journal that `what` names by its address, its ending or its contents; None for others.

    Raises `InputError` for a file that has the ending of a journal, and is none: opening it would make it one.
    """
    from executor.cli.places import history_place

    if ADDRESS.match(what):
        return history_place(what)
    path = Path(what)
    is_there = path.is_file()
    if is_there and _is_journal(path):
        return path
    if path.suffix.lower() not in JOURNALS or path.is_dir():
        return None
    if is_there:
        found = "it does not begin as an SQLite file" if path.stat().st_size else "it is empty"
        hint = "name a file that 'forethought run … --journal FILE' has written"
        raise InputError(f"this is no journal: {found}", Location(what), hint)
    return path


def _page_of_run(place: Place | TemporalAddress, asked: _Asked) -> Page:
    from executor.cli.places import open_history
    from executor.desk.pages.run_page import run_page

    if asked.plan is not None:
        raise InputError("a journal takes the id of a run, and nothing after it")
    with open_history(place) as journal:
        return run_page(journal, asked.problem)


def _read(path: Path) -> str:
    from planner.cli.options import read_plan_text

    return read_plan_text(path)


def _parse(text: str, source: str) -> Any:
    from planner.plan_json import read_json

    try:
        return read_json(text, source)
    except PlanError:
        if source == "<stdin>":
            raise
        return None  # the reader of domains says more


def _is_shown(data: Any) -> bool:
    """Return whether JSON `data` has a page of its own, without a domain."""
    from executor.desk.pages.candidates_page import is_result

    return is_result(data) or _is_policy(data)


def _is_policy(data: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and ({"nodes", "watched"} <= data.keys() or {"policy", "objective"} <= data.keys())


def _page_of_json(text: str, source: str) -> Page:
    from executor.desk.pages.candidates_page import is_result, page_of_data

    data = _parse(text, source)
    if _is_policy(data):
        from executor.desk.pages.policy_page import policy_page

        return policy_page(data, "Policy" if source == "<stdin>" else Path(source).name, source)
    if not is_result(data):
        raise InputError("found no result and no plan in the JSON", hint="as `forethought solve --json` prints them")
    return page_of_data(data, Path(source).name)


def _page_of_domain(asked: _Asked) -> tuple[Page, Exit]:
    """Load what is asked for, solve it if there is a problem and no plan, and collect its page."""
    from executor.desk.pages.domain_page import domain_item, domain_page

    problem, plan = asked.problem, asked.plan
    with interruptible(asked.seconds) as watchman:
        source = open_source(asked.what)
        if plan is None and problem is not None and _is_plan(problem, source):
            problem, plan = None, problem
        loaded = _load(source, problem)
        if asked.questions and (loaded is None or asked.domain_only or asked.objective is not None):
            hint = "leave --domain and --objective out" if loaded is not None else "name a problem, too"
            raise InputError("--why-not and --what-if ask about a plan", hint=hint)
        if loaded is None or asked.domain_only:
            domain = source.domain()
            return domain_page(domain, loaded, _find_findings(domain if loaded is None else loaded)), Exit.OK
        if asked.objective is not None and plan is None:
            page, code = _decide(loaded, asked, watchman)
        elif plan is None:
            result, search = _solve(loaded, asked, watchman)
        answers = _answer(loaded, asked, plan or result.plan, watchman) if asked.questions else ()
    findings = _find_findings(loaded)
    if plan is not None:
        page, code = _page_of_plan_file(Path(plan), loaded), Exit.OK
    elif asked.objective is None:
        page, code = replace(_page_of_result(loaded, result, findings), search=search), exit_of(result)
    described = page.domain or domain_item(loaded.domain, loaded, findings)
    return replace(page, domain=described, answers=(*page.answers, *answers)), code


def _answer(problem: AnyProblem, asked: _Asked, plan: str | Plan | None, watchman: Watchman) -> tuple[AnswerItem, ...]:
    """Answer the questions about the plan, or the one in the file of this name, in as long a time as that to solve."""
    from executor.desk.pages.answers_part import answer_questions
    from planner.cli.options import read_plan_file

    asked_about = read_plan_file(Path(plan), problem)[0] if isinstance(plan, str) else plan
    with limited_memory(asked.memory), watchman.searching() as cancel:
        return answer_questions(problem, asked.questions, asked_about, Limits(asked.seconds, asked.memory, cancel))


def _solve(problem: AnyProblem, asked: _Asked, watchman: Watchman) -> tuple[Result, Search]:
    """Solve `problem`; return the result, and how the search went."""
    from executor.desk.pages.search_part import search_part
    from planner.solve import solve

    seen: list[Progress] = []
    with limited_memory(asked.memory), watchman.searching() as cancel:
        seconds, memory = asked.seconds, asked.memory
        result = solve(problem, time_limit=seconds, memory_limit=memory, cancel=cancel, on_progress=seen.append)
    return result, search_part(result, seen)


def _decide(problem: AnyProblem, asked: _Asked, watchman: Watchman) -> tuple[Page, Exit]:
    """Find a policy for `problem`, and return its page; raises `InputError` where there is none."""
    from executor.desk.pages.policy_page import policy_page
    from planner.policies.decide import decide
    from planner.policies.decision import Objective

    assert asked.objective is not None
    with limited_memory(asked.memory), watchman.searching() as cancel:
        decision = decide(
            problem,
            objective=Objective[asked.objective.name],
            penalty=None if asked.penalty is None else exact(Decimal(str(asked.penalty))),
            time_limit=asked.seconds,
            memory_limit=asked.memory,
            cancel=cancel,
        )
    if decision.policy is None:
        raise InputError(f"there is no policy for the problem '{problem.name}': {decision.describe()}")
    return policy_page(decision.to_dict(), problem.name), exit_of(Result(decision.status, decision.stopped_by))


def _is_plan(text: str, source: Source) -> bool:
    """Return whether the word after the domain is a plan for its first problem: a file that is no problem."""
    own = source.problems()
    return bool(own) and text not in own and is_file(text) and (not is_readable(text) or _holds_result(Path(text)))


def _holds_result(path: Path) -> bool:
    return path.suffix.lower() == ".json" and _is_shown(_parse(_read(path), str(path)))


def _load(source: Source, problem: str | None) -> AnyProblem | None:
    """Load the problem; None where none is named and the domain has none of its own."""
    if problem is None and not source.problems():
        return None
    return load_from(source, problem)


def _page_of_result(problem: AnyProblem, result: Result, findings: list[Finding]) -> Page:
    """Return the page of the plan; without one, the page of the domain with the reasons."""
    from executor.desk.pages.domain_page import domain_page
    from executor.desk.pages.plan_page import plan_page, result_figures

    if result.plan is not None:
        return plan_page(result.plan, result)
    page = domain_page(problem.domain, problem, findings)
    return replace(
        page,
        title=problem.name,
        subtitle=f"without a plan, in the domain {problem.domain.name}",
        figures=tuple(result_figures(result)),
        notes=(f"There is no plan for the problem '{problem.name}': {result.describe()}",),
        answers=_explain(problem) if result.status is Status.UNSOLVABLE else (),
    )


def _explain(problem: AnyProblem) -> tuple[AnswerItem, ...]:
    """Return why `problem` has no plan, as far as can be found in some seconds."""
    from executor.desk.pages.document import AnswerItem
    from planner.explain.unsolvability import explain_unsolvable
    from planner.model import Problem
    from planner.problem_kinds import service_of

    limits = Limits(2 * CHECK_SECONDS)
    try:
        if isinstance(problem, Problem):
            found: object = explain_unsolvable(problem, limits).as_unsolvable()
        else:
            found = service_of(problem).explain_unsolvable(problem, limits)
    except LimitReached:
        return ()
    lines = [line for line in str(found).splitlines() if line.strip()]
    return (AnswerItem("Why is there no plan?", "bad", tuple(lines)),)


def _page_of_plan_file(path: Path, problem: AnyProblem) -> Page:
    """Return the page of the plan, or of the candidates, in a file; raises `PlanError` for an invalid plan."""
    from executor.desk.pages.plan_page import plan_page
    from planner.cli.options import read_plan_file
    from planner.model import Problem
    from planner.problem_kinds import service_of
    from planner.validation.validate import validate_in_turn

    data = _parse(_read(path), str(path)) if path.suffix.lower() == ".json" else None
    if isinstance(data, Mapping) and "candidates" in data:
        from executor.desk.pages.candidates_page import page_of_data

        return page_of_data(data, problem.name)
    if _is_policy(data):
        return _page_of_policy(data, path, problem)
    plan: Plan = read_plan_file(path, problem)[0]
    if not isinstance(problem, Problem):
        verdict = service_of(problem).validate(problem, plan, Limits(2 * CHECK_SECONDS))
    else:
        plan, verdict = validate_in_turn(problem, plan)
    if not verdict.valid:
        raise PlanError(f"the plan in {path} is not valid: {verdict.reason}", hint="`forethought validate` says more")
    return plan_page(plan)


def _page_of_policy(data: Mapping[str, Any], path: Path, problem: AnyProblem) -> Page:
    """Return the page of a policy for `problem`; raises `PlanError` where it cannot be followed."""
    from executor.desk.pages.policy_page import policy_page
    from planner.policies.evaluation import evaluate
    from planner.policies.policy import Policy

    held = data.get("policy", data)
    if held is not None:
        evaluate(problem, Policy.from_dict(held, problem), Limits(2 * CHECK_SECONDS).check)
    return policy_page(data, problem.name, str(path))


def _find_findings(loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Return what `check` finds; nothing if that takes too long."""
    from planner.lint.problem_lint import check_domain, check_problem
    from planner.model import DomainModel, Problem
    from planner.problem_kinds import is_other_problem, service_of

    limits = Limits(CHECK_SECONDS)
    try:
        if isinstance(loaded, Problem):
            return check_problem(loaded, limits)
        if isinstance(loaded, DomainModel):
            return check_domain(loaded)
        if is_other_problem(loaded):
            return service_of(loaded).check(loaded, limits)
        return service_of(loaded).check_domain(loaded)
    except LimitReached:
        return []
