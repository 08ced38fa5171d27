"""Which runs are given out together, and when a cell is done. None of it changes a result."""

import math
from collections import deque
from collections.abc import Iterator

from ._cells import Cell, Course, Plan
from ._rows import figure_of
from ._store import Store
from ._workers import Task


class Schedule:
    """The runs that a store lacks. Cells are opened one after the other, so that a plan may have very many."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.all = len(plan.cells) * len(plan.seeds)
        self.done = 0
        """Runs that are there, or not needed any more."""
        self.new = 0
        """Runs of these that were not there before."""
        self._plan = plan
        self._store = store
        self._unopened: Iterator[Cell] = iter(plan.cells)
        self._left = len(plan.cells)
        self._courses: dict[Cell, Course] = {}
        self._missing: dict[Cell, int] = {}
        self._queue: deque[tuple[Cell, list[int]]] = deque()
        self._pace = Pace()

    def take(self, capacity: int) -> Task | None:
        """Return the next task for one of so many workers; None if none can be given out now."""
        left = self._seconds_left()
        budget = min(BATCH_S, max(SHORTEST_S, left / (2 * capacity))) if left is not None else 0.0
        pieces: list[tuple[Cell, list[int]]] = []
        while self._queue or self._open():
            cell, seeds = self._queue.popleft()
            run_s = self._pace.of(cell)
            count = len(seeds) if run_s == 0 else min(len(seeds), int(budget / run_s))
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
        figure, course = self._plan.figure, self._courses[cell]
        for seed, line in zip(seeds, lines, strict=True):
            course.values[seed] = figure_of(line, figure) if figure else None
        self._missing[cell] -= len(seeds)
        if not self._missing[cell]:
            self._go_on(cell)

    def _open(self) -> bool:
        """Open cells until there is something to run; return whether there is."""
        while not self._queue:
            cell = next(self._unopened, None)
            if cell is None:
                return False
            self._left -= 1
            self._courses[cell] = Course(self._plan, self._store.values(cell, self._plan.figure))
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
        del self._courses[cell]
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
"""A task is some such seconds of work: a scheduler has 10 ms for it."""
SHORTEST_S = 0.05
"""Towards the end tasks are shorter, so that all workers end together, but not shorter than this."""
