"""The camera's networks, as they are kept, and what its demonstration shows of images that are there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.cameras import BANKS, there
from examples.camera import demo
from examples.camera.network import Bank
from examples.zoo.data import Images
from zenserve.circuits import plan_inference, quantise


@pytest.mark.parametrize(
    ("bank", "name"), [(bank, name) for bank in BANKS.values() for name in bank.networks]
)
def test_a_network_has_a_number_for_each_class(bank: Bank, name: str) -> None:
    scores = bank.network(name).run(np.full((1, *bank.image), 0.5))
    assert scores.shape == (1, bank.classes)
    assert 0 < np.abs(scores).max() < 20


@pytest.mark.parametrize("bank", BANKS.values(), ids=[*BANKS])
def test_each_is_cheaper_than_the_one_before(bank: Bank) -> None:
    images = np.random.default_rng(0).random((2, *bank.image))
    costs = [
        plan_inference(quantise(bank.network(name), images), weight_privacy="committed").rows
        for name in bank.networks
    ]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("show", demo.SHOWS.values(), ids=[*demo.SHOWS])
def test_what_is_shown_is_not_profiled(show: demo.Show) -> None:
    assert {*show.members} <= {*show.bank.networks}
    labels = np.arange(show.bank.classes).repeat(2 * show.profiled)
    samples, shown = demo.split(show, Images(np.zeros((len(labels), 1), np.uint8), labels))
    assert np.bincount(labels[samples]).tolist() == [show.profiled] * show.bank.classes
    assert not {*samples} & {*shown}
    for scene, part in zip(show.scenes, np.split(labels[shown], 2), strict=True):
        assert {show.names[label] for label in part} == {*scene}


@pytest.mark.large
@pytest.mark.parametrize(("bank", "batch"), [("cifar", None), ("faces", None), ("faces", 4)])
def test_the_camera_films_and_cheats_are_refused(
    bank: str, batch: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    if BANKS[bank] not in there():
        pytest.skip(f"there are no images of {bank}")
    assert demo.main(batch=batch, bank=bank) == 0
    summary = json.loads(capfd.readouterr().out.splitlines()[-1].removeprefix("demo: "))
    assert summary["frames"] == sum(summary["by_model"]) == 2 * demo.FRAMES
    assert summary["refused"] == ["challenge_mismatch"]
    assert summary["right"] >= demo.FRAMES


def test_images_that_are_not_there_are_named_with_their_source(tmp_path: Path) -> None:
    for bank, source in (("cifar", "cs.toronto.edu"), ("faces", "cam-orl.co.uk")):
        with pytest.raises(SystemExit, match=rf"there is no {tmp_path}.*{source}.*ZENSERVE_DATA"):
            demo.main(tmp_path, bank=bank)
