"""How much faster two worker processes are than one: ``python bindings/python/bench/speedup.py [RUNS]``, by default 10,000 runs.

Two criteria, of which the first needs a machine without other work and two processors:

* time on the wall with one worker over that with two: at least 1.8, which is 90 % of ideal;
* what it is made of, also on a busy machine: the share of a campaign's time in which its workers have a run under way, with two, times
  the processor time of a run with one worker over that with two: at least 90 %.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import told

import headway
from headway.campaign import _workers


class Timed(_workers.LocalWorkers):
    """Workers who add up what they say that their runs take, from the first answer to the last."""

    busy_s = 0.0
    first = last = 0.0

    def wait(self):
        task, answer = super().wait()
        now = time.perf_counter()
        if not Timed.first:
            # The first task includes the start of Python, which is there once.
            Timed.first = now
        else:
            Timed.busy_s += sum(seconds for seconds, _ in answer["pieces"])
        Timed.last = now
        return task, answer


def campaign(runs: int, jobs: int) -> tuple[float, float, float]:
    """Return time on the wall, processor time, and the share of time in which workers had a run under way."""
    Timed.busy_s = Timed.first = 0.0
    wall, processor = time.perf_counter(), told.processor_s()
    with tempfile.TemporaryDirectory() as folder:
        headway.campaign(told.PLAN, runs // 4, store=Path(folder) / "store", jobs=jobs, progress=False)
    busy = Timed.busy_s / ((Timed.last - Timed.first) * jobs)
    return time.perf_counter() - wall, told.processor_s() - processor, busy


def main() -> None:
    """Measure, and judge."""
    told.conditions()
    _workers.LocalWorkers = Timed
    runs = told.argument(10_000)
    measured = {}
    for jobs in (1, 2):
        measured[jobs] = wall, processor, busy = campaign(runs, jobs)
        print(f"{jobs} worker(s): {wall:.2f} s wall, {1e3 * processor / runs:.3f} ms of processor a run, workers busy {100 * busy:.1f} % of the time", flush=True)
    verdicts = told.Verdicts()
    made_of = measured[2][2] * measured[1][1] / measured[2][1]
    verdicts.judge("workers busy, and no run dearer, of ideal", 100 * made_of, "%", 90, is_least=True)
    if len(os.sched_getaffinity(0)) < 2:
        print("not judged: time on the wall, with one processor")
        sys.exit(1)
    verdicts.judge("one worker's time on the wall over that of two", measured[1][0] / measured[2][0], "", 1.8, is_least=True)
    verdicts.exit()


if __name__ == "__main__":
    main()
