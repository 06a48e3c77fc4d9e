"""Load domains and problems from Python files, which are executed, and domains that distributions ship.

An entry point of the group `forethought.domains` leads to a module with `domain()` (a `Domain` or `DomainModel`) and
`problems()` (a mapping from names to problems, made when looked up).
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from planner.errors import DeclarationError, ForethoughtError, InputError, Location, did_you_mean
from planner.language.declare import Domain
from planner.language.pddl.syntax import read_text
from planner.model import DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem, Declarer, is_other_domain, is_other_problem

Value = TypeVar("Value")


class PythonSource:
    """A Python file, or one name in it (`path:name`), which may also be a function without parameters."""

    def __init__(self, path: Path, attribute: str | None = None, *, values: Mapping[str, Any] | None = None) -> None:
        self._path = path
        self._attribute = attribute
        self._values = values
        self.name = f"{path}:{attribute}" if attribute else str(path)

    @cached_property
    def _left(self) -> dict[str, Any]:
        """The values that the file defines, by name."""
        return vars(execute_file(self._path)) if self._values is None else {**self._values}

    def values(self, kind: type[Value]) -> list[Value]:
        """Return the values of a type that the file defines, each once."""
        return list({id(value): value for value in self._left.values() if isinstance(value, kind)}.values())

    @cached_property
    def _names(self) -> dict[str, Any]:
        names = self._left
        if self._attribute is None:
            return names
        if self._attribute not in names:
            public = [name for name in names if not name.startswith("_")]
            near = did_you_mean(self._attribute, public)
            raise InputError(f"the file has no name {self._attribute!r}", Location(str(self._path)), near)
        return {self._attribute: self._call_if_function(names[self._attribute])}

    def _call_if_function(self, value: Any) -> Any:
        if callable(value) and not isinstance(value, Domain | Declarer):
            with report_as_input_error(self._path):
                return value()
        return value

    @cached_property
    def _problems(self) -> dict[str, AnyProblem]:
        """Problems by their names, or by those of their variables where names repeat."""
        found: dict[str, AnyProblem] = {}
        for variable, value in self._names.items():
            if (isinstance(value, Problem) or is_other_problem(value)) and not any(
                value is each for each in found.values()
            ):
                found[value.name if value.name not in found else variable] = value
        return found

    def domain(self) -> AnyDomain:
        """Return the one domain of the file: a declared one, a model, or that of its problems.

        Domains of other kinds than the classical one come first: their classical parts may stand beside them.
        """
        values = self._names.items()
        found: dict[str, Any]
        found = {name: value for name, value in values if isinstance(value, Declarer) or is_other_domain(value)}
        found = found or {name: value for name, value in values if isinstance(value, Domain | DomainModel)}
        distinct = {id(value): name for name, value in reversed(found.items())}
        if not found and "domain" in self._names:
            value = self._call_if_function(self._names["domain"])
            return model_of(value, self.name)
        if not found and self._problems:
            return model_of(next(iter(self._problems.values())), self.name)
        if not found:
            hint = "it needs a value made with Domain(…), or a Problem"
            raise InputError("the file leaves no domain behind", Location(str(self._path)), hint)
        if len(distinct) > 1:
            names = ", ".join(sorted(distinct.values()))
            hint = f"name one: {self._path}:{min(distinct.values())}"
            raise InputError(f"the file has several domains: {names}", Location(str(self._path)), hint)
        with report_as_input_error(self._path):
            return model_of(next(iter(found.values())), self.name)

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return the problems of the file, in the order of their variables."""
        if self._problems:
            return self._problems
        maker = self._names.get("problems")
        found = self._call_if_function(maker) if callable(maker) else maker
        return found if isinstance(found, Mapping) else {}


def model_of(value: Any, name: str) -> AnyDomain:
    """Return the model of `value`, which should be a domain; messages call it `name`."""
    found: AnyDomain
    if isinstance(value, Domain | Declarer):
        return value.model
    if isinstance(value, DomainModel) or is_other_domain(value):
        found = value
        return found
    if isinstance(value, Problem) or is_other_problem(value):
        found = value.domain
        return found
    raise InputError(f"{name} gives {type(value).__name__}, which is no domain", hint="return Domain(…)")


def execute_file(path: Path, tree: ast.Module | None = None) -> ModuleType:
    """Execute the file at `path` as a new module; a mistake in it is an `InputError` at its line.

    With `tree`, that is executed in place of its text. The output of the file goes to stderr, since stdout is for
    results.
    """
    if path.name == "__init__.py" and tree is None:
        return _import_package(path)
    name = _module_name(path)
    module = ModuleType(name)
    module.__file__ = str(path)
    text = read_text(path, DeclarationError) if tree is None else tree
    sys.modules[name] = module
    with report_as_input_error(path), _importable(path.parent), redirect_stdout(sys.stderr):
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user names the file
    return module


def _module_name(path: Path) -> str:
    """Make a unique name for the module of a file."""
    return f"forethought_file_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"


def _import_package(path: Path) -> ModuleType:
    read_text(path, DeclarationError)  # which says what is wrong with a file that cannot be read
    name, folder = _module_name(path), path.parent
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise InputError("the folder cannot be imported", Location(str(folder)))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with report_as_input_error(path), redirect_stdout(sys.stderr):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let the file import its neighbours during execution, as Python itself does."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


@contextmanager
def report_as_input_error(path: Path) -> Iterator[None]:
    """Turn any exception of the user's file into an `InputError` at its line there."""
    try:
        yield
    except (ForethoughtError, MemoryError):
        raise
    except SyntaxError as error:
        place = Location(error.filename or str(path), error.lineno, error.offset)
        raise DeclarationError(f"this is no Python: {error.msg}", place) from None
    except (Exception, SystemExit) as error:
        text, kind = str(error), type(error).__name__
        described = f"{kind}: {text}" if text else kind
        raise DeclarationError(f"the file raises {described}", Location(str(path), find_line(error, path))) from error


def find_line(error: BaseException, path: Path) -> int | None:
    """Return the last line of the file at `path` in the traceback of `error`."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) or Path(frame.filename) == path.resolve()
    ]
    return lines[-1] if lines else None


GROUP: Final = "forethought.domains"


def list_shipped_names() -> list[str]:
    """Return the names of all shipped domains, sorted."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


class ShippedSource:
    """A shipped domain."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _module(self) -> Any:
        entries = {entry.value: entry for entry in entry_points(group=GROUP) if entry.name == self.name}
        if len(entries) > 1:
            places = " and ".join(sorted(entries))
            raise InputError(f"the domain name {self.name!r} is ambiguous: it leads to {places}")
        (entry,) = entries.values()
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            message = f"the shipped domain {entry.name!r} cannot be imported from {entry.value}: {error}"
            raise InputError(message) from error

    @property
    def folder(self) -> Path | None:
        """The folder of its files, or None where it has none."""
        file = getattr(self._module, "__file__", None)
        return Path(file).parent if file else None

    def domain(self) -> AnyDomain:
        """Return the domain."""
        return model_of(self._call_function("domain"), f"domain() of {self.name}")

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return its problems by name."""
        found = self._call_function("problems")
        if not isinstance(found, Mapping):
            raise InputError(f"problems() of {self.name} gives {type(found).__name__}, not a mapping from names")
        return found

    def _call_function(self, name: str) -> Any:
        function = getattr(self._module, name, None)
        if not callable(function):
            raise InputError(f"the shipped domain {self.name!r} has no function {name}()")
        with report_as_input_error(Path(str(getattr(self._module, "__file__", None) or self._module))):
            return function()
