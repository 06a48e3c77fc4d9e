"""The language server, over pygls: one handler for each request of the protocol.

`forethought lsp` starts it on standard input and output, as editors do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from executor.desk.lsp.answers import Offer, complete, describe
from executor.desk.lsp.diagnostics import Diagnostic, find_diagnostics
from executor.desk.lsp.names import Entry, Index, Kind, Occurrence
from executor.desk.lsp.workspace import Texts

PAUSE: Final = 0.25
"""Seconds without a change after which a text is checked."""

_SYMBOLS: Final = {
    Kind.DOMAIN: types.SymbolKind.Module,
    Kind.PROBLEM: types.SymbolKind.Package,
    Kind.TYPE: types.SymbolKind.Class,
    Kind.OBJECT: types.SymbolKind.Object,
    Kind.PREDICATE: types.SymbolKind.Boolean,
    Kind.FUNCTION: types.SymbolKind.Number,
    Kind.ACTION: types.SymbolKind.Function,
    Kind.TASK: types.SymbolKind.Interface,
    Kind.METHOD: types.SymbolKind.Method,
    Kind.VARIABLE: types.SymbolKind.Variable,
}
_COMPLETIONS: Final = {
    Kind.TYPE: types.CompletionItemKind.Class,
    Kind.OBJECT: types.CompletionItemKind.Value,
    Kind.PREDICATE: types.CompletionItemKind.Field,
    Kind.FUNCTION: types.CompletionItemKind.Unit,
    Kind.ACTION: types.CompletionItemKind.Function,
    Kind.TASK: types.CompletionItemKind.Interface,
    Kind.METHOD: types.CompletionItemKind.Method,
    Kind.VARIABLE: types.CompletionItemKind.Variable,
}
_LEVELS: Final = {
    "ERROR": types.DiagnosticSeverity.Error,
    "WARNING": types.DiagnosticSeverity.Warning,
    "HINT": types.DiagnosticSeverity.Information,
}
Format = Callable[[Path, str], str]


class DeskServer(LanguageServer):
    """A language server with the texts of its workspace, and what each was last found to have."""

    def __init__(self, version: str, format_text: Format) -> None:
        super().__init__("forethought", version)
        self.texts = Texts()
        self.diagnostics: dict[Path, list[Diagnostic]] = {}
        self.format_text = format_text
        self.waiting: dict[Path, tuple[asyncio.Task[None], threading.Event]] = {}
        self.checker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="check")

    def place(self, uri: str, position: types.Position) -> tuple[Path, Index, int] | None:
        """Return the file, its index and the offset of a position; None where the file cannot be read."""
        path = path_of(uri)
        index = self.texts.index(path)
        return None if index is None else (path, index, index.offset(position.line, position.character))

    def occurrence(self, uri: str, position: types.Position) -> tuple[Path, Occurrence] | None:
        """Return the name at a position."""
        place = self.place(uri, position)
        if place is None or self.texts.is_stale(place[0]):
            return None
        path, index, offset = place
        found = index.at(offset)
        return None if found is None else (path, found)

    def check_soon(self, path: Path) -> None:
        """Check `path` when nobody has changed it for a while, and after it the open files of the same domain."""
        self.stop_checking(path)
        cancel = threading.Event()
        self.waiting[path] = asyncio.ensure_future(self._check(path, cancel)), cancel

    def stop_checking(self, path: Path) -> None:
        """Call off the check of `path` that waits or goes on, if there is one."""
        if path in self.waiting:
            task, cancel = self.waiting.pop(path)
            cancel.set()
            task.cancel()

    async def _check(self, path: Path, cancel: threading.Event) -> None:
        """Check `path` and its dependents in the one thread for that, so that checks do not pile up."""
        await asyncio.sleep(PAUSE)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.checker, self.texts.refresh, path)
        for each in dict.fromkeys([path, *self._dependents(path)]):
            find = partial(find_diagnostics, each, self.texts, cancel=cancel)
            found = await loop.run_in_executor(self.checker, find)
            if each in self.texts.paths:
                self.publish(each, found)

    def _dependents(self, path: Path) -> list[Path]:
        index = self.texts.index(path)
        if index is None or not index.declares_domain:
            return []
        return [each for each in self.texts.related(path) if each in self.texts.paths]

    def publish(self, path: Path, found: Sequence[Diagnostic]) -> None:
        """Tell the editor what was found in a text."""
        self.diagnostics[path] = list(found)
        index = Index(self.texts.text(path) or "")
        shown = [
            types.Diagnostic(
                range_of(index, each.start, each.end),
                each.message,
                severity=_LEVELS[each.level],
                code=each.code or None,
                source="forethought",
            )
            for each in found
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri_of(path), shown))


def path_of(uri: str) -> Path:
    """Return the path of a file's address; that of an unsaved text is its name."""
    return Path(to_fs_path(uri) or uri.partition(":")[2] or uri)


def uri_of(path: Path) -> str:
    """Return the address of a file."""
    return from_fs_path(str(path)) or str(path)


def range_of(index: Index, start: int, end: int) -> types.Range:
    """Return the range of a part of a text."""
    return types.Range(types.Position(*index.position(start)), types.Position(*index.position(end)))


def make_server(version: str, format_text: Format) -> DeskServer:
    """Return a server with all its handlers; `format_text` takes a path, whose ending counts, and a text."""
    server = DeskServer(version, format_text)
    _follow_texts(server)
    _answer_about_names(server)
    _answer_about_files(server)
    return server


def _follow_texts(server: DeskServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        server.texts.put(path, params.text_document.text)
        server.check_soon(path)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        server.texts.put(path, server.workspace.get_text_document(params.text_document.uri).source)
        server.check_soon(path)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.check_soon(path_of(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        server.stop_checking(path)
        server.texts.close(path)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


def _answer_about_names(server: DeskServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        found = server.occurrence(params.text_document.uri, params.position)
        if found is None:
            return None
        path, name = found
        text = describe(name, server.texts.related(path))
        index = server.texts.index(path)
        assert index is not None
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, range_of(index, name.start, name.end))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        found = server.occurrence(params.text_document.uri, params.position)
        if found is None:
            return []
        everywhere = list(server.texts.occurrences(*found))
        declared = [each for each in everywhere if each[2].is_declaration]
        return [_location(*each) for each in declared or everywhere[:1]]

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams) -> list[types.Location]:
        found = server.occurrence(params.text_document.uri, params.position)
        if found is None:
            return []
        wanted = params.context.include_declaration
        return [_location(*each) for each in server.texts.occurrences(*found) if wanted or not each[2].is_declaration]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: types.PrepareRenameParams) -> types.Range | None:
        found = server.occurrence(params.text_document.uri, params.position)
        index = None if found is None else server.texts.index(found[0])
        return None if found is None or index is None else range_of(index, found[1].start, found[1].end)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        found = server.occurrence(params.text_document.uri, params.position)
        if found is None:
            return None
        name = params.new_name
        if found[1].name.startswith("?") and not name.startswith("?"):
            name = f"?{name}"
        changes: dict[str, list[types.TextEdit]] = {}
        for path, index, each in server.texts.occurrences(*found):
            changes.setdefault(uri_of(path), []).append(types.TextEdit(range_of(index, each.start, each.end), name))
        return types.WorkspaceEdit(changes=changes)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["(", "?", ":", " ", '"', ","])
    )
    def completion(params: types.CompletionParams) -> types.CompletionList:
        path = path_of(params.text_document.uri)
        text, own = server.texts.text(path), server.texts.index(path)
        if text is None:
            return types.CompletionList(is_incomplete=False, items=[])
        offset = Index(text).offset(params.position.line, params.position.character)
        offers = complete(path, text, offset, server.texts.related(path), own or Index(text))
        return types.CompletionList(is_incomplete=False, items=[_item(each) for each in offers])


def _answer_about_files(server: DeskServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        index = server.texts.index(path_of(params.text_document.uri))
        return [] if index is None else [_symbol(index, each) for each in index.outline]

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        path = path_of(params.text_document.uri)
        text = server.texts.text(path)
        if text is None:
            return None
        try:
            formatted = server.format_text(path, text)
        except Exception as error:  # noqa: BLE001 - a text that cannot be formatted stays as it is
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"not formatted: {error}"))
            return None
        if formatted == text:
            return []
        return [types.TextEdit(range_of(Index(text), 0, len(text)), formatted)]

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        path = path_of(params.text_document.uri)
        index = Index(server.texts.text(path) or "")
        start = index.offset(params.range.start.line, params.range.start.character)
        end = index.offset(params.range.end.line, params.range.end.character)
        found = [each for each in server.diagnostics.get(path, ()) if each.start <= end and each.end >= start]
        return [action for each in found for action in _quick_fixes(path, index, each)]


def _location(path: Path, index: Index, each: Occurrence) -> types.Location:
    return types.Location(uri_of(path), range_of(index, each.start, each.end))


def _item(offer: Offer) -> types.CompletionItem:
    kind = types.CompletionItemKind.Keyword if offer.kind is None else _COMPLETIONS.get(offer.kind)
    return types.CompletionItem(offer.name, kind=kind, detail=offer.detail or None)


def _symbol(index: Index, entry: Entry) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        entry.name or "?",
        _SYMBOLS[entry.kind],
        range_of(index, entry.start, max(entry.end, entry.at + len(entry.name))),
        range_of(index, entry.at, entry.at + len(entry.name)),
        detail=entry.detail or None,
        children=[_symbol(index, each) for each in entry.parts],
    )


def _quick_fixes(path: Path, index: Index, found: Diagnostic) -> Iterable[types.CodeAction]:
    if found.fix is None:
        return
    title, edits = found.fix
    changes: dict[str, Any] = {
        uri_of(path): [types.TextEdit(range_of(index, start, end), text) for start, end, text in edits]
    }
    yield types.CodeAction(title, kind=types.CodeActionKind.QuickFix, edit=types.WorkspaceEdit(changes=changes))
