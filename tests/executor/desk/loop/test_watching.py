"""`--watch` in a process of its own: again after each change, until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from planner.cli.watching import take_snapshot


@pytest.mark.parametrize("command", ["check shop", "test shop", "view shop first --to json --out shop/page.json"])
def test_watch_runs_again_after_a_change(tmp_path, command):
    subprocess.run([sys.executable, "-m", "planner.cli", "new", "shop"], cwd=tmp_path, check=True, capture_output=True)
    arguments = [sys.executable, "-m", "planner.cli", *command.split(), "--watch"]
    told: list[str] = []
    with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        assert run.stderr is not None
        reader = threading.Thread(target=lambda: told.extend(run.stderr), daemon=True)  # type: ignore[arg-type]
        reader.start()
        try:
            wait_for(told, "exit code", 1)
            file = Path(tmp_path, "shop", "domain.yaml")
            file.write_text(file.read_text().replace("requires", "requirez"))
            wait_for(told, "exit code", 2)
            assert "exit code 0" in told[0] + told[1]
            assert "exit code 0" not in told[-1]
            assert any(line.endswith("domain.yaml changed:\n") for line in told)
            run.send_signal(signal.SIGINT)
            assert run.wait(20) == 130
        finally:
            run.kill()
        reader.join(5)


def wait_for(told: list[str], words: str, times: int) -> None:
    end = time.monotonic() + 40
    while sum(words in line for line in told) < times:
        assert time.monotonic() < end, told
        time.sleep(0.05)


def test_only_files_are_watched(forethought):
    assert "--watch looks at files" in forethought("check", "courier", "--watch").err
    assert forethought("test", "nowhere", "--watch").code == 2
    assert "--out FILE" in forethought("view", "courier", "--to", "json", "--watch").err


def test_a_snapshot_has_what_is_beside_a_file_and_below_a_folder(tmp_path):
    for name in ("a.yaml", "b.pddl", "c.txt", "below/d.yaml"):
        Path(tmp_path, name).parent.mkdir(exist_ok=True)
        Path(tmp_path, name).touch()
    (tmp_path / "broken.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert sorted(path.name for path in take_snapshot([tmp_path / "a.yaml"])) == ["a.yaml", "b.pddl"]
    assert sorted(path.name for path in take_snapshot([tmp_path])) == ["a.yaml", "b.pddl", "d.yaml"]
    assert sorted(path.name for path in take_snapshot([tmp_path / "c.txt"])) == ["a.yaml", "b.pddl", "c.txt"]


def test_a_folder_may_be_gone_for_a_while(tmp_path):
    assert take_snapshot([tmp_path / "gone" / "a.yaml"]) == {}
    assert take_snapshot([tmp_path / "gone"]) == {}
