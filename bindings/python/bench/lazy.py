"""What opening a dataset of a million rows takes: ``python bindings/python/bench/lazy.py [ROWS]``.

The rows are those of a real campaign, again and again under new seeds, with each number changed by some millionths, so that they are as hard to
compress as others; in files as campaigns write them: 100 cells. The dataset is opened and asked by another process, which knows nothing of how it
came about.

Criteria: opening adds at most 20 MB to the memory of the process; a mean over all rows by one factor adds at most 5 % of what all rows take
in memory, beyond what the same question costs for one file.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute as compute
import pyarrow.parquet
import told

import headway

CELLS = 100
PLAN = told.PLAN | {"stop": {"messages": 200}, "factors": {"links.wan.loss": [f"{n / 10:g}%" for n in range(CELLS)]}}
READER = """
import json, sys, time
import pyarrow.compute as compute
import pyarrow.dataset
sys.path.insert(0, sys.argv[2])
import told
import headway
plan = json.loads(sys.argv[3])

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

def asked(dataset):
    rows, total = 0, 0.0
    for batch in dataset.scanner(columns=["response_ms.mean"]).to_batches():
        rows += batch.num_rows
        total += compute.sum(batch["response_ms.mean"]).as_py() or 0.0
    return rows, total / rows

# What the libraries take is there before.
one = headway.Campaign(plan, store=sys.argv[1]).dataset()
first = pyarrow.dataset.dataset(next(one.get_fragments()).path, format="parquet")
asked(first)
before = peak()
begin = time.perf_counter()
dataset = headway.Campaign(plan, store=sys.argv[1]).dataset()
rows = dataset.count_rows()
opened, opened_s = peak(), time.perf_counter() - begin
begin = time.perf_counter()
counted, mean = asked(dataset)
print(json.dumps({"rows": rows, "counted": counted, "mean": mean, "before": before, "opened": opened, "opened_s": opened_s,
                  "asked": peak(), "asked_s": time.perf_counter() - begin}))
"""


def write(store: Path, rows: int) -> int:
    """Write a dataset of so many rows; return what they take in memory."""
    done = headway.campaign(PLAN, 10, store=store, progress=False)
    each, size, draw = rows // CELLS, 0, np.random.default_rng(1)
    for cell in done.plan.cells:
        file = store / cell.folder / f"{cell.key}.parquet"
        with pyarrow.parquet.ParquetFile(file) as parquet:
            table = parquet.read()
        table = table.take(pyarrow.array([n % table.num_rows for n in range(each)]))
        for place, field in enumerate(table.schema):
            if field.type == pyarrow.float64():
                noise = pyarrow.array(1 + 1e-6 * draw.random(each))
                table = table.set_column(place, field, compute.multiply(table.column(place), noise))
        table = table.set_column(0, table.schema.field("seed"), pyarrow.array(range(1, each + 1), pyarrow.uint64()))
        pyarrow.parquet.write_table(table, file, compression="zstd")
        size += table.nbytes
    return size


def main() -> None:
    """Write, have it opened, and judge."""
    told.conditions()
    rows = told.argument(1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        size = write(store, rows)
        on_disk = sum(path.stat().st_size for path in store.rglob("*.parquet"))
        command = [sys.executable, "-c", READER, str(store), str(Path(__file__).parent), json.dumps(PLAN)]
        told_by = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert told_by["rows"] == told_by["counted"] == rows, told_by
    print(f"{rows} rows in {CELLS} files: {on_disk / 1e6:.0f} MB on disk, {size / 1e6:.0f} MB in memory; peak before {told_by['before'] / 1e6:.0f} MB")
    print(f"opened and counted in {told_by['opened_s']:.2f} s; one column of all rows read in {told_by['asked_s']:.2f} s, peak {told_by['asked'] / 1e6:.0f} MB")
    verdicts = told.Verdicts()
    verdicts.judge("memory that opening and counting adds", (told_by["opened"] - told_by["before"]) / 1e6, "MB", 20)
    verdicts.judge("memory that a mean over all rows adds", 100 * (told_by["asked"] - told_by["opened"]) / size, "% of all rows", 5)
    verdicts.exit()


if __name__ == "__main__":
    main()
