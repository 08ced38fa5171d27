"""How long ``headway.predict`` takes for a million points: ``python bindings/python/bench/predict.py [POINTS]``.

Criterion: the best of five takes less than a second on the wall, for each of the models; arrays in, arrays out. The model ``resequencing`` works out a whole
distribution for each point: it is asked for a thousandth of the points, and the time for all is computed from that.
"""

import time

import numpy as np
import told

import headway

QUESTIONS = [("sctp:6", "S1", 1), ("sctp:6", "S4", 1), ("tcp", "S4", 1), ("udp", "S4", 1)]
QUESTIONS += [(transport, "resequencing", 1000) for transport in ("udp", "sctp:unordered", "sctp:6", "tcp")]


def main() -> None:
    """Measure, and judge."""
    told.conditions()
    points = told.argument(1_000_000)
    draw = np.random.default_rng(1)
    path = {"rtt_ms": draw.uniform(1, 300, points), "loss": draw.uniform(0, 0.05, points), "rate": draw.uniform(1, 200, points)}
    verdicts = told.Verdicts()
    for transport, model, share in QUESTIONS:
        walls, processors = [], []
        part = {name: values[: points // share] for name, values in path.items()}
        for _ in range(5):
            wall, processor = time.perf_counter(), told.processor_s()
            means = headway.predict(transport, model=model, **part)
            walls.append(time.perf_counter() - wall)
            processors.append(told.processor_s() - processor)
        assert isinstance(means, np.ndarray) and means.shape == (points // share,)
        print(f"{transport} by {model}: {1e9 * min(processors) * share / points:.0f} ns of processor a point, {points // share} points", flush=True)
        verdicts.judge(f"{transport} by {model}, {points} points", share * min(walls), "s", 1.0)
    verdicts.exit()


if __name__ == "__main__":
    main()
