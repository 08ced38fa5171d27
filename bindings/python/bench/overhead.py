"""What a campaign costs for each run beyond the run itself: ``python bindings/python/bench/overhead.py [RUNS]``.

Runs by themselves, in this process, alternate with campaigns on one worker process; processor time counts, of client and worker,
so that other work on the machine matters little. What starting Python and opening a store take is the same however many runs there
are: it is measured by campaigns of one run for each cell, printed, and taken off. The package has to be built with optimisation, as ``pip install`` does.

Criterion: at most 2 % for each run, by the median over the rounds.
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
    runs = told.argument(400)
    seeds = runs // 4
    # What is only done once in a process is not part of it.
    campaign(1)
    shares, costs, starts = [], [], []
    for number in range(ROUNDS):
        alone = taken(lambda: bare(seeds)) - (one := taken(lambda: bare(1)))
        start = taken(lambda: campaign(1)) - one
        extra = taken(lambda: campaign(seeds)) - start - alone - one
        counted = 4 * (seeds - 1)
        shares.append(100 * extra / alone)
        costs.append(1e3 * alone / counted)
        starts.append(start)
        print(f"round {number + 1}: {costs[-1]:.3f} ms a run, campaign {1e3 * extra / counted:+.3f} ms ({shares[-1]:+.2f} %), start {start:.2f} s")
    print(f"{4 * seeds} runs a round, {statistics.median(costs):.3f} ms of processor for a run, {statistics.median(starts):.2f} s to start")
    verdicts = told.Verdicts()
    verdicts.judge("overhead for each run over the bare simulator", statistics.median(shares), "%", 2.0)
    verdicts.exit()


if __name__ == "__main__":
    main()
