"""Whether memory is flat over a long campaign on a Dask cluster: ``python bindings/python/bench/memory.py [RUNS]``.

Scheduler and two workers are programs, the client is this process. The resident memory of all four is read after each thousandth run, and a line
is fitted through the second half, when everything is warm. The runs are short, so that there are many.

Dask keeps logs, samples of itself and profiles, of bounded length, which grow with time and not with runs until they are full. So the same
is read over some time after the campaign, without any run, and printed beside.

Criterion: no process grows by more than 100 kB for 1000 runs, so that a million runs cost less than 100 MB.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import told

import headway

SEEDS = 100
IDLE_S = 30


def plan(runs: int):
    """Return a plan of so many short runs, in cells of 100."""
    losses = [f"{n / 1000:g}%" for n in range(runs // SEEDS)]
    return told.PLAN | {"stop": {"messages": 20}, "factors": {"links.wan.loss": losses}}


def main() -> None:
    """Run a campaign, look at memory, and judge."""
    told.conditions()
    runs = told.argument(40_000)
    samples: dict[str, list[tuple[int, int]]] = {}
    with tempfile.TemporaryDirectory() as folder, told.cluster(folder, 2) as programs:
        pids = {"client": "self"} | programs

        def look(done: int, _all: int) -> None:
            if done // 1000 > len(samples.get("client", [])):
                for name, pid in pids.items():
                    samples.setdefault(name, []).append((done, told.resident_bytes(pid)))

        with told.client(folder, 2) as client:
            headway.campaign(plan(runs), SEEDS, client, store=Path(folder) / "store", progress=look)
            before = {name: told.resident_bytes(pid) for name, pid in pids.items()}
            time.sleep(IDLE_S)
            idle = {name: (told.resident_bytes(pid) - before[name]) / IDLE_S for name, pid in pids.items()}
    verdicts = told.Verdicts()
    for name, points in samples.items():
        done, sizes = np.array(points[len(points) // 2 :], dtype=float).T
        growth = np.polyfit(done / 1000, sizes / 1e3, 1)[0]
        print(
            f"{name}: {points[0][1] / 1e6:.1f} MB after {points[0][0]} runs, {sizes[0] / 1e6:.1f} after {done[0]:.0f}, {sizes[-1] / 1e6:.1f} after {done[-1]:.0f};"
            f" without runs {idle[name] / 1e3:+.1f} kB a second"
        )
        verdicts.judge(f"growth of the {name}", growth, "kB for 1000 runs", 100)
    verdicts.exit()


if __name__ == "__main__":
    main()
