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
from hackathon.scaling.table import lower_is_better

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


SECONDS = (1.9, 1.3, 1.25, 1.31, 1.28)


def _printed(form: str) -> str:
    return "".join(form.format(n=n, value=value, sum=sum(SECONDS[: n + 1])) for n, value in enumerate(SECONDS)) + "\n"


@pytest.mark.parametrize(
    ("form", "name", "unit"),
    [
        ("epoch {n} loss 0.61 acc 0.72 time {value}s\n", "epoch_time", "s"),
        ("epoch {n} data_time: 0.1s, epoch_time: {value}s, eta 9s\n", "epoch_time", "s"),
        ("[1,0]<stdout>:Epoch {n}: val_loss 0.5 ({value} s)\n", "epoch_time", "s"),
        ("Time taken for epoch {n} is {value} sec\n", "epoch_time", "s"),
        ("epoch {n} took {value} seconds, elapsed {sum}s\n", "epoch_time", "s"),
        ("{value} s/epoch\n", "epoch_time", "s"),
        ("{n}/9 loss 0.5 {value}ms/step\n", "step_time", "ms/step"),
        ("エポック{n}の処理時間: {value} 秒\n", "epoch_time", "s"),
        ("[{n}/9] loss: 0.5 | time: {value} s | lr 0.1\n", "time", "s"),
        ("Epoch: [1][{n}/100] loss 0.3 time: {value}s data: 0.002s\n", "step_time", "s/step"),
        ("Epoch: [{n}][ 10/5005] Time {value}s (0.20s) Data 0.00s (0.01s)\n", "step_time", "s/step"),
        ("Epoch [{n}/10] train: loss 0.3 time {value}s val_loss 0.4\n", "epoch_time", "s"),
    ],
)
def test_a_time_of_an_epoch_or_a_step_stands_in_for_a_throughput(
    project: Path, capsys: pytest.CaptureFixture[str], form: str, name: str, unit: str
) -> None:
    folder = _run(project, _printed(form))
    capsys.readouterr()
    assert run(["results", "--suggest", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["suggestions"]
    assert [(each["name"], each["unit"], each["value"]) for each in found] == [(name, unit, 1.29)] and lower_is_better(
        unit
    )
    declared = {name: {key: found[0][key] for key in ("pattern", "unit", "reduce", "skip_first", "ranks")}}
    assert read_metrics(folder, declared, name)[name] == 1.29


@pytest.mark.parametrize(
    "form",
    [
        "epoch {n} time {sum}s\n", "epoch {n} elapsed: {sum} s\n", "epoch {n} ETA {value}s, remaining time {value}s\n",
        "epoch {n} total time {value}s, data time {value}s\n", "epoch {n} validation: acc 0.5 time {value}s\n",
        "epoch {n} best time {value}s\n", "epoch {n} lr {value}\n", "2026-11-26 10:0{n}:00 time 10:0{n}:00 epoch {n}\n",
        "epoch {n} loss 0.5 time {value}s\nTest: acc 0.9 time 0.1s\n", "epoch {n} time 1min {value}s\n",
        "26-01-01 12:00:00,1 Train epoch {n} time {value}s\n26-01-01 12:00:01,1 Val epoch {n} time 0.2s\n",
        "Epoch {n} | Test | Time {value} s\n", "Epoch {n}: {value} s remaining\n",
        "Loading checkpoint shards: 50%|##| {n}/9 [00:05<00:00,  {value}s/it]\n",
        "epoch {n}, train loss 0.3 ({value}s), val loss 0.4 (2.3s)\n",
    ],
)  # fmt: skip
def test_other_times_are_not_proposed(project: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    _run(project, _printed(form) + "elapsed 12.3s\nimport took 3s\ntime 12.3 s\n")
    capsys.readouterr()
    assert run(["results"]) == 0
    told = capsys.readouterr().err
    assert "--suggest" not in told and "throughput: 812.3 samples/s" in told
    assert run(["results", "--suggest"]) == 2


def test_a_throughput_in_the_jobs_own_log_goes_before_a_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _run(project, _printed("epoch {n} time {value}s\n"))
    (folder / "logs" / "job.log").write_text(PLAIN)
    capsys.readouterr()
    assert run(["results", "--suggest", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["suggestions"]] == ["throughput"]


def test_the_newest_study_is_named_beside_a_run_that_is_newer(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = project / "studies" / "20251231-000000-mine-ut2i6kfn"
    study.mkdir(parents=True)
    (study / "study.json").write_text('{"created": 0.5, "runs": []}')
    folder = _run(project, "")
    (folder / "final.json").write_text('{"state": "CANCELLED", "cause": "cancelled", "reason": "cancelled"}')
    capsys.readouterr()
    assert run(["results"]) == 1
    assert "hackathon results ut2i6kfn" in capsys.readouterr().err
    assert run(["results", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["reason"] == "cancelled: cancelled" and not told.err


def test_a_rate_that_is_read_anyway_is_only_proposed_as_a_comment(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(project, "312.5 枚/秒\n")
    capsys.readouterr()
    assert run(["results", "--suggest"]) == 0
    printed = capsys.readouterr().out
    assert "samples_per_s = 312.5 samples/s" in printed and all(line.startswith("#") for line in printed.splitlines())


@pytest.mark.parametrize(
    ("text", "processes", "word"),
    [("Epoch 1/1\n94/94 [====] - 0s 2ms/step - loss: 0.5\n", 1, "one digit"), ("812.0 samples/s\n" * 3, 2, "taken")],
)
def test_how_sure_a_number_is_stands_there_once(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, processes: int, word: str
) -> None:
    _run(project, text, processes=processes)
    capsys.readouterr()
    assert run(["results", "abcdefgh"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if word in each]
    assert line.startswith("to be checked: ")


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
            some.sampled_from(
                [
                    " throughput: ",
                    " speed=",
                    " ",
                    "速度 ",
                    "'quoted' rate ",
                    "(a+)+ speed\\",
                    "epoch 1 time ",
                    "学習時間 (",
                ]
            ),
            some.floats(0, 1e7).map(lambda value: f"{value:.2f}"),
            some.sampled_from([" frames/s", "", "/s", " k images/sec", " 局面/秒", " 'x/s", "s", " ms/step", " 秒)"]),
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


PREPARED = (
    "Map:  50%|█████     | 500/1000 [00:01<00:01, 480.31 examples/s]\n"
    "Grouping texts in chunks of 1024: 100%|██████████| 1000/1000 [00:02<00:00, 950.35 examples/s]\n"
    "Applying formatting (num_proc=4): 100%|██████████| 1000/1000 [00:02<00:00, 950.35 examples/s]\n"
)


def test_a_rate_of_preparing_data_is_never_proposed(tmp_path: Path) -> None:
    log = tmp_path / "rank-0.log"
    log.write_text(PREPARED, "utf-8")
    assert suggestions([log]) == []
    log.write_text(PREPARED + "".join(f"step {n} speed {700 + n}.5 examples/s\n" for n in range(6)), "utf-8")
    assert [offer.value for offer in suggestions([log])] == [703.5]
