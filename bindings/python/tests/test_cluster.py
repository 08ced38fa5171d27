import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from short import PLAN, RUNS, after, octets

import headway

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed")


def test_a_cluster_gives_the_same_octets_also_when_workers_are_killed(undisturbed, tmp_path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as dask:
            pids = list(dask.run(os.getpid).values())
            kill = after(3, lambda: os.kill(pids[0], signal.SIGKILL))
            assert headway.campaign(PLAN, client=dask, store=tmp_path / "store", progress=kill).new == RUNS
    assert octets(tmp_path / "store") == undisturbed


@contextmanager
def ended(name, *arguments):
    """Start a program of Dask that is killed in the end."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            yield program
        finally:
            program.kill()


@contextmanager
def cluster(folder):
    """Start a scheduler and two workers as programs; give the scheduler and a client that soon gives up on it."""
    file = folder / "scheduler.json"
    with ExitStack() as programs:
        scheduler = programs.enter_context(ended("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file))
        for _ in range(2):
            worker = ["--no-nanny", "--nthreads", 1, "--death-timeout", 60, "--local-directory", folder]
            programs.enter_context(ended("worker", "--scheduler-file", file, *worker))
        with distributed.Client(scheduler_file=str(file), timeout=60) as dask:
            dask.wait_for_workers(2, timeout=120)
            dask._timeout = 0.1
            yield scheduler, dask


def test_a_scheduler_that_is_killed_is_told_and_nothing_is_lost_or_doubled(undisturbed, tmp_path):
    with cluster(tmp_path) as (scheduler, dask):

        def kill():
            scheduler.kill()
            scheduler.wait()

        with pytest.raises(headway.CampaignError, match="the scheduler is gone .* kept: call again"):
            headway.campaign(PLAN, client=dask, store=tmp_path / "store", progress=after(1, kill))
    there = headway.Campaign(PLAN, store=tmp_path / "store").table()
    keys = list(zip(there["cell"].to_pylist(), there["seed"].to_pylist(), strict=True))
    assert len(keys) == len(set(keys)) and 1 <= len(keys) < RUNS
    with distributed.Client(n_workers=1, processes=False, dashboard_address=None) as dask:
        assert headway.campaign(PLAN, client=dask, store=tmp_path / "store").new == RUNS - len(keys)
    assert octets(tmp_path / "store") == undisturbed
