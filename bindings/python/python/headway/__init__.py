"""Response times of signalling transactions: what theory says, and what the code that ships does in virtual time.

    >>> import headway
    >>> round(headway.predict("sctp:1", rtt_ms=20, loss=0.01, rate=100, model="S4"), 3)
    23.573
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _headway
from ._headway import ModelError, PlanError
from ._inputs import at_least_one, chosen_seeds, flat, plan_text
from ._program import Comparison, Page, ProgramError, compare, pages, reproduce
from ._result import Table
from .campaign import Campaign, CampaignError, StoreError, campaign

__all__ = [
    "Campaign",
    "CampaignError",
    "Comparison",
    "ModelError",
    "Page",
    "PlanError",
    "ProgramError",
    "Result",
    "StoreError",
    "campaign",
    "compare",
    "distribution",
    "engine",
    "pages",
    "predict",
    "reproduce",
    "simulate",
]

engine: str = _headway.ENGINE
"""Which engine this is: version, a sum over its sources, processor and system."""


def predict(
    transport: str,
    *,
    rtt_ms: Any = 20.0,
    loss: Any = 0.01,
    rate: Any = 100.0,
    model: str = "resequencing",
    processing_ms: float = 0.5,
    rto_ms: float | None = None,
    profile: str = "signalling",
    tolerance: float | None = None,
) -> Any:
    """Return the mean response time of a transaction in milliseconds.

    transport: ``sctp:N`` (streams), ``sctp:unordered``, ``tcp``, ``tcp:N`` (connections), ``quic:N`` or ``udp``.
    rtt_ms, loss, rate: round-trip time, probability that a packet is lost in either direction, messages a second;
        numbers, or arrays that NumPy can broadcast.
    model: ``resequencing`` (Headway's own, docs/models.md), or the formulas of study ``S1`` or ``S4``.
    processing_ms: what both ends together take. Default 0.5, as in the studies.
    rto_ms: the smallest retransmission timeout. Default: that of the model.
    profile: how SCTP finds losses in the model ``resequencing``: ``signalling`` or ``rfc9260``.
    tolerance: how far a mean may be from that of the model ``resequencing``, as a share of it. With one, 0.01 say, a few
        hundred points are worked out and the others interpolated: a million take half a second where ranges are moderate.
        Seventy of the points in each part are compared with the model and have to be within half of the tolerance, or the
        part is cut; that no other is farther away than all of it is likely, not proven. Default: each point is worked
        out, in a millisecond or so.

    The result is a float for numbers and an array for arrays; infinite where the model has no finite mean.
    Raises ModelError for what is no path, no load or no transport, with the index of the point.
    """
    points = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (rtt_ms, loss, rate)))
    rtts, losses, rates = (np.ascontiguousarray(each).ravel() for each in points)
    means = _headway.predict(transport, rtts, losses, rates, model, processing_ms, rto_ms, profile, tolerance)
    return means.reshape(points[0].shape) if points[0].ndim else float(means[0])


def distribution(
    transport: str,
    *,
    rtt_ms: float = 20.0,
    loss: float = 0.01,
    rate: float = 100.0,
    processing_ms: float = 0.5,
    rto_ms: float | None = None,
    profile: str = "signalling",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distribution of the response time by the model ``resequencing``.

    Two arrays: times in milliseconds, ascending, and the probability that a response takes longer than that. In between it is
    linear, for ``udp`` a step function. The arguments are those of :func:`predict`.
    """
    return _headway.distribution(transport, rtt_ms, loss, rate, processing_ms, rto_ms, profile)


def simulate(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    seeds: int | Iterable[int] | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> "Result":
    """Run a plan in the simulator: every cell with every seed, in virtual time.

    plan: the path of a TOML file as docs/plans.md describes it, or the same as a dict.
    seeds: how many seeds from 1 on, or the seeds themselves. Default: those of the plan.
    jobs: runs at the same time. Default: one per processor. Results do not depend on it.
    progress: called as ``progress(done, all)`` some ten times a second.

    A run is a function of plan and seed. An interrupt ends the run, and so does whatever ``progress`` raises.
    Raises PlanError, with ``line`` and ``key``, for what is no plan, and ValueError for no seeds or jobs.
    """
    at_least_one("jobs", jobs)
    return Result(json.loads(_headway.simulate(plan_text(plan), chosen_seeds(seeds), jobs, progress)))


class Result(Table):
    """What a plan gave. ``data`` is the ``results.json`` of ``headway simulate``."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def title(self) -> str:
        """The title of the plan."""
        return str(self.data["plan"])

    @property
    def cells(self) -> list[dict[str, Any]]:
        """One dict for each combination of levels: ``factors``, ``metrics`` over all seeds, ``links``."""
        return list(self.data["cells"])

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each cell: its factors, then its metrics with dotted names."""
        return [dict(cell["factors"]) | dict(flat(cell["metrics"])) for cell in self.cells]

    def __repr__(self) -> str:
        return f"<headway.Result of '{self.title}': {len(self.cells)} cells, {len(self.data['seeds'])} seeds>"
