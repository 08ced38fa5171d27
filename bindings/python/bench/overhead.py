"""What a campaign costs for each run beyond the run itself: ``python bindings/python/bench/overhead.py [RUNS | count]``.

With ``count`` instructions count instead of time, those of all processes, by valgrind: they are the same however busy the machine is. Two numbers of runs
are counted each way, so that what starting takes is left out.

Otherwise runs by themselves, in this process, alternate with campaigns on one worker process; processor time counts, of client and worker. What starting
Python and opening a store take is the same however many runs there are: it is measured by campaigns of one run for each cell, printed, and taken
off. Of each the least over the rounds counts: on a machine that others share, the same run takes half as long again at times, and never less than it
must. The package has to be built with optimisation, as ``pip install`` does.

Criterion: at most 2 % for each run.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import told

import headway
from headway import _headway
from headway.campaign import _workers
from headway.campaign._cells import Plan

ROUNDS = 7
COUNTED = (10, 60)
"""Seeds of each cell that instructions are counted for."""


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


def end(workers: _workers.LocalWorkers) -> None:
    """Let workers come to their end by themselves."""
    for process in workers._processes:
        process.child.stdin.close()
        process.child.wait()


def instructions(what: str, seeds: int) -> int:
    """Return the instructions of this program while it does this, and of all processes that it starts."""
    arguments = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
    command = ["valgrind", *arguments, sys.executable, __file__, what, str(seeds)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    counts = [line.partition("Collected :")[2] for line in said.splitlines() if "Collected :" in line]
    print(f"{what}, {4 * seeds} runs: {sum(map(int, counts)):,} instructions of {len(counts)} processes", flush=True)
    return sum(map(int, counts))


def count() -> None:
    """Count instructions, and judge."""
    told.conditions()
    few, many = COUNTED
    each = {
        what: (instructions(what, many) - instructions(what, few)) / (4 * (many - few)) for what in ("bare", "campaign")
    }
    print(f"{each['bare']:,.0f} instructions for a run, {each['campaign'] - each['bare']:+,.0f} more in a campaign")
    verdicts = told.Verdicts()
    verdicts.judge("overhead for each run over the bare simulator", 100 * (each["campaign"] / each["bare"] - 1), "%", 2.0)
    verdicts.exit()


def main() -> None:
    """Measure, and judge."""
    match sys.argv[1:]:
        case ["count"]:
            count()
        case ["bare", seeds]:
            bare(int(seeds))
        case ["campaign", seeds]:
            # A worker that is killed has no time to tell its count.
            _workers.LocalWorkers.close = end
            campaign(int(seeds))
        case _:
            measure()


def measure() -> None:
    """Take the time, and judge."""
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
