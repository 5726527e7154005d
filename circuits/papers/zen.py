"""ZEN's tables 5.3, 5.4 and 5.9 and its sweeps over layers: private input, private weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zenserve.circuits.papers.counts import PRIVATE, REGISTRATION, Circuit, Count, convolution, dense
from zenserve.circuits.papers.figures import DENSE_OUTPUTS, KERNELS, KERNELS_NETWORK, ZEN, ZEN_KERNELS
from zenserve.circuits.papers.render import Cell, Table
from zenserve.circuits.svg import Points, bar_chart, line_chart

# What a network takes when it is compiled so: ``counts.count``, or what also says how far it is.
Counter = Callable[[str, Circuit], Count]

IMAGES = 100
ACCURACY = (
    Circuit("public", PRIVATE[-1].level, images=IMAGES),
    Circuit("committed", PRIVATE[-1].level, images=IMAGES),
)
COMMITTED = PRIVATE[-1]
_OURS = "ZenServe, "
# Charts leave the weights' own constraints out: without these, committed weights cost what private ones do.
_DRAWN = [circuit for circuit in PRIVATE if circuit.weights == "private"]


def inference(networks: Sequence[str], count: Counter) -> Table:
    """Table 5.3."""
    rows: list[tuple[Cell, ...]] = []
    bars: dict[str, list[float]] = {}
    for network in networks:
        paper = ZEN[network]
        rows.append((network, "ZEN, vanilla", paper.vanilla, *[None] * 5))
        rows.append((network, "ZEN, level 3", paper.level3, None, paper.commitment, paper.total, *[None] * 2))
        bars.setdefault("ZEN, vanilla", []).append(paper.vanilla)
        bars.setdefault("ZEN, level 3", []).append(paper.level3)
        for circuit in PRIVATE:
            found = count(network, circuit)
            weights, ours = found.total("weights"), found.inference
            ratios = ours / paper.level3, paper.total / found.total()
            rows.append((network, _OURS + circuit.label, ours, found.checks, weights, found.total(), *ratios))
            if circuit in _DRAWN:
                bars.setdefault(circuit.label, []).append(ours)
        once = count(network, REGISTRATION).total()
        rows.append((network, _OURS + REGISTRATION.label, None, None, once, once, None, None))
    return Table(
        "zen-5.3",
        "one inference, input and weights private",
        "Constraints. Inference: all but what weights take by themselves. Checks: those of them that "
        "range-check inputs, sums, remainders, quotients, signs and clamps, tables included; ZEN leaves its "
        "own out. Weights: ZEN's commitment to them in the circuit, ZenServe's range checks of private ones; "
        "committed ones have theirs in the one proof of their registration. ZEN gives thousands.",
        (
            *("network", "circuit", "inference", "of it checks", "weights", "total"),
            *("of ZEN's level 3", "ZEN's total / total"),
        ),
        tuple(rows),
        bar_chart(
            "Constraints of one inference, without the weights' own",
            "constraints",
            [short(network) for network in networks],
            bars,
            logarithmic=True,
        ),
    )


def accuracy(networks: Sequence[str], count: Counter) -> Table:
    """Table 5.4."""
    rows: list[tuple[Cell, ...]] = []
    for network in networks:
        paper = ZEN[network].accuracy
        rows.append((network, "ZENacc", paper, None, None))
        for circuit in _DRAWN:
            ours = count(network, circuit).over(IMAGES)
            rows.append((network, _OURS + circuit.label, ours, None, paper / ours))
        alone = count(network, COMMITTED).over(IMAGES)
        for circuit in ACCURACY:
            ours = count(network, circuit).total()
            rows.append((network, _OURS + circuit.label, ours, alone / ours, paper / ours))
    return Table(
        "zen-5.4",
        f"the accuracy over {IMAGES} images, both private",
        f"Constraints. ZenServe's accuracy is one circuit for {IMAGES} committed images and labels, which "
        "checks the products of all images together; committed weights are registered besides. Its levels "
        f"are, for comparison, {IMAGES} inferences in one statement, each row for row as on its own, but "
        "with the range checks of weights and the lookup tables there once, and no count of what is right; "
        "and so is what the accuracy is compared with.",
        ("network", "circuit", f"{IMAGES} images", f"{IMAGES} times one / this", "ZENacc / this"),
        tuple(rows),
    )


def kernels(count: Counter) -> Table:
    """Table 5.9."""
    rows: list[tuple[Cell, ...]] = []
    bars: dict[str, Sequence[float]] = {}
    for level, paper in ZEN_KERNELS.items():
        rows.append((f"ZEN, {level}", *paper, None, None, sum(paper), None))
        if level in ("vanilla", "level 3"):
            bars[f"ZEN, {level}"] = paper
    for circuit in PRIVATE:
        found = count(KERNELS_NETWORK, circuit)
        ours = by_kernel(found)
        ends = found.total("input", "output"), found.total("tables")
        rows.append((_OURS + circuit.label, *ours, *ends, found.inference, found.total("weights")))
        if circuit in _DRAWN:
            bars[circuit.label] = ours
    return Table(
        "zen-5.9",
        f"{KERNELS_NETWORK} by kernel",
        "Constraints, input and weights private. ZenServe's ReLU is the clamp, which saturates too; conv, FC "
        "and pool have the divisions, with the range checks of sums, quotients and remainders. ZEN's "
        "inference is the sum of its kernels.",
        ("circuit", *KERNELS, "input and output", "tables", "inference", "weights"),
        tuple(rows),
        bar_chart(
            f"Constraints of {KERNELS_NETWORK} by kernel", "constraints", KERNELS, bars, logarithmic=True
        ),
    )


def short(network: str) -> str:
    """Its name without the data set."""
    return network.rpartition("-")[0]


def by_kernel(found: Count) -> tuple[int, ...]:
    """Constraints in the order of ``KERNELS``."""
    operators = ("Conv", "Dense", "WindowSum")
    layers = [found.total("products", "sums", "rescaling", operator=operator) for operator in operators]
    return (*layers, found.total("clamps"))


def convolutions(shapes: Sequence[tuple[int, int]], count: Counter) -> Table:
    """The sweep over convolutions. Channels are output × input, as ZEN has them."""
    layers = {convolution(outputs, inputs): outputs * inputs * 25 * 24 * 24 for outputs, inputs in shapes}
    return _sweep("zen-conv", "convolutions 5×5 of 28×28, output × input channels", layers, count)


def dense_layers(inputs: Sequence[int], count: Counter) -> Table:
    """The sweep over dense layers."""
    layers = {dense(size): DENSE_OUTPUTS * size for size in inputs}
    return _sweep("zen-dense", f"dense layers of {DENSE_OUTPUTS} outputs", layers, count)


def _sweep(name: str, what: str, layers: Mapping[str, int], count: Counter) -> Table:
    """One layer with its ReLU after another. ``layers``: their multiplications."""
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for layer, products in layers.items():
        for circuit in PRIVATE:
            found = count(layer, circuit)
            parts = [
                found.total(*kinds) for kinds in (("products",), ("sums", "rescaling", "clamps"), ("tables",))
            ]
            total = sum(parts)
            rows.append(
                (layer, circuit.label, products, *parts, total, total / products, found.total("weights"))
            )
            if circuit in _DRAWN:
                lines.setdefault(circuit.label, []).append((products, total))
    points: dict[str, Points] = dict(lines)
    return Table(
        name,
        f"{what}, input and weights private",
        "Constraints of one layer with its ReLU, as ZEN's figures 5.8 to 5.13 sweep them. Layer: products, "
        "range checks of sums and rescaling with the clamp, and lookup tables, which the layers of a network "
        "share. Weights: range checks of private weights, which are not in the layer's count.",
        (
            *("layer", "circuit", "multiplications", "products", "ranges", "tables"),
            *("layer's constraints", "a multiplication", "weights"),
        ),
        tuple(rows),
        line_chart(f"Constraints of {what}", "multiplications", "constraints", points, logarithmic=True),
    )
