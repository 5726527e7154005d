from __future__ import annotations

import json

import pytest

from examples.committed import demo


def test_one_commitment_serves_two_circuits(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last.removeprefix("demo: ")) == {"verified": True, "tampered_refused": True}
