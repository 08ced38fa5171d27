"""Runs as rows: from the lines of workers to Arrow tables."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute

from .._inputs import flat

Row = dict[str, Any]


def row_of(line: str) -> Row:
    """Return the row of a run: the figures by dotted names, the first flow without its name."""
    run = json.loads(line)
    metrics = run.pop("metrics", {})
    row = dict(flat(metrics)) | dict(flat(run))
    for name in [name for name in row if name.endswith("because") and isinstance(row[name], list)]:
        row[name] = "; ".join(row[name])
    return row


def outcome_of(line: str, figure: str) -> tuple[float | None, bool]:
    """Return one figure of a run, if it has it, and whether the run failed."""
    row = row_of(line)
    value = row.get(figure)
    return float(value) if isinstance(value, int | float) else None, row.get("error") is not None


def journal_rows(journal: Path) -> Iterator[Row]:
    """Yield the rows of a journal. A last line without an end was torn by a kill or a full disk, and counts for nothing."""
    text = journal.read_bytes()
    whole = text.rfind(b"\n") + 1
    for line in text[:whole].decode().splitlines():
        yield row_of(line)


def table_of_rows(rows: Iterable[Row], cell: str, engine: str) -> pyarrow.Table:
    """Return runs of a cell as a table by ascending seed, each seed once."""
    by_seed = {row["seed"]: row for row in rows}
    ordered = [by_seed[seed] for seed in sorted(by_seed)]
    schema = columns_of(ordered)
    fixed = {"cell": cell, "engine": engine}
    arrays = [
        pyarrow.array([fixed.get(field.name, _typed(row.get(field.name), field.type)) for row in ordered], field.type) for field in schema
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def columns_of(rows: Iterable[Row]) -> pyarrow.Schema:
    """Return the columns of rows: those that all have, then the figures by name."""
    kinds: dict[str, pyarrow.DataType] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str):
                kinds[name] = pyarrow.string()
            else:
                kinds.setdefault(name, pyarrow.float64())
    return pyarrow.schema(FIRST + [(name, kinds[name]) for name in sorted(kinds) if name not in FIRST_NAMES])


def unified(schemas: Iterable[pyarrow.Schema]) -> pyarrow.Schema:
    """Return all columns of several tables, in the order of :func:`columns_of`."""
    kinds: dict[str, pyarrow.DataType] = {}
    for schema in schemas:
        for field in schema:
            if kinds.get(field.name) != pyarrow.string():
                kinds[field.name] = field.type
    return pyarrow.schema(FIRST + [(name, kinds[name]) for name in sorted(kinds) if name not in FIRST_NAMES])


def fitted(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """Return a table with exactly these columns; those it has not are null."""
    have = set(table.column_names)
    arrays = [
        table[field.name].cast(field.type) if field.name in have else pyarrow.nulls(table.num_rows, field.type) for field in schema
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def merged(kept: pyarrow.Table | None, fresh: pyarrow.Table) -> pyarrow.Table:
    """Return two tables of one cell as one; a seed that is in both counts once."""
    if kept is None or not kept.num_rows:
        return fresh
    new = fresh.filter(pyarrow.compute.invert(pyarrow.compute.is_in(fresh["seed"], value_set=kept["seed"].combine_chunks())))
    schema = unified([kept.schema, fresh.schema])
    both = pyarrow.concat_tables([fitted(kept, schema), fitted(new, schema)])
    return both.sort_by("seed").combine_chunks()


def _typed(value: Any, kind: pyarrow.DataType) -> Any:
    return float(value) if kind == pyarrow.float64() and value is not None else value


FIRST = [
    ("seed", pyarrow.uint64()),
    ("cell", pyarrow.string()),
    ("engine", pyarrow.string()),
    ("error", pyarrow.string()),
    ("because", pyarrow.string()),
]
FIRST_NAMES = {name for name, _ in FIRST}
