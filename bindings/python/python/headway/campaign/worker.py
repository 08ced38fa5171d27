"""What a worker does: runs, for whoever gave it some. A worker has no state and writes nothing but its answers.

``python -m headway.campaign.worker`` reads batches as lines of JSON and answers with lines; it ends when its input does.
"""

import json
import os
import queue
import sys
import threading
import time
from typing import Any

from .. import _headway

Batch = list[tuple[str, list[int]]]


def run_batch(batch: Batch) -> dict[str, Any]:
    """Run some cells, given as their texts, with some seeds each.

    Returns the engine, and for each of them the seconds it took and a line for each run.
    """
    pieces = []
    for text, seeds in batch:
        begin = time.perf_counter()
        lines = _headway.run_cell(text, seeds)
        pieces.append((time.perf_counter() - begin, lines))
    return {"engine": _headway.ENGINE, "pieces": pieces}


def _answer(line: str) -> dict[str, Any]:
    try:
        return run_batch(json.loads(line))
    except Exception as error:  # noqa: BLE001: whatever it is, the client should hear of it
        return {"engine": _headway.ENGINE, "error": f"{type(error).__name__}: {error}"}


def _main() -> None:
    # What somebody prints must not stand between answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    batches: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            batches.put(line)
        # Nobody is there any more to hear of a run that is under way.
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        json.dump(_answer(batches.get()), answers)
        answers.write("\n")
        answers.flush()


if __name__ == "__main__":
    _main()
