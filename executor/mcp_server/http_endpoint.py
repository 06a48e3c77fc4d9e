"""Serve MCP over streamable HTTP: by default to this machine alone, and to nobody without the token if there is one."""

from __future__ import annotations

import hmac
from typing import Any, Final

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from executor.listening.addresses import Address, check_access
from executor.listening.bounded_http import make_bounded_server
from planner.lightweight import dataclass

TOKEN_VARIABLE: Final = "FORETHOUGHT_MCP_TOKEN"  # noqa: S105 - a name, no token
"""The environment variable with the token that clients must send."""
PATH: Final = "/mcp"
GRACE_SECONDS: Final = 5
"""Seconds that open connections have when the server stops."""
MOST_CONNECTIONS: Final = 256


def check_mcp_access(address: Address, token: str | None) -> None:
    """Raise `InputError` where other machines could reach a server that asks for no token."""
    hint = f"put one into {TOKEN_VARIABLE}, or into a file: --token-file FILE"
    check_access(address, has_token=token is not None, hint=hint)


@dataclass(frozen=True, slots=True)
class OneToken:
    """Accepts one token."""

    token: str

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a request with `token` may do; None for a wrong one."""
        if hmac.compare_digest(token.encode(), self.token.encode()):
            return AccessToken(token=token, client_id="client", scopes=[])
        return None


def security_options(token: str | None) -> dict[str, Any]:
    """Return the options of `MCPServer` by which it asks for `token`."""
    if token is None:
        return {}
    settings = AuthSettings(issuer_url="http://localhost", resource_server_url=None)
    return {"token_verifier": OneToken(token), "auth": settings}


def make_http_server(server: MCPServer, address: Address, most_bytes: int) -> uvicorn.Server:
    """Return the HTTP server for `server`; a request may have so many bytes."""
    app = server.streamable_http_app(streamable_http_path=PATH, host=address.host, max_request_body_size=most_bytes)
    return make_bounded_server(app, connections=MOST_CONNECTIONS, grace=GRACE_SECONDS)
