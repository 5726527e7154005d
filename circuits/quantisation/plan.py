"""Which integer node each float node becomes, by the graph's structure alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from circuits.graphs.graph import (
    Add,
    AveragePool,
    Clip,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Transpose,
)
from zenerrors import ModelError

# What integer nodes are called, each with a number: names in files are anybody's.
_NAMES: dict[type[Node], str] = {
    Conv: "conv",
    Dense: "dense",
    AveragePool: "pool",
    Add: "add",
    Clip: "clamp",
    MaxPool: "max",
    Reshape: "reshape",
    Transpose: "transpose",
    Pad: "pad",
    Concat: "concat",
}
MOVERS = (MaxPool, Reshape, Transpose, Pad, Concat)
INPUT = "x"


@dataclass(frozen=True)
class Step:
    """``name`` is what the integer node is called that makes the float tensor ``tensor``: from ``node``, and
    from the ``clip`` after it where nothing else reads what is between the two."""

    name: str
    node: Node
    clip: Clip | None
    tensor: str


def plan(graph: Graph) -> list[Step]:
    """The steps in order. Raises ``ModelError`` (``model.unsupported_operator``) for other nodes."""
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    readers[graph.output] += 1
    clips = {node.inputs[0]: node for node in graph.nodes if isinstance(node, Clip)}
    taken: Counter[str] = Counter()
    steps: list[Step] = []
    done: set[str] = set()
    for node in graph.nodes:
        if node.name in done:
            continue
        kind = _NAMES.get(type(node))
        if kind is None:
            raise ModelError(
                "model.unsupported_operator",
                f"the {type(node).__name__} {node.name[:80]!r} cannot be quantised; fuse the graph first",
            )
        taken[kind] += 1
        single = readers[node.name] == 1 and node.name not in graph.declared
        clip = clips.get(node.name) if single and not isinstance(node, (*MOVERS, Clip)) else None
        tensor = clip.name if clip else node.name
        done.add(tensor)
        steps.append(Step(f"{kind}{taken[kind]}", node, clip, tensor))
    return steps


def unscaled(graph: Graph, steps: list[Step]) -> str | None:
    """The tensor whose sums only the argmax reads, through reshapes and transpositions; None if none is."""
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    made = {step.tensor: step for step in steps}
    tensor = graph.output
    while tensor in made and tensor not in graph.declared:
        step = made[tensor]
        if isinstance(step.node, Reshape | Transpose) and readers[step.node.inputs[0]] == 1:
            tensor = step.node.inputs[0]
            continue
        summed = isinstance(step.node, Conv | Dense | AveragePool | Add) and step.clip is None
        return tensor if summed and readers[tensor] == (tensor != graph.output) else None
    return None
