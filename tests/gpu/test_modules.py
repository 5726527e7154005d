"""Every source compiles for the card, on machines that have none: NVIDIA's compiler comes from PyPI."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import gpu

ARCHITECTURE = "sm_90"


@pytest.fixture(scope="module")
def modules() -> ModuleType:
    """``gpu.modules`` itself, whatever stands in its place for other tests."""
    pytest.importorskip("cupy", reason="zenserve[gpu] is not installed")
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
    from gpu import msm, negacyclic, ntt, points

    called = "ZEN_CALL_PRODUCTS"
    return [
        *msm.sources(),
        *map(points.source, ("Fp", "Fp2")),
        ntt.source(),
        *(negacyclic.source(11, bits) for bits in (32, 64)),
        ("hashing",),
        ("rows",),
        ("sumcheck",),
        *(("elementwise", f"ZEN_ELEMENT={name}", called) for name in ("Fr", "Fp", "Fp2")),
        *(("group", f"ZEN_FIELD={name}", called) for name in ("Fp", "Fp2")),
        ("ceilings", called),
        *(("scalars",), ("scan",), ("sparse",)),
    ]


def test_no_source_is_left_out() -> None:
    names = {path.stem for path in (Path(gpu.__file__).parent / "source").glob("*.cu")}
    assert {name for name, *_ in every_source()} == names


@pytest.mark.parametrize("source", every_source(), ids=" ".join)
def test_every_source_compiles_for_the_card(
    modules: ModuleType, source: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimisation, which takes most of the time and refuses nothing."""
    monkeypatch.setattr(modules, "_OPTIONS", (*modules._OPTIONS, "--Ofast-compile=max"))
    name, *defines = source
    assert modules.compile_source(name, ARCHITECTURE, *defines)[:4] == b"\x7fELF"
