"""The demo's last part: a page of the run that its first part has left, or a word that there is none."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from executor.demo import show_run
from executor.desk.pages.demo import show_page


def test_the_page_shows_the_lie_and_the_kill(tmp_path: Path) -> None:
    lines: list[str] = []
    assert show_run(lines.append, lines.append, lines.append, tmp_path)
    lines.clear()
    assert show_page(lines.append, lines.append, lines.append, tmp_path)
    page = Path(unquote(urlsplit(lines[1]).path)).read_text(encoding="utf-8")
    assert "the handler reports success, but proofread(memo) was not seen" in page
    assert "the process stopped while it was being done" in page


def test_without_a_run_there_is_no_page(tmp_path: Path) -> None:
    lines: list[str] = []
    assert not show_page(lines.append, lines.append, lines.append, tmp_path)
    assert lines == []
