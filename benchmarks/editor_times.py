"""How long an editor waits for the language server at a library of tools in YAML, on the clock.

`python -m benchmarks.editor_times` opens libraries, changes them, and prints for each the time from the change to the
diagnostics, and what questions about a name, and completions, take that are asked meanwhile and after.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from benchmarks.tools.tool_library import declare_problem
from benchmarks.tools.tool_profiles import generate
from planner.language.documents.document_writer import write_yaml

ROOT: Final = Path(__file__).parents[1]
PATIENCE: Final = 120.0
"""Most seconds that diagnostics are waited for."""
BETWEEN: Final = 0.2
"""Seconds between two questions."""


async def measure(folder: Path, size: int, checkout: Path) -> str:
    """Return the row of a library of `size` tools."""
    client, news = LanguageClient("editor", "1"), asyncio.Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def take(params: types.PublishDiagnosticsParams) -> None:
        client.found = len(params.diagnostics)  # type: ignore[attr-defined]
        news.set()

    path = folder / "tools.yaml"
    text = write_yaml(declare_problem(generate("groups", size)))
    path.write_text(text, encoding="utf-8")
    await client.start_io(sys.executable, "-m", "planner.cli", "lsp", env={**os.environ, "PYTHONPATH": str(checkout)})
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri()))
    client.initialized(types.InitializedParams())
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(path.as_uri(), "yaml", 1, text))
    )
    opened = await _wait(news)
    news.clear()
    document = types.VersionedTextDocumentIdentifier(2, path.as_uri())
    whole = types.TextDocumentContentChangeWholeDocument(f"# changed\n{text}")
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
    place = types.TextDocumentIdentifier(path.as_uri()), types.Position(4, 4)

    async def ask() -> None:
        await client.text_document_hover_async(types.HoverParams(*place))

    async def complete() -> None:
        await client.text_document_completion_async(types.CompletionParams(*place))

    waiting = asyncio.ensure_future(_wait(news))
    meanwhile = [await _time(question) for question in (ask, complete)]
    while not waiting.done():
        await asyncio.sleep(BETWEEN)
        meanwhile.append(await _time(ask))
    after = [await _time(ask) for _ in range(9)], [await _time(complete) for _ in range(5)]
    changed = await waiting
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]
    times = [opened, changed, statistics.median(meanwhile), max(meanwhile), *map(statistics.median, after)]
    return f"| {size:,} | {client.found} | " + " | ".join([f"{each:.2f} s" for each in times]) + " |"  # type: ignore[attr-defined]


async def _wait(news: asyncio.Event) -> float:
    begun = time.perf_counter()
    await asyncio.wait_for(news.wait(), PATIENCE)
    return time.perf_counter() - begun


async def _time(question: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await question()
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000], help="tools of the libraries")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the code that is measured")
    given = parser.parse_args()
    sys.stdout.write(
        "| tools | findings | opened | changed | asked meanwhile, median | most | hover | completion |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    for size in given.sizes:
        with TemporaryDirectory() as folder:
            sys.stdout.write(asyncio.run(measure(Path(folder), size, given.checkout)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
