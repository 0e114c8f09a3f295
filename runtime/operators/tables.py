"""Arrow tables as bytes, and the columns of tables as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers = np.ndarray


def to_bytes(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(blob: bytes) -> pa.Table:
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of one schema one after another, each column in one piece."""
    return pa.concat_tables(tables).combine_chunks()


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    chunks = table.column(name)
    if chunks.num_chunks == 1:
        return chunks.chunk(0)
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)


def numbers(table: pa.Table, name: str) -> Numbers:
    """A column of whole numbers without NULLs."""
    return column(table, name).to_numpy(zero_copy_only=False)


def with_numbers(table: pa.Table, name: str, values: Numbers) -> pa.Table:
    """The table with a column of whole numbers, in place of one of that name."""
    array = pa.array(values, pa.int64())
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, array)
    return table.append_column(name, array)


def taken(table: pa.Table, rows: Numbers) -> pa.Table:
    """The rows of a table at these places, or where this mask is true."""
    if rows.dtype == np.bool_ and rows.all():
        return table
    places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    if len(places) == table.num_rows and (len(places) == 0 or _is_identity(places)):
        return table
    return table.take(pa.array(places, pa.int64())).combine_chunks()


def _is_identity(places: Numbers) -> bool:
    return bool(places[0] == 0 and places[-1] == len(places) - 1 and (np.diff(places) == 1).all())


def group_codes(tables: Sequence[pa.Table], keys: Sequence[str]) -> tuple[list[Numbers], int]:
    """A number for each row of each table, the same for rows with equal keys, and how many there
    may be. NULL is a value like others."""
    if not tables:
        return [], 0
    lengths = [t.num_rows for t in tables]
    codes, count = np.zeros(sum(lengths), np.int64), 1
    for key in keys:
        values = pa.concat_arrays([c for t in tables for c in t.column(key).chunks] or [_NOTHING])
        of_key, size = _codes(values)
        codes = codes * size + of_key
        count *= max(size, 1)
        if count > 2 * len(codes) + 1024:
            distinct, codes = np.unique(codes, return_inverse=True)
            count = len(distinct)
    return np.split(codes, np.cumsum(lengths)[:-1]), count


_NOTHING = pa.array([], pa.int64())


def _codes(array: pa.Array) -> tuple[Numbers, int]:
    if pa.types.is_struct(array.type):
        places = ranks(array)
        return places, int(places.max(initial=-1)) + 1
    encoded = array.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)


def ranks(array: pa.Array) -> Numbers:
    """The place of each value in the order of all of them, equal ones at one place, NULL first as
    Spark orders them."""
    if pa.types.is_struct(array.type):
        fields = [ranks(pc.struct_field(array, i)) for i in range(array.type.num_fields)]
        return _struct_ranks(fields, array.is_valid().to_numpy(zero_copy_only=False))
    if pa.types.is_list(array.type):
        return _list_ranks(array)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(array.type):
        array = pc.add(array, 0.0)  # one zero, not two
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(1, len(order) + 1)
    place[-1] = 0
    codes = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return place[codes]


def _list_ranks(array: pa.Array) -> Numbers:
    """Element by element; where one list is the beginning of another, it comes first."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    begins = np.cumsum(lengths) - lengths
    elements = ranks(pc.list_flatten(array)) + 1
    fields = []
    for place in range(int(lengths.max(initial=0))):
        there = lengths > place
        field = np.zeros(len(array), np.int64)
        field[there] = elements[begins[there] + place]
        fields.append(field)
    return _struct_ranks(fields, array.is_valid().to_numpy(zero_copy_only=False))


def _struct_ranks(fields: list[Numbers], valid: Numbers) -> Numbers:
    """The ranks of structs from those of their fields, the first field first."""
    code = valid.astype(np.int64)
    for field in fields:
        size = int(field.max()) + 1 if len(field) else 1
        code = code * size + np.where(valid, field, 0)
        code = np.unique(code, return_inverse=True)[1]
    return code
