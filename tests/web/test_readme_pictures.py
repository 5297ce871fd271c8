"""The pictures of the README are what the program draws; `HACKATHON_GOLDEN=write pytest -m "" FILE` draws them anew."""

import os
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.paths import ROOT
from support.samples.runs import DEFAULT, write_study

pytestmark = pytest.mark.slow
PICTURES = ROOT / "docs" / "assets"


def test_the_curve_is_what_results_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    samples = [sample for sample in DEFAULT if sample.processes <= 16 and sample.throughput is not None]
    write_study(tmp_path, samples, title="segmentation")
    (tmp_path / "project.yaml").write_text("name: segmentation\ncommand: 'true'\n")
    monkeypatch.chdir(tmp_path)
    assert run(["results", "--plot", "curve.svg"]) == 0
    drawn = (tmp_path / "curve.svg").read_text()
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        (PICTURES / "curve.svg").write_text(drawn)
    assert (PICTURES / "curve.svg").read_text() == drawn
