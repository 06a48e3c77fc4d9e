"""`forethought test`: run the cases beside a domain, and say which actions and methods no case has used."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.interrupt import interruptible, limit_memory
from planner.cli.output import Exit, give, overwrite_sources, tell, write_atomically
from planner.cli.watching import ABOUT as ABOUT_WATCH
from planner.cli.watching import watch
from planner.errors import InputError
from planner.plan import Status, json_number

if TYPE_CHECKING:
    from executor.desk.loop.case_checks import CaseRun, Check
    from executor.desk.loop.case_documents import Suite
    from planner.problem_kinds import AnyDomain

app = typer.Typer()


@app.command("test")
def run_cases(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file with cases, a domain's file, or a folder; by default '.'.")
    ] = Path(),
    *,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="WORD", help="Only cases whose file or name contains WORD.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write proved optima into the files, where they are missing or differ.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results to FILE as JUnit XML.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only cases that do not pass, and no coverage.")] = False,
    watching: Annotated[bool, typer.Option("--watch", help=ABOUT_WATCH)] = False,
) -> None:
    """Run the cases of a domain, and say which actions none of them has used."""
    if watching:
        options = [*([] if keyword is None else ["-k", keyword]), *([] if junit is None else ["--junit", str(junit)])]
        flags = {"--update": update, "--json": as_json, "--quiet": quiet}
        watch(["test", *options, *(flag for flag, is_given in flags.items() if is_given), "--", str(path)], [str(path)])
    from executor.desk.loop.case_documents import find_suites

    limit_memory(None)
    with interruptible():
        runs: list[CaseRun] = []
        suites = find_suites(path)
        for suite in suites:
            runs += _run_suite(suite, keyword, updates=update, quiet=quiet or as_json)
    if not runs:
        raise InputError(f"no case has {keyword!r} in its name", hint="leave '-k' out to see all names")
    if update:
        _update_files(runs, quiet=quiet)
    found = _Report(suites, runs)
    if junit is not None:
        write_atomically(junit, found.as_junit())
    if as_json:
        give(json.dumps(found.to_dict()))
    else:
        give("\n".join(found.summarise(quiet=quiet)))
    raise typer.Exit(found.exit)


def _run_suite(suite: Suite, keyword: str | None, *, updates: bool, quiet: bool) -> Iterator[CaseRun]:
    """Run the cases of `suite` that the keyword chooses, and print each."""
    from executor.desk.loop.case_checks import CaseRun

    chosen = [
        (name, case)
        for name, case in suite.written.cases.items()
        if keyword is None or keyword.lower() in f"{suite.file.name}::{name}".lower()
    ]
    if chosen and not quiet:
        give(str(suite.file))
    for name, case in chosen:
        run = CaseRun(suite, name, case, suite.place.within("cases", name), updates=updates)
        run.run()
        if not quiet:
            give("\n".join(_describe_case(run)))
        yield run


def _describe_case(run: CaseRun) -> Iterator[str]:
    """Yield a line for the case, and one for each check that has not passed."""
    from executor.desk.loop.judgements import Judgement

    count = len(run.checks)
    checks = run.checks[0].what if count == 1 else f"{count} checks"
    yield f"  {_worst(run.checks).name.lower():11} {run.name} ({checks}, {run.seconds:.2f} s)"
    for each in run.checks:
        if each.judgement is not Judgement.PASSED or each.message:
            yield f"      {each.place.location}: {each.what}: {each.message}"


def _worst(checks: Iterable[Check]) -> Any:
    """Return the judgement of a case or of all: that of the worst check."""
    from executor.desk.loop.judgements import Judgement

    found = {each.judgement for each in checks}
    order = (Judgement.FAILED, Judgement.UNSUPPORTED, Judgement.UNDECIDED)
    return next((each for each in order if each in found), Judgement.PASSED)


class _Report:
    """The results of all suites."""

    def __init__(self, suites: list[Suite], runs: list[CaseRun]) -> None:
        self.suites = [suite for suite in suites if any(run.suite is suite for run in runs)]
        self.runs = runs
        self.checks = [check for run in runs for check in run.checks]
        self.coverage = _find_coverage(runs)

    @property
    def exit(self) -> Exit:
        """The exit code for the worst check."""
        codes = {"FAILED": Exit.NEGATIVE, "UNSUPPORTED": Exit.UNSUPPORTED, "UNDECIDED": Exit.NO_VERDICT}
        return codes.get(_worst(self.checks).name, Exit.OK)

    @property
    def counts(self) -> dict[str, int]:
        """How many checks ended in each way."""
        found = Counter(each.judgement.name.lower() for each in self.checks)
        return {name: found[name] for name in ("passed", "failed", "undecided", "unsupported")}

    def summarise(self, *, quiet: bool) -> Iterator[str]:
        """Yield the lines after those of the cases."""
        if quiet:
            for run in self.runs:
                if _worst(run.checks).name != "PASSED":
                    yield from (str(run.suite.file), *_describe_case(run))
        for each in () if quiet else self.coverage:
            yield each.describe()
        told = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count or name == "passed")
        yield f"{_count(len(self.checks), 'check')} of {_count(len(self.runs), 'case')}: {told}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data."""
        suites = [
            {
                "file": str(suite.file),
                "domain": suite.domain,
                "cases": [_case_to_dict(run) for run in self.runs if run.suite is suite],
            }
            for suite in self.suites
        ]
        return {**self.counts, "suites": suites, "coverage": [each.to_dict() for each in self.coverage]}

    def as_junit(self) -> str:
        """Return the results as JUnit XML: a suite for each document, a test case for each check."""
        from xml.etree.ElementTree import Element, SubElement, indent, tostring

        root = Element("testsuites", name="forethought")
        for suite in self.suites:
            checks = [(run, check) for run in self.runs if run.suite is suite for check in run.checks]
            group = SubElement(root, "testsuite", _junit_counts(str(suite.file), [check for _, check in checks]))
            for run, check in checks:
                _add_junit_case(SubElement, group, run, check)
        indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _case_to_dict(run: CaseRun) -> dict[str, Any]:
    result = run.result
    return {
        "case": run.name,
        "result": _worst(run.checks).name.lower(),
        "status": None if result is None else result.status.name,
        "cost": None if result is None else json_number(result.cost),
        "checks": [each.to_dict() for each in run.checks],
    }


def _junit_counts(name: str, checks: list[Check]) -> dict[str, str]:
    names = Counter(each.judgement.name for each in checks)
    return {
        "name": name,
        "tests": str(len(checks)),
        "failures": str(names["FAILED"]),
        "skipped": str(names["UNDECIDED"] + names["UNSUPPORTED"]),
        "time": f"{sum(each.seconds for each in checks):.3f}",
    }


def _add_junit_case(make: Any, group: Any, run: CaseRun, check: Check) -> None:
    at = check.place.location
    attributes = {"classname": str(run.suite.file), "name": f"{run.name}: {check.what}", "file": str(run.suite.file)}
    attributes |= {} if at.line is None else {"line": str(at.line)}
    case = make(group, "testcase", attributes | {"time": f"{check.seconds:.3f}"})
    if check.judgement.name != "PASSED":
        tag = "failure" if check.judgement.name == "FAILED" else "skipped"
        make(case, tag, {"message": f"{at}: {_legal_in_xml(check.message)}"})


def _legal_in_xml(text: str) -> str:
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


class _Coverage:
    """Which actions and methods of a domain were in a plan or a run of some case."""

    def __init__(self, domain: AnyDomain, steps: set[str], methods: set[str]) -> None:
        self.name = domain.name
        classical: Any = getattr(domain, "classical", domain)
        names = dict.fromkeys(classical.versions.get(name, name) for name in classical.actions)
        self.kinds = {"actions": {name: name in steps for name in names}}
        if hasattr(domain, "methods"):
            self.kinds["methods"] = {name: name in methods for name in domain.methods}

    def describe(self) -> str:
        """Return one line on what was used, and what never."""
        return f"coverage of {self.name}: " + "; ".join(
            self._describe_kind(kind, found) for kind, found in self.kinds.items() if found
        )

    @staticmethod
    def _describe_kind(kind: str, found: Mapping[str, bool]) -> str:
        used, missing = sum(found.values()), [name for name, is_used in found.items() if not is_used]
        never = f", never {', '.join(missing)}" if missing else ""
        return f"{used} of {len(found)} {kind} ({used * 100 // len(found)} %){never}"

    def to_dict(self) -> dict[str, Any]:
        """Return the names that were used, and those that were not, as JSON-ready data."""
        return {"domain": self.name} | {
            kind: {
                "used": [name for name, is_used in found.items() if is_used],
                "never": [name for name, is_used in found.items() if not is_used],
            }
            for kind, found in self.kinds.items()
        }


def _find_coverage(runs: list[CaseRun]) -> list[_Coverage]:
    """Return the coverage of each domain."""
    by_domain: dict[str, list[CaseRun]] = {}
    for run in runs:
        by_domain.setdefault(run.suite.domain, []).append(run)
    return [
        _Coverage(
            group[0].suite.source.domain(),
            set().union(*(run.steps for run in group)),
            set().union(*(run.methods for run in group)),
        )
        for group in by_domain.values()
    ]


def _update_files(runs: list[CaseRun], *, quiet: bool) -> None:
    """Write proved optima into the files of the cases."""
    from executor.desk.loop.yaml_tree import apply_changes, parse_tree
    from planner.errors import DocumentError
    from planner.language.pddl.syntax import read_text

    counts: dict[Path, int] = {}
    texts: dict[Path, str] = {}
    for file in dict.fromkeys(run.suite.file for run in runs):
        text = read_text(file, DocumentError)
        roots = [root for root in parse_tree(text, str(file)) if root.kind == "mapping" and root.get("cases")]
        suites = list(dict.fromkeys(run.suite.place.document for run in runs if run.suite.file == file))
        changes: list[tuple[int, int, str]] = []
        for run in runs:
            if run.suite.file == file:
                changes += _find_changes(text, roots[suites.index(run.suite.place.document)], run)
        if changes:
            texts[file], counts[file] = apply_changes(text, changes), len(changes)
    overwrite_sources(texts)
    for file, count in () if quiet else counts.items():
        tell(f"{file}: {_count(count, 'value')} written")


def _find_changes(text: str, root: Any, run: CaseRun) -> Iterator[tuple[int, int, str]]:
    """Yield the change of the text that writes what was proved of a case, if that is anything new."""
    from executor.desk.loop.judgements import cost_of, makespan_of
    from executor.desk.loop.yaml_tree import insert_key

    cases = root.get("cases")
    mapping = cases.get(run.name)
    result, case, plan = run.result, run.case, run.proved
    if mapping is None or mapping.kind == "alias" or result is None:
        return
    is_free = all(each is None for each in (case.unsolvable, case.at_most, case.optimum, case.makespan))
    quoted = run.suite.file.suffix.lower() == ".json"
    if result.status is Status.UNSOLVABLE and is_free:
        yield insert_key(text, mapping, "unsolvable", "true", quoted=quoted)
    if plan is None:
        return
    if is_free:
        key, value = ("makespan", makespan_of(plan)) if plan.times else ("optimum", plan.cost)
        yield insert_key(text, mapping, key, str(value), quoted=quoted)
    for key, stated, measure in (("optimum", case.optimum, cost_of), ("makespan", case.makespan, makespan_of)):
        if stated is not None and stated != measure(plan):
            old = mapping.get(key)
            yield old.start, old.end, str(measure(plan))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
