"""Attention in one node, as ONNX and onnxruntime have it, and rotary positions: products of matrices, masks
and a softmax. ONNX's earlier keys and values are inputs, and those there are then outputs; onnxruntime's,
which share a buffer, are refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Kept, Operator, Step, Value
from zenserve.circuits.operators.activation import Activation, number
from zenserve.circuits.operators.add import add, subtract
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.masks import finite, hide
from zenserve.circuits.operators.matmul import floats, product, reshaped, shape_of
from zenserve.circuits.operators.moving import broadcast, rearranged
from zenserve.circuits.operators.multiply import multiply
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.scatter import mixed
from zenserve.circuits.operators.selection import selected
from zenserve.circuits.operators.softmax import softmax
from zenserve.relations.integers import IntArray

_PAST = "export the model without its cache (use_cache=False)"
_Window = NDArray[np.bool_]


def _attention(step: Step) -> Sequence[Value]:
    """ONNX's: [batch, heads, tokens, size], or [batch, tokens, heads · size] with the heads as attributes."""
    said = step.attributes
    parts = [floats(step, position) for position in range(3)]
    joined = len(shape_of(parts[0])) == 3
    if joined:
        heads = said.get("q_num_heads", 0), said.get("kv_num_heads", 0), said.get("kv_num_heads", 0)
        parts = [_split(step, part, count) for part, count in zip(parts, heads, strict=True)]
    query, key, value = parts[0], _after(step, 4, parts[1]), _after(step, 5, parts[2])
    tokens, length = _lengths(step, query, key, value)
    kept, terms = _seen(step, tokens, length, shape_of(key)[2] - shape_of(parts[1])[2]), list[Value]()
    if step.has(3):
        mask = floats(replace(step, inputs=[finite(step.value(3))]), 0)
        mask, given = _widened(step, mask, length)
        kept += given
        if step.value(3).kind == Element.BOOL:
            kept.append(_kept(mask))
        else:
            terms.append(mask)
    scale = said.get("scale") or 1 / math.sqrt(shape_of(query)[-1])
    made = _attended(step, query, key, value, scale, kept, terms, said.get("softcap", 0.0), zeros=True)
    mode = said.get("qk_matmul_output_mode", 0)
    if any(step.node.output[3:]) and (mode not in range(4) or (mode == 2 and kept)):
        raise step.refuse(
            "unsupported_attribute",
            f"shows scores that a mask makes infinite (qk_matmul_output_mode={mode}); use 0, 1 or 3",
        )
    made_whole = _merged(step, made.values) if joined else made.values
    return [made_whole, key, value, made.stages[mode]]


def _after(step: Step, position: int, value: Value) -> Value:
    """Keys or values behind earlier ones, if there are any."""
    if not step.has(position):
        return value
    both = replace(step, inputs=[floats(step, position), value])
    before, after = both.whole(0), both.whole(1)
    if len(before) != 4 or len(after) != 4 or before[:2] != after[:2] or before[3] != after[3]:
        raise step.refuse("shape", f"puts [{dims(after)}] behind [{dims(before)}]")
    return mixed(both, lambda one, other: np.concatenate([one, other], 2), 0, 1)


def _widened(step: Step, mask: Value, length: int) -> tuple[Value, list[Kept]]:
    """A mask of the first keys alone, for all: those behind do not count."""
    short = length - shape_of(mask)[-1]
    if short <= 0 or shape_of(mask)[-1] == 1:
        return mask, []
    around = [*((0, 0) for _ in shape_of(mask)[1:]), (0, short)]
    wide = _moved(step, mask, lambda places: np.pad(places, around, constant_values=-1))
    return wide, [np.arange(length) < length - short]


def _seen(step: Step, tokens: int, length: int, past: int) -> list[Kept]:
    """Return the masks of keys that each query may see, one for each restriction: as many keys as there are,
    none after the query, or those in a window."""
    said, (query, key) = step.attributes, np.ogrid[:tokens, :length]
    last: Value = step.value(6) if step.has(6) else Constant(np.array([past + tokens]), Element.INT64)
    left, right = (said.get(f"{side}_window_size", -1) for side in ("left", "right"))
    # How far a key is behind the last that a query sees, if the last key is that of the last query.
    behind = tokens - 1 - query + key
    bounds = [
        (step.has(6), 1, -key),
        (bool(said.get("is_causal", 0)), 1, -behind),
        (left >= 0, -1, behind + 2 + left),
        (right >= 0, 1, right - behind),
    ]
    return [_bounded(step, last, sign, rest) for wanted, sign, rest in bounds if wanted]


def _bounded(step: Step, count: Value, sign: int, rest: IntArray) -> Kept:
    """Return whether ``count``, one of each sample, times ``sign`` and plus ``rest`` [queries, keys] is above
    0."""
    whole = shape_of(count)
    samples = math.prod(whole)
    if whole not in ((samples,), (samples, 1)):
        raise step.refuse("shape", f"has lengths of shape [{dims(whole)}]; it takes one of each sample")
    if isinstance(count, Constant):
        kept: NDArray[np.bool_] = sign * count.array.reshape(-1, 1, 1, 1) + rest > 0
        return kept
    column = shaped(step, count, (samples, 1, 1, 1))
    shape = (samples, 1, *np.broadcast_shapes(rest.shape))
    left = affine_of(step, broadcast(step, column, shape), float(sign), rest.astype(np.float64))
    return replace(left, tensor=step.emit(Activation, (left.tensor,), "less(0.5, x)"))


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
    return _merged(step, _attended(step, query, key, value, scale, kept, terms, 0.0).values)


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
        interleaved = bool(said.get("rotary_interleaved", 0))
        query, key = (
            _rotated(step, each, *_turns(step, 7, 8, 9, each), interleaved=interleaved)
            for each in (query, key)
        )
    kept: list[Kept] = [_causal(tokens, length)] if said.get("causal", 1) else []
    window = said.get("local_window_size", -1)
    if window > 0:
        kept.append(~np.tri(tokens, length, -window, dtype=np.bool_))
    if step.has(5):
        kept.append(_shorter(step, step.value(5), length, more=1))
    terms = [floats(step, 10)] if step.has(10) else []
    scale = said.get("scale") or 1 / math.sqrt(shape_of(query)[-1])
    made = _attended(step, query, key, value, scale, kept, terms, said.get("softcap", 0.0))
    return [_merged(step, made.values), key, value]


class _Attended(NamedTuple):
    """The values of queries, and the scores in four stages: raw, capped, with the added terms, and as
    shares."""

    values: Value
    stages: tuple[Value, Value, Value, Value]


def _attended(
    step: Step,
    query: Value,
    key: Value,
    value: Value,
    scale: float,
    kept: Sequence[Kept],
    terms: Sequence[Value],
    cap: float,
    *,
    zeros: bool = False,
) -> _Attended:
    """[batch, heads, tokens, size] of all three, fewer heads of keys and values for several of the queries'.
    ``terms`` are added to scores, ``kept`` says where these count. ``zeros``: what a query gets of which
    constants keep no key; else that is refused."""
    repeats = shape_of(query)[1] // shape_of(key)[1]
    if repeats > 1:
        key, value = (
            _moved(step, each, lambda places: places.repeat(repeats, axis=1)) for each in (key, value)
        )
    turned = _moved(step, key, lambda places: places.swapaxes(-1, -2))
    made = product(step, query, turned)
    if isinstance(made, Constant):
        raise step.refuse("unsupported_operator", "compares constants; have the exporter fold them")
    raw = capped = affine_of(step, made, scale, 0.0)
    if cap:
        limit = number(step, cap)
        capped = replace(raw, tensor=step.emit(Activation, (raw.tensor,), f"{limit} * tanh(x / {limit})"))
    scores = capped
    for term in terms:
        total = add(replace(step, inputs=[scores, term]))
        assert isinstance(total, Data)  # noqa: S101  one of two terms is computed
        scores = total
    kept, empty = _some(kept, scores.shape or ())
    if empty.any() and not zeros:
        raise step.refuse("unsupported_attribute", "has a mask that leaves a query no key")
    hide(step, scores, kept)
    shares: Value = softmax(step, scores, [3])
    if empty.any():
        shares = _moved(step, shares, lambda places: np.where(empty[..., np.newaxis], -1, places))
    return _Attended(product(step, shares, value), (raw, capped, scores, shares))


def _some(kept: Sequence[Kept], shape: Shape) -> tuple[list[Kept], NDArray[np.bool_]]:
    """Return the masks of scores of this shape, and the queries for which constant masks keep no key. The
    masks that are returned keep all keys of these queries."""
    constants = [each for each in kept if not isinstance(each, Data)]
    if not constants:
        return [*kept], np.zeros(shape[:-1], np.bool_)
    both = np.broadcast_to(reduce(np.logical_and, constants), shape)
    empty: NDArray[np.bool_] = ~np.any(both, axis=-1)
    return [both | empty[..., np.newaxis], *(each for each in kept if isinstance(each, Data))], empty


def _lengths(step: Step, query: Value, key: Value, value: Value) -> tuple[int, int]:
    """Return the number of queries and of keys. Raises ``ModelError`` where the shapes do not fit."""
    q, k, v = (shape_of(each) for each in (query, key, value))
    fits = len(q) == len(k) == len(v) == 4 and q[0] == k[0] == v[0] and k[1:3] == v[1:3] and q[3] == k[3]
    if not fits or q[1] % k[1]:
        raise step.refuse("shape", f"attends from [{dims(q)}] to [{dims(k)}] and [{dims(v)}]")
    step.spend(q[2] * k[2])
    return q[2], k[2]


def _causal(tokens: int, length: int) -> _Window:
    """A token sees none that come after it."""
    return np.tri(tokens, length, dtype=np.bool_)


def _kept(value: Value) -> Kept:
    return value if isinstance(value, Data) else value.array != 0


def _of_index(step: Step, value: Value, length: int) -> Kept:
    """Return the mask of keys from ``value``: a number of keys, or for each key whether it counts."""
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
    return _turned_whole(step, 1, 2, 3)


def _rotary_of_places(step: Step) -> Value:
    """onnxruntime's: one position is that of the first token."""
    if step.attributes.get("is_packed_batching", 0) or step.attributes.get("scale", 1.0) != 1:
        raise step.refuse("unsupported_attribute", "packs a batch, or scales")
    return _turned_whole(step, 2, 3, 1)


def _turned_whole(step: Step, cos: int, sin: int, positions: int) -> Value:
    said, x = step.attributes, floats(step, 0)
    joined = len(shape_of(x)) == 3
    size = said.get("rotary_embedding_dim", 0) or 2 * step.whole(cos)[-1]
    heads = said.get("num_heads", 0) or (shape_of(x)[-1] // size if joined else 0)
    split = _split(step, x, heads) if joined else x
    if len(shape_of(split)) != 4:
        raise step.refuse("shape", f"turns a tensor of shape [{dims(shape_of(x))}]")
    turns = _turns(step, cos, sin, positions, split)
    made = _rotated(step, split, *turns, interleaved=bool(said.get("interleaved", 0)))
    return _merged(step, made) if joined else made


def _turns(step: Step, cos: int, sin: int, positions: int, x: Value) -> list[Value]:
    """The cosines and sines of each token, [samples, tokens, size / 2]: the inputs' entries in their places,
    or in those that ``positions`` says, which may be the first token's alone."""
    samples, _, tokens, _ = shape_of(x)
    tables = [floats(step, at) for at in (cos, sin)]
    *ahead, half = shape_of(tables[0])
    if shape_of(tables[0]) != shape_of(tables[1]) or len(ahead) > 2:
        raise step.refuse("shape", f"takes {tokens} positions of [{dims(shape_of(tables[0]))}]")
    if len(ahead) == 2 and not step.has(positions):
        return [_spread(step, table, (samples, tokens, half)) for table in tables]
    tables = [reshaped(step, table, (math.prod(ahead), half)) for table in tables]
    places = _places(step, positions, samples, tokens)
    if isinstance(places, Constant) and not 0 <= places.array.min() <= places.array.max() < math.prod(ahead):
        raise step.refuse("shape", f"takes {tokens} positions of {math.prod(ahead)}")
    return [selected(replace(step, inputs=[table, places], attributes={})) for table in tables]


def _places(step: Step, position: int, samples: int, tokens: int) -> Value:
    """A place for each token, [samples, tokens]."""
    first: Value = Constant(np.zeros(1, np.int64), Element.INT64)
    given = step.value(position) if step.has(position) else first
    count = math.prod(shape_of(given))
    if count in (tokens, samples * tokens) and count > 1:
        return _spread(step, reshaped(step, given, (count // tokens, tokens)), (samples, tokens))
    if count != 1:
        raise step.refuse("shape", f"has {count} positions for {samples} samples of {tokens} tokens")
    one = _spread(step, reshaped(step, given, (1, 1)), (samples, tokens))
    steps = Constant(np.arange(tokens), Element.INT64)
    return add(replace(step, inputs=[one, steps])) if tokens > 1 else one


def _spread(step: Step, value: Value, shape: Shape) -> Value:
    try:
        return _moved(step, value, lambda places: np.broadcast_to(places, shape))
    except ValueError:
        said = f"turns [{dims(shape)}] by [{dims(shape_of(value))}]"
        raise step.refuse("shape", said) from None


def _rotated(step: Step, x: Value, cos: Value, sin: Value, *, interleaved: bool) -> Value:
    """Pairs of entries, turned."""
    size, half = shape_of(x)[-1], shape_of(cos)[-1]
    if 2 * half > size:
        raise step.refuse("shape", f"turns {2 * half} of {size} entries")
    pairs = np.arange(2 * half).reshape(half, 2) if interleaved else np.arange(2 * half).reshape(2, half).T
    if isinstance(x, Data) and isinstance(cos, Constant) and isinstance(sin, Constant):
        turned = _turned_by_constants(step, x, cos.array, sin.array, pairs)
    else:
        turned = _turned_by_tensors(step, x, cos, sin, pairs)
    order = np.concatenate([pairs.ravel(), np.arange(2 * half, size)])
    rest = [_moved(step, x, lambda places: places[..., 2 * half :])] if size > 2 * half else []

    def back(*places: IntArray) -> IntArray:
        return np.concatenate(places, -1)[..., np.argsort(order)]

    return rearranged(replace(step, inputs=[turned, *rest]), back, *range(1 + len(rest)))


def _turned_by_constants(step: Step, x: Data, cos: FloatArray, sin: FloatArray, pairs: IntArray) -> Value:
    """Each pair is a group of a convolution, whose other axis are the heads."""
    samples, heads, tokens, _ = shape_of(x)
    count, width = cos.size, 2 * len(pairs)

    def paired(places: IntArray) -> IntArray:
        return places[..., pairs].transpose(0, 2, 3, 4, 1).reshape(1, 2 * count, heads, 1)

    kernel = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2).reshape(2 * count, 2, 1, 1)
    image = _moved(step, x, paired)
    assert isinstance(image, Data)  # noqa: S101  what is moved is computed
    made = Data(step.emit(Conv, (image.tensor,), kernel, np.zeros(2 * count), groups=count))
    turned = replace(made, shape=(1, 2 * count, heads, 1))
    return _moved(
        step, turned, lambda places: places.reshape(samples, tokens, width, heads).transpose(0, 3, 1, 2)
    )


def _turned_by_tensors(step: Step, x: Value, cos: Value, sin: Value, pairs: IntArray) -> Value:
    """By four products."""
    first, second = (_moved(step, x, partial(np.take, indices=pairs[:, at], axis=-1)) for at in (0, 1))
    cos, sin = (_moved(step, each, lambda places: places[:, np.newaxis]) for each in (cos, sin))

    def times(one: Value, other: Value) -> Value:
        return multiply(replace(step, inputs=[one, other]))

    both: list[Value] = [
        subtract(replace(step, inputs=[times(first, cos), times(second, sin)])),
        add(replace(step, inputs=[times(first, sin), times(second, cos)])),
    ]

    def side_by_side(one: IntArray, other: IntArray) -> IntArray:
        return np.stack([one, other], -1).reshape(*one.shape[:-1], -1)

    return rearranged(replace(step, inputs=both), side_by_side, 0, 1)


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
    **{"left_window_size": "i", "right_window_size": "i", "scale": "f", "softcap": "f"},
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
