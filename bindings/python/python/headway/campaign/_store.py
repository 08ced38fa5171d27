"""A store: the Parquet dataset of a campaign, and the journal in front of it (docs/decisions/0066).

    FACTOR=LEVEL/…/CELL.parquet            what is put away: a row for each seed, ascending
    _journal/FACTOR=LEVEL/…/CELL.jsonl     what came since: a line for each run
    _campaign.json, _common_metadata       whose results these are; all columns
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ._cells import Cell
from ._errors import StoreError
from ._rows import columns_of, journal_rows, merged, table_of_rows, unified

try:
    import pyarrow
    import pyarrow.parquet
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("campaigns need pyarrow: pip install 'headway[campaign]'") from error


class Store:
    """A folder with results. Whoever writes holds its lock; anybody may read at any time."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder = folder
        self.engine = engine
        self._columns: pyarrow.Schema | None = None
        self._lock: IO[str] | None = None

    # Reading

    def check(self, factors: list[str]) -> bool:
        """Return whether there is a store; raise StoreError if it is of another engine or for other factors."""
        path = self.folder / "_campaign.json"
        if not path.exists():
            if self.folder.is_dir() and any(each.name != "_lock" for each in self.folder.iterdir()):
                raise StoreError(f"{self.folder} is a folder with other things in it: name a new one")
            return False
        about = json.loads(path.read_text("utf-8"))
        if about["format"] != FORMAT:
            raise StoreError(f"{self.folder} has format {about['format']} and this headway reads {FORMAT}: take the headway that wrote it")
        if about["engine"] != self.engine:
            raise StoreError(
                f"{self.folder} has results of the engine {about['engine']}, and this is {self.engine}: they are never mixed;"
                " name another folder, or go on with the headway that wrote it"
            )
        if about["factors"] != factors:
            raise StoreError(f"{self.folder} has the factors {about['factors']}, and the plan varies {factors}: name another folder")
        return True

    def values(self, cell: Cell, figure: str | None) -> tuple[dict[int, float | None], list[int]]:
        """Return the figure of each seed of a cell that is there, None without a figure to look at; and which of them failed."""
        self._refuse_others(cell)
        table = self.rows(cell, ["seed", "error", figure] if figure else ["seed", "error"])
        figures = table[figure].to_pylist() if figure and figure in table.column_names else [None] * table.num_rows
        seeds = table["seed"].to_pylist()
        failed = [seed for seed, error in zip(seeds, table["error"].to_pylist(), strict=True) if error is not None]
        return dict(zip(seeds, figures, strict=True)), failed

    def rows(self, cell: Cell, columns: list[str] | None = None) -> "pyarrow.Table":
        """Return the rows of a cell, put away or not, by ascending seed."""
        # The journal first: its rows move from there into the file.
        fresh, kept = self._fresh(cell), self._file(cell)
        table = _read(kept, None if fresh.num_rows else columns) if kept.exists() else None
        if fresh.num_rows or table is None:
            table = merged(table, fresh)
        return table.select([name for name in columns if name in table.column_names]) if columns else table

    def columns(self) -> "pyarrow.Schema":
        """Return the columns that some file has."""
        path = self.folder / COLUMNS
        return pyarrow.parquet.read_schema(path) if path.exists() else columns_of([])

    def _fresh(self, cell: Cell) -> "pyarrow.Table":
        try:
            rows = list(journal_rows(self._journal(cell)))
        except FileNotFoundError:
            rows = []
        return table_of_rows(rows, cell.key, self.engine)

    def _refuse_others(self, cell: Cell) -> None:
        for file in (self._file(cell), self._journal(cell)):
            others = [each for each in file.parent.glob(f"*{file.suffix}") if each.name != file.name and not each.name.startswith(".")]
            if others:
                raise StoreError(
                    f"{self.folder} has other results for {cell}: the plan differs in more than its levels and seeds; name another folder"
                )

    def _file(self, cell: Cell) -> Path:
        return self.folder / cell.folder / f"{cell.key}.parquet"

    def _journal(self, cell: Cell) -> Path:
        return self.folder / JOURNAL / cell.folder / f"{cell.key}.jsonl"

    # Writing

    @contextmanager
    def writing(self, title: str, factors: list[str]) -> Iterator[None]:
        """Hold the lock, take in what an earlier campaign left behind, and put everything away at the end, however it ends."""
        with self._told():
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / "_lock", "w", encoding="utf-8")  # noqa: SIM115: closed below
        with lock:
            self._take(lock)
            self._begin(title, factors)
            try:
                yield
            except BaseException:
                # The first error is what matters, and the next campaign puts away what this one could not.
                with suppress(StoreError):
                    self.put_all_away()
                raise
            self.put_all_away()

    def add(self, cell: Cell, lines: Iterable[str]) -> None:
        """Write down runs of a cell. They are safe from then on."""
        path = self._journal(cell)
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as journal:
                journal.write("".join(f"{line}\n" for line in lines).encode())

    def put_away(self, cell_folder: str, key: str) -> None:
        """Make the file of a cell from what it was and its journal."""
        with self._told():
            self._put_away(cell_folder, key)

    def put_all_away(self) -> None:
        """Make files of all journals, and remove what a killed campaign left half written."""
        with self._told():
            self._put_all_away()

    def _begin(self, title: str, factors: list[str]) -> None:
        with self._told():
            if not self.check(factors):
                about = {"format": FORMAT, "engine": self.engine, "title": title, "factors": factors}
                self._write(self.folder / "_campaign.json", lambda path: path.write_text(json.dumps(about, indent=1) + "\n", "utf-8"))
            self._put_all_away()

    def _put_away(self, cell_folder: str, key: str) -> None:
        file, journal = self.folder / cell_folder / f"{key}.parquet", self.folder / JOURNAL / cell_folder / f"{key}.jsonl"
        if not journal.exists():
            return
        table = merged(_read(file, None) if file.exists() else None, table_of_rows(journal_rows(journal), key, self.engine))
        if table.num_rows:
            self._widen(table.schema)
            file.parent.mkdir(parents=True, exist_ok=True)
            self._write(file, lambda path: pyarrow.parquet.write_table(table, path, compression="zstd"))
        journal.unlink()

    def _put_all_away(self) -> None:
        for left in self.folder.rglob(f"{TEMPORARY}*"):
            left.unlink()
        top = self.folder / JOURNAL
        for journal in sorted(top.rglob("*.jsonl")):
            folder = journal.parent.relative_to(top).as_posix()
            self._put_away("" if folder == "." else folder, journal.stem)
        for empty in sorted((each for each in top.rglob("*") if each.is_dir()), reverse=True):
            empty.rmdir()
        if top.is_dir():
            top.rmdir()

    def _widen(self, schema: "pyarrow.Schema") -> None:
        """Let the columns of the store have all columns that some file has."""
        path = self.folder / COLUMNS
        if self._columns is None and path.exists():
            self._columns = pyarrow.parquet.read_schema(path)
        columns = unified([schema] if self._columns is None else [self._columns, schema])
        if self._columns is None or columns != self._columns:
            self._write(path, lambda path: pyarrow.parquet.write_metadata(columns, path))
            self._columns = columns

    def _write(self, path: Path, write: Any) -> None:
        """Write a file that is there as a whole or not at all."""
        temporary = path.with_name(f"{TEMPORARY}{path.name}")
        try:
            write(temporary)
            with open(temporary, "rb+") as written:
                os.fsync(written.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _take(self, lock: IO[str]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{self.folder} is being written by another campaign: wait for it, or name another folder") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Make errors of the disk say what they mean for a campaign."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "No space left" in str(error) or "File too large" in str(error)
            remedy = "make room and call again" if full else "mend that and call again"
            raise StoreError(f"{self.folder} cannot be written: {error}; what was written before is kept: {remedy}") from error


def _read(file: Path, columns: list[str] | None) -> "pyarrow.Table":
    # A file by itself: what its folders are called is no column of it.
    with pyarrow.parquet.ParquetFile(file) as parquet:
        known = parquet.schema_arrow.names
        return parquet.read(None if columns is None else [name for name in columns if name in known])


FORMAT = 1
JOURNAL = "_journal"
COLUMNS = "_common_metadata"
TEMPORARY = ".new-"
