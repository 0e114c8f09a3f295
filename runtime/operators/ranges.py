"""Aggregates over many ranges of a column's rows, in time that hardly grows with their length.

A whole-number sum over a range is the difference of two running sums. What cannot be taken away
again (a maximum, a sum of doubles, which would drown) is had without: of blocks of 2, 4, 8, … rows,
one level after another, a range that ends in two neighbouring blocks is the end of one and the
beginning of the other, and both of these are running aggregates of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ssql.runtime.operators.tables import Numbers, column, ranks

# Two aggregates to one, for arrays of them. Which one is the left one does not matter.
Combine = Callable[[tuple[Numbers, ...], tuple[Numbers, ...]], tuple[Numbers, ...]]


def merged(table: pa.Table, parts: dict[str, str], low: Numbers, high: Numbers) -> list[pa.Array]:
    """For each part, by its name and how it is merged, the aggregate of the rows [low, high)."""
    return [_MERGES[how](column(table, name), low, high) for name, how in parts.items()]


def is_known(how: str) -> bool:
    return how in _MERGES


# ------------------------------------------------------------------ ranges of numbers


def _reduced(ufunc: np.ufunc, values: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """`ufunc` over each range; what stands for an empty one is of no meaning."""
    lengths = high - low
    if not len(low):
        return values[:0]
    if int(lengths.sum()) <= 6 * len(values):  # few rows more than once: straight on
        padded = np.append(values, values[-1:])
        pairs = np.empty(2 * len(low), np.int64)
        pairs[0::2], pairs[1::2] = low, np.maximum(high, low + 1)
        return ufunc.reduceat(padded, np.minimum(pairs, len(values)))[0::2]

    def combine(left: tuple[Numbers, ...], right: tuple[Numbers, ...]) -> tuple[Numbers, ...]:
        return (ufunc(left[0], right[0]),)

    def running(blocks: Numbers) -> Numbers:
        return ufunc.accumulate(blocks, axis=1)

    return _by_blocks((values,), low, high, combine, running)[0]


def _by_blocks(
    values: tuple[Numbers, ...],
    low: Numbers,
    high: Numbers,
    combine: Combine,
    running: Callable[[Numbers], Numbers] | None = None,
) -> tuple[Numbers, ...]:
    last = np.maximum(high - 1, low)
    result = tuple(v[np.minimum(low, len(v) - 1)] for v in values)
    # The level of a range: that of the largest block whose middle lies inside of it.
    level = np.where(high > low, np.frexp((low ^ last).astype(np.float64))[1], 0)
    top = int(level.max(initial=0))
    padding = -len(values[0]) % (1 << top)
    values = tuple(np.concatenate([v, np.repeat(v[-1:], padding)]) for v in values)
    for at in range(1, top + 1):
        mine = np.flatnonzero(level == at)
        if not len(mine):
            continue
        parts = _across(values, low[mine], last[mine], 1 << (at - 1), combine, running)
        for whole, part in zip(result, parts, strict=True):
            whole[mine] = part
    return result


def _across(
    values: tuple[Numbers, ...],
    low: Numbers,
    last: Numbers,
    half: int,
    combine: Combine,
    running: Callable[[Numbers], Numbers] | None,
) -> tuple[Numbers, ...]:
    """The ranges that have the middle of a block of two halves inside."""
    block, left, right = low // (2 * half), half - low % (2 * half), last % (2 * half) - half + 1
    longest = int(left.max()), int(right.max())  # no more than this of a block is of use
    blocks = tuple(v.reshape(-1, 2 * half) for v in values)
    ends = tuple(b[:, half - longest[0] : half][:, ::-1] for b in blocks)
    starts = tuple(b[:, half : half + longest[1]] for b in blocks)
    return combine(
        tuple(e[block, left - 1] for e in _running(ends, combine, running)),
        tuple(s[block, right - 1] for s in _running(starts, combine, running)),
    )


def _running(
    blocks: tuple[Numbers, ...],
    combine: Combine,
    running: Callable[[Numbers], Numbers] | None,
) -> tuple[Numbers, ...]:
    """The aggregates of the first 1, 2, 3, … columns."""
    if running is not None:
        return tuple(map(running, blocks))
    result, step = tuple(b.copy() for b in blocks), 1
    while step < result[0].shape[1]:
        before = tuple(r[:, :-step] for r in result)
        after = tuple(r[:, step:] for r in result)
        joined = combine(before, after)
        result = tuple(
            np.concatenate([r[:, :step], j], axis=1) for r, j in zip(result, joined, strict=True)
        )
        step *= 2
    return result


def _counts(valid: Numbers, low: Numbers, high: Numbers) -> Numbers:
    return _differences(np.cumsum(valid, dtype=np.int64), low, high)


def _differences(running: Numbers, low: Numbers, high: Numbers) -> Numbers:
    padded = np.concatenate([np.zeros(1, running.dtype), running])
    return padded[high] - padded[low]


# ------------------------------------------------------------------ columns


def _filled(array: pa.Array, empty: object) -> Numbers:
    return array.fill_null(empty).to_numpy(zero_copy_only=False)


def _where_any(array: pa.Array, low: Numbers, high: Numbers, result: pa.Array) -> pa.Array:
    """NULL for the ranges without a value."""
    if array.null_count == 0:
        found = high > low
    else:
        found = _counts(array.is_valid().to_numpy(zero_copy_only=False), low, high) > 0
    return (
        result if found.all() else pc.if_else(pa.array(found), result, pa.scalar(None, result.type))
    )


def _sum(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
    type = array.type
    if pa.types.is_decimal(type):
        result = _decimal_sums(array, low, high)
    elif pa.types.is_floating(type):
        result = pa.array(_reduced(np.add, _filled(array, 0.0), low, high), type)
    else:
        values = _filled(array.cast(pa.int64()), 0)
        sums = _differences(np.cumsum(values), low, high)
        _check_overflow(values, low, high)
        result = pa.array(sums, pa.int64()).cast(type)
    return _where_any(array, low, high, result)


_LIMB = 2**32 - 1


def _check_overflow(values: Numbers, low: Numbers, high: Numbers) -> None:
    if not len(values) or not len(low):
        return
    largest = max(abs(int(values.max())), abs(int(values.min())))
    if largest * int((high - low).max()) < 2**63:
        return
    small = _differences(np.cumsum(values & _LIMB), low, high)
    great = _differences(np.cumsum(values >> 32), low, high) + (small >> 32)
    if (great != great.astype(np.int32)).any():
        raise OverflowError("a sum of whole numbers is beyond 64 bits: sum decimals or doubles")


def _decimal_sums(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
    """Exact: 128 bits as four numbers of 32, each with a running sum of its own."""
    filled = array.fill_null(0)
    words = np.frombuffer(filled.buffers()[1], np.int64)
    words = words[2 * filled.offset : 2 * (filled.offset + len(filled))].reshape(-1, 2)
    great, carry = [], np.zeros(len(low), np.int64)
    for limb in (words[:, 0] & _LIMB, words[:, 0] >> 32 & _LIMB, words[:, 1] & _LIMB):
        carry = carry + _differences(np.cumsum(limb), low, high)
        great.append(carry & _LIMB)
        carry = carry >> 32
    top = carry + _differences(np.cumsum(words[:, 1] >> 32), low, high)
    result = np.empty((len(low), 2), np.int64)
    result[:, 0], result[:, 1] = great[0] | great[1] << 32, great[2] | top << 32
    sums = pa.Array.from_buffers(array.type, len(low), [None, pa.py_buffer(result.tobytes())])
    try:
        if (top != top.astype(np.int32)).any():
            raise pa.ArrowInvalid
        sums.validate(full=True)
    except pa.ArrowInvalid as error:
        raise OverflowError(f"a sum is beyond {array.type}: sum doubles") from error
    return sums


def _extreme(greatest: bool) -> Callable[[pa.Array, Numbers, Numbers], pa.Array]:
    def merge(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
        type = array.type
        if pa.types.is_floating(type):  # NaN is the greatest of all, as in Spark
            ufunc, empty = (np.maximum, -np.inf) if greatest else (np.fmin, np.nan)
            result = pa.array(_reduced(ufunc, _filled(array, empty), low, high), type)
        elif pa.types.is_integer(type):
            limits = np.iinfo(type.to_pandas_dtype())
            values = _filled(array, limits.min if greatest else limits.max)
            extreme = np.maximum if greatest else np.minimum
            result = pa.array(_reduced(extreme, values, low, high), type)
        else:
            return array.take(_places(ranks(array), array, low, high, greatest=greatest))
        return _where_any(array, low, high, result)

    return merge


def _places(
    order: Numbers, valid: pa.Array, low: Numbers, high: Numbers, *, greatest: bool
) -> pa.Array:
    """The row of each range that is first or last by `order`, NULL if there is no valid one."""
    size = int(order.max(initial=0)) + 1
    row_of = np.empty(size, np.int64)
    row_of[order] = np.arange(len(order))
    known = valid.is_valid().to_numpy(zero_copy_only=False)
    ufunc = np.maximum if greatest else np.minimum
    filled = np.where(known, order, -1 if greatest else size)
    best = _reduced(ufunc, filled, low, high)
    found = (high > low) & (best >= 0) & (best < size)
    return pa.array(row_of[np.where(found, best, 0)] if size else best, pa.int64(), mask=~found)


def _without_ties(order: Numbers) -> Numbers:
    """Every row at a place of its own: those at one place may be of several groups."""
    places = np.empty(len(order), np.int64)
    places[np.argsort(order, kind="stable")] = np.arange(len(order))
    return places


def _extreme_by(greatest: bool) -> Callable[[pa.Array, Numbers, Numbers], pa.Array]:
    """Of structs of `at` and `value`: the one with the first or last `at`."""

    def merge(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
        order = _without_ties(ranks(pc.struct_field(array, "at")))
        return array.take(_places(order, array, low, high, greatest=greatest))

    return merge


def _bits(ufunc: np.ufunc, empty: int) -> Callable[[pa.Array, Numbers, Numbers], pa.Array]:
    def merge(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
        result = pa.array(_reduced(ufunc, _filled(array, empty), low, high), array.type)
        return _where_any(array, low, high, result)

    return merge


def _moments(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
    """Of structs of `n`, `mean` and `m2`: Chan's formula."""
    names = ("n", "mean", "m2")
    columns = [pc.struct_field(array, name).cast(pa.float64()) for name in names]

    def combine(left: tuple[Numbers, ...], right: tuple[Numbers, ...]) -> tuple[Numbers, ...]:
        n = left[0] + right[0]
        share = np.divide(right[0], n, out=np.zeros_like(n), where=n > 0)
        apart = right[1] - left[1]
        return n, left[1] + apart * share, left[2] + right[2] + apart * apart * left[0] * share

    found = _by_blocks(tuple(_filled(c, 0.0) for c in columns), low, high, combine)
    fields = [array.type.field(name) for name in names]
    for values in found:
        values[high <= low] = 0
    arrays = [pa.array(v).cast(f.type) for v, f in zip(found, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _concatenated(array: pa.Array, low: Numbers, high: Numbers) -> pa.Array:
    """Lists one after another; NULL is an empty one."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    first, counts = ends[low], ends[high] - ends[low]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    if offsets[-1] >= 2**31:
        raise OverflowError("the lists of one batch hold over two billion values: slide less often")
    places = np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])
    values = pc.list_flatten(array).take(pa.array(places, pa.int64()))
    field = array.type.value_field
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=pa.list_(field))


_MERGES: dict[str, Callable[[pa.Array, Numbers, Numbers], pa.Array]] = {
    "sum": _sum,
    "min": _extreme(False),
    "max": _extreme(True),
    "min_by": _extreme_by(False),
    "max_by": _extreme_by(True),
    "bit_and": _bits(np.bitwise_and, -1),
    "bit_or": _bits(np.bitwise_or, 0),
    "bit_xor": _bits(np.bitwise_xor, 0),
    "moments": _moments,
    "concat": _concatenated,
}
