"""What all measures print: under which conditions, what was found, and whether a criterion that was fixed before is met."""

import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import headway

PLAN = {
    "title": "What a campaign costs",
    "hosts": ["client", "server"],
    "links": {"wan": {"between": ["client", "server"], "delay": "10ms", "loss": "1%"}},
    "flows": {"requests": {"from": "client", "to": "server", "transport": "sctp:6", "interval": "10ms"}},
    "stop": {"messages": 2000},
    "factors": {"flows.requests.transport": ["tcp", "sctp:1", "sctp:6", "sctp:unordered"]},
}
"""The plan of what is measured with real runs: four cells, 2000 transactions in each run."""


def conditions() -> None:
    """Print where and with what this runs."""
    processor = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    versions = []
    for package in ("numpy", "pyarrow", "distributed"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {os.cpu_count()} × {processor}; load {load}")
    print(f"Python {platform.python_version()}, {', '.join(versions)}; engine {headway.engine}")


class Verdicts:
    """Criteria that are met or missed."""

    def __init__(self) -> None:
        self._missed = 0

    def judge(self, what: str, value: float, unit: str, bound: float, *, is_least: bool = False) -> None:
        """Print a value beside its bound, which is the largest allowed, or the least."""
        met = value >= bound if is_least else value <= bound
        self._missed += not met
        print(f"{'met   ' if met else 'MISSED'} {what}: {value:.4g} {unit}, wanted {'at least' if is_least else 'at most'} {bound:g} {unit}")

    def exit(self) -> None:
        """End the program; its status says whether a criterion was missed."""
        sys.exit(1 if self._missed else 0)


def processor_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def resident_bytes(pid: int | str = "self") -> int:
    """Return the memory of a process that is resident now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def processor_of(pid: int) -> float:
    """Return the processor time of another process."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def cluster(folder: str, workers: int):
    """Start a Dask scheduler and workers of one thread as programs; give their numbers by name."""
    file = f"{folder}/scheduler.json"
    worker = ["--no-nanny", "--nthreads", "1", "--scheduler-file", file, "--local-directory", folder]
    wanted = {"scheduler": ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", file]} | {f"worker {n + 1}": worker for n in range(workers)}
    pids = {}
    with ExitStack() as stack:
        for name, arguments in wanted.items():
            command = [sys.executable, "-m", f"distributed.cli.dask_{name.split()[0]}", "--no-dashboard", *arguments]
            program = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            stack.callback(program.kill)
            pids[name] = program.pid
        yield pids


@contextmanager
def client(folder: str, workers: int):
    """Give a client of a cluster when its workers are there."""
    from distributed import Client

    with Client(scheduler_file=f"{folder}/scheduler.json", timeout=60) as each:
        each.wait_for_workers(workers, timeout=60)
        yield each


def argument(default: int) -> int:
    """Return the number after the name of the program, or what it is without one."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
