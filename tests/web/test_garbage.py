"""One run whose files hold anything leaves gaps: its team's pages, the site and the state of other runs do without."""

import json
from pathlib import Path

import pytest

from hackathon.config.load import load_event
from hackathon.index.gather import gather
from hackathon.index.studies import run_key
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import LOST, RunStatus
from hackathon.runs.status import status
from hackathon.scaling.plot import plot_spec
from hackathon.scaling.table import RunResult, results
from hackathon.web.page import figures
from hackathon.web.routing.registry import values_of
from hackathon.web.site import build as making
from hackathon.web.site.build import SiteBuilder
from hackathon.web.site.publish import publish
from support.samples.event import write_event

SEALS = (
    {"cause": "no such cause"}, {"cause": ["x"]}, {"reason": {"a": 1}}, {"state": 7}, {"first_rank": "x"},
    {"t_ended": "soon", "t_started": []}, {"hosts": [1, {}]}, {"exit_code": "9", "attempt": None}, {"raw": 5},
)  # fmt: skip


@pytest.fixture
def event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    picture = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>'
    monkeypatch.setattr(figures, "pictures", lambda specs, form: [picture for _ in specs])
    monkeypatch.setitem(making.FILES, "vega.js", lambda cache: b"// Vega")
    return write_event(tmp_path / "event", 1)


@pytest.mark.parametrize("seal", SEALS, ids=str)
def test_a_seal_with_other_values_is_read_as_far_as_it_goes(seal: dict[str, object]) -> None:
    found = RunStatus.from_final("x", {"state": "FAILED", "cause": "exit", "exit_code": 1, **seal})
    assert isinstance(found.explanation, str)
    assert found.state == ("FAILED" if "state" not in seal else LOST)
    assert json.loads(json.dumps(found.to_json()))["run_id"] == "x"


@pytest.mark.slow
def test_runs_with_garbage_hide_nothing_else(event: Path, tmp_path: Path) -> None:
    runs = sorted((event / "aurora" / "train" / "runs").iterdir())
    for run, seal in zip(runs[1:], SEALS, strict=False):
        final = json.loads((run / "final.json").read_text())
        (run / "final.json").write_text(json.dumps({**final, **seal}))
    request = json.loads((runs[0] / "request.json").read_text())
    (runs[0] / "request.json").write_text(json.dumps({**request, "processes": 0, "parameters": [1]}))
    assert len(status([RunDirectory(run) for run in runs], ask=False, write=False)) == len(runs)
    source = gather(event, load_event(event), ask=False, index=tmp_path / "i" / "x.sqlite3", diagnose=False)
    for run in source.summaries:
        assert values_of("run", run_key(run), source) is not None
    for kind, key in (("team", "aurora"), ("study", f"{source.summaries[-1].project}//{source.summaries[-1].study}")):
        assert values_of(kind, key, source) is not None
    assert {"index.html", "team-aurora.html"} <= set(publish(source, tmp_path / "out", languages=["en"]).files)


@pytest.mark.slow
def test_a_page_that_can_not_be_made_is_left_out_and_told(
    event: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = gather(event, load_event(event), ask=False, index=tmp_path / "i" / "x.sqlite3", diagnose=False)
    real = SiteBuilder._values

    def values(self: SiteBuilder, page: object, *rest: object) -> object:
        if getattr(page, "kind", "") == "team":
            raise KeyError("what nobody thought of")
        return real(self, page, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(SiteBuilder, "_values", values)
    found = publish(source, tmp_path / "out", languages=["en"])
    assert "index.html" in found.files and "team-aurora.html" not in found.files
    assert [warning for warning in found.warnings if "team-aurora.html" in warning and "KeyError" in warning]


def test_a_study_with_a_size_of_nothing_is_drawn() -> None:
    runs = [RunResult(f"r{size}", None, size, 1, "SUCCEEDED", "", 100.0 * size) for size in (0, -2, 1, 2)]
    found = results("s", "weak", "samples_per_s", "samples/s", runs)
    assert [point["processes"] for point in found["points"]] == [1, 2]
    assert plot_spec(found, title="x")
