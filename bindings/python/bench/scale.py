"""What campaigns cost besides their runs, and where more workers stop helping: ``python bindings/python/bench/scale.py``.

Runs stand in for themselves here: workers sleep as long as a run would take and answer with the line of a real one, so that client and scheduler
have the work that they would have with workers on other machines, on a machine of two processors, too.

1. Processor time of client and scheduler for a task, for a run, and for a file, by campaigns that have many of one and few of the others.
2. A model, wall(W) = max(A / W, serial) + B: A and B from 1 and 2 workers, the serial part from step 1. It has to predict 4 and 8 workers.
3. What the same costs mean for a million runs on 1,000 workers.

Criterion: the model misses 4 and 8 workers by at most 20 %.
"""

import itertools
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import told

import headway
from headway import _headway
from headway.campaign import _schedule, _workers
from headway.campaign._cells import Plan
from headway.campaign._store import Store


@dataclass
class Cost:
    """What a campaign took: seconds on the wall, and of processor in client and scheduler."""

    wall_s: float
    client_s: float
    scheduler_s: float
    tasks: int


def plan(cells: int):
    """Return a plan of so many cells."""
    return told.PLAN | {"factors": {"links.wan.loss": [f"{n / 10000:g}" for n in range(cells)]}}


def stand_in(run_s: float):
    """Return what workers do instead of runs."""
    cell = Plan.read(told.PLAN, 1).cells[0]
    real = json.loads(_headway.run_cell(cell.text, [1])[0])
    engine = _headway.ENGINE

    def answer(batch):
        pieces = []
        for _, seeds in batch:
            time.sleep(run_s * len(seeds))
            # Runs without a duration would all be one task.
            pieces.append((max(run_s, 1e-4) * len(seeds), [json.dumps(real | {"seed": seed}) for seed in seeds]))
        return {"engine": engine, "pieces": pieces}

    return answer


def campaign(workers: int, cells: int, seeds: int, run_s: float, batch_s: float) -> Cost:
    """Run a campaign of stand-ins on a cluster, and say what it cost without the start of the cluster."""
    counted = itertools.count()
    answer = stand_in(run_s)
    submit = _workers.DaskWorkers.submit

    def counting(self, task):
        next(counted)
        submit(self, task)

    _workers.run_batch, _workers.DaskWorkers.submit = answer, counting
    _schedule.BATCH_S, _schedule.SHORTEST_S, _schedule.TURN_S = batch_s, min(batch_s, 0.05), 0.0
    try:
        with tempfile.TemporaryDirectory() as folder, told.cluster(folder, workers) as pids, told.client(folder, workers) as client:
            # What is done once, such as the import of the package by workers, is done before.
            headway.campaign(plan(1), 2 * workers, client, store=Path(folder) / "first", progress=False)
            before = time.perf_counter(), told.processor_s(), told.processor_of(pids["scheduler"])
            done = next(counted) + 1
            headway.campaign(plan(cells), seeds, client, store=Path(folder) / "store", progress=False)
            after = time.perf_counter(), told.processor_s(), told.processor_of(pids["scheduler"])
            wall, mine, its = (late - early for early, late in zip(before, after, strict=True))
            return Cost(wall, mine, its, next(counted) - done)
    finally:
        _workers.DaskWorkers.submit = submit


def costs() -> dict[str, tuple[float, float]]:
    """Return seconds of client and scheduler for a run, a task and a file."""
    shapes = [(4, 2000, 10.0), (4, 100, 1e-4), (400, 4, 10.0)]
    measured = [(campaign(2, cells, seeds, 0.0, batch_s), cells, seeds) for cells, seeds, batch_s in shapes]
    counts = np.array([[cells * seeds, cost.tasks, cells] for cost, cells, seeds in measured], dtype=float)
    client, scheduler = (np.linalg.solve(counts, [getattr(cost, side) for cost, _, _ in measured]) for side in ("client_s", "scheduler_s"))
    # For a file the wall counts: it is waited for until the disk has it.
    client[2] = max(client[2], file_s())
    scheduler[2] = 0.0
    found = {name: (float(mine), max(0.0, float(its))) for name, mine, its in zip(("run", "task", "file"), client, scheduler, strict=True)}
    for name, (mine, its) in found.items():
        print(f"a {name}: {1e3 * mine:.3f} ms of the client, {1e3 * its:.3f} ms of the scheduler")
    print(f"so at most {1 / max(found['task']):.0f} tasks, {1 / found['run'][0]:.0f} runs or {1 / found['file'][0]:.0f} files a second", flush=True)
    return found


def file_s() -> float:
    """Return how long it takes until a file is on the disk."""
    cells = Plan.read(plan(200), 1).cells
    line = _headway.run_cell(cells[0].text, [1])[0]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), _headway.ENGINE)
        for cell in cells:
            store.add(cell, [line])
        begin = time.perf_counter()
        for cell in cells:
            store.put_away(cell.folder, cell.key)
        return (time.perf_counter() - begin) / len(cells)


def predicted(found: dict[str, tuple[float, float]], verdicts: told.Verdicts) -> None:
    """Measure 1, 2, 4 and 8 workers and hold the model against them."""
    cells, seeds, run_s, batch_s = 20, 200, 0.002, 0.1
    measured = {workers: campaign(workers, cells, seeds, run_s, batch_s) for workers in (1, 2, 4, 8)}
    a = 2 * (measured[1].wall_s - measured[2].wall_s)
    b = 2 * measured[2].wall_s - measured[1].wall_s
    print(f"{cells * seeds} stand-ins of {1e3 * run_s:g} ms in tasks of {batch_s:g} s: A = {a:.2f} s, B = {b:.2f} s")
    for workers, cost in measured.items():
        serial = max(
            sum(number * found[name][side] for name, number in (("run", cells * seeds), ("task", cost.tasks), ("file", cells))) for side in (0, 1)
        )
        wall = max(a / workers, serial) + b
        miss = 100 * (wall / cost.wall_s - 1)
        print(f"{workers} worker(s): {cost.wall_s:.2f} s, {cost.tasks} tasks; model {wall:.2f} s ({miss:+.1f} %), serial part {serial:.2f} s", flush=True)
        if workers > 2:
            verdicts.judge(f"miss of the model at {workers} workers", abs(miss), "%", 20)


def real() -> None:
    """Measure real runs on processes of this machine, which has as many processors as it has."""
    _schedule.BATCH_S, _schedule.SHORTEST_S = 2.0, 0.05
    walls = {}
    for jobs in (1, 2, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            headway.campaign(told.PLAN, 200, store=Path(folder) / "store", jobs=jobs, progress=False)
            walls[jobs] = time.perf_counter() - begin
    print("800 real runs on processes of this machine: " + ", ".join(f"{jobs}: {wall:.2f} s" for jobs, wall in walls.items()))


def million(found: dict[str, tuple[float, float]]) -> None:
    """Print what a million runs on 1,000 workers would take."""
    runs, workers, seeds = 1_000_000, 1000, 1000
    print("a million runs of 1,000 seeds a cell on 1,000 workers, by the same costs:")
    print("  a run     a task    ideal    scheduler    client     wall   workers busy")
    for run_s in (0.005, 0.05, 0.5, 5.0):
        for batch_s in (0.1, 2.0, 10.0):
            a_task = max(1.0, batch_s / run_s)
            ideal = runs * run_s / workers
            scheduler = runs / a_task * found["task"][1] + runs * max(0.0, found["run"][1])
            client = runs * found["run"][0] + runs / a_task * found["task"][0] + runs / seeds * found["file"][0]
            wall = max(ideal, scheduler, client)
            print(f"{run_s:7.3f} s {a_task * run_s:7.1f} s {ideal:7.0f} s {scheduler:10.1f} s {client:8.0f} s {wall:7.0f} s {100 * ideal / wall:10.1f} %")
    print(f"workers that the client keeps busy: {1 / found['run'][0]:.0f} for each second that a run takes")


def main() -> None:
    """Measure, judge, and extrapolate."""
    told.conditions()
    verdicts = told.Verdicts()
    found = costs()
    predicted(found, verdicts)
    million(found)
    real()
    verdicts.exit()


if __name__ == "__main__":
    main()
