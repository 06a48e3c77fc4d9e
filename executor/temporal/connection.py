"""Connect to a server of Temporal, and say in our words why that fails."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, RPCError
from temporalio.service import RPCStatusCode

from executor.errors import JournalError
from planner.errors import InputError

PATIENCE: Final = 10.0
"""Longest time until a server answers a new client, in seconds."""
SETTLE: Final = 0.1
"""Pause after a failure, in seconds: threads of the SDK at work while the interpreter ends kill the process."""
SCHEME: Final = "temporal://"
DEFAULT_NAMESPACE: Final = "default"
_SILENT: Final = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED})
_REFUSED: Final = frozenset({RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED})
_START: Final = "start it ('temporal server start-dev' starts one for trials), or name another address"
_CAUSES: Final = (
    ("InvalidContentType", "it does not speak TLS", "connect with tls=False, or without TEMPORAL_TLS"),
    ("Certificate", "its certificate is not accepted", "name its authority: tls=TLSConfig(server_root_ca_cert=…)"),
    ("refused", "nobody listens there", _START),
    ("dns error", "there is no such host", "correct the address: HOST:PORT"),
)
"""Words in the message of the SDK, what they mean, and what to do."""


async def connect(address: str, *, namespace: str = DEFAULT_NAMESPACE, **options: Any) -> Client:
    """Connect to the server at `address`, HOST:PORT; `options` are those of `temporalio.client.Client.connect`.

    Raises `JournalError` where there is no server, it refuses, or there is no such namespace, and `InputError` for an
    address that is none.
    """
    place = name_place(address, namespace)
    try:
        return await _connect(address, namespace, options, place)
    except BaseException:
        await asyncio.sleep(SETTLE)
        raise


async def _connect(address: str, namespace: str, options: dict[str, Any], place: str) -> Client:
    try:
        async with asyncio.timeout(PATIENCE):
            client = await Client.connect(address, namespace=namespace, **options)
            await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
    except RPCError as error:
        raise explain(error, place) from None
    except ValueError as error:
        raise InputError(f"{address!r} is no address of a server: {error}", hint="such as localhost:7233") from None
    except TimeoutError:
        hint = "see that a server of Temporal listens there, and not another one"
        raise JournalError(place, f"no answer within {PATIENCE:g} s", hint) from None
    except RuntimeError as error:  # the SDK has no other type for it
        raise _explain_failure(str(error), place) from None
    return client


def name_place(address: str, namespace: str) -> str:
    """Return the place of a server and its namespace, for messages."""
    return f"{SCHEME}{address}{'' if namespace == DEFAULT_NAMESPACE else f'/{namespace}'}"


def explain(error: RPCError, place: str) -> JournalError:
    """Return the error of ours for one that the server at `place` has answered."""
    namespace = urlsplit(place).path.removeprefix("/") or DEFAULT_NAMESPACE
    told = error.message
    if error.status in _SILENT:
        return JournalError(place, f"the server does not answer ({told})", _START)
    if error.status in _REFUSED:
        hint = f"give a key for the namespace {namespace!r}: api_key=… (commands: TEMPORAL_API_KEY)"
        return JournalError(place, f"the server refuses ({told})", hint)
    if error.status is RPCStatusCode.NOT_FOUND and "amespace" in told:
        hint = f"name another, or make it: temporal operator namespace create --namespace {namespace}"
        return JournalError(place, f"there is no namespace {namespace!r}", hint)
    return JournalError(place, f"the server answers: {told}", "the log of the server may say more")


def _explain_failure(told: str, place: str) -> JournalError:
    for word, cause, hint in _CAUSES:
        if word in told:
            return JournalError(place, f"no connection: {cause}", hint)
    return JournalError(place, f"no connection ({told.partition(': ')[2] or told})", _START)


@dataclass(frozen=True, slots=True)
class TemporalAddress:
    """Where runs on Temporal are: `address` is HOST:PORT."""

    address: str
    namespace: str = DEFAULT_NAMESPACE

    @classmethod
    def parse(cls, text: str) -> TemporalAddress:
        """Read `temporal://HOST:PORT/NAMESPACE`; raises `InputError` for anything else."""
        parts = urlsplit(text)
        if not text.startswith(SCHEME) or not parts.netloc or parts.query or "/" in parts.path.strip("/"):
            raise InputError(f"{text!r} is no place of runs on Temporal", hint=f"{SCHEME}HOST:PORT, or …/NAMESPACE")
        return cls(parts.netloc, unquote(parts.path.strip("/")) or DEFAULT_NAMESPACE)

    def __str__(self) -> str:
        return name_place(self.address, self.namespace)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `connect` that the environment gives, by the names of the command `temporal`."""
        key, tls = os.environ.get("TEMPORAL_API_KEY"), os.environ.get("TEMPORAL_TLS", "").lower() in ("1", "true")
        return {"namespace": self.namespace, **({"api_key": key} if key else {}), **({"tls": True} if tls else {})}
