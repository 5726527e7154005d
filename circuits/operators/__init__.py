"""The operators, one file each.

An operator's file holds its node in a float network (shape, execution), what of ONNX becomes it, its node in
a network of integers (shape, exact execution, bounds), how the one becomes the other, and its own rewrites of
graphs. It ends in an ``ENTRY``. All else asks the nodes (``zenserve.circuits.graphs.node``) or the tables
here: an operator more is a file, and a name in ``_MODULES``.

``sums``, ``weighted`` and ``windows`` have what several share, ``quantise_linear`` what models have that are
quantised already.
"""

from zenserve.circuits.graphs import retyping
from zenserve.circuits.graphs.node import Again, Node, QuantNode
from zenserve.circuits.operators import (
    absolute,
    activation,
    add,
    attention,
    average_pool,
    bits,
    clip,
    compare,
    concat,
    constants,
    control_flow,
    conv_transpose,
    convolution,
    dense,
    distances,
    dynamic,
    einsum,
    features,
    filled,
    forest,
    gather,
    generated,
    identity,
    joined,
    labels,
    largest,
    leaky_relu,
    linear_models,
    masks,
    matmul,
    max_pool,
    moving,
    multiply,
    normalisation,
    packed_weights,
    pad,
    parameters,
    pool_places,
    qdq,
    qonnx,
    quantised_layers,
    recurrent,
    reduce,
    reshape,
    resize,
    sampling,
    scale,
    scatter,
    selection,
    sequences,
    several,
    softmax,
    support_vectors,
    tensor_lists,
    transpose,
    trees,
    where,
    whole_quotients,
)
from zenserve.circuits.operators.samples import of_samples

# Rewrites run in this order.
_MODULES = (
    forest,
    activation,
    multiply,
    scale,
    pad,
    clip,
    reshape,
    absolute,
    add,
    attention,
    average_pool,
    bits,
    compare,
    concat,
    constants,
    control_flow,
    conv_transpose,
    convolution,
    dense,
    distances,
    dynamic,
    einsum,
    features,
    filled,
    gather,
    generated,
    identity,
    joined,
    labels,
    largest,
    leaky_relu,
    linear_models,
    masks,
    matmul,
    max_pool,
    moving,
    packed_weights,
    parameters,
    pool_places,
    qdq,
    qonnx,
    quantised_layers,
    recurrent,
    reduce,
    resize,
    sampling,
    normalisation,
    scatter,
    selection,
    sequences,
    several,
    softmax,
    support_vectors,
    tensor_lists,
    transpose,
    trees,
    where,
    whole_quotients,
)

# The names that the domain of QONNX has had.
_QONNX = ("qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas", "finn")

ONNX = {
    (domain, name): of_samples(name, operator)
    for module in _MODULES
    for domain, read in (
        ("", module.ENTRY.onnx),
        ("ai.onnx.ml", module.ENTRY.learned),
        ("com.microsoft", module.ENTRY.microsoft),
        *((name, module.ENTRY.qonnx) for name in _QONNX),
    )
    for name, operator in read.items()
}
"""The reader of an ONNX node, by its domain and ``op_type``."""

INTEGERS: dict[str, type[QuantNode]] = {
    Again.operator(): Again,
    **{node.operator(): node for module in _MODULES for node in module.ENTRY.integers},
}
"""The nodes of networks of integers, by their names in files."""

FLOATS: dict[str, type[Node]] = {
    node.operator(): node
    for module in (*_MODULES, retyping)
    for node in vars(module).values()
    if isinstance(node, type) and issubclass(node, Node) and node.__module__ == module.__name__
}
"""The nodes of float networks, by their names in files."""

PASSES = tuple(rewrite for module in _MODULES for rewrite in module.ENTRY.passes)
"""Rewrites of float graphs, in order."""
