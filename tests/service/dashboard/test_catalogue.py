"""Lists of proofs and datasets, ceremonies, setups of keys, and what is left of a commitment."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.service.busy import CEREMONIES
from tests.service.dashboard.site import Site, first
from zenserve.service import openings
from zenserve.service.access.principal import SCOPES
from zenserve.service.dashboard.layers import layers
from zenserve.service.dashboard.setups import WORDS
from zenserve.service.openings import Left
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.ceremonies import Contribution
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Dataset, Model, Proof
from zenserve.verifier.registry import SYSTEMS


def walk(client: Any, path: str | None, ids: str) -> list[str]:
    """All ids of a list, page by page."""
    seen: list[str] = []
    while path:
        page = client.get(path).text
        rows = re.findall(
            rf'<(?:th|td) [^>]*data-label="(?:Proof|Dataset)">.*?title="({ids}_\w+)"', page, re.DOTALL
        )
        seen += rows
        link = re.search(r'href="([^"]+)" rel="next"', page)
        path = link[1].replace("&amp;", "&") if link else None
    return seen


def test_all_proofs_are_listed_once_by_what_is_asked_for(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    with busy.database.read() as session:
        rows = session.scalars(select(Proof)).all()
    rows = sorted(rows, key=lambda row: (row.job.created_at, row.id), reverse=True)
    assert walk(client, "/admin/proofs", "prf") == [row.id for row in rows]
    for query, wanted in (
        ("state=failed", [row.id for row in rows if row.job.state == "failed"]),
        ("scheme=recognition", [row.id for row in rows if row.scheme == "recognition"]),
        (f"model={rows[0].model_id}", [row.id for row in rows if row.model_id == rows[0].model_id]),
    ):
        assert walk(client, f"/admin/proofs?{query}", "prf") == wanted, query
    assert "No proof matches." in client.get("/admin/proofs?model=mdl_none").text
    assert client.get("/admin/proofs?scheme=nonsense").status_code == 200


def test_a_list_of_proofs_has_answers_causes_and_setups(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    page = client.get("/admin/proofs?scheme=inference").text
    assert '<span class="clamp">Label 7</span>' in page
    assert "971 of 1,000 right, 97.1 %" in client.get("/admin/proofs?scheme=accuracy").text
    assert re.search(r'<code class="cause">\w+\.\w+</code>', client.get("/admin/proofs?state=failed").text)
    assert f'title="{WORDS["development"][1]}">development</span>' in page


def test_datasets_are_listed_with_their_models(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    with busy.database.read() as session:
        dataset = session.scalars(select(Dataset)).one()
        name = session.get_one(Model, dataset.model_id).reference
    page = client.get("/admin/datasets").text
    assert walk(client, "/admin/datasets", "dst") == [dataset.id]
    assert f'href="/admin/jobs/{dataset.id}" title="holdout 2026-10"' in page
    assert f'title="{name}"' in page
    assert walk(client, f"/admin/datasets?model={dataset.model_id}", "dst") == [dataset.id]
    assert walk(client, "/admin/datasets?state=failed", "dst") == []


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("opening", "The service computes where each key starts."),
        ("open", f"zenserve ceremonies join {CEREMONIES['open']} --name NAME"),
        ("closing", "<q>drand quicknet, round 12345678</q>"),
        ("finished", "the keys are made"),
        ("failed", "The ceremony could not be opened: the worker ran out of memory"),
    ],
)
def test_a_ceremony_says_what_is_next_and_who_contributed(busy: Site, phase: str, said: str) -> None:
    ceremony_id = CEREMONIES[phase]
    page = busy.visitor(*SCOPES).get(f"/admin/ceremonies/{ceremony_id}").text
    assert said in page.partition('id="next"')[2].partition("</section>")[0]
    assert '<svg aria-hidden="true"><use href="#mark-' in page
    with busy.database.read() as session:
        mine = Contribution.ceremony_id == ceremony_id
        contributions = session.scalars(select(Contribution).where(mine)).all()
    for each in contributions:
        assert f'href="/admin/jobs/{each.id}"' in page
        assert all(f'title="{digest}"' in page for digest in each.hashes or [])
    assert ("Nobody yet." in page) == (not contributions)
    assert ("The keys are for development" in page) == (phase == "finished"), "nobody shared in its powers"


def test_a_contribution_that_is_verified_is_what_is_next(busy: Site) -> None:
    with busy.database.read() as session:
        contribution = session.scalars(
            select(Contribution).where(Contribution.ceremony_id == CEREMONIES["closing"])
        ).first()
    assert contribution is not None
    client, path = busy.visitor(*SCOPES), f"/admin/ceremonies/{CEREMONIES['closing']}"
    page = client.get(f"/admin/jobs/{contribution.id}").text
    assert f'href="{path}">The ceremony</a>' in page
    try:
        set_state(busy, contribution.id, "running")
        assert "It takes no other contribution meanwhile." in client.get(path).text
    finally:
        set_state(busy, contribution.id, "succeeded")


def set_state(site: Site, job_id: str, state: str) -> None:
    with site.database.write() as session:
        session.execute(update(Job).where(Job.id == job_id).values(state=state))


def test_keys_say_who_made_them_where_they_are_used(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    proof = first(busy, LOCAL_TENANT, "succeeded")
    with busy.database.read() as session:
        key_id = session.get_one(Proof, proof).verification_key_id
        held = session.scalars(select(Model).where(Model.verification_key_id.is_not(None))).all()
        by_id = {model.id: model for model in held}
    page = client.get(f"/admin/jobs/{proof}").text
    assert f'href="/v1/verification-keys/{key_id}" download="key-{str(key_id)[:8]}.json">' in page
    assert "one party made the keys, and could forge proofs" in page
    assert 'data-label="Setup"><span title=' in client.get("/admin/circuits").text
    finished = client.get(f"/admin/ceremonies/{CEREMONIES['finished']}").text
    (model_id,) = set(re.findall(r'href="/admin/models/(\w+)"', finished))
    assert f'href="/v1/verification-keys/{by_id[model_id].verification_key_id}" download' in finished
    shown = client.get(f"/admin/models/{model_id}").text
    assert f'<a href="/admin/ceremonies/{CEREMONIES["finished"]}">development</a>' in shown


def test_every_setup_of_every_proof_system_has_words() -> None:
    assert {setup for system in SYSTEMS.values() for setup in system.setups} == WORDS.keys()


def test_openings_that_are_left_are_on_the_model_s_page(busy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    model = first(busy, LOCAL_TENANT, "succeeded", "model")
    client = busy.visitor(*SCOPES)
    assert "Openings left" not in client.get(f"/admin/models/{model}").text
    for left, said in (
        (Left(5, 13_946), ">13,946</p>"),
        (Left(5, 13_946), "at most. 5 proofs before the commitment is renewed"),
        (Left(0, 0), "register the model anew"),
    ):
        monkeypatch.setattr(openings, "left", lambda *_, left=left: left)
        assert said in client.get(f"/admin/models/{model}").text


def test_layers_that_only_move_values_are_folded(busy: Site) -> None:
    described = {
        "architecture": [
            {"name": "flat", "operator": "Reshape", "shape": [4]},
            {"name": "turned", "operator": "Transpose", "shape": [4]},
            {"name": "dense", "operator": "Dense", "shape": [2], "weights": [2, 4]},
        ],
        "constraints": {"total": 9, "by_gadget": {"dense": 9}},
        "quantisation": {
            "input": {"shape": [4], "scale": 1.0, "zero_point": 0, "bits": 8},
            "layers": [],
        },
    }
    assert [layer.name for layer in layers(described, None) if layer.moves] == ["flat", "turned"]
    model = first(busy, LOCAL_TENANT, "succeeded", "model")
    page = busy.visitor(*SCOPES).get(f"/admin/models/{model}").text
    folded = page.partition("<details><summary>1 layer that takes no rows: Reshape</summary>")[2]
    assert '<th scope="row">reshape1</th>' in folded.partition("</details>")[0]
    assert '<th scope="row">dense1</th>' not in folded.partition("</details>")[0]


def test_another_tenant_s_lists_and_ceremonies_are_not_there(busy: Site) -> None:
    client = busy.visitor("read", tenant="tnt_x")
    assert client.get(f"/admin/ceremonies/{CEREMONIES['open']}").status_code == 404
    assert "cer_" not in client.get("/admin/ceremonies").text
    with busy.database.read() as session:
        others = session.scalars(select(Proof)).all()
    theirs = {row.id for row in others if row.job.tenant_id != "tnt_x"}
    assert theirs.isdisjoint(walk(client, "/admin/proofs", "prf"))
    assert "holdout" not in client.get("/admin/datasets").text
