"""The twin of CuPy's functions where there is no device: numpy's, of arrays that do not meet the host's.

What would wait for a device, as a number, a truth or a loop over entries does, is counted in ``WAITS``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.gpu.emulator.device import Array, recording

WAITS = Counter[str]()
"""How often the host waited for the device, by why."""

_NUMBERS = (bool, int, float, np.generic, type(None))


def _known() -> frozenset[str]:
    """The names that CuPy has; where it is not installed, whatever numpy has."""
    try:
        import cupy
    except ImportError:
        return frozenset(dir(np))
    return frozenset(dir(cupy))


_KNOWN = _known()


def _plain(value: Any) -> Any:
    """For numpy: refuses arrays of the host."""
    if isinstance(value, Computed):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    if isinstance(value, np.ndarray):
        raise TypeError(f"an array of the host, {value.dtype}{list(value.shape)}, meets a device's")
    return value


def _own(value: Any) -> Any:
    """Whatever is computed is an array, numbers are arrays without axes."""
    if isinstance(value, tuple):
        return tuple(map(_own, value))
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    made = np.asarray(value).view(Computed)
    made.index = 0
    return made


class Computed(Array):
    """An array that may be computed with, by ``NAMESPACE`` and operators."""

    def __array_namespace__(self, **_: Any) -> Any:
        return NAMESPACE

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(isinstance(each, (Computed, *_NUMBERS)) for each in inputs):
            raise TypeError(f"{ufunc.__name__} of an array on the device and one of the host")
        assert hasattr(np, ufunc.__name__)
        return _own(getattr(ufunc, method)(*map(_plain, inputs), **{k: _plain(v) for k, v in kwargs.items()}))

    def __getitem__(self, at: Any) -> Any:
        return _own(self.view(np.ndarray)[_plain(at)])

    def __setitem__(self, at: Any, value: Any) -> None:
        self.view(np.ndarray)[_plain(at)] = _plain(value)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        return _own(self.view(np.ndarray).argmax(*args, **kwargs))

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        return _own(self.view(np.ndarray).argmin(*args, **kwargs))

    def __bool__(self) -> bool:
        return bool(self._waited("bool"))

    def __int__(self) -> int:
        return int(self._waited("int"))

    def __float__(self) -> float:
        return float(self._waited("float"))

    def __index__(self) -> int:
        raise TypeError("an array on the device as an index of the host")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a loop over the entries of an array on the device")

    def tolist(self) -> Any:
        return self._waited("tolist").tolist()

    def get(self) -> np.ndarray[Any, Any]:
        return self._waited("get").copy()

    def _waited(self, why: str) -> np.ndarray[Any, Any]:
        assert not recording(), f"the host waits in what is recorded: {why}"
        WAITS[why] += 1
        return self.view(np.ndarray)


class _Namespace:
    """numpy's functions that CuPy has, too."""

    def __getattr__(self, name: str) -> Any:
        if name not in _KNOWN:
            raise AttributeError(f"CuPy has no {name}")
        return self._wrapped(getattr(np, name))

    def asarray(self, value: Any, dtype: Any = None) -> Computed:
        """A copy of what is the host's."""
        if isinstance(value, Computed):
            return value if dtype is None else _own(value.view(np.ndarray).astype(dtype))
        assert not recording(), "an array of the host in what is recorded"
        return _own(np.array(value, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def _wrapped(function: Any) -> Any:
        if not callable(function) or isinstance(function, type):
            return function

        def call(*args: Any, **kwargs: Any) -> Any:
            lists = any(isinstance(each, (list, tuple)) and any(isinstance(one, Computed) for one in each)
                        for each in args)  # fmt: skip
            assert not (lists and recording()), f"{function.__name__} sends a list to what is recorded"
            return _own(function(*map(_plain, args), **{name: _plain(each) for name, each in kwargs.items()}))

        return call


NAMESPACE: Any = _Namespace()


def waits(call: Callable[[], object]) -> Counter[str]:
    """Of one call."""
    before = WAITS.copy()
    call()
    return WAITS - before
