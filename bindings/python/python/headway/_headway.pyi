from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENGINE", "ModelError", "PlanError", "cells", "distribution", "half_width", "plan_of_json", "predict", "run_cell", "simulate"]

ENGINE: str

class ModelError(ValueError):
    """A model has no answer for what it was asked."""

class PlanError(ValueError):
    """A plan is wrong; ``line`` and ``key`` say where."""

    line: int
    key: str

def predict(
    transport: str,
    rtt_ms: NDArray[np.float64],
    loss: NDArray[np.float64],
    rate: NDArray[np.float64],
    model: str,
    processing_ms: float,
    rto_ms: float | None,
    profile: str,
    tolerance: float | None,
) -> NDArray[np.float64]: ...
def distribution(
    transport: str,
    rtt_ms: float,
    loss: float,
    rate: float,
    processing_ms: float,
    rto_ms: float | None,
    profile: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def simulate(
    plan: str, seeds: list[int] | None, jobs: int | None, progress: Callable[[int, int], object] | None
) -> str: ...
def plan_of_json(json: str) -> str: ...
def cells(plan: str) -> str: ...
def run_cell(cell: str, seeds: list[int]) -> list[str]: ...
def half_width(values: list[float]) -> float | None: ...
