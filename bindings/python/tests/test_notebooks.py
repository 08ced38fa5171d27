from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

NOTEBOOKS = Path(__file__).parents[3] / "docs" / "notebooks"


@pytest.mark.parametrize("name", ["first-look", "study-s1", "own-campaign"])
def test_a_notebook_runs_to_its_end(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    outputs = [len(cell["outputs"]) for cell in notebook.cells if cell.cell_type == "code"]
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOKS)}})
    client.execute()
    assert [len(cell["outputs"]) for cell in notebook.cells if cell.cell_type == "code"] == outputs
