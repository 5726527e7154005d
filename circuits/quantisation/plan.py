"""Which integer node each float node becomes, by the graph's structure alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from circuits.graphs.graph import Graph
from circuits.graphs.node import Node
from circuits.graphs.rescaling import Clamp
from zenerrors import ModelError

INPUT = "x"


@dataclass(frozen=True)
class Step:
    """``name`` is what the integer node is called that makes the float tensor ``tensor``: from ``node``, and
    from the ``clip`` after it where nothing else reads what is between the two."""

    name: str
    node: Node
    clip: Node | None
    tensor: str

    @property
    def clamp(self) -> Clamp | None:
        return (self.clip or self.node).clamp

    @property
    def keeps_type(self) -> bool:
        """Whether the tensor has the type of those that the node reads."""
        return self.node.keeps_type(self.clip is not None)


def plan(graph: Graph) -> list[Step]:
    """The steps in order. Raises ``ModelError`` (``model.unsupported_operator``) for other nodes."""
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    readers[graph.output] += 1
    clips = {node.inputs[0]: node for node in graph.nodes if node.clamp}
    taken: Counter[str] = Counter()
    steps: list[Step] = []
    done: set[str] = set()
    for node in graph.nodes:
        if node.name in done:
            continue
        if not node.called:
            raise ModelError(
                "model.unsupported_operator",
                f"the {node.operator()} {node.name[:80]!r} cannot be quantised; fuse the graph first",
            )
        taken[node.called] += 1
        single = readers[node.name] == 1 and node.name not in graph.declared
        clip = clips.get(node.name) if single and node.adds else None
        tensor = clip.name if clip else node.name
        done.add(tensor)
        steps.append(Step(f"{node.called}{taken[node.called]}", node, clip, tensor))
    return steps


def unscaled(graph: Graph, steps: list[Step]) -> str | None:
    """The tensor whose sums only the argmax reads, through reshapes and transpositions; None if none is."""
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    made = {step.tensor: step for step in steps}
    tensor = graph.output
    while tensor in made and tensor not in graph.declared:
        step = made[tensor]
        if step.node.permutes and readers[step.node.inputs[0]] == 1:
            tensor = step.node.inputs[0]
            continue
        summed = step.node.adds and step.clip is None
        return tensor if summed and readers[tensor] == (tensor != graph.output) else None
    return None
