import pytest

import headway

pytest.importorskip("matplotlib").use("agg")

from headway import plot  # noqa: E402: what it needs has to be there

ROWS = [
    {"loss": loss, "transport": transport, "mean": mean, "ci95.low": low, "ci95.high": high}
    for loss, transport, mean, low, high in [
        ("10%", "tcp", 40.0, 38.0, 42.0),
        ("1%", "tcp", 25.0, None, None),
        ("1%", "sctp:6", 21.0, 20.0, 22.0),
        ("10%", "sctp:6", None, None, None),
    ]
]


def test_a_curve_is_a_level_and_goes_up_along_the_factor():
    with plot.style():
        axes = plot.over(ROWS, "loss", by="transport")
    tcp, sctp = axes.get_lines()
    assert (list(tcp.get_xdata()), list(tcp.get_ydata())) == ([1.0, 10.0], [25.0, 40.0])
    assert (list(sctp.get_xdata()), tcp.get_color(), sctp.get_color()) == ([1.0], "#d55e00", "#56b4e9")
    assert axes.get_xlabel() == "loss (%)"
    assert [len(bars.get_segments()) for bars in axes.collections] == [1, 1]


def test_levels_that_are_words_stand_in_their_order():
    axes = plot.over(ROWS, "transport", by="loss")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["tcp", "sctp:6"]


def test_a_model_and_its_simulation_are_drawn_as_shares_that_take_longer():
    model = headway.distribution("sctp:6")
    axes = plot.ccdf({"sctp:6": model})
    assert axes.get_yscale() == "log"
    plot.ccdf({"sctp:6": {"response_ms.p50": 20.0, "response_ms.p99": 45.0, "response_ms.p999": None}}, axes=axes)
    assert list(axes.get_lines()[1].get_ydata()) == [0.5, 0.01]
    plot.published(axes, [20.0], [0.4], "S1")
    assert axes.get_legend().get_texts()[-1].get_text() == "S1"


def test_durations_are_read_in_milliseconds():
    rows = [{"rto": level, "mean": 1.0} for level in ("1s", "200ms")]
    assert list(plot.over(rows, "rto").get_lines()[0].get_xdata()) == [200.0, 1000.0]
