import json
import os
import signal
import subprocess
import sys

import pytest
from short import PLAN, RUNS, after, octets

import headway
from headway import _headway
from headway.campaign import _progress, _schedule
from headway.campaign._cells import Plan
from headway.campaign._store import Store

pytest.importorskip("pyarrow")

class Enough(Exception):
    pass


def leave():
    raise Enough


def workers():
    psutil = pytest.importorskip("psutil")
    return [child for child in psutil.Process().children() if "headway.campaign.worker" in child.cmdline()]


def test_a_store_has_a_row_for_each_run_and_a_folder_for_each_level(undisturbed, tmp_path):
    done = headway.campaign(PLAN, store=tmp_path / "store", jobs=2)
    assert done.new == RUNS
    table = done.table()
    assert table.num_rows == RUNS
    assert table["seed"].to_pylist() == [1, 2, 3, 4, 5, 6] * 4
    assert table["links.wan.loss"].to_pylist()[::6] == ["1%", "0.05", "1%", "0.05"]
    assert set(table["engine"].to_pylist()) == {headway.engine} and table["error"].null_count == RUNS
    folders = {path.parent.relative_to(tmp_path / "store").as_posix() for path in (tmp_path / "store").rglob("*.parquet")}
    assert "flows.requests.transport=sctp%3A6/links.wan.loss=1%25" in folders and len(folders) == 4
    assert octets(tmp_path / "store") == undisturbed


def test_a_row_is_what_simulate_gives_with_one_seed(tmp_path):
    table = headway.campaign(PLAN, store=tmp_path / "store", jobs=1).table()
    rows = headway.simulate(PLAN, seeds=[3]).rows()
    for row, run in zip(rows, table.filter([seed == 3 for seed in table["seed"].to_pylist()]).to_pylist(), strict=True):
        assert (row["response_ms.mean"], row["messages"], row["failed"]) == (run["response_ms.mean"], run["messages"], run["failed"])


def test_a_dataset_is_opened_without_reading_it(tmp_path):
    dataset = headway.campaign(PLAN, store=tmp_path / "store", jobs=1).dataset()
    assert dataset.count_rows() == RUNS
    import pyarrow.compute as compute

    lost = dataset.to_table(columns=["seed", "response_ms.mean"], filter=compute.field("links.wan.loss") == "0.05")
    assert lost.num_rows == RUNS / 2


def test_a_campaign_that_ended_early_goes_on_to_the_same_octets(undisturbed, tmp_path):
    with pytest.raises(Enough):
        headway.campaign(PLAN, store=tmp_path / "store", jobs=2, progress=after(5, leave))
    there = headway.Campaign(PLAN, store=tmp_path / "store").table().num_rows
    assert 5 <= there < RUNS
    done = headway.campaign(PLAN, store=tmp_path / "store", jobs=2)
    assert done.new == RUNS - there
    assert octets(tmp_path / "store") == undisturbed
    assert headway.campaign(PLAN, store=tmp_path / "store").new == 0


def test_an_enlarged_plan_runs_only_what_is_new(undisturbed, tmp_path):
    small = PLAN | {"seeds": 4, "factors": PLAN["factors"] | {"links.wan.loss": [0.05]}}
    assert headway.campaign(small, store=tmp_path / "store", jobs=2).new == 8
    assert headway.campaign(PLAN, store=tmp_path / "store", jobs=1).new == RUNS - 8
    assert octets(tmp_path / "store") == undisturbed
    assert headway.Campaign(small, store=tmp_path / "store").table().num_rows == 8


def test_a_worker_that_is_killed_loses_nothing(undisturbed, tmp_path):
    pytest.importorskip("psutil")
    kill = after(3, lambda: [worker.kill() for worker in workers()])
    assert headway.campaign(PLAN, store=tmp_path / "store", jobs=2, progress=kill).new == RUNS
    assert octets(tmp_path / "store") == undisturbed
    assert workers() == []


def test_workers_that_always_die_end_a_campaign_and_say_where(undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(headway.CampaignError, match=r"died 3 times \(status 1\) .* flows.requests.transport = tcp"):
        headway.campaign(PLAN, store=tmp_path / "store", jobs=1)
    monkeypatch.undo()
    assert headway.campaign(PLAN, store=tmp_path / "store", jobs=2).new == RUNS
    assert octets(tmp_path / "store") == undisturbed


CLIENT = f"""
import resource, signal, sys
import headway
# Whoever starts the tests in the background has told their children to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
limit = int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

def progress(done, all):
    print(done, flush=True)
    if done >= 4 and not limit:
        # However slow whoever ends it is, it is not done before.
        signal.pause()

headway.campaign({PLAN!r}, store=sys.argv[1], jobs=2, progress=progress)
"""


def client(store, limit=0):
    """Start a client that waits to be ended in mid-campaign, or one whose files may have so many octets."""
    command = [sys.executable, "-c", CLIENT, str(store), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_is_ended_loses_and_doubles_nothing(undisturbed, tmp_path, how):
    psutil = pytest.importorskip("psutil")
    with client(tmp_path / "store") as child:
        try:
            while int(child.stdout.readline()) < 4:
                pass
            orphans = psutil.Process(child.pid).children()
            os.kill(child.pid, how)
            _, said = child.communicate(timeout=120)
        finally:
            child.kill()
    assert ("KeyboardInterrupt" in said) == (how == signal.SIGINT)
    assert psutil.wait_procs(orphans, timeout=120)[1] == []
    there = headway.Campaign(PLAN, store=tmp_path / "store").table()
    keys = list(zip(there["cell"].to_pylist(), there["seed"].to_pylist(), strict=True))
    assert len(keys) == len(set(keys)) >= 4
    assert headway.campaign(PLAN, store=tmp_path / "store", jobs=2).new == RUNS - len(keys)
    assert octets(tmp_path / "store") == undisturbed


@pytest.mark.parametrize("limit", [300, 4000, 9000])
def test_a_full_disk_is_told_and_resumed(undisturbed, tmp_path, limit):
    with client(tmp_path / "store", limit) as child:
        _, said = child.communicate(timeout=120)
    assert child.returncode == 1 and "StoreError" in said and "make room and call again" in said
    headway.campaign(PLAN, store=tmp_path / "store", jobs=2)
    assert octets(tmp_path / "store") == undisturbed


def test_a_run_that_fails_is_a_row_with_seed_and_error(tmp_path):
    # After the change packets of the second level would arrive before they are sent.
    wan = PLAN["links"]["wan"] | {"delay": "30ms", "changes": [{"at": "100ms", "delay": "10ms"}]}
    plan = PLAN | {"links": {"wan": wan}, "factors": {"links.wan.jitter": ["1ms", "20ms"]}}
    seen = []
    done = headway.campaign(plan, store=tmp_path / "store", jobs=2, interim=seen.append)
    assert seen[-1] == done.summary()
    failed = [row for row in done.table().to_pylist() if row["error"]]
    assert [(row["links.wan.jitter"], row["seed"], row["response_ms.mean"]) for row in failed] == [("20ms", n, None) for n in range(1, 7)]
    assert "jitter 20ms is larger than delay 10ms" in failed[0]["error"]
    assert [(row["runs"], row["failed"]) for row in done.summary()] == [(6, 0), (6, 6)]
    assert headway.campaign(plan, store=tmp_path / "store").new == 0


def test_a_run_that_panics_is_a_row_and_the_campaign_goes_on(tmp_path, monkeypatch):
    if not headway.engine.endswith(".faults"):
        assert os.environ.get("CI") != "true", "build the package with the feature faults"
        pytest.skip("the package is built without the feature faults")
    monkeypatch.setenv("HEADWAY_PANIC_AT_SEED", "3")
    rows = headway.campaign(PLAN, store=tmp_path / "store", jobs=2).table().to_pylist()
    panicked = [(row["seed"], row["error"], row["response_ms.mean"]) for row in rows if row["error"]]
    assert panicked == [(3, "panicked: a test asked for it", None)] * 4 and len(rows) == RUNS
    monkeypatch.undo()
    seeds = [1, 2, 4, 5, 6]
    well = headway.campaign(PLAN, seeds, store=tmp_path / "well", jobs=1).table()
    assert well.select(["seed", "trace_hash"]).to_pylist() == [
        {"seed": row["seed"], "trace_hash": row["trace_hash"]} for row in rows if not row["error"]
    ]


def test_interim_means_become_the_summary_and_are_seen_in_a_bar(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "INTERIM_S", 0.0)
    seen = []
    done = headway.campaign(PLAN, 12, store=tmp_path / "store", jobs=1, progress=True, interim=seen.append)
    assert seen[-1] == done.summary()
    assert sum(row["runs"] for row in seen[0]) < 48 and len(seen) > 2
    told = capsys.readouterr().err
    for row in done.summary():
        half = row["ci95.high"] - row["mean"]
        assert f"links.wan.loss = {row['links.wan.loss']}: {row['mean']:.4g} ± {half:.2g} (12 runs)" in told
    headway.campaign(PLAN, 12, store=tmp_path / "store", progress=True, interim=seen.append)
    assert "(12 runs)" not in capsys.readouterr().err and seen[-1] == done.summary()


LOSSES = {"links.wan.loss": ["0%", "10%"]}
PRECISE = PLAN | {"seeds": 30, "campaign": {"half_width": "4%", "every": 10}, "factors": LOSSES}


def test_a_cell_ends_when_its_interval_is_narrow_enough(tmp_path):
    one = headway.campaign(PRECISE, store=tmp_path / "one", jobs=1)
    two = headway.campaign(PRECISE, store=tmp_path / "two", jobs=2)
    assert octets(tmp_path / "one") == octets(tmp_path / "two")
    counts = [row["runs"] for row in one.summary()]
    assert min(counts) < max(counts) and all(count % 10 == 0 for count in counts)
    for row in one.summary():
        half = (row["ci95.high"] - row["ci95.low"]) / 2
        assert row["runs"] == 30 or half <= 0.04 * row["mean"]
    for cell in two.plan.cells:
        values = list(two._store.values(cell, "response_ms.mean")[0].values())
        looks = [_headway.half_width(values[:n]) <= 0.04 * sum(values[:n]) / n for n in range(10, len(values), 10)]
        assert not any(looks)


def test_a_store_with_more_runs_gives_the_table_that_the_rule_asks_for(tmp_path):
    headway.campaign(PLAN | {"factors": LOSSES}, seeds=30, store=tmp_path / "store", jobs=2)
    more = headway.campaign(PRECISE, store=tmp_path / "store")
    assert more.new == 0 and more.table().num_rows < 60
    assert more.table().equals(headway.campaign(PRECISE, store=tmp_path / "other", jobs=2).table())


def test_another_engine_is_told_and_never_mixed(undisturbed, tmp_path, monkeypatch):
    headway.campaign(PLAN, store=tmp_path / "store", jobs=1)
    monkeypatch.setattr(_headway, "ENGINE", "0.0.9+0.x86_64-linux")
    with pytest.raises(headway.StoreError, match="never mixed"):
        headway.campaign(PLAN, seeds=9, store=tmp_path / "store")
    with pytest.raises(headway.CampaignError, match="a worker has the engine .* the same wheel"):
        headway.campaign(PLAN, store=tmp_path / "new", jobs=1)
    assert list((tmp_path / "new").rglob("*.parquet")) == []
    assert octets(tmp_path / "store") == undisturbed


def test_tasks_are_short_from_the_first_one_on(tmp_path):
    plan = Plan.read(PLAN, 1000)
    schedule = _schedule.Schedule(plan, Store(tmp_path, headway.engine))
    assert [(len(task.pieces), len(task.pieces[0][1])) for task in (schedule.take(8), schedule.take(8))] == [(1, 1), (1, 1)]
    schedule.answered(plan.cells[0], [1], 0.1, ['{"seed": 1}'])
    task = schedule.take(8)
    assert sum(len(seeds) for _, seeds in task.pieces) == 20


def test_other_things_are_refused_by_name(tmp_path):
    store = tmp_path / "store"
    headway.campaign(PLAN, seeds=1, store=store, jobs=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    for plan, place, word in [
        (PLAN | {"stop": {"messages": 31}}, store, "more than its levels and seeds"),
        (PLAN | {"factors": {"links.wan.loss": ["1%"]}}, store, "has the factors"),
        (PLAN, tmp_path / "other", "other things"),
    ]:
        with pytest.raises(headway.StoreError, match=word):
            headway.campaign(plan, store=place, jobs=1)
    with pytest.raises(headway.PlanError, match="campaign.half_width"):
        headway.campaign(PLAN | {"campaign": {"half_width": 0}}, store=store)
    result = headway.Campaign(PLAN, store=store)
    with result._store.writing("held", result.plan.factors), pytest.raises(headway.StoreError, match="another campaign"):
        headway.campaign(PLAN, store=store, jobs=1)


def test_the_command_writes_and_resumes_the_same_store(undisturbed, tmp_path):
    (tmp_path / "plan.toml").write_text(_headway.plan_of_json(json.dumps(PLAN)))
    command = [sys.executable, "-m", "headway.campaign", str(tmp_path / "plan.toml"), "--store", str(tmp_path / "store"), "--json", "-"]
    for arguments, new in [(["--seeds", "2", "--seed", "3"], 8), ([], 16)]:
        ran = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["new_runs"] == new
    assert octets(tmp_path / "store") == undisturbed
    wrong = subprocess.run([*command, "--seeds", "0"], capture_output=True, text=True, timeout=120, check=False)
    assert wrong.returncode == 2 and "at least one" in wrong.stderr
