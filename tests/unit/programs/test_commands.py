"""`hackathon lint` and `hackathon convert` on the command line, and what `adopt` and `doctor` tell of scripts."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run

BAD = "#!/bin/bash\n#SBATCH --time=1d\n#SBATCH --time = 5\nhostname\n"
GOOD = "#!/bin/bash\n#SBATCH --time=5\nhostname\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.sh").write_text(BAD)
    (tmp_path / "good.sh").write_text(GOOD)
    (tmp_path / "warned.sh").write_text("#!/bin/bash\n#SBATCH --time=01:30\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["good.sh"], 0), (["bad.sh"], 1), (["warned.sh"], 0), (["good.sh", "bad.sh"], 1), (["missing.sh"], 2),
        (["bad.sh", "missing.sh"], 2), ([], 2), (["good.sh", "--cluster", "laptop"], 2), (["--rules"], 0),
        (["good.sh", "--dialect", "slurm", "--cluster", "slurm"], 2), (["good.sh", "--dialect", "pbs"], 1),
    ],
)  # fmt: skip
def test_exit_codes(folder: Path, words: list[str], code: int) -> None:
    assert run(["lint", *words]) == code


def test_json_has_the_shape_of_all_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "good.sh", "bad.sh", "missing.sh", "--json"]) == 2
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert value["schema_version"] == 1
    assert [(each["path"], each["dialect"]) for each in value["files"]] == [("good.sh", "slurm"), ("bad.sh", "slurm")]
    first = value["files"][1]["findings"][0]
    assert set(first) == {"line", "rule", "severity", "message", "effect", "replacement"}
    assert (first["line"], first["rule"], first["severity"], first["effect"]) == (2, "bad-value", "error", "refused")
    assert first["replacement"] == "#SBATCH --time=1-00:00:00"


def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run(["lint", "-", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["files"][0]["path"] == "-"
    assert run(["lint", "-", "--fix"]) == 2


def test_fix_writes_beside_and_never_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "bad.sh", "--fix"]) == 1
    assert (folder / "bad.fixed.sh").read_text() == BAD.replace("--time = 5", "--time=5")
    assert (folder / "bad.sh").read_text() == BAD
    assert run(["lint", "bad.sh", "--fix"]) == 2
    assert run(["lint", "good.sh", "--fix"]) == 0
    assert not (folder / "good.fixed.sh").exists()


@pytest.mark.parametrize(("language", "word"), [("en", "Slurm refuses"), ("ja", "拒否されます")])
def test_both_languages(folder: Path, capsys: pytest.CaptureFixture[str], language: str, word: str) -> None:
    assert run(["--lang", language, "lint", "bad.sh"]) == 1
    assert word in capsys.readouterr().out


def test_convert(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pbs.sh").write_text("#!/bin/bash\n#PBS -l select=2:mpiprocs=2\n#PBS -l walltime=600\n./a.out\n")
    assert run(["convert", "pbs.sh", "--to", "slurm", "-o", "new.sh"]) == 0
    assert (folder / "new.sh").read_text() == (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n#SBATCH --time=00:10:00\n./a.out\n"
    )
    assert run(["convert", "pbs.sh", "--to", "slurm", "-o", "new.sh"]) == 2
    assert run(["convert", "pbs.sh", "--to", "pjm"]) == 0
    assert run(["convert", "pbs.sh", "--to", "nowhere"]) == 2
    assert run(["convert", "missing.sh", "--to", "slurm"]) == 2
    capsys.readouterr()
    (folder / "odd.sh").write_text("#!/bin/bash\n#SBATCH -N 1\n#SBATCH --constraint=x\necho $SLURM_JOB_ID\n")
    assert run(["convert", "odd.sh", "--to", "reedbush-h", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["not_translated"] == [{"line": 3, "text": "#SBATCH --constraint=x", "why": "PBS has no equal option"}]
    assert {
        "field": "variable",
        "from": "SLURM_JOB_ID",
        "to": "PBS_JOBID",
        "why": "PBS's name of the same value",
    } in value["changed"]
    assert "echo $PBS_JOBID\n" in value["script"]


def test_scripts_that_are_not_read_are_never_ok(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LSF and Flux: nothing was checked. Without directives, the commands were."""
    (folder / "lsf.sh").write_text("#!/bin/sh\n#BSUB -q gpu\n#BSUB -n 8\ntorchrun train.py\n")
    (folder / "flux.sh").write_text("#!/bin/sh\n# flux: -N 4\nflux run ./a\n")
    (folder / "bare.sh").write_text("#!/bin/sh\nif [[ -z $X ]]; then exit 1; fi\n")
    for name, scheduler in (("lsf.sh", "LSF"), ("flux.sh", "Flux")):
        assert run(["lint", name]) == 2
        assert f"not checked: scripts for {scheduler} are not read" in capsys.readouterr().out
    assert run(["lint", "lsf.sh", "good.sh", "bare.sh", "--json"]) == 2
    files = {each["path"]: each for each in json.loads(capsys.readouterr().out)["files"]}
    assert [files[name]["checked"] for name in ("lsf.sh", "good.sh", "bare.sh")] == [False, True, True]
    assert run(["lint", "bare.sh"]) == 0
    assert "bare.sh (no directives; only the body was checked)" in (out := capsys.readouterr().out)
    assert "[not-in-sh]" in out


def test_folders_of_the_output_are_looked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slurm creates no folder: a job whose output has none ends without a word."""
    (folder / "job.sh").write_text("#!/bin/bash\n#SBATCH --output=out/%j.txt\n#SBATCH --error=errors\nhostname\n")
    assert run(["lint", "job.sh"]) == 0
    assert "2: warning: there is no folder `out` here" in capsys.readouterr().out
    (folder / "out").mkdir()
    assert run(["lint", "job.sh"]) == 0
    assert "OK (Slurm)" in capsys.readouterr().out
    (folder / "errors").mkdir()
    assert run(["lint", "job.sh"]) == 1
    assert "→ #SBATCH --error=errors/slurm-%j.out" in capsys.readouterr().out


def test_doctor_tells_of_scripts_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--cluster", "laptop", "--json"])
    told = [each for each in json.loads(capsys.readouterr().out)["findings"] if "bad.sh" in each["text"]]
    assert [each["level"] for each in told] == ["warning"]
    assert told[0]["remedy"].startswith("hackathon lint ")


def test_adopt_tells_of_the_jobs_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bad", "good"):
        job = folder / f"job-{name}"
        (job / "claim").mkdir(parents=True)
        (job / "claim" / "job_id").write_text(f"{len(name)}.elsewhere.local")
        (job / "job.sh").write_text((folder / f"{name}.sh").read_text())
        assert run(["adopt", str(job), "--cluster", "laptop"]) == 0
        assert ("hackathon lint " in capsys.readouterr().err) == (name == "bad")


def test_what_is_no_job_script_is_called_what_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"train.py": "x = 1\n", "train": "#!/usr/bin/env python3\n", "project.yaml": "name: x\n", "run.sh": "ls\n"}
    files["job.py"] = "#!/usr/bin/env python3\n#SBATCH --time=5\n"
    for name, text in files.items():
        (folder / name).write_text(text)
    assert run(["lint", *files]) == 0
    told = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line)
    assert "Python program" in told["train.py"] and "`hackathon check`" in told["train.py"]
    assert told["train"] == told["train.py"] and "YAML" in told["project.yaml"]
    assert told["run.sh"] == "OK (no directives; only the body was checked)" and told["job.py"] == "OK (Slurm)"
