"""Other libraries, as programs that are asked for figures line by line. README.md says how they are built."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zenserve.kernels import FrArray, Group, Kernels, WordArray

_CANNOT = "cannot"


def option(text: str) -> tuple[str, str]:
    """NAME=PATH of the command line."""
    name, separator, path = text.partition("=")
    if not (name and separator and Path(path).is_file()):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH, with PATH a program that exists")
    return name, path


@dataclass
class Peer:
    """A running program. Its seconds are its own: they leave out what passes between the processes."""

    name: str
    process: subprocess.Popen[str]

    def load_points(self, group: Group, path: Path) -> None:
        self._ask(f"points {group.name} {path}")

    def load_scalars(self, path: Path) -> None:
        self._ask(f"scalars {path}")

    def msm(self, group: Group, size: int, threads: int) -> tuple[float, bytes]:
        """Of the first ``size`` that were loaded: seconds, and the sum in compressed form."""
        taken, result = self._ask(f"msm {group.name} {size} {threads}").split()
        return float(taken), bytes.fromhex(result)

    def ntt(self, log_size: int, threads: int) -> float:
        return float(self._ask(f"ntt {log_size} {threads}"))

    def has_ntt(self) -> bool:
        return self._ask("ntt 4 1") != _CANNOT

    def prove(self, shape: str, log_size: int, threads: int) -> float:
        """Seconds of a Groth16 proof of a statement and a witness like those of bench/synthetic.py."""
        return float(self._ask(f"prove {shape} {log_size} {threads}"))

    def has_proofs(self) -> bool:
        return self._ask("prove network 4 1") != _CANNOT

    def product(self, field: str) -> float:
        """Seconds for one product, amortised over independent chains. ``field``: "fp" or "fr"."""
        return float(self._ask(f"product {field}"))

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"{self.name}, asked for {line!r}, says {answer or 'nothing'!r}")
        return answer


@contextmanager
def started(programs: dict[str, str]) -> Iterator[list[Peer]]:
    """One process for each name and path, ended on leaving."""
    peers: list[Peer] = []
    try:
        for name, path in programs.items():
            command = [str(Path(path).resolve())]
            process = subprocess.Popen(  # noqa: S603 - the user names the program
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            peers.append(Peer(name, process))
        yield peers
    finally:
        for peer in peers:
            peer.process.kill()
            peer.process.communicate()


def write_points(k: Kernels, points: WordArray, path: Path) -> None:
    """Affine coordinates one after the other, canonical, little-endian, 48 bytes each, c0 before c1."""
    path.write_bytes(k.fp.to_canonical(points).tobytes())


def write_scalars(k: Kernels, scalars: FrArray, path: Path) -> None:
    """Canonical, little-endian, 32 bytes each."""
    path.write_bytes(k.fr.to_canonical(scalars).tobytes())
