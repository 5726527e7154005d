"""What becomes of ONNX's own tests of operators: right, or refused with the reason.

    python -m bench.conformance [--only NAME...] [--json FILE]

The tests are those of the installed ``onnx`` (``onnx.backend.test``) whose nodes are all read
(docs/onnx.md), without their expansions into other operators. Outcomes of a test:

    right               ``load_onnx`` reads it, its floats are the expected outputs, of their shapes and in
                        the test's own tolerance, and its integers of 16 bits are within 2 % of their range;
                        outputs of integers and of booleans are exact
    refused             ``load_onnx`` refuses it: the code and the words
    not quantisable     the floats are right, and quantising them is refused: the code and the words
    nothing to prove    its outputs depend on no input, or it is of words or of training
    wrong, crashed      which there are to be none of

The tests hand in weights, shapes and axes as inputs, which networks have in the file. Each is tried in
several forms, in which the inputs of the network are ``all`` of the test's, those of ``numbers``, its first
and all others of floats, or the ``first`` alone; all others are constants. A test is right if it is in one
form, and wrong if it is in any.

Integers are calibrated on the test's input and on variations of it (``zenserve.onecall.networks.varied``)
between its least and its largest number. They may also be near our floats of the input as 16 bits hold it.
Inputs that are not finite are taken for 0, and what is in their places of outputs of the same shape is left
open.
"""

from __future__ import annotations

import math
import warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from bench.report import Cells, Report, Row, more, number
from bench.suite import is_constant
from zenserve.circuits import Graph, load_onnx, quantise
from zenserve.circuits.graphs.graph import Values
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.advice import ADVICE
from zenserve.circuits.onnx.constants import FLOATS
from zenserve.circuits.onnx.folding import FOLDED
from zenserve.circuits.onnx.step import typed_shape
from zenserve.circuits.operators import ONNX
from zenserve.circuits.quantisation.plan import input_names, output_names
from zenserve.errors import ZenError
from zenserve.onecall.networks import varied

OUTCOMES: Final = ("right", "refused", "not quantisable", "nothing to prove", "wrong", "crashed")
BITS: Final = 16
_OF_RANGE: Final = 0.02
# What docs/onnx.md lists.
_CLAIMED: Final = ONNX.keys() | {("", name) for name in FOLDED}
# A test is what comes first of what its forms are.
_WORST: Final = ("crashed", "wrong", "right", "not quantisable", "refused", "nothing to prove")
# How far sums of floats of these types are from what they stand for, as parts of the largest.
_ROUNDING: Final[dict[int, float]] = {TensorProto.FLOAT16: 2.0**-10, TensorProto.BFLOAT16: 2.0**-7}
# Characters of a reason that are kept.
_WORDS: Final = 300


# A ``TestCase`` of onnx, all of whose fields are typed as optional.
Case = Any


class Outcome(NamedTuple):
    """One of ``OUTCOMES``, what the error says or how far off the outputs are, and in which form."""

    outcome: str
    code: str = ""
    reason: str = ""
    form: str = ""


class _WrongError(Exception):
    """The outputs are not the expected ones."""


class _NotFiniteError(Exception):
    """An output depends on an input that is not finite."""


def cases() -> Iterator[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
        named = {_key(node) for node in case.model.graph.node} if case.model else set()
        if "_expanded" not in case.name and named <= _CLAIMED:
            yield case


def operator(case: Case) -> str:
    """The one that the test is of: the last node's."""
    return str(case.model.graph.node[-1].op_type)


def outcome(case: Case) -> Outcome:
    """The first of its forms that is wrong, else that is right, else the last."""
    if empty := _nothing(case):
        return Outcome("nothing to prove", "", empty)
    found = [_tried(case, model)._replace(form=form) for form, model in forms(case).items()]
    return min(reversed(found), key=lambda each: _WORST.index(each.outcome))


def forms(case: Case) -> dict[str, ModelProto]:
    """The test's network by the names of its forms, those that differ. Lists of tensors are no constants."""
    entries, inputs = case.model.graph.input, case.data_sets[0][0]
    given = {
        entry.name: x
        for entry, x in zip(entries, inputs, strict=False)
        if x is not None and not isinstance(x, list)
    }
    floats = {each.name for each in entries if each.type.tensor_type.elem_type in FLOATS}
    first = {each.name for each in entries[:1]}
    made: dict[frozenset[str], str] = {}
    for form, kept in (("all", given.keys()), ("numbers", first | floats), ("first", first)):
        made.setdefault(frozenset(given.keys() - kept), form)
    return {
        form: _holding(case.model, {name: given[name] for name in given if name in fixed})
        for fixed, form in made.items()
    }


def _holding(model: ModelProto, constants: Mapping[str, Any]) -> ModelProto:
    """The network with these inputs as constants of the file."""
    made = ModelProto()
    made.CopyFrom(model)
    kept = [each for each in made.graph.input if each.name not in constants]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    made.graph.initializer.extend(
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants.items()
    )
    return made


def _tried(case: Case, model: ModelProto) -> Outcome:
    stage = "refused"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            graph = load_onnx(model.SerializeToString(), whole=True)
            stage = "not quantisable"
            _compare(case, graph)
    except _WrongError as error:
        return Outcome("wrong", "", str(error))
    except _NotFiniteError:
        return Outcome("nothing to prove", "", "an input is not finite, and no proof is of such")
    except ZenError as error:
        return Outcome(stage, error.code, error.message)
    except Exception as error:  # whatever it is, the table is to say so
        return Outcome("crashed", type(error).__name__, str(error))
    return Outcome("right")


def _nothing(case: Case) -> str:
    """Why there is nothing to prove of a test; empty where there is."""
    graph = case.model.graph
    kinds = {each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)}
    if TensorProto.STRING in kinds:
        return "it is of words"
    if is_constant(case.model):
        return "no output depends on an input"
    if any(_size(each) == 0 for each in (*graph.input[:1], *graph.output)):
        return "it is of nothing: a tensor is empty"
    if any(_is_constant(node) for node in graph.node):
        return "it is read of constants alone, or of shapes"
    if any(_is_training(node, case) for node in graph.node):
        return "it is of training"
    return ""


def _is_constant(node: NodeProto) -> bool:
    """Whether only a constant can be made of it."""
    if _key(node) in ONNX:
        return ONNX[_key(node)].folds
    return node.op_type not in ADVICE


def _is_training(node: NodeProto, case: Case) -> bool:
    """Whether it is a Dropout that drops."""
    if node.op_type != "Dropout" or len(node.input) < 3:
        return False
    given = dict(zip([each.name for each in case.model.graph.input], case.data_sets[0][0], strict=False))
    return bool(given.get(node.input[2], False))


def _key(node: NodeProto) -> tuple[str, str]:
    return ("" if node.domain == "ai.onnx" else node.domain), node.op_type


def _size(entry: Any) -> int:
    kind = entry.type.tensor_type
    sizes = [each.dim_value if each.HasField("dim_value") else 1 for each in kind.shape.dim]
    return int(np.prod(sizes)) if sizes else 1


class _Output(NamedTuple):
    """What an output is to be, NaN where that is open, and how far from it floats may be."""

    values: FloatArray
    off: FloatArray
    whole: bool


def _compare(case: Case, graph: Graph) -> None:
    """``_WrongError`` unless floats and integers are the expected outputs."""
    (given, expected), *_ = case.data_sets
    arrays = dict(zip([each.name for each in case.model.graph.input], map(_array, given), strict=False))
    read = {entry.name: arrays[entry.name].astype(np.float64) for entry in graph.inputs}
    wanted = {
        entry.name: _output(case, entry.type.tensor_type.elem_type, _array(each), [*read.values()])
        for entry, each in zip(case.model.graph.output, expected, strict=True)
    }
    finite = {name: np.where(np.isfinite(each), each, 0.0) for name, each in read.items()}
    samples = {
        entry.name: _varied(finite[entry.name].reshape(entry.shape), entry.values) for entry in graph.inputs
    }
    floats = graph.run_all(samples, {*graph.outputs.values()})
    for name, tensor in graph.outputs.items():
        _require_floats(name, floats[tensor][0], wanted[name])
    qgraph, inputs = quantise(graph, samples, bits=BITS), input_names(graph)
    q = {
        inputs[name]: qgraph.quantise_entry(inputs[name], each[0], saturate=True)[np.newaxis]
        for name, each in samples.items()
    }
    made = qgraph.run_all(q, {*qgraph.outputs.values()})
    held = {name: qgraph.entries[inputs[name]].type.real(q[inputs[name]]) for name in samples}
    rounded = graph.run_all(held, {*graph.outputs.values()})
    for name, called in output_names(graph).items():
        tensor, ours = qgraph.outputs[called], graph.outputs[name]
        scale, zero = qgraph.scale_of(tensor) or (np.nan, 0)
        open_ = np.isnan(wanted[name].values)
        of_held = wanted[name]._replace(values=np.where(open_, np.nan, rounded[ours][0]))
        values, span = scale * (made[tensor][0] - zero), float(np.ptp(floats[ours]))
        _require_integers(name, values, (wanted[name], of_held), span)


def _varied(x: FloatArray, values: Values) -> FloatArray:
    """Between the least and the largest number of the test: not all functions have values beyond."""
    made: FloatArray = varied(x, values).clip(x.min(), x.max())
    return made


def _array(value: Any) -> NDArray[Any]:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def _output(case: Case, kind: int, expected: NDArray[Any], inputs: Sequence[FloatArray]) -> _Output:
    """Open where an input of its shape is not finite, since no proof is of such inputs. A float is known to
    the digits that its type has."""
    values = expected.astype(np.float64)
    for each in (each for each in inputs if not np.isfinite(each).all()):
        if each.shape != values.shape:
            raise _NotFiniteError
        values = np.where(np.isfinite(each), values, np.nan)
    values = values.reshape(typed_shape(expected.shape))
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    off = case.atol + case.rtol * np.abs(values) + _ROUNDING.get(kind, 0.0) * largest
    return _Output(values, off, kind not in FLOATS)


def _require_floats(name: str, made: FloatArray, wanted: _Output) -> None:
    if made.shape != wanted.values.shape:
        raise _WrongError(f"{name} has shape {made.shape}, not {wanted.values.shape}")
    same = (made == wanted.values) | np.isnan(wanted.values)
    off = np.where(same, 0.0, np.abs(made - wanted.values))
    if not (off <= wanted.off)[~same].all():
        raise _WrongError(f"{name} is off by {off.max():.3g} in floats")


def _require_integers(name: str, made: FloatArray, wanted: Sequence[_Output], span: float) -> None:
    """Either of what is ``wanted``. ``span``: the range of the output for all samples."""
    least = math.inf
    for each in wanted:
        known = np.isfinite(each.values)
        off = np.abs(made.reshape(each.values.shape) - each.values)[known]
        most = 0.499 if each.whole else np.maximum(each.off[known], _OF_RANGE * span)
        if (off <= most).all():
            return
        least = min(least, float(off.max()))
    raise _WrongError(f"{name} is off by {least:.3g} in integers, of a range of {span:.3g}")


def rows(chosen: Iterable[Case]) -> Iterator[Row]:
    for case in chosen:
        found = outcome(case)
        said = {"operator": operator(case), **found._asdict()}
        said["reason"] = found.reason[:_WORDS]
        yield Row(case.name, None, 0.0, more=said)


def counts(found: Iterable[Row]) -> dict[str, int]:
    """How many tests there are, and of each outcome."""
    counted = Counter(row.more["outcome"] for row in found)
    return {"tests": counted.total(), **{name: counted[name] for name in OUTCOMES}}


def by_operator(found: Iterable[Row]) -> list[Row]:
    """A row for each operator: how many of its tests have which outcome."""
    of: dict[str, list[Row]] = {}
    for row in found:
        of.setdefault(row.more["operator"], []).append(row)
    return [Row(name, len(of[name]), 0.0, more=counts(of[name])) for name in sorted(of)]


def refusals(found: Iterable[Row]) -> list[Row]:
    """Tests that are not right: each reason once, with how many tests it is of and their operators."""
    of: dict[tuple[str, str, str], list[Row]] = {}
    for row in found:
        said: Mapping[str, str] = row.more
        if said["outcome"] != "right":
            of.setdefault((said["outcome"], said["operator"], _general(row)), []).append(row)
    return [
        Row(kind, len(of[outcome, kind, reason]), 0.0, more={"outcome": outcome, "reason": reason})
        for outcome, kind, reason in sorted(of)
    ]


def _general(row: Row) -> str:
    """The reason without the node that it names."""
    said: str = row.more["reason"]
    return said.removeprefix("node ").partition(f"({row.more['operator']}) ")[2] or said


CELLS: Final[Cells] = {
    "operator": lambda row: row.name,
    "tests": lambda row: number(row.size),
    **{name: more(name) for name in OUTCOMES},
}
REFUSALS: Final[Cells] = {
    "operator": lambda row: row.name,
    "tests": lambda row: number(row.size),
    "outcome": more("outcome"),
    "reason": more("reason"),
}


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", action="extend", metavar="NAME", help="these tests or operators")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    only = {*(options.only or ())}
    chosen = [case for case in cases() if not only or {case.name, operator(case)} & only]
    report = Report("conformance", f"{len(chosen)} tests of onnx")
    found = list(rows(chosen))
    report.show("operators", by_operator(found), CELLS)
    if reasons := refusals(found):
        report.show("reasons", reasons, REFUSALS)
    report.say(", ".join(f"{count} {name}" for name, count in counts(found).items()))
    report.rows = found
    report.write(options.json)


if __name__ == "__main__":
    main()
