"""The notebook of the documentation runs, in the folder of a project with a study."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from support.paths import ROOT
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study

NOTEBOOK = ROOT / "docs" / "examples" / "use-from-python.ipynb"
PROJECT = "name: train\ncommand: python train.py\ncluster: laptop\nlauncher: local\nwalltime: 5m\nprocesses: 1\n"


def html_of(cell: Any) -> str:
    return "".join(str(output.get("data", {}).get("text/html", "")) for output in cell.outputs)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    folder = tmp_path / "train"
    write_study(folder, [Sample(1, 1200.0), Sample(2, 2300.0), Sample(4, 4300.0)])
    write_rich(folder, 6, failed=True)
    (folder / "project.yaml").write_text(PROJECT)
    (folder / "train.py").write_text("print('step 1 loss 0.5 throughput 812.5 samples/s')\n")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit the notebook without outputs"
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = [cell for cell in notebook.cells if cell.cell_type == "code"]
    runs, results, frame, cause, forecast, script, state, error = outputs
    assert html_of(runs).count("<tr>") == 5
    assert "data:image/svg+xml;base64," in html_of(results) and "4300" in html_of(results).replace(",", "")
    assert "<td>4300.0</td>" in html_of(frame)
    assert "Cause" in html_of(cause) and "across-nodes" in html_of(forecast)
    assert script.outputs[0].text.startswith("#!/bin/bash")
    assert state.outputs[0].data["text/plain"].startswith("('SUCCEEDED', {'samples_per_s': 812.5")
    assert error.outputs[0].text.splitlines()[0] == "config.no_cluster"
