"""What becomes of ONNX's own tests: a pinned sample of them here, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from onnx.backend.test.case.test_case import TestCase

from bench.conformance import by_operator, cases, counts, forms, outcome, refusals, rows
from bench.report import Row

# What was wrong or refused once, and one of each kind that is refused.
RIGHT = (
    "argmax_keepdims_random_select_last_index",
    "attention_3d_gqa_with_past_and_present",
    "attention_4d_causal_nonpad_batch_prefill",
    "attention_4d_with_qk_matmul_softmax",
    "attention_bidirectional_window",
    "attention_local_window_ext_cache_float16_mask",
    "attention_local_window_with_past",
    "gru_defaults",
    "averagepool_2d_ceil",
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
    "bitshift_left_uint16",
    "bitshift_right_int8_shift_ge_width",
    "bitwise_and_ui8_bcast_4v3d",
    "cast_FLOAT8E4M3FN_to_FLOAT",
    "cast_FLOAT_to_FLOAT4E2M1",
    "cast_FLOAT_to_FLOAT8E5M2FNUZ",
    "cast_FLOAT_to_INT4",
    "castlike_BFLOAT16_to_FLOAT",
    "constant_pad_axes",
    "convtranspose_dilations",
    "convtranspose_output_shape",
    "cumsum_1d_reverse_exclusive",
    "div_int8",
    "dropout_default_mask",
    "gridsample_bicubic",
    "l2normalization_axis_0",
    "layer_normalization_4d_axis_negative_3",
    "lppool_2d_same_lower",
    "max_float32",
    "maxpool_with_argmax_2d_precomputed_strides",
    "mod_mixed_sign_float32",
    "pow_bcast_array",
    "reduce_l2_default_axes_keepdims_example",
    "resize_downsample_scales_cubic_antialias",
    "resize_downsample_sizes_nearest_not_smaller",
    "resize_tf_crop_and_resize_axes_3_2",
    "resize_upsample_scales_linear_half_pixel_symmetric",
    "reversesequence_batch",
    "rotary_embedding_3d_input",
    "scatter_elements_with_reduction_mul",
    "spacetodepth_crd_mode_example",
    "split_1d_uneven_split_opset18",
    "thresholdedrelu_example",
    "top_k_same_values_2d",
)
OTHERS: Mapping[str, tuple[str, str]] = {
    "batchnorm_example_training_mode": ("refused", "model.unsupported_attribute"),
    "bitshift_left_int32_overflow": ("not quantisable", "model.quantised"),
    "cast_no_saturate_FLOAT_to_FLOAT8E5M2": ("refused", "model.unsupported_attribute"),
    "equal_string": ("nothing to prove", ""),
    "hannwindow": ("nothing to prove", ""),
    "resize_downsample_scales_linear_align_corners": ("refused", "model.unsupported_attribute"),
    "shape": ("nothing to prove", ""),
    "training_dropout_default": ("nothing to prove", ""),
}
# Of those that the installed onnx has.
LEAST_RIGHT = 1000


@pytest.fixture(scope="module")
def known() -> dict[str, TestCase]:
    return {case.name.removeprefix("test_"): case for case in cases()}


def test_a_sample_is_right(known: Mapping[str, TestCase]) -> None:
    found = {name: outcome(known[name]) for name in RIGHT}
    assert {name: each for name, each in found.items() if each.outcome != "right"} == {}


@pytest.mark.parametrize("name", OTHERS)
def test_others_say_why(known: Mapping[str, TestCase], name: str) -> None:
    found = outcome(known[name])
    assert (found.outcome, found.code) == OTHERS[name]
    assert len(found.reason) > 10


def test_forms_differ_in_their_constants(known: Mapping[str, TestCase]) -> None:
    made = forms(known["where_example"])
    assert [[entry.name for entry in each.graph.input] for each in made.values()] == [
        ["condition", "x", "y"],
        ["condition"],
    ] or list(made) == ["all", "first"]


def test_tables_count_what_there_is() -> None:
    def row(name: str, kind: str, outcome: str, reason: str = "") -> Row:
        return Row(name, None, 0.0, more={"operator": kind, "outcome": outcome, "reason": reason})

    refused = "(Pad) must not"
    found = [
        row("a", "Pad", "right"),
        row("b", "Pad", "refused", f"node 'x' {refused}"),
        row("c", "Pad", "refused", f"node 'y' {refused}"),
        row("d", "Add", "wrong", "off"),
    ]
    assert counts(found)["tests"] == 4
    assert [(each.name, each.size, each.more["right"]) for each in by_operator(found)] == [
        ("Add", 1, 0),
        ("Pad", 2 + 1, 1),
    ]
    assert [(each.name, each.size, each.more["reason"]) for each in refusals(found)] == [
        ("Pad", 2, "must not"),
        ("Add", 1, "off"),
    ]


@pytest.mark.large
def test_none_is_wrong(known: Mapping[str, TestCase]) -> None:
    found = list(rows(known.values()))
    assert [row.name for row in found if row.more["outcome"] in ("wrong", "crashed")] == []
    assert counts(found)["right"] >= LEAST_RIGHT
