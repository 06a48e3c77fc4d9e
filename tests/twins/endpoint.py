"""An endpoint on this machine that speaks OpenAI's protocol, and says what it was told to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Self


class Endpoint:
    """Answers chat completions with the texts or status codes that it was given, one after the other."""

    def __init__(self, *said: str | int, usage: tuple[int, int] | None = (100, 10)) -> None:
        left, self.bodies, endpoint = list(said), [], self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                what = left.pop(0)
                code, text = (what, "no") if isinstance(what, int) else (200, what)
                message = {"role": "assistant", "content": text}
                body = {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "small",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                }
                if usage is not None:
                    body["usage"] = {
                        "prompt_tokens": usage[0],
                        "completion_tokens": usage[1],
                        "total_tokens": sum(usage),
                    }
                data = json.dumps(body if code == 200 else {"error": {"message": text}}).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_error) -> None:
        self._server.shutdown()
        self._server.server_close()
