"""What is kept by last use: beside a list that is searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zenserve.verifier.recent import Recent

ROOM = 10


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 2 * ROOM)), max_size=30),
)
def test_what_was_used_last_is_kept(least: int, uses: list[tuple[int, int | None]]) -> None:
    recent = Recent[int, int](ROOM, lambda value: value, least)
    expected: list[tuple[int, int]] = []
    for key, value in uses:
        found = dict(expected).get(key)
        if value is None:
            assert recent.get(key) == found
            value = found
        else:
            recent.keep(key, value)
        if value is None:
            continue
        expected = [*((k, v) for k, v in expected if k != key), (key, value)]
        while sum(v for _, v in expected) > ROOM and len(expected) > least:
            del expected[0]
