"""Lint files: read them with all their mistakes, run all checks, and place the findings in the texts.

`check_files` is what `forethought check` calls, and `check_texts` what editors call, whose texts are not saved yet.
Other packages add checks by entry points of the group `forethought.checks`: functions that take the `Source` and the
problem or domain that was loaded from it, and return findings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.errors import ForethoughtError, InputError
from planner.language.loading.load import (
    KNOWN,
    Source,
    find_languages,
    folder_files,
    is_text,
    load_named,
    open_source,
)
from planner.language.pddl.syntax import read_text
from planner.lightweight import Final
from planner.limits import Limits
from planner.lint.findings import Finding
from planner.lint.fixes import place_findings
from planner.lint.outlines import SourceText
from planner.lint.problem_lint import check_domain, check_problem, sort_by_level
from planner.lint.reading import Reading, mistake_of, read_all
from planner.lint.suppressions import suppress
from planner.model import DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem, is_other_domain, is_other_problem, service_of, unsupported_kind

GROUP: Final = "forethought.checks"


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about a domain or problem, the worst first; `is_read` is False where the files have mistakes."""

    name: str
    findings: tuple[Finding, ...]
    texts: tuple[SourceText, ...]
    is_read: bool = True


def check_files(domain: str, problem: str | None = None, limits: Limits | None = None) -> Checked:
    """Lint what `domain` and `problem` name, as `load` takes them.

    Raises `InputError` for what is no mistake in a text, such as a file that does not exist, and `LimitReached`.
    """
    limits = limits or Limits()
    texts = read_texts(domain, problem)
    try:
        source = open_source(domain)
        loaded = load_named(source, problem)
    except InputError as error:
        return _check_unread(error, texts, limits, is_whole=".py:" not in domain)
    name = loaded.name
    try:
        found = [*check_loaded(loaded, limits), *run_plugin_checks(source, loaded)]
    except InputError as error:
        mistake = mistake_of(error, {each.name: each for each in texts})
        return Checked(
            name, finish([*_check_certain(loaded), mistake], texts, is_read=False), tuple(texts), is_read=False
        )
    return Checked(name, finish(found, texts), tuple(texts))


def check_texts(texts: Sequence[SourceText], limits: Limits | None = None) -> Checked:
    """Lint texts in YAML, JSON, PDDL or HDDL, that of the domain first; raises `LimitReached`."""
    limits = limits or Limits()
    reading = read_all(list(texts))
    return _check_reading(reading, list(texts), limits)


def _check_unread(error: InputError, texts: list[SourceText], limits: Limits, *, is_whole: bool) -> Checked:
    """Return all mistakes of the files, and what else lint finds in the parts that can be read.

    Packages, and single names of Python files (not `is_whole`), are not read again: their first mistake is told.
    """
    if texts and is_whole and all(Path(each.name).name != "__init__.py" for each in texts):
        reading = read_all(texts)
        if reading.mistakes:
            return _check_reading(reading, texts, limits)
    if error.location is None or not any(each.name == error.location.source for each in texts):
        raise error
    mistake = mistake_of(error, {each.name: each for each in texts})
    return Checked(texts[-1].name, finish([mistake], texts, is_read=False), tuple(texts), is_read=False)


def _check_reading(reading: Reading, texts: list[SourceText], limits: Limits) -> Checked:
    found = list(reading.mistakes)
    name = reading.problems[0].name if reading.problems else reading.domain.name if reading.domain else texts[-1].name
    try:
        if reading.is_partial:
            found += [each for each in _check_certain(reading.domain) if each.place not in reading.spoilt]
        elif reading.problems:
            found += check_loaded(reading.problems[0], limits)
        elif reading.domain:
            found += check_loaded(reading.domain, limits)
    except InputError as error:
        found.append(mistake_of(error, {each.name: each for each in texts}))
    is_read = not reading.mistakes
    return Checked(name, finish(found, texts, is_read=is_read), tuple(texts), is_read=is_read)


_CERTAIN: Final = frozenset(
    {"unused-parameter", "contradicting-requires", "contradicting-when", "no-effect", "provides-and-ends", "type"}
    | {"known-effect", "second-value", "same-value", "equal-outcomes"}
)
"""Rules about single declarations, which hold whatever was left out."""


def _check_certain(loaded: AnyProblem | AnyDomain | None) -> list[Finding]:
    """Return what lint finds in single declarations."""
    return [each for each in _check_alone(loaded) if each.rule in _CERTAIN] if loaded is not None else []


def _check_alone(loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Lint the domain of `loaded` without objects."""
    domain = loaded.domain if isinstance(loaded, Problem) or is_other_problem(loaded) else loaded
    if isinstance(domain, DomainModel):
        return check_domain(domain)
    return service_of(domain).check_domain(domain) if is_other_domain(domain) else []


def finish(findings: list[Finding], texts: list[SourceText], *, is_read: bool = True) -> tuple[Finding, ...]:
    """Place `findings` in `texts`, leave out the suppressed ones, and sort them: the worst first, then by place."""
    if not findings and not any("forethought:" in each.text for each in texts):
        return ()
    placed = suppress(place_findings(dict.fromkeys(findings), texts), texts, is_read=is_read)
    order = {each.name: number for number, each in enumerate(texts)}
    return tuple(sort_by_level(sorted(placed, key=lambda each: _place_key(each, order))))


def _place_key(finding: Finding, order: dict[str, int]) -> tuple[int, int, int]:
    span = finding.span
    return (order.get(span.source, 0), span.line, span.column) if span else (0, 0, 0)


def read_texts(domain: str, problem: str | None) -> list[SourceText]:
    """Return the texts of the files that `domain` and `problem` name, the domain's first; none where there are none."""
    found = []
    if is_text(domain):
        found.append(SourceText("<domain text>", domain))
    else:
        found += [_read(path) for path in _find_paths(domain, problem) if path.is_file()]
    if problem is not None and is_text(problem):
        found.append(SourceText("<problem text>", problem))
    elif problem is not None and Path(problem).is_file() and Path(problem) not in [Path(each.name) for each in found]:
        found.append(_read(Path(problem)))
    return found


def _read(path: Path) -> SourceText:
    return SourceText(str(path), read_text(path, InputError))


def _find_paths(domain: str, problem: str | None) -> list[Path]:
    """Return the files of a domain that is a file, a folder, or shipped, and of its problem in a folder."""
    path = Path(domain.partition(".py:")[0] + ".py" if ".py:" in domain else domain)
    if path.suffix.lower() in KNOWN.union(find_languages()) and not path.is_dir():
        return [path]
    folder = path
    from planner.language.loading.python_files import ShippedSource, list_shipped_names

    if domain in list_shipped_names():
        folder = ShippedSource(domain).folder or path
    if not folder.is_dir():
        return []
    package = folder / "__init__.py"
    own, files = folder_files(folder)
    chosen = [each for each in files if each.stem == problem] or ([] if own is None or problem else files[:1])
    found = [own] if own is not None else [package] if package.is_file() else []
    return [*found, *chosen[:1]]


def check_loaded(loaded: AnyProblem | AnyDomain, limits: Limits) -> list[Finding]:
    """Run the checks for this kind of problem or domain; raises `LimitReached`."""
    if isinstance(loaded, Problem):
        return check_problem(loaded, limits)
    if isinstance(loaded, DomainModel):
        return check_domain(loaded)
    if is_other_problem(loaded):
        return service_of(loaded).check(loaded, limits)
    if is_other_domain(loaded):
        return service_of(loaded).check_domain(loaded)
    raise unsupported_kind(loaded, "checking")


def run_plugin_checks(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Run the checks of other packages on the Python file of `source`; none for other files.

    Only packages that the file has imported are asked, because nothing in the file can be theirs otherwise.
    """
    if "planner.language.loading.python_files" not in sys.modules:
        return []
    from importlib.metadata import entry_points

    found: list[Finding] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.module.partition(".")[0] in sys.modules:
            try:
                check = entry.load()
            except (ImportError, AttributeError) as error:
                raise ForethoughtError(
                    f"the check '{entry.name}' of {entry.value} cannot be loaded: {error}"
                ) from error
            found += check(source, loaded)
    return found
