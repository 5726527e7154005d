"""deploy/kubernetes runs what docker-compose.yml runs: the same processes, settings, ports and files."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.service.test_deployment import FILLED_IN, GIVEN, OURS, ROOT, SERVICES, substituted
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings

DEPLOY = ROOT / "deploy"
BASE: dict[str, Any] = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
GPU: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes/gpu/kustomization.yaml").read_text())
FILES = [*BASE["resources"], *(f"kubernetes/gpu/{name}" for name in GPU["resources"])]
OBJECTS: list[dict[str, Any]] = [
    document for name in FILES for document in yaml.safe_load_all((DEPLOY / name).read_text())
]
WORKLOADS = {each["metadata"]["name"]: each for each in OBJECTS if "template" in each.get("spec", {})}
PODS: dict[str, Any] = {name: each["spec"]["template"]["spec"] for name, each in WORKLOADS.items()}
CONTAINERS = {name: pod["containers"][0] for name, pod in PODS.items()}
SHARED: dict[str, str] = next(each["data"] for each in OBJECTS if each["kind"] == "ConfigMap")

STORES = {"postgres", "redis", "objects"}
"""Which a cluster has from elsewhere."""
OTHERWISE = {
    "ZENSERVE_DATABASE_URL": "a file",
    "ZENSERVE_BROKER_URL": "a file",
    "ZENSERVE_SECRET_KEY": "a file",
    "AWS_ACCESS_KEY_ID": "a file",
    "AWS_SECRET_ACCESS_KEY": "a file",
    "AWS_ENDPOINT_URL": "the store is elsewhere",
    "FORWARDED_ALLOW_IPS": "the proxy's address is not fixed",
    "ZENSERVE_PROCESSES": "there are pods",
}
"""Variables of docker-compose.yml that a cluster gives otherwise, and how."""
OWN = {"CREDENTIALS_DIRECTORY", "AWS_SHARED_CREDENTIALS_FILE"}
GUIDE = (ROOT / "docs" / "kubernetes.md").read_text()
SECRETS = ("zenserve_secret_key", "zenserve_database_url", "zenserve_broker_url", "aws_credentials")


def of(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == kind}


def environment(name: str) -> dict[str, str | None]:
    """Of the workload's container; None for what the cluster computes."""
    return SHARED | {each["name"]: each.get("value") for each in CONTAINERS[name].get("env", [])}


def mounted(name: str) -> dict[str, dict[str, Any]]:
    """The volumes of the workload's pod, by where its container has them."""
    spec = WORKLOADS[name]["spec"]
    volumes = {each["name"]: each for each in PODS[name].get("volumes", [])}
    volumes |= {each["metadata"]["name"]: each for each in spec.get("volumeClaimTemplates", [])}
    return {each["mountPath"]: volumes[each["name"]] | each for each in CONTAINERS[name]["volumeMounts"]}


def component(selector: dict[str, Any]) -> str:
    return str(selector.get("matchLabels", selector)["app.kubernetes.io/component"])


def test_there_is_a_workload_for_each_service() -> None:
    assert set(WORKLOADS) == set(SERVICES) - STORES
    assert all(
        component(each["spec"]["template"]["metadata"]["labels"]) == name for name, each in WORKLOADS.items()
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_the_services_image_and_command(name: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    image = GIVEN.sub(version, SERVICES[name]["image"])
    assert (CONTAINERS[name]["image"], CONTAINERS[name].get("args")) == (image, SERVICES[name].get("command"))


@pytest.mark.parametrize("name", OURS)
def test_a_workload_has_the_services_settings(name: str) -> None:
    given = environment(name)
    composed = {
        variable: None if value is None else substituted(value, FILLED_IN)
        for variable, value in OURS[name]["environment"].items()
        if variable not in OTHERWISE
    }
    assert {variable: given.get(variable) for variable, value in composed.items() if value} == {
        variable: value for variable, value in composed.items() if value
    }
    assert set(given) <= set(OURS[name]["environment"]) | OWN


@pytest.mark.parametrize("name", OURS)
def test_our_processes_start_with_these_settings_and_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in SECRETS[:3]:
        url = substituted(OURS[name]["environment"][file.upper()], FILLED_IN)
        (tmp_path / file).write_text(url)
    for variable, value in environment(name).items():
        monkeypatch.setenv(variable, value or "4")
    assert SHARED["CREDENTIALS_DIRECTORY"] in mounted(name)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    settings = Settings.read()
    assert (settings.auth, settings.store_url) == ("keys", "s3://zenserve/artifacts")
    assert settings.database_url is not None
    assert settings.drain_seconds + settings.kill_seconds < 90
    if name == "api":
        assert settings.processes == 1
        assert settings.api_drain_seconds < PODS["api"]["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("name", OURS)
def test_a_pod_stops_within_the_services_grace(name: str) -> None:
    grace = PODS[name]["terminationGracePeriodSeconds"]
    assert grace == int(OURS[name].get("stop_grace_period", "30s").removesuffix("s"))


def test_the_owner_of_the_tables_alone_migrates_them() -> None:
    parts = {
        part["secret"]["name"]: [item["path"] for item in part["secret"]["items"]]
        for part in mounted("migrate")["/run/secrets/zenserve"]["projected"]["sources"]
    }
    assert sorted(file for files in parts.values() for file in files) == sorted(SECRETS)
    assert parts["zenserve-owner"] == ["zenserve_database_url"]
    for name in set(OURS) - {"migrate"}:
        assert mounted(name)["/run/secrets/zenserve"]["secret"]["secretName"] == "zenserve"


@pytest.mark.parametrize("name", OURS)
def test_our_pods_have_the_services_folders(name: str) -> None:
    folders = mounted(name)
    (_, place) = OURS[name]["volumes"][0].split(":")
    assert OURS[name]["tmpfs"] == ["/tmp"]  # noqa: S108
    assert set(folders) == {place, "/tmp", "/run/secrets/zenserve"}  # noqa: S108
    assert folders["/tmp"]["emptyDir"]["medium"] == "Memory"  # noqa: S108
    kept = WORKLOADS[name]["spec"].get("persistentVolumeClaimRetentionPolicy")
    if name == "beat" or name.startswith("worker"):  # what notes how many openings there were
        assert WORKLOADS[name]["kind"] == "StatefulSet"
        assert kept == {"whenDeleted": "Retain", "whenScaled": "Retain"}
        assert folders[place]["kind"] == "PersistentVolumeClaim"
    if name.startswith("worker"):
        size = folders[place]["spec"]["resources"]["requests"]["storage"]
        assert int(SHARED["ZENSERVE_STORE_CACHE_BYTES"]) < int(size.removesuffix("Gi")) << 30


@pytest.mark.parametrize("name", ["proxy", "prometheus"])
def test_other_pods_have_the_services_files(name: str) -> None:
    maps = {each["name"]: each["files"] for each in BASE["configMapGenerator"]}
    folders = mounted(name)
    for source, place in (volume.split(":")[:2] for volume in SERVICES[name]["volumes"] if ":ro" in volume):
        map_ = folders.get(place) or folders[str(Path(place).parent)]
        assert Path(source).name in maps[map_["configMap"]["name"]]
        assert map_["mountPath"] == place or Path(place).name == Path(source).name
    items = folders["/run/secrets"]["secret"].get("items", [{"path": "metrics_key"}])
    assert [item["path"] for item in items] == SERVICES[name]["secrets"]


def test_callers_reach_the_port_of_the_proxy_and_the_proxy_the_api() -> None:
    services = of("Service")
    assert set(services) == {"proxy", "api", "prometheus"}
    published = re.sub(GIVEN, lambda found: found[3], SERVICES["proxy"]["ports"][0]).split(":")
    (port,) = services["proxy"]["spec"]["ports"]
    assert (str(port["port"]), str(CONTAINERS["proxy"]["ports"][0]["containerPort"])) == tuple(published)
    assert services["proxy"]["spec"]["externalTrafficPolicy"] == "Local"
    assert [each["spec"].get("type") for each in services.values()].count("LoadBalancer") == 1
    for service in services.values():
        (port,), name = service["spec"]["ports"], component(service["spec"]["selector"])
        assert port["targetPort"] == CONTAINERS[name]["ports"][0]["name"]
    api = f"api:{services['api']['spec']['ports'][0]['port']}"
    assert f"server {api};" in (DEPLOY / "nginx.conf").read_text()
    assert api in (DEPLOY / "prometheus.yml").read_text()
    assert CONTAINERS["api"]["ports"][0]["containerPort"] == Settings.model_fields["port"].default


def test_who_reaches_whom_as_in_compose() -> None:
    policies = of("NetworkPolicy")
    assert policies["default"]["spec"]["podSelector"] == {}
    into = {
        component(policy["spec"]["podSelector"]): [
            component(peer["podSelector"]) if "podSelector" in peer else "another namespace"
            for rule in policy["spec"]["ingress"]
            for peer in rule.get("from", [{"podSelector": {"app.kubernetes.io/component": "anybody"}}])
        ]
        for policy in policies.values()
        if "ingress" in policy["spec"]
    }
    assert into == {"proxy": ["anybody"], "api": ["proxy", "prometheus"], "prometheus": ["another namespace"]}
    world = [
        component(policy["spec"]["podSelector"])
        for policy in policies.values()
        for rule in policy["spec"].get("egress", [])
        if any("ipBlock" in peer for peer in rule.get("to", []))
    ]
    assert {*world, "proxy"} == {name for name, about in SERVICES.items() if "outside" in about["networks"]}
    asking = policies["stores"]["spec"]["podSelector"]["matchExpressions"][0]["values"]
    assert set(asking) == set(OURS)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_may_do_little(name: str) -> None:
    pod, container = PODS[name], CONTAINERS[name]
    assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert SERVICES[name]["read_only"]
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    if name in OURS:
        user = re.search(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
        assert user is not None
        assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == int(user[1])
    assert {"cpu", "memory"} <= set(container["resources"]["limits"]) & set(
        container["resources"]["requests"]
    )


def test_probes_ask_what_answers_while_the_database_is_away() -> None:
    probes = [
        CONTAINERS["api"][f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")
    ]
    assert probes == ["/healthz"] * 3
    assert not any("livenessProbe" in CONTAINERS[name] for name in OURS if name != "api")


@pytest.mark.parametrize("queue", ["cpu", "gpu"])
def test_workers_are_scaled_by_how_long_jobs_wait(queue: str, runtime: Runtime) -> None:
    from zenserve.service.api.metrics import Requests, exposition

    spec = of("ScaledObject")[f"worker-{queue}"]["spec"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": f"worker-{queue}",
    }
    assert "replicas" not in WORKLOADS[f"worker-{queue}"]["spec"]
    (trigger,) = spec["triggers"]
    (asked,) = re.findall(r"^max\((.+)\)$", trigger["metadata"]["query"])
    assert f"\n{asked} 0.0\n" in exposition(runtime, Requests()).decode()
    (port,) = of("Service")["prometheus"]["spec"]["ports"]
    (namespace,) = of("Namespace")
    assert trigger["metadata"]["serverAddress"] == f"http://prometheus.{namespace}.svc:{port['port']}"
    assert spec["minReplicaCount"] >= 1, "jobs are for a GPU only while a worker has one"


def test_disruptions_leave_one_of_each() -> None:
    budgets = {component(each["spec"]["selector"]) for each in of("PodDisruptionBudget").values()}
    assert budgets == {"api", "proxy", "worker-cpu", "worker-gpu"}


@pytest.mark.parametrize("file", FILES)
def test_kubernetes_knows_these_objects(file: str) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    for document in yaml.safe_load_all((DEPLOY / file).read_text()):
        if document["kind"] != "ScaledObject":  # KEDA's own
            validate.validate(document, validate.latest_version(), strict=True)


def kustomize(folder: Path) -> str:
    command = shutil.which("kubectl")
    if command is None:
        pytest.skip("kubectl is not installed")
    return subprocess.run(
        [command, "kustomize", str(folder)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def by_name(rendered: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(rendered)}


def test_the_base_renders_to_what_was_read_here() -> None:
    rendered = by_name(kustomize(DEPLOY))
    made = {each["name"] for each in BASE["configMapGenerator"]}
    read = {(each["kind"], each["metadata"]["name"]) for each in OBJECTS}
    assert {(kind, name.rpartition("-")[0]) for kind, name in rendered.keys() - read} == {
        ("ConfigMap", name) for name in made
    }
    assert {name for _, name in read - rendered.keys()} == {"worker-gpu"}
    assert {each["metadata"].get("namespace", "zenserve") for each in rendered.values()} == {"zenserve"}
    pod = rendered["StatefulSet", "worker-cpu"]["spec"]["template"]["spec"]
    assert pod["containers"] == [CONTAINERS["worker-cpu"]]


def test_the_guides_overlay_renders(tmp_path: Path) -> None:
    fence = re.search(r"^```yaml\n(.+?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert fence is not None
    overlay = yaml.safe_load(fence[1])
    (tmp_path / "zenserve").symlink_to(ROOT)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster/kustomization.yaml").write_text(fence[1])
    for secret in overlay["secretGenerator"]:
        for file in secret["files"]:
            (tmp_path / "cluster" / file.rpartition("=")[2]).write_text("secret")
    rendered = by_name(kustomize(tmp_path / "cluster"))
    (settings,) = (
        each["data"] for (_, name), each in rendered.items() if name == "zenserve" and "data" in each
    )
    assert settings["ZENSERVE_RETENTION_DAYS"] == "90"
    gpu = rendered["StatefulSet", "worker-gpu"]["spec"]["template"]["spec"]
    assert gpu["containers"][0]["image"].startswith("registry.example.com/zenserve-gpu:")
    secrets = {
        name.rpartition("-")[0]: set(each["data"])
        for (kind, name), each in rendered.items()
        if kind == "Secret"
    }
    assert secrets == {
        "zenserve": set(SECRETS),
        "zenserve-owner": {"zenserve_database_url"},
        "tls": {"tls.crt", "tls.key"},
    }
    (volume,) = (each for each in gpu["volumes"] if each["name"] == "secrets")
    assert ("Secret", volume["secret"]["secretName"]) in rendered


def test_the_guide_has_the_pods_and_times() -> None:
    for name, line in re.findall(r"^\| \w+ `([\w-]+)` \| (.+) \|$", GUIDE, re.MULTILINE):
        scaled = of("ScaledObject").get(name, {}).get("spec")
        count = WORKLOADS[name]["spec"].get("replicas", 1)
        pods = f"{scaled['minReplicaCount']} to {scaled['maxReplicaCount']}" if scaled else str(count)
        assert line.startswith(pods), name
        if name not in ("migrate", "worker-gpu"):
            assert f" {PODS[name]['terminationGracePeriodSeconds']} s" in line, name


def test_checkov_finds_nothing(tmp_path: Path) -> None:
    checkov = shutil.which("checkov")
    if checkov is None:
        pytest.skip("checkov is not installed: docs/kubernetes.md")
    (tmp_path / "rendered.yaml").write_text(kustomize(DEPLOY))
    command = [
        checkov,
        "--config-file",
        str(DEPLOY / "checkov.yaml"),
        "--file",
        str(tmp_path / "rendered.yaml"),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
