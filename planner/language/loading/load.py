"""Load a domain and a problem from files, folders and shipped domains, as the command line names them.

A source gives a domain, and problems by name that are made when asked for. Other packages read other languages: an
entry point of the group `forethought.sources` has the ending of the files' names for its name, such as `.hddl`, and
leads to a module with `read_domain(path)` and `read_problem(path, domain)`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path

from planner.errors import InputError, Location, UnsupportedError, did_you_mean
from planner.lightweight import TYPE_CHECKING, Any, Final, Protocol, TypeVar, dataclass
from planner.model import DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem, OtherDomain, OtherProblem

if TYPE_CHECKING:
    from planner.language.documents import Documents

Kind = TypeVar("Kind")


class Source(Protocol):
    """A file, folder or shipped domain."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    def domain(self) -> AnyDomain:
        """Return its domain; raises `InputError` where it has none, or more than one."""

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return its problems by name, each made when it is looked up."""


class LazyProblems(Mapping[str, Kind]):
    """Problems by name, each made once, when it is looked up."""

    def __init__(self, makers: Mapping[str, Callable[[], Kind]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


PLUGIN_GROUP: Final = "forethought.sources"


@dataclass(frozen=True, slots=True)
class Language:
    """The module `value`, which reads files whose names end in `name`."""

    name: str
    value: str

    def load(self) -> Any:
        """Return the module; raises `ImportError` where there is none."""
        return import_module(self.value)


def find_languages() -> dict[str, Language]:
    """Find the languages that installed distributions declare, by the endings of files' names.

    Reading the metadata files takes a millisecond; importing `importlib.metadata`, which reads them too, takes twenty.
    """
    found: dict[str, Language] = {}
    for folder in sys.path:
        for file in Path(folder).glob("*.*-info/entry_points.txt"):
            group = file.read_text(encoding="utf-8", errors="replace").partition(f"[{PLUGIN_GROUP}]\n")[2]
            for line in group.partition("\n[")[0].splitlines():
                name, _, value = map(str.strip, line.partition("="))
                if value:
                    found.setdefault(name, Language(name, value))
    return found


class OtherSource:
    """A domain file in a language of another package; problems have files of their own."""

    def __init__(self, path: Path, language: Language) -> None:
        self._path = path
        self._language = language
        self.name = str(path)

    @cached_property
    def _reader(self) -> Any:
        try:
            return self._language.load()
        except ImportError as error:
            reader = f"the reader {self._language.value} of {self._language.name} files cannot be imported"
            raise InputError(f"{reader}: {error}", Location(self.name)) from error

    @cached_property
    def _domain(self) -> OtherDomain:
        domain: OtherDomain = self._reader.read_domain(self._path)
        return domain

    def domain(self) -> OtherDomain:
        """Return the domain of the file."""
        return self._domain

    def problems(self) -> Mapping[str, OtherProblem]:
        """Return nothing: problems have files of their own."""
        return {}

    def read_problem(self, path: Path) -> OtherProblem:
        """Read the problem in the file at `path`, whatever its name, in the language of the domain."""
        problem: OtherProblem = self._reader.read_problem(path, self._domain)
        return problem


DOCUMENTS: Final = frozenset({".yaml", ".yml", ".json"})
KNOWN: Final = frozenset({".py", ".pddl"}) | DOCUMENTS
CASES: Final = ".cases"
"""What stands before the ending of the names of files that hold test cases and nothing else."""

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
    """Return whether `path` is in a planning language, or a document with the key `problem`.

    Other documents in a folder may be settings.
    """
    suffix = path.suffix.lower()
    if suffix not in DOCUMENTS:
        return suffix == ".pddl" or suffix in find_languages()
    if Path(path.stem).suffix.lower() == CASES:
        return False
    from planner.language.pddl.syntax import read_bytes

    try:
        return _PROBLEM.search(read_bytes(path) or b"") is not None
    except OSError:
        return True


def natural_sort_key(path: Path) -> list[tuple[int, str]]:
    """Make a key that sorts `p2` before `p10`."""
    parts = re.split(r"(\d+)", path.stem.lower())
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in parts]


def read_problem_file(path: Path, domain: Source) -> AnyProblem:
    """Read the one problem of a file that is no Python, for the domain of `domain`."""
    if isinstance(domain, FolderSource):
        domain = domain.domain_file
    suffix = path.suffix.lower()
    if isinstance(domain, OtherSource) and suffix not in DOCUMENTS:
        return domain.read_problem(path)
    model = domain.domain()
    if suffix in DOCUMENTS:
        return _read_document(path, model)
    if not isinstance(model, DomainModel) or (suffix not in KNOWN and suffix in find_languages()):
        message = f"the problem is not in a language that goes with the domain of {domain.name}"
        raise InputError(message, Location(str(path)), "give the domain and the problem in the same language")
    if suffix == ".pddl" or isinstance(domain, PddlSource):
        from planner.language.pddl import read_problem

        return read_problem(path, model)
    return _read_document(path, model)


def _read_document(path: Path, domain: AnyDomain) -> AnyProblem:
    """Read the one problem of a YAML or JSON file."""
    from planner.language.documents import read_documents

    return pick_problem(read_documents(path, domain=domain), domain, str(path))


def pick_problem(documents: Documents, domain: AnyDomain, name: str) -> AnyProblem:
    """Return the one problem of `documents`, which is for `domain`; messages call the documents `name`."""
    found = documents.problems
    if len(found) == 1:
        check_domain(found[0], domain, name)
        return found[0]
    kind = "text" if name.startswith("<") else "file"
    if not found:
        raise InputError(f"the {kind} declares no problem", Location(name), "it begins with 'problem: NAME'")
    names = ", ".join(problem.name for problem in found)
    raise InputError(f"the {kind} declares several problems: {names}", Location(name), f"give each a {kind}")


def check_domain(problem: AnyProblem, domain: AnyDomain, source: str) -> None:
    """Raise an error for a problem in `source` that is for another domain than `domain`."""
    own = problem.domain if isinstance(problem, Problem) else domain
    if own.name != domain.name:
        message = f"problem {problem.name!r} is for the domain {own.name!r}, not for {domain.name!r}"
        raise InputError(message, Location(source))


_PYTHON: Final = re.compile(r"(.+\.py)(?::([A-Za-z_]\w*))?\Z", re.DOTALL)
_MANY: Final = 12
_LONGEST_QUOTE: Final = 60
_LONGEST_PATH: Final = 4_096
"""Most characters of a path that operating systems take."""
_BEGINNING: Final = re.compile(r"\s*(\(\s*define[\s(]|\{\s*[\"}]|([\"']?)(domain|problem)\2\s*:\s)", re.IGNORECASE)


def is_text(given: str) -> bool:
    """Return whether `given` is the contents of a file, and not its name; see `planner.language.loading.texts`."""
    return "\n" in given.strip() or _BEGINNING.match(given) is not None


def load(domain: str | os.PathLike[str], problem: str | os.PathLike[str] | None = None) -> AnyProblem:
    """Load a problem, ready to be solved.

    `domain` is a .py (or `file.py:name`), .yaml, .json, .pddl or .hddl file, a folder, or the name of a shipped domain.
    `problem` is a file, or the name of one of the domain's own problems; by default it is the first of these. Either
    may also be the text of such a file, in PDDL, HDDL, YAML or JSON: a `str` with a line break, or that begins as these
    do. The text of a domain may hold its problem, too. A problem with tasks, in HDDL, documents or Python, is an
    `HtnProblem`. Raises `InputError` for mistakes.
    """
    return load_from(_open(domain), problem)


def load_from(source: Source, problem: str | os.PathLike[str] | None = None) -> AnyProblem:
    """Load a problem from `source`; see `load`."""
    if problem is None:
        return _first_problem(source)
    if isinstance(problem, str) and is_text(problem):
        from planner.language.loading.texts import read_problem_text

        return read_problem_text(problem, source)
    wanted = _path(problem)
    if wanted.isspace():
        raise InputError("the text of the problem is blank", hint="give the contents of a file, or a name")
    if len(wanted) > _LONGEST_PATH:
        raise _unknown_problem(wanted[:_LONGEST_PATH], source, source.problems())
    if is_readable(wanted):
        return _load_file(wanted, source)
    own = source.problems()
    if wanted in own:
        return own[wanted]
    if is_file(wanted):
        return _load_file(wanted, source)
    declared = _find_declared(wanted, own)
    if len(declared) > 1:
        hint = f"name one of them: {', '.join(declared[:_MANY])}"
        raise InputError(f"{source.name} has {len(declared)} problems that are declared as {_cut(wanted)!r}", hint=hint)
    if declared:
        return own[declared[0]]
    raise _unknown_problem(wanted, source, own)


def _find_declared(wanted: str, own: Mapping[str, AnyProblem]) -> list[str]:
    """Return the names, by their files, of the readable problems that are declared as `wanted`."""
    found = []
    for name in own:
        with suppress(InputError, UnsupportedError):
            if own[name].name == wanted:
                found.append(name)
    return found


def load_named(source: Source, problem: str | None) -> AnyProblem | AnyDomain:
    """Load the problem with this name; without a name, load the first problem, or else the domain alone."""
    if problem is not None:
        return load_from(source, problem)
    return next(iter(source.problems().values()), None) or source.domain()


def is_readable(text: str) -> bool:
    """Return whether the ending of a file's name is one of domains or problems."""
    suffix = Path(text).suffix.lower()
    if _PYTHON.match(text) is not None or suffix in KNOWN:
        return True
    return suffix != "" and suffix in find_languages()  # finding languages takes time, so that comes last


def load_domain(domain: str | os.PathLike[str]) -> AnyDomain:
    """Load the domain of a file or folder, a text, or a shipped domain; see `load`."""
    return _open(domain).domain()


def _open(domain: str | os.PathLike[str]) -> Source:
    """Open what the user gave: a path is a file even if it looks like a text."""
    if isinstance(domain, str):
        return open_source(domain)
    return _open_path(_path(domain))


def _path(given: str | os.PathLike[str]) -> str:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"{given!r} is no path and no name of a domain or problem", hint="give a text or a path")
    return os.fspath(given)


def open_source(text: str) -> Source:
    """Choose the source that `text` names or is, without reading it."""
    if is_text(text):
        from planner.language.loading.texts import open_text

        return open_text(text)
    return _open_path(text)


def _open_path(text: str) -> Source:
    """Choose the source that `text` names, without reading it."""
    if not text:
        raise InputError("the name of the domain is empty", hint="'.' is the folder where you are")
    if text.isspace():
        raise InputError("the text of the domain is blank", hint="give the contents of a file, or a name")
    if len(text) > _LONGEST_PATH:
        hint = "a text begins with '(define', '{' or 'domain: NAME'"
        raise InputError(f"there is no file, folder or shipped domain {_cut(text)!r}", hint=hint)
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
    return OtherSource(path, language) if language else _open_by_name(text, path)


def _open_by_name(text: str, path: Path) -> Source:
    """Open a shipped domain or a folder; a folder with the name of a shipped domain needs './' before it."""
    from planner.language.loading.python_files import ShippedSource, list_shipped_names

    names = list_shipped_names()
    if text in names:
        return ShippedSource(text)
    if os.path.isdir(text):  # noqa: PTH112 - unlike a path object, it is False for a name that is too long
        return _open_folder(path)
    listed = f"the shipped domains are {', '.join(names)}" if names else "no domain is shipped with this installation"
    if os.path.exists(text):  # noqa: PTH110 - as above
        kinds = ", ".join(sorted(KNOWN.union(find_languages())))
        message = f"the ending of a file's name tells its kind, and {path.suffix or 'none'} is no known one"
        raise InputError(message, Location(text), f"copy it to a file whose name ends in one of {kinds}")
    near = did_you_mean(text, names)
    hint = f"{near} ({listed})" if near else listed
    raise InputError(f"there is no file, folder or shipped domain {_cut(text)!r}", hint=hint)


def is_file(text: str) -> bool:
    """Return whether `text` is the path of a file; a text that is too long for a path is none."""
    return os.path.isfile(text)  # noqa: PTH113 - a path object raises an error for such a text


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_QUOTE else f"{name[:_LONGEST_QUOTE]}…"


def _open_folder(folder: Path) -> Source:
    """Open the Python package that `folder` is, if it has problems, or else the files in it."""
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


def _load_file(text: str, source: Source) -> AnyProblem:
    if not _PYTHON.match(text):
        return read_problem_file(Path(text), source)
    problem = _first_problem(open_source(text))
    check_domain(problem, source.domain(), text)
    return problem


def _first_problem(source: Source) -> AnyProblem:
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
    return InputError(f"{source.name} has no problem {_cut(wanted)!r}, and there is no such file", hint=hint)
