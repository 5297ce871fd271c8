"""`import hackathon`: the Python interface shows what the commands show, from the same functions."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import hackathon
from hackathon.cli.main import run as command
from support.paths import ROOT
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study

PROGRAM = """import sys
for step in range(1, 4):
    print(f"step {step} loss {1 / step:.3f} throughput 812.5 samples/s", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a program of its own, a study of seven runs and a run that failed."""
    project = tmp_path / "train"
    write_study(
        project,
        [
            Sample(1, 1200.0),
            Sample(2, 2300.0),
            Sample(4, 4300.0, note="<b>pinned</b>"),
            Sample(8, None, "FAILED", exit_code=1),
        ],
    )
    write_rich(project, 6, failed=True)
    (project / "train.py").write_text(PROGRAM)
    (project / "project.yaml").write_text(
        "name: train\ncommand: python train.py\ncluster: laptop\nlauncher: local\nwalltime: 00:05:00\nprocesses: 1\n"
    )
    monkeypatch.chdir(project)
    return project


def answer(words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what a command prints as JSON."""
    assert command(words.split()) in (0, 1)
    return json.loads(capsys.readouterr().out)


def test_the_import_loads_only_the_standard_library() -> None:
    code = "import sys; import hackathon; print(*sorted(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    modules = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    other = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert other - {"__main__"} == {"hackathon"}


def public_names() -> str:
    """Return each public name with its signature and the first line of its docstring, methods below their class."""
    lines = []
    for name in hackathon.__all__:
        value = getattr(hackathon, name)
        if isinstance(value, str):
            continue
        lines += _entry(name, value)
        if inspect.isclass(value) and not issubclass(value, Exception):
            for member, method in vars(value).items():
                if not member.startswith("_") and (callable(method) or isinstance(method, property | classmethod)):
                    lines += [f"  {line}" for line in _entry(member, getattr(method, "__func__", method))]
    return "\n".join(lines) + "\n"


def _entry(name: str, value: Any) -> list[str]:
    document = inspect.getdoc(value)
    assert document, f"{name} has no docstring"
    shape = str(inspect.signature(value)) if inspect.isfunction(value) else ""
    return [f"{name}{shape}".replace("'", '"'), f"    {document.splitlines()[0]}"]


def test_every_public_name_is_listed_with_its_docstring() -> None:
    listed = Path(__file__).with_name("public_names.txt")
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        listed.write_text(public_names())
    assert public_names() == listed.read_text(), "a public name changed: HACKATHON_GOLDEN=write writes the list again"


def test_types_are_declared_for_every_public_name() -> None:
    declared = (ROOT / "hackathon" / "__init__.pyi").read_text()
    for name in hackathon.__all__:
        assert f"import {name} as {name}\n" in declared or f"\n{name}: " in declared, name
    assert set(hackathon.__all__) <= set(dir(hackathon))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hackathon.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_results_are_those_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = hackathon.project(folder).study()
    results = study.results(ask=False)
    printed = answer(f"results {study.id} --json --no-ask", capsys)
    assert results.json == printed
    assert [(point.processes, point.value, point.speedup) for point in results.points] == [
        (point["processes"], point["value"], point["speedup"]) for point in printed["points"]
    ]
    assert results.points[0].runs[0].doubts == () and results.points[3].status == "FAILED"
    assert results.fit is not None and results.fit.model == printed["fit"]["model"]
    assert results.series[0].base_processes == 1 and dict(results.series[0].settings) == {}
    again = hackathon.StudyResults.from_json(printed)
    assert again == results


def test_tables_have_the_rows_of_points_and_of_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = hackathon.project(folder)
    results = project.study().results(ask=False)
    points = results.to_pandas()
    assert list(points["processes"]) == [1, 2, 4, 8] and points["value"][2] == 4300.0 and points["n"][3] == 0
    assert command(["results", results.study, "--format", "csv", "--no-ask"]) == 1
    text = capsys.readouterr().out
    assert list(results.to_pandas("runs").columns) == text.splitlines()[0].split(",")
    assert results.to_polars("runs").height == len(text.splitlines()) - 1
    assert isinstance(project.runs(ask=False).to_pandas(), pandas.DataFrame)
    assert project.studies().to_polars()["mode"].to_list() == ["weak"]
    assert isinstance(results.to_polars(), polars.DataFrame)
    with pytest.raises(hackathon.RequestError, match="'points' or 'runs'"):
        results.to_pandas("lines")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(folder: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    runs = hackathon.project(folder).runs(ask=False)
    with pytest.raises(hackathon.HackathonError, match=f"{library} is not installed") as caught:
        getattr(runs, f"to_{library}")()
    assert caught.value.id == "api.no_library" and f"pip install {library}" in str(caught.value.hint)


def test_pages_of_a_notebook_escape_every_text(folder: Path) -> None:
    project = hackathon.project(folder)
    runs = project.runs(ask=False)
    results = project.study().results(ask=False)
    shown = runs._repr_html_() + results._repr_html_() + runs[0].diagnose()._repr_html_() + runs[0]._repr_html_()
    assert "<b>pinned</b>" not in shown and "&lt;b&gt;pinned&lt;/b&gt;" in shown
    assert "<script" not in shown and shown.count("data:image/svg+xml;base64,") == 1


def test_a_diagnosis_is_that_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = hackathon.project(folder).run()
    report = run.diagnose()
    printed = answer(f"diagnose {run.id} --json", capsys)
    assert {**report.to_json(), "similar": []} == {name: printed[name] for name in printed if name != "schema_version"}
    assert report.cause is not None and report.cause.level == "root" and report.cause.message in str(report)
    assert [finding.rule for finding in report.findings] == [finding["rule"] for finding in printed["findings"]]
    log = folder / "job.log"
    log.write_text(
        "Traceback (most recent call last):\n  File \"a.py\", line 3\nModuleNotFoundError: No module named 'b'\n"
    )
    from_file = hackathon.diagnose(log)
    assert from_file.cause is not None and from_file.cause.evidence is not None
    assert from_file.cause.evidence.file == str(log) and len(from_file) == 1
    with pytest.raises(hackathon.RequestError, match="does not exist"):
        hackathon.diagnose(folder / "nowhere")


def test_a_prediction_is_that_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"processes": 1, "value": 100.0}, {"processes": 2, "value": 190.0}, {"processes": 4, "value": 350.0}]
    table = folder / "table.csv"
    pandas.DataFrame(rows).to_csv(table, index=False)
    printed = answer("predict table.csv --processes 8,16 --json", capsys)
    for source in (table, rows, pandas.DataFrame(rows), polars.DataFrame(rows)):
        forecast = hackathon.predict(source, processes=[8, 16])
        assert forecast.json == printed, source
    assert [size.processes for size in forecast.predictions] == [8, 16]
    assert forecast.predictions[0].low <= forecast.predictions[0].value <= forecast.predictions[0].high
    assert "16" in str(forecast) and forecast.to_pandas()["value"][0] == printed["predictions"][0]["value"]
    of_study = hackathon.predict(hackathon.project(folder).study(), [16])
    assert of_study.json == answer("predict --processes 16 --json", capsys)
    assert hackathon.predict(folder, [16]).json == of_study.json
    two = [{**row, "series": name} for name in ("a", "b") for row in rows]
    with pytest.raises(hackathon.RequestError, match="several series: a, b"):
        hackathon.predict(two, [8])
    assert hackathon.predict(two, [8], series="b").series == "b"
    with pytest.raises(hackathon.RequestError, match="column missing"):
        hackathon.predict([{"workers": 1, "value": 2}], [8])


def test_a_script_is_that_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["render", "--processes", "2", "--walltime", "10m"]) == 0
    printed = capsys.readouterr().out
    assert hackathon.render(folder, processes=2, walltime="10m").job == printed
    assert hackathon.render(folder, processes=2, walltime=600).job == printed


def test_a_job_is_submitted_and_waited_for(folder: Path) -> None:
    runs = hackathon.submit(folder, note="from Python", tags=["api"])
    (run,) = hackathon.wait(runs, 60)
    assert (run.state, run.note, run.tags) == ("SUCCEEDED", "from Python", ("api",))
    assert run.metrics()["samples_per_s"] == 812.5 and run.refresh() == run
    assert hackathon.project(folder).runs()[0] == run


def test_a_study_is_submitted_and_measured(folder: Path) -> None:
    study = hackathon.project(folder).scale([1], repeat=2, vary={"env.COLOUR": ["red"]})
    assert [run.state for run in study.wait(60)] == ["SUCCEEDED", "SUCCEEDED"]
    (point,) = study.results().points
    assert point.value == 812.5 and point.spread.n == 2


@pytest.mark.parametrize(
    ("options", "identifier"),
    [
        ({"proceses": 2}, "api.no_option"), ({"processes": 0}, "api.no_count"), ({"walltime": "10"}, "api.no_walltime"),
        ({"cluster": "nosuch"}, "config.no_cluster"), ({"nodes": 2}, "jobs.refused"),
    ],
)  # fmt: skip
def test_a_bad_request_has_an_id_and_a_hint(folder: Path, options: dict[str, Any], identifier: str) -> None:
    with pytest.raises(hackathon.HackathonError) as caught:
        hackathon.submit(folder, **options)
    assert caught.value.id == identifier and str(caught.value)
    assert "train" not in {run.name for run in hackathon.project(folder).runs(ask=False)}


def test_a_program_with_errors_is_refused(folder: Path) -> None:
    (folder / "train.py").unlink()
    with pytest.raises(hackathon.RequestError, match="not submitted: the program has 1 error") as caught:
        hackathon.submit(folder)
    assert any("train.py, which does not exist" in note for note in caught.value.__notes__)
    assert "train" not in {run.name for run in hackathon.project(folder).runs(ask=False)}


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hackathon.RequestError, match="is not a project") as caught:
        hackathon.project(tmp_path)
    assert "hackathon init" in str(caught.value.hint)
