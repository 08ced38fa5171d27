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
        ({"transport": "tcp", "model": "S9"}, "model is 'S9'"),
        ({"transport": "quic:6", "model": "S4"}, "no formula for quic"),
        ({"transport": "udp", "model": "S1"}, "no formula for udp"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name_and_value(arguments, word):
    with pytest.raises(headway.ModelError, match=word):
        headway.predict(**arguments)


def test_a_distribution_falls_and_begins_at_the_path():
    times, longer = headway.distribution("sctp:1", rtt_ms=20, processing_ms=0)
    assert times[0] >= 20 and (np.diff(times) >= 0).all() and (np.diff(longer) <= 0).all()
