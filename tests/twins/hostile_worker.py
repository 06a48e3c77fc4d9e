"""A process of the service's pool that does what the `domain` of its question says, and nothing good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

from executor.service.messages import HEADER, pack

EATER = (
    "eaten = [bytes(1 << 20) for _ in range(400)]; [block.__len__() for block in eaten]; import time; time.sleep(60)"
)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    send({"ready": True, "resident": 0})
    while header := sys.stdin.buffer.read(HEADER.size):
        message = json.loads(sys.stdin.buffer.read(*HEADER.unpack(header)))
        act(message["question"]["domain"])


def act(what):
    match what:
        case "answer":
            send({"answer": f'{{"by":{os.getpid()}}}', "facts": {}, "resident": 0})
        case "grow":
            send({"answer": f'{{"by":{os.getpid()}}}', "facts": {}, "resident": 1 << 40})
        case "eat":
            subprocess.run([sys.executable, "-c", EATER.replace("bytes(1 << 20)", "b'x' * (1 << 20)")], check=False)
        case "hang":
            time.sleep(60)
        case "plan and hang":
            send({"progress": '{"status":"SOLVED","plan":{"steps":[]},"cost":0}'})
            time.sleep(60)
        case "babble":
            sys.stdout.buffer.write(b"\xff" * 100)
            sys.stdout.buffer.flush()
            time.sleep(60)
        case "exit":
            os._exit(3)


def send(message):
    sys.stdout.buffer.write(pack(message))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
