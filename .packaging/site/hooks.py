"""Hooks of MkDocs that make what the site has beside the pages in docs/: navigation, home page, gallery and API.

The navigation follows the groups of docs/README.md. README.md of the repository becomes the home page. Links to files
outside docs/ lead to the pages that the site makes of them; where it makes none, their text remains.
"""

from __future__ import annotations

import ast
import os
import re
from enum import Enum
from importlib import import_module
from inspect import isroutine
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from gallery import make_gallery

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]

PAGES: Final = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "licence.md",
}
"""Files of the repository that are pages of the site, with their places there."""
GROUP: Final = re.compile(r"^(?:## (?P<group>[^:\n]+).*|(?P<part>For \w+):|- \[(?P<title>.+?)\]\((?P<page>[^)]+)\).*)$")
LINK: Final = re.compile(r"(?P<text>\[[^\[\]]*\])\((?P<target>[^()#\s]+)(?P<anchor>#[^()\s]*)?\)")
PICTURE: Final = (
    "![A plan: each arrow is a fact that one step provides and another one needs](assets/gallery/assistant-graph.svg)"
    "{.picture}"
)
"""What the home page shows before its first commands."""
HTN: Final = {
    "compilations.methods_from_actions": "as_htn derived_methods",
    "explain.task_explanations": "explain_plan explain_unsolvable",
    "language.declare.methods": "Methods",
    "language.hddl.hddl_reader": "parse_domain parse_problem",
    "language.hddl.hddl_writer": "write_domain write_problem",
    "language.plan_drawing": "draw_tree",
    "model": "HtnDomain HtnProblem Method Network Subtask Task sequence",
    "repair.subtree_repair": "repair",
    "verification.plan_verification": "validate",
}
"""Public names of `htn`, whose package has none of its own, by the modules that define them."""
ABOUT: Final = {
    "planner": "Declarations in, validated plans out. Write `from planner import solve`.",
    "htn": "Tasks, methods and decomposition. Import from the modules that are named here; `planner.solve` and "
    "`planner.load` take hierarchical problems as well.",
    "executor": "Carries plans out: handlers, observers, the journal, recovery, agents. Write `from executor import "
    "World`.",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation: the groups of docs/README.md, the gallery, the API, and the project."""
    config.nav = make_navigation((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files outside docs/, from domains/ and from docstrings."""
    from mkdocs.structure.files import File

    made = {page: read_page(source) for source, page in PAGES.items()}
    made |= {f"api/{package}.md": make_api_page(package) for package in ABOUT}
    made |= make_gallery()
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links to files outside docs/ lead to the pages that the site makes of them; show a plan on the home page."""
    place = page.file.src_uri
    if place == PAGES["README.md"]:
        markdown = markdown.replace("    make demo", f"{PICTURE}\n\n    make demo", 1)
    source = next((file for file, made in PAGES.items() if made == place), f"docs/{place}")
    return relink(markdown, source, place)


def make_navigation(overview: str) -> list[Any]:
    """Return the navigation that the list of all pages stands for."""
    navigation: list[Any] = [{"Home": ["index.md", "pages.md"]}]
    pages: list[Any] = []
    for line in overview.splitlines():
        found = GROUP.match(line)
        if found and found["group"]:
            group = pages = []
            navigation.append({found["group"]: group})
        elif found and found["part"]:
            pages = []
            group.append({found["part"]: pages})
        elif found:
            pages.append({found["title"]: found["page"]})
    reference = [{package: f"api/{package}.md"} for package in ABOUT]
    project = [*PAGES.values()][2:]
    return [*navigation, {"Gallery": "gallery.md"}, {"API": reference}, {"Project": project}]


def read_page(source: str) -> str:
    """Return the text of a file as Markdown."""
    text = (ROOT / source).read_text(encoding="utf-8")
    return text if source.endswith(".md") else f"# Licence\n\n```text\n{text}```\n"


def relink(markdown: str, source: str, place: str) -> str:
    """Rewrite the links of the file `source` of the repository, which is the page `place` of the site."""

    def rewrite(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / link["target"])
        if "://" in link["target"] or not (ROOT / target).exists():
            return link[0]
        page = PAGES.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else "")
        if not page:
            return link["text"][1:-1]
        return f"{link['text']}({os.path.relpath(page, PurePosixPath(place).parent)}{link['anchor'] or ''})"

    return LINK.sub(rewrite, markdown)


def make_api_page(package: str) -> str:
    """Return the page of the public names of `package`: a list of all, then each module with its names."""
    modules = find_modules(package)
    parts = [f"# {package}\n\n{ABOUT[package]}\n\n<div class='names' markdown>\n"]
    homes = [(name, f"{package}.{module}.{name}") for module, names in modules.items() for name in names]
    parts += [f"[{name}][{path}]\n" for name, path in sorted(homes, key=lambda home: home[0].lower())]
    parts.append("</div>\n")
    for module, names in sorted(modules.items()):
        parts.append(f"## `{package}.{module}`\n\n{read_summary(package, module)}\n")
        parts += [write_entry(f"{package}.{module}", name) for name in names]
    return "\n".join(parts)


def write_entry(module: str, name: str) -> str:
    """Return the entry of a name: what its docstring says, the members of an enumeration, or the value of an alias."""
    value = getattr(import_module(module), name)
    entry = f"::: {module}.{name}\n"
    if isinstance(value, type) and issubclass(value, Enum):
        rows = [f"| `{member.name}` | {str(member.value).replace('|', chr(92) + '|')} |" for member in value]
        return "\n".join([entry, "| Member | Value |", "|---|---|", *rows, ""])
    if isinstance(value, type) or isroutine(value):
        return entry
    return f"{entry}    options:\n      show_attribute_values: true\n"


def find_modules(package: str) -> dict[str, list[str]]:
    """Return the public names of `package` by module, as its `_MODULES` has them."""
    if package == "htn":
        return {module: names.split() for module, names in HTN.items()}
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES":
            return {module: names.split() for module, names in ast.literal_eval(node.value).items()}
    raise ValueError(f"found no _MODULES in {package}/__init__.py")


def read_summary(package: str, module: str) -> str:
    """Return the first paragraph of the docstring of a module."""
    path = ROOT / package / module.replace(".", "/")
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
