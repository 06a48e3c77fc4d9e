"""Requests that are refused: each with a status code, and an error that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from executor.service.questions import OPTIONS
from planner.errors import InputError, did_you_mean

PATHS: Final = (
    "/health",
    "/metrics",
    *[f"/v1/{kind}" for kind in OPTIONS],
    "/v1/jobs/ID",
    "/v1/answers/HASH",
    "/package",
    "/solve",
    "/request",
)
"""The paths that are told to who asks for another one."""


class Refusal(Exception):
    """A request that is refused with a status code, and an error for the body."""

    def __init__(
        self,
        code: int,
        kind: str,
        message: str,
        hint: str | None = None,
        *,
        retry_after: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.error = {"kind": kind, "message": message, **({"hint": hint} if hint else {})}
        self.headers = {**(headers or {}), **({"Retry-After": str(retry_after)} if retry_after else {})}

    def respond(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse({"error": self.error}, self.code, self.headers)


def refuse_input(error: InputError) -> Refusal:
    """Return the refusal for a mistake in a request."""
    return Refusal(400, "input", error.message, error.hint)


async def refuse_path(request: Request, error: Exception) -> Response:
    """Answer a request for a path or with a method that there is not."""
    assert isinstance(error, HTTPException)
    path, headers = request.url.path, error.headers or {}
    if error.status_code == 405:
        word, hint = "method", f"{path:.200} takes {headers.get('Allow', 'others')}"
    else:
        word, hint = "path", did_you_mean(path, PATHS) or f"there are {', '.join(PATHS)}"
    message = f"{error.detail}: {request.method} {path:.200}"
    return Refusal(error.status_code, word, message, hint, headers=headers).respond()
