"""The command line: help, languages, exit codes, what it loads, and what it says to wrong usage."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hackathon.cli.main import COMMANDS, MEANT, run
from hackathon.config import load
from support.paths import ROOT
from support.patience import STRETCH
from support.profiles import visible_everywhere

NAMES = [name for names in COMMANDS.values() for name in names]
REEDBUSH = ["--cluster", "reedbush-h", "--queue", "h-debug", "--group", "pz0425"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def helps() -> dict[str, dict[str, tuple[int, str]]]:
    """Every command's exit status and help, by language.

    A process of its own for each language: texts of options are looked up when a command is imported, and to import
    commands again in this process would leave two of each for the tests that come after.
    """
    program = (
        "import contextlib, io, json, sys\n"
        "from hackathon.cli.main import run\n"
        "answers = {}\n"
        "for name in sys.argv[2:]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        status = run([name, '--help', '--lang', sys.argv[1]])\n"
        "    answers[name] = (status, out.getvalue())\n"
        "print(json.dumps(answers))"
    )
    return {
        language: json.loads(subprocess.check_output([sys.executable, "-c", program, language, *NAMES]))
        for language in ("en", "ja")
    }


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", NAMES)
def test_every_command_teaches_by_example(
    name: str, language: str, helps: dict[str, dict[str, tuple[int, str]]]
) -> None:
    status, text = helps[language][name]
    assert status == 0
    assert f"hackathon {name}" in re.split("Usage:|使い方:", text)[1].split("\n", 1)[1], "an example is missing"
    assert any("぀" <= each <= "ヿ" for each in text) == (language == "ja")


def test_group_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in NAMES)


def test_group_help_begins_with_what_a_participant_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help", "--lang", "ja"]) == 0
    section = capsys.readouterr().out.split("まず使うもの:\n")[1].split("\n\n")[0]
    shown = [line.split()[0] for line in section.splitlines()]
    assert shown == ["init", "try", "scale", "results", "status", "logs", "diagnose", "cancel"]


@pytest.mark.parametrize(
    ("word", "named"), [("run", "submit"), ("kill", "cancel"), ("help", "--help"), ("sacle", "scale")]
)
def test_a_word_that_is_no_command_leads_to_one(word: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word, "train.py", "--lang", "en"]) == 2
    assert f"Did you mean {named!r}?" in capsys.readouterr().err


def test_words_that_people_try_are_no_commands_and_lead_to_commands() -> None:
    assert not set(MEANT) & set(NAMES) and set(MEANT.values()) <= {*NAMES, "--help"}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["submit", "--help"], ["scale", "--help"], ["results", "--help"], ["completion", "bash"]]
)
def test_help_and_completion_load_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from hackathon.cli.main import run; run(sys.argv[1:]);"
        "print(sorted(set(sys.modules) & {'rich','jinja2','yaml','torch','asyncio'}), file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert answer.stderr.splitlines()[-1] == "[]"


def test_render_shows_what_the_scheduler_reads_beside_the_script(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "torch-ddp", "--nodes", "2", "--cluster"]
    assert run([*words, "kubernetes"]) == 0
    script = capsys.readouterr()
    assert script.out.startswith("#!/bin/bash\n") and "job.yaml" in script.err and "render --files" in script.err
    assert run([*words, "kubernetes", "--files"]) == 0
    manifest = capsys.readouterr().out
    assert [line for line in manifest.splitlines() if line.startswith("kind:")] == ["kind: Service", "kind: Job"]
    assert run([*words, "kubernetes", "--files", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"job.yaml": manifest}
    assert run([*words, "slurm"]) == 0 and "--files" not in capsys.readouterr().err
    assert run([*words, "slurm", "--files"]) == 2 and "slurm" in capsys.readouterr().err


def test_render_loads_nothing_that_submits(project: Path) -> None:
    script = (
        "import sys; from hackathon.cli.main import run; status = run(sys.argv[1:]);"
        "print(status, [name for name in sys.modules if name.startswith('hackathon.runs')], file=sys.stderr)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, "render", "torch-ddp", *REEDBUSH], capture_output=True, text=True, check=True
    )
    assert answer.stderr.splitlines()[-1] == "0 []"
    assert "#PBS" in answer.stdout


def test_completion_offers_commands_and_options() -> None:
    def complete(line: str, number: int) -> str:
        environment = {
            "_HACKATHON_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(number),
            "PATH": "/bin",
        }
        argv = [sys.executable, "-c", "from hackathon.cli.main import main; main()"]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, cwd=ROOT).stdout

    assert "plain,scale" in complete("hackathon sc", 1)
    assert "plain,--max-queued" in complete("hackathon scale --max", 2)


def test_unknown_command_and_option_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scael"]) == 2
    assert "scale" in capsys.readouterr().err
    assert run(["scale", "--proceses", "2"]) == 2
    assert "--processes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["render"], "project.yaml"),
        (["render", "torch-dpd", "--cluster", "laptop"], "torch-ddp"),
        (["render", "torch-ddp", "--cluster", "reedbsh-h"], "reedbush-h"),
        (["render", "torch-ddp", "--cluster", "laptop", "-p", "epoch=3"], "epochs"),
        (["render", "torch-ddp", "--cluster", "laptop", "-p", "epochs=many"], "many"),
        (["render", "torch-ddp", "--cluster", "laptop", "-p", "epochs=0"], "below"),
        (["render", "torch-ddp", "--cluster", "laptop", "-p", "epochs"], "NAME=VALUE"),
        (["render", "torch-ddp", "--cluster", "laptop", "--walltime", "soon"], "soon"),
        (["render", "torch-ddp", "--cluster", "laptop", "--walltime", "10"], "write 10m or 10s"),
        (["render", "torch-ddp", "--cluster", "laptop", "--walltime", "10:00"], "write 00:10:00 or 10:00:00"),
        (["render", "torch-ddp", "--cluster", "laptop", "--launcher", "srun"], "srun"),
        (["render", "torch-ddp", "--cluster", "laptop", "--nodes", "2"], "single machine"),
        (["render", "torch-ddp", "--cluster", "reedbush-h"], "group"),
        (["render", "torch-ddp", *REEDBUSH, "--processes", "3"], "2 or 4"),
        (["scale", "torch-ddp", "--cluster", "laptop"], "--processes"),
        (["scale", "torch-ddp", "--cluster", "laptop", "--processes", "1,x"], "1,x"),
        (["scale", "torch-ddp", "--cluster", "laptop", "--processes", "1,7", "--mode", "strong"], "divided"),
        (["status", "nothing"], "nothing"),
        (["results"], "study"),
        (["init"], "--recipe"),
        (["init", "--command", "python train.py | tee log"], "run.sh"),
        (["init", "--command", "python train.py --lr {lr}"], "-p lr="),
        (["adopt", "1.x", "--cluster", "nowhere"], "nowhere"),
    ],
)
def test_wrong_requests_exit_with_2_and_say_what_to_do(
    project: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert not shown.out
    assert list(project.iterdir()) == [], "nothing may be left behind by a wrong request"


def test_a_request_that_no_queue_takes_names_the_nearest_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["torch-ddp", *REEDBUSH, "--nodes", "200", "--walltime", "100:00:00"]
    assert run(["check", *asked]) == 2
    text = capsys.readouterr().err
    assert "200 nodes" in text and "100:00:00" in text
    assert "--queue h-regular --nodes 32 --walltime 48:00:00" in text
    assert run(["check", *asked, "--json"]) == 2
    nearest = json.loads(capsys.readouterr().out)["nearest"]
    assert (nearest["queue"], nearest["nodes"], nearest["walltime"]) == ("h-regular", 32, 48 * 3600)
    accepted = ["--queue", "h-regular", "--nodes", "32", "--walltime", "48:00:00"]
    assert run(["render", "torch-ddp", "--cluster", "reedbush-h", "--group", "pz0425", *accepted]) == 0


def test_reedbush_header(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "torch-ddp", *REEDBUSH, "--nodes", "2", "--walltime", "00:15:00"]) == 0
    header = [line for line in capsys.readouterr().out.splitlines() if line.startswith("#PBS")]
    assert header == [
        "#PBS -q h-debug", "#PBS -l select=2:mpiprocs=2:ompthreads=1", "#PBS -l walltime=00:15:00",
        "#PBS -W group_list=pz0425", "#PBS -j oe",
    ]  # fmt: skip


def test_precedence_and_explain(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "project.yaml").write_text(
        "name: digits\nrecipe: torch-ddp\ncluster: reedbush-h\nqueue: h-short\ngroup: pz0425\nparameters: {lr: 0.2}\n"
    )
    monkeypatch.setenv("HACKATHON_QUEUE", "h-regular")

    def origins(*options: str) -> dict[str, list[str]]:
        assert run(["render", "--explain", *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        return {line.split()[0]: line.split() for line in lines[1:]}

    found = origins()
    assert found["queue"] == ["queue", "h-regular", "environment"]
    assert found["group"] == ["group", "pz0425", "project.yaml"]
    assert found["parameters.lr"] == ["parameters.lr", "0.2", "project.yaml"]
    assert found["walltime"][2:] == ["cluster", "reedbush-h"]
    assert found["node.cores"][1] == "unverified"
    assert origins("--queue", "h-debug", "-p", "lr=0.3")["queue"][1:] == ["h-debug", "command", "line"]


def test_bad_environment_variable_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HACKATHON_WALLTIME", "tomorrow")
    assert run(["render", "torch-ddp", "--cluster", "laptop"]) == 2
    assert "HACKATHON_WALLTIME" in capsys.readouterr().err


def test_init_with_recipe_makes_a_project_that_renders(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["init", "--recipe", "torch-ddp", "--cluster", "laptop", "--team", "青", "digits", "-p", "epochs=3"]) == 0
    )
    made = load.load_project(project / "digits")
    assert (made.name, made.team, made.parameters["epochs"]) == ("digits", "青", 3)
    assert run(["init", "--recipe", "torch-ddp", "digits"]) == 2
    assert run(["render", "digits"]) == 0
    assert "--epochs 3" in capsys.readouterr().out


def test_init_with_copy_runs_the_copy(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--recipe", "torch-ddp", "--cluster", "laptop", "--copy", "mine"]) == 0
    assert (project / "mine" / "train.py").is_file()
    assert run(["render", "mine", "--json"]) == 0
    output = capsys.readouterr().out
    request = json.loads(output[output.index('{"schema_version"') :])["request"]
    assert request["source"] == str((project / "mine").resolve())


def test_a_command_may_name_the_jobs_own_numbers(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["init", "--command", "python train.py --devices {processes}", "--cluster", "laptop", "mine"]
    assert run(words) == 0
    assert run(["render", "mine", "--processes", "3", "--json"]) == 0
    output = capsys.readouterr().out
    request = json.loads(output[output.index('{"schema_version"') :])["request"]
    assert request["command"][-2:] == ["--devices", "3"] and request["parameters"] == {}


def test_a_project_that_init_refuses_is_not_left_behind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["init", "--command", "python train.py", "--cluster", "laptop"]
    assert run([*words, "--name", "a/b", "new"]) == 2
    assert "name" in capsys.readouterr().err and not (project / "new").exists()
    assert run([*words, "--name", "ab", "new"]) == 0
    assert load.load_project(project / "new").name == "ab"


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("", {}),
        ("parameters: {}\n", {}),
        ("parameters:\n  note: {type: str}\n", {}),
        ("parameters:\n  note: {type: str}\n  lr: {default: 0.1}\n  steps: {default: 5}\n", {"lr": 0.1}),
    ],
)
def test_init_works_with_a_recipe_of_few_or_no_values(project: Path, declared: str, written: dict[str, float]) -> None:
    recipe = project / "new/recipes/plain"
    recipe.mkdir(parents=True)
    (recipe / "train.py").write_text("print('loss 1')\n")
    metric = "metric: loss\nmetrics:\n  loss: {pattern: 'loss ([0-9.]+)'}\n"
    (recipe / "recipe.yaml").write_text(f"name: plain\nframework: torch\nentry: train.py\n{metric}{declared}")
    assert run(["init", "--recipe", "plain", "--cluster", "laptop", "new"]) == 0
    assert load.load_project(project / "new").parameters == written
    assert run(["render", "new"]) == 0


def _recipe(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("print('loss 1')\n")
    metric = "metric: loss\nmetrics:\n  loss: {pattern: 'loss ([0-9.]+)'}\n"
    (folder / "recipe.yaml").write_text(f"name: {folder.name}\nframework: torch\nentry: train.py\n{metric}")


def test_init_finds_the_recipes_that_the_project_will_find(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "hackathon.yaml").write_text("title: t\n")
    _recipe(project / "recipes" / "ours")
    assert run(["init", "--recipe", "ours", "--cluster", "laptop", "a"]) == 0
    assert run(["init", "--recipe", "./recipes/ours", "--cluster", "laptop", "b"]) == 0
    assert run(["render", "a"]) == 0 and run(["render", "b"]) == 0
    # what only an enclosing project has is not the new one's
    (project / "outer" / "project.yaml").parent.mkdir()
    (project / "outer" / "project.yaml").write_text("name: outer\ncommand: python train.py\n")
    _recipe(project / "outer" / "recipes" / "theirs")
    assert run(["init", "--recipe", "./outer/recipes/theirs", "--cluster", "laptop", "outer/inner"]) == 2
    assert "recipes/theirs" in capsys.readouterr().err and not (project / "outer" / "inner").exists()


@pytest.mark.parametrize("name", ["torch-ddp", "mine"])
def test_init_refuses_a_recipe_that_its_name_does_not_lead_to(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    _recipe(project / "elsewhere" / name)
    words = ["init", "--recipe", f"./elsewhere/{name}", "--cluster", "laptop"]
    for more in ([], ["--copy"]):
        assert run([*words, *more, "new"]) == 2
        said = capsys.readouterr().err
        assert str(project / "elsewhere" / name) in said and str(project / "new" / "recipes" / name) in said
        assert not (project / "new").exists()
    shutil.copytree(project / "elsewhere" / name, project / "new" / "recipes" / name)
    assert run(["init", "--recipe", f"./new/recipes/{name}", "--cluster", "laptop", "new"]) == 0
    assert run(["render", "new"]) == 0
    assert run(["init", "--recipe", name, "--cluster", "laptop", "other"]) == (0 if name == "torch-ddp" else 2)


@pytest.mark.parametrize(
    ("name", "line"),
    [("train.py", "python train.py"), ("run.sh", "bash run.sh"), ("my run.py", "python 'my run.py'"), ("a", "./a")],
)
def test_init_of_a_program_names_the_command_that_works(
    project: Path, capsys: pytest.CaptureFixture[str], name: str, line: str
) -> None:
    (project / name).write_text("print(1)\n")
    assert run(["init", name]) == 2
    printed = capsys.readouterr().err
    assert f"{name} is a file" in printed and not (project / "project.yaml").exists()
    words = shlex.split(printed.split("`")[-2])
    assert words[1:3] == ["init", "--command"] and words[3] == line
    assert run(words[1:]) == 0


def test_init_around_own_code_changes_nothing_of_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("print('mine')\n")
    assert (
        run(
            ["init", "--command", "python train.py --lr {lr} --note '日本 $(x)'", "-p", "lr=0.1", "--cluster", "laptop"]
        )
        == 0
    )
    assert (project / "train.py").read_text() == "print('mine')\n"
    assert run(["render", "-p", "lr=0.5", "--json"]) == 0
    output = capsys.readouterr().out
    command = json.loads(output[output.index('{"schema_version"') :])["request"]["command"]
    assert command == ["python", "train.py", "--lr", "0.5", "--note", "日本 $(x)"]


def test_render_prints_what_json_says(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "torch-ddp", "--cluster", "laptop"]) == 0
    plain = capsys.readouterr().out
    assert run(["render", "torch-ddp", "--cluster", "laptop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["job"] == plain
    assert run(["render", "torch-ddp", "--cluster", "laptop", "--rank"]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/bash\n# rank.sh")


def test_render_all_prints_every_file_of_the_job(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["render", "torch-ddp", "--cluster", "laptop"]
    assert run([*words, "--all", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert list(files) == ["job.sh", "hackathon.sh", "rank.sh"]
    for options, name in (([], "job.sh"), (["--rank"], "rank.sh")):
        assert run([*words, *options]) == 0
        assert capsys.readouterr().out == files[name]
    assert run([*words, "--all"]) == 0
    assert capsys.readouterr().out == "\n".join(f"==> {name} <==\n{text}" for name, text in files.items())
    assert run(["render", "torch-ddp", "--cluster", "kubernetes", "--nodes", "2", "--all", "--json"]) == 0
    assert "job.yaml" in json.loads(capsys.readouterr().out)["files"]


@pytest.mark.parametrize("name", ["project", "recipe", "cluster", "event", "user"])
def test_schema_is_json_schema(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", name]) == 0
    assert "properties" in json.dumps(json.loads(capsys.readouterr().out))


def test_clusters_and_recipes_as_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["clusters", "--json"]) == 0
    assert {"laptop", "slurm", "reedbush-h", "abci3"} <= {
        each["name"] for each in json.loads(capsys.readouterr().out)["clusters"]
    }
    assert run(["clusters", "reedbush-h"]) == 0
    assert "1–4 ?" in capsys.readouterr().out
    assert run(["recipes", "torch-ddp", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metric"] == "samples_per_s"


def test_study_dry_run_costs_and_leaves_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visible_everywhere("reedbush-h")
    asked = [
        "scale",
        "torch-ddp",
        *REEDBUSH,
        "--processes",
        "2,4,8",
        "--walltime",
        "00:30:00",
        "--repeat",
        "2",
        "--dry-run",
    ]
    assert run(asked) == 0
    text = capsys.readouterr().err
    assert "6 jobs, 7.00 node-hours, 14.00 GPU-hours" in text
    assert list(project.iterdir()) == []


def test_interactive_job_has_the_header_of_the_batch_job(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shell", "torch-ddp", *REEDBUSH, "--nodes", "2", "--dry-run"]) == 0
    words = capsys.readouterr().out.split()
    assert words[:4] == ["qsub", "-I", "-q", "h-debug"]
    assert "select=2:mpiprocs=2:ompthreads=1" in words and "group_list=pz0425" in words
    assert run(["shell", "torch-ddp", "--cluster", "slurm", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("salloc --nodes=1")


def test_doctor_names_what_is_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(["doctor", "torch-ddp", "--cluster", "reedbush-h", "--json"]) == 1
    findings = {each["about"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["scheduler"]["level"] == "bad" and "qstat" in findings["scheduler"]["text"]
    assert findings["folder"]["level"] == "bad" or "/lustre" in json.dumps(findings)


def test_errors_are_japanese_when_asked_for(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "torch-ddp", "--cluster", "laptop", "--nodes", "2", "--lang", "ja"]) == 2
    text = capsys.readouterr().err
    assert "エラー" in text and "1 台のマシン" in text


def test_results_of_one_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder = project / "runs" / "20260101-000000-mine-2p-abcdefgh"
    for name in ("client", "metrics"):
        (run_folder / name).mkdir(parents=True)
    check = {"metric": "accuracy", "at_least": 0.97, "at_most": None}
    request = {"name": "mine", "processes": 2, "nodes": 1, "scheduler": "slurm", "cluster": "slurm", "check": check}
    (run_folder / "request.json").write_text(json.dumps(request))
    (run_folder / "client" / "created.json").write_text('{"t": 1}')
    (run_folder / "final.json").write_text('{"state": "SUCCEEDED", "job_id": "7", "sealed": 2}')
    (run_folder / "metrics" / "rank-0.jsonl").write_text(
        '{"t": 1, "final": true, "samples_per_s": 50, "accuracy": 0.98}\n'
    )
    assert run(["results"]) == 0
    text = capsys.readouterr().out
    assert "50 samples/s" in text and "✓ accuracy ≥ 0.97" in text
    assert run(["results", "abcd", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["job_id"], found["metrics"]["accuracy"], found["check"]["passed"]) == ("7", 0.98, True)
    for words in (["--format", "csv"], ["--format", "md"], ["--plot", "p.svg"], ["--baseline", "abcd"]):
        assert run(["results", *words]) == 2
        said = capsys.readouterr()
        assert "are for scaling studies" in said.err and not said.out
    assert not (project / "p.svg").exists()
    with (run_folder / "metrics" / "rank-0.jsonl").open("a") as stream:
        stream.write('{"t": 1, "step": 5, "loss": 0.5}\n')
    assert run(["results", "--curve", "loss", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "step,loss"
    for words in (["--json"], ["--format", "md"], ["--plot", "p.svg"], ["--baseline", "abcd"], ["--metric", "loss"]):
        assert run(["results", "--curve", "loss", *words]) == 2
        said = capsys.readouterr()
        assert "CSV of one run" in said.err and not said.out
    for words in (
        ["--format", "csv"],
        ["--plot", "p.svg"],
        ["--curve", "loss"],
        ["--metric", "x"],
        ["--baseline", "a"],
    ):
        assert run(["results", "--suggest", *words]) == 2
        said = capsys.readouterr()
        assert "--suggest goes with --json alone" in said.err and not said.out
    assert not (project / "p.svg").exists()


@pytest.mark.parametrize(("value", "styled"), [("1", False), ("", True)])
def test_no_color_on_a_terminal(value: str, styled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = os.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "hackathon", "clusters"], stdout=follower, check=True, timeout=120 * STRETCH
        )
        assert (b"\x1b[" in os.read(leader, 65536)) is styled
    finally:
        os.close(leader)
        os.close(follower)


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $H is the command."""
    environment = {**os.environ, "HACKATHON_LANG": "en", "H": f"{sys.executable} -m hackathon"}
    words = ["bash", "-c", f"set -o pipefail; {script}"]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["event show", "event init", "survey check", "ready", "slides A", "check"])
def test_a_current_folder_that_was_deleted(tmp_path: Path, command: str) -> None:
    answer = shell(f"mkdir x && cd x && rmdir ../x && $H {command}", tmp_path)
    assert answer.returncode == 2 and answer.stderr.startswith("error: the current folder no longer exists")
    assert "Traceback" not in answer.stderr


def test_a_path_that_nobody_can_have(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["event", "init", "x" * 300, "--lang", "en"]) == 2
    assert "File name too long" in capsys.readouterr().err


def test_output_that_can_not_be_written_and_a_reader_that_has_gone(tmp_path: Path) -> None:
    (tmp_path / "hackathon.yaml").write_text("title: T\nteams: [{name: A, members: [{user: a}]}]\n")
    full = shell("$H event show > /dev/full", tmp_path)
    assert full.returncode == 3 and full.stderr.splitlines()[0].endswith("No space left on device")
    assert "Traceback" not in full.stderr and "Exception ignored" not in full.stderr
    gone = shell("$H event show | true", tmp_path)
    assert (gone.returncode, gone.stderr) == (0, "")


def test_ctrl_c_is_left_to_what_waits_for_the_interactive_job(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qsub = tmp_path / "bin" / "qsub"
    qsub.parent.mkdir()
    qsub.write_text('#!/bin/sh\nkill -INT "$PPID"\nsleep 1\nexit 7\n')
    qsub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{qsub.parent}:{os.environ['PATH']}")
    assert run(["shell", "torch-ddp", *REEDBUSH]) == 7  # 130, and qsub killed, without the handler
