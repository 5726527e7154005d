"""Integer networks as files: what comes back, and what is refused."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import KINDS
from tests.refusals import refuses
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import FileFormatError
from zenserve.verifier.preamble import PREAMBLE_BYTES

_BODY = PREAMBLE_BYTES + 32


@given(st.integers(0, 2**32), st.lists(st.sampled_from(KINDS), max_size=4), st.sampled_from([8, 16]))
def test_round_trip(seed: int, kinds: list[str], most_bits: int) -> None:
    graph = networks.of_kinds(seed, *kinds, most_bits=most_bits)
    data = graph.to_bytes()
    again = QuantGraph.from_bytes(data)
    assert again.to_bytes() == data
    q = networks.inputs(graph, 3)
    assert np.array_equal(again.run(q), graph.run(q))
    assert again.types == graph.types


def code(data: bytes) -> str:
    with pytest.raises(FileFormatError) as caught:
        QuantGraph.from_bytes(data)
    return caught.value.code


def test_damage_is_seen() -> None:
    data = networks.of_kinds(1, "conv").to_bytes()
    assert code(data[:10]) == "file.length"
    assert code(data[:40]) == "file.length"
    assert code(b"x" + data[1:]) == "file.magic"
    assert code(data[:8] + b"\x01" + data[9:]) == "file.version"
    assert code(data[:12] + b"pkey" + data[16:]) == "file.kind"
    for position in (16, 60, len(data) - 1):
        assert code(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]) == "file.hash"


def resealed(data: bytes, edit: Callable[[dict[str, Any]], Any], rest: bytes = b"") -> bytes:
    """The file with its header edited, and a hash that is right again."""
    (length,) = struct.unpack_from("<I", data, _BODY)
    header = json.loads(data[_BODY + 4 : _BODY + 4 + length])
    edit(header)
    text = json.dumps(header).encode()
    body = struct.pack("<I", len(text)) + text + data[_BODY + 4 + length :] + rest
    return data[:PREAMBLE_BYTES] + hashlib.sha256(body).digest() + body


def first(header: dict[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = header["nodes"][0]
    return node


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda h: h.update(kind="Conv"), "file.header"),
        (lambda h: h.update(extra=1), "file.header"),
        (lambda h: h.pop("output"), "file.header"),
        (lambda h: h.update(output=7), "file.header"),
        (lambda h: h.update(output="none"), "file.value"),
        (lambda h: h.update(input_shape=[2, 5, 0]), "file.value"),
        (lambda h: h.update(input_shape=[2, 5, True]), "file.header"),
        (lambda h: h.update(input_shape=[2, 5, 4.0]), "file.header"),
        (lambda h: h["input_type"].update(bits=99), "file.value"),
        (lambda h: h["input_type"].update(scale="1"), "file.header"),
        (lambda h: h.update(nodes=[]), "file.length"),
        (lambda h: h.update(nodes={}), "file.header"),
        (lambda h: first(h).update(kind="Affine"), "file.header"),
        (lambda h: first(h).update(kind="QuantGraph"), "file.header"),
        (lambda h: first(h).update(kind=["Conv"]), "file.header"),
        (lambda h: first(h).update(stride=[0, 1]), "file.value"),
        (lambda h: first(h).update(stride=[1]), "file.value"),
        (lambda h: first(h).update(dilation=[]), "file.header"),
        (lambda h: first(h).update(dilation=[2, 0]), "file.value"),
        (lambda h: first(h).update(dilation=[2]), "file.value"),
        (lambda h: first(h).update(groups=0), "file.value"),
        (lambda h: first(h)["weight"].update(array=["<f8", 1]), "file.header"),
        (lambda h: first(h)["weight"].update(array=["|u1", -1, -1]), "file.header"),
        (lambda h: first(h)["weight"].update(array=["|u1", 1 << 62, 1 << 62]), "file.length"),
        (lambda h: first(h)["weight"].update(array=["|u1"]), "file.header"),
        (lambda h: first(h)["weight"]["array"].append(1), "file.value"),
        (lambda h: first(h).update(rescale=None), "file.value"),
        (lambda h: first(h).update(inputs=["x", "x"]), "file.value"),
        (lambda h: first(h).update(inputs=["later"]), "file.value"),
    ],
)
def test_headers_that_no_writer_produces_are_refused(
    edit: Callable[[dict[str, Any]], Any], expected: str
) -> None:
    data = networks.of_kinds(1, "conv").to_bytes()
    assert QuantGraph.from_bytes(resealed(data, lambda header: None)).to_bytes() == data
    assert code(resealed(data, edit)) == expected


@pytest.mark.parametrize(
    ("slopes", "zero_point", "expected"),
    [
        ([1], 3, "file.header"),
        ([1, 2.0], 3, "file.header"),
        ([1, True], 3, "file.header"),
        ([1, 0], 3, "file.value"),
        ([-(1 << 60), 1], 3, "file.value"),
        # No input is above this zero point, or one by little: sums stay small, but not their terms.
        ([1, 1 << 70], 255, "file.value"),
        ([1, 1 << 53], 254, "file.value"),
    ],
)
def test_slopes_that_no_integers_have_are_refused(slopes: list[Any], zero_point: int, expected: str) -> None:
    def edit(header: dict[str, Any]) -> None:
        header["input_type"].update(bits=8, zero_point=zero_point)
        first(header).update(slopes=slopes)
        first(header)["rescale"].update(shift=45)

    assert code(resealed(networks.of_kinds(1, "bent").to_bytes(), edit)) == expected


def test_windows_that_no_axes_have_are_refused() -> None:
    data = networks.of_kinds(1, "sum").to_bytes()
    assert code(resealed(data, lambda header: header.update(input_shape=[]))) == "file.value"
    pool = MaxPool("pool", ("x",), (1, 1), (1 << 70, 1))
    with refuses("model.quantised"):
        _ = QuantGraph.of("x", (1, 1, 1), Affine(1.0, 0, 2), (pool,), "pool").shapes


def test_nothing_may_follow_or_lack() -> None:
    data = networks.of_kinds(1, "conv").to_bytes()
    assert code(resealed(data, lambda header: None, b"x")) == "file.length"
    body = data[_BODY:-1]
    assert code(data[:PREAMBLE_BYTES] + hashlib.sha256(body).digest() + body) == "file.length"
    spaced = data[_BODY + 4 :].replace(b'"kind": ', b'"kind":  ', 1)
    (length,) = struct.unpack_from("<I", data, _BODY)
    body = struct.pack("<I", length + 1) + spaced
    assert code(data[:PREAMBLE_BYTES] + hashlib.sha256(body).digest() + body) == "file.header"
