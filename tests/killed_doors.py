"""One process of a story whose processes are real: a program of its own, as it is killed.

    python tests/killed_doors.py FOLDER DOOR FAULT SCENE PART [PLACE]

PART is `first` or `restarted`. The bank is a file in FOLDER, and so is the journal, unless it is at PLACE. Prints what
the door told, as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

from doors.bank import Bank
from doors.cells import SCENES
from doors.faults import FAULTS
from doors.registry import DOORS
from doors.story import Story, ask_after_restart, ask_first, live

from executor.journal import open_journal

PACE = 0.02
PARTS = {"first": ask_first, "restarted": ask_after_restart}


def main(folder, door, fault, scene, part, *place):
    folder = Path(folder)
    fault = next(each for each in FAULTS if each.name == fault)
    scene = next(each for each in SCENES if each.name == scene)
    story = Story(DOORS[door], scene, fault, Bank(folder / "bank", pace=PACE))
    with open_journal(*(place or [folder / "till.db"])) as journal:
        asyncio.run(live(story, PARTS[part], folder, journal))
    told = [{"status": each.status, "reason": each.reason, "error": repr(each.error)} for each in story.told]
    sys.stdout.write(json.dumps({"told": told, "reserved": story.reserved}))


if __name__ == "__main__":
    main(*sys.argv[1:])
