"""Tables that are kept between batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from arrow_columns import at_leisure, rows_numbered
from hypothesis import given, settings
from hypothesis import strategies as st

from ssql.runtime.operators import state as state_module
from ssql.runtime.operators.processor import HeldChunks
from ssql.runtime.operators.state import FORMAT, MOST_CHUNKS, State


def held_numbers(state: State, name: str = "t") -> list[int]:
    table = state.table(name)
    if table is None:
        return []
    numbers = table.column("n").to_pylist()
    assert table.equals(rows_numbered(numbers))
    assert state.rows(name) == len(numbers)
    return numbers


def reopened(chunks: HeldChunks, state: State) -> State:
    """As in the next batch: what is kept is JSON."""
    return State(chunks, json.loads(json.dumps(state.kept())))


def mask(rows: Sequence[int], chosen: Any) -> np.ndarray:
    return np.array([n in chosen for n in rows], np.bool_)


def test_appended_rows_are_there_in_the_next_batch() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    assert state.kept() is None and state.table("t") is None and state.rows("t") == 0
    state.change("t", added=rows_numbered([1, 2]))
    state.change("other", added=rows_numbered([7]))
    state.memo["due"] = 12
    state = reopened(chunks, state)
    state.change("t", added=rows_numbered([3]))
    state.change("t", added=rows_numbered([]))
    state.change("t")
    state = reopened(chunks, state)
    assert held_numbers(state) == [1, 2, 3]
    assert held_numbers(state, "other") == [7]
    assert state.memo == {"due": 12}
    assert len(chunks.blobs) == 3  # an addition writes nothing but itself


def test_replaced_rows_go_at_once_and_expired_ones_when_most_have() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered(range(10)))
    state.change("t", added=rows_numbered(range(10, 20)))
    first, second = chunks.blobs
    held = held_numbers(state)
    state.change("t", expired=mask(held, range(4)))
    assert held_numbers(state) == list(range(20))  # six of ten are left
    state = reopened(chunks, state)
    state.change("t", expired=mask(held, range(5)))
    assert sorted(held_numbers(state)) == list(range(5, 20))
    assert first not in chunks.blobs and second in chunks.blobs
    held = held_numbers(state)
    state.change("t", added=rows_numbered([99]), replaced=mask(held, {12}))
    assert sorted(held_numbers(state)) == [*range(5, 12), *range(13, 20), 99]
    held = held_numbers(state)
    state.change("t", expired=mask(held, held))
    assert chunks.blobs == {} and state.kept() is None
    assert state.table("t") is None


def test_a_table_anew() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered([1, 2]))
    state.change("t", added=rows_numbered([3]))
    state.replace("t", rows_numbered([8, 9]))
    assert held_numbers(reopened(chunks, state)) == [8, 9]
    assert len(chunks.blobs) == 1
    state.replace("t", rows_numbered([]))
    assert chunks.blobs == {} and state.kept() is None
    state.replace("never there", None)
    assert state.kept() is None


def test_what_is_remembered_beside_the_tables_keeps_the_state() -> None:
    state = State(HeldChunks(), None)
    state.memo["due"] = 1
    assert state.kept() == {"format": FORMAT, "memo": {"due": 1}, "chunks": {}, "next": 0}


def test_many_small_chunks_become_few() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    most = 0
    for number in range(300):
        state.change("t", added=rows_numbered([number]))
        most = max(most, len(chunks.blobs))
        if number % 7 == 0:
            state = reopened(chunks, state)
    assert most <= MOST_CHUNKS
    assert sorted(held_numbers(state)) == list(range(300))


def test_large_tables_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "LARGEST_CHUNK", 4_000)
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered(range(1_000)))
    pieces = len(chunks.blobs)
    assert pieces > 4
    assert held_numbers(reopened(chunks, state)) == list(range(1_000))
    for number in range(1_000, 1_100):
        state.change("t", added=rows_numbered([number]))
    # The large ones are not read again for the sake of small ones.
    assert list(chunks.blobs)[:pieces] == [("t", i) for i in range(pieces)]
    assert len(chunks.blobs) <= pieces + MOST_CHUNKS
    assert sorted(held_numbers(reopened(chunks, state))) == list(range(1_100))


def test_large_chunks_are_compressed() -> None:
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered(range(1_000)))
    state.change("t", added=rows_numbered(range(1_000, 400_000)))
    small, large = map(len, chunks.blobs.values())
    assert small > 8 * 1_000 and large < 8 * 399_000 // 2
    assert held_numbers(reopened(chunks, state)) == list(range(400_000))


def test_a_row_that_is_larger_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "LARGEST_CHUNK", 1)
    chunks = HeldChunks()
    state = State(chunks, None)
    state.change("t", added=rows_numbered([1, 2, 3]))
    assert len(chunks.blobs) == 3
    assert held_numbers(reopened(chunks, state)) == [1, 2, 3]


@pytest.mark.parametrize("version", [FORMAT + 1, FORMAT - 1, None, str(FORMAT)])
def test_a_state_of_another_format_is_refused(version: object) -> None:
    kept = {"format": version, "memo": {}, "chunks": {}, "next": 0}
    with pytest.raises(RuntimeError, match=f"format {version}.*reads format {FORMAT}.*start anew"):
        State(HeldChunks(), kept)
    with pytest.raises(RuntimeError, match="format None"):
        State(HeldChunks(), {"memo": {}})


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["change", "change", "change", "replace", "reopen"]),
        st.integers(0, 12),  # rows added
        st.none() | st.integers(0, 9),  # which of ten are replaced
        st.none() | st.integers(0, 120),  # below which rows are expired
    ),
    max_size=50,
)


@settings(at_leisure, max_examples=60)
@given(CHANGES, st.sampled_from([1, 300, 2**24]), st.sampled_from([0, 100, 2**20]))
def test_changes_one_after_another(
    changes: list[tuple[Any, ...]], largest: int, worth_compressing: int
) -> None:
    """No row that is alive is lost or doubled, none that is replaced stays, and what is written is
    what is told to be."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(state_module, "LARGEST_CHUNK", largest)
        patched.setattr(state_module, "WORTH_COMPRESSING", worth_compressing)
        chunks = HeldChunks()
        state = State(chunks, None)
        alive: set[int] = set()
        expired: set[int] = set()
        number = 0
        for what, many, digit, limit in changes:
            added = list(range(number, number + many))
            number += many
            if what == "reopen":
                state = reopened(chunks, state)
            elif what == "replace":
                state.replace("t", rows_numbered(added))
                alive, expired = set(added), set()
            else:
                held = held_numbers(state)
                gone = {n for n in held if digit is not None and n % 10 == digit}
                expired |= {n for n in held if limit is not None and n < limit}
                state.change(
                    "t",
                    added=rows_numbered(added) if many else None,
                    replaced=None if digit is None else mask(held, gone),
                    expired=None if limit is None else mask(held, expired),
                )
                alive = (alive - gone - expired) | set(added)
                expired -= gone
            now = held_numbers(state)
            assert len(set(now)) == len(now)
            assert alive <= set(now) <= alive | expired
            assert all(len(blob) for blob in chunks.blobs.values())
            assert (state.kept() is None) == (not now)
