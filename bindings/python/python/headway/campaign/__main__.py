"""``python -m headway.campaign PLAN --store DIR``: a campaign from the command line, as ``headway campaign`` hands it over."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import headway
from headway.campaign import Campaign, CampaignError, campaign


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="headway campaign",
        description="Run what a store lacks of a plan: every cell with every seed, or until its interval is narrow enough.",
        epilog="Example: headway campaign plans/response-time.toml --store results --scheduler tcp://192.0.2.1:8786",
    )
    parser.add_argument("plan", metavar="PLAN.toml", help="the plan, a TOML file")
    parser.add_argument("--store", metavar="DIR", required=True, help="folder of the Parquet dataset, which is resumed")
    parser.add_argument("--seeds", metavar="N", type=int, help="so many seeds, from --seed on, instead of those of the plan")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="the first seed of --seeds")
    parser.add_argument("--jobs", metavar="N", type=int, help="processes on this machine; default one per processor")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://192.0.2.1:8786; default this machine")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON, - for standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress and no table")
    return parser.parse_args()


@contextlib.contextmanager
def _client(scheduler: str | None) -> Iterator[Any]:
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise CampaignError("--scheduler needs Dask: pip install 'headway[dask]'") from error
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise CampaignError(f"--scheduler '{scheduler}' cannot be reached: {error}") from error
    with client:
        yield client


def _text(rows: list[dict[str, Any]]) -> str:
    def word(value: Any) -> str:
        return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

    names = list(rows[0])
    lines = [names, *([word(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    return "\n".join("  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines) + "\n"


def _report(done: Campaign, arguments: argparse.Namespace) -> int:
    rows = done.summary()
    failed = sum(row["failed"] for row in rows)
    result = {
        "headway": headway.engine,
        "plan": done.plan.title,
        "store": arguments.store,
        "new_runs": done.new,
        "failed_runs": failed,
        "cells": rows,
    }
    if arguments.json == "-":
        print(json.dumps(result))
    elif arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.write(json.dumps(result, indent=1) + "\n")
    if arguments.json != "-" and not arguments.quiet:
        print(_text(rows), end="")
    runs = sum(row["runs"] for row in rows)
    print(f"{runs} runs in {arguments.store}, {done.new} of them new", file=sys.stderr)
    if failed:
        print(f"error: {failed} runs failed; their rows have \"error\"", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    """Run a campaign as the arguments of the process say; return the exit status of ``headway``."""
    arguments = _arguments()
    seeds = None if arguments.seeds is None else range(arguments.seed, arguments.seed + arguments.seeds)
    try:
        with _client(arguments.scheduler) as client:
            done = campaign(
                arguments.plan, seeds, client, store=arguments.store, jobs=arguments.jobs, progress=False if arguments.quiet else None
            )
        return _report(done, arguments)
    except (headway.PlanError, ValueError) as error:
        print(f"error: {arguments.plan}: {error}", file=sys.stderr)
        return 2
    except (CampaignError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted: what was done is in {arguments.store}; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
