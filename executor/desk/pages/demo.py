"""The page at the end of `forethought demo`: the run that was killed, as `forethought view` shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from executor.desk.pages.html import write_html
from executor.desk.pages.run_page import run_page
from executor.journal import Journal

Show = Callable[[str], None]


def show_page(heading: Show, good: Show, give: Show, folder: Path) -> bool:
    """Write the page of the run in the journal in `folder`, and say where it is; return whether there is a run."""
    journal, page = folder / "runs.db", folder / "run.html"
    if not journal.exists():
        return False
    with Journal(journal) as kept:
        page.write_text(write_html(run_page(kept)), encoding="utf-8")
    heading("Looked at: the whole run on one page, with the lie and the kill")
    good(page.resolve().as_uri())
    give(f"It is what `forethought view {journal} --out run.html` writes, and needs neither a server nor a network.")
    return True
