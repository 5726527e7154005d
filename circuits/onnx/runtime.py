"""Answers that other programs give to an ONNX file: onnxruntime where it is installed, and onnx's reference.

They run the file as it stands, one sample after the other, on numbers of the types that its inputs declare.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, ValueInfoProto, helper

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.decoding import is_elsewhere
from zenserve.circuits.onnx.message import count, decode, entries, input_shape, message, tensors_in
from zenserve.circuits.onnx.scope import needed
from zenserve.errors import ModelError

File = bytes | os.PathLike[str]
# One sample's outputs, in the order of the names that were asked for.
_Session = Callable[[Mapping[str, NDArray[Any]], Sequence[str]], Sequence[Any]]


class Answers(NamedTuple):
    """``by``: the program and its version. ``outputs``: by name, float64[n, values]."""

    by: str
    outputs: dict[str, FloatArray]


def answers(
    file: File,
    samples: Mapping[str, FloatArray],
    sizes: Mapping[str, int],
    names: Collection[str],
    programs: Collection[str],
) -> Iterator[Answers]:
    """Run the file in each of the ``programs`` that is installed and takes it.

    ``file``: the bytes of an ONNX file, or its path. ``samples``: float64[n, …] by the names of inputs; those
    that are left out are zeros. ``sizes``: as for ``load_onnx``. ``names``: of the
    outputs; a label that is a word is the place of that class among the file's, and the rows of a ZipMap are
    the scores of all classes.

    Raises ``ModelError`` (``model.external_data``) for bytes with a tensor in another file, even one that is
    never read: programs look for it in the folder that they happen to run in, which is not the file's.
    """
    model = message(file)
    if isinstance(file, bytes):
        file = _alone(file)
    known = [*entries(file).values()]
    fed = [_fed(known, sizes, samples, index) for index in range(len(next(iter(samples.values()))))]
    words, wanted = _places(model), [*names]
    for program in programs:
        try:
            session = _SESSIONS[program](file)
            made = zip(*[session(one, wanted) for one in fed], strict=True)
            outputs = {
                name: np.array([_numbers(each, words.get(name, words[""])) for each in values])
                for name, values in zip(wanted, made, strict=True)
            }
        except Exception:  # noqa: S112  whatever a program raises that is absent, refuses the file or says words
            continue
        yield Answers(f"{program} {version(program)}", outputs)


def _alone(file: bytes) -> bytes:
    """The file without nodes that no output is computed from: programs run these, for as long as they take.
    Raises ``ModelError`` where a tensor is in another file."""
    model = ModelProto.FromString(file)
    if any(map(is_elsewhere, tensors_in(model))):
        raise ModelError(
            "model.external_data",
            "a tensor lives in another file; load the model from its path, or save it with all inside",
        )
    nodes, _ = needed(model.graph)
    if len(nodes) == len(model.graph.node):
        return file
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def with_outputs(file: File, names: Collection[str]) -> bytes | None:
    """The file with these tensors as outputs, too; None where its weights are in other files."""
    model = message(file)
    if any(map(is_elsewhere, tensors_in(model))):
        return None
    there = {each.name for each in model.graph.output}
    model.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in there)
    return bytes(model.SerializeToString())


def _fed(
    entries: Sequence[ValueInfoProto],
    sizes: Mapping[str, int],
    samples: Mapping[str, FloatArray],
    index: int,
) -> dict[str, NDArray[Any]]:
    """One sample, in the shapes and types of the file."""
    fed = {}
    for entry in entries:
        shape = input_shape(entry, sizes)
        fixed = count(entry, sizes)
        given = samples[entry.name][index] if entry.name in samples else np.zeros(shape)
        kind = helper.tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type)
        fed[entry.name] = np.asarray(given if fixed is None else fixed).reshape(shape).astype(kind)
    return fed


def _onnxruntime(file: File) -> _Session:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # More of them round what the file does not: weights of few bits are multiplied by integers, too.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    source = file if isinstance(file, bytes) else os.fspath(file)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return lambda fed, names: session.run([*names], dict(fed))


def _reference(file: File) -> _Session:
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(decode(file) if isinstance(file, bytes) else os.fspath(file))

    def run(fed: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            made: Sequence[Any] = evaluator.run([*names], dict(fed))
        return made

    return run


_SESSIONS: Final[Mapping[str, Callable[[File], _Session]]] = {
    "onnxruntime": _onnxruntime,
    "onnx": _reference,
}
PROGRAMS: Final = tuple(_SESSIONS)
"""The faster ones first."""
_WORDS: Final = ("classlabels_strings", "values_strings")


def _numbers(values: Any, words: Mapping[str, int]) -> FloatArray:
    if isinstance(values, list):
        values = np.array([[*row.values()] for row in values])
    if values.dtype.kind in "OSU":
        values = np.vectorize(words.__getitem__, otypes=[np.float64])(values.astype(str))
    numbers: FloatArray = values.ravel().astype(np.float64)
    return numbers


def _places(model: ModelProto) -> dict[str, dict[str, int]]:
    """The places of the words that a node names classes by, by the names of its outputs; by no name those of
    the first such node, whose words others may hand on."""
    found: dict[str, dict[str, int]] = {"": {}}
    for node in model.graph.node:
        said = {each.name: each for each in node.attribute}
        words = next((said[name].strings for name in _WORDS if name in said and said[name].strings), ())
        if words:
            if node.op_type == "LabelEncoder":  # equal words are one, and another is of what has no key
                default = said["default_string"].s if "default_string" in said else b"_Unused"
                words = [*dict.fromkeys([*words, default])]
            places = {word.decode(errors="replace"): place for place, word in enumerate(words)}
            found |= {"": found[""] or places, **dict.fromkeys(node.output, places)}
    return found
