"""What TypeScript reads of arrays is what numpy does, and the integers of an input are the same."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.web.conftest import Node
from zenserve.errors import TensorError
from zenserve.verifier import datasets
from zenserve.verifier.description import InputType
from zenserve.verifier.measures import Targets

Json = dict[str, Any]
Ask = Callable[[list[Json]], list[Any]]
TYPE: Final = {"shape": [2, 3], "scale": 0.5, "zero_point": 3, "bits": 8}


@pytest.fixture
def ask(node: Node) -> Ask:
    """What TypeScript answers."""

    def answers(questions: list[Json]) -> list[Any]:
        found = node("tests/arrays.ts", given="".join(f"{json.dumps(each)}\n" for each in questions))
        assert found.returncode == 0, found.stderr
        return [json.loads(line) for line in found.stdout.splitlines()]

    return answers


def _expected(question: Json) -> Any:
    try:
        if "input" in question:
            kind = InputType(**question["type"])
            return datasets.quantise(datasets.load_array(Path(question["input"])), kind)
        kinds = [InputType(**each) for each in question["types"]]
        names = [kind.name for kind in kinds]
        labels = question["labels"] and Path(question["labels"])
        target = Targets(**question["target"]) if question["target"] else None
        read = datasets.load(Path(question["dataset"]), labels, targets=target is not None, names=names)
        data = read.in_order(names)
        shards = list(data.shard_values(kinds, question["batch"], question["classes"], target))
        return {"size": data.size, "sha256": data.sha256.hex(), "shards": shards}
    except TensorError as error:
        return {"code": error.code, "field": error.field}


def _compare(ask: Ask, questions: Mapping[str, Json]) -> None:
    found = dict(zip(questions, ask([*questions.values()]), strict=True))
    assert found == {name: _expected(question) for name, question in questions.items()}


def _files(folder: Path, files: Mapping[str, bytes], kind: Json) -> dict[str, Json]:
    questions = {}
    for index, (name, data) in enumerate(files.items()):
        path = folder / str(index)
        path.write_bytes(data)
        questions[name] = {"input": str(path), "type": kind}
    return questions


def _npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def _of_types() -> Iterator[tuple[str, bytes]]:
    numbers = np.array([[0, 1, 2], [3, 100, 127]])
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
        for order in "<>":
            array = numbers.astype(order + code)
            yield order + code, _npy(array)
            yield f"{order}{code} by columns", _npy(np.asfortranarray(array))
            if code != "u1":
                large = np.iinfo(code).max if code[0] != "f" else np.finfo(code).max
                yield f"{order}{code} large", _npy(np.full((2, 3), large, dtype=order + code))
                yield f"{order}{code} small", _npy(-array)
    for bits in (0x0001, 0x03FF, 0x8400, 0x7BFF, 0x3C01, 0x7C00, 0x7E00):
        yield f"float16 {bits:x}", _npy(np.full((2, 3), bits, dtype="<u2").view("<f2"))
    for shape in ((), (6,), (1, 2, 3), (1, 1, 2, 3), (3, 2), (2, 3, 1), (0, 3), (2, 0)):
        yield f"shape {shape}", _npy(np.zeros(shape))
    for version in ((1, 0), (2, 0), (3, 0)):
        yield f"version {version}", _npy(numbers, version=version)
    for other in ("?", "c8", "c16", "S3", "U3", "M8[s]", "m8[s]", "V4", [("a", "<i4")]):
        yield f"of {other}", _npy(np.zeros((2, 3), dtype=other))
    yield "of objects", _npy(np.zeros((2, 3), dtype=object), allow_pickle=True)


def _with_header(text: str, data: bytes = bytes(48), version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text.encode("latin-1") + data


def _of_headers() -> Iterator[tuple[str, bytes]]:
    right = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n"
    changes = {
        "as it is": right,
        "another order": "{'shape': (2, 3), 'descr': '<f8', 'fortran_order': False}",
        "spaces": "{ 'descr' : '<f8' , 'fortran_order' : True , 'shape' : ( 2 , 3 , ) }   \n",
        "more": right.replace("'shape'", "'more': 1, 'shape'"),
        "less": "{'descr': '<f8', 'shape': (2, 3)}",
        "number for truth": right.replace("False", "0"),
        "list for shape": right.replace("(2, 3)", "[2, 3]"),
        "negative": right.replace("(2, 3)", "(-2, -3)"),
        "fraction": right.replace("(2, 3)", "(2.0, 3)"),
        "too many": right.replace("(2, 3)", "(2, 4)"),
        "too few": right.replace("(2, 3)", "(2, 2)"),
        "a trillion": right.replace("(2, 3)", f"({1 << 40}, {1 << 40})"),
        "code": right.replace("(2, 3)", "(print(1), 3)"),
        "no type": right.replace("<f8", "<q9"),
        "long": right + " " * 12_000,
        "empty": "",
        "a number": "3",
        "open": right[:-4],
    }
    for name, text in changes.items():
        yield name, _with_header(text)
    for name, version in {"0.0": b"\0\0", "1.1": b"\1\1", "4.0": b"\4\0"}.items():
        yield f"version {name}", _with_header(right, version=version)
    whole = _with_header(right)
    for length in (6, 7, 8, 9, 10, 30, 70, len(whole) - 1):
        yield f"cut to {length}", whole[:length]
    yield "and more", whole + b"\0"


def _of_json() -> Iterator[tuple[str, bytes]]:
    rows = ["[0, 1, 2]", "[3, 100, -1]"]
    deep = "[" * 62
    for text in (
        *(
            f"[{', '.join(rows)}]",
            f"[[{', '.join(rows)}]]",
            f"[{rows[0]}]",
            f"[{rows[0]}, [1]]",
            f"[{rows[0]}, 1]",
        ),
        *(
            "[[0.5, 1e2, -0.0], [true, false, 7]]",
            "[[true, true, true], [true, false, true]]",
            "5",
            "true",
            "null",
        ),
        *(
            "[[1, 2, null], [1, 2, 3]]",
            '[["1", 2, 3], [1, 2, 3]]',
            '"text"',
            "{}",
            '{"samples": []}',
            "[]",
            "[[], []]",
        ),
        *("[[1, 2, {}], [1, 2, 3]]", "[[1, 2, 3], {}]", "[[1, 2, 3], [1, 2, []]]", "[[[]], []]"),
        *(
            f"[[1, 2, {1 << exponent}], [1, 2, {sign}3]]"
            for exponent in (62, 63, 64, 70)
            for sign in ("", "-")
        ),
        *(f"[[1, 2, -{(1 << 63) + more}], [1, 2, 3]]" for more in (0, 1)),
        *(
            f"[[1.5, 2, {1 << 64}], [1, 2, 3]]",
            "[[1, 2, 3], [1, 2, 1e400]]",
            "[[1, 2, 3], [1, 2, NaN]]",
            "[[1, 2, 3]",
            "",
        ),
        *(deep + text + "]" * 62 for text in ("[[1]]", "[[[1]]]", "[[[]]]")),
    ):
        yield text[:80] + str(len(text)), text.encode()
    yield "a mark", b"\xef\xbb\xbf[[0, 1, 2], [3, 4, 5]]"


def test_inputs(ask: Ask, tmp_path: Path) -> None:
    files = dict([*_of_types(), *_of_headers(), *_of_json()])
    assert len(files) > 150
    _compare(ask, _files(tmp_path, files, TYPE))


def test_longer_floats_are_not_read(ask: Ask, tmp_path: Path) -> None:
    """What numpy calls longdouble is a kind of processor's own."""
    [answer] = ask([*_files(tmp_path, {"": _npy(np.zeros((2, 3), dtype=np.longdouble))}, TYPE).values()])
    assert answer == {"code": "input.unreadable", "field": "input"}


def test_rounding(ask: Ask, tmp_path: Path) -> None:
    """Halves, their neighbours, and whatever doubles there are."""
    draw = random.Random(1)
    halves = [index + offset for index in (-3, -2, -1, 0, 1, 2, 254, 255) for offset in (0.0, 0.5)]
    near = [np.nextafter(half, towards) for half in halves for towards in (-np.inf, np.inf)]
    large = [
        sign * 2.0**exponent + 0.5 for exponent in (30, 31, 32, 51, 52, 53, 60, 1000) for sign in (1, -1)
    ]
    bits = np.frombuffer(draw.randbytes(8 * 2000), dtype="<f8")
    values = np.array([*halves, *near, *large, 5e-324, -5e-324, *bits[np.isfinite(bits)]])
    kinds = [
        {"shape": [len(values)], "scale": scale, "zero_point": zero_point, "bits": bits}
        for scale in (1.0, 0.5, 1 / 255, 0.1, 3e-308, 1e300, 5e-324)
        for zero_point, bits in ((0, 8), (128, 8), (-7, 1), (1 << 31, 32), (-((1 << 53) - 1), 16))
    ]
    questions = [_files(tmp_path, {"": _npy(values)}, kind)[""] for kind in kinds]
    _compare(ask, dict(zip(map(str, kinds), questions, strict=True)))


def _npz(**arrays: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _packed(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _of_datasets() -> Iterator[tuple[str, bytes]]:
    samples, labels = np.arange(30.0).reshape(5, 2, 3), np.arange(5)
    yield "stored", _npz(samples=samples, labels=labels)
    yield "by columns", _npz(samples=np.asfortranarray(samples), labels=labels.astype(">i2"))
    members = {"samples.npy": _npy(samples), "labels.npy": _npy(labels)}
    packed = _packed(members)
    yield "deflated", packed
    yield "unnamed", _packed({name.removesuffix(".npy"): data for name, data in members.items()})
    yield "one more", _packed(members | {"more.npy": _npy(labels)})
    yield "one more that is none", _packed(members | {"more.txt": b"more"})
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"method {method}", _packed(members, method)
    yield "no labels", _packed({"samples.npy": members["samples.npy"]})
    yield "commented", packed[:-2] + b"\4\0more"
    yield "cut", packed[:-30]
    yield "no archive", b"PK and more"
    yield "empty", _packed({})
    for place, name in (
        (14, "checksum"),
        (6, "flags"),
        (8, "flags"),
        (16, "sum"),
    ):
        at = packed.index(b"PK\1\2") + place
        yield f"{name} {place}", packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
    at = len(members["samples.npy"]) // 4
    yield "damaged", packed[:at] + bytes([packed[at] ^ 255]) + packed[at + 1 :]
    for name, other in {
        "short": labels[:-1],
        "reals": labels.astype(float),
        "negative": labels - 1,
        "beyond": labels.astype("u8") + (1 << 63),
        "large": labels + ((1 << 63) - 5),
        "truths": labels > 1,
        "columns": labels[:, None],
        "many": labels + 6,
    }.items():
        yield f"labels {name}", _npz(samples=samples, labels=other)
    for name, others in {
        "texts": samples.astype(str),
        "flat": samples[:, 0, 0],
        "rows": samples[:, 0],
        "none": samples[:0],
        "infinite": np.where(samples > 3, np.inf, samples),
    }.items():
        yield f"samples {name}", _npz(samples=others, labels=labels[: len(others)])
    yield "one array", _npy(samples)
    yield "json", b"[[1, 2], [3, 4]]"


def test_archives_that_say_another_size_are_not_read(ask: Ask, tmp_path: Path) -> None:
    """Python reads some of them, of files that are long enough."""
    packed = _packed({"samples.npy": _npy(np.zeros((5, 2, 3))), "labels.npy": _npy(np.arange(5))})
    at = packed.index(b"PK\1\2")
    changed = {
        f"{place} {step}": packed[: at + place]
        + bytes([packed[at + place] + step])
        + packed[at + place + 1 :]
        for place in (20, 24)
        for step in (-1, 1)
    }
    questions = [
        {"dataset": each["input"], "labels": None, "types": [TYPE], "target": None}
        for each in _files(tmp_path, changed, TYPE).values()
    ]
    assert ask(questions) == [{"code": "input.unreadable", "field": "input"}] * 4


def test_datasets(ask: Ask, tmp_path: Path) -> None:
    told: Json = {"labels": None, "batch": 2, "classes": 10, "target": None}
    files = _files(tmp_path, dict(_of_datasets()), TYPE)
    questions = {name: told | {"dataset": each["input"], "types": [TYPE]} for name, each in files.items()}
    (tmp_path / "samples").write_bytes(b"[[[0, 0.25, 2], [3, 4, 5]], [[-1, 7, 8], [9, 1e9, 0.75]]]")
    (tmp_path / "labels").write_bytes(b"[9, 0]")
    apart = {"dataset": str(tmp_path / "samples"), "labels": str(tmp_path / "labels"), "types": [TYPE]}
    for batch in (1, 2, 3):
        questions[f"apart {batch}"] = told | apart | {"batch": batch}
    _compare(ask, questions)


def test_datasets_with_targets(ask: Ask, tmp_path: Path) -> None:
    target = {"scale": 0.1, "zero_point": 2, "minimum": -20, "maximum": 43, "error": 58}
    told: Json = {"types": [TYPE], "batch": 2, "classes": 2, "target": target}
    samples, questions = np.arange(18.0).reshape(3, 2, 3), dict[str, Json]()
    targets = {
        "two": np.array([[0.25, -0.05], [0.15, 1.0], [-2.2, 4.1]]),
        "beyond": np.array([[0.0, 4.2], [0, 0], [0, 0]]),
        "below": np.array([[0.0, -2.3], [0, 0], [0, 0]]),
        "integers": np.array([[0, 1], [2, 3], [1, 1]]),
        "one": np.zeros(3),
        "fewer": np.zeros((2, 2)),
        "deep": np.zeros((3, 2, 1)),
        "nan": np.full((3, 2), np.nan),
        "none": np.zeros((0, 2)),
    }
    for name, values in targets.items():
        own = samples[: len(values)] if name == "none" else samples
        np.savez(tmp_path / f"{name}.npz", samples=own, targets=values)
        np.savez(tmp_path / f"{name}-labels.npz", samples=own, labels=values)
        whole = {"dataset": str(tmp_path / f"{name}.npz"), "labels": None}
        questions[name] = told | whole
        questions[f"{name}, of labels"] = told | whole | {"target": None}
        questions[f"{name}, called labels"] = told | whole | {"dataset": str(tmp_path / f"{name}-labels.npz")}
    _compare(ask, questions)


def test_datasets_of_several_inputs(ask: Ask, tmp_path: Path) -> None:
    ids, mask, count = np.arange(15).reshape(5, 3), np.arange(30.0).reshape(5, 2, 3) / 4, np.arange(5)
    types = [
        {"name": "ids", "shape": [3], "scale": 1.0, "zero_point": 0, "bits": 4},
        TYPE | {"name": "mask"},
        {"name": "labels", "shape": [], "scale": 0.5, "zero_point": 1, "bits": 3},
    ]
    labels, target = {"labels": count}, {"scale": 1, "zero_point": 0, "minimum": 0, "maximum": 9, "error": 9}
    files: dict[str, Json] = {
        "in order": {"ids": ids, "mask": mask} | labels,
        "another order": labels | {"mask": mask, "ids": ids},
        "one more": {"ids": ids, "mask": mask, "samples": ids} | labels,
        "one less": {"ids": ids} | labels,
        "no labels": {"ids": ids, "mask": mask},
        "of other shapes": {"ids": mask, "mask": ids} | labels,
        "fewer": {"ids": ids[:4], "mask": mask} | labels,
        "in batches of one": {"ids": ids[:, None], "mask": mask} | labels,
        "texts": {"ids": ids.astype(str), "mask": mask} | labels,
        "reals": {"ids": ids, "mask": mask, "labels": count / 2},
        "one array": {"samples": ids} | labels,
        "targets": {"ids": ids, "mask": mask, "targets": count / 2},
    }
    (tmp_path / "labels.json").write_text("[4, 3, 2, 1, 0]")
    told: Json = {"labels": None, "batch": 2, "classes": 5, "target": None, "types": types[:2]}
    questions = dict[str, Json]()
    for name, arrays in files.items():
        np.savez(tmp_path / f"{name}.npz", allow_pickle=False, **arrays)
        questions[name] = told | {"dataset": str(tmp_path / f"{name}.npz")}
        apart = {"labels": str(tmp_path / "labels.json")}
        questions[f"{name}, apart"] = questions[name] | apart
        questions[f"{name}, of an input called labels"] = questions[name] | {"types": types}
        questions[f"{name}, of all, apart"] = questions[name] | apart | {"types": types}
        questions[f"{name}, measured"] = questions[name] | {"target": target, "classes": 1}
    _compare(ask, questions)
    (whole, other) = (ask([questions[name]])[0] for name in ("in order", "another order"))
    assert whole == other
    assert whole["size"] == 5
    assert ask([questions["in order, of all, apart"]])[0]["size"] == 5
    assert ask([questions["targets, measured"]])[0]["size"] == 5
