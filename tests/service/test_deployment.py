"""What the files of the deployment name exists: settings, commands, extras, files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from zenserve.service.cli import app
from zenserve.service.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
OURS = {name: about for name, about in SERVICES.items() if "build" in about}
ELSEWHERE = {"ZENSERVE_CACHE"}  # compiled circuits and GPU kernels: read where the cache is
GIVEN = re.compile(r"\$\{(\w+)(?:(:?[-?])([^}]*))?\}")


def substituted(value: object, given: dict[str, str]) -> str:
    """As Compose would; a required variable that is not given is a ``KeyError``."""
    return GIVEN.sub(
        lambda found: given[found[1]] if found[2] in (None, ":?") else given.get(found[1], found[3]),
        str(value),
    )


def example() -> dict[str, str | None]:
    """The variables of deploy/env.example; None: to be filled in."""
    lines = re.findall(r"^#?(\w+)=(.*)$", (ROOT / "deploy" / "env.example").read_text(), re.MULTILINE)
    return {name: value or None for name, value in lines}


FILLED_IN = {name: f"secret{name.lower().replace('_', '')}" for name, value in example().items() if not value}


def test_every_variable_that_can_be_given_is_in_the_example() -> None:
    handed_on = {
        name for about in OURS.values() for name, value in about["environment"].items() if value is None
    }
    assert {found[1] for found in GIVEN.finditer(COMPOSE)} | handed_on == set(example())
    required = {found[1] for found in GIVEN.finditer(COMPOSE) if found[2] == ":?"}
    assert required == set(FILLED_IN)


@pytest.mark.parametrize("name", OURS)
def test_our_services_start_with_these_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment: dict[str, Any] = OURS[name]["environment"]
    fields = {f"ZENSERVE_{field.upper()}" for field in Settings.model_fields}
    assert {given for given in environment if given.startswith("ZENSERVE_")} <= fields | ELSEWHERE
    for variable, value in environment.items():
        shown = FILLED_IN | {key: text for key, text in example().items() if text}
        monkeypatch.setenv(variable, substituted(value, FILLED_IN) if value is not None else shown[variable])
    settings = Settings.read()
    assert settings.auth == "keys"
    assert settings.store_url == "s3://zenserve/artifacts"
    stop = int(OURS[name].get("stop_grace_period", "10s").removesuffix("s"))
    if "worker" in name:
        assert stop > settings.drain_seconds + settings.kill_seconds


@pytest.mark.parametrize("name", OURS)
def test_our_services_run_commands_that_exist(name: str) -> None:
    command, *options = OURS[name]["command"]
    commands = typer.main.get_group(app).commands
    assert command in commands
    known = {option for parameter in commands[command].params for option in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known


def test_only_the_proxy_is_published_and_only_who_must_reaches_out() -> None:
    assert [name for name, about in SERVICES.items() if "ports" in about] == ["proxy"]
    assert {name for name, about in SERVICES.items() if "outside" in about["networks"]} == {"proxy", "beat"}


def test_the_api_believes_the_proxy_alone() -> None:
    assert {name for name, about in SERVICES.items() if "front" in about["networks"]} == {"proxy", "api"}
    proxy = SERVICES["proxy"]["networks"]["front"]["ipv4_address"]
    assert SERVICES["api"]["environment"]["FORWARDED_ALLOW_IPS"] == proxy


def test_an_openid_provider_is_reached_by_the_api_alone() -> None:
    added = yaml.safe_load((ROOT / "deploy" / "oidc.yml").read_text())
    assert list(added["services"]) == ["api"]
    api = added["services"]["api"]
    assert api["networks"] == {"outside": {}}
    wanted = {f"ZENSERVE_{name.upper()}" for name in Settings.model_fields if name.startswith("oidc_")}
    assert set(api["environment"]) == wanted


def test_secrets_are_neither_in_the_file_nor_in_the_example() -> None:
    assert set(FILLED_IN) == {
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
        "ZENSERVE_SECRET_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    }


def test_images_are_pinned_and_files_are_there() -> None:
    for name, about in SERVICES.items():
        assert ":" in about["image"], name
        for volume in about.get("volumes", []):
            if volume.startswith("./"):
                assert (ROOT / volume.partition(":")[0]).is_file(), volume


def test_the_image_is_built_from_what_the_package_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    kept = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    packages = set(project["tool"]["scikit-build"]["wheel"]["packages"])
    links = {path.name for path in (ROOT / "zenserve").iterdir() if path.is_symlink()}
    assert kept == packages | links | {
        "packages/client",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "requirements",
    }
    extras = re.findall(r"^ARG EXTRAS=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    extras += [about["build"]["args"]["EXTRAS"] for about in OURS.values() if about["build"] != "."]
    for extra in ",".join(extras).split(","):
        assert extra in project["project"]["optional-dependencies"]
        assert (ROOT / "requirements" / f"{extra}.txt").is_file()


def test_prometheus_reads_alerts_that_are_there() -> None:
    prometheus = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    assert [(ROOT / "deploy" / name).is_file() for name in prometheus["rule_files"]] == [True]
    alerts = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)
    assert len({rule["alert"] for rule in rules}) == len(rules)
