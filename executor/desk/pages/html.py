"""Makes one self-contained HTML page of a document: styles, scripts and data stand in it, and nothing is loaded."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from executor.desk.pages.document import Graph, Page, to_json
from executor.desk.pages.notebook import steps_table

MODULES: Final = (
    "base", "list", "graph", "chart", "states", "tree", "run", "domain", "candidates", "answers", "search", "policy",
    "detail", "print", "main",
)  # fmt: skip
"""The parts of the script in `static/app`, in their order: each may use the names of all."""
LIVE_MODULES: Final = (*MODULES[:-1], "questions", "live", MODULES[-1])
"""The parts of the script of pages that follow a run."""
MOST_IN_FALLBACK: Final = 300
"""Most steps in the table for readers without scripts."""
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""The Content-Security-Policy of a page in a file: it loads nothing."""
_UNSAFE: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""Characters of JSON that could end a script element, or a line of script."""


@cache
def _static(name: str) -> str:
    return (files("executor.desk.pages") / "static" / name).read_text(encoding="utf-8")


@cache
def script(modules: tuple[str, ...] = MODULES) -> str:
    """Return the script of pages, from its parts."""
    parts = [_static(f"app/{name}.js") for name in modules]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"


@cache
def live_policy() -> str:
    """Return the Content-Security-Policy of a page that follows a run: its one script, and its server, alone."""
    digest = base64.b64encode(hashlib.sha256(script(LIVE_MODULES).encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def write_html(page: Page) -> str:
    """Return `page` as one HTML document."""
    return _fill_in(page, _static("app.css"), script(), POLICY)


def write_live_html(page: Page) -> str:
    """Return `page`, of a run, as an HTML document that follows the run on the server that it comes from."""
    policy = live_policy().partition("; frame-ancestors")[0]  # that part counts in a header alone
    return _fill_in(page, _static("app.css") + _static("live.css"), script(LIVE_MODULES), policy)


def _fill_in(page: Page, style: str, code: str, policy: str) -> str:
    parts = {
        "title": escape(page.title),
        "policy": policy,
        "style": style,
        "fallback": f'<div class="fallback"><h1>{escape(page.title)}</h1>{steps_table(page, MOST_IN_FALLBACK)}</div>',
        "document": escape_json(to_json(without_repetitions(page))),
        "script": code,
    }
    text, *others = _static("index.html").split("{{")
    for each in others:
        name, _, after = each.partition("}}")
        text += parts[name] + after
    return text


def without_repetitions(page: Page) -> Page:
    """Return `page` without the words of its graph that its steps and links say, too: a third of a long document."""
    if page.graph is None or not page.steps:
        return page
    nodes = [replace(each, label="", detail="") if each.kind == "step" else each for each in page.graph.nodes]
    edges = [replace(each, label="") if each.kind == "link" else each for each in page.graph.edges]
    return replace(page, graph=Graph(tuple(nodes), tuple(edges)))


def escape_json(text: str) -> str:
    """Return JSON that may stand in a script element: no text in it can end the element."""
    return text.translate(_UNSAFE)
