"""Which runs are given out together, and when a cell is done. None of it changes a result."""

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

from ._cells import DEFAULT_FIGURE, Cell, Course, Plan
from ._rows import outcome_of
from ._store import Store
from ._workers import Task


class Schedule:
    """The runs that a store lacks. Cells are opened one after the other, so that a plan may have very many."""

    def __init__(self, plan: Plan, store: Store, *, are_means_wanted: bool = False) -> None:
        self.all = len(plan.cells) * len(plan.seeds)
        self.done = 0
        """Runs that are there, or not needed any more."""
        self.new = 0
        """Runs of these that were not there before."""
        self.are_means_wanted = are_means_wanted
        self.latest: Cell | None = None
        """The cell under way from which an answer came last."""
        self._plan = plan
        self._store = store
        # What is kept of each run of a cell under way: nothing, if nobody asks for it.
        self._figure = plan.figure or (DEFAULT_FIGURE if are_means_wanted else None)
        self._means: dict[Cell, dict[str, Any]] = {}
        self._ended: list[Cell] = []
        self._unopened: Iterator[Cell] = iter(plan.cells)
        self._left = len(plan.cells)
        self._courses: dict[Cell, Course] = {}
        self._missing: dict[Cell, int] = {}
        self._queue: deque[tuple[Cell, list[int]]] = deque()
        self._pace = Pace()

    def take(self, capacity: int) -> Task | None:
        """Return the next task for one of so many workers; None if none can be given out now."""
        left = self._seconds_left()
        longest = max(BATCH_S, capacity * TURN_S)
        budget = min(longest, max(SHORTEST_S, left / (2 * capacity))) if left is not None else 0.0
        pieces: list[tuple[Cell, list[int]]] = []
        while self._queue or self._open():
            cell, seeds = self._queue.popleft()
            run_s = self._pace.of(cell)
            fitting = budget / run_s if run_s > 0 else math.inf if self._pace.is_known else 0
            count = int(min(len(seeds), fitting))
            if not pieces:
                count = max(count, 1)
            if count < len(seeds):
                self._queue.appendleft((cell, seeds[count:]))
            if count:
                pieces.append((cell, seeds[:count]))
                budget -= count * run_s
            if count < len(seeds) or budget <= 0:
                break
        return Task(pieces) if pieces else None

    def answered(self, cell: Cell, seeds: list[int], seconds: float, lines: list[str]) -> None:
        """Take in the runs of a cell: write them down, and see what it needs next."""
        self._store.add(cell, lines)
        self._pace.measured(cell, seconds / len(seeds))
        self.done += len(seeds)
        self.new += len(seeds)
        course = self._courses[cell]
        for seed, line in zip(seeds, lines, strict=True):
            course.values[seed], has_failed = outcome_of(line, self._figure) if self._figure else (None, False)
            if has_failed:
                course.failed.add(seed)
        self.latest = cell
        self._missing[cell] -= len(seeds)
        if not self._missing[cell]:
            self._go_on(cell)

    def mean(self, cell: Cell) -> dict[str, Any]:
        """Return what the runs of a cell say until now."""
        return self._means[cell] if cell in self._means else self._courses[cell].mean()

    def means(self) -> list[dict[str, Any]]:
        """Return a row with its factors for each cell that has begun, in the order of the plan."""
        known = self._means.keys() | self._courses.keys()
        return [dict(cell.factors) | self.mean(cell) for cell in self._plan.cells if cell in known]

    def ended(self) -> list[tuple[Cell, dict[str, Any]]]:
        """Return the cells with new runs that ended since this was asked last, if means are wanted."""
        ended, self._ended = self._ended, []
        return [(cell, self._means[cell]) for cell in ended]

    def _open(self) -> bool:
        """Open cells until there is something to run; return whether there is."""
        while not self._queue:
            cell = next(self._unopened, None)
            if cell is None:
                return False
            self._left -= 1
            self._courses[cell] = Course(self._plan, *self._store.values(cell, self._figure))
            self._go_on(cell)
        return True

    def _go_on(self, cell: Cell) -> None:
        course = self._courses[cell]
        before = len(course.decided)
        missing = course.advance()
        self.done += len(course.decided) - before - len(missing)
        if missing:
            self._missing[cell] = len(missing)
            self._queue.append((cell, missing))
            return
        self.done += len(self._plan.seeds) - len(course.decided)
        if self.are_means_wanted:
            self._means[cell] = course.mean()
            if cell in self._missing:
                self._ended.append(cell)
        del self._courses[cell]
        self.latest = None if self.latest == cell else self.latest
        self._missing.pop(cell, None)
        self._pace.forget(cell)
        self._store.put_away(cell.folder, cell.key)

    def _seconds_left(self) -> float | None:
        if not self._pace.is_known:
            return None
        queued = sum(self._pace.of(cell) * len(seeds) for cell, seeds in self._queue)
        step = self._plan.precision.every if self._plan.precision else len(self._plan.seeds)
        return queued + self._left * step * self._pace.usual


class Pace:
    """How long runs take: those of a cell, and of a cell that is not known yet."""

    def __init__(self) -> None:
        self.usual = 0.0
        self.is_known = False
        self._of: dict[Cell, float] = {}

    def of(self, cell: Cell) -> float:
        """Return the seconds that a run of a cell takes."""
        return self._of.get(cell, self.usual)

    def measured(self, cell: Cell, run_s: float) -> None:
        """Take in how long a run of a cell took in the mean."""
        self._of[cell] = run_s
        self.usual = run_s if not self.is_known else math.fsum((0.75 * self.usual, 0.25 * run_s))
        self.is_known = True

    def forget(self, cell: Cell) -> None:
        """Forget a cell that is done."""
        self._of.pop(cell, None)


BATCH_S = 2.0
"""A task is some such seconds of work, so that little is lost with a worker."""
TURN_S = 0.01
"""Many workers have longer tasks: a scheduler has so many seconds of each for each of them."""
SHORTEST_S = 0.05
"""Towards the end tasks are shorter, so that all workers end together, but not shorter than this."""
