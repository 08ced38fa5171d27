"""What is told of a campaign while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ._cells import Cell, Plan
from ._schedule import Schedule

Interim = Callable[[list[dict[str, Any]]], object]


class Show(Protocol):
    """Who shows progress."""

    is_seen: bool
    """Whether it shows means."""

    def tell(self, done: int, all: int) -> None:
        """Show how many runs are done."""

    def mean(self, cell: Cell, row: dict[str, Any], is_last: bool) -> None:
        """Show what the runs of a cell say until now, or in the end."""


class Telling:
    """Tells progress after each answer, and means as often as somebody can read them."""

    def __init__(self, schedule: Schedule, show: Show, interim: Interim | None) -> None:
        self._schedule = schedule
        self._show = show
        self._interim = interim
        self._next_s = time.monotonic() + INTERIM_S

    def now(self) -> None:
        """Tell how far the campaign is, and what the runs say if that was a while ago."""
        is_time = (now := time.monotonic()) >= self._next_s
        if self._show.is_seen:
            for cell, row in self._schedule.ended():
                self._show.mean(cell, row, is_last=True)
            if is_time and (latest := self._schedule.latest):
                self._show.mean(latest, self._schedule.mean(latest), is_last=False)
        if is_time:
            self._next_s = now + INTERIM_S
            self.last()
        self._show.tell(self._schedule.done, self._schedule.all)

    def last(self) -> None:
        """Tell what the runs say."""
        if self._interim:
            self._interim(self._schedule.means())


@contextmanager
def shown(progress: Callable[[int, int], object] | bool | None, plan: Plan) -> Iterator[Show]:
    """Give what shows progress: the caller's own, tqdm, or nothing."""
    if callable(progress):
        yield _Silent(progress)
        return
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        if progress:
            raise
        yield _Silent(lambda done, all: None)
        return
    # tqdm itself leaves out what is no terminal, if it is asked to by None.
    with tqdm(total=len(plan.cells) * len(plan.seeds), unit="run", disable=None if progress is None else not progress) as bar:
        yield _Bar(bar)


class _Silent:
    """Progress that is told to the caller, who is not told means by this."""

    is_seen = False

    def __init__(self, progress: Callable[[int, int], object]) -> None:
        self._progress = progress

    def tell(self, done: int, all: int) -> None:
        self._progress(done, all)

    def mean(self, cell: Cell, row: dict[str, Any], is_last: bool) -> None:
        pass


class _Bar:
    """A bar of tqdm: a line for each cell that ended above it, the cell under way behind it."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self.is_seen = not bar.disable

    def tell(self, done: int, all: int) -> None:
        self._bar.update(done - self._bar.n)

    def mean(self, cell: Cell, row: dict[str, Any], is_last: bool) -> None:
        if is_last:
            self._bar.write(f"{cell}: {_words(row)}", file=self._bar.fp)
        else:
            self._bar.set_postfix_str(f"{cell}: {_words(row)}", refresh=False)


def _words(row: dict[str, Any]) -> str:
    mean = "no mean" if row["mean"] is None else f"{row['mean']:.4g}"
    half = "" if row["ci95.high"] is None else f" ± {row['ci95.high'] - row['mean']:.2g}"
    failed = f", {row['failed']} failed" if row["failed"] else ""
    return f"{mean}{half} ({row['runs']} runs{failed})"


INTERIM_S = 2.0
"""How often means are told."""
