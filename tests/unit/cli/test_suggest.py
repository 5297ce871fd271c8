"""`results --suggest` and `init --from-log`: what is proposed is pasted, and then reads what was promised."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hackathon.cli.main import run
from hackathon.config import load
from hackathon.config.yaml import parse_yaml
from hackathon.logs.metrics import read_metrics
from hackathon.logs.suggest import block, suggestions

FRAMES = "".join(f"反復 {step} 処理速度 {1500 + step}.5 フレーム/秒 (データ 0.01 秒)\n" for step in range(0, 120, 10))
PLAIN = "setting up, 12.3MB/s\n" + "".join(f"step {n} | Throughput is {1000 + n:,}.5 | lr 0.1\n" for n in range(6))
MIXED = PLAIN + FRAMES + "learning rate: 0.5\n"
SILENT = "ETA 0:10\nlearning rate: 0.001\nDownloading 12.3MB/s\nversion 1.2.3\nloss: 0.5\ntarget throughput: 5000\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of an own command, to work in."""
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    return tmp_path


def _run(project: Path, text: str, word: str = "abcdefgh", **request: object) -> Path:
    folder = project / "runs" / f"20260101-000000-mine-1p-{word}"
    for name in ("client", "logs"):
        (folder / name).mkdir(parents=True)
    fields = {"name": "mine", "processes": 1, "nodes": 1, "scheduler": "shell", "cluster": "laptop", **request}
    (folder / "request.json").write_text(json.dumps(fields))
    (folder / "client" / "created.json").write_text('{"t": 1}')
    (folder / "final.json").write_text('{"state": "SUCCEEDED", "job_id": "7", "sealed": 2}')
    (folder / "logs" / "rank-0.log").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "value", "pattern"),
    [(FRAMES, 1565.5, "フレーム/秒"), (PLAIN, 1003.5, "is"), (MIXED, 1565.5, "処理速度")],
    ids=["japanese", "english", "both"],
)
def test_what_is_printed_is_pasted_and_reads_what_it_promised(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, value: float, pattern: str
) -> None:
    folder = _run(project, text)
    capsys.readouterr()
    assert run(["results"]) == 0
    assert "hackathon results --suggest abcdefgh" in capsys.readouterr().err
    assert run(["results", "--suggest", "abcdefgh"]) == 0
    printed = capsys.readouterr().out
    path = project / "project.yaml"
    path.write_text(path.read_text("utf-8") + printed, "utf-8")
    found = load.load_project(project)
    assert found.metric == "throughput" and pattern in str(found.metrics["throughput"].pattern)
    declared = {name: vars(metric) for name, metric in found.metrics.items()}
    assert read_metrics(folder, declared, "throughput")["throughput"] == value
    assert f"→ {value:g}" in printed
    assert run(["results", "--suggest", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["suggestions"][0]
    assert (first["pattern"], first["value"]) == (found.metrics["throughput"].pattern, value)


def test_a_rate_that_is_read_anyway_is_only_proposed_as_a_comment(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(project, "312.5 枚/秒\n")
    capsys.readouterr()
    assert run(["results", "--suggest"]) == 0
    printed = capsys.readouterr().out
    assert "samples_per_s = 312.5 samples/s" in printed and all(line.startswith("#") for line in printed.splitlines())


def test_nothing_is_proposed_for_what_is_no_throughput(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(project, SILENT)
    assert run(["results", "--suggest"]) == 2
    assert "throughput: 812.3 samples/s" in capsys.readouterr().err


def test_a_project_is_made_from_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.log").write_text(MIXED, "utf-8")
    assert run(["init", "--recipe", "torch-ddp", "a", "--from-log", "old.log"]) == 2
    assert run(["init", "--command", "python train.py", "a", "--from-log", "old.log"]) == 0
    capsys.readouterr()
    text = (tmp_path / "a" / "project.yaml").read_text("utf-8")
    assert text.count("\nmetrics:") == 1 and text.count("\n# metrics:") == 1
    project = load.load_project(tmp_path / "a")
    assert "フレーム" in str(project.metrics["throughput"].pattern) and project.metrics["throughput"].skip_first == 2
    (tmp_path / "none.log").write_text(SILENT, "utf-8")
    assert run(["init", "--command", "python train.py", "b", "--from-log", "none.log"]) == 2
    assert not (tmp_path / "b" / "project.yaml").exists()


LINES = some.lists(
    some.one_of(
        some.text(max_size=40),
        some.tuples(
            some.text(max_size=12),
            some.sampled_from([" throughput: ", " speed=", " ", "速度 ", "'quoted' rate ", "(a+)+ speed\\"]),
            some.floats(0, 1e7).map(lambda value: f"{value:.2f}"),
            some.sampled_from([" frames/s", "", "/s", " k images/sec", " 局面/秒", " 'x/s"]),
            some.text(max_size=8),
        ).map("".join),
    ),
    max_size=8,
)


@given(LINES)
def test_whatever_is_printed_the_block_is_yaml_that_says_what_was_tried(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    log = tmp_path_factory.getbasetemp() / "any.log"
    log.write_bytes("\n".join(lines).encode("utf-8", "replace"))
    for each in suggestions([log]):
        value = parse_yaml("\n".join(block([each])).encode(), log).value["metrics"][each.name]
        assert (value["pattern"], value["unit"]) == (each.pattern, each.unit)
