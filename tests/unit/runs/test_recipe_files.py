"""Files that a recipe shares with others: beside its program in a run, in a folder that is handed on, in a copy."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.jobs.render import render
from hackathon.jobs.request import Options
from hackathon.jobs.resolve import resolve
from hackathon.jobs.sources import find_sources
from hackathon.readiness.wanted import modules_of
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.rerun import differences, rerun
from support.paths import RUNTIME, SHARED
from support.patience import until

RECIPE = "name: mine\nframework: none\nentry: train.py\nshared: [ours.py, learning_rate.py]\n"
# a line in one call: two ranks without buffers write into one pipe
PROGRAM = (
    "import sys\nfrom hackathon_runtime import identity\nimport ours\n"
    "sys.stdout.write(f'{identity().world_size} {ours.NUMBER}\\n')\n"
)
BESIDE = {"hackathon_runtime.py", "learning_rate.py", "ours.py", "recipe.yaml", "train.py"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with a recipe that shares a file of the project's, and one of the toolkit's."""
    folder = tmp_path / 'a "project" of $mine'
    for name, text in {
        "recipes/mine/recipe.yaml": RECIPE,
        "recipes/mine/train.py": PROGRAM,
        "recipes/shared/ours.py": "NUMBER = 'first'\n",
        "project.yaml": "name: p\nrecipe: mine\ncluster: laptop\nlauncher: local\nprocesses: 2\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


def new_run(**options: bool) -> RunDirectory:
    """Return a run of the project, not submitted."""
    sources = find_sources(None, Options(**options))
    request = resolve(sources)
    return create(request, render(request, sources.cluster), runs_folder=sources.runs)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def printed(*argv: str, cwd: Path, **more: str) -> list[str]:
    """Return the lines that a command prints, in their order by letters."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HK_", "PYTHONPATH", "SLURM_"))}
    done = subprocess.run(argv, cwd=cwd, env=kept | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


def test_a_run_has_them_beside_the_program(project: Path) -> None:
    made = new_run()
    source = made.path / "source"
    assert names(source) == BESIDE
    assert (source / RUNTIME.name).read_bytes() == RUNTIME.read_bytes()
    assert (source / "learning_rate.py").read_bytes() == (SHARED / "learning_rate.py").read_bytes()
    record = json.loads((made.path / "source.json").read_text())
    assert record["files"].keys() == BESIDE and record["added"] == {}
    assert differences(made) == []
    (project / "recipes" / "shared" / "ours.py").write_text("NUMBER = 'second'\n")
    assert ["ours.py" in line for line in differences(made)] == [True]


def test_a_rerun_takes_what_was_recorded(project: Path) -> None:
    former = new_run()
    (project / "recipes" / "shared" / "ours.py").unlink()
    again = rerun(former)
    assert (again.path / "source" / "ours.py").read_text() == "NUMBER = 'first'\n"
    digests = [json.loads((each.path / "source.json").read_text())["digest"] for each in (former, again)]
    assert digests[0] == digests[1]


def test_a_run_of_a_former_version_is_run_again_with_its_own_copies(project: Path) -> None:
    """Its recipe's folder had the copies, and its request knows of no shared files."""
    former = new_run()
    text = json.loads((former.path / "request.json").read_text())
    del text["shared"]
    (former.path / "request.json").write_text(json.dumps(text))
    assert names(rerun(former).path / "source") == BESIDE


@pytest.mark.parametrize("own", ["recipes/mine", "."])
def test_a_file_of_its_own_comes_first(project: Path, own: str) -> None:
    """In the recipe's folder, and in a project that has a copy of the program."""
    (project / own / "train.py").write_text(PROGRAM)
    (project / own / "ours.py").write_text("NUMBER = 'own'\n")
    (project / own / RUNTIME.name).write_text("own = True\n")
    source = new_run().path / "source"
    assert (source / "ours.py").read_text() == "NUMBER = 'own'\n"
    assert (source / RUNTIME.name).read_text() == "own = True\n"
    assert (source / "learning_rate.py").is_file()


def test_a_job_in_place_finds_them(project: Path) -> None:
    made = new_run(in_place=True)
    recipe = project / "recipes" / "mine"
    assert names(recipe) == {"recipe.yaml", "train.py"}
    subprocess.run(["bash", "job.sh"], cwd=made.path, capture_output=True, check=True)
    assert "2 first" in (made.path / "logs" / "rank-1.log").read_text()
    until(lambda: [*(made.path / "env").glob("*.json")], "the record of the environment, which the runtime writes")
    assert names(recipe) - {"__pycache__"} == {"recipe.yaml", "train.py"}
    checked = printed("sha256sum", "--check", f"{made.path}/source.sha256", cwd=recipe)
    assert len(checked) == 5 and all(line.endswith(": OK") for line in checked)
    assert differences(made) == []
    (project / "recipes" / "shared" / "ours.py").write_text("NUMBER = 'second'\n")
    assert ["shared/ours.py" in line for line in differences(made)] == [True]


def test_a_path_of_the_project_stays_behind_that_of_shared_files(project: Path) -> None:
    with (project / "project.yaml").open("a") as stream:
        stream.write("variables: {PYTHONPATH: lib}\n")
    exported = resolve(find_sources(None, Options(in_place=True))).exported["PYTHONPATH"]
    assert exported.split(":")[0] == str(RUNTIME.parent) and exported.endswith(":lib")
    assert resolve(find_sources(None, Options())).exported == {"PYTHONPATH": "lib"}


def test_scripts_by_hand_find_them(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--to", "x"]) == 0
    assert names(project / "x" / "source") == BESIDE
    capsys.readouterr()
    assert run(["render", "--essence"]) == 0
    assert printed("bash", "-c", capsys.readouterr().out, cwd=project) == ["2 first", "2 first"]


def test_a_copy_of_the_recipe_has_them(project: Path) -> None:
    assert run(["init", "--recipe", "./recipes/mine", "--copy", "--cluster", "laptop", "."]) == 2  # it is a project
    (project / "project.yaml").unlink()
    assert run(["init", "--recipe", "mine", "--copy", "--cluster", "laptop", "."]) == 0
    assert BESIDE - {"recipe.yaml"} <= names(project)
    assert printed("python", "train.py", cwd=project) == ["1 first"]


def test_what_shared_files_import_is_looked_for(project: Path) -> None:
    (project / "recipes" / "shared" / "ours.py").write_text("import a_package_of_theirs\n")
    assert "a_package_of_theirs" in modules_of(find_sources(None, Options()))
