import pytest
from short import PLAN, octets

import headway


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    headway.campaign(PLAN, store=store, jobs=1)
    return octets(store)
