"""The context in which the quantiser places a node: its inputs, and the required properties of its output."""

from __future__ import annotations

from dataclasses import dataclass

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval, Method
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.types import Affine, FloatArray, Rescale, Shape


@dataclass(frozen=True)
class Settings:
    """``bits`` of a tensor's element, ``weight_bits`` of a weight, the ``method`` of calibration, and
    whether weights have a scale ``per_channel``."""

    bits: int
    weight_bits: int
    method: Method
    per_channel: bool


@dataclass(frozen=True)
class Site:
    """``name``, ``inputs``: of the integer node. ``types``, ``shapes``: of what it reads; ``shape``: of what
    it makes. ``clamp``: what a Clip leaves of it, None where there is none. ``unscaled``: nothing but the
    argmax reads its sums. ``fixed``: the type that it must have; where that is None, ``span`` is the
    calibrated interval. ``kept``: whether it has the type of what is read.
    """

    name: str
    inputs: tuple[str, ...]
    types: tuple[Affine | None, ...]
    shapes: tuple[Shape, ...]
    shape: Shape
    clamp: Clamp | None
    unscaled: bool
    fixed: Affine | None
    span: Interval | None
    settings: Settings
    kept: bool

    def incoming(self, index: int = 0) -> Affine:
        """The type of an input."""
        kind = self.types[index]
        assert kind is not None  # noqa: S101  sums go to the output alone
        return kind

    def output(self) -> Affine:
        """The type that is wanted."""
        if self.fixed is not None:
            return self.fixed
        return rescaling.affine(self._span, self.settings.bits, self.name)

    def limits(self, output: Affine) -> tuple[int, int]:
        """The integers of type ``output`` that the clamp leaves."""
        return (self.clamp or Clamp()).within(output)

    def rescale(self, step: FloatArray) -> Rescale:
        """From sums of these real steps, an array that broadcasts to their shape, to the wanted type."""
        clamp = self.clamp or Clamp()
        if self.fixed is not None:
            return rescaling.given(step, self.fixed, clamp)
        rescale = rescaling.free(float(step.max()), self._span, self.settings.bits, clamp, self.name)
        return rescale if step.size == 1 else rescaling.given(step, rescale.output, clamp)

    @property
    def _span(self) -> Interval:
        """Of what was zero wherever it was seen, in steps as fine as those of what it is made of."""
        assert self.span is not None  # noqa: S101  what is not fixed is calibrated
        if self.span.low < self.span.high:
            return self.span
        reach = min(kind.scale for kind in self.types if kind) * ((1 << self.settings.bits) - 1) / 2
        return Interval(-reach, reach)
