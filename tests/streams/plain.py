"""A verifier of streams in one file, from docs/streams.md alone: course, chain, and what each frame names."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.vectors.plain_verifier import canonical, require

Json = dict[str, Any]
RULES = {"hazard": 600, "noise": 10, "runs": 30, "young": 12, "dominance": 2, "patience": 5, "caution": 3}


@dataclass
class Run:
    """A guess: the classes are the same since a label."""

    start: int
    weight: int
    counts: list[int]

    def length(self, now: int) -> int:
        return now - self.start


class Detector:
    def __init__(self, rules: Json, classes: int) -> None:
        self.rules, self.d, self.now = rules, classes, 0
        self.runs: list[Run] = []
        self.believed: Run | None = None

    def sees(self, label: int) -> bool:
        """Whether the classes changed."""
        d, now, hazard, noise = self.d, self.now, self.rules["hazard"], self.rules["noise"]
        total = sum(run.weight for run in self.runs) if self.runs else 2**64
        for run in self.runs:
            n = now - run.start
            likely = (noise - 1) * (d * run.counts[label] + 1) + n + 1
            run.weight = run.weight * (hazard - 1) * likely // (hazard * d * noise * (n + 1))
            run.counts[label] += 1
        self.runs.append(Run(now, total // (hazard * d), [int(label == each) for each in range(d)]))
        if len(self.runs) > self.rules["runs"]:
            old = self.runs[: len(self.runs) - self.rules["young"]]
            self.runs.remove(min(reversed(old), key=lambda run: run.weight))
        bits = max(run.weight for run in self.runs).bit_length()
        if bits < 48:
            for run in self.runs:
                run.weight <<= 64 - bits
        self.now += 1
        return self.believes(max(self.runs, key=lambda run: run.weight))

    def believes(self, best: Run) -> bool:
        before = self.believed or best
        later, there = best.start > before.start, any(run is before for run in self.runs)
        if later and there and best.weight < self.rules["dominance"] * before.weight:
            return False
        self.believed = best
        return later and 2 * best.length(self.now) <= before.length(self.now)


def log2(x: int) -> int:
    return int(x**256).bit_length() - 1


def said(outputs: list[int], prior: list[int]) -> int:
    sums = [output + p for output, p in zip(outputs, prior, strict=True)]
    return sums.index(max(sums))


class Choice:
    def __init__(self, bank: Json, caution: int) -> None:
        self.d, self.labels, self.models, self.caution = (
            bank["classes"],
            bank["labels"],
            bank["models"],
            caution,
        )

    def samples(self, model: int) -> list[tuple[int, list[int]]]:
        return list(zip(self.labels, self.models[model]["outputs"], strict=True))

    def shares(self, seen: list[tuple[int, int]]) -> list[int]:
        """``seen``: of each frame of the run, the model and the label."""
        d, counts = self.d, Counter(seen)
        table: Counter[tuple[int, int, int]] = Counter()
        for m in range(len(self.models)):
            for j, outputs in self.samples(m):
                table[m, said(outputs, [0] * d), j] += 1
        p = [2**32 // d] * d
        for _ in range(10):
            part = {
                (m, k): n * 2**64 // (sum(p) + d * sum(p[j] * table[m, k, j] for j in range(d)))
                for (m, k), n in counts.items()
            }
            p = [
                p[j] * sum(part[m, k] * (1 + d * table[m, k, j]) for m, k in counts) // (len(seen) * 2**32)
                for j in range(d)
            ]
        return p

    def prior(self, model: int, p: list[int], n: int) -> list[int]:
        d, caution, own = self.d, self.caution, self.models[model]
        s = [(d * n * each + caution * 2**32) // (d * (n + caution)) for each in p]
        return [max(-own["margin"], (log2(max(each, 1)) - 8192) * own["bit"] // 65536) for each in s]

    def correct(self, model: int, p: list[int], prior: list[int]) -> int:
        return sum(p[j] for j, outputs in self.samples(model) if said(outputs, prior) == j)

    def choose(self, seen: list[tuple[int, int]]) -> tuple[int, list[int]]:
        p = self.shares(seen)
        target = min(self.correct(0, p, each) for each in ([0] * self.d, self.prior(0, p, len(seen))))
        first, end = 0, len(self.models)
        while end - first > 1:
            half = (first + end + 1) // 2
            if self.correct(half, p, self.prior(half, p, len(seen))) >= target:
                first = half
            else:
                end = half
        return first, self.prior(first, p, len(seen))


class Course:
    def __init__(self, head: Json) -> None:
        self.bank, self.rules, self.d = head["bank"], head["rules"], head["bank"]["classes"]
        self.detector = Detector(self.rules, self.d)
        self.choice = Choice(self.bank, self.rules["caution"])
        self.seen: list[tuple[int, int]] = []
        self.begin()

    def begin(self) -> None:
        self.model, self.prior, self.due = 0, [0] * self.d, self.rules["patience"]

    def sees(self, labels: list[int]) -> list[int]:
        """What is seen in all frames of a proof: at which places the classes changed."""
        self.seen += [(self.model, label) for label in labels]
        changed = [place for place, label in enumerate(labels) if self.detector.sees(label)]
        if changed:
            self.begin()
        assert self.detector.believed
        run = self.seen[self.detector.believed.start :]
        if len(run) >= self.due:
            (self.model, self.prior), self.due = self.choice.choose(run), 2 * len(run)
        return changed


def sha256(tag: str, *parts: bytes) -> bytes:
    return hashlib.sha256(f"zenserve {tag} 1\n".encode() + b"".join(parts)).digest()


def adds_prior(circuit: Json, d: int, margin: int) -> bool:
    """By a circuit's description: whether ``answer`` is ``seen`` and the prior, exactly."""
    layers = {layer["name"]: layer for layer in circuit["architecture"]}
    scales = {each["name"]: each for each in circuit["quantisation"]["layers"]}
    (prior,) = (each for each in circuit["quantisation"]["inputs"] if each["name"] == "prior")
    seen, answer = circuit["outputs"]["seen"], circuit["outputs"]["answer"]
    behind, added = {seen}, layers[answer]
    for _ in layers:
        behind |= {name for each in behind & layers.keys() for name in layers[each]["reads"]}
    right = [
        len(layers) == len(circuit["architecture"]),
        "prior" not in layers.keys() | behind and seen in layers,
        added["operator"] == "Add" and repr(added["factors"]) == "[1, 1]",
        sorted(added["reads"]) == sorted([seen, "prior"]) and not scales[answer].get("rescale"),
        math.prod(added["shape"]) == math.prod(prior["shape"]) == d and prior["zero_point"] == margin,
    ]
    return all(right)


def listed(value: Any) -> list[int]:
    return value if isinstance(value, list) else [value]


def verify(stream: Json, keys: dict[str, Json], judge: Callable[[Json, Json], None]) -> Json:
    """What a stream shows, once ``judge`` takes each frame under its key; ``keys``: their files, by ids.
    Raises ``Refused`` with the first frame that is wrong."""
    head = stream["head"] | {"rules": RULES | stream["head"]["rules"]}
    head["bank"] = {"format": "zenserve bank", "version": 1} | head["bank"]
    head["bank"] |= {"models": [dict(model) for model in head["bank"]["models"]]}
    keyed = [(model, "batch_key") for model in head["bank"]["models"]]
    for part, name in ((head, "challenge"), (head["rules"], "batch"), *keyed):
        if part.get(name) is None:
            part.pop(name, None)
    n = head["rules"].get("batch")
    course, link = Course(head), sha256("stream", canonical(head).encode())
    models, missed, changes, labels = head["bank"]["models"], list[int](), list[int](), list[int | None]()
    used, begins, places, proofs = [0] * len(models), link.hex(), list[int | None](), list[int | None]()
    networks = dict[int, str]()
    for frame in stream["frames"]:
        number = len(labels)
        if "missed" in frame:
            missed.append(number)
            labels.append(None)
            places.append(None)
            proofs.append(None)
            link = sha256("frame", link, canonical(frame).encode())
            continue
        statement, model = frame["statement"], models[course.model]
        values, id_ = statement["values"], statement["verification_key"]["id"]
        circuit = keys[id_]["circuit"]
        size = circuit.get("batch") or 1
        which = f"frame {number}" if size == 1 else f"frames {number} to {number + size - 1}"
        seen, answers = (listed(values.get(f"label/{each}", [])) for each in ("seen", "answer"))
        right = {
            "challenge": statement["challenge"] == f"{which} after {link.hex()}",
            "batch": size in (1, n),
            "key": id_ == model["verification_key" if size == 1 else "batch_key"],
            "model": statement["commitments"].get("model") == model["commitment"],
            "network": networks.setdefault(course.model, circuit["network"]) == circuit["network"],
            "bank": adds_prior(circuit, course.d, model["margin"]),
            "input": values.get("input/prior") == size * [model["margin"] + p for p in course.prior],
            "values": len(seen) == len(answers) == size and {*seen, *answers} <= {*range(course.d)},
        }
        require(all(right.values()), f"frame {number} has another {[n for n in right if not right[n]]}")
        judge(frame, keys[id_])
        used[course.model] += size
        places += size * [course.model]
        proofs += size * [number]
        labels += answers
        changes += [number + place for place in course.sees(seen)]
        link = sha256("frame", link, hashlib.sha256(canonical(statement).encode()).digest())
    chain = {"head": begins, "link": link.hex()}
    found = {"missed": missed, "by_model": used, "changes": changes}
    return chain | found | {"models": places, "labels": labels, "proofs": proofs}
