"""Turns SVG into PNG with what is installed: CairoSVG, else a Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from planner.cli.interrupt import unlimited_memory
from planner.errors import UnsupportedError

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
SECONDS: Final = 60
"""Longest time that a browser gets."""
_SIZE: Final = re.compile(r'<svg[^>]*? width="(\d+)" height="(\d+)"')


def write_png(svg: str) -> bytes:
    """Return `svg` as a PNG image; raises `UnsupportedError` where nothing here can draw it."""
    try:
        import cairosvg  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional package
    except (ImportError, OSError):  # OSError: the package is there, and the library Cairo is not
        browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if browser is None:
            hint = "pip install cairosvg, or install Chromium; --to svg needs neither"
            raise UnsupportedError("PNG without a renderer", hint) from None
        return _photograph(svg, browser)
    found: bytes = cairosvg.svg2png(bytestring=svg.encode(), scale=2)
    return found


def _photograph(svg: str, browser: str) -> bytes:
    """Return a picture of `svg` in a browser without a window."""
    size = _SIZE.search(svg)
    assert size is not None, "our drawings state their size"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.png"
        source.write_text(f'<!doctype html><meta charset="utf-8"><body style="margin:0">{svg}', encoding="utf-8")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=2",
        ]
        where = [
            f"--user-data-dir={folder / 'profile'}",
            f"--screenshot={target}",
            f"--window-size={size[1]},{size[2]}",
        ]
        try:
            with unlimited_memory():
                command = [browser, *flags, *where, source.as_uri()]
                subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            return target.read_bytes()
        except (subprocess.SubprocessError, OSError) as error:
            raise UnsupportedError("PNG", f"{browser} does not draw it ({error}); --to svg needs no browser") from None
