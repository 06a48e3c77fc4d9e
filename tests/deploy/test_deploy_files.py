"""The examples of deployment say what the code does: commands, ports, paths, variables, limits; nothing is open."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML

from executor import Executor
from executor.journal import DatabaseAddress
from executor.service.command import GRACE_SECONDS
from executor.service.guard import OPEN
from executor.service.keys import KEY_VARIABLE
from executor.service.pool import LATE_SECONDS, MEMORY_SLACK
from planner.language.loading.load import open_source

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
MIB = 1024**2
SERVER_MIB = 450
"""What the server of `forethought serve` may take with its 64 MiB of kept answers, and a process in reserve."""
SIZES = {"Mi": 1, "m": 1, "Gi": 1024, "g": 1024}


def load(path: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(path.read_text(encoding="utf-8")))


COMPOSE = load(DEPLOY / "compose.yaml")[0]
KUSTOMIZATION = load(DEPLOY / "kustomization.yaml")[0]
OBJECTS = [each for name in KUSTOMIZATION["resources"] for each in load(DEPLOY / name)]
OURS = {name: each for name, each in COMPOSE["services"].items() if each["image"].startswith("forethought:")}
DEPLOYMENTS = {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == "Deployment"}


def container_of(deployment: Mapping[str, Any]) -> dict[str, Any]:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


CONTAINERS = {name: container_of(each) for name, each in DEPLOYMENTS.items()}
COMMANDS = {
    **{f"compose-{name}": each["command"] for name, each in OURS.items() if "entrypoint" not in each},
    **{f"kubernetes-{name}": each["args"] for name, each in CONTAINERS.items()},
}
MEMORY = {
    **{f"compose-{name}": each["mem_limit"] for name, each in OURS.items()},
    **{f"kubernetes-{name}": each["resources"]["limits"]["memory"] for name, each in CONTAINERS.items()},
}


def parse(words: list[str]) -> dict[str, Any]:
    """Return the options of a command as our own parser reads them."""
    (entry,) = entry_points(group="forethought.commands", name=words[0])
    command = typer.main.get_command(entry.load())
    return command.make_context(words[0], list(words[1:])).params


def find_objects(kind: str) -> Iterator[dict[str, Any]]:
    return (each for each in OBJECTS if each["kind"] == kind)


@pytest.mark.parametrize("name", COMMANDS)
def test_our_parser_takes_each_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in {"PGHOST": "database", "PGUSER": "u", "PGDATABASE": "runs"}.items():
        monkeypatch.setenv(variable, value)
    words = COMMANDS[name]
    options = parse(words)
    if words[0] == "worker":
        place = options["journal"]
        assert isinstance(place, DatabaseAddress)
        assert (place.host, place.user, place.database) == ("database", "u", "runs")
    else:
        assert options["at"] == "0.0.0.0:8000"


def test_a_command_with_a_mistake_is_noticed() -> None:
    with pytest.raises(Exception, match="No such option: --no-such-option"):
        parse(["serve", "--no-such-option"])


@pytest.mark.parametrize("name", [name for name in COMMANDS if COMMANDS[name][0] == "serve"])
def test_the_memory_of_all_processes_fits_into_that_of_the_container(name: str) -> None:
    options = parse(COMMANDS[name])
    number, unit = re.fullmatch(r"(\d+)(\w+)", MEMORY[name]).groups()
    most = options["workers"] * options["memory_limit"] * 1024 * MEMORY_SLACK + SERVER_MIB
    assert most <= int(number) * SIZES[unit]


def test_variables_are_those_that_we_read() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for name in ("executor", "service", "planner")
        for path in (ROOT / name).rglob("*.py")
    )
    of_compose = {name for each in OURS.values() for name in each.get("environment", {})}
    of_pods = {each["name"] for container in CONTAINERS.values() for each in container.get("env", ())}
    documented = set(re.findall(r"PG[A-Z]+", (DEPLOY / "kustomization.yaml").read_text(encoding="utf-8")))
    image = set(re.findall(r"^ENV (\w+)=", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE))
    found = of_compose | of_pods | documented | image
    assert {KEY_VARIABLE, "PGPASSWORD", "PGHOST", "PGSSLMODE", "FORETHOUGHT_CACHE"} <= found
    assert [name for name in sorted(found) if f'"{name}"' not in source] == []


def test_ports_and_paths_agree() -> None:
    serve, container = COMPOSE["services"]["serve"], CONTAINERS["forethought-serve"]
    (published,) = serve["ports"]
    port = parse(COMMANDS["compose-serve"])["at"].rpartition(":")[2]
    assert published.split(":") == ["127.0.0.1", "8000", port]
    assert f"127.0.0.1:{port}{OPEN}" in serve["healthcheck"]["test"][-1]
    assert container["ports"] == [{"name": "http", "containerPort": int(port)}]
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": OPEN, "port": "http"}
    (service,) = find_objects("Service")
    assert service["spec"]["ports"] == [{"name": "http", "port": int(port), "targetPort": "http"}]
    policy = next(each for each in find_objects("NetworkPolicy") if each["metadata"]["name"] == "forethought-serve")
    assert policy["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": int(port)}]
    assert f"EXPOSE {port}" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_nothing_is_open() -> None:
    for name, each in COMPOSE["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ())), name
        assert "network_mode" not in each, name
        for variable, value in each.get("environment", {}).items():
            if "KEY" in variable or "PASSWORD" in variable:
                assert re.match(r"\$\{\w+:\?", value), f"{variable} must be required"
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert [name for name, each in COMPOSE["services"].items() if "inside" not in each["networks"]] == ["serve"]
    assert KEY_VARIABLE in COMPOSE["services"]["serve"]["environment"]
    (service,) = find_objects("Service")
    assert service["spec"]["type"] == "ClusterIP"
    pod = DEPLOYMENTS["forethought-serve"]["spec"]["template"]["spec"]
    keys = str(parse(CONTAINERS["forethought-serve"]["args"])["keys"])
    mounts = {each["mountPath"]: each["name"] for each in CONTAINERS["forethought-serve"]["volumeMounts"]}
    of_secret = [each["name"] for each in pod["volumes"] if "secret" in each]
    assert mounts[str(Path(keys).parent)] in of_secret
    assert not any("hostPort" in port for each in CONTAINERS.values() for port in each.get("ports", ()))
    for deployment in DEPLOYMENTS.values():
        assert "hostNetwork" not in deployment["spec"]["template"]["spec"]


def test_selectors_fit() -> None:
    names = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in DEPLOYMENTS.items()}
    for kind in ("PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler"):
        assert {each["metadata"]["name"] for each in find_objects(kind)} == set(names), kind
    for name, labels in names.items():
        assert DEPLOYMENTS[name]["spec"]["selector"]["matchLabels"] == labels
    for each in find_objects("PodDisruptionBudget"):
        assert each["spec"]["selector"]["matchLabels"] == names[each["metadata"]["name"]]
    for each in find_objects("NetworkPolicy"):
        assert each["spec"]["podSelector"]["matchLabels"] == names[each["metadata"]["name"]]
        assert each["spec"]["policyTypes"] == ["Ingress", "Egress"]
    for each in find_objects("HorizontalPodAutoscaler"):
        assert each["spec"]["scaleTargetRef"]["name"] == each["metadata"]["name"]
        assert each["spec"]["minReplicas"] >= 2
    (service,) = find_objects("Service")
    assert service["spec"]["selector"] == names[service["metadata"]["name"]]


def test_pods_have_limits_and_few_rights() -> None:
    for name, container in CONTAINERS.items():
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        pod = DEPLOYMENTS[name]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        volumes = {each["name"] for each in pod["volumes"]}
        assert {each["name"] for each in container["volumeMounts"]} == volumes
    assert "--uid 10001" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_what_runs_may_end_before_it_is_killed() -> None:
    needed = {"serve": GRACE_SECONDS + LATE_SECONDS + 5, "worker": 30}
    for kind, seconds in needed.items():
        assert int(COMPOSE["services"][kind]["stop_grace_period"].removesuffix("s")) > seconds
        pod = DEPLOYMENTS[f"forethought-{kind}"]["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] > seconds


def test_the_image_has_what_it_needs() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (wanted,) = set(re.findall(r"\[([\w,]+)\]", dockerfile))
    assert set(wanted.split(",")) <= set(project["project"]["optional-dependencies"])
    assert {"serve", "postgres", "temporal"} <= set(wanted.split(","))
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["path"].partition("/")[0]
    needed = [*packages, hook, "pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]]
    assert [name for name in needed if f"!{name}" not in ignored] == []
    assert "gcc" not in dockerfile


def test_files_that_are_named_exist() -> None:
    for each in COMPOSE["services"].values():
        for volume in each.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
    for each in KUSTOMIZATION["configMapGenerator"]:
        assert all((DEPLOY / name).exists() for name in each["files"])
    assert (DEPLOY / COMPOSE["services"]["serve"]["build"]["dockerfile"].removeprefix("docs/deploy/")).exists()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl; it needs no cluster")
def test_kubectl_builds_the_manifests() -> None:
    found = subprocess.run(["kubectl", "kustomize", str(DEPLOY)], capture_output=True, text=True, check=True)
    made = list(YAML(typ="safe").load_all(found.stdout))
    assert len(made) == len(OBJECTS) + len(KUSTOMIZATION["configMapGenerator"])


def test_the_world_of_the_examples_runs() -> None:
    world = open_source(str(DEPLOY / "world.py"))
    (problem,) = world.problems().values()
    sys.path.insert(0, str(DEPLOY))
    try:
        import world as found
    finally:
        sys.path.remove(str(DEPLOY))
    assert asyncio.run(Executor(found.world).run(problem)).succeeded


def test_the_worker_on_temporal_starts() -> None:
    pytest.importorskip("temporalio")
    code = "import temporal_worker; assert temporal_worker.main"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(DEPLOY), str(ROOT)])}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=200)
