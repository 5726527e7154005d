"""Datasets as verifiers hold them: the hash of their content, and the integers that are committed to."""

from __future__ import annotations

import hashlib
import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zenserve.circuits.graphs.types import Affine
from zenserve.errors import TensorError
from zenserve.verifier.datasets import LabelledData, load, load_array, quantise
from zenserve.verifier.description import InputType

SAMPLES = np.arange(12, dtype=np.float32).reshape(3, 2, 2) / 8
LABELS = np.array([1, 0, 2], dtype=np.uint8)
KIND = InputType(shape=[2, 2], scale=0.125, zero_point=3, bits=8)


def test_the_hash_is_of_the_documented_bytes() -> None:
    data = LabelledData.of(SAMPLES, LABELS)
    text = (
        b"zenserve dataset 1\n[3, 2, 2]\n" + SAMPLES.astype("<f8").tobytes() + LABELS.astype("<i8").tobytes()
    )
    assert data.sha256 == hashlib.sha256(text).digest()


def test_the_hash_is_of_the_numbers_not_of_their_types() -> None:
    digest = LabelledData.of(SAMPLES, LABELS).sha256
    fortran = np.asfortranarray(SAMPLES.astype(">f8"))
    assert LabelledData.of(fortran, LABELS.astype(">i4")).sha256 == digest
    assert LabelledData.of(SAMPLES.tolist(), LABELS.tolist()).sha256 == digest
    others = (
        LabelledData.of(SAMPLES[::-1], LABELS),
        LabelledData.of(SAMPLES, LABELS[::-1]),
        LabelledData.of(SAMPLES.reshape(3, 4), LABELS),
        LabelledData.of(SAMPLES[:2], LABELS[:2]),
        LabelledData.of(SAMPLES + 1e-9, LABELS),
    )
    assert len({digest, *(other.sha256 for other in others)}) == 6


def test_shards_are_samples_then_labels_and_the_last_is_filled_up() -> None:
    first, last = LabelledData.of(SAMPLES, LABELS).shard_values([KIND], 2, 5)
    assert first == [*KIND.limbs, 3, 4, 5, 6, 7, 8, 9, 10, 1, 0]
    assert last == [*KIND.limbs, 11, 12, 13, 14, 0, 0, 0, 0, 2, 5]


def test_the_hash_of_several_inputs_is_of_their_names_in_the_network_s_order() -> None:
    ids, mask = np.array([[1, 2], [3, 4]]), np.array([[0.5], [1]])
    data = LabelledData.of({"mask": mask, "ids": ids}, [1, 0]).in_order(["ids", "mask"])
    inputs = b'"inputs":[{"name":"ids","shape":[2,2]},{"name":"mask","shape":[2,1]}]'
    head = b'zenserve dataset 3\n{%b,"labels":[2]}\n' % inputs
    numbers = ids.astype("<f8").tobytes() + mask.astype("<f8").tobytes()
    assert data.sha256 == hashlib.sha256(head + numbers + np.array([1, 0], "<i8").tobytes()).digest()
    measured = LabelledData.with_targets({"ids": ids, "mask": mask}, [0.5, 1])
    head = head.replace(b'"labels":[2]', b'"targets":[2,1]')
    assert measured.sha256 == hashlib.sha256(head + numbers + np.array([0.5, 1]).tobytes()).digest()
    others = (
        LabelledData.of({"mask": mask, "ids": ids}, [1, 0]),
        LabelledData.of({"ids": ids[::-1], "mask": mask}, [1, 0]),
        LabelledData.of({"id": ids, "smask": mask}, [1, 0]),
        LabelledData.of({"ids": ids.reshape(2, 2, 1), "mask": mask}, [1, 0]),
        LabelledData.of({"ids": ids}, [1, 0]),
        LabelledData.of(ids, [1, 0]),
    )
    assert len({data.sha256, measured.sha256, *(other.sha256 for other in others)}) == 8
    assert data.in_order(["ids"]).sha256 == others[4].sha256
    for names in (["ids", "mask", "more"], [None]):
        with pytest.raises(TensorError) as refusal:
            data.in_order(names)
        assert refusal.value.code == "input.names"


def test_shards_of_several_inputs_are_of_one_after_the_other() -> None:
    kinds = [KIND.model_copy(update={"name": name}) for name in ("a", "b")]
    data = LabelledData.of({"a": SAMPLES, "b": SAMPLES[::-1]}, LABELS)
    first, last = data.shard_values(kinds, 2, 5)
    text = b'{"bits":8,"name":"%b","scale":0.125,"shape":[2,2],"zero_point":3}'
    digest = hashlib.sha256(b"[%b,%b]" % (text % b"a", text % b"b")).digest()
    assert sum(limb << (52 * index) for index, limb in enumerate(first[:5])) == int.from_bytes(digest, "big")
    assert first[5:] == [*range(3, 11), 11, 12, 13, 14, 7, 8, 9, 10, 1, 0]
    assert last[5:] == [11, 12, 13, 14, 0, 0, 0, 0, 3, 4, 5, 6, 0, 0, 0, 0, 2, 5]


def test_a_type_is_named_by_its_hash() -> None:
    kind = InputType(shape=[1, 2], scale=1.0, zero_point=3, bits=8)
    digest = hashlib.sha256(b'{"bits":8,"scale":1,"shape":[1,2],"zero_point":3}').digest()
    assert sum(limb << (52 * index) for index, limb in enumerate(kind.limbs)) == int.from_bytes(digest, "big")
    assert len(kind.limbs) == 5
    assert max(kind.limbs) < 1 << 52


@pytest.mark.parametrize(("given", "taken"), [([1, 2, 2], [2, 2]), ([2, 2], [1, 2, 2])])
def test_a_batch_of_one_is_the_input_in_it(given: list[int], taken: list[int]) -> None:
    kind = InputType(shape=taken, scale=1.0, zero_point=0, bits=8)
    assert quantise(np.arange(4.0).reshape(given), kind) == [0, 1, 2, 3]
    for other in ([2, 2, 1], [1, 1, *taken], [4]):
        with pytest.raises(TensorError):
            quantise(np.arange(4.0).reshape(other), kind)


@given(
    st.floats(1e-6, 1e3),
    st.integers(2, 8).flatmap(lambda bits: st.tuples(st.just(bits), st.integers(0, (1 << bits) - 1))),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
)
def test_verifiers_quantise_as_the_circuits_do(
    scale: float, kind: tuple[int, int], values: list[float]
) -> None:
    bits, zero = kind
    expected = Affine(scale, zero, bits).quantise(np.array(values))
    assert (
        quantise(values, InputType(shape=[len(values)], scale=scale, zero_point=zero, bits=bits))
        == expected.tolist()
    )


@pytest.mark.parametrize(
    ("samples", "labels", "code"),
    [
        ([[1.0]], [0, 1], "input.shape"),
        ([1.0], [0], "input.shape"),
        ([[1.0]], [[0]], "input.shape"),
        (np.empty((0, 2)), np.empty(0, dtype=int), "input.empty"),
        ([[np.nan]], [0], "input.not_finite"),
        ([["1"]], [0], "input.not_numeric"),
        ([[True]], [0], "input.not_numeric"),
        ([[1.0]], [0.0], "input.not_numeric"),
        ([[1.0]], [-1], "input.not_numeric"),
        ([[1.0]], np.array([2**63], dtype=np.uint64), "input.not_numeric"),
    ],
)
def test_what_is_no_dataset(samples: Any, labels: Any, code: str) -> None:
    with pytest.raises(TensorError) as refusal:
        LabelledData.of(samples, labels)
    assert refusal.value.code == code


def test_what_does_not_fit_the_network() -> None:
    with pytest.raises(TensorError, match="shape"):
        list(LabelledData.of(SAMPLES.reshape(3, 4), LABELS).shard_values([KIND], 2, 5))
    with pytest.raises(TensorError, match="labels"):
        list(LabelledData.of(SAMPLES, LABELS).shard_values([KIND], 2, 2))


def test_files(tmp_path: Path) -> None:
    digest = LabelledData.of(SAMPLES, LABELS).sha256
    both, samples, labels = (tmp_path / name for name in ("both.npz", "samples.npy", "labels.json"))
    np.savez(both, samples=SAMPLES, labels=LABELS)
    np.save(samples, SAMPLES)
    labels.write_text(json.dumps(LABELS.tolist()))
    assert load(both).sha256 == load(samples, labels).sha256 == digest


def huge_files() -> Iterator[bytes]:
    """Small ones that say that they are large; numpy would take what they say."""
    for shape, kind in (
        ((1 << 27,), "<f8"),
        ((1 << 40,), "V0"),
        ((1 << 50,), "<f8"),
        ((3,), "<f8"),
    ):
        npy = io.BytesIO()
        np.lib.format.write_array_header_1_0(npy, {"descr": kind, "fortran_order": False, "shape": shape})
        yield npy.getvalue()
        for packed in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            npz = io.BytesIO()
            with zipfile.ZipFile(npz, "w", packed) as archive:
                archive.writestr("samples.npy", npy.getvalue())
            yield npz.getvalue()


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    archive, pickle, pickles = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(archive, samples=SAMPLES)
    np.savez(pickles, samples=SAMPLES, labels=np.array([{}]))
    np.save(pickle, np.array([{}]), allow_pickle=True)
    whole = archive.getvalue()
    for content in (
        whole,
        pickles.getvalue(),
        pickle.getvalue(),
        b"",
        b"rubbish",
        b"PK\x03\x04",
        b"\x93NUMPY",
        # Python's parser is asked about these headers, and ends in other errors than numpy's.
        *(b"\x93NUMPY\x01\x00%c\x00%b" % (len(text), text) for text in (b"{", b"{[]: 1}", b"(" * 200)),
        whole.replace(b"PK\x01\x02-\x03-", b"PK\x01\x02-\x03\xff"),  # of a version of ZIP that is none
        b"[1, [2]]",
    ):
        file.write_bytes(content)
        with pytest.raises(TensorError) as refusal:
            load(file)
        assert refusal.value.code == "input.unreadable"
    for content in huge_files():
        file.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(TensorError) as refusal:
            load_array(file)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (refusal.value.code, peak < 1 << 22) == ("input.unreadable", True)
    file.write_bytes(archive.getvalue())
    with pytest.raises(TensorError, match="several"):
        load_array(file)
