"""Every source compiles for the card, on machines that have none: NVIDIA's compiler comes from PyPI."""

from __future__ import annotations

import struct
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.gpu.test_fused import mixed
from zenserve import gpu

ARCHITECTURE = "sm_90a"


@pytest.fixture(scope="module")
def modules() -> ModuleType:
    """``zenserve.gpu.modules`` itself, whatever stands in its place for other tests."""
    pytest.importorskip("cupy", reason="pip install '.[gpu]'")
    spec = spec_from_file_location("real_modules", Path(gpu.__file__).with_name("modules.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_errors_show_their_line(modules: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.cu").write_text("// one\nint two = three;\n")
    monkeypatch.setattr(modules, "SOURCES", tmp_path)
    with pytest.raises(modules.CompileError, match="three") as refusal:
        modules.compile_source("wrong", ARCHITECTURE)
    assert "wrong.cu(2)" in refusal.value.message
    assert "> int two = three;" in refusal.value.message
    assert refusal.value.code == "gpu.compile"


def test_machine_code_is_kept_until_a_source_changes(
    modules: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(modules, "SOURCES", sources)
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path / "cache"))
    source = sources / "small.cu"
    source.write_text('extern "C" __global__ void nothing() {}')
    first = modules.machine_code("small", ARCHITECTURE)
    written = first.stat().st_mtime_ns
    assert first.read_bytes()[:4] == b"\x7fELF"
    assert modules.machine_code("small", ARCHITECTURE) == first
    assert first.stat().st_mtime_ns == written
    assert modules.machine_code("small", ARCHITECTURE, "OTHER") != first
    (sources / "shared.hpp").write_text("")
    assert modules.machine_code("small", ARCHITECTURE) != first


def test_an_empty_setting_is_no_setting(
    modules: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_CACHE", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert modules._cache_directory() == tmp_path / ".cache" / "zenserve"


def every_source() -> list[tuple[str, ...]]:
    """All sources, with what each is compiled with."""
    from zenserve.gpu import convolutions, msm, negacyclic, ntt, planes, points, wide

    called = "ZEN_CALL_PRODUCTS"
    return [
        *msm.sources(),
        *map(points.source, ("Fp", "Fp2")),
        ntt.source(),
        *(negacyclic.source(11, bits) for bits in (32, 64)),
        ("hashing",),
        ("rows",),
        ("sumcheck",),
        ("planes",),
        *(planes.Plan("large", bits, 1, 1).source for bits in (True, False)),
        planes.Plan("direct", True, 1, 1).source,
        ("convolutions",),
        convolutions.source(
            convolutions.Plan(32, 2, 2),
            convolutions.Sizes(convolutions.Cells(3, 3, 2, 64, 4), 1, 64, 4, 1),
            3,
        ),
        ("layers",),
        *(
            ("layers", f"ZEN_PIECE={piece}", f"ZEN_TILES={tiles}")
            for piece, tiles in ((16, 8), (4, 4), (1, 1))
        ),
        ("wide",),
        wide.Plan("direct", 4, 4).source,
        wide.Plan("large", 4, 4, groups=3).source,
        *(("wide", *defines) for defines in (["ZEN_ELEMENTS=1"], ["ZEN_HALVES", "ZEN_GROUPS=3"])),
        *(("elementwise", f"ZEN_ELEMENT={name}", called) for name in ("Fr", "Fp", "Fp2")),
        *(("group", f"ZEN_FIELD={name}", called) for name in ("Fp", "Fp2")),
        ("ceilings", called),
        *(("integers",), ("intervals",), ("scalars",), ("scan",), ("sparse",)),
    ]


def test_no_source_is_left_out() -> None:
    names = {path.stem for path in (Path(gpu.__file__).parent / "source").glob("*.cu")}
    assert {name for name, *_ in every_source()} == names


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=" ".join(source), marks=() if place % 6 == 0 else pytest.mark.large)
        for place, source in enumerate(every_source())
    ],
)
def test_every_source_compiles_for_the_card(
    modules: ModuleType, source: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimisation, which takes most of the time and refuses nothing."""
    monkeypatch.setattr(modules, "_OPTIONS", (*modules._OPTIONS, "--Ofast-compile=max"))
    name, *defines = source
    assert modules.compile_source(name, ARCHITECTURE, *defines)[:4] == b"\x7fELF"


def test_what_is_written_down_compiles_for_the_card(
    modules: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zenserve.gpu.fused import _OPERATIONS, _source

    monkeypatch.setattr(modules, "_OPTIONS", (*modules._OPTIONS, "--Ofast-compile=max"))
    text, _, count = _source(mixed, (2.5,), (False, False, True), 2)
    assert count == 5
    made = [each.text.replace("{0}", "{}").split("{}") for each in _OPERATIONS.values()]
    assert all(max(parts, key=len).strip() in text for parts in made)
    assert modules._compiled(text, "made.cu", ARCHITECTURE, "-fmad=false")[:4] == b"\x7fELF"


@pytest.mark.large
@pytest.mark.parametrize(
    ("bits", "planes", "of_warps", "of_groups"), [(True, 2, 0x23D, 0x9F2), (False, 1, 0x237, 0x9F1)]
)
def test_products_are_made_by_tensor_cores(
    modules: ModuleType, bits: bool, planes: int, of_warps: int, of_groups: int
) -> None:
    """BMMA and BGMMA, IMMA and IGMMA, as nvdisasm calls them: others are emulated."""
    from zenserve.gpu.planes import Plan

    direct, large = (
        modules.compile_source(name, ARCHITECTURE, *defines)
        for name, *defines in (Plan(kernel, bits, planes, planes).source for kernel in ("direct", "large"))
    )
    assert opcodes(direct, "direct")[of_warps] >= 2 * planes**2
    assert opcodes(large, "large")[of_groups] == 4


@pytest.mark.large
def test_convolutions_are_made_by_tensor_cores(modules: ModuleType) -> None:
    """BGMMA for each plane, and IGMMA of bytes."""
    from zenserve.gpu.convolutions import Cells, Plan, Sizes, source

    def found(code: int, columns: int, planes: int, channels: int, bits: int) -> int:
        sizes = Sizes(Cells(3, 3, 1, channels, bits), 1, 64, planes, 1)
        name, *defines = source(Plan(columns, 2), sizes, 2)
        return opcodes(modules.compile_source(name, ARCHITECTURE, *defines), "convolve")[code]

    assert found(0x9F2, 128, 2, 256, 2) >= 2
    assert found(0x9F2, 64, 4, 64, 4) >= 4 * 2
    assert found(0x9F1, 128, 1, 3, 8) >= 1


@pytest.mark.large
def test_wide_products_are_made_by_tensor_cores(modules: ModuleType) -> None:
    """IMMA and IGMMA of bytes with signs, HGMMA of halves: one for each pair of planes."""
    from zenserve.gpu.wide import Plan

    def found(kernel: str, source: tuple[str, ...]) -> Counter[int]:
        return opcodes(modules.compile_source(source[0], ARCHITECTURE, *source[1:]), kernel)

    assert found("direct", Plan("direct", 2, 2).source)[0x237] >= 2 * 4
    assert found("large", Plan("large", 2, 2, groups=3).source)[0x9F1] == 4
    assert found("elements", ("wide", "ZEN_ELEMENTS=1"))[0x237] >= 4
    assert found("halves", ("wide", "ZEN_HALVES", "ZEN_GROUPS=3"))[0x9F0] == 12


def test_layers_are_made_by_tensor_cores(modules: ModuleType) -> None:
    code = modules.compile_source("layers", ARCHITECTURE, "ZEN_PIECE=16", "ZEN_TILES=8")
    assert opcodes(code, "convolve")[0x237] >= 2 * 2 * 8


def opcodes(code: bytes, kernel: str) -> Counter[int]:
    """How often machine code, an ELF file, has each instruction: 16 bytes, the lowest 12 bits say which."""
    (table,), (count, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 60)
    sections = [struct.unpack_from("<IIQQQQ", code, table + 64 * index) for index in range(count)]
    start = sections[names][4]
    for name, *_, at, size in sections:
        label = code[start + name : code.index(b"\0", start + name)]
        if label == b".text." + kernel.encode():
            return Counter(word & 0xFFF for word, _ in struct.iter_unpack("<QQ", code[at : at + size]))
    raise AssertionError(f"there is no kernel {kernel}")
