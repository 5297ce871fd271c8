"""`results --expect`: what meets its reference, what misses it, and which references are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_study(
        tmp_path, [Sample(1, 1200.0), Sample(2, 2300.0), Sample(4, 4300.0), Sample(8, None, "FAILED", exit_code=1)]
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(project: Path, *entries: str, cluster: str = "reedbush-h") -> Path:
    path = project / "reference.yaml"
    path.write_text(f"clusters:\n  {cluster}:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries))
    return path


def compared(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["results", *(words or ("kq3v7xya",)), "--no-ask", "--json", "--expect", "reference.yaml"]) == code
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["expectations"]
    return found


@pytest.mark.parametrize(
    ("entry", "met", "reason"),
    [
        ("processes: 4, value: 4300, tolerance: 0.05", True, ""),
        ("processes: 4, value: 4500, tolerance: 0.05", True, ""),
        ("processes: 4, value: 4600, tolerance: 0.05", False, "6.52 % below the reference"),
        ("processes: 4, value: 4000, tolerance: 0.05", False, "7.5 % above the reference"),
        ("processes: 4, value: 4000, tolerance: [-0.05, null]", True, ""),
        ("processes: 4, value: 4600, tolerance: [null, 0.1]", True, ""),
        ("processes: 4, value: 3.58, tolerance: 0.01, quantity: speedup", True, ""),
        (
            "processes: 4, value: 0.95, tolerance: [-0.02, null], quantity: efficiency",
            False,
            "5.7 % below the reference",
        ),
        ("processes: 8, value: 8000, tolerance: 0.5", False, "no result"),
        ("processes: 16, value: 8000, tolerance: 0.5", False, "not measured"),
        ("processes: 4, value: 4300, tolerance: 0, unit: samples/s, metric: samples_per_s", True, ""),
    ],
)
def test_a_result_is_compared_with_its_reference(
    project: Path, entry: str, met: bool, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected(project, entry)
    (row,) = compared(capsys, code=0 if met else 1)
    assert (row["met"], row["reason"]) == (met, reason), row


@pytest.mark.parametrize(("language", "said"), [("en", "1 of 2 expected results missed"), ("ja", "2 件中 1 件")])
def test_all_are_printed_below_the_table(
    project: Path, language: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected(project, "processes: 1, value: 1200, tolerance: 0.01", "processes: 2, value: 3000, tolerance: 0.01")
    assert run(["results", "--lang", language, "kq3v7xya", "--no-ask", "--expect", "reference.yaml"]) == 1
    told = capsys.readouterr()
    assert "✓ " in told.out and "✗ " in told.out and said in told.err


def test_a_run_is_compared_by_its_size(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = next(path.name for path in (project / "runs").iterdir() if "-4p-" in path.name)
    expected(project, "processes: 4, value: 1, tolerance: [null, 0.1]", "processes: 2, value: 1, tolerance: 0.1")
    (row,) = compared(capsys, name, code=1)
    assert row["processes"] == 4 and row["measured"] > 1 and not row["met"]
    expected(project, f"processes: 4, value: {row['measured']}, tolerance: 0.001")
    assert compared(capsys, name, code=0)[0]["met"]
    expected(project, "processes: 2, value: 1, tolerance: 0.1")
    assert run(["results", name, "--no-ask", "--expect", "reference.yaml"]) == 2


def test_a_doubted_result_meets_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = Path(str(write_rich(project, 5))).name  # its program joins no process group
    expected(project, "processes: 4, value: 1, tolerance: [-0.1, null]")
    assert compared(capsys, name, code=1)[0]["reason"] == "not believable"


def test_a_failed_run_misses_its_reference(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = Path(str(write_rich(project, 6, failed=True))).name
    expected(project, "value: 100, tolerance: 0.5")
    assert compared(capsys, name, code=1)[0]["reason"] == "no result"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("processes: 4, value: 4300, tolerence: 0.05", "reference.yaml:3: clusters.reedbush-h[1].tolerence"),
        ("processes: 4, value: 4300", "tolerance"),
        ("processes: 4, value: fast, tolerance: 0.05", "reference.yaml:3: clusters.reedbush-h[1].value"),
        ("processes: 4, value: 0, tolerance: 0.05", "must be greater than 0"),
        ("processes: 4, value: 1, tolerance: -0.05", "must be a share such as 0.05"),
        ("processes: 4, value: 1, tolerance: [0.05, 0.1]", "must be a share such as 0.05"),
        ("processes: 4, value: 1, tolerance: [-0.05]", "must be a share such as 0.05"),
        ("value: 1, tolerance: 0.1, quantity: speedup", "is needed for a speed-up or an efficiency"),
        ("value: 1, tolerance: 0.1", "name their `processes`"),
        ("processes: 4, value: 1, tolerance: 0.1, unit: tokens/s", "expects the unit 'tokens/s'"),
        ("processes: 4, value: 1, tolerance: 0.1, metric: loss", "--metric NAME"),
    ],
)
def test_a_bad_reference_is_refused_with_its_line(
    project: Path, entry: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected(project, entry)
    assert run(["results", "kq3v7xya", "--no-ask", "--expect", "reference.yaml"]) == 2
    told = capsys.readouterr()
    assert said in told.err and told.out == ""


def test_a_reference_of_other_clusters_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected(project, "processes: 4, value: 1, tolerance: 0.1", cluster="miyabi-g")
    assert run(["results", "kq3v7xya", "--no-ask", "--expect", "reference.yaml"]) == 2
    assert "no expected results for cluster reedbush-h; it has: miyabi-g" in capsys.readouterr().err
    assert run(["results", "kq3v7xya", "--no-ask", "--expect", "none.yaml"]) == 2
    assert run(["results", "kq3v7xya", "--no-ask", "--expect", "reference.yaml", "--format", "csv"]) == 2
