"""Results as rows and tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._inputs import flat


class Table:
    """Something with rows, which can be had as tables of other packages."""

    def rows(self) -> list[dict[str, Any]]:
        """Return flat rows."""
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """Return the rows as a pyarrow.Table; needs ``pip install 'headway[arrow]'``."""
        rows = self.rows()
        return table_of(rows, list(dict.fromkeys(name for row in rows for name in row)))

    def to_pandas(self) -> Any:
        """Return the rows as a pandas.DataFrame; needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()


def flat_rows(figures: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with dotted names."""
    return [dict(flat(each)) for each in figures]


def table_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Any:
    """Return rows as a pyarrow.Table with these columns."""
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("tables need pyarrow: pip install 'headway[arrow]'") from error
    return pyarrow.table({name: [row.get(name) for row in rows] for name in names})
