"""Figures with matplotlib, in the look of the report: its colours, a grid behind, no frame; publications' points as crosses.

    >>> from headway import plot
    >>> with plot.style():
    ...     axes = plot.over(campaign.summary(), "links.wan.loss", by="flows.requests.transport")

Needs ``pip install 'headway[plot]'``.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

try:
    import matplotlib
    import matplotlib.pyplot
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("headway.plot needs matplotlib: pip install 'headway[plot]'") from error

from matplotlib.axes import Axes

__all__ = ["ccdf", "colours", "over", "published", "style"]


def style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws as the report does."""
    return matplotlib.rc_context(LOOK)


def over(
    rows: Iterable[Mapping[str, Any]],
    factor: str,
    *,
    by: str | None = None,
    figure: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw a figure over a factor with its 95 % intervals, a curve for each level of another factor.

    rows: those of :meth:`headway.Campaign.summary` or :meth:`headway.Result.rows`.
    factor: the factor along the axis. Percentages and durations are read as numbers (in % and ms); other levels stand in the order of the rows.
    by: the factor whose levels are curves. Default: one curve.
    figure: the figure of :meth:`headway.Result.rows`, such as ``response_ms``. Default: that of the summary.

    Returns the axes, which are made if none are given. A cell without a mean is left out.
    """
    axes = axes or matplotlib.pyplot.figure().add_subplot()
    rows = list(rows)
    curves: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        curves.setdefault(row[by] if by else None, []).append(row)
    places, unit = _places([row[factor] for row in rows])
    before = f"{figure}." if figure else ""
    for (name, points), colour, mark in zip(curves.items(), colours(list(curves)), _marks(len(curves)), strict=True):
        points = [row for row in points if row[f"{before}mean"] is not None]
        points.sort(key=lambda row: places[row[factor]])
        x = [places[row[factor]] for row in points]
        y = [row[f"{before}mean"] for row in points]
        axes.plot(x, y, color=colour, marker=mark, label=None if name is None else str(name))
        known = [(at, row) for at, row in zip(x, points, strict=True) if row.get(f"{before}ci95.low") is not None]
        low, high = ([row[f"{before}ci95.{side}"] for _, row in known] for side in ("low", "high"))
        axes.vlines([at for at, _ in known], low, high, color=colour, alpha=0.6)
    axes.set_xlabel(f"{factor} ({unit})" if unit else factor)
    axes.set_ylabel(figure or "mean")
    if unit is None:
        axes.set_xticks(list(places.values()), [str(level) for level in places])
    if by:
        axes.legend(title=by)
    return axes


def ccdf(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]] | Mapping[str, Any]],
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw which share of responses takes longer than a time, on a logarithmic scale.

    curves: by name either times and probabilities, as :func:`headway.distribution` returns them, which become a line; or a row of
        :meth:`headway.Result.rows`, whose quantiles of ``response_ms`` become marks. A model and the simulation of it by one name
        have one colour.
    """
    axes = axes or matplotlib.pyplot.figure().add_subplot()
    for (name, curve), colour, mark in zip(curves.items(), colours(list(curves)), _marks(len(curves)), strict=True):
        if isinstance(curve, Mapping):
            told = {beyond: curve.get(f"response_ms.{quantile}") for quantile, beyond in QUANTILES.items()}
            known = {beyond: time for beyond, time in told.items() if time is not None}
            axes.plot(list(known.values()), list(known), linestyle="none", marker=mark, color=colour, label=name)
        else:
            axes.plot(curve[0], curve[1], marker="", color=colour, label=name)
    axes.set_yscale("log")
    axes.set_ylim(top=1.0)
    axes.set_xlabel("response time (ms)")
    axes.set_ylabel("share that takes longer")
    axes.legend()
    return axes


def published(axes: Axes, x: Sequence[float], y: Sequence[float], label: str = "published") -> Axes:
    """Draw the points of a publication into axes, as the report does: crosses in the colour of text, above all else."""
    axes.plot(x, y, linestyle="none", marker="+", markersize=10, markeredgewidth=2.0, color=TEXT, label=label, zorder=5)
    axes.legend()
    return axes


def colours(names: Sequence[Any]) -> list[str]:
    """Return a colour for each name: transports have those of their protocol in turn, everything else those of the report."""
    taken: dict[str, int] = {}
    chosen = []
    for name in names:
        kin = next((protocol for protocol in PROTOCOLS if str(name).startswith(protocol)), "")
        palette = PROTOCOLS.get(kin, OTHERS)
        chosen.append(SERIES[palette[taken.get(kin, 0) % len(palette)]])
        taken[kin] = taken.get(kin, 0) + 1
    return chosen


def _marks(count: int) -> list[str]:
    return [MARKS[number % len(MARKS)] for number in range(count)]


def _places(levels: Sequence[Any]) -> tuple[dict[Any, float], str | None]:
    """Return where levels stand along an axis, and their unit; None for levels that are words."""
    for unit, factors in (("", {"": 1.0}), ("%", {"%": 1.0, "": 100.0}), ("ms", {"ms": 1.0, "us": 1e-3, "s": 1e3})):
        places = {level: _number(level, factors) for level in levels}
        if None not in places.values():
            return {level: place for level, place in places.items() if place is not None}, unit
    return {level: float(place) for place, level in enumerate(dict.fromkeys(levels))}, None


def _number(level: Any, factors: Mapping[str, float]) -> float | None:
    text = str(level)
    for unit, factor in factors.items():
        if text.endswith(unit):
            try:
                return float(text.removesuffix(unit)) * factor
            except ValueError:
                continue
    return None


TEXT, QUIET, GRID, CARD = "#1c2330", "#5a6475", "#e8ebf0", "#ffffff"
# After Okabe and Ito, told apart with all kinds of colour vision: the style sheet of the report.
SERIES = ("#d55e00", "#e69f00", "#8c510a", "#56b4e9", "#0072b2", "#009e73", "#4a3aa7", "#c2649a", "#5f6b7a", "#1c2330", "#8fa0b3")
PROTOCOLS = {"tcp": (0, 1, 2), "sctp": (3, 4, 5, 6), "udp": (7,), "quic": (8, 9, 10)}
OTHERS = (4, 0, 5, 6, 1, 7, 2, 3, 8, 9, 10)
MARKS = ("o", "s", "^", "x", "D", "v")
QUANTILES = {"p50": 0.5, "p90": 0.1, "p95": 0.05, "p99": 0.01, "p999": 0.001}
LOOK: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.facecolor": CARD,
    "axes.grid": True,
    "axes.labelcolor": QUIET,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": CARD,
    "figure.figsize": (7.2, 4.2),
    "figure.autolayout": True,
    "font.family": "sans-serif",
    "font.size": 10.5,
    "grid.color": GRID,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "svg.fonttype": "none",
    # Equal figures are equal files.
    "svg.hashsalt": "headway",
    "text.color": TEXT,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
