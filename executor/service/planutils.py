"""Interfaces of others: planning as a service by planutils, and the services that the PDDL extension of VS Code calls.

`/package` lists planners, `POST /package/NAME/solve` takes a task, and `/check/ID` gives what has come of it. `/solve`
and `/request` answer at once. Shapes are those of AI-Planning/planning-as-a-service and pddl-planning-service-client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from executor.service.jobs import Job
from executor.service.questions import SECONDS, read_request
from planner.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from executor.service.app import Service

TEXTS: Final = {"domain": "domain file", "problem": "problem file", "plan": "plan file"}
"""The arguments of services that are texts, and what they are."""
PACKAGES: Final = {
    "forethought": ("anytime", "Better and better plans, up to the proof that none is better or the time limit."),
    "forethought-first": ("first", "Any plan, as fast as possible."),
    "forethought-optimal": ("optimal", "A cheapest plan, with the proof."),
}
"""The planners, each with the mode of its search and what it is for."""
SERVICES: Final = {"solve": ("domain", "problem"), "validate": ("domain", "problem", "plan")}
"""The services of the first planner, with their arguments; the others have `solve` only."""
QUERY: Final[Mapping[str, Callable[[str], Any]]] = {
    "mode": str,
    "search": str,
    "heuristic": str,
    "seed": int,
    "time_limit": float,
    "memory_limit": float,
    "priority": int,
    "fresh": {"true": True, "false": False}.__getitem__,
}
"""The options in queries, and how to read them."""
REPLY_SHARE: Final = 0.9
"""Share of the time after which a client goes away that a search may take."""
PLAN_LINE: Final = re.compile(
    r"^\s*(?:(?P<time>[\d.]+)\s*:)?\s*(?P<name>\([^()]*\))\s*(?:\[\s*(?P<duration>[\d.]+)\s*\])?"
)


def make_routes(service: Service) -> list[Route]:
    """Return the routes of all interfaces."""
    others = OtherInterfaces(service)
    return [
        Route("/package", list_packages),
        Route("/package/{package}", show_package),
        Route("/package/{package}/{service}", show_package),
        Route("/package/{package}/{service}", others.run_package, methods=["POST"]),
        Route("/check/{id}", others.check, methods=["GET", "POST"]),
        Route("/solve", others.solve, methods=["POST"]),
        Route("/request", others.request, methods=["POST"]),
    ]


def describe_packages() -> dict[str, Any]:
    """Return the manifests of the planners by name."""
    return {name: _describe(name) for name in PACKAGES}


def _describe(package: str) -> dict[str, Any]:
    names = SERVICES if package == "forethought" else ("solve",)
    services = {
        name: {
            "args": [{"name": each, "type": "file", "description": TEXTS[each]} for each in SERVICES[name]],
            "call": " ".join([package, name, *[f"{{{each}}}" for each in SERVICES[name]]]),
            "return": {"type": "generic", "files": "plan"},
        }
        for name in names
    }
    return {
        "package_name": package,
        "name": package,
        "description": PACKAGES[package][1],
        "runnable": True,
        "install-size": "0K",
        "dependencies": [],
        "endpoint": {"services": services},
    }


async def list_packages(_: Request) -> Response:
    """Answer with all planners."""
    return JSONResponse(describe_packages())


async def show_package(request: Request) -> Response:
    """Answer with one planner."""
    found = describe_packages().get(request.path_params["package"])
    return JSONResponse(found or {"Error": "That package does not exist"}, 200 if found else 404)


class OtherInterfaces:
    """Answers requests of clients of other services."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def run_package(self, request: Request) -> Response:
        """Take a task, and answer with the path under which the result will be.

        These clients show `Error` to people, and nothing of responses with other status codes.
        """
        package, name = request.path_params["package"], request.path_params["service"]
        services = describe_packages().get(package, {}).get("endpoint", {}).get("services", {})
        if name not in services:
            return JSONResponse({"Error": f"there is no package {package!r:.80} with a service {name!r:.80}"}, 404)
        data = await self._service.read_json(request)
        try:
            given = _keep(data, SERVICES[name]) | _mode_of(package, name) | _read_query(request)
            asked = read_request(name, given | {"wait": False})
        except InputError as error:
            return JSONResponse({"Error": str(error)})
        job = self._service.submit(request, asked)
        return JSONResponse({"result": f"/check/{job.id}"})

    async def check(self, request: Request) -> Response:
        """Answer with the result of a task, or that it is pending."""
        job = self._service.find(request)
        if not job.state.is_end:
            return JSONResponse({"status": "PENDING"})
        answer, message = read_answer(job), describe_failure(job)
        plan = answer.get("plan_text")
        result = {
            "stdout": "" if message else describe_answer(answer),
            "stderr": message,
            "call": f"forethought {job.question.kind}",
            "output": {} if plan is None else {"plan": plan},
            "output_type": "generic",
        }
        return JSONResponse({"status": "ok", "result": result})

    async def solve(self, request: Request) -> Response:
        """Solve a task at once; options come in the query, such as `?mode=first&time_limit=5`."""
        data = _keep(await self._service.read_json(request), ("domain", "problem"))
        job = self._service.submit(request, read_request("solve", _read_query(request) | data))
        await self._service.wait(request, job)
        message = describe_failure(job)
        if message:
            return JSONResponse({"status": "error", "result": {"error": message, "output": ""}})
        answer = read_answer(job)
        result: dict[str, Any] = {"output": describe_answer(answer), "cost": answer.get("cost"), "type": "full"}
        if answer.get("plan_text") is not None:
            result["plan"] = read_steps(answer["plan_text"])
            result["length"] = len(result["plan"])
        return JSONResponse({"status": "ok", "result": result})

    async def request(self, request: Request) -> Response:
        """Solve a task at once, as the service of the extension that its clients call asynchronous."""
        data = await self._service.read_json(request)
        asked = read_request("solve", _read_task(data))
        job = self._service.submit(request, asked)
        await self._service.wait(request, job)
        message = describe_failure(job)
        if message:
            status = {"status": "FAILED", "error": {"message": message}}
            return JSONResponse({"status": status, "plans": [], "output": ""})
        answer = read_answer(job)
        note = "\nThe search debugger is for the executable: --search-tree-dump" if data.get("callbacks") else ""
        reason = {"reason": "TIMEOUT"} if answer.get("stopped_by") == "time" else {}
        plans = [_describe_plan(answer)] if answer.get("plan_text") is not None else []
        status = {"status": "STOPPED", **reason}
        return JSONResponse({"status": status, "plans": plans, "output": describe_answer(answer) + note})


def _keep(data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of `data` with these names; clients send others with them."""
    if not isinstance(data, dict):
        raise InputError("the body must be a JSON object", hint='such as {"domain": "(define …", "problem": "…"}')
    missing = [name for name in names if name not in data]
    if missing:
        raise InputError(f"the field `{missing[0]}` is missing")
    return {name: data[name] for name in names}


def _mode_of(package: str, service: str) -> dict[str, Any]:
    return {"mode": PACKAGES[package][0]} if service == "solve" else {}


def _read_query(request: Request) -> dict[str, Any]:
    """Return the options in the query of a request; raises `InputError`."""
    return {name: _read_option(name, value) for name, value in request.query_params.items()}


def _read_option(name: str, value: str) -> Any:
    """Return an option, which is a text in a query; raises `InputError`."""
    if name not in QUERY:
        raise InputError(f"there is no option {name!r:.80}", hint=did_you_mean(name, QUERY) or ", ".join(QUERY))
    try:
        return QUERY[name](value)
    except (KeyError, ValueError):
        expected = {"seed": "an integer", "priority": "an integer", "fresh": "true or false"}.get(name, "a number")
        raise InputError(f"`{name}` must be {expected}, got {value!r:.60}") from None


def _read_task(data: Any) -> dict[str, Any]:
    """Return the fields of a question for the body of `/request`."""
    found = _keep(data, ("domain", "problem"))
    for name, file in found.items():
        if not isinstance(file, dict) or "content" not in file:
            raise InputError(f"`{name}` must be an object with `content`")
        found[name] = file["content"]
    configuration = data.get("configuration")
    timeout = configuration.get("timeout") if isinstance(configuration, dict) else None
    return found if timeout is None else found | {"time_limit": REPLY_SHARE * SECONDS("timeout", timeout)}


def _describe_plan(answer: dict[str, Any]) -> dict[str, Any]:
    steps = read_steps(answer["plan_text"])
    statistics = answer.get("statistics", {})
    return {
        "format": "JSON",
        "content": json.dumps(steps),
        "makespan": (answer.get("plan") or {}).get("makespan", len(steps)),
        "metricValue": answer.get("cost"),
        "timeUnit": "SECOND",
        "searchPerformanceInfo": {
            "statesEvaluated": statistics.get("evaluated", 0),
            "timeElapsed": str(round(1000 * statistics.get("search_seconds", 0.0))),
        },
    }


def read_steps(text: str) -> list[dict[str, Any]]:
    """Return the steps of a plan in the competition's format: `name`, and `time` and `duration` in seconds if there."""
    found = [PLAN_LINE.match(line) for line in text.splitlines()]
    return [
        {"name": each["name"], **{key: float(each[key]) for key in ("time", "duration") if each[key] is not None}}
        for each in found
        if each is not None
    ]


def read_answer(job: Job) -> dict[str, Any]:
    """Return the answer to a question; empty without one."""
    return {} if job.answer is None else job.answer.read()


def describe_failure(job: Job) -> str:
    """Return what a person is told of a task without an answer; an empty text where there is one."""
    error = job.error
    if job.answer is not None or error is None:
        return ""
    place = error.get("location") or {}
    where = ":".join(str(part) for part in place.values() if part is not None)
    return "".join([f"{where}: " if where else "", error["message"], f"; {error['hint']}" if error.get("hint") else ""])


def describe_answer(answer: dict[str, Any]) -> str:
    """Return what a person is told of an answer."""
    if "valid" in answer:
        return f"valid, cost {answer['cost']}" if answer["valid"] else f"invalid: {answer['reason']}"
    words = [str(answer.get("status", "")), f"stopped by {answer.get('stopped_by')}"]
    if answer.get("cost") is not None:
        words.append(f"cost {answer['cost']}, lower bound {answer.get('lower_bound')}")
    return "; ".join([*words, *([answer["reason"]] if answer.get("reason") else [])])
