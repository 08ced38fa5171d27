"""How long ``headway.predict`` takes for a million points: ``python bindings/python/bench/predict.py [POINTS]``.

Criteria: the best of five takes less than a second on the wall, for each of the models; arrays in, arrays out. The model ``resequencing`` works out a whole
distribution for each point: it is asked for a thousandth of the points, and the time for all is computed from that. With ``tolerance=0.01`` it is asked for all,
and none of that thousandth may be farther than the tolerance from what it is without one.
"""

import time

import numpy as np
import told

import headway

QUESTIONS = [("sctp:6", "S1"), ("sctp:6", "S4"), ("tcp", "S4"), ("udp", "S4"), ("udp", "resequencing")]
TRANSPORTS = ("sctp:unordered", "sctp:6", "tcp", "quic:6")
TOLERANCE = 0.01
SHARE = 1000


def main() -> None:
    """Measure, and judge."""
    told.conditions()
    points = told.argument(1_000_000)
    draw = np.random.default_rng(1)
    path = {"rtt_ms": draw.uniform(1, 300, points), "loss": draw.uniform(0, 0.05, points), "rate": draw.uniform(1, 200, points)}
    few = {name: values[: points // SHARE] for name, values in path.items()}
    verdicts = told.Verdicts()

    def ask(transport: str, model: str, tolerance: float | None = None, share: int = 1) -> np.ndarray:
        asked = path if share == 1 else few
        name = f"{transport} by {model}" + (f" to {100 * tolerance:g} %" if tolerance else "")
        walls, processors = [], []
        for _ in range(5):
            wall, processor = time.perf_counter(), told.processor_s()
            means = headway.predict(transport, model=model, tolerance=tolerance, **asked)
            walls.append(time.perf_counter() - wall)
            processors.append(told.processor_s() - processor)
        assert isinstance(means, np.ndarray) and means.shape == asked["loss"].shape
        print(f"{name}: {1e9 * min(processors) * share / points:.0f} ns of processor a point, {points // share} points", flush=True)
        verdicts.judge(f"{name}, {points} points", share * min(walls), "s", 1.0)
        return means

    for transport, model in QUESTIONS:
        ask(transport, model)
    for transport in TRANSPORTS:
        exact = ask(transport, "resequencing", share=SHARE)
        near = ask(transport, "resequencing", TOLERANCE)[: exact.size]
        far = np.abs(near / exact - 1)
        verdicts.judge(f"{transport}, the farthest of {exact.size} points (median {100 * np.median(far):.3f} %)", 100 * far.max(), "%", 100 * TOLERANCE)
    verdicts.exit()


if __name__ == "__main__":
    main()
