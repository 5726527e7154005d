"""Streams that verifiers of other make judge: ``python -m tests.streams.record`` writes ``vectors.json``.

``head`` and ``frames`` are of a stream that is valid, and ``verdict`` is that on it; ``batched`` has the same
of one in batches. Each of ``cases`` is that stream, or if it says so the one in batches, with other frames,
by their places or as they are, or one of another ``head``, or with what is ``expected``; ``reason`` is
``ok``, or why it is refused, and ``frame`` the number of the frame that is, if it is for one; ``link`` is the
last of a valid one. ``keys`` are those of all cases. Each of ``networks`` is what of a circuit's description
has to fit a bank, and whether it ``fits`` one of these ``classes`` and this ``margin``. Each of ``courses``
has labels as they are seen, the frames at which they change, and each plan that begins, by its frame; from
the fourth on their rules and outputs are at their ends, from the eighth on they are in batches, and the last
is of many classes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic import BaseModel

from tests.streams.proving import BEGUN, CLASSES, Stage, Wrong, inputs, strangers
from zenserve.circuits.banks import MARGIN
from zenserve.verifier.bank import PRIOR
from zenserve.verifier.documents import checked
from zenserve.verifier.expected import ExpectedStream
from zenserve.verifier.fields import MOST_INTEGER
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.stream import (
    MOST_BATCH,
    MOST_RUNS,
    MOST_STEPS,
    Bank,
    BankModel,
    Head,
    Rules,
    StreamFile,
    StreamVerification,
    judge_stream,
)

FILE: Final = Path(__file__).with_name("vectors.json")
LABELS: Final = 10
MANY: Final = 40
SAMPLES: Final = 5
BEFORE_CHANGE: Final = 14
USUAL: Final = 3
_RULES: Final = [
    *[Rules()] * USUAL,
    Rules(hazard=2, noise=2, runs=3, young=2, dominance=1, patience=1, caution=1 << 16),
    Rules(hazard=MOST_INTEGER, noise=1 << 16, runs=2, young=1, dominance=1 << 16, patience=9),
    Rules(hazard=2, noise=1 << 16, runs=MOST_RUNS, young=MOST_RUNS - 1, dominance=1, patience=1 << 16),
    Rules(hazard=3, noise=1 << 16, runs=5, young=1, dominance=1, patience=25),
    Rules(batch=4),
    Rules(batch=MOST_BATCH, patience=9),
]
COURSES: Final = [*((rules, LABELS) for rules in _RULES), (Rules(), MANY)]
"""Rules, and how many classes there are."""
BATCH: Final = 4
BATCHES_BEFORE: Final = 2


Case = dict[str, Any]


def recorded(folder: Path) -> dict[str, Any]:
    stage = Stage.of(folder)
    first, second = inputs([0, 1], 7, 0.1)[0], inputs([2, 3], 4, 0.1)[0]
    stream = stage.proven([*first[:9], None, *first[9:], *second])
    answer = judge_stream(stream, stage.keys)
    assert answer.valid, answer.detail
    batched = stage.batched(BATCH)
    together = batched.proven([*first[:9], None, *first[9:], *second])
    wrong_batches = batched.wrong_batches(together.frames[:BATCHES_BEFORE], first[:BATCH])
    mixed = batched.mixed(first[: 1 + BATCH])
    larger = batched.said_to_be_of(BATCH - 1, first[:BATCH])
    others = strangers(stage)
    keys = [
        *(model.key for model in (*stage.models, *batched.batches)),
        *(each.key for each in others.values()),
        *(each.key for each in wrong_batches.values() if each.key),
    ]
    shown = {key.id: dumped(key) for key in keys}
    begun = [*range(BEFORE_CHANGE)]
    wrong = stage.wrong(stream.frames[:BEFORE_CHANGE], first[0])
    head, frames = dumped(stream.head), [dumped(frame) for frame in stream.frames]
    bank = {name: head["bank"][name] for name in ("classes", "labels", "models")}
    brief = {"bank": bank, "rules": {"noise": 20}, "begun_at": BEGUN}
    opened_keys = {key.id: opened(key) for key in keys}
    links = {"head": answer.head, "link": answer.link}
    cases = [
        *ordered([*range(len(stream.frames))]),
        *(
            case(f"a frame {name}", [*begun, dumped(each.frame)], BEFORE_CHANGE, each.reason)
            for name, each in wrong.items()
        ),
        *(
            case(f"a frame {name}", [dumped(each.file.frames[0])], 0, each.reason)
            | {"head": dumped(each.file.head)}
            for name, each in others.items()
        ),
        case("misses in other letters", [{"missed": 'Größe "4€" \\ 😀'}, {"missed": "x"}]),
        case("what may be left out of a head", [0]) | {"head": brief},
        case("a challenge", [{"missed": "x"}]) | {"head": head | {"challenge": "for Ada"}},
        case("no challenge", [0]) | {"head": head | {"challenge": None}},
        case("no batches", [0]) | {"head": without_batches(head)},
        case("a challenge that came later", [0], 0) | {"head": head | {"challenge": "for Ada"}},
        *pinned([*range(len(stream.frames))], head, links),
        *in_batches(together, wrong_batches),
        case("a bank whose batches are larger", [dumped(larger.frames[0])], 0, "batch_mismatch")
        | {"head": dumped(larger.head)},
        case("a batch of another network", [dumped(frame) for frame in mixed.frames], 1, "network_mismatch")
        | {"head": dumped(mixed.head)},
    ]
    own = {"head": head, "frames": frames, "verdict": dumped(answer)}
    other = {
        "head": dumped(together.head),
        "frames": [dumped(frame) for frame in together.frames],
        "verdict": dumped(judge_stream(together, batched.keys)),
    }
    streams = own | {"batched": other}
    return {
        "keys": [*shown.values()],
        **streams,
        "cases": [each | {"link": judged(each, file_of(each, streams), opened_keys).link} for each in cases],
        "networks": networks_of(stage),
        "courses": [course_of(seed, *course) for seed, course in enumerate(COURSES)],
    }


def without_batches(head: Case) -> Case:
    """The same, where it says that there are none."""
    bank, rules = head["bank"], head["rules"]
    models = [model | {"batch_key": None} for model in bank["models"]]
    return head | {"bank": bank | {"models": models}, "rules": rules | {"batch": None}}


def file_of(each: Case, streams: Mapping[str, Any]) -> dict[str, Any]:
    """``streams``: the file's, that is one by itself and with ``batched`` another."""
    of = streams["batched"] if each.get("batched") else streams
    own = [of["frames"][frame] if isinstance(frame, int) else frame for frame in each["frames"]]
    return {"format": "zenserve stream", "version": 1, "head": each.get("head", of["head"]), "frames": own}


def judged(each: Case, file: dict[str, Any], keys: dict[str, OpenedKey]) -> StreamVerification:
    expected = checked(ExpectedStream, each.get("expected", {}))
    return judge_stream(checked(StreamFile, file), keys, expected)


def in_batches(stream: StreamFile, wrong: Mapping[str, Wrong]) -> list[Case]:
    """Batches that are left out, doubled, moved, and what is none."""
    every, size = [*range(len(stream.frames))], BATCH
    begun, after = every[:BATCHES_BEFORE], BATCHES_BEFORE * BATCH
    return [
        each | {"batched": True}
        for each in (
            case("the whole stream in batches", every),
            case("a batch is dropped", every[1:], 0),
            case("a batch is doubled", [0, *every], size),
            case("two batches in another order", [1, 0, *every[2:]], 0),
            case("a miss within a batch", [0, {"missed": "deadline"}, *every[1:]], size + 1),
            case("a batch in place of a miss", [*begun, *every[BATCHES_BEFORE + 2 :]], after),
            *(
                case(f"a batch {name}", [*begun, dumped(each.frame)], after, each.reason)
                for name, each in wrong.items()
            ),
        )
    ]


def pinned(every: list[int], head: Any, links: dict[str, Any]) -> list[Case]:
    """With what is known from elsewhere; some of it is of another stream."""
    own = {"frames": [{"missed": "x"}], "head": head | {"challenge": "for Ada"}}
    return [
        case("the links that were known", every) | {"expected": links},
        case("another head", every, None, "head_mismatch") | {"expected": {"head": links["link"]}},
        case("another link", every[:-1], None, "chain_mismatch") | {"expected": links},
        case("a question of nobody", every, None, "challenge_mismatch")
        | {"expected": {"challenge": "for Ada"}},
        case("a question", []) | own | {"expected": {"challenge": "for Ada"}},
        case("another question", [], None, "challenge_mismatch")
        | own
        | {"expected": {"challenge": "for Bob"}},
        case("no ceremony", every, 0, "setup_mismatch") | {"expected": {"require": "ceremony"}},
    ]


def ordered(every: list[int]) -> list[Case]:
    """Of frames that are left out, doubled, exchanged."""
    return [
        case("the whole stream", every),
        case("its beginning", every[:12]),
        case("nothing yet", []),
        case("a frame is dropped", [*every[:5], *every[6:]], 5),
        case("a frame is doubled", [*every[:5], *every[4:]], 5),
        case("two frames in another order", [*every[:5], 6, 5, *every[7:]], 5),
        case("a miss left out", [*every[:9], *every[10:]], 9),
        case("a miss that was none", [*every[:5], {"missed": "deadline"}, *every[6:]], 6),
        case("a miss more", [*every[:5], {"missed": "deadline"}, *every[5:]], 6),
        case("a miss for another reason", [*every[:9], {"missed": "dark"}, *every[10:]], 10),
    ]


def case(name: str, frames: list[Any], frame: int | None = None, reason: str = "") -> Case:
    reason = reason or ("ok" if frame is None else "challenge_mismatch")
    return {"name": name, "frames": frames, "frame": frame, "reason": reason}


def networks_of(stage: Stage) -> list[dict[str, Any]]:
    """One that fits, and that with one thing changed."""
    circuit = dumped(stage.models[0].key)["circuit"]
    first, last = circuit["architecture"]
    types = circuit["quantisation"]["inputs"]
    scales = circuit["quantisation"]["layers"]
    own = {
        "architecture": [first, last],
        "outputs": circuit["outputs"],
        "quantisation": {"inputs": types, "layers": scales},
    }
    layers: dict[str, list[Any]] = {
        "another operator": [first, last | {"operator": "Multiply"}],
        "it is taken off": [first, last | {"factors": [1, -1]}],
        "other steps": [first, last | {"factors": [1, 2]}],
        "no factors": [first, {name: last[name] for name in ("name", "operator", "reads", "shape")}],
        "factors with a point": [first, last | {"factors": [1.0, 1.0]}],
        "a term more": [first, last | {"reads": [*last["reads"], "dense1"]}],
        "another term": [first, last | {"reads": ["dense1", "x"]}],
        "the prior twice": [first, last | {"reads": [PRIOR, PRIOR]}],
        "another shape": [first, last | {"shape": [CLASSES, 1, 2]}],
        "it is read before": [first | {"reads": ["x", PRIOR]}, last],
        "it is read before by another": [
            first | {"name": "dense0", "reads": [PRIOR]},
            first | {"reads": ["dense0"]},
            last,
        ],
        "a name twice": [first, first, last],
        "a layer of its name": [first | {"name": PRIOR}, first, last],
        "no layers": [],
    }
    outputs = {
        "exchanged": {"seen": "add1", "answer": "dense1"},
        "one for both": {"seen": "add1", "answer": "add1"},
        "no answer": {"seen": "dense1"},
        "an input": {"seen": "x", "answer": "add1"},
    }
    (prior,) = (each for each in types if each["name"] == PRIOR)
    inputs_of = {
        "another zero point": [types[0], prior | {"zero_point": 254}],
        "another length": [types[0], prior | {"shape": [CLASSES + 1]}],
        "another name": [types[0], prior | {"name": "added"}],
    }
    parts: list[dict[str, Any]] = [{}]
    parts += [{"architecture": each} for each in layers.values()]
    parts += [{"outputs": each} for each in outputs.values()]
    parts += [{"quantisation": {"inputs": each, "layers": scales}} for each in inputs_of.values()]
    rounded = [scales[0], scales[0] | {"name": "add1"}]
    parts += [{"quantisation": {"inputs": types, "layers": rounded}}, {"quantisation": 1}]
    names = ["as it is", *layers, *outputs, *inputs_of, "rounded", "no quantisation"]
    found = [
        {"name": name, "described": own | part, "classes": CLASSES, "margin": MARGIN, "fits": not part}
        for name, part in zip(names, parts, strict=True)
    ]
    told = {"for other classes": {"classes": 5}, "for another margin": {"margin": 254}}
    return found + [found[0] | each | {"name": name, "fits": False} for name, each in told.items()]


def head_of(rng: random.Random, rules: Rules, classes: int, *, far: bool) -> Head:
    """Of three models whose outputs are at random, the later the rougher; ``far``: as large as can be."""
    labels = [label for label in range(classes) for _ in range(SAMPLES)]
    step, steps = (MOST_STEPS // 64, MOST_STEPS) if far else (1, 255)
    models = [
        BankModel(
            commitment=None,
            verification_key="00" * 32,
            cost=3 - place,
            bit=steps - place if far else 300 + place,
            margin=steps,
            outputs=[
                [
                    step * (round(rng.gauss(0, (5, 6, 10)[place])) + 12 * (own == label))
                    for own in range(classes)
                ]
                for label in labels
            ],
        )
        for place in range(3)
    ]
    models = [model.model_copy(update={"batch_key": rules.batch and "01" * 32}) for model in models]
    bank = Bank(classes=classes, labels=labels, models=models)
    return Head(bank=bank, rules=rules, begun_at=BEGUN)


def course_of(seed: int, rules: Rules, classes: int) -> dict[str, Any]:
    rng = random.Random(seed)
    head = head_of(rng, rules, classes, far=USUAL <= seed < len(_RULES))
    labels = []
    for _ in range(4):
        own = rng.sample(range(classes), 3)
        length = rng.randint(60, 160)
        labels += [rng.choice(own if rng.random() > 0.15 else range(classes)) for _ in range(length)]
    course, changes = head.course(), []
    plans: dict[int, Any] = {}
    size = rules.batch or 1
    for number in range(0, len(labels), size):
        before = course.plan
        changes += [number + place for place in course.observe(labels[number : number + size])]
        if course.plan != before:
            plans[number + size] = {"model": course.plan.model, "prior": list(course.plan.prior)}
    return {"head": dumped(head), "labels": labels, "changes": changes, "plans": plans}


def dumped(document: BaseModel) -> dict[str, Any]:
    return document.model_dump(mode="json")


def main() -> None:
    with TemporaryDirectory() as folder:
        vectors = recorded(Path(folder))
    FILE.write_text(json.dumps(vectors, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
