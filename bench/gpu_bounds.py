"""Forward bounds of transformers that read sentences, on a card, and PyTorch's and auto_LiRPA's beside them.

    python -m bench.gpu_bounds --sentences FOLDER [--topics speed tightness operators images points]
                               [--layers N ...] [--count N] [--compile] [--lirpa] [--json FILE]

FOLDER has ``layers1.npz`` ... of ``examples.sentences.train``, and ``sst2_test.tsv`` if ZENSERVE_DATA none.
PyTorch with CUDA has to be there; ``--lirpa`` where auto_LiRPA is, too; ``--compile``: by torch.compile, too.

``speed``: of one sentence of about 25 words. A pass bounds the margin of every word, or of one, at one
radius. A sentence is the search for the radii of all words, in ten bits. Beside it are two ports to PyTorch,
both of all words as one batch: of Shi et al.'s bounds (``shi``), which halves radii ten times, and of ours
(``torch``), which has our search; auto_LiRPA's CROWN takes a word at a time, and ten halvings are counted as
ten of its passes.
Medians, all in turn; of one layer, too, as the host launches kernels one by one.
``tightness``: how far ends of what the last ReLU reads are from the port's in float64, in widths; radii
beside the port's, and beside those of auto_LiRPA's CROWN-IBP and CROWN.
``points``, ``images``: of ``--count`` sentences, and of images, how many points were looked at, and by how
much the least margin of any is above its bound (``bench.bounds_points``). Without a card, too.
``operators``: single ones (``bench.bounds_operators``). ``compiled``: a pass of one word and one layer by
both ports, with torch.compile, where it compiles them, and without; not asked for unless named.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.bounds_operators import FASTER, operator
from bench.bounds_points import images, sentences
from bench.measure import Contestants, argument_parser, in_turn, seconds
from bench.report import Report, Row
from bench.words import FAITH, LONGEST, SHORTEST, STEPS
from examples.sentences.network import LAYERS, Reader, labelled
from examples.zoo.data import FOLDER
from zenserve import bounds
from zenserve.bounds import Ball, Bounds, Network, Norm
from zenserve.bounds.arrays import chosen, host
from zenserve.bounds.search import searched
from zenserve.circuits.graphs.types import FloatArray
from zenserve.gpu.device import Device, namespace

CUDA: Final = "cuda"
WORDS: Final = 25
ROUNDS: Final = 10
SENTENCES: Final = 200
DEVICE: Final = Device()


class Sentence:
    """One that the network is right about, as it lies on the card: x [128, count]."""

    def __init__(self, reader: Reader, x: FloatArray, label: int) -> None:
        self.reader, self.x, self.label, self.count = reader, x, label, x.shape[1]
        self.network = bounds.read(reader.network(self.count))
        self.lines = np.eye(2)[[[label]]] - np.eye(2)[[[1 - label]]]

    @cached_property
    def there(self) -> Network:
        return self.network.on(namespace())

    def around(self, radii: FloatArray, words: NDArray[np.int64], norm: Norm = "2") -> Ball:
        where = np.arange(self.count) == words[:, np.newaxis, np.newaxis]
        return Ball(np.broadcast_to(self.x, (len(words), *self.x.shape)), radii, norm, where=where)

    @cached_property
    def most(self) -> float:
        """Four times the largest power of two that the first word may move by, of 2^-24 to 2."""
        first, held, beyond = np.zeros(1, np.int64), -24, 2
        while beyond - held > 1:
            tried = (held + beyond) // 2
            region = self.around(np.ldexp(np.ones(1), tried), first)
            right = bounds.certify(self.network, region, np.array([self.label]), "forward").robust[0]
            held, beyond = (tried, beyond) if right else (held, tried)
        return 4 * 2.0**held

    def furthest(self, network: Network) -> FloatArray:
        labels = np.full(self.count, self.label)
        return bounds.furthest(network, self.around, labels, self.most, "forward", STEPS)

    def passes(self, count: int, radius: float) -> Callable[[], Any]:
        """One for so many words, on the card: the margins there."""
        region = self.around(np.full(count, radius), np.arange(count)).on(namespace())
        lines = namespace().asarray(np.repeat(self.lines, count, axis=0))
        found = namespace().empty(lines.shape[:2])

        def call() -> None:
            found[...] = Bounds(self.there, region, "forward").least(lines)

        return call


def read(folder: Path, layers: int) -> tuple[Reader, list[FloatArray]]:
    """A network, and sentences of 8 to 26 words."""
    reader, known = Reader.load(folder / f"layers{layers}.npz"), folder / "sst2_test.tsv"
    texts = labelled(known if known.is_file() else FOLDER / "sst2_test.tsv")
    known_words = (text for text, _ in texts if any(word in reader.words for word in text.split()))
    embedded = map(reader.embedded, known_words)
    return reader, [x for x in embedded if SHORTEST <= x.shape[1] <= LONGEST]


def sentence_of(reader: Reader, x: FloatArray) -> Sentence:
    """With the label that the network gives it."""
    return Sentence(reader, x, int(reader.network(x.shape[1]).run(x[np.newaxis]).argmax()))


def long(folder: Path, layers: int) -> Sentence:
    reader, sentences = read(folder, layers)
    return sentence_of(reader, min(sentences, key=lambda x: abs(x.shape[1] - WORDS)))


class Port:
    """A port's margins of a sentence: what Shi et al. have (``bench.peers.shi``), or what ours has."""

    def __init__(self, sentence: Sentence, of: str, dtype: str, *, compiled: bool = False) -> None:
        import torch

        from bench.peers import forward, shi

        self._torch, self._dtype, self._of = torch, getattr(torch, dtype), of
        kind = shi.Shi if of == "shi" else forward.Forward
        made: shi.Shi | forward.Forward = kind(sentence.reader, CUDA, self._dtype)
        self._margins = torch.compile(made.margins, dynamic=False) if compiled else made.margins
        self._inside = made.inside
        self._x, self.sentence = self._there(sentence.x.T), sentence

    def _there(self, array: Any, dtype: Any = None) -> Any:
        return self._torch.tensor(array, dtype=dtype or self._dtype, device=CUDA)

    def passes(self, count: int, radius: float) -> Callable[[], Any]:
        words = self._there(np.arange(count), self._torch.int64)
        radii = self._there(np.full(count, radius))
        return lambda: self._margins(self._x, words, radii, self.sentence.label)

    def margins(self, radii: FloatArray, words: NDArray[np.int64]) -> FloatArray:
        made = self._margins(
            self._x, self._there(words, self._torch.int64), self._there(radii), self.sentence.label
        )
        found: FloatArray = made.double().cpu().numpy()
        return np.where(np.isnan(found), -np.inf, found)

    def inside(self, radii: FloatArray, words: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Ends of what the last ReLU reads, [n, count, 512]."""
        low, high = self._inside(self._x, self._there(words, self._torch.int64), self._there(radii))
        return low.cpu().numpy(), high.cpu().numpy()

    def furthest(self) -> FloatArray:
        """Shi's by halving the radius ten times, as Faith has it; ours by our search."""
        count, most = self.sentence.count, self.sentence.most
        if self._of == "own":
            own = self.margins(np.zeros(count), np.arange(count))
            return searched(self.margins, own, most, STEPS)
        low, high = np.zeros(count, np.int64), np.full(count, STEPS)
        for _ in range(ROUNDS):
            middle = (low + high) // 2
            held = self.margins(middle * most / STEPS, np.arange(count)) > 0
            low, high = np.where(held, middle, low), np.where(held, high, middle)
        return low * most / STEPS

    def synchronize(self) -> None:
        self._torch.cuda.synchronize()


def timed(call: Callable[[], Any], wait: Callable[[], Any]) -> Callable[[], float]:
    """Seconds until the card is done; warmed up."""
    call()
    call()
    wait()
    return lambda: seconds(lambda: (call(), wait()))


def speed(folder: Path, layers: int, *, lirpa: bool) -> Iterator[Row]:
    sentence = long(folder, layers)
    ports = {
        "shi_float32": Port(sentence, "shi", "float32"),
        **{f"torch_{dtype}": Port(sentence, "own", dtype) for dtype in ("float32", "float64")},
    }
    radius = sentence.most / 8
    for count in (1, sentence.count):
        ours = sentence.passes(count, radius)
        contestants: Contestants = {
            "zenserve": timed(DEVICE.recorded(ours), DEVICE.synchronize),
            **({"launched": timed(ours, DEVICE.synchronize)} if layers == 1 else {}),
            **{name: timed(port.passes(count, radius), port.synchronize) for name, port in ports.items()},
        }
        yield from _rows(f"{layers} layers, a pass of {count} words", count, contestants, 3)
    del contestants, ours
    DEVICE.release()
    compared: Contestants = {
        "zenserve": lambda: seconds(lambda: sentence.furthest(sentence.network)),
        **{name: _search(port.furthest) for name, port in ports.items()},
    }
    more: dict[str, Any] = {
        "radius": float(sentence.furthest(sentence.network).mean()),
        "most": sentence.most,
        "faith_s": FAITH[layers - 1],
    }
    yield from _rows(f"{layers} layers, a sentence", sentence.count, compared, 3, more)
    if lirpa:
        yield _lirpa_speed(sentence, layers)


def compiled(folder: Path) -> Iterator[Row]:
    """One word, one layer."""
    sentence = long(folder, 1)
    radius = sentence.most / 8
    contestants: Contestants = {
        "zenserve": timed(DEVICE.recorded(sentence.passes(1, radius)), DEVICE.synchronize)
    }
    for of in ("shi", "own"):
        for made in (False, True):
            port = Port(sentence, of, "float32", compiled=made)
            name = f"{of}_{'compile' if made else 'eager'}"
            try:
                contestants[name] = timed(port.passes(1, radius), port.synchronize)
            except Exception as error:  # whatever compilers of compilers raise
                print(f"{name}: {type(error).__name__}")
    yield from _rows("1 layers, a pass of 1 words", 1, contestants, 5)


def _search(call: Callable[[], Any]) -> Callable[[], float]:
    return lambda: seconds(call)


def _rows(
    name: str, size: int, contestants: Contestants, repetitions: int, more: dict[str, Any] | None = None
) -> Iterator[Row]:
    """The first is ours; the others bear their ratio to it."""
    for who, timing in in_turn(contestants, repetitions=repetitions).items():
        yield Row.of(
            f"{name}, {who}", size, timing, peer=who, more=more or {} if timing.ratio is None else {}
        )


def _lirpa_speed(sentence: Sentence, layers: int) -> Row:
    import torch

    from bench.peers.lirpa_words import Words

    x = torch.tensor(sentence.x.T, dtype=torch.float32, device=CUDA)
    peer = Words(sentence.reader, x, 0, sentence.label, "CROWN")
    ours = min(seconds(lambda: sentence.furthest(sentence.network)) for _ in range(2)) / sentence.count
    peer.margin(sentence.most / 8)
    theirs = ROUNDS * float(np.median([seconds(lambda: peer.margin(sentence.most / 8)) for _ in range(3)]))
    return Row(
        f"{layers} layers, a word, auto_LiRPA CROWN", 1, theirs, peer="auto_LiRPA", ratio=theirs / ours
    )


def tightness(folder: Path, layers: int, *, lirpa: bool) -> Iterator[Row]:
    sentence = long(folder, layers)
    port, count = Port(sentence, "own", "float64"), sentence.count
    ours, theirs = sentence.furthest(sentence.network), port.furthest()
    differences = []
    for share in (32, 16, 8):
        radii, words = np.full(count, sentence.most / share), np.arange(count)
        found = Bounds(sentence.there, sentence.around(radii, words).on(namespace()), "forward")
        # Words last, and places of one.
        low, high = (host(each)[..., 0] for each in found.intervals[f"{layers - 1}/inside"])
        for one, other in zip((low, high), port.inside(radii, words), strict=True):
            away = np.abs(one - other.transpose(0, 2, 1))
            differences.append(float((away / np.maximum(high - low, 1e-9)).max()))
    known = theirs > 4 * sentence.most / STEPS
    shi = Port(sentence, "shi", "float64").furthest()
    more: dict[str, Any] = {
        "shi_radius": float(shi.mean()),
        "largest_difference": max(differences),
        "least_of_port": float((ours[known] / theirs[known]).min()) if known.any() else None,
    }
    for method, apart in (("CROWN-IBP", 3), ("CROWN", 8)) if lirpa else ():
        few = np.arange(0, count, apart)
        by_lirpa = _by_lirpa(sentence, few, method)
        with np.errstate(divide="ignore"):
            shares = ours[few] / by_lirpa
        named = method.lower().replace("-", "_")
        more |= {f"{named}_radius": float(by_lirpa.mean()), f"least_of_{named}": float(shares.min())}
    yield Row(f"{layers} layers", count, float(ours.mean()), unit="", more=more)


def _by_lirpa(sentence: Sentence, words: NDArray[np.int64], method: str) -> FloatArray:
    """The radii that auto_LiRPA certifies of these words."""
    import torch

    from bench.peers.lirpa_words import Words

    x = torch.tensor(sentence.x.T, dtype=torch.float32, device=CUDA)
    peers = [Words(sentence.reader, x, word, sentence.label, method) for word in words.tolist()]

    def margins(radii: FloatArray, some: NDArray[np.int64]) -> FloatArray:
        return np.array([peers[at].margin(float(radius)) for radius, at in zip(radii, some, strict=True)])

    return searched(margins, np.ones(len(words)), sentence.most, STEPS)


def _share(sentences: list[FloatArray], layers: int, count: int) -> list[FloatArray]:
    """Of so many in all a network's own: the fewer the more layers it has, as each takes the longer."""
    ends = np.rint(np.cumsum(1 / np.array(LAYERS)) / sum(1 / each for each in LAYERS) * count).astype(int)
    return sentences[(0, *ends)[layers - 1] : ends[layers - 1]]


def main() -> None:
    parser = argument_parser(__doc__)
    topics = ["speed", "tightness", "operators", "images", "points", "compiled"]
    parser.add_argument("--sentences", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--topics", nargs="*", choices=topics, default=topics[:-1])
    parser.add_argument("--layers", type=int, nargs="+", choices=LAYERS, default=[*LAYERS])
    parser.add_argument("--count", type=int, default=SENTENCES, help="sentences that points are drawn of")
    parser.add_argument("--compile", action="store_true", help="torch.compile, too")
    parser.add_argument("--lirpa", action="store_true", help="auto_LiRPA, too")
    options = parser.parse_args()
    with chosen() as xp:
        _measure(options, xp)


def _measure(options: Namespace, xp: Any) -> None:
    if xp is np and not {*options.topics} <= {"points", "images"}:
        raise SystemExit(
            "set ZENSERVE_BACKEND to gpu where there is one; points and images alone are looked at without"
        )
    report = Report("gpu_bounds", hardware="" if xp is np else DEVICE.name())
    for layers in options.layers:
        if "speed" in options.topics:
            report.show(
                "Speed",
                speed(options.sentences, layers, lirpa=options.lirpa),
            )
        if "tightness" in options.topics:
            report.show("Tightness", tightness(options.sentences, layers, lirpa=options.lirpa))
        report.write(options.json)
    if "compiled" in options.topics:
        report.show("Compiled", compiled(options.sentences))
        report.write(options.json)
    for name in FASTER if "operators" in options.topics else ():
        report.show("Operators", operator(name, compiled=options.compile))
        report.write(options.json)
    if "images" in options.topics:
        report.show("Points", images(xp))
    if "points" in options.topics:
        for layers in options.layers:
            reader, known = read(options.sentences, layers)
            some = _share(known, layers, 12 if options.quick else options.count)
            most = sentence_of(reader, some[0]).most
            report.show("Points", sentences(reader, some, most, xp, layers))
            report.write(options.json)
    report.write(options.json)


if __name__ == "__main__":
    main()
