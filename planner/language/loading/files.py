"""Files of declarations that are no Python: YAML, JSON, PDDL and other languages; and folders of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

from planner.errors import InputError, Location
from planner.language.loading.sources import LazyProblems, OtherSource, Source, find_languages
from planner.lightweight import TYPE_CHECKING, Final
from planner.model import DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem

if TYPE_CHECKING:
    from planner.language.documents import Documents

DOCUMENTS: Final = frozenset({".yaml", ".yml", ".json"})
KNOWN: Final = frozenset({".py", ".pddl"}) | DOCUMENTS

_PROBLEM: Final = re.compile(rb"\bproblem[\"']?\s*:")


class DocumentSource:
    """A YAML or JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = str(path)

    @cached_property
    def _documents(self) -> Documents:
        from planner.language.documents import read_documents

        return read_documents(self._path)

    def domain(self) -> AnyDomain:
        """Return the one domain of the file."""
        found = self._documents.domains
        if len(found) == 1:
            return found[0]
        if not found:
            raise InputError("the file declares no domain", Location(self.name), "it begins with 'domain: NAME'")
        names = ", ".join(domain.name for domain in found)
        raise InputError(f"the file declares several domains: {names}", Location(self.name), "give each a file")

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problems of the file."""
        return {problem.name: problem for problem in self._documents.problems}


class PddlSource:
    """A PDDL domain file; problems have files of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def domain(self) -> DomainModel:
        """Return the domain of the file."""
        from planner.language.pddl import read_domain

        return read_domain(self.path)

    def problems(self) -> Mapping[str, Problem]:
        """Return nothing: PDDL keeps problems in files of their own."""
        return {}


class FolderSource:
    """A folder with one `domain.*` file; all other files that may hold problems, `problems/` included, are problems."""

    def __init__(self, folder: Path, domain_file: Source, files: list[Path]) -> None:
        self.name = str(folder)
        self.domain_file = domain_file
        self._files = files

    def domain(self) -> AnyDomain:
        """Return the domain of the folder's `domain.*` file."""
        return self.domain_file.domain()

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problems in the domain's file, then those of the other files, by the names of the files."""
        inside = self.domain_file.problems()
        makers = {name: partial(inside.__getitem__, name) for name in inside}
        for path in self._files:
            makers.setdefault(path.stem, partial(read_problem_file, path, self.domain_file))
        return LazyProblems(makers)


def folder_files(folder: Path) -> tuple[Path | None, list[Path]]:
    """Return the domain file of `folder`, if it has one, and the files of its problems in natural order."""
    known = KNOWN.union(find_languages())
    found = [path for path in folder.iterdir() if path.suffix.lower() in known and path.is_file()]
    domain = next((path for path in sorted(found) if path.stem.lower() == "domain"), None)
    problems = folder / "problems"
    inside = problems.iterdir() if problems.is_dir() else ()
    others = [path for path in (*found, *inside) if path != domain and _may_hold_problem(path)]
    return domain, sorted(others, key=natural_sort_key)


def _may_hold_problem(path: Path) -> bool:
    """Return whether `path` is in a planning language, or a document that has the key `problem`.

    Settings lie about in folders, too.
    """
    suffix = path.suffix.lower()
    if suffix not in DOCUMENTS:
        return suffix == ".pddl" or suffix in find_languages()
    from planner.language.pddl.syntax import read_bytes

    try:
        return _PROBLEM.search(read_bytes(path) or b"") is not None
    except OSError:
        return True


def natural_sort_key(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts `p2` before `p10`."""
    parts = re.split(r"(\d+)", path.stem.lower())
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in parts]


def read_problem_file(path: Path, domain: Source) -> AnyProblem:
    """Return the one problem of a file that is no Python, for the domain of `domain`."""
    if isinstance(domain, FolderSource):
        domain = domain.domain_file
    suffix = path.suffix.lower()
    if isinstance(domain, OtherSource) and suffix not in DOCUMENTS:
        return domain.read_problem(path)
    model = domain.domain()
    if suffix in DOCUMENTS:
        return _documented(path, model)
    if not isinstance(model, DomainModel) or (suffix not in KNOWN and suffix in find_languages()):
        raise _of_another_kind(path, domain)
    if suffix == ".pddl" or isinstance(domain, PddlSource):
        from planner.language.pddl import read_problem

        return read_problem(path, model)
    return _documented(path, model)


def _of_another_kind(path: Path, domain: Source) -> InputError:
    message = f"the problem is not in a language that goes with the domain of {domain.name}"
    return InputError(message, Location(str(path)), "give the domain and the problem in the same language")


def _documented(path: Path, domain: AnyDomain) -> AnyProblem:
    """Return the one problem of a YAML or JSON file."""
    from planner.language.documents import read_documents

    found = read_documents(path, domain=domain).problems
    if len(found) == 1:
        check_domain(found[0], domain, str(path))
        return found[0]
    if not found:
        raise InputError("the file declares no problem", Location(str(path)), "it begins with 'problem: NAME'")
    names = ", ".join(problem.name for problem in found)
    raise InputError(f"the file declares several problems: {names}", Location(str(path)), "give each a file")


def check_domain(problem: AnyProblem, domain: AnyDomain, source: str) -> None:
    """Refuse a problem that is not for `domain`, but for another that stands beside it in `source`."""
    own = problem.domain if isinstance(problem, Problem) else domain
    if own.name != domain.name:
        message = f"problem {problem.name!r} is for the domain {own.name!r}, not for {domain.name!r}"
        raise InputError(message, Location(source))
