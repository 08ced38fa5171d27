"""The cells of a plan, and which of their seeds a campaign wants."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .. import _headway
from .._inputs import chosen_seeds, plan_text
from ._errors import StoreError


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    factors: tuple[tuple[str, Any], ...]
    text: str
    """The plan of this cell alone, but for its title."""
    key: str
    """The content address of the text."""

    @classmethod
    def of(cls, factors: Iterable[tuple[str, Any]], text: str) -> "Cell":
        return cls(tuple((name, level) for name, level in factors), text, hashlib.sha256(text.encode()).hexdigest()[:32])

    @property
    def folder(self) -> str:
        """The folder of the cell in a store, as Hive names partitions."""
        names = [f"{quote(name, safe='')}={quote(shown(level), safe='')}" for name, level in self.factors]
        for name in names:
            if len(name) > LONGEST_NAME:
                raise StoreError(f"the level {name[:40]}… is too long for the name of a folder: name it by [cases] in the plan")
        return "/".join(names)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {shown(level)}" for name, level in self.factors) or "the only cell"


@dataclass(frozen=True)
class Precision:
    """When a cell has had seeds enough."""

    figure: str
    half_width: float
    every: int

    def is_reached(self, values: Iterable[float | None]) -> bool:
        """Return whether the interval of the mean of the runs that have the figure is narrow enough."""
        known = [value for value in values if value is not None]
        half = _headway.half_width(known)
        return half is not None and half <= self.half_width * abs(sum(known) / len(known))


@dataclass(frozen=True)
class Plan:
    """What a campaign goes by."""

    title: str
    seeds: tuple[int, ...]
    precision: Precision | None
    cells: tuple[Cell, ...]

    @classmethod
    def read(cls, plan: str | os.PathLike[str] | Mapping[str, Any], seeds: int | Iterable[int] | None) -> "Plan":
        """Read a plan, a path or a dict; raise PlanError if it is none."""
        read = json.loads(_headway.cells(plan_text(plan)))
        wanted = chosen_seeds(seeds) or read["seeds"]
        precision = Precision(**read["precision"]) if read["precision"] else None
        cells = dict.fromkeys(Cell.of(factors, text) for factors, text in ((_pairs(each), text) for each, text in read["cells"]))
        return cls(read["title"], tuple(dict.fromkeys(wanted)), precision, tuple(cells))

    @property
    def factors(self) -> list[str]:
        """The names of what varies, in the order of the plan."""
        return [name for name, _ in self.cells[0].factors]

    @property
    def figure(self) -> str | None:
        """The figure whose values have to be known while the campaign runs."""
        return self.precision.figure if self.precision else None


class Course:
    """Which seeds of a cell are wanted next. It depends on nothing but the plan and the values of the seeds."""

    def __init__(self, plan: Plan, values: dict[int, float | None], failed: Iterable[int] = ()) -> None:
        self.values = values
        self.failed = set(failed)
        """The seeds of the runs that failed."""
        self._plan = plan
        self._decided = 0

    @property
    def decided(self) -> tuple[int, ...]:
        """The seeds that were wanted until now."""
        return self._plan.seeds[: self._decided]

    def mean(self) -> dict[str, Any]:
        """Return what the runs until now say: how many there are and failed, their mean and its 95 % interval."""
        there = [seed for seed in self.decided if seed in self.values]
        known = (self.values[seed] for seed in there)
        return mean_of([value for value in known if value is not None], len(there), len(self.failed.intersection(there)))

    def advance(self) -> list[int]:
        """Return the seeds to run before there is more to decide; none when the cell is complete."""
        precision, seeds = self._plan.precision, self._plan.seeds
        while self._decided < len(seeds):
            if precision and self._decided and precision.is_reached(self.values.get(seed) for seed in self.decided):
                break
            block = seeds[self._decided : self._decided + precision.every] if precision else seeds
            self._decided += len(block)
            missing = [seed for seed in block if seed not in self.values]
            if missing:
                return missing
        return []


def mean_of(values: list[float], runs: int, failed: int) -> dict[str, Any]:
    """Return a mean over runs and its 95 % interval, as rows of a summary have them."""
    mean = sum(values) / len(values) if values else None
    half = _headway.half_width(values)
    bounds = (None, None) if mean is None or half is None else (mean - half, mean + half)
    return {"runs": runs, "failed": failed, "mean": mean, "ci95.low": bounds[0], "ci95.high": bounds[1]}


def shown(level: Any) -> str:
    """Return a level as a word."""
    return level if isinstance(level, str) else json.dumps(level, separators=(",", ":"))


def _pairs(factors: list[list[Any]]) -> list[tuple[str, Any]]:
    return [(name, _frozen(level)) for name, level in factors]


def _frozen(level: Any) -> Any:
    """Return a level that can be a key: a list becomes the text that it is."""
    return shown(level) if isinstance(level, list | dict) else level


LONGEST_NAME = 240
DEFAULT_FIGURE = "response_ms.mean"
"""The figure that is told of cells, if the plan names none."""
