"""Streams as files: valid ones, and each way to cheat."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.refusals import refuses
from tests.streams.proving import CLASSES, Stage, inputs, seen_of
from zenserve.verifier import command
from zenserve.verifier.documents import ProofDocument, read
from zenserve.verifier.expected import ExpectedStream
from zenserve.verifier.fields import canonical
from zenserve.verifier.keys import OpenedKey
from zenserve.verifier.stream import (
    Bank,
    Head,
    Missed,
    StreamFile,
    StreamVerification,
    beginning,
    challenge,
    following,
    judge_stream,
)

Frames = list[ProofDocument | Missed]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage.of(tmp_path_factory.mktemp("stream"))


@pytest.fixture(scope="module")
def batched(stage: Stage) -> Stage:
    """By which four frames in a row have one proof."""
    return stage.batched(4)


@pytest.fixture(scope="module")
def keys(stage: Stage) -> dict[str, OpenedKey]:
    return stage.keys


@pytest.fixture(scope="module")
def stream(stage: Stage) -> StreamFile:
    """Two classes, then two others; one frame is missed."""
    first, second = inputs([0, 1], 8, 0.1)[0], inputs([2, 3], 8, 0.1)[0]
    return stage.proven([*first[:12], None, *first[12:], *second])


CHEATS: Final[dict[str, Callable[[Frames], Frames]]] = {
    "dropped": lambda frames: [*frames[:5], *frames[6:]],
    "dropped at the beginning": lambda frames: frames[1:],
    "doubled": lambda frames: [*frames[:6], *frames[5:]],
    "reordered": lambda frames: [*frames[:4], frames[5], frames[4], *frames[6:]],
    "a miss that was none": lambda frames: [*frames[:5], Missed(missed="deadline"), *frames[6:]],
    "a miss left out": lambda frames: [*frames[:12], *frames[13:]],
    "a miss for another reason": lambda frames: [*frames[:12], Missed(missed="no light"), *frames[13:]],
    "a miss more": lambda frames: [*frames[:12], frames[12], *frames[12:]],
}


def test_the_command_judges_streams(
    stage: Stage, stream: StreamFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    for place, model in enumerate(stage.models):
        (keys / f"{place}.json").write_bytes(canonical(model.key))
    file = tmp_path / "stream.json"
    file.write_bytes(canonical(stream))
    assert command.main([str(file), "--keys", str(keys)]) == 0
    assert "There are 33 frames in this order, 1 of them without a proof." in capsys.readouterr().out
    file.write_bytes(canonical(changed(stream, stream.frames[1:])))
    assert command.main([str(file), "--keys", str(keys)]) == 1
    assert command.main([str(file)]) == 2
    assert "needs --keys, the folder of its keys" in capsys.readouterr().err
    told = [str(file), "--keys", str(keys)]
    assert command.main([*told, "--challenge", "mine"]) == 1
    assert "another challenge" in capsys.readouterr().out
    assert command.main([*told, "--model", "00" * 48]) == 2
    assert command.main([*told, "--input", str(file)]) == 2
    assert "not compared with --input" in capsys.readouterr().err


def test_the_command_compares_a_stream_with_what_is_known(
    stage: Stage, stream: StreamFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, model in enumerate(stage.models):
        (tmp_path / f"{place}.json").write_bytes(canonical(model.key))
    head = beginning(stream.head).hex()
    file, policy = tmp_path / "stream.zs", tmp_path / "policy.zs"
    file.write_bytes(canonical(stream))
    told = [str(file), "--keys", str(tmp_path)]
    assert command.main([*told, "--head", head]) == 0
    assert f"begins with {head}, as you expected." in capsys.readouterr().out
    assert command.main([*told, "--link", head]) == 1
    assert "chain_mismatch" in capsys.readouterr().out
    for pinned, code in ({"head": head}, 0), ({"head": "00" * 32}, 1), ({"key": head}, 2):
        policy.write_text(json.dumps({"format": "zenserve policy", "version": 1} | pinned))
        assert command.main([*told, "--policy", str(policy)]) == code
    assert command.main([*told, "--head", head[:-1]]) == 2


def test_a_challenge_is_in_the_chain_from_its_beginning(
    stage: Stage, stream: StreamFile, keys: dict[str, OpenedKey]
) -> None:
    """Who hands on an old stream cannot put a challenge into its head, nor take it out of another's."""
    mine = ExpectedStream(challenge="for Ada")
    asked = Stage(stage.models, stage.head.model_copy(update={"challenge": "for Ada"}))
    made = asked.proven(inputs([0, 1], 2, 0.1)[0])
    answer = judge_stream(made, keys, mine)
    assert answer.valid, answer.detail
    assert "It answers your challenge, for Ada." in answer.verified
    assert judge_stream(stream, keys, mine).reason == "challenge_mismatch"
    for file, head in (stream, asked.head), (made, stage.head):
        answer = judged(file.model_copy(update={"head": head}), keys)
        assert (answer.reason, answer.frame) == ("challenge_mismatch", 0)


@pytest.mark.parametrize("cheat", CHEATS)
def test_frames_are_all_there_in_order(stream: StreamFile, keys: dict[str, OpenedKey], cheat: str) -> None:
    answer = judged(changed(stream, CHEATS[cheat](stream.frames)), keys)
    assert (answer.valid, answer.reason) == (False, "challenge_mismatch")


def test_a_stream_may_end_anywhere(stream: StreamFile, keys: dict[str, OpenedKey]) -> None:
    assert judged(changed(stream, stream.frames[:9]), keys).frames == 9
    assert judged(changed(stream, []), keys).valid


def test_a_frame_of_another_model_is_refused(stage: Stage, keys: dict[str, OpenedKey]) -> None:
    """The last frame's model, and its prior, are the course's, not the prover's."""
    x = inputs([0, 1], 12, 0.1)[0]
    honest = stage.proven(x)
    link, course = beginning(stage.head), stage.head.course()
    for frame in honest.frames[:-1]:
        assert isinstance(frame, ProofDocument)
        course.observe(seen_of(frame))
        link = following(link, frame)
    answers, prior = challenge(link, len(x) - 1), course.plan.prior
    assert course.plan.model == 1
    wrong = {
        "key_mismatch": stage.models[0].frame(x[-1], prior, answers),
        "input_mismatch": stage.models[1].frame(x[-1], [0] * 4, answers),
    }
    for reason, frame in wrong.items():
        answer = judged(changed(honest, [*honest.frames[:-1], frame]), keys)
        assert (answer.valid, answer.reason, answer.frame) == (False, reason, len(x) - 1)
    assert judged(honest, keys).valid


def test_nothing_of_the_head_changes_afterwards(
    stage: Stage, stream: StreamFile, keys: dict[str, OpenedKey]
) -> None:
    head = stream.head
    others = [
        head.model_copy(update={"rules": head.rules.model_copy(update={"patience": 9})}),
        head.model_copy(update={"begun_at": "2026-11-23T12:00:01Z"}),
        head.model_copy(update={"bank": head.bank.model_copy(update={"models": head.bank.models[:1]})}),
    ]
    for other in others:
        answer = judged(stream.model_copy(update={"head": other}), keys)
        assert (answer.valid, answer.reason, answer.frame) == (False, "challenge_mismatch", 0)


def test_a_proof_of_another_statement_is_refused(stream: StreamFile, keys: dict[str, OpenedKey]) -> None:
    third, fourth = stream.frames[3], stream.frames[4]
    assert isinstance(third, ProofDocument)
    assert isinstance(fourth, ProofDocument)
    swapped = third.model_copy(update={"proofs": fourth.proofs})
    answer = judged(changed(stream, [*stream.frames[:3], swapped, *stream.frames[4:]]), keys)
    assert (answer.valid, answer.frame) == (False, 3)


def test_the_keys_of_all_models_that_were_used_are_needed(
    stream: StreamFile, keys: dict[str, OpenedKey]
) -> None:
    first, second = (model.verification_key for model in stream.head.bank.models)
    assert judged(stream, {first: keys[first]}).reason == "no_key"
    assert judged(stream, {second: keys[second]}).frame == 0


def test_batches_have_the_model_of_before_their_first_frame(batched: Stage) -> None:
    """Also one in which the classes change; frames that are fewer are proven one by one."""
    first, second = inputs([0, 1], 5, 0.1)[0], inputs([2, 3], 6, 0.1)[0]
    made = batched.proven([*first, None, *second])
    answer = judged(made, batched.keys)
    assert answer.valid, answer.detail
    batches = [4 * [first] for first in (0, 4, 11, 15, 19)]
    assert answer.proofs == [*batches[0], *batches[1], 8, 9, None, *batches[2], *batches[3], *batches[4]]
    assert answer.labels == [*[0, 1] * 5, None, *[2, 3] * 6]
    assert "5 of 7 proofs are of 4 frames each" in " ".join(answer.verified)
    (change,) = answer.changes
    assert change >= 9, "after the miss, in a batch"
    for number, before in enumerate(answer.proofs):
        assert before is None or answer.models[number] == answer.models[before]
    assert answer.models[answer.proofs[change] or 0] == 1


@pytest.mark.parametrize(
    ("rules", "model"),
    [({"batch": 4}, {}), ({}, {"batch_key": "01" * 32}), ({"batch": 1}, {}), ({"batch": 65}, {})],
)
def test_batches_have_keys_and_a_size(stage: Stage, rules: dict[str, int], model: dict[str, str]) -> None:
    head = json.loads(canonical(stage.head))
    head["rules"] |= rules
    head["bank"]["models"][1] |= model
    with refuses("file.json"):
        read(Head, canonical(head))


def test_a_file_has_no_more_frames_in_batches(batched: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.verifier.stream.MOST_FRAMES", 11)
    made = batched.proven(inputs([0, 1], 4, 0.1)[0])
    frames: Frames = [*made.frames, *[Missed(missed="x")] * 3]
    assert judged(changed(made, frames), batched.keys).frames == 11
    with refuses("file.json", match="there are 11 at most"):
        read(StreamFile, canonical(changed(made, [*frames, Missed(missed="x")])))


@pytest.mark.parametrize(
    "change",
    [
        {"labels": [0] * 39 + [1]},
        {"labels": [7] + [0] * 39},
        {"labels": [0, 1] * 20},
        {"classes": 5},
        {"models": []},
    ],
)
def test_what_is_no_bank_is_refused(stage: Stage, change: dict[str, object]) -> None:
    bank = stage.head.bank.model_copy(update=change)
    with refuses("file.json"):
        read(Bank, canonical(bank))


@pytest.mark.parametrize(
    "change",
    [
        {"bit": 1 << 31},
        {"margin": 1 << 31},
        {"outputs": [[-(1 << 31), 0, 0, 0]] * 40},
        {"outputs": [[1 << 31, 0, 0, 0]] * 40},
        {"outputs": [[0, 0, 0]] * 40},
        {"outputs": [[0, 0, 0, 0]] * 39},
    ],
)
def test_a_model_of_numbers_without_bounds_is_refused(stage: Stage, change: dict[str, object]) -> None:
    first, second = stage.head.bank.models
    models = [first.model_copy(update=change), second]
    with refuses("file.json"):
        read(Bank, canonical(stage.head.bank.model_copy(update={"models": models})))


def test_a_bank_has_no_more_outputs_than_a_choice_can_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = canonical(stage.head.bank)
    monkeypatch.setattr("zenserve.verifier.stream.MOST_OUTPUTS", 2 * 40 * CLASSES - 1)
    with refuses("file.json", match="more than 319 outputs"):
        read(Bank, whole)


def test_a_model_that_costs_more_is_refused(stage: Stage) -> None:
    models = [model.model_copy(update={"cost": 7}) for model in stage.head.bank.models]
    with refuses("file.json", match="cheaper"):
        read(Bank, canonical(stage.head.bank.model_copy(update={"models": models})))


def judged(file: StreamFile, keys: dict[str, OpenedKey]) -> StreamVerification:
    return judge_stream(read(StreamFile, canonical(file)), keys)


def changed(file: StreamFile, frames: list[ProofDocument | Missed]) -> StreamFile:
    return file.model_copy(update={"frames": frames})


def test_a_whole_stream_is_judged(stream: StreamFile, keys: dict[str, OpenedKey]) -> None:
    answer = judged(stream, keys)
    assert answer.valid, answer.detail
    assert answer.frames == 33
    assert answer.missed == [12]
    assert answer.labels == [0, 1] * 6 + [None] + [0, 1] * 2 + [2, 3] * 8
    (change,) = answer.changes
    assert 17 <= change < 25
    assert sum(answer.by_model) == 32
    assert min(answer.by_model) >= 5, "both models were used"
