"""The command line against answers made up here: what it asks for, and how it shows what comes back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from rich.console import Console

from tests.client.stub import Clock, Service, model, page, problem, proof
from tests.patience import until
from zenserve.client.resources import Job, Proof, read
from zenserve.service.cli import terminal

KEY = "zen_0123456789ab_" + "k" * 43


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service("sync", Clock())
    transport = httpx.MockTransport(service.answer)
    monkeypatch.setattr("zenserve.client.api.httpx.Client", partial(httpx.Client, transport=transport))
    monkeypatch.delenv("ZENSERVE_API_KEY", raising=False)
    service.clock.install(monkeypatch)
    return service


def test_a_list_is_a_line_for_each_and_no_more_than_were_asked_for(run: Any, service: Service) -> None:
    service.answers(page(proof("failed", id="prf_2"), proof(id="prf_1", label=7), cursor="more"))
    code, out, _ = run("proofs", "list", "--state", "failed", "--model", "mdl_1", "--limit", "2")
    assert code == 0
    header, *lines = out.splitlines()
    assert header.split() == ["id", "state", "created_at", "model_id", "scheme", "label"]
    assert [line.split()[:2] for line in lines] == [["prf_2", "failed"], ["prf_1", "running"]]
    assert lines[1].endswith("7")
    assert service.paths == ["GET /v1/proofs?state=failed&model_id=mdl_1"]
    code, out, _ = run("models", "list", "--limit", "1", "--json")
    assert code == 2  # these are no models


def test_a_dry_run_says_what_a_proof_would_show_and_take(run: Any, service: Service) -> None:
    tried = {
        **{"model_id": "mdl_1", "scheme": "inference", "label": 7, "values": {"label": 7}},
        **{"constraints": 2032, "proofs": 1, "verification_key_id": None, "queue": "cpu"},
        **{"setup_seconds": 4.27, "proof_seconds": 0.25, "memory_bytes": 190_000_000},
        **{"key_bytes": 41_800_000, "proof_bytes": 450},
    }
    service.answers(httpx.Response(200, json=tried))
    code, out, _ = run("prove", "mdl_1", "--input", "cmt_1", "--dry-run")
    assert code == 0
    assert service.paths == ["POST /v1/proofs"]
    for said in ("2,032, all of them hold", "about 0.25", "setup takes about 4.3 s more", "450 bytes"):
        assert said in out


def test_a_list_in_json(run: Any, service: Service) -> None:
    service.answers(page(model(name="[red]x\x1b[2J")))
    assert json.loads(run("models", "list", "--json")[1])[0]["created_at"] == "2026-11-21T14:00:00+00:00"
    assert "[red]x\N{REPLACEMENT CHARACTER}[2J" in run("models", "list")[1]
    service.answers(page())
    assert run("datasets", "list")[1] == "none\n"


def test_a_field_alone(run: Any, service: Service) -> None:
    service.answers(page(proof(id="prf_2"), proof(id="prf_1")))
    assert run("proofs", "list", "--field", "id")[1] == "prf_2\nprf_1\n"
    service.answers(httpx.Response(200, json=proof(values={"top": [7, 1]})))
    assert json.loads(run("proofs", "show", "prf_1", "--field", "values")[1]) == {"top": [7, 1]}
    for name, complaint in (("ids", "it has id, state"), ("label", "it is null")):
        code, out, err = run("proofs", "show", "prf_1", "--field", name)
        assert (code, out, complaint in err) == (2, "", True)


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        (("proofs", "retry", "prf_1"), "POST /v1/proofs/prf_1/retry"),
        (("proofs", "cancel", "prf_1"), "POST /v1/proofs/prf_1/cancel"),
        (("cancel", "prf_1"), "POST /v1/proofs/prf_1/cancel"),
        (("proof", "show", "prf_1"), "GET /v1/proofs/prf_1"),
        (("proofs", "delete", "prf_1"), "DELETE /v1/proofs/prf_1"),
        (("models", "delete", "mdl_1"), "DELETE /v1/models/mdl_1"),
        (("datasets", "delete", "dst_1"), "DELETE /v1/datasets/dst_1"),
        (("webhooks", "delete", "whk_1"), "DELETE /v1/webhooks/whk_1"),
    ],
)
def test_commands_ask_for_what_they_say(
    run: Any, service: Service, arguments: tuple[str, ...], request_: str
) -> None:
    service.answers(httpx.Response(200, json=proof("canceled")))
    assert run(*arguments, "--api-key", KEY)[0] == 0
    assert service.paths == [request_]
    assert service.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_whoami(run: Any, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_API_KEY", KEY)
    who = {"tenant_id": "tnt_1", "actor": "key_0123456789ab", "scopes": ["read", "prove"]}
    service.answers(httpx.Response(200, json=who))
    code, out, _ = run("whoami")
    assert (code, "read, prove" in out, KEY in out) == (0, True, False)
    service.answers(problem(401, "auth.invalid"))
    code, out, err = run("whoami")
    assert (code, out, "[auth.invalid]" in err) == (2, "", True)
    assert KEY not in err


def test_a_webhook_s_secret_is_shown_once_and_its_deliveries_after(run: Any, service: Service) -> None:
    made = {
        "id": "whk_1",
        "url": "https://example.com/",
        "events": ["proof.failed"],
        "created_at": "2026-11-21T14:00:00Z",
        "disabled_at": None,
    }
    service.answers(httpx.Response(201, json=made | {"secret": "whsec_c2VjcmV0"}))
    code, out, _ = run("webhooks", "add", "https://example.com/", "--event", "proof.failed")
    assert (code, "whsec_c2VjcmV0" in out) == (0, True)
    assert json.loads(service.asked[0].content) == {"url": "https://example.com/", "events": ["proof.failed"]}
    service.answers(page(made))
    assert "proof.failed" in run("webhooks", "list")[1]
    sent = {
        "id": "dlv_1",
        "event": "proof.failed",
        "job_id": "prf_1",
        "body": "{}",
        "state": "given up",
        "attempts": [{"at": "2026-11-21T14:00:00Z", "status": 500, "seconds": 0.1}],
        "next_at": "2026-11-21T14:00:00Z",
        "created_at": "2026-11-21T14:00:00Z",
    }
    service.answers(page(sent))
    assert run("webhooks", "deliveries", "whk_1")[1].splitlines()[1].split()[-1] == "1"
    service.answers(httpx.Response(202, json=sent))
    assert "given up" in run("webhooks", "redeliver", "whk_1", "dlv_1")[1]
    assert service.paths == ["POST /v1/webhooks/whk_1/deliveries/dlv_1/redeliver"]


def test_a_bar_shows_the_whole_and_the_time_that_is_left() -> None:
    def seen(**changes: Any) -> Job:
        return read(Proof, proof(**changes))

    def changes() -> Iterator[Job]:
        yield seen(state="queued")
        yield seen(overall_percent=37.0, eta_seconds=200.0)
        until(lambda: "37%" in console.export_text(clear=False))  # it is drawn now and then
        assert "about 3 min left" in console.export_text(clear=False)
        yield seen(state="succeeded")

    console = Console(record=True, force_terminal=True, width=120, file=io.StringIO())
    terminal.show_progress(console, "proving", changes())


def test_a_first_setup_announces_itself_once() -> None:
    stages = [("load model", None), ("columns", 12.0), ("key_g1", 7.0), ("witness", None)]
    changes = [read(Proof, proof(stage=stage, eta_setup_seconds=eta)) for stage, eta in stages]
    console = Console(record=True, width=120, file=io.StringIO())
    terminal.show_progress(console, "proving", changes)
    assert console.export_text().count("making keys for this form, once: about 12 s\n") == 1
    console.export_text()
    terminal.show_progress(console, "proving", changes[-1:])
    assert "making keys" not in console.export_text()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "about 1 s left"),
        (89, "about 89 s left"),
        (600, "about 10 min left"),
        (9000, "about 2.5 h left"),
    ],
)
def test_time_as_a_person_says_it(seconds: float, words: str) -> None:
    console = Console(record=True, width=120, file=io.StringIO())
    terminal.print_resource(console, read(Proof, proof(overall_percent=5.0, eta_seconds=seconds)))
    assert words in console.export_text()
