"""Local functions: ``onnx.inliner`` writes their nodes wherever they are called, bounded before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto
from onnx.defs import SchemaError, get_schema, onnx_opset_version

from zenserve.circuits.onnx.scope import graphs_of
from zenserve.errors import ModelError

# Bytes of nodes; weights are none of them.
_MOST_BYTES: Final = 1 << 26
_DEEPEST: Final = 64
_OWN: Final = ("", "ai.onnx")

# By domain, name and overload.
_Key = tuple[str, str, str]


def inlined(model: ModelProto, most: int) -> ModelProto:
    """The model without functions, of ``most`` nodes at most, its weights where they are."""
    functions = {_key(each.domain, each.name, each.overload): each for each in model.functions}
    extent = _extent(model.graph.node, functions, {}, 0)
    if extent.nodes > most or extent.size > _MOST_BYTES:
        raise ModelError(
            "model.too_large",
            f"the functions of the model unroll to more than {most} nodes or {_MOST_BYTES} bytes",
        )
    versions = {each.version for each in model.opset_import if each.domain in _OWN} or {
        each.version for function in model.functions for each in function.opset_import if each.domain in _OWN
    }
    if len(versions) == 1:
        _at_version(model, *versions)
    weights = [*model.graph.initializer]
    del model.graph.initializer[:]
    model.graph.initializer.extend(TensorProto(name=each.name) for each in weights)
    made = _inlined(model)
    del made.graph.initializer[:]
    made.graph.initializer.extend(weights)
    return made


def _inlined(model: ModelProto) -> ModelProto:
    from onnx.inliner import inline_local_functions  # most files have no functions

    try:
        made = inline_local_functions(model)
    except Exception as error:  # the inliner raises anything for functions that do not fit
        reason = str(error)[:160]
        raise ModelError("model.graph", f"the functions of the model do not fit: {reason}") from error
    if made.functions:
        name = f"{made.functions[0].domain[:40]}.{made.functions[0].name[:40]}"
        raise ModelError(
            "model.opset",
            f"the function {name} is of other operator sets than the model; export the model with one "
            "opset_version, or inline its functions",
        )
    return made


class _Extent(NamedTuple):
    """Nodes and bytes once all functions are written out. ``depth``: of calls in calls."""

    nodes: int
    size: int
    depth: int


def _extent(
    nodes: Iterable[NodeProto],
    functions: Mapping[_Key, FunctionProto],
    known: dict[_Key, _Extent | None],
    depth: int,
) -> _Extent:
    """``known``: of functions, None while that is being found. ``depth``: of the calls around the nodes."""
    if depth > _DEEPEST:
        raise ModelError("model.too_large", f"functions call functions more than {_DEEPEST} deep")
    parts = list[_Extent]()
    for node in nodes:
        key = _key(node.domain, node.op_type, node.overload)
        parts.append(_Extent(1, node.ByteSize(), 0))
        parts += [_extent(graph.node, functions, known, depth) for graph in graphs_of(node)]
        if key not in functions:
            continue
        if key not in known:
            known[key] = None
            known[key] = _extent(functions[key].node, functions, known, depth + 1)
        found = known[key]
        if found is None:
            raise ModelError("model.graph", f"the function {node.op_type[:40]!r} calls itself")
        if depth + found.depth >= _DEEPEST:
            raise ModelError("model.too_large", f"functions call functions more than {_DEEPEST} deep")
        parts.append(found._replace(depth=found.depth + 1))
    count, size, depths = zip(*parts, strict=True) if parts else ((), (), ())
    return _Extent(sum(count), sum(size), max(depths, default=0))


def _key(domain: str, name: str, overload: str) -> _Key:
    return "" if domain in _OWN else domain, name, overload


def _at_version(model: ModelProto, version: int) -> None:
    """Functions of another operator set are of the model's where their operators are the same in both."""
    if not any(each.domain in _OWN for each in model.opset_import):
        model.opset_import.add(version=version)
    for function in model.functions:
        for each in function.opset_import:
            if each.domain in _OWN and all(
                _since(node.op_type, each.version) == _since(node.op_type, version)
                for node in function.node
                if node.domain in _OWN
            ):
                each.version = version


def _since(operator: str, version: int) -> int:
    """The operator set that an operator of this one comes from; 0 where there is none."""
    try:
        return int(get_schema(operator, min(version, onnx_opset_version())).since_version)
    except SchemaError:
        return 0
