"""The page on benchmarking: its commands run as they stand, one after the other, with stand-ins for peers and Lab."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/benchmarking.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^    (forethought bench .*|mkdir .*)$", re.MULTILINE)
PEER = "import sys; sys.exit('a stand-in')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an experiment of Lab, and with environments that look finished."""
    runs = [
        {"algorithm": "lmcut", "domain": "groups", "problem": f"groups-{name}.pddl", "coverage": 1, "cost": 99}
        for name in ("10-0", "10-1", "20-0", "20-1")
    ]
    (tmp_path / "exp-eval").mkdir()
    (tmp_path / "exp-eval" / "properties").write_text(json.dumps({run["problem"]: run for run in runs}, indent=2))
    for package, module in (("jupyddl", "jupyddl"), ("kairos-planner", "kairos")):
        site = tmp_path / "peers" / package / "lib" / "python3" / "site-packages"
        information = site / f"{package.replace('-', '_')}-7.1.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 7.1\nLicense: MIT\n")
        (site / f"{module}.py").write_text(PEER)
        (tmp_path / "peers" / package / "bin").mkdir()
        (tmp_path / "peers" / package / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return tmp_path


@pytest.mark.timeout(300)
def test_the_commands_of_the_page(folder: Path) -> None:
    environment = {**os.environ, "FORETHOUGHT_PEERS": str(folder / "peers"), "PYTHONPATH": str(ROOT)}
    commands = COMMAND.findall(PAGE)
    assert len(commands) == len(re.findall(r"^    \S", PAGE, re.MULTILINE)) > 12
    told: dict[str, str] = {}
    for command in commands:
        words = shlex.split(command)
        if words[0] == "forethought":
            words = [sys.executable, "-m", "planner.cli", *words[1:]]
        ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        told[command] = ran.stdout + ran.stderr
    text = "\n".join(told.values())
    assert "4 tasks written to suite" in text
    assert "jupyddl 7.1 (MIT) was there already" in text
    assert "8 of 12 runs carried out, the others were in results.jsonl already" in text
    assert "Contradictions: 0" in text
    assert {path.name for path in folder.iterdir()} >= {"report.html", "runs.csv", "coverage.tex", "proofs.tex"}
    runs = json.loads((folder / "all-eval" / "properties").read_text())
    assert sum(run["algorithm"] == "ours-optimal" and run["coverage"] for run in runs.values()) == 4
    assert sum(run["algorithm"] == "lmcut" for run in runs.values()) == 4
