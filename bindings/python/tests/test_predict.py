import math

import numpy as np
import pytest

import headway


def test_a_study_s_formula_gives_its_value():
    assert headway.predict("sctp:1", model="S4") == pytest.approx(23.573, abs=5e-4)


def test_arrays_are_broadcast_and_agree_with_single_points():
    means = headway.predict("sctp:6", rtt_ms=[[20.0], [100.0]], loss=np.array([0.0, 0.01, 0.02]))
    assert means.shape == (2, 3)
    assert means[1, 2] == headway.predict("sctp:6", rtt_ms=100, loss=0.02)
    assert (np.diff(means, axis=1) > 0).all()


def test_many_points_are_in_the_order_of_their_arguments():
    rates = np.linspace(1, 1000, 10_001)
    means = headway.predict("sctp:1", rate=rates, model="S4")
    assert [means[at] for at in (0, 5_000, -1)] == [headway.predict("sctp:1", rate=rates[at], model="S4") for at in (0, 5_000, -1)]


def test_a_mean_that_does_not_exist_is_infinite():
    assert math.isinf(headway.predict("udp", loss=0.9, model="S4"))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"transport": "sctp:0"}, "transport: `sctp:0`: the number of streams is 1 to 65535"),
        ({"transport": "carrier-pigeon"}, "`carrier-pigeon` is no transport: use tcp, tcp:N, sctp:N"),
        ({"transport": "tcp", "loss": [0.1, 1.0]}, "point 1: loss: 1 is not a probability"),
        ({"transport": "tcp", "rate": 0}, "rate: 0 is not a rate"),
        ({"transport": "tcp", "rtt_ms": math.nan}, "rtt_ms is NaN"),
        ({"transport": "tcp", "tolerance": 0}, "tolerance is 0: it must be above 0 and below 1"),
        ({"transport": "tcp", "tolerance": 0.1, "loss": [0.1] * 1000 + [1.0]}, "point 1000: loss: 1 is not a probability"),
        ({"transport": "tcp", "model": "S9"}, "model is 'S9'"),
        ({"transport": "quic:6", "model": "S4"}, "no formula for quic"),
        ({"transport": "udp", "model": "S1"}, "no formula for udp"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name_and_value(arguments, word):
    with pytest.raises(headway.ModelError, match=word):
        headway.predict(**arguments)


def farthest(transport, tolerance, **path):
    """Return how far means within a tolerance are from those without, as a share, and whether any are not the same."""
    path = np.broadcast_arrays(*(np.asarray(path[name], dtype=float) for name in ("rtt_ms", "loss", "rate")))
    path = dict(zip(("rtt_ms", "loss", "rate"), path, strict=True))
    near, exact = headway.predict(transport, tolerance=tolerance, **path), headway.predict(transport, **path)
    assert near.shape == exact.shape
    return np.abs(near / exact - 1).max(), (near != exact).any()


def test_many_points_within_a_tolerance_are_read_off_a_surface():
    draw = np.random.default_rng(7)
    far, differs = farthest("sctp:6", 0.01, rtt_ms=draw.uniform(1, 300, 1000), loss=draw.uniform(0, 0.05, 1000), rate=draw.uniform(1, 200, 1000))
    assert differs and far <= 0.01


def test_a_grid_keeps_its_shape_and_a_factor_with_one_level_costs_nothing():
    far, differs = farthest("sctp:unordered", 0.01, rtt_ms=np.linspace(5, 50, 20)[:, None], loss=np.linspace(0, 0.03, 15), rate=100)
    assert differs and far <= 0.01


def test_where_one_surface_is_too_far_away_the_points_are_cut():
    # From far below the least timeout to beyond it, and from lone messages to many in flight.
    rates = np.geomspace(0.1, 2000, 800)
    for tolerance in (0.02, 1e-4):
        far, _ = farthest("sctp:1", tolerance, rtt_ms=np.array([[2.0], [600.0]]), loss=0.03, rate=rates)
        assert far <= tolerance


def test_what_is_fast_few_or_without_surface_is_worked_out_within_any_tolerance():
    rates = np.linspace(1, 200, 1000)
    for transport, model in (("sctp:6", "S4"), ("udp", "resequencing")):
        assert (headway.predict(transport, model=model, rate=rates, tolerance=0.5) == headway.predict(transport, model=model, rate=rates)).all()
    assert farthest("sctp:6", 0.5, rtt_ms=20, loss=0.01, rate=rates[:50]) == (0.0, False)
    assert farthest("sctp:6", 0.5, rtt_ms=0, loss=0.01, rate=rates[:200]) == (0.0, False)


def test_a_distribution_falls_and_begins_at_the_path():
    times, longer = headway.distribution("sctp:1", rtt_ms=20, processing_ms=0)
    assert times[0] >= 20 and (np.diff(times) >= 0).all() and (np.diff(longer) <= 0).all()
