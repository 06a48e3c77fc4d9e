"""A PostgreSQL server of the tests' own, on loopback and a socket in a temporary folder.

It is Debian's, or that in PATH. The superuser must not run it, so that it then runs as the user "postgres".
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SETTINGS = {
    "fsync": "off",  # the files are gone after the tests
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "autovacuum_naptime": "10s",
    "log_min_messages": "panic",
}


MEMORY = "/dev/shm"
"""Folder of a file system in memory, where there is one."""


def find_programs():
    """Return the folder of the server's programs, the latest version; None where there is none."""
    folders = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    ]
    found = shutil.which("initdb")
    folders += [Path(found).parent] if found else []
    return next((each for each in folders if (each / "initdb").exists()), None)


def find_obstacle():
    """Return why no server can be started here, "" where one can."""
    try:
        import pg8000  # noqa: F401 - only whether it is there
    except ImportError:
        return "pg8000 is not installed"
    if find_programs() is None:
        return "no PostgreSQL server is installed"
    return "the superuser cannot become another user" if os.geteuid() == 0 and not shutil.which("runuser") else ""


def find_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PostgresServer:
    """A server that is started by the constructor; `stop` ends it and deletes its files."""

    def __init__(self):
        self.folder = Path(
            tempfile.mkdtemp(prefix="forethought-pg-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        )
        self.port = find_port()
        self._programs = find_programs()
        self._server = None
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        try:
            self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")
            self.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def _command(self, program, *arguments):
        command = [self._programs / program, "-D", self.folder / "data", *arguments]
        return [*(["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []), *map(str, command)]

    def _run(self, program, *arguments):
        subprocess.run(
            self._command(program, *arguments), check=True, capture_output=True, cwd=self.folder, timeout=300
        )

    def start(self):
        """Start the server, and wait until it answers."""
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        settings += [f"--unix_socket_directories={self.folder}", "--listen_addresses=127.0.0.1", f"--port={self.port}"]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                self._command("postgres", *settings), stdout=log, stderr=log, cwd=self.folder
            )
        while not self._answers():
            assert self._server.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)

    def _answers(self):
        ready = [self._programs / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    def halt(self, mode="fast"):
        """End the server as `mode` says: "fast" in order, "immediate" as if it had crashed."""
        self._run("pg_ctl", "stop", "-w", "-m", mode)
        self._server.wait(30)

    def restart(self, mode="fast"):
        """End the server, and start it again."""
        self.halt(mode)
        self.start()

    def stop(self):
        """End the server for good."""
        if self._server.poll() is None:
            self.halt("immediate")
        shutil.rmtree(self.folder)

    def run_sql(self, *statements):
        """Run statements as the superuser."""
        import pg8000.native

        socket_path = f"{self.folder}/.s.PGSQL.{self.port}"
        with pg8000.native.Connection("postgres", unix_sock=socket_path, database="postgres") as connection:
            for each in statements:
                connection.run(each)

    def address(self, schema, *, port=None, **options):
        """Return the address of a journal with this `schema`: by the socket, or by TCP at `port`."""
        query = "&".join(f"{name}={value}" for name, value in {"schema": schema, **options}.items())
        if port is not None:
            return f"postgresql://postgres@127.0.0.1:{port}/postgres?{query}"
        return f"postgresql://postgres@:{self.port}/postgres?host={self.folder}&{query}"


class Wire:
    """A connection between a port of its own and the server, which is cut as often as wanted, or stays silent."""

    def __init__(self, server):
        self.server, self.cut_at, self.sent, self.is_silent = server, None, 0, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.server.port))
            threading.Thread(target=self._carry, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(far, near, False), daemon=True).start()

    def _carry(self, source, target, is_request):
        try:
            while data := source.recv(1 << 16):
                self.sent += 1
                while self.is_silent:
                    time.sleep(0.02)
                if self.cut_at is not None and self.sent > self.cut_at:
                    if is_request and self.sent % 2:
                        target.sendall(data)  # the server hears it, and its answer is lost
                        time.sleep(0.02)
                    self.cut_at = None
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
