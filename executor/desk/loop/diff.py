"""`forethought diff`: what two versions of a domain do differently, in the model and in plans."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.interrupt import interruptible, limit_memory
from planner.cli.output import Exit, give, tell
from planner.cli.parser import read_seconds
from planner.errors import InputError, UnsupportedError
from planner.language.loading.load import Source, load_from, open_source
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan, Result, Status, StoppedBy, json_number
from planner.problem_kinds import AnyProblem, service_of

if TYPE_CHECKING:
    from executor.desk.loop.model_changes import Change
    from planner.validation.verdict import Verdict

app = typer.Typer()


@app.command()
def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="The domain as it was: a file, a folder, a shipped domain.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The domain as it is now.")],
    problems: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROBLEM…", help="Names or files; by default all that both have under one name."),
    ] = None,
    *,
    time_limit: Annotated[
        str, typer.Option("--time-limit", metavar="SECONDS", help="For each search; 'none' for no limit.")
    ] = "10",
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no messages.")] = False,
) -> None:
    """Compare two versions of a domain: declarations, plans and their costs."""
    from executor.desk.loop.model_changes import compare_domains, computes_costs

    seconds = _read_limit(time_limit)
    limit_memory(None)
    with interruptible():
        sources = open_source(old), open_source(new)
        domains = sources[0].domain(), sources[1].domain()
        changes = compare_domains(*domains)
        is_same = not changes and not any(map(computes_costs, domains))
        named = problems or _list_common(*sources)
        renamed = {each.what.removeprefix("action "): each.renamed_to for each in changes if each.renames_action}
        compared = [_compare(sources, name, seconds, renamed, is_same_domain=is_same) for name in named]
    if as_json:
        told = {"changes": [each.to_dict() for each in changes], "problems": [each.to_dict() for each in compared]}
        give(json.dumps(told))
    else:
        lines = [str(each) for each in changes] + [line for each in compared for line in each.describe()]
        give("\n".join(lines) or "no difference")
    if not quiet:
        tell(_count_differences(changes, compared))
    raise typer.Exit(_judge(changes, compared))


def _count_differences(changes: list[Change], compared: list[Compared]) -> str:
    count = f"{len(changes)} {'difference' if len(changes) == 1 else 'differences'} in the model"
    different, open_ = (sum(each.differs is verdict for each in compared) for verdict in (True, None))
    undecided = f", {open_} not decided" if open_ else ""
    return f"{count}, plans of {different} of {len(compared)} problems differ{undecided}"


def _judge(changes: list[Change], compared: list[Compared]) -> Exit:
    """Return the exit code: a difference in the model or in a problem outweighs what a limit left open."""
    if changes or any(each.differs for each in compared):
        return Exit.NEGATIVE
    return Exit.NO_VERDICT if any(each.differs is None for each in compared) else Exit.OK


def _read_limit(text: str) -> float | None:
    from argparse import ArgumentTypeError

    from planner.cli.interrupt import finite_limit

    try:
        return finite_limit(read_seconds(text))
    except ArgumentTypeError as error:
        raise typer.BadParameter(str(error)) from None


def _list_common(old: Source, new: Source) -> list[str]:
    """Return the names of the problems that both versions have."""
    known = new.problems()
    return [name for name in old.problems() if name in known]


@dataclass(slots=True)
class Compared:
    """One problem in both versions: results, the verdicts on the plan of the one in the other, or an error.

    `is_same` says that both versions of domain and problem say the same: a search for one is a search for both.
    """

    name: str
    results: tuple[Result, Result] | None = None
    is_same: bool = False
    changes: list[Change] = field(default_factory=list)
    old_plan: Verdict | None = None
    new_plan: Verdict | None = None
    error: str = ""

    @property
    def differs(self) -> bool | None:
        """Whether costs, or whether there is a plan, or the validity of a plan differ; None where limits leave it open.

        A plan that one search found and the other did not, and costs that are not proved, are no difference.
        """
        if self.results is None or self.changes:
            return True
        if self.is_same:
            return False
        verdicts = [each for each in (self.old_plan, self.new_plan) if each is not None]
        if _exclude(*self.results) or any(not each.valid and each.stopped_by is None for each in verdicts):
            return True
        return False if all(map(_is_decided, self.results)) and all(each.valid for each in verdicts) else None

    def describe(self) -> Iterator[str]:
        """Yield lines for people."""
        yield from (str(each) for each in self.changes)
        what = f"problem {self.name}"
        if self.results is None:
            yield f"{what}: {self.error}"
            return
        texts = [_describe_result(each) for each in self.results]
        told = f"{texts[0]}, as before" if texts[0] == texts[1] else f"{texts[0]} → {texts[1]}"
        yield f"{what}: {told}{', not decided' if self.differs is None else ''}"
        if self.old_plan is not None:
            yield f"{what}: the old plan {_describe_verdict(self.old_plan, 'is still valid', 'is not valid any more')}"
        if self.new_plan is not None and not self.new_plan.valid:
            yield f"{what}: the new plan {_describe_verdict(self.new_plan, 'was', 'was not valid before')}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        found: dict[str, Any] = {"problem": self.name, "differs": self.differs, "error": self.error}
        found["changes"] = [each.to_dict() for each in self.changes]
        for key, result in zip(("old", "new"), self.results or (None, None), strict=True):
            cost = None if result is None else json_number(result.cost)
            found[key] = None if result is None else {"status": result.status.name, "cost": cost}
        found["old_plan_in_new"] = None if self.old_plan is None else self.old_plan.to_dict()
        found["new_plan_in_old"] = None if self.new_plan is None else self.new_plan.to_dict()
        return found


def _is_decided(result: Result) -> bool:
    """Return whether the optimum is known, or that there is no plan."""
    return result.status in (Status.OPTIMAL, Status.UNSOLVABLE)


def _exclude(one: Result, other: Result) -> bool:
    """Return whether no problem has both answers: a plan and none, or one costs less than the other's least."""
    if Status.UNSOLVABLE in (one.status, other.status):
        return one.has_plan or other.has_plan
    return _costs_less_than_any(one, other) or _costs_less_than_any(other, one)


def _costs_less_than_any(result: Result, other: Result) -> bool:
    """Return whether the plan of `result` has a charge below the lower bound of `other`."""
    plan, bound = result.plan, other.lower_bound
    return plan is not None and bound is not None and plan.charge < bound


def _describe_result(result: Result) -> str:
    if result.plan is None:
        return "no plan (proved)" if result.status is Status.UNSOLVABLE else f"no plan known ({result.status.name})"
    time = f", {result.plan.makespan} s" if result.plan.times else ""
    return f"cost {result.cost}{time} ({'proved' if result.status is Status.OPTIMAL else 'not proved'})"


def _describe_verdict(verdict: Verdict, valid: str, invalid: str) -> str:
    if verdict.valid:
        return f"{valid}, cost {verdict.cost}"
    return f"{invalid}: {verdict.reason}" if verdict.stopped_by is None else f"is not decided: {verdict.reason}"


def _compare(
    sources: tuple[Source, Source],
    name: str,
    seconds: float | None,
    renamed: Mapping[str, str],
    *,
    is_same_domain: bool,
) -> Compared:
    """Load, solve and compare one problem in both versions; raises `InputError` where neither has it.

    Plans of one version are tried in the other with the names that actions have there.
    """
    from executor.desk.loop.model_changes import compare_problems
    from planner.solve import solve

    loaded: list[AnyProblem | InputError] = [_load(source, name) for source in sources]
    one, other = loaded
    if isinstance(one, InputError) or isinstance(other, InputError):
        if isinstance(one, InputError) and isinstance(other, InputError):
            raise one
        which, error = ("old", one) if isinstance(one, InputError) else ("new", other)
        return Compared(name, error=f"cannot be read with the {which} version: {error}")
    changes = compare_problems(one, other)
    is_same = is_same_domain and not changes
    result = solve(one, time_limit=seconds)
    results = (result, result) if is_same else (result, solve(other, time_limit=seconds))
    found = Compared(name, results, is_same, changes)
    old_plan, new_plan = (each.plan for each in results)
    former = {new: old for old, new in renamed.items()}
    found.old_plan = None if old_plan is None else _validate(other, old_plan, seconds, renamed)
    found.new_plan = None if new_plan is None else _validate(one, new_plan, seconds, former)
    return found


def _load(source: Source, name: str) -> AnyProblem | InputError:
    try:
        return load_from(source, name)
    except InputError as error:
        return error


def _validate(problem: AnyProblem, plan: Plan, seconds: float | None, renamed: Mapping[str, str]) -> Verdict:
    """Validate the plan of another version; not decided where that is not supported."""
    from planner.validation.validate import validate
    from planner.validation.verdict import Verdict

    steps = [replace(step, action=renamed.get(step.action, step.action)) for step in plan.steps]
    moved = replace(plan, steps=tuple(steps), problem=problem, tree=None)
    try:
        if isinstance(problem, Problem):
            return validate(problem, moved if moved.times else moved.steps)
        return service_of(problem).validate(problem, moved, Limits(seconds))
    except UnsupportedError as error:
        return Verdict(False, 0, str(error), stopped_by=StoppedBy.INCOMPLETE)
