"""Who runs batches: processes of this machine, or a Dask cluster. Both take a batch and give an answer, in any order."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ._cells import Cell
from ._errors import CampaignError
from .worker import Batch, run_batch

Answer = dict[str, Any]


@dataclass
class Task:
    """Runs that are given out together."""

    pieces: list[tuple[Cell, list[int]]]
    deaths: int = 0

    @property
    def batch(self) -> Batch:
        return [(cell.text, seeds) for cell, seeds in self.pieces]

    def __str__(self) -> str:
        cell, seeds = self.pieces[0]
        more = len(self.pieces) - 1
        return f"{cell}, seeds {seeds[0]} to {seeds[-1]}" + (f", and {more} more cells" if more else "")


class Workers(Protocol):
    """Who runs batches."""

    def capacity(self) -> int:
        """Return how many runs take place at the same time."""

    def submit(self, task: Task) -> None:
        """Give out a task."""

    def wait(self) -> tuple[Task, Answer]:
        """Return a task that is done, and its answer; raise CampaignError for one that cannot be done."""

    def close(self) -> None:
        """End what is under way."""


@dataclass
class _Process:
    """A worker, and the tasks it has, the first of them under way."""

    child: "subprocess.Popen[str]"
    tasks: deque[Task] = field(default_factory=deque)

    def send(self, task: Task) -> None:
        self.tasks.append(task)
        try:
            assert self.child.stdin is not None
            self.child.stdin.write(json.dumps(task.batch) + "\n")
            self.child.stdin.flush()
        except OSError:
            # It is dead, which its output tells with all tasks that it had.
            pass


class LocalWorkers:
    """Processes of this machine. One that dies is replaced, and its tasks are given out anew."""

    def __init__(self, jobs: int) -> None:
        self._told: queue.SimpleQueue[tuple[_Process, str | None]] = queue.SimpleQueue()
        self._processes: list[_Process] = []
        for _ in range(jobs):
            self._start()

    def capacity(self) -> int:
        return len(self._processes)

    def submit(self, task: Task) -> None:
        min(self._processes, key=lambda each: len(each.tasks)).send(task)

    def wait(self) -> tuple[Task, Answer]:
        while True:
            process, line = self._told.get()
            if line is not None:
                return process.tasks.popleft(), json.loads(line)
            self._replace(process)

    def close(self) -> None:
        for process in self._processes:
            process.child.kill()
        for process in self._processes:
            process.child.wait()

    def pids(self) -> list[int]:
        """Return the processes by their numbers."""
        return [process.child.pid for process in self._processes]

    def _start(self) -> None:
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        child = subprocess.Popen(
            [sys.executable, "-m", "headway.campaign.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": path},
            # An interrupt of the terminal is for the client, which ends its workers.
            start_new_session=True,
        )
        process = _Process(child)
        self._processes.append(process)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _listen(self, process: _Process) -> None:
        assert process.child.stdout is not None
        for line in process.child.stdout:
            if line.endswith("\n"):
                self._told.put((process, line))
        self._told.put((process, None))

    def _replace(self, process: _Process) -> None:
        status = process.child.wait()
        self._processes.remove(process)
        self._start()
        if process.tasks:
            process.tasks[0].deaths += 1
            if process.tasks[0].deaths >= MOST_DEATHS:
                how = f"signal {-status}" if status < 0 else f"status {status}"
                raise CampaignError(f"a worker died {MOST_DEATHS} times ({how}) at the same runs: {process.tasks[0]}; is there memory enough?")
        for task in process.tasks:
            self.submit(task)


class DaskWorkers:
    """The workers of a ``dask.distributed.Client``. Dask gives the tasks of a worker that is gone to others, thrice."""

    def __init__(self, client: Any) -> None:
        from distributed import as_completed

        self._client = client
        self._done = as_completed(loop=client.loop)
        self._tasks: dict[Any, Task] = {}
        self._capacity = 1
        self._asked_again_s = 0.0

    def capacity(self) -> int:
        # The answer names all workers: the scheduler is not asked again for each task.
        if (now := time.monotonic()) >= self._asked_again_s:
            with self._reached():
                self._capacity = max(1, sum(self._client.nthreads().values()))
            self._asked_again_s = now + CAPACITY_S
        return self._capacity

    def submit(self, task: Task) -> None:
        with self._reached():
            future = self._client.submit(run_batch, task.batch, pure=False)
        self._tasks[future] = task
        self._done.add(future)

    def wait(self) -> tuple[Task, Answer]:
        future = next(self._done)
        task = self._tasks.pop(future)
        if future.status in ("cancelled", "lost"):
            raise CampaignError(SCHEDULER_GONE)
        with self._reached():
            if future.status == "finished":
                return task, future.result()
            error = future.exception()
        raise CampaignError(f"Dask could not have these runs done: {task}: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        if self._tasks and self._client.status == "running":
            self._client.cancel(list(self._tasks))
        self._tasks.clear()

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Say what it means if the scheduler dies in the middle of a request, however Dask puts it."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError | CancelledError) or self._client.status != "running":
                raise CampaignError(f"{SCHEDULER_GONE} ({type(error).__name__}: {error})") from error
            raise


MOST_DEATHS = 3
CAPACITY_S = 1.0
"""How long a cluster counts as what it was."""
SCHEDULER_GONE = "the scheduler is gone with what was under way; what was done is kept: call again when there is one"
