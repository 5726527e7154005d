"""The camera's networks, as they are kept, and what its demonstration shows of images that are there."""

from __future__ import annotations

import numpy as np
import pytest

from circuits import plan_inference, quantise
from examples.camera import demo
from examples.camera.network import CIFAR, FACES, Bank
from examples.zoo.data import Images

BANKS = (CIFAR, FACES)


@pytest.mark.parametrize(("bank", "name"), [(bank, name) for bank in BANKS for name in bank.networks])
def test_a_network_has_a_number_for_each_class(bank: Bank, name: str) -> None:
    scores = bank.network(name).run(np.full((1, *bank.image), 0.5))
    assert scores.shape == (1, bank.classes)
    assert 0 < np.abs(scores).max() < 20


@pytest.mark.parametrize("bank", BANKS, ids=lambda bank: bank.name)
def test_each_is_cheaper_than_the_one_before(bank: Bank) -> None:
    images = np.random.default_rng(0).random((2, *bank.image))
    costs = [
        plan_inference(quantise(bank.network(name), images), weight_privacy="committed").rows
        for name in bank.networks
    ]
    assert costs == sorted(costs, reverse=True)


def test_what_is_shown_is_not_profiled() -> None:
    labels = np.arange(CIFAR.classes).repeat(40)
    samples, shown = demo.split(Images(np.zeros((len(labels), 1), np.uint8), labels))
    assert np.bincount(labels[samples]).tolist() == [demo.PROFILED] * CIFAR.classes
    assert not {*samples} & {*shown}
    first, second = np.split(labels[shown], 2)
    assert {demo.NAMES[label] for label in first} <= {*demo.SCENES[0]}
    assert {demo.NAMES[label] for label in second} <= {*demo.SCENES[1]}
