"""Lint files: read them with all their mistakes, run all checks, and place the findings in the texts.

`check_files` is what `forethought check` calls, and `check_texts` what editors call, whose texts are not saved yet.
Other packages add checks by entry points of the group `forethought.checks`: functions that take the `Source` and the
problem or domain that was loaded from it, and return findings.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from planner.errors import ForethoughtError, InputError, Location
from planner.language.loading.load import (
    KNOWN,
    Source,
    find_languages,
    folder_files,
    is_text,
    load_from,
    open_source,
)
from planner.language.pddl.syntax import FileWarning, read_text
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.lint.cost_lint import check_metric
from planner.lint.findings import Finding, Level, collect_usage
from planner.lint.fixes import place_findings
from planner.lint.outlines import SourceText, locate
from planner.lint.problem_lint import check_domain, check_problem, sort_by_level
from planner.lint.reading import Reading, mistake_of, read_all
from planner.lint.repeated_lint import check_repeated
from planner.lint.suppressions import suppress
from planner.lint.timed_lint import flatten_moments
from planner.model import DomainModel, Problem
from planner.problem_kinds import (
    AnyDomain,
    AnyProblem,
    is_other_domain,
    is_other_problem,
    resolve_problem,
    service_of,
    unsupported_kind,
)

GROUP: Final = "forethought.checks"


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about a domain and its problems, the worst first; `is_read` is False where the files have mistakes.

    `name` is that of the problem if there is one, else of the domain; of what cannot be read, the files with mistakes.
    `problems` are those that were checked, and `unchecked` those for which a limit left no time.
    """

    name: str
    findings: tuple[Finding, ...]
    texts: tuple[SourceText, ...]
    is_read: bool = True
    problems: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """What was found with one problem, or in a domain alone, at its places; `domain` is "" where it was not read."""

    name: str
    domain: str
    findings: tuple[Finding, ...]
    is_read: bool = True


def check_files(domain: str, problems: str | Sequence[str] | None = None, limits: Limits | None = None) -> Checked:
    """Lint the domain and the problems with these names, as `load` takes them: by default all of the domain's own.

    Raises `InputError` for what is no mistake in a text, such as a file that does not exist, and `LimitReached` if no
    problem was checked by then.
    """
    limits = limits or Limits()
    named = [problems] if isinstance(problems, str) else list(problems or ())
    source = open_source(domain)
    try:
        own = list(source.problems())
    except InputError as error:
        texts = _read_all(domain, named or _problems_beside(domain))
        return _check_unread(error, texts, limits, is_whole=".py:" not in domain)
    chosen: list[str | None] = [*(named or own)] or [None]
    texts = _read_all(domain, chosen)
    looks: list[Look] = []
    for each in chosen:
        try:
            if looks:
                limits.check()
            looks.append(_look(source, domain, each, texts, limits))
        except LimitReached:
            if not looks:
                raise
            break
    left = tuple([each for each in chosen[len(looks) :] if each is not None])
    return _join(looks, texts, left, is_whole=bool(own) and not left and set(own) <= set(chosen))


def check_texts(texts: Sequence[SourceText], limits: Limits | None = None) -> Checked:
    """Lint texts in YAML, JSON, PDDL or HDDL, that of the domain first; raises `LimitReached`."""
    with _noting_warnings(texts) as noted:
        reading = read_all(list(texts))
    return _check_reading(reading, list(texts), limits or Limits(), noted)


@contextmanager
def _noting_warnings(texts: Sequence[SourceText]) -> Iterator[list[Finding]]:
    """Turn what readers warn of in `texts` into findings; other warnings stay warnings."""
    found: list[Finding] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FileWarning)
        yield found
    named = {each.name: each for each in texts}
    for each in caught:
        place = re.match(r"(.+?):(\d+)(?::(\d+))?: (.*)", str(each.message), re.DOTALL)
        if not issubclass(each.category, FileWarning) or place is None or place[1] not in named:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
            continue
        location = Location(place[1], int(place[2]), int(place[3] or 1))
        rule, level = "read-otherwise", Level.HINT
        if "second value" in place[4] or "twice" in place[4]:
            rule, level = "twice", Level.WARNING
        found.append(replace(mistake_of(InputError(place[4], location), named), rule=rule, level=level, fix=None))


def _check_pddl(loaded: AnyProblem | AnyDomain, texts: Sequence[SourceText]) -> list[Finding]:
    """Return what is wrong with a problem because PDDL lets it be left out: a metric."""
    problem = loaded.classical if is_other_problem(loaded) else loaded
    is_written = any(each.language == "pddl" for each in texts)
    return list(check_metric(problem)) if is_written and isinstance(problem, Problem) else []


def _look(source: Source, domain: str, problem: str | None, texts: list[SourceText], limits: Limits) -> Look:
    """Check the domain of `source` with `problem`, or alone."""
    names = {each.name for each in read_texts(domain, problem)}
    own = [each.of_problem(problem) for each in texts if each.name in names]
    try:
        with _noting_warnings(own) as noted:
            loaded = source.domain() if problem is None else load_from(source, problem)
        if isinstance(loaded, Problem):
            loaded = resolve_problem(loaded)
    except InputError as error:
        checked = _check_unread(error, own, limits, is_whole=".py:" not in domain)
        return Look(problem or checked.name, "", checked.findings, is_read=False)
    try:
        found, is_read = [*noted, *check_loaded(loaded, limits), *run_plugin_checks(source, loaded)], True
        found += [*_check_pddl(loaded, own), *check_repeated(own)]
    except InputError as error:
        found, is_read = [*_check_certain(loaded), mistake_of(error, {each.name: each for each in own})], False
    return Look(loaded.name, _domain_name(loaded), tuple(place_findings(dict.fromkeys(found), own)), is_read)


def _domain_name(loaded: AnyProblem | AnyDomain) -> str:
    return loaded.domain.name if isinstance(loaded, Problem) or is_other_problem(loaded) else loaded.name


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
    return _join([Look(texts[-1].name, "", (mistake,), is_read=False)], texts)


def _check_reading(reading: Reading, texts: list[SourceText], limits: Limits, noted: Sequence[Finding] = ()) -> Checked:
    mistakes = [told for each in reading.mistakes for told in _doubt_suggestion(each, reading.domain, texts)]
    mistakes += noted
    loaded: list[AnyProblem | AnyDomain] = [*reading.problems]
    if not loaded and reading.domain is not None:
        loaded.append(reading.domain)
    if reading.is_partial or not loaded:
        certain = [each for each in _check_certain(reading.domain) if each.place not in reading.spoilt]
        name = loaded[0].name if loaded else texts[-1].name
        return _join([Look(name, "", tuple(place_findings([*mistakes, *certain], texts)), is_read=False)], texts)
    looks = []
    for each in loaded:
        try:
            found = [*check_loaded(each, limits), *_check_pddl(each, texts)]
            found += check_repeated([text.of_problem(each.name) for text in texts])
        except InputError as error:
            found = [mistake_of(error, {text.name: text for text in texts})]
        own = [text.of_problem(each.name) for text in texts]
        placed = place_findings(dict.fromkeys([*mistakes, *found]), own)
        looks.append(Look(each.name, _domain_name(each), tuple(placed), is_read=not reading.mistakes))
    return _join(looks, texts, is_whole=len(texts) == 1 and bool(reading.problems))


def _doubt_suggestion(mistake: Finding, domain: AnyDomain | None, texts: list[SourceText]) -> list[Finding]:
    """Return `mistake`; without a fix, and beside the name that it may stand for, where that may as well be misspelt.

    That is so for a fact of the problem whose like one in the domain stands in a single condition, and nowhere else.
    """
    meant = re.match(r"did you mean '([^']+)'\?", mistake.hint)
    quoted = re.search(r"has no \w+ '([^']+)'", mistake.message) or re.search(r"'([^']+)'", mistake.message)
    model = domain if isinstance(domain, DomainModel) else getattr(domain, "classical", None)
    if mistake.rule != "unknown-name" or meant is None or quoted is None or model is None:
        return [mistake]
    name, written = meant[1], quoted[1]
    uses = collect_usage(flatten_moments(model))
    readers = uses.required.get(name, [])
    told = sum(len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", each.blank)) for each in texts)
    if told > 1 or len(readers) != 1 or name in uses.provided or name in uses.ended:
        return [mistake]
    found = locate(readers[0], "", name, texts)
    if found is None:
        return [mistake]
    span = found[0].span(*found[1:])
    message, hint = f"nothing provides or states '{name}'; the problem has '{written}'", f"did you mean '{written}'?"
    other = Finding(Level.WARNING, "misspelt", readers[0], message, hint, span=span)
    return [replace(mistake, hint=f"{mistake.hint} or is that, at {span}, misspelt?", fix=None), other]


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


_ABSENCES: Final = frozenset(
    {"unused-predicate", "never-required", "never-provided", "misspelt", "nothing-to-sense", "never-given-back"}
    | {"never-applies", "empty-type", "useless-action", "dead-method", "unused-type", "unused-action"}
    | {"unused-function", "never-read", "constant-comparison", "one-way-number", "unreachable-number"}
)
"""Rules that find no use for a declaration: it has one if it has one in some problem."""
_DECLARED: Final = frozenset({"action", "predicate", "method", "task", "type", "function", "derived"})
"""The kinds of declarations that the problems of a domain share."""


def _join(
    looks: list[Look], texts: list[SourceText], unchecked: tuple[str, ...] = (), *, is_whole: bool = False
) -> Checked:
    """Make one answer of what was found with each problem; `is_whole` says that these are all that there are."""
    is_read = all(each.is_read for each in looks)
    name = looks[0].name if len(looks) == 1 else next((each.domain for each in looks if each.domain), looks[0].name)
    found: list[Finding] = []
    if any(each.findings for each in looks) or any("forethought:" in each.text for each in texts):
        always = None if is_whole else _CERTAIN
        everything = [finding for each in looks for finding in each.findings]
        found = suppress(list(_merge(looks)), everything, texts, is_read=is_read, always=always)
    order = {each.name: number for number, each in enumerate(texts)}
    placed = tuple(sort_by_level(sorted(found, key=lambda each: _place_key(each, order))))
    if not is_read:
        name = _name_files(placed) or name
    return Checked(name, placed, tuple(texts), is_read, tuple([each.name for each in looks]), unchecked)


def _name_files(findings: Iterable[Finding]) -> str:
    """Return the names of the files with errors, three at most."""
    files = list(dict.fromkeys([each.span.source for each in findings if each.span and each.level is Level.ERROR]))
    others = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(files[:3]) + others


def _merge(looks: list[Look]) -> Iterator[Finding]:
    """Yield what was found with several problems once.

    What is wrong with a shared declaration in some problems alone is told with their names, and left out if it is that
    nothing uses the declaration there.
    """
    found: dict[tuple[object, ...], list[tuple[Look, Finding]]] = {}
    for look in looks:
        counts: Counter[tuple[object, ...]] = Counter()
        for finding in look.findings:
            key = finding.rule, finding.place, finding.span
            counts[key] += 1
            found.setdefault((*key, counts[key]), []).append((look, finding))
    for each in found.values():
        look, finding = each[0]
        number = sum(other.domain == look.domain for other in looks)
        if len(each) == number or finding.place.partition(" ")[0] not in _DECLARED or not look.domain:
            yield finding
        elif finding.rule not in _ABSENCES:
            names = ", ".join([other.name for other, _ in each])
            yield replace(finding, message=f"{finding.message} (in {names})")


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


def _read_all(domain: str, problems: Iterable[str | None]) -> list[SourceText]:
    """Return the texts of a domain and of several problems, each once."""
    found: dict[str, SourceText] = {}
    for problem in problems:
        for each in read_texts(domain, problem):
            found.setdefault(each.name, each)
    return list(found.values())


def _read(path: Path) -> SourceText:
    return SourceText(str(path), read_text(path, InputError))


def _find_paths(domain: str, problem: str | None) -> list[Path]:
    """Return the files of a domain that is a file, a folder, or shipped, and of its problem in a folder."""
    path = Path(domain.partition(".py:")[0] + ".py" if ".py:" in domain else domain)
    if path.suffix.lower() in KNOWN.union(find_languages()) and not path.is_dir():
        return [path]
    folder = _find_folder(domain)
    if folder is None:
        return []
    package = folder / "__init__.py"
    own, files = folder_files(folder)
    chosen = [each for each in files if each.stem == problem]
    found = [own] if own is not None else [package] if package.is_file() else []
    return [*found, *chosen[:1]]


def _find_folder(domain: str) -> Path | None:
    """Return the folder of a domain that is one, or is shipped."""
    folder = Path(domain)
    from planner.language.loading.python_files import ShippedSource, list_shipped_names

    if domain in list_shipped_names():
        folder = ShippedSource(domain).folder or folder
    return folder if folder.is_dir() else None


def _problems_beside(domain: str) -> list[str | None]:
    """Return the names of the problem files beside a domain that cannot be read; None alone if there are none."""
    folder = None if is_text(domain) else _find_folder(domain)
    return [each.stem for each in folder_files(folder)[1]] or [None] if folder is not None else [None]


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
