"""What is wrong with a connection to Temporal, or with what is asked there, is told in our words."""

import asyncio
import socket
from datetime import timedelta

import pytest

from planner.cli import main
from planner.errors import ForethoughtError, InputError

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
pytestmark = pytest.mark.timeout(120)


def refusal(address, **options):
    """Return why there is no connection."""
    from executor.temporal import connect

    with pytest.raises(ForethoughtError) as caught:
        asyncio.run(connect(address, **options))
    return str(caught.value)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_a_server_that_is_not_there():
    place = f"127.0.0.1:{free_port()}"
    assert refusal(place).startswith(f"temporal://{place}: no connection: nobody listens there; start it ('temporal")
    assert "there is no such host" in refusal("nowhere.invalid:7233")
    told = refusal("a b:7233")
    assert told.startswith("'a b:7233' is no address of a server: ")
    assert told.endswith("; such as localhost:7233")


def test_what_listens_and_says_nothing(monkeypatch):
    monkeypatch.setattr("executor.temporal.connection.PATIENCE", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        told = refusal(f"127.0.0.1:{silent.getsockname()[1]}")
    assert "no answer within 0.5 s; see that a server of Temporal listens there" in told


def test_a_namespace_and_tls_that_the_server_lacks(server):
    told = refusal(server, namespace="shops")
    assert told == (
        f"temporal://{server}/shops: there is no namespace 'shops'; name another, or make it: "
        "temporal operator namespace create --namespace shops"
    )
    assert refusal(server, tls=True).endswith(
        "no connection: it does not speak TLS; connect with tls=False, or without TEMPORAL_TLS"
    )


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (
            "UNAUTHENTICATED",
            "invalid key",
            "the server refuses (invalid key); give a key for the namespace 'shops': ",
        ),
        ("PERMISSION_DENIED", "no", "the server refuses (no); give a key"),
        ("UNAVAILABLE", "gone", "the server does not answer (gone); start it"),
        ("INTERNAL", "oops", "the server answers: oops"),
    ],
)
def test_what_a_server_answers(status, said, told):
    from temporalio.client import RPCError
    from temporalio.service import RPCStatusCode

    from executor.temporal.connection import explain

    error = explain(RPCError(said, RPCStatusCode[status], b""), "temporal://h:1/shops")
    assert str(error).startswith(f"temporal://h:1/shops: {told}")


@pytest.mark.parametrize("text", ["temporal://", "temporal://h:1/a/b", "temporal://h:1?x=2", "mysql://h"])
def test_places_that_are_none(text):
    from executor.temporal.connection import TemporalAddress

    with pytest.raises(InputError, match="no place of runs on Temporal; temporal://HOST:PORT"):
        TemporalAddress.parse(text)


def test_places_and_the_environment(monkeypatch):
    from executor.temporal.connection import TemporalAddress

    monkeypatch.setenv("TEMPORAL_API_KEY", "secret")
    monkeypatch.setenv("TEMPORAL_TLS", "true")
    read = TemporalAddress.parse("temporal://h:1/shops")
    assert (read.address, str(read)) == ("h:1", "temporal://h:1/shops")
    assert read.options == {"namespace": "shops", "api_key": "secret", "tls": True}
    assert str(TemporalAddress.parse("temporal://h:1/")) == "temporal://h:1"


def test_runs_without_a_worker_are_listed_and_their_worker_is_named(server, capsys, monkeypatch):
    from executor import World
    from executor.temporal import TemporalExecutor, connect
    from planner import Domain

    monkeypatch.setattr("executor.temporal.run_events.ANSWERS", timedelta(seconds=1))
    bells = Domain("bells")
    bells.action("ring", provides=["rung"])
    world = World(bells)
    world.handler("ring")(lambda: None)

    def command(*words):
        with pytest.raises(SystemExit) as end:
            main(list(words))
        return end.value.code, *capsys.readouterr()

    async def begin():
        client = await connect(server)
        executor = TemporalExecutor(world, client, "bells")
        for run in ("silent-1", "silent-2"):
            await executor.enqueue(bells.problem(goal=["rung"]), run=run)
        with pytest.raises(ForethoughtError, match="there is already a run 'silent-1'; take another name"):
            await executor.run(bells.problem(goal=["rung"]), run="silent-1", join=False)
        await client.get_workflow_handle("silent-2").terminate("by hand")
        async with asyncio.timeout(60):
            while (await client.count_workflows("TaskQueue='bells'")).count != 2:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.1)

    asyncio.run(begin())
    code, said, _ = command("runs", "list", f"temporal://{server}")
    listed = {line.split()[0]: line.split()[1] for line in said.splitlines()}
    assert (code, listed["silent-1"], listed["silent-2"]) == (0, "PROPOSED", "FAILED")
    code, _, said = command("view", f"temporal://{server}", "silent-1")
    assert code == 2
    assert "no worker tells of the run 'silent-1'; start one for its world, which serves the queue 'bells'" in said
    code, _, said = command("view", f"temporal://{server}", "silent-1", "--serve")
    assert code == 2
    assert "without --serve, 'view' shows a run on Temporal" in said
    code, _, said = command("runs", "delete", f"temporal://{server}", "silent-1")
    assert code == 2
    assert "'runs list', 'runs ledger' and 'view' read runs on Temporal" in said
