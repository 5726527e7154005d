"""Attention in one node, as ONNX and onnxruntime have it, and rotary positions: products of matrices, masks
and a softmax. A cache of earlier keys and values is refused: a proof is of one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.node import dims
from circuits.graphs.types import FloatArray
from circuits.onnx.constants import Constant, Element
from circuits.onnx.step import Data, Kept, Operator, Step, Value
from circuits.operators.activation import Activation, number
from circuits.operators.add import add
from circuits.operators.convolution import Conv
from circuits.operators.entry import Entry
from circuits.operators.masks import finite, hide
from circuits.operators.matmul import floats, product, reshaped, shape_of
from circuits.operators.moving import broadcast, rearranged
from circuits.operators.scale import affine_of
from circuits.operators.softmax import softmax
from relations.integers import IntArray

_PAST = "export the model without its cache (use_cache=False)"
_Window = NDArray[np.bool_]


def _attention(step: Step) -> Sequence[Value]:
    """ONNX's: [batch, heads, tokens, size], or [batch, tokens, heads · size] with the heads as attributes."""
    said = step.attributes
    _without(step, {4: _PAST, 5: _PAST})
    parts = [floats(step, position) for position in range(3)]
    joined = len(shape_of(parts[0])) == 3
    if joined:
        heads = said.get("q_num_heads", 0), said.get("kv_num_heads", 0), said.get("kv_num_heads", 0)
        parts = [_split(step, part, count) for part, count in zip(parts, heads, strict=True)]
    query, key, value = parts
    tokens, length = _lengths(step, query, key, value)
    kept, terms = list[Kept](), list[Value]()
    if said.get("is_causal", 0):
        if step.has(6):
            raise step.refuse("unsupported_operator", "is causal over keys of which some are not there")
        kept.append(_causal(tokens, length))
    if step.has(6):
        kept.append(_shorter(step, step.value(6), length))
    if step.has(3) and step.value(3).kind == Element.BOOL:
        kept.append(_kept(step.value(3)))
    elif step.has(3):
        terms.append(floats(replace(step, inputs=[finite(step.value(3))]), 0))
    scale = said.get("scale") or 1 / math.sqrt(shape_of(query)[-1])
    made = _attended(step, query, key, value, scale, kept, terms, said.get("softcap", 0.0))
    return [_merged(step, made) if joined else made, key, value]


def _packed_attention(step: Step) -> Value:
    """onnxruntime's own: one matrix of weights makes queries, keys and values."""
    said = step.attributes
    _without(step, {4: _PAST, 6: _PAST})
    if said.get("do_rotary", 0):
        raise step.refuse("unsupported_attribute", "turns by positions; use RotaryEmbedding")
    made = product(step, floats(step, 0), floats(step, 1))
    if step.has(2):
        made = add(replace(step, inputs=[made, step.value(2)]))
    width = shape_of(made)[-1]
    sizes = said.get("qkv_hidden_sizes") or [width // 3] * 3
    if sum(sizes) != width or len(sizes) != 3:
        raise step.refuse("shape", f"makes queries, keys and values of {sizes} from {width}")
    return _of_parts(step, _cut(step, made, sizes), mask=3, bias=5)


def _multi_head(step: Step) -> Value:
    _without(step, dict.fromkeys((6, 7, 8, 9), _PAST))
    query = floats(step, 0)
    if not step.has(1) or not step.has(2):
        raise step.refuse("unsupported_operator", "has queries, keys and values in one tensor; split them")
    parts = [query, floats(step, 1), floats(step, 2)]
    if step.has(3):
        biases = _cut(step, step.weights(3), [shape_of(part)[-1] for part in parts])
        parts = [add(replace(step, inputs=[*pair])) for pair in zip(parts, biases, strict=True)]
    return _of_parts(step, parts, mask=4, bias=5)


def _of_parts(step: Step, parts: Sequence[Value], *, mask: int, bias: int) -> Value:
    """Of [batch, tokens, heads · size] each, as many heads of all. ``mask``, ``bias``: inputs."""
    said = step.attributes
    query, key, value = (_split(step, part, said.get("num_heads", 0)) for part in parts)
    tokens, length = _lengths(step, query, key, value)
    kept: list[Kept] = [_causal(tokens, length)] if said.get("unidirectional", 0) else []
    if step.has(mask):
        kept.append(_of_index(step, step.value(mask), length))
    terms = [floats(step, bias)] if step.has(bias) else []
    scale = said.get("scale") or 1 / math.sqrt(shape_of(query)[-1])
    return _merged(step, _attended(step, query, key, value, scale, kept, terms, 0.0))


def _grouped(step: Step) -> Sequence[Value]:
    """Queries of several heads share a head of keys and values."""
    said = step.attributes
    _without(step, {3: _PAST, 4: _PAST, **dict.fromkeys(range(11, 17), "leave it out")})
    if said.get("smooth_softmax", 0) > 0:
        raise step.refuse("unsupported_attribute", "has smooth_softmax=1")
    heads, groups = said.get("num_heads", 0), said.get("kv_num_heads", 0)
    parts = [floats(step, 0)]
    if step.has(1) and step.has(2):
        parts += [floats(step, 1), floats(step, 2)]
    else:
        size = shape_of(parts[0])[-1] // max(1, heads + 2 * groups)
        parts = _cut(step, parts[0], [heads * size, groups * size, groups * size])
    counts = (heads, groups, groups)
    query, key, value = (_split(step, part, count) for part, count in zip(parts, counts, strict=True))
    tokens, length = _lengths(step, query, key, value)
    if said.get("do_rotary", 0):
        positions = step.value(9) if step.has(9) else None
        turns = _turns(step, step.weights(7), step.weights(8), positions, shape_of(query)[0], tokens)
        interleaved = bool(said.get("rotary_interleaved", 0))
        query, key = (_rotated(step, each, *turns, interleaved=interleaved) for each in (query, key))
    kept: list[Kept] = [_causal(tokens, length)] if said.get("causal", 1) else []
    window = said.get("local_window_size", -1)
    if window > 0:
        kept.append(~np.tri(tokens, length, -window, dtype=np.bool_))
    if step.has(5):
        kept.append(_shorter(step, step.value(5), length, more=1))
    terms = [floats(step, 10)] if step.has(10) else []
    scale = said.get("scale") or 1 / math.sqrt(shape_of(query)[-1])
    made = _attended(step, query, key, value, scale, kept, terms, said.get("softcap", 0.0))
    return [_merged(step, made), key, value]


def _attended(
    step: Step,
    query: Value,
    key: Value,
    value: Value,
    scale: float,
    kept: Sequence[Kept],
    terms: Sequence[Value],
    cap: float,
) -> Value:
    """[batch, heads, tokens, size] of all three, fewer heads of keys and values for several of the queries'.
    ``terms`` are added to scores, ``kept`` says where these count."""
    repeats = shape_of(query)[1] // shape_of(key)[1]
    if repeats > 1:
        key, value = (
            _moved(step, each, lambda places: places.repeat(repeats, axis=1)) for each in (key, value)
        )
    turned = _moved(step, key, lambda places: places.swapaxes(-1, -2))
    made = product(step, query, turned)
    if isinstance(made, Constant):
        raise step.refuse("unsupported_operator", "compares constants; have the exporter fold them")
    scores = affine_of(step, made, scale, 0.0)
    if cap:
        limit = number(step, cap)
        scores = replace(
            scores, tensor=step.emit(Activation, (scores.tensor,), f"{limit} * tanh(x / {limit})")
        )
    for term in terms:
        total = add(replace(step, inputs=[scores, term]))
        assert isinstance(total, Data)  # noqa: S101  one of two terms is computed
        scores = total
    hide(step, scores, _some(step, kept))
    return product(step, softmax(step, scores, [3]), value)


def _some(step: Step, kept: Sequence[Kept]) -> Sequence[Kept]:
    """What is kept, unless constants keep nothing of a query: runtimes differ in what that means."""
    constants = [each for each in kept if not isinstance(each, Data)]
    if constants and not reduce(np.logical_and, constants).any(axis=-1).all():
        raise step.refuse("unsupported_attribute", "has a mask that leaves a query no key")
    return kept


def _lengths(step: Step, query: Value, key: Value, value: Value) -> tuple[int, int]:
    """How many queries and keys there are."""
    q, k, v = (shape_of(each) for each in (query, key, value))
    fits = len(q) == len(k) == len(v) == 4 and q[0] == k[0] == v[0] and k[1:3] == v[1:3] and q[3] == k[3]
    if not fits or q[1] % k[1]:
        raise step.refuse("shape", f"attends from [{dims(q)}] to [{dims(k)}] and [{dims(v)}]")
    return q[2], k[2]


def _causal(tokens: int, length: int) -> _Window:
    """A token sees none that come after it."""
    return np.tri(tokens, length, dtype=np.bool_)


def _kept(value: Value) -> Kept:
    return value if isinstance(value, Data) else value.array != 0


def _of_index(step: Step, value: Value, length: int) -> Kept:
    """How many keys there are, or for each whether it counts."""
    whole = shape_of(value)
    if whole == (1,):
        return _shorter(step, value, length)
    if len(whole) not in (2, 3) or whole[0] != 1 or whole[-1] != length:
        raise step.refuse("shape", f"has a mask of shape [{dims(whole)}] for {length} keys")
    shaped = reshaped(step, value, (1, 1, *(whole[1:] if len(whole) == 3 else (1, length))))
    if isinstance(shaped, Constant):
        return shaped.array > 0
    return replace(shaped, tensor=step.emit(Activation, (shaped.tensor,), "less(0.5, x)"))


def _shorter(step: Step, value: Value, length: int, *, more: int = 0) -> Kept:
    """The first keys, as many as ``value`` says and ``more``."""
    if shape_of(value) not in ((1,), (1, 1)):
        raise step.refuse("shape", f"has lengths of shape [{dims(shape_of(value))}]; a batch is one sample")
    places = np.arange(length)
    if isinstance(value, Constant):
        return places < int(value.array.item()) + more
    vector = broadcast(step, replace(value, shape=(1,)), (length,))
    left = affine_of(step, vector, 1.0, more - places.astype(np.float64))
    return replace(left, tensor=step.emit(Activation, (left.tensor,), "less(0.5, x)"))


def _rotary(step: Step) -> Value:
    """ONNX's: positions are those of the caches, or places in these."""
    cos, sin = step.weights(1), step.weights(2)
    positions = step.value(3) if step.has(3) else None
    return _turned_whole(step, cos, sin, positions)


def _rotary_of_places(step: Step) -> Value:
    """onnxruntime's: one position is that of the first token."""
    if step.attributes.get("is_packed_batching", 0) or step.attributes.get("scale", 1.0) != 1:
        raise step.refuse("unsupported_attribute", "packs a batch, or scales")
    return _turned_whole(step, step.weights(2), step.weights(3), step.value(1))


def _turned_whole(step: Step, cos: Constant, sin: Constant, positions: Value | None) -> Value:
    said, x = step.attributes, floats(step, 0)
    joined = len(shape_of(x)) == 3
    size = said.get("rotary_embedding_dim", 0) or 2 * shape_of(cos)[-1]
    heads = said.get("num_heads", 0) or (shape_of(x)[-1] // size if joined else 0)
    split = _split(step, x, heads) if joined else x
    if len(shape_of(split)) != 4:
        raise step.refuse("shape", f"turns a tensor of shape [{dims(shape_of(x))}]")
    batch, _, tokens, _ = shape_of(split)
    turns = _turns(step, cos, sin, positions, batch, tokens)
    made = _rotated(step, split, *turns, interleaved=bool(said.get("interleaved", 0)))
    return _merged(step, made) if joined else made


def _turns(
    step: Step, cos: Constant, sin: Constant, positions: Value | None, batch: int, tokens: int
) -> tuple[FloatArray, FloatArray]:
    """Of each token of each sample, [batch, tokens, size / 2]. ``positions``: places in the caches of all
    tokens, of those of each sample, or of the first one."""
    tables = [each.array.reshape(-1, each.array.shape[-1] if each.array.ndim else 1) for each in (cos, sin)]
    if isinstance(positions, Data):
        raise step.refuse(
            "unsupported_operator", "has computed positions; they must be constants in the file"
        )
    if positions is not None and positions.array.size > 1:
        given = positions.array
    elif positions is not None or cos.array.ndim < 3:
        given = np.arange(tokens) + (0 if positions is None else positions.array.ravel())
    else:
        given = np.arange(len(tables[0]))
    if given.size not in (tokens, batch * tokens):
        raise step.refuse("shape", f"has {given.size} positions for {batch} samples of {tokens} tokens")
    places = np.broadcast_to(given.reshape(-1, tokens), (batch, tokens))
    if (
        tables[0].shape != tables[1].shape
        or not places.size
        or not 0 <= places.min() <= places.max() < len(tables[0])
    ):
        raise step.refuse("shape", f"takes {tokens} positions of {len(tables[0])}")
    return tables[0][places], tables[1][places]


def _rotated(step: Step, x: Value, cos: FloatArray, sin: FloatArray, *, interleaved: bool) -> Value:
    """Pairs of entries, turned: each pair is a group of a convolution, whose other axis are the heads."""
    batch, heads, tokens, size = shape_of(x)
    half = cos.shape[-1]
    if isinstance(x, Constant) or 2 * half > size:
        raise step.refuse("shape", f"turns {2 * half} of {size} entries")
    pairs = np.arange(2 * half).reshape(half, 2) if interleaved else np.arange(2 * half).reshape(2, half).T
    order = np.concatenate([pairs.ravel(), np.arange(2 * half, size)])
    count = batch * tokens * half

    def paired(places: IntArray) -> IntArray:
        return places[..., pairs].transpose(0, 2, 3, 4, 1).reshape(1, 2 * count, heads, 1)

    kernel = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2).reshape(2 * count, 2, 1, 1)
    image = _moved(step, x, paired)
    assert isinstance(image, Data)  # noqa: S101  what is moved is computed
    turned = Data(step.emit(Conv, (image.tensor,), kernel, np.zeros(2 * count), groups=count))
    rest = _moved(step, x, lambda places: places[..., 2 * half :]) if size > 2 * half else None

    def back(places: IntArray, others: IntArray | None = None) -> IntArray:
        made = places.reshape(batch, tokens, 2 * half, heads).transpose(0, 3, 1, 2)
        made = made if others is None else np.concatenate([made, others], -1)
        return made[..., np.argsort(order)]

    both: list[Value] = [replace(turned, shape=(1, 2 * count, heads, 1)), *([rest] if rest else [])]
    return rearranged(replace(step, inputs=both), back, *range(len(both)))


def _split(step: Step, value: Value, heads: int) -> Value:
    """[batch, tokens, heads · size] as [batch, heads, tokens, size]."""
    whole = shape_of(value)
    if len(whole) != 3 or heads < 1 or whole[-1] % heads:
        raise step.refuse("shape", f"splits shape [{dims(whole)}] into {heads} heads")
    split = (*whole[:2], heads, whole[2] // heads)
    return _moved(step, value, lambda places: places.reshape(split).swapaxes(1, 2))


def _merged(step: Step, value: Value) -> Value:
    batch, heads, tokens, size = shape_of(value)
    return _moved(step, value, lambda places: places.swapaxes(1, 2).reshape(batch, tokens, heads * size))


def _cut(step: Step, value: Value, sizes: Sequence[int]) -> list[Value]:
    """Parts of these sizes of the last axis."""
    if sum(sizes) != shape_of(value)[-1] or min(sizes) < 1:
        raise step.refuse("shape", f"cuts {shape_of(value)[-1]} entries into {[*sizes]}")
    ends = np.cumsum(sizes).tolist()

    def part(end: int, size: int, places: IntArray) -> IntArray:
        return places[..., end - size : end]

    return [_moved(step, value, partial(part, end, size)) for end, size in zip(ends, sizes, strict=True)]


def _moved(step: Step, value: Value, places: Callable[[IntArray], IntArray]) -> Value:
    return rearranged(replace(step, inputs=[value]), places, 0)


def _without(step: Step, refused: dict[int, str]) -> None:
    """Inputs that are not supported, and what to do instead."""
    for position, remedy in refused.items():
        if step.has(position):
            raise step.refuse("unsupported_operator", f"has input {position}; {remedy}")


_MASKED = {"mask_filter_value": "f", "num_heads": "i", "scale": "f", "unidirectional": "i"}
_ROTARY = {"interleaved": "i", "num_heads": "i", "rotary_embedding_dim": "i"}
_ONNX = {
    **dict.fromkeys(
        ("is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode", "softmax_precision"), "i"
    ),
    **{"scale": "f", "softcap": "f"},
}
_GROUPED = {
    **dict.fromkeys(("causal", "do_rotary", "kv_num_heads", "local_window_size", "num_heads"), "i"),
    **{"rotary_interleaved": "i", "scale": "f", "smooth_softmax": "i", "softcap": "f"},
}
_PACKED = {
    **_MASKED,
    **{"do_rotary": "i", "past_present_share_buffer": "i", "qkv_hidden_sizes": "ints"},
    "rotary_embedding_dim": "i",
}

ENTRY = Entry(
    onnx={
        "Attention": Operator(_attention, _ONNX, 3, 7),
        "RotaryEmbedding": Operator(_rotary, _ROTARY, 3, 4),
    },
    microsoft={
        "Attention": Operator(_packed_attention, _PACKED, 2, 7),
        "GroupQueryAttention": Operator(_grouped, _GROUPED, 1, 17),
        "MultiHeadAttention": Operator(_multi_head, _MASKED, 1, 10),
        "RotaryEmbedding": Operator(
            _rotary_of_places, {**_ROTARY, "is_packed_batching": "i", "scale": "f"}, 4, 4
        ),
    },
)
