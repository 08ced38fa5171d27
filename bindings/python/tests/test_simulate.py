import os
import signal
import subprocess
import sys

import pytest

import headway

PLAN = {
    "title": "A short one",
    "seeds": 2,
    "hosts": ["client", "server"],
    "links": {"wan": {"between": ["client", "server"], "delay": "10ms", "loss": "1%"}},
    "flows": {"requests": {"from": "client", "to": "server", "transport": "tcp", "interval": "10ms"}},
    "stop": {"messages": 300},
    "factors": {"flows.requests.transport": ["tcp", "sctp:6"]},
}
TEXT = """
title = "A short one"
seeds = 2
hosts = ["client", "server"]
[links.wan]
between = ["client", "server"]
delay = "10ms"
loss = "1%"
[flows.requests]
from = "client"
to = "server"
transport = "tcp"
interval = "10ms"
[stop]
messages = 300
[factors]
"flows.requests.transport" = ["tcp", "sctp:6"]
"""


def test_a_plan_gives_the_same_as_file_and_as_dict_with_any_number_of_jobs(tmp_path):
    (tmp_path / "plan.toml").write_text(TEXT)
    by_file = headway.simulate(tmp_path / "plan.toml", jobs=1)
    by_dict = headway.simulate(PLAN, jobs=3)
    assert by_file.cells == by_dict.cells
    assert by_file.data["seeds"] == [1, 2]
    assert [cell["metrics"]["completed"] for cell in by_file.cells] == [600, 600]


def test_seeds_are_counted_or_named():
    assert headway.simulate(PLAN, seeds=3).data["seeds"] == [1, 2, 3]
    assert headway.simulate(PLAN, seeds=(7, 9)).data["seeds"] == [7, 9]


def test_rows_are_factors_and_metrics_by_dotted_names():
    rows = headway.simulate(PLAN).rows()
    assert [row["flows.requests.transport"] for row in rows] == ["tcp", "sctp:6"]
    for row in rows:
        assert row["response_ms.ci95.low"] <= row["response_ms.mean"] <= row["response_ms.ci95.high"]


def test_rows_become_a_table():
    pytest.importorskip("pyarrow")
    table = headway.simulate(PLAN).to_arrow()
    assert table.num_rows == 2
    assert table["messages"].to_pylist() == [600, 600]


def test_a_wrong_plan_says_where(tmp_path):
    (tmp_path / "plan.toml").write_text(TEXT.replace('loss = "1%"', 'loss = "much"'))
    with pytest.raises(headway.PlanError, match="loss") as caught:
        headway.simulate(tmp_path / "plan.toml")
    assert (caught.value.line, caught.value.key) == (8, "links.wan.loss")
    with pytest.raises(headway.PlanError, match="title"):
        headway.simulate({"hosts": ["a"]})


@pytest.mark.parametrize("arguments", [{"seeds": 0}, {"seeds": []}, {"jobs": 0}])
def test_no_seeds_and_no_jobs_are_refused(arguments):
    with pytest.raises(ValueError, match="at least"):
        headway.simulate(PLAN, **arguments)


def test_what_progress_raises_ends_the_run():
    def tired(done, runs):
        raise TimeoutError(f"{runs} runs are too many")

    with pytest.raises(TimeoutError, match="4 runs"):
        headway.simulate(PLAN, progress=tired)


def test_progress_ends_with_all_runs():
    seen = []
    headway.simulate(PLAN, progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (4, 4)


ENDLESS = f"""
import signal
import headway
# Whoever starts the tests in the background has told their children to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
plan = {PLAN!r} | {{"stop": {{"messages": 1_000_000_000}}}}
headway.simulate(plan, progress=lambda done, all: print(done, flush=True))
"""


def test_an_interrupt_ends_a_run():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "0\n"
        os.kill(child.pid, signal.SIGINT)
        try:
            _, said = child.communicate(timeout=60)
        finally:
            child.kill()
    assert "KeyboardInterrupt" in said
