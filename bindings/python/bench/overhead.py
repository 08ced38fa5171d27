"""What a campaign costs beyond its runs, and how much faster two workers are: ``python bindings/python/bench/overhead.py [RUNS]``.

The runs by themselves, in this process, are held against campaigns with one worker and with two. Processor time is what
counts where a machine has other work; time on the wall says how well two workers are kept busy where it has none. The package
has to be built with optimisation, as ``pip install`` does.
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import headway
from headway import _headway
from headway.campaign._cells import Plan

PLAN = {
    "title": "What a campaign costs",
    "hosts": ["client", "server"],
    "links": {"wan": {"between": ["client", "server"], "delay": "10ms", "loss": "1%"}},
    "flows": {"requests": {"from": "client", "to": "server", "transport": "sctp:6", "interval": "10ms"}},
    "stop": {"messages": 2000},
    "factors": {"flows.requests.transport": ["tcp", "sctp:1", "sctp:6", "sctp:unordered"]},
}


def processor_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(act):
    """Return time on the wall and of processors that something takes."""
    wall, processor = time.perf_counter(), processor_s()
    act()
    return time.perf_counter() - wall, processor_s() - processor


def main() -> None:
    """Measure, and print."""
    seeds = int(sys.argv[1]) // 4 if len(sys.argv) > 1 else 500
    runs = 4 * seeds
    plan = Plan.read(PLAN, seeds)
    bare = measured(lambda: [_headway.run_cell(cell.text, list(plan.seeds)) for cell in plan.cells])
    print(f"{runs} runs, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, engine {headway.engine}")
    print(f"bare        {bare[0]:7.2f} s wall {bare[1]:7.2f} s processor  {1e3 * bare[1] / runs:.3f} ms a run")
    walls = {}
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            wall, processor = measured(lambda: headway.campaign(PLAN, seeds, store=Path(folder) / "store", jobs=jobs, progress=False))  # noqa: B023
        walls[jobs] = wall
        extra = processor - bare[1]
        print(
            f"{jobs} worker(s) {wall:7.2f} s wall {processor:7.2f} s processor  {1e3 * extra / runs:+.3f} ms a run ({100 * extra / bare[1]:+.1f} %),"
            " start of Python in it"
        )
    print(f"two workers are {walls[1] / walls[2]:.2f} times as fast as one")


if __name__ == "__main__":
    main()
