"""The pages as a site: all are in the navigation, the strict build has no warning, and nothing comes from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MKDOCS = next(
    (path for path in (ROOT / ".venv-docs/bin/mkdocs", Path(sys.executable).with_name("mkdocs")) if path.exists()), None
)
LOADS = {"src", "srcset", "poster", "data", "action"}
"""Attributes whose values browsers load; `href` is loaded where the tag is no link to follow."""


class Loads(HTMLParser):
    """Collects what a page loads, and the classes that let scripts load more."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in LOADS or (name in ("href", "xlink:href") and tag != "a"):
                self.addresses.append(value or "")
            if name == "class":
                self.classes.update((value or "").split())


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".packaging/site"))
    return import_module("hooks")


def pages_of(navigation: object) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages_of(part)]


def test_the_navigation_has_every_page(hooks: ModuleType) -> None:
    navigation = hooks.make_navigation((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    titles = [next(iter(group)) for group in navigation]
    assert titles == ["Home", "Tutorials", "How-to pages", "Reference", "Explanation", "Gallery", "API", "Project"]
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written -= {"README.md", "editors/vscode/README.md"}
    pages = pages_of(navigation)
    assert written <= set(pages)
    assert len(pages) == len(set(pages))


def test_links_to_files_outside_docs_lead_to_pages_of_the_site(hooks: ModuleType) -> None:
    text = "[a](../../CONTRIBUTING.md#x) [b](../README.md) [c](../../planner/solve.py) [d](time.md) [e](https://x.org/)"
    made = hooks.relink(text, "docs/reference/numbers.md", "reference/numbers.md")
    assert made == "[a](../contributing.md#x) [b](../pages.md) c [d](time.md) [e](https://x.org/)"
    assert hooks.relink("[a](docs/how-to/mcp.md#x)", "README.md", "index.md") == "[a](how-to/mcp.md#x)"


@pytest.mark.parametrize("package", ["planner", "executor", "htn"])
def test_a_page_of_the_api_has_every_public_name(hooks: ModuleType, package: str) -> None:
    modules = hooks.find_modules(package)
    page = hooks.make_api_page(package)
    for module, names in modules.items():
        assert {name for name in names if not hasattr(import_module(f"{package}.{module}"), name)} == set()
        assert hooks.read_summary(package, module)
    public = getattr(import_module(package), "__all__", [name for names in modules.values() for name in names])
    assert len(re.findall(r"^::: ", page, re.MULTILINE)) == len(public) > 10


@pytest.mark.skipif(MKDOCS is None, reason="`make docs` installs mkdocs")
@pytest.mark.timeout(400)
def test_the_site_is_built_strictly_and_loads_nothing_from_outside(tmp_path: Path) -> None:
    built = subprocess.run(
        [str(MKDOCS), "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        found = Loads()
        found.feed(page.read_text(encoding="utf-8"))
        outside = [each for each in found.addresses if "//" in each]
        assert outside == [], page.name
        assert "mermaid" not in found.classes, f"{page.name}: its script would come from a server"
        missing = [
            each
            for each in found.addresses
            if each and not each.startswith(("data:", "javascript:")) and not is_there(page, tmp_path, each)
        ]
        assert missing == [], page.name
    sheets = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.css")]
    assert sheets
    assert [sheet for sheet in sheets if re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet)] == []


def is_there(page: Path, site: Path, address: str) -> bool:
    """Return whether the file is in the site; addresses of the page for errors begin at the root."""
    name = re.split("[?#]", address)[0]
    return ((site if name.startswith("/") else page.parent) / name.lstrip("/")).exists()
