"""Campaigns: a plan with many seeds, on processes of this machine or a Dask cluster, into a Parquet dataset that is resumed."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _headway
from .._inputs import at_least_one
from ._cells import DEFAULT_FIGURE, Cell, Course, Plan, mean_of, shown
from ._errors import CampaignError, StoreError

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.dataset import Dataset

    from ._schedule import Schedule
    from ._workers import Answer, Task, Workers

__all__ = ["Campaign", "CampaignError", "StoreError", "campaign"]


def campaign(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    seeds: int | Iterable[int] | None = None,
    client: Any = None,
    *,
    store: str | os.PathLike[str],
    jobs: int | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    interim: Callable[[list[dict[str, Any]]], object] | None = None,
) -> "Campaign":
    """Run what a store lacks of a plan: every cell with every seed, or until its interval is narrow enough.

    plan: the path of a TOML file as docs/plans.md describes it, or the same as a dict. A table ``[campaign]`` in it
        (``half_width``, ``figure``, ``every``) ends cells before their last seed.
    seeds: how many seeds from 1 on, or the seeds themselves. Default: those of the plan.
    client: a ``dask.distributed.Client``. Default: processes of this machine.
    store: the folder of the dataset, which is made if need be. What is there is not run again.
    jobs: processes on this machine. Default: one per processor. Results do not depend on it.
    progress: called as ``progress(done, all)``; or whether tqdm shows it, with the mean and interval of the cell that an answer came from
        last. Default: if tqdm is installed and stderr is a terminal.
    interim: called every two seconds, and at the end, with what :meth:`Campaign.summary` would say by then of the cells that have begun. What it
        or ``progress`` raises ends the campaign as an interrupt does.

    It may be killed at any moment: the next call goes on, to the same dataset, octet for octet. A run that fails is a row with
    its seed and ``error``. An interrupt ends it, and everything that was done by then is kept.
    Raises PlanError for what is no plan, StoreError for a store of another engine or plan or that cannot be written, and
    CampaignError if workers die again and again, or are of another engine.
    """
    from ._progress import Telling
    from ._progress import shown as _shown
    from ._schedule import Schedule

    at_least_one("jobs", jobs)
    result = Campaign(plan, seeds, store=store)
    with _shown(progress, result.plan) as show:
        schedule = Schedule(result.plan, result._store, are_means_wanted=interim is not None or show.is_seen)
        tell = Telling(schedule, show, interim)
        with result._store.writing(result.plan.title, result.plan.factors), _started(client, jobs) as workers:
            _run(schedule, workers, tell.now)
            tell.last()
    result.new = schedule.new
    return result


class Campaign:
    """A plan, and what a store has of it. It can be opened while a campaign writes there, and shows what is done by then."""

    def __init__(
        self,
        plan: str | os.PathLike[str] | Mapping[str, Any],
        seeds: int | Iterable[int] | None = None,
        *,
        store: str | os.PathLike[str],
    ) -> None:
        """Open the store of a plan; nothing runs. The arguments are those of :func:`campaign`."""
        from ._store import Store

        self.plan = Plan.read(plan, seeds)
        self.new = 0
        """How many runs the call took that gave this; 0 if it was opened."""
        self._store = Store(Path(store), _headway.ENGINE)
        self._store.check(self.plan.factors)

    def table(self) -> "pyarrow.Table":
        """Return a row for each run that the plan asks for and the store has: factors, then what the run gave.

        The order is that of the plan's cells and seeds. Equal plans give equal tables, however they came about.
        """
        import pyarrow

        from ._rows import fitted, unified

        parts = [(cell, self._wanted(cell)) for cell in self.plan.cells]
        columns = unified(rows.schema for _, rows in parts)
        factors = pyarrow.schema([(name, self._kind(name)) for name in self.plan.factors])
        tables = []
        for cell, rows in parts:
            levels = [pyarrow.repeat(self._level(value, factors.field(name).type), rows.num_rows) for name, value in cell.factors]
            body = fitted(rows, columns)
            tables.append(pyarrow.Table.from_arrays([*levels, *body.columns], names=[*factors.names, *columns.names]))
        return pyarrow.concat_tables(tables).combine_chunks()

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame; needs pandas."""
        return self.table().to_pandas()

    def dataset(self) -> "Dataset":
        """Return all that the store has put away as a pyarrow dataset, which reads nothing before it is asked to.

        Factors are columns of text.
        """
        import pyarrow
        import pyarrow.dataset

        factors = pyarrow.schema([(name, pyarrow.string()) for name in self.plan.factors])
        schema = pyarrow.unify_schemas([self._store.columns(), factors])
        partitioning = pyarrow.dataset.partitioning(factors, flavor="hive") if self.plan.factors else None
        return pyarrow.dataset.dataset(str(self._store.folder), schema=schema, format="parquet", partitioning=partitioning)

    def summary(self, figure: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each cell: factors, runs, failed runs, mean and 95 % interval of a figure over its runs.

        figure: a column of the table. Default: that of the plan's ``[campaign]``, or else ``response_ms.mean``.
        """
        figure = figure or self.plan.figure or DEFAULT_FIGURE
        return [dict(cell.factors) | _mean(self._wanted(cell), figure) for cell in self.plan.cells]

    def __repr__(self) -> str:
        return f"<headway.Campaign '{self.plan.title}': {len(self.plan.cells)} cells, up to {len(self.plan.seeds)} seeds, in {self._store.folder}>"

    def _wanted(self, cell: Cell) -> "pyarrow.Table":
        """Return the rows of a cell that the plan asks for, in the order of its seeds."""
        import pyarrow

        rows = self._store.rows(cell)
        seeds = rows["seed"].to_pylist()
        figure = self.plan.figure
        known = rows[figure].to_pylist() if figure in rows.column_names else [None] * len(seeds)
        course = Course(self.plan, dict(zip(seeds, known, strict=True)))
        course.advance()
        places = {seed: place for place, seed in enumerate(seeds)}
        return rows.take(pyarrow.array([places[seed] for seed in course.decided if seed in places], pyarrow.int64()))

    def _kind(self, factor: str) -> "pyarrow.DataType":
        import pyarrow

        levels = [level for cell in self.plan.cells for name, level in cell.factors if name == factor]
        are_numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)
        return pyarrow.float64() if are_numbers else pyarrow.string()

    @staticmethod
    def _level(level: Any, kind: "pyarrow.DataType") -> "pyarrow.Scalar":
        import pyarrow

        return pyarrow.scalar(float(level) if kind == pyarrow.float64() else shown(level), kind)


def _mean(rows: "pyarrow.Table", figure: str) -> dict[str, Any]:
    values = [value for value in rows[figure].to_pylist() if value is not None] if figure in rows.column_names else []
    return mean_of(values, rows.num_rows, rows.num_rows - rows["error"].null_count)


def _run(schedule: "Schedule", workers: "Workers", tell: Callable[[], object]) -> None:
    under_way = 0
    while True:
        capacity = workers.capacity()
        while under_way < 2 * capacity and (task := schedule.take(capacity)):
            workers.submit(task)
            under_way += 1
        tell()
        if not under_way:
            return
        task, answer = workers.wait()
        under_way -= 1
        _take_in(schedule, task, answer)


def _take_in(schedule: "Schedule", task: "Task", answer: "Answer") -> None:
    if answer["engine"] != _headway.ENGINE:
        raise CampaignError(
            f"a worker has the engine {answer['engine']}, and this is {_headway.ENGINE}: give all workers the same wheel;"
            " nothing of that worker was kept"
        )
    if "error" in answer:
        raise CampaignError(f"a worker could not run {task}: {answer['error']}")
    for (cell, seeds), (seconds, lines) in zip(task.pieces, answer["pieces"], strict=True):
        schedule.answered(cell, seeds, seconds, lines)


@contextmanager
def _started(client: Any, jobs: int | None) -> Iterator["Workers"]:
    from ._workers import DaskWorkers, LocalWorkers

    workers: Workers = DaskWorkers(client) if client is not None else LocalWorkers(jobs or len(os.sched_getaffinity(0)))
    try:
        yield workers
    finally:
        workers.close()
