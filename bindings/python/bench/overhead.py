"""What a campaign costs for each run beyond the run itself: ``python bindings/python/bench/overhead.py [RUNS]``.

Runs by themselves, in this process, alternate with campaigns on one worker process; processor time counts, of client and worker. What starting
Python and opening a store take is the same however many runs there are: it is measured by campaigns of one run for each cell, printed, and taken
off. Of each the least over the rounds counts: on a machine that others share, the same run takes half as long again at times, and never less than it
must. The package has to be built with optimisation, as ``pip install`` does.

Criterion: at most 2 % for each run.
"""

import statistics
import tempfile
from pathlib import Path

import told

import headway
from headway import _headway
from headway.campaign._cells import Plan

ROUNDS = 7


def taken(act) -> float:
    """Return the processor time that something takes."""
    before = told.processor_s()
    act()
    return told.processor_s() - before


def bare(seeds: int) -> None:
    """Run all cells without a campaign."""
    plan = Plan.read(told.PLAN, seeds)
    for cell in plan.cells:
        _headway.run_cell(cell.text, list(plan.seeds))


def campaign(seeds: int) -> None:
    """Run the same as a campaign."""
    with tempfile.TemporaryDirectory() as folder:
        headway.campaign(told.PLAN, seeds, store=Path(folder) / "store", jobs=1, progress=False)


def main() -> None:
    """Measure, and judge."""
    told.conditions()
    runs = told.argument(1600)
    seeds = runs // 4
    # What is only done once in a process is not part of it.
    campaign(1)
    alone, single, whole, start = [], [], [], []
    for _ in range(ROUNDS):
        single.append(taken(lambda: bare(1)))
        alone.append(taken(lambda: bare(seeds)))
        start.append(taken(lambda: campaign(1)))
        whole.append(taken(lambda: campaign(seeds)))
    counted = 4 * (seeds - 1)
    cost = (min(alone) - min(single)) / counted
    extra = (min(whole) - min(start)) / counted - cost
    spread = statistics.median(alone) / min(alone)
    print(f"{ROUNDS} rounds of {4 * seeds} runs: {1e3 * cost:.3f} ms of processor for a run (median round {spread:.2f} times the least),")
    print(f"{1e3 * extra:+.3f} ms more in a campaign, {min(start):.2f} s to start")
    verdicts = told.Verdicts()
    verdicts.judge("overhead for each run over the bare simulator", 100 * extra / cost, "%", 2.0)
    verdicts.exit()


if __name__ == "__main__":
    main()
