"""Load a domain and a problem from what the command line is given: files, folders, and names of shipped domains."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from planner.errors import InputError, Location, did_you_mean
from planner.language.loading.files import (
    DOCUMENTS,
    KNOWN,
    DocumentSource,
    FolderSource,
    PddlSource,
    check_domain,
    folder_files,
    read_problem_file,
)
from planner.language.loading.sources import LazyProblems, OtherSource, Source, find_languages
from planner.lightweight import Final
from planner.problem_kinds import AnyDomain, AnyProblem

_PYTHON: Final = re.compile(r"(.+\.py)(?::([A-Za-z_]\w*))?\Z", re.DOTALL)
_MANY: Final = 12


def load(domain: str | os.PathLike[str], problem: str | os.PathLike[str] | None = None) -> AnyProblem:
    """Return a problem, ready to be solved.

    `domain` is a .py (or `file.py:name`), .yaml, .json, .pddl or .hddl file, a folder, or the name of a shipped domain.
    `problem` is a file, or the name of one of the domain's own problems; without it the first of these is taken. What
    has tasks, in HDDL, documents or Python, is a hierarchical problem, an `HtnProblem`.
    Raises `InputError` for mistakes in what was given.
    """
    return load_from(open_source(_path(domain)), problem)


def load_from(source: Source, problem: str | os.PathLike[str] | None = None) -> AnyProblem:
    """Return a problem of what `source` gives; see `load`."""
    if problem is None:
        return _first(source)
    wanted = _path(problem)
    if is_readable(wanted):
        return _from_file(wanted, source)
    own = source.problems()
    if wanted in own:
        return own[wanted]
    if Path(wanted).is_file():
        return _from_file(wanted, source)
    raise _unknown_problem(wanted, source, own)


def is_readable(text: str) -> bool:
    """Return whether the ending of a file's name tells that domains or problems are read from it."""
    return _PYTHON.match(text) is not None or _is_known(Path(text).suffix.lower())


def load_domain(domain: str | os.PathLike[str]) -> AnyDomain:
    """Return the domain that a file, a folder or the name of a shipped domain gives; see `load`."""
    return open_source(_path(domain)).domain()


def _path(given: str | os.PathLike[str]) -> str:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"{given!r} is no path and no name of a domain or problem", hint="give a text or a path")
    return os.fspath(given)


def open_source(text: str) -> Source:
    """Return where domain and problems are read from; the text decides, and nothing is read yet."""
    if not text:
        raise InputError("the name of the domain is empty", hint="'.' is the folder where you are")
    python = _PYTHON.match(text)
    if python:
        from planner.language.loading.python_files import PythonSource

        return PythonSource(Path(python[1]), python[2])
    path = Path(text)
    suffix = path.suffix.lower()
    if suffix in DOCUMENTS:
        return DocumentSource(path)
    if suffix == ".pddl":
        return PddlSource(path)
    language = find_languages().get(suffix) if suffix else None
    return OtherSource(path, language) if language else _named(text, path)


def _is_known(suffix: str) -> bool:
    """Return whether files with this ending are read: looking for other languages takes time, so that comes last."""
    return suffix in KNOWN or (suffix != "" and suffix in find_languages())


def _named(text: str, path: Path) -> Source:
    """Return a shipped domain or a folder; a name of the former needs './' to mean the latter."""
    from planner.language.loading.python_files import ShippedSource, list_shipped_names

    names = list_shipped_names()
    if text in names:
        return ShippedSource(text)
    if path.is_dir():
        return _folder(path)
    listed = f"the shipped domains are {', '.join(names)}" if names else "no domain is shipped with this installation"
    if path.exists():
        kinds = ", ".join(sorted(KNOWN.union(find_languages())))
        raise InputError(
            f"the ending of a file's name tells its kind, and {path.suffix or 'none'} is no known one",
            Location(text),
            f"copy it to a file whose name ends in one of {kinds}",
        )
    near = did_you_mean(text, names)
    hint = f"{near} ({listed})" if near else listed
    raise InputError(f"there is no file, folder or shipped domain {text!r}", hint=hint)


def _folder(folder: Path) -> Source:
    """Return the Python package that `folder` is, if it gives problems, or else the files in it."""
    package = folder / "__init__.py"
    domain, files = folder_files(folder)
    if package.is_file():
        source = open_source(str(package))
        if domain is None or source.problems():
            return source
    if domain is not None:
        return FolderSource(folder, open_source(str(domain)), files)
    hint = "it needs a file domain.yaml, domain.json, domain.pddl, domain.hddl or domain.py"
    raise InputError("the folder has no domain", Location(str(folder)), hint)


def _from_file(text: str, source: Source) -> AnyProblem:
    if not _PYTHON.match(text):
        return read_problem_file(Path(text), source)
    problem = _first(open_source(text))
    check_domain(problem, source.domain(), text)
    return problem


def _first(source: Source) -> AnyProblem:
    problems = source.problems()
    for name in problems:
        return problems[name]
    source.domain()
    raise InputError("there is a domain, but no problem", Location(source.name), "give a problem after the domain")


def _unknown_problem(wanted: str, source: Source, own: Mapping[str, AnyProblem]) -> InputError:
    names = list(own)
    listed = ", ".join(names[:_MANY]) + (", …" if len(names) > _MANY else "")
    near = did_you_mean(wanted, names)
    known = f"its problems are {listed}" if names else "it has no problems of its own: give a file"
    hint = f"{near} ({known})" if near else known
    return InputError(f"{source.name} has no problem {wanted!r}, and there is no such file", hint=hint)


__all__ = ["LazyProblems", "is_readable", "load", "load_domain", "load_from", "open_source"]
