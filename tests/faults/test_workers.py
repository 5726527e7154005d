"""What can befall workers, on real servers; what each scenario pins is in docs/service.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.cluster import Cluster
from tests.patience import until
from tests.programs import Find
from zenserve.client import Model
from zenserve.service.scheduler.reaper import reap

STAGES = ("load model", "columns", "key_g1", "store", "load key", "witness", "msm_quotient", "self-check")
LOST = "resource.worker_lost"


def test_a_worker_killed_in_each_stage(cluster: Cluster, model: Model) -> None:
    """Without a supervisor that would notice, as on a host that went away: the lease runs out."""
    with cluster.idle():
        proofs = cluster.prove(model, len(STAGES), reveal="top", top=1)  # whose keys are not made yet
        cluster.accidents(*(f"die@{stage}" for stage in STAGES)).wait()
        assert [cluster.job(proof)["stage"] for proof in proofs] == list(STAGES)
        cluster.let_leases_run_out()
    for proof in proofs:
        cluster.ended_well(proof, LOST)


@pytest.mark.large
def test_a_worker_killed_under_its_supervisor(cluster: Cluster, model: Model) -> None:
    """It is noticed at once: another worker has the job before the lease would have run out."""
    with cluster.holding():
        (proof,) = cluster.prove(model)
        cluster.until_held(proof)
        worker = cluster.working()
        assert worker is not None
        worker.kill()
    cluster.ended_well(proof, LOST)
    successor = cluster.working()
    assert successor is not None
    assert successor.pid != worker.pid


@pytest.mark.large
def test_a_worker_killed_while_it_opens_a_commitment(cluster: Cluster) -> None:
    """What it opened may have been seen: it stays counted, and who tries again takes another opening."""
    model = cluster.model("spartan")
    left = "SELECT proofs FROM roots WHERE root = :root"
    ((before,),) = cluster.query(left, root=model.commitment)
    stages = ("outer", "open")
    with cluster.idle():
        proofs = cluster.prove(model, len(stages))
        cluster.accidents(*(f"die@{stage}" for stage in stages)).wait()
        assert [cluster.job(proof)["stage"] for proof in proofs] == list(stages)
        assert cluster.query(left, root=model.commitment) == [(before - 2,)]
        cluster.let_leases_run_out()
    for proof in proofs:
        cluster.ended_well(proof, LOST)
    assert cluster.query(left, root=model.commitment) == [(before - 4,)]
    one, other = (cluster.client.get_proof_document(proof)["proofs"][0] for proof in proofs)
    assert one[:2] == other[:2] == "00"  # no renewal before either
    # Of the roots the commitment's is the same; the witness's and the pads', with fresh randomness, are not.
    roots = [{proof[2:][start : start + 64] for start in range(0, 64 * 5, 64)} for proof in (one, other)]
    assert roots[0] & roots[1] == {model.commitment}


@pytest.mark.large
def test_a_worker_out_of_memory_or_disk(cluster: Cluster, model: Model) -> None:
    """Both are told apart from bugs, pass, and leave nothing half-written."""
    incoming = cluster.settings.data_dir / "artifacts" / "incoming"
    accidents = {"starve@columns": "resource.memory", "fill@columns": "resource.storage"}
    for (accident, code), reveal in zip(accidents.items(), ("logits", "label"), strict=True):
        with cluster.idle():
            before = set(incoming.iterdir())
            # Whose keys are not made yet.
            (proof,) = cluster.prove(model, reveal=reveal, input_privacy="public")
            cluster.accidents(accident).wait()
            assert cluster.job(proof)["state"] == "queued"
            assert set(incoming.iterdir()) == before
        cluster.ended_well(proof, code)


@pytest.mark.large
def test_work_that_does_not_heed_a_cancellation(cluster: Cluster, model: Model) -> None:
    """Its process is killed, and another is started."""
    with cluster.holding(deaf=True):
        (proof,) = cluster.prove(model)
        cluster.until_held(proof)
        worker = cluster.working()
        assert worker is not None
        cluster.client.cancel(proof)
        job = cluster.until_over(proof)
        assert (job["state"], job["attempt"], job["failures"]) == ("canceled", 1, [])
        until(lambda: not worker.is_running(), "the end of the worker")
    (another,) = cluster.prove(model)
    cluster.ended_well(another)


def test_messages_delivered_again_and_several_workers_with_one_job(cluster: Cluster, model: Model) -> None:
    with cluster.idle():
        (proof,) = cluster.prove(model)
        for _ in range(5):
            cluster.runtime.queue.send(proof)
        others = [cluster.accidents("none") for _ in range(2)]
    for other in others:
        other.wait()
    cluster.ended_well(proof)
    taken = "SELECT count(*) FROM job_events WHERE job_id = :id AND stage = 'starting'"
    assert cluster.query(taken, id=proof) == [(1,)]


@pytest.mark.large
@pytest.mark.parametrize("hours", ["+1h", "-1h"])
def test_a_host_whose_clock_is_wrong(
    cluster: Cluster, model: Model, program: Find, tmp_path: Path, hours: str
) -> None:
    """Its beat takes nothing from others; its worker loses nothing to them, and makes a proof."""
    skewed = {
        "LD_PRELOAD": program("libfaketimeMT.so.1"),
        "FAKETIME": hours,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",  # files are dated by their server; Python would compile every module again
    }
    held = tmp_path / "held"
    held.touch()
    # The first makes keys, which no row names yet while it is held.
    fresh: dict[str, Any] = {"reveal": "logits"} if hours == "+1h" else {"reveal": "top", "top": 2}
    with cluster.idle():
        proofs = [*cluster.prove(model, **fresh), *cluster.prove(model)]
        workers = []
        for proof, stage, clock in zip(proofs, ("store", "witness"), ({}, skewed), strict=True):
            workers.append(cluster.accidents(f"hold@{stage}={held}", **clock))
            cluster.until_held(proof, stage)
        cluster.accidents("reap", "sweep", **skewed).wait()
        reap(cluster.runtime)
        assert {cluster.job(proof)["state"] for proof in proofs} == {"running"}
        held.unlink()
        for worker in workers:
            worker.wait()
    for proof in proofs:
        cluster.ended_well(proof)


@pytest.mark.large
def test_a_worker_told_to_stop_gives_its_job_back(cluster: Cluster, model: Model) -> None:
    with cluster.holding():
        (proof,) = cluster.prove(model)
        cluster.until_held(proof)
        cluster.stop("worker")
    job = cluster.job(proof)
    assert (job["state"], job["attempt"], job["failures"], job["worker"]) == ("queued", 0, [], None)
    cluster.start("worker")
    cluster.ended_well(proof)


@pytest.mark.large
def test_a_worker_told_to_stop_ends_its_job_within_the_drain(cluster: Cluster, model: Model) -> None:
    """It takes no other one."""
    cluster.stop("worker")
    cluster.start("worker", ZENSERVE_DRAIN_SECONDS="60")
    before = cluster.logged("worker.drains")
    with cluster.holding():
        proof, other = cluster.prove(model, 2)
        cluster.until_held(proof)
        cluster.processes["worker"].terminate()
        until(lambda: cluster.logged("worker.drains") > before, "the worker to hear of it")
    cluster.stop("worker")
    assert (cluster.job(proof)["state"], cluster.job(other)["state"]) == ("succeeded", "queued")
    cluster.start("worker")
    for each in (proof, other):
        cluster.ended_well(each)


@pytest.mark.large
@pytest.mark.parametrize("name", [pytest.param("beat-2", marks=pytest.mark.large), "worker-2"])
def test_a_process_told_to_stop_while_it_starts(cluster: Cluster, name: str) -> None:
    cluster.start(name)
    cluster.stop(name)


def test_nothing_was_left_running(cluster: Cluster) -> None:
    """After all of the above: no worker that is gone is taken to be there, and no process is a stray."""
    worker = cluster.working()
    assert worker is not None
    until(lambda: cluster.query("SELECT count(*) FROM jobs WHERE state = 'running'") == [(0,)], "all jobs")
    supervisors = {process.pid for process in cluster.processes.values()}
    assert {each.pid for each in cluster.strays()} - supervisors == {worker.pid}
