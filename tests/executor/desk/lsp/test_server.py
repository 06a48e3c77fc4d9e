"""The language server as an editor sees it: a real client starts the command and talks to it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from executor.desk.lsp.server import uri_of

DOMAIN = """domain: courier
types: {robot: object, room: object}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
"""
PROBLEM = """problem: one-parcel
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: ["at(r2, lab)"]
"""
PDDL = """(define (domain lamp)
  (:predicates (dark) (lit))
  (:action light :parameters () :precondition (dark) :effect (and (lit) (not (dark)))))
"""


class Editor:
    """A client with files in a folder, and what the server published about each."""

    def __init__(self, folder: Path, client: LanguageClient) -> None:
        self.folder, self.client = folder, client
        self.published: dict[str, list[types.Diagnostic]] = {}
        self.news = asyncio.Event()
        self.versions: dict[str, int] = {}

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def take(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = list(params.diagnostics)
            self.news.set()

    def uri(self, name: str) -> str:
        return uri_of(self.folder / name)

    def open(self, name: str, text: str, language: str = "yaml") -> None:
        (self.folder / name).write_text(text, encoding="utf-8")
        item = types.TextDocumentItem(self.uri(name), language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        version = self.versions[name] = self.versions.get(name, 1) + 1
        document = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def diagnostics(self, name: str) -> list[types.Diagnostic]:
        """Wait for the next diagnostics of a file."""
        self.published.pop(self.uri(name), None)
        while self.uri(name) not in self.published:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 30)
        return self.published[self.uri(name)]

    def at(self, name: str, text: str, wanted: str, place: int = 0) -> dict[str, Any]:
        """Return the parameters of a request about the place of `wanted` in `text`."""
        before = text[: text.index(wanted) + place]
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        return {
            "text_document": types.TextDocumentIdentifier(self.uri(name)),
            "position": types.Position(line, column),
        }


@asynccontextmanager
async def editor(folder: Path) -> AsyncIterator[Editor]:
    client = LanguageClient("editor", "1")
    found = Editor(folder, client)
    await client.start_io(sys.executable, "-m", "planner.cli", "lsp")
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=uri_of(folder)))
    client.initialized(types.InitializedParams())
    try:
        yield found
    finally:
        await asyncio.wait_for(client.shutdown_async(None), 10)
        client.exit(None)
        await client.stop()


def play(folder: Path, scene: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        async with editor(folder) as found:
            await scene(found)

    asyncio.run(run())


def test_findings_come_while_one_types(tmp_path: Path) -> None:
    async def scene(desk: Editor) -> None:
        desk.open("courier.yaml", DOMAIN)
        assert await desk.diagnostics("courier.yaml") == []
        broken = DOMAIN.replace('provides: ["at(robot, target)"]', 'provides: ["at(robott, target)"]')
        desk.change("courier.yaml", broken)
        (found, *_) = await desk.diagnostics("courier.yaml")
        assert found.severity is types.DiagnosticSeverity.Error
        assert "robott" in found.message
        assert found.range.start.line == 6
        desk.change("courier.yaml", DOMAIN[:130])
        assert await desk.diagnostics("courier.yaml")
        desk.change("courier.yaml", DOMAIN)
        assert await desk.diagnostics("courier.yaml") == []

    play(tmp_path, scene)


def test_a_problem_is_checked_with_the_domain_beside_it(tmp_path: Path) -> None:
    async def scene(desk: Editor) -> None:
        desk.open("courier.yaml", DOMAIN)
        desk.open("parcel.yaml", PROBLEM.replace('goal: ["at(r2, lab)"]', 'goal: ["at(r2, lob)"]'))
        (found, *_) = await desk.diagnostics("parcel.yaml")
        assert "lob" in found.message
        assert found.range.start.line == 4

    play(tmp_path, scene)


def test_names_are_explained_found_and_renamed(tmp_path: Path) -> None:
    async def scene(desk: Editor) -> None:
        desk.open("courier.yaml", DOMAIN)
        desk.open("parcel.yaml", PROBLEM)
        client = desk.client
        here = desk.at("parcel.yaml", PROBLEM, "at(r2, lab)")
        hover = await client.text_document_hover_async(types.HoverParams(**here))
        assert hover is not None
        assert "**predicate** `at`" in hover.contents.value
        assert "provided by `move`" in hover.contents.value
        everywhere = await client.text_document_references_async(
            types.ReferenceParams(**here, context=types.ReferenceContext(include_declaration=True))
        )
        assert (
            sorted(each.uri.rsplit("/", 1)[1] for each in everywhere or [])
            == ["courier.yaml"] * 3 + ["parcel.yaml"] * 2
        )
        edit = await client.text_document_rename_async(types.RenameParams(**here, new_name="is-in"))
        assert edit is not None
        assert {uri.rsplit("/", 1)[1]: len(edits) for uri, edits in (edit.changes or {}).items()} == {
            "courier.yaml": 3,
            "parcel.yaml": 2,
        }
        target = desk.at("courier.yaml", DOMAIN, "origin, target", 1)
        declared = await client.text_document_definition_async(types.DefinitionParams(**target))
        assert [each.range.start.line for each in declared or []] == [4]

    play(tmp_path, scene)


def test_completion_and_outline(tmp_path: Path) -> None:
    async def scene(desk: Editor) -> None:
        desk.open("courier.yaml", DOMAIN)
        desk.open("lamp.pddl", PDDL, "pddl")
        client = desk.client
        inside = desk.at("courier.yaml", DOMAIN, "at(robot, origin)", 3)
        offers = await client.text_document_completion_async(types.CompletionParams(**inside))
        assert {"robot", "origin", "target"} <= {each.label for each in offers.items}
        inside = desk.at("lamp.pddl", PDDL, "dark) :effect", 0)
        offers = await client.text_document_completion_async(types.CompletionParams(**inside))
        assert {"dark", "lit", "and"} <= {each.label for each in offers.items}
        document = types.TextDocumentIdentifier(desk.uri("lamp.pddl"))
        outline = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert [each.name for each in outline or []] == ["lamp"]
        assert [each.name for each in outline[0].children] == ["dark", "lit", "light"]

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "text", ["", "\ufeff", "(((", "a: [", "a: &x [*x]", "{" * 500, "(define (domain d) (:action", "domain: d\x00"]
)
@pytest.mark.parametrize("name", ["odd.yaml", "odd.pddl", "odd.hddl"])
def test_odd_texts_do_not_stop_the_index(text: str, name: str, tmp_path: Path) -> None:
    from executor.desk.lsp.workspace import Texts

    texts = Texts()
    texts.put(tmp_path / name, text)
    texts.related(tmp_path / name)
    texts.close(tmp_path / name)
    assert texts.paths == []


def test_a_text_is_formatted_and_a_finding_mended(tmp_path: Path) -> None:
    untidy = DOMAIN.replace("    provides:", "    provides :").replace(
        "types: {robot: object,", "types:   {robot:  object,"
    )

    async def scene(desk: Editor) -> None:
        desk.open("courier.yaml", untidy)
        document = types.TextDocumentIdentifier(desk.uri("courier.yaml"))
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        (edit,) = (
            await desk.client.text_document_formatting_async(types.DocumentFormattingParams(document, options)) or []
        )
        assert "types: {robot: object, room: object}" in edit.new_text
        misspelt = DOMAIN.replace("door(origin, target)", "door(orgin, target)")
        desk.change("courier.yaml", misspelt)
        (found, *_) = await desk.diagnostics("courier.yaml")
        context = types.CodeActionContext([found])
        actions = await desk.client.text_document_code_action_async(
            types.CodeActionParams(document, found.range, context)
        )
        for action in actions or []:
            assert action.edit is not None
            assert action.edit.changes

    play(tmp_path, scene)
