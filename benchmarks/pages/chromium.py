"""Drives a headless Chromium over the DevTools protocol, for tests and measurements of pages.

Needs the package `websockets` (extra `test`) and a browser: `chromium`, `chromium-browser` or `google-chrome`.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from planner.cli.interrupt import unlimited_memory

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
FLAGS: Final = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip
PATIENCE: Final = 30.0
"""Longest wait for the browser, in seconds."""


def find_chromium() -> str | None:
    """Return the path of a browser; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab; `messages` are errors and warnings of its console, `requests` the addresses that it asked for."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._last = 0
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result; raises `RuntimeError` where it fails."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            found = json.loads(self._socket.recv(timeout=PATIENCE))
            if found.get("id") == self._last:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error'].get('message')}")
                return found["result"]
            self._note(found)

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what an event of the tab says."""
        data = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                thrown = data["exceptionDetails"]
                self.messages.append(thrown.get("exception", {}).get("description") or thrown["text"])
            case "Runtime.consoleAPICalled" if data["type"] in ("error", "warning", "assert"):
                self.messages.append(" ".join(str(each.get("value")) for each in data["args"]))
            case "Log.entryAdded" if data["entry"]["level"] in ("error", "warning"):
                self.messages.append(data["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(data["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Open the page in the file at `path`, and wait until it is loaded."""
        self.visit(path.resolve().as_uri() + fragment)

    def visit(self, address: str) -> None:
        """Open the page at `address`, and wait until it is loaded."""
        self._loaded = False
        self.messages.clear()
        self.requests.clear()
        for url in ("about:blank", address):
            self._loaded = False
            self.call("Page.navigate", url=url)
            until = time.monotonic() + PATIENCE
            while not self._loaded and time.monotonic() < until:
                self.call("Runtime.evaluate", expression="0")
        self.settle()

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, which may be a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "an error"))
        return found["result"].get("value")

    def settle(self) -> None:
        """Wait until what was asked for is on the screen, also where the page opens another address meanwhile."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
            except RuntimeError as error:
                if "navigated" not in str(error) or time.monotonic() > until:
                    raise
            else:
                return

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key, named as `KeyboardEvent.key` names it."""
        text = text or (key if len(key) == 1 else "\r" if key == "Enter" else "")
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)
        self.settle()

    def click(self, selector: str) -> None:
        """Click into the first line of the first element that `selector` finds; raises `RuntimeError` without one."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        if place is None:
            raise RuntimeError(f"the page has no {selector}")
        x, y = place
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def resize(self, width: int, height: int, *, dark: bool = False, scale: float = 1.0) -> None:
        """Give the tab a size in CSS pixels, and light or dark colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        """Write what the tab shows to a PNG file."""
        found = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser, and end it afterwards; raises `FileNotFoundError` where there is none."""
    from websockets.sync.client import connect

    program = find_chromium()
    if program is None:
        raise FileNotFoundError("there is no Chromium: 'apt-get install chromium', or any of " + ", ".join(NAMES))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        with unlimited_memory():
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            address = _find_tab(_read_port(Path(folder), process))
            with connect(address, max_size=None, proxy=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _read_port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    """Wait for the port that the browser chooses, and return it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        file = folder / "DevToolsActivePort"
        if file.is_file() and (text := file.read_text()):
            return int(text.split()[0])
        time.sleep(0.05)
    raise RuntimeError("the browser does not start")


def _find_tab(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
        tabs = json.load(answer)
    return str(next(each["webSocketDebuggerUrl"] for each in tabs if each["type"] == "page"))
