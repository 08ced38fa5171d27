"""Plans and seeds as users give them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _headway


def plan_text(plan: str | os.PathLike[str] | Mapping[str, Any]) -> str:
    """Return the TOML of a plan that is a path or a dict."""
    return _headway.plan_of_json(json.dumps(plan)) if isinstance(plan, Mapping) else Path(plan).read_text("utf-8")


def chosen_seeds(seeds: int | Iterable[int] | None) -> list[int] | None:
    """Return the seeds that are wanted; None for those of the plan."""
    chosen = None if seeds is None else list(range(1, seeds + 1) if isinstance(seeds, int) else seeds)
    if chosen == []:
        raise ValueError(f"seeds is {seeds!r}: there must be at least one")
    return chosen


def at_least_one(name: str, value: int | None) -> None:
    """Raise ValueError for a number that is less than one."""
    if value is not None and value < 1:
        raise ValueError(f"{name} is {value}: it must be at least 1")


def flat(figures: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """Yield figures within figures by dotted names."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        elif isinstance(value, list) and len(value) == 2 and name.startswith("ci"):
            yield from ((f"{before}{name}.{side}", bound) for side, bound in zip(("low", "high"), value, strict=True))
        else:
            yield f"{before}{name}", value
