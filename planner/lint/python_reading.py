"""Read a Python file as far as possible: execute it, mend or leave out what is wrong, and execute it again.

Python stops at its first mistake. Lint notes it, takes its suggestion or leaves out the smallest part that holds it (an
item of a list, a keyword, a declaration) in the syntax tree, and executes that, until nothing is wrong. What rests on
names that were left out is not told.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.errors import InputError, Location
from planner.language.loading.python_files import PythonSource, execute_file, find_line
from planner.language.wrong_words import suggested_word
from planner.lightweight import Final
from planner.lint.outlines import SourceText
from planner.lint.reading import MOST, SECONDS, Reading, note
from planner.problem_kinds import AnyDomain, AnyProblem

RAISES: Final = "the file raises "
"""Beginning of messages about exceptions that are not ours."""
_UNKNOWN_KEYWORD: Final = re.compile(r"has no field '|unexpected keyword argument '")
_NAME_ERROR: Final = re.compile(r"the file raises (?:NameError|UnboundLocalError).*?'(\w+)'")
_OF_NOTHING: Final = re.compile(r"the file raises (?:AttributeError|TypeError): .*NoneType")
_NEAR_ENOUGH: Final = 2
"""Times that one mistake may be met before its whole statement is left out, and then reading ends."""

Step = str | int


@dataclass(slots=True)
class _Part:
    """A part of a syntax tree: the item `key` of a list of its parent, with the statement around it."""

    node: ast.AST
    owner: ast.AST
    key: str
    place: int | None
    statement: ast.stmt


@dataclass(slots=True)
class _File:
    """The syntax tree of a file while it is mended, and the names that what is left out would have declared."""

    source: SourceText
    tree: ast.Module
    tainted: set[str] = field(default_factory=set)
    has_gaps: bool = False


def read_python(source: SourceText, found: Reading, texts: Mapping[str, SourceText]) -> None:
    """Read the domain and the problems of a Python file into `found`, with all mistakes."""
    file = _parse(source, found, texts)
    until = time.monotonic() + SECONDS
    met = Counter[tuple[Any, ...]]()
    while file is not None and met.total() < MOST:
        path = Path(source.name)
        try:
            found.domain, found.problems = _execute(file.tree, path)
        except InputError as error:
            located = _locate(error, path)
            part = _find_part(file.tree, located, path)
            own, place = located.location, error.location
            if (
                own is not None
                and place is not None
                and place.line
                and own.source != place.source
                and found.mistakes == []
            ):
                note(error, found, texts, file.tainted)  # it is in a module that the file imports
            else:
                _note(located, part, file, found, texts)
            this = (located.location, *located.path, located.message)
            met[this] += 1
            if part is None or met[this] > _NEAR_ENOUGH + 1 or time.monotonic() > until:
                found.is_partial = True
                return
            if met[this] == 1 and _mend(part, located):
                continue
            _leave_out(part, located, file, whole=met[this] > _NEAR_ENOUGH)
            found.is_partial = file.has_gaps = True
            found.spoilt.update(_declared_by(part.statement))
        else:
            return


def _execute(tree: ast.Module, path: Path) -> tuple[AnyDomain, list[AnyProblem]]:
    """Return the domain and the problems that the file at `path` leaves behind if `tree` is its text."""
    quiet = io.StringIO()  # what the file prints was printed when it was executed first
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        loaded = PythonSource(path, values=vars(execute_file(path, tree)))
        return loaded.domain(), [*loaded.problems().values()]


def _locate(error: InputError, path: Path) -> InputError:
    """Return `error` with the line of the file that led to it, where it has another place or none."""
    place = error.location
    if place is not None and place.line is not None and Path(place.source).resolve() == path.resolve():
        return error
    line = find_line(error, path)
    return error if line is None else type(error)(error.message, Location(str(path), line), error.hint)


def _parse(source: SourceText, found: Reading, texts: Mapping[str, SourceText]) -> _File | None:
    """Return the syntax tree; paragraphs that are no Python are noted and left out."""
    text, tainted = source.text, set[str]()
    for _ in range(MOST):
        try:
            return _File(source, ast.parse(text), tainted, bool(tainted))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            message = getattr(error, "msg", str(error))
            at = _find_opening(text, message) or (line, getattr(error, "offset", None) or 1)
            note(InputError(f"this is no Python: {message}", Location(source.name, *at)), found, texts, tainted)
            found.is_partial = True
            changed = _blank_paragraph(text, line, tainted)
            if changed == text:
                return None
            text = changed
    return None


def _find_opening(text: str, message: str) -> tuple[int, int] | None:
    """Return the line and column of the bracket of an earlier line that `message` says is closed by another one."""
    told = re.search(r"does not match opening parenthesis '(.)' on line (\d+)", message)
    if told is None:
        return None
    line = text.split("\n")[int(told[2]) - 1]
    opened: list[int] = []
    for match in re.finditer(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#.*|[][(){}]", line):
        if match[0] in ("(", "[", "{"):
            opened.append(match.start())
        elif match[0] in (")", "]", "}") and opened:
            opened.pop()
    own = [each for each in opened if line[each] == told[1]]
    return (int(told[2]), own[-1] + 1) if own else None


def _blank_paragraph(text: str, line: int, tainted: set[str]) -> str:
    """Blank out the statement at the outermost level around `line`, and taint the names that it may define."""
    lines = text.split("\n")
    first = min(line, len(lines)) - 1
    while first > 0 and not re.match(r"[^\s#)\]}]", lines[first]):
        first -= 1
    while first > 0 and re.match(r"@", lines[first - 1]):
        first -= 1
    last = max(first + 1, min(line, len(lines)))
    while last < len(lines) and not re.match(r"[^\s#)\]}]", lines[last]):
        last += 1
    for each in lines[first:last]:
        tainted.update(_names_in(each), re.findall(r"[\w-]+(?=\()|(?<=[\"'])[\w-]+", each))
    return "\n".join([*lines[:first], *[""] * (last - first), *lines[last:]])


def _names_in(line: str) -> set[str]:
    found = re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)|(\w+)\s*=", line)
    return {each for each in found.groups() if each} if found else set()


def _note(error: InputError, part: _Part | None, file: _File, found: Reading, texts: Mapping[str, SourceText]) -> None:
    """Note the mistake at its place, unless it follows from what was left out."""
    missing = _NAME_ERROR.search(error.message)
    if missing and missing[1] in file.tainted:
        return
    if file.has_gaps and (_OF_NOTHING.search(error.message) or error.location is None or error.location.line is None):
        return
    note(error, found, texts, file.tainted, None if part is None else _offsets(part.node, file.source))


def _offsets(node: Any, source: SourceText) -> tuple[int, int]:
    """Return where `node` begins and ends, in characters."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.end_lineno, node.end_col_offset = node.body[0].lineno, node.body[0].col_offset  # its head alone
    lines = source.text.split("\n")

    def offset(line: int, column: int) -> int:
        return source.offset(line, len(lines[line - 1].encode()[:column].decode(errors="replace")) + 1)

    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)


def _find_part(tree: ast.Module, error: InputError, path: Path) -> _Part | None:
    """Return the smallest part of the tree that holds the mistake; None where it is not in the file."""
    place = error.location
    if place is None or place.line is None or Path(place.source).resolve() != path.resolve():
        return None
    whole = _find_statement(tree, place.line)
    if whole is None or (error.message.startswith(RAISES) and not _UNKNOWN_KEYWORD.search(error.message)):
        return whole
    calls = [each for each in ast.walk(whole.node) if isinstance(each, ast.Call)]
    if isinstance(whole.node, ast.FunctionDef | ast.AsyncFunctionDef):
        calls = [each for each in whole.node.decorator_list if isinstance(each, ast.Call)]
    for call in [each for each in calls if each.lineno == place.line] or calls:
        keyword = _find_keyword(call, error, whole.statement)
        if keyword is not None:
            return keyword
        found = _enter_call(call, error.path, whole.statement) if error.path else None
        if found is not None:
            return found
    return _find_named(whole, error) or whole


def _find_keyword(call: ast.Call, error: InputError, statement: ast.stmt) -> _Part | None:
    """Return the keyword of `call` that nothing there has, if the mistake is one."""
    if not _UNKNOWN_KEYWORD.search(error.message):
        return None
    words = re.findall(r"'(\w+)'", error.message)
    for place, each in enumerate(call.keywords):
        if each.arg in words:
            return _Part(each, call, "keywords", place, statement)
    return None


def _find_named(whole: _Part, error: InputError) -> _Part | None:
    """Return the item of a list or entry of a dictionary in which a name stands that the message quotes."""
    for word in re.findall(r"'([\w-]+)'", error.message):
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        for owner in ast.walk(whole.node):
            if isinstance(owner, ast.Dict):
                for place, (key, value) in enumerate(zip(owner.keys, owner.values, strict=True)):
                    if key is not None and any(_has_text(each, pattern) for each in (key, value)):
                        return replace_node(_Part(value, owner, "values", place, whole.statement), key, value)
            elif isinstance(owner, ast.List | ast.Tuple | ast.Set):
                for place, each in enumerate(owner.elts):
                    if _has_text(each, pattern):
                        return _Part(each, owner, "elts", place, whole.statement)
    return None


def _has_text(node: ast.expr, pattern: re.Pattern[str]) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.search(node.value) is not None


def _find_statement(tree: ast.Module, line: int) -> _Part | None:
    """Return the innermost statement around `line`."""
    around = [
        each for each in _statements(tree) if _first_line(each.statement) <= line <= (each.statement.end_lineno or line)
    ]
    return max(around, key=lambda each: _first_line(each.statement), default=None)


def _statements(tree: ast.Module) -> Iterator[_Part]:
    """Yield all statements, the outer ones before those in them."""
    for owner in ast.walk(tree):
        for key in ("body", "orelse", "finalbody"):
            block = getattr(owner, key, None)
            for place, each in enumerate(block if isinstance(block, list) else ()):
                if isinstance(each, ast.stmt):
                    yield _Part(each, owner, key, place, each)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *[each.lineno for each in decorators]])


def _enter_call(call: ast.Call, path: Sequence[Step], statement: ast.stmt) -> _Part | None:
    """Return the part of `call` to which `path` leads: a keyword, and then items of lists and dictionaries."""
    head = path[0]
    for place, keyword in enumerate(call.keywords):
        if keyword.arg == head:
            whole = _Part(keyword.value, call, "keywords", place, statement)
            return _enter(keyword.value, path[1:], whole)
    if head == "parameters" and len(call.args) > 1:
        return _enter(call.args[1], path[1:], _Part(call.args[1], call, "args", 1, statement))
    return None


def _enter(node: ast.expr, path: Sequence[Step], whole: _Part) -> _Part:
    """Return the deepest part of `node` on the way of `path`; `whole` is that of `node` itself."""
    if not path:
        return whole
    step, rest = path[0], path[1:]
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(step, int) and step < len(node.elts):
        return _enter(node.elts[step], rest, _Part(node.elts[step], node, "elts", step, whole.statement))
    if isinstance(node, ast.Dict):
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if isinstance(key, ast.Constant) and key.value == step:
                inner = _Part(value, node, "values", place, whole.statement)
                return _enter(value, rest, inner) if rest else replace_node(inner, key, value)
    if isinstance(node, ast.Call) and isinstance(step, str):
        return _enter_call(node, path, whole.statement) or whole
    return whole


def replace_node(part: _Part, key: ast.expr, value: ast.expr) -> _Part:
    """Return the part for a whole entry of a dictionary, from its key to the end of its value."""
    entry = ast.Dict([key], [value])
    entry.lineno, entry.col_offset = key.lineno, key.col_offset
    entry.end_lineno, entry.end_col_offset = value.end_lineno, value.end_col_offset
    return _Part(entry, part.owner, part.key, part.place, part.statement)


def _mend(part: _Part, error: InputError) -> bool:
    """Take the suggestion of `error` in texts and keywords of the part; return whether that changed something."""
    pair = suggested_word(error.message, error.hint)
    if pair is None:
        return False
    word, suggestion = pair
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    for node in ast.walk(part.node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.search(node.value):
            node.value = pattern.sub(suggestion, node.value)
            return True
        if isinstance(node, ast.keyword) and node.arg == word:
            node.arg = suggestion
            return True
    return False


def _leave_out(part: _Part, error: InputError, file: _File, *, whole: bool) -> None:
    """Take the part out of the tree, or its statement: where its parameters are wrong, and where `whole`."""
    file.tainted.update(re.findall(r"unknown type '([^']+)'", error.message))
    if part.node is part.statement or whole or "parameters" in error.path[:1] or part.key == "args":
        part = _statement_of(part, file.tree)
        file.tainted.update(_defined_by(part.statement))
        file.tainted.update(name.partition(" ")[2] for name in _declared_by(part.statement))
    for node in ast.walk(part.node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            file.tainted.update(re.findall(r"[\w-]+(?=\()", node.value))
    if isinstance(part.owner, ast.Dict) and part.place is not None:
        key = part.owner.keys[part.place]
        file.tainted.update([key.value] if isinstance(key, ast.Constant) and isinstance(key.value, str) else [])
    block: list[Any] = getattr(part.owner, part.key)
    assert part.place is not None
    if isinstance(part.node, ast.stmt):
        block[part.place] = ast.copy_location(ast.Pass(), part.node)
    else:
        del block[part.place]
        if isinstance(part.owner, ast.Dict):
            del part.owner.keys[part.place]


def _statement_of(part: _Part, tree: ast.Module) -> _Part:
    """Return the statement of the part as a part."""
    return next((each for each in _statements(tree) if each.statement is part.statement), part)


def _defined_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the Python names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _declared_by(statement: ast.stmt) -> Iterator[str]:
    """Yield what the calls and decorators of a statement declare, such as "action drive"."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield f"action {statement.name}"
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield f"{node.func.attr} {first.value.partition('(')[0]}"
