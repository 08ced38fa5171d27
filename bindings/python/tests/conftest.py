import pytest
from short import PLAN, octets

import headway
from headway.campaign import _schedule


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    # So that campaigns have a middle, however fast their runs are.
    monkeypatch.setattr(_schedule, "SHORTEST_S", 1e-6)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    headway.campaign(PLAN, store=store, jobs=1)
    return octets(store)
