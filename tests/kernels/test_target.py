"""Which target runs."""

from __future__ import annotations

import pytest

from zenserve.kernels.target import VARIABLE, available_targets

chosen = available_targets.__wrapped__


def test_all_targets_of_the_processor_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen()[-1] == "portable"


def test_faster_ones_than_the_one_that_is_named_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "portable")
    assert chosen() == ("portable",)


def test_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "avx9")
    with pytest.raises(ValueError, match="ZENSERVE_KERNELS is 'avx9'"):
        chosen()
