import os
from pathlib import Path

import pytest

import headway

BUILT = [Path(__file__).parents[3] / "target" / profile / "headway" for profile in ("debug", "release")]


@pytest.fixture(scope="module")
def program():
    """Return the program of this repository, or one that is named."""
    named = os.environ.get("HEADWAY_PROGRAM")
    found = [each for each in BUILT if each.exists()]
    if not named and not found:
        pytest.skip("no program headway is built, nor named by HEADWAY_PROGRAM")
    return named or found[0]


def test_a_comparison_is_rows_beside_the_models(program):
    pytest.importorskip("pyarrow")
    told = headway.compare(backend="simulator", program=program, transport=["tcp", "sctp:6"], loss="2%", duration="2s", sequential=True)
    assert [row["id"] for row in told.rows()] == ["tcp", "sctp:6"] and told.data["path"]["loss"] == 0.02
    model = headway.predict("sctp:6", rtt_ms=20, loss=0.02, rate=100, processing_ms=0)
    assert told.to_arrow()["predicted.model_ms"].to_pylist()[1] == pytest.approx(model, rel=1e-3)
    assert told.reading and "tcp, sctp:6: simulator" in repr(told)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root surely may make network namespaces")
def test_real_packets_travel_or_what_is_missing_is_told(program, tmp_path):
    options = {"transport": "sctp:6", "duration": "300ms"}
    told = headway.compare(program=program, **options)
    assert told.data["path"]["backend"] == "namespaces" and told.rows()[0]["responses"] > 0
    # A user without a name has no rights, wherever this runs.
    (refused := tmp_path / "headway").write_text(f"#!/bin/sh\nexec unshare --user '{program}' \"$@\"\n")
    refused.chmod(0o755)
    with pytest.raises(headway.ProgramError, match=r"'namespaces' is refused: .* or use --backend simulator") as caught:
        headway.compare(program=refused, **options)
    assert caught.value.status == 1


def test_a_page_has_statements_verdicts_tables_and_curves(program, tmp_path):
    pytest.importorskip("pyarrow")
    assert "S1-fig1" in headway.pages(program=program)
    page = headway.reproduce("S1-fig1", quick=True, program=program, out=tmp_path)
    assert page.id == "S1-fig1" and sum(page.verdicts.values()) == len(page.statements) == 3 and page.statements[0]["because"]
    assert {"published", "arrows"} >= set(page.curves()["mark"].to_pylist()) and page.curves()["low"].null_count > 0
    assert (tmp_path / "S1.html").exists()
    table = headway.Page({"tables": [{"title": "t", "head": ["a", "b"], "rows": [["1", "2 ± 1"], ["3", "–"]]}]}).tables()["t"]
    assert table.to_pydict() == {"a": ["1", "3"], "b": ["2 ± 1", "–"]}


def test_what_makes_no_sense_is_told_by_the_program(program):
    with pytest.raises(headway.ProgramError, match=r"headway compare: invalid value '2' for '--loss .* did you mean 2%\?$") as caught:
        headway.compare(backend="simulator", program=program, loss=2)
    assert caught.value.status == 2
    with pytest.raises(headway.ProgramError, match="no such page"):
        headway.reproduce("S9-fig9", program=program)


def test_a_program_that_is_missing_is_told_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HEADWAY_PROGRAM", raising=False)
    with pytest.raises(headway.ProgramError, match="cargo install .* HEADWAY_PROGRAM"):
        headway.pages()
    with pytest.raises(headway.ProgramError, match="cannot be run"):
        headway.pages(program=tmp_path / "none")
