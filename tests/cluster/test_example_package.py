"""The package of the page "Extend hackathon": the page shows its files, and each part of it works once installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.backends import LocalBackend
from support.paths import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "hackathon-example"
FILES = sorted(
    path.relative_to(EXAMPLE)
    for path in EXAMPLE.rglob("*")
    if path.is_file() and "__pycache__" not in path.parts and path.name != "__init__.py"
)
PAGES = [ROOT / "docs" / "how-to" / name for name in ("extend.md", "extend.ja.md")]
ADDED = {
    ("clusters", "example"), ("commands", "disk"), ("recipes", "example-pi"), ("rules", "example"),
    ("schedulers", "example"), ("templates", "example"),
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_shows_the_files_of_the_package(page: Path) -> None:
    blocks = re.findall(
        r"^```(?:python|yaml|toml|jinja)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(FILES) == 8
    for path in FILES:
        assert (EXAMPLE / path).read_text("utf-8") in blocks, f"{page.name} does not show {path} as it is"
    assert len(blocks) == len(FILES), "the page shows a file that the package does not have"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was installed into, with pip and without a network."""
    target = tmp_path_factory.mktemp("packages")
    source = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "example")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, source], check=True)
    return target


@pytest.fixture
def machine(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of a person who has the package; jobs run on this machine."""
    backend = LocalBackend(tmp_path)
    for name, value in backend.environment().items():
        if name != "PYTHONPATH":
            monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(installed))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    backend.stop()


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what a command prints, errors behind it."""
    capsys.readouterr()
    status = run(words)
    printed = capsys.readouterr()
    assert status == code, printed.err
    return printed.out + printed.err


def test_lists_name_every_part_and_its_package(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(answer(capsys, "plugins", "--json"))["plugins"]
    example = [row for row in rows if row["distribution"] == "hackathon-example"]
    assert {(row["kind"], row["name"]) for row in example} == ADDED
    assert {(row["state"], row["problem"], row["version"]) for row in example} == {("good", None, "1.0")}
    lists = {("recipes",): "example-pi", ("clusters",): "example", ("rules", "list"): "example-licence"}
    for words, name in lists.items():
        line = next(line for line in answer(capsys, *words).splitlines() if line.startswith(f"{name} "))
        assert "  hackathon-example 1.0  " in line
    for words in (("recipes", "example-pi"), ("clusters", "example"), ("rules", "show", "example-licence")):
        assert "hackathon-example 1.0" in answer(capsys, *words)
    assert "hackathon-example 1.0: 1" in answer(capsys, "rules", "check")
    assert re.search(r"^  disk +hackathon-example 1\.0$", answer(capsys, "--help"), re.MULTILINE)


def test_every_part_works(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "There are no runs here" in answer(capsys, "disk", code=1)
    answer(capsys, "submit", "example-pi", "--cluster", "example", "-p", "throws=2000", "--processes", "2", "--wait")
    path = next((machine / "runs").glob("*-example-pi-*"))
    # the recipe, on its cluster
    assert json.loads((path / "final.json").read_text())["state"] == "SUCCEEDED"
    results = json.loads(answer(capsys, "results", "--json"))
    assert "throws_per_s" in json.dumps(results)
    # the scheduler with the profile's dialect, and the template that the profile names
    logs = "".join(log.read_text() for log in (path / "logs").glob("*.log"))
    assert f"hackathon-example: this job runs with nice {min(19, os.nice(0) + 15)}" in logs
    assert "of 2000 throws hit the circle" in logs
    request = json.loads((path / "request.json").read_text())
    assert request["scheduler"] == "example" and request["dialect"]["nice"] == 15
    assert request["plug_ins"] == dict.fromkeys(
        ("clusters example", "recipes example-pi", "schedulers example", "templates example"), "hackathon-example 1.0"
    )
    # the command
    assert path.name in answer(capsys, "disk")
    assert path.name not in answer(capsys, "disk", "--least", "1000000")
    # the rule
    (machine / "job.log").write_text("example: no licence from lm7.example.org\n")
    printed = answer(capsys, "diagnose", "job.log")
    assert "The licence server lm7.example.org gave no licence" in printed
    # the same run again
    assert "nothing has changed" in answer(capsys, "rerun", path.name, "--dry-run")


def typed(packages: Path | None, *words: str, code: int = 0) -> str:
    """Return what a command prints, errors behind it, in a process of its own with a folder of packages."""
    path = os.pathsep.join(str(folder) for folder in (ROOT, packages) if folder is not None)
    program = [sys.executable, "-m", "hackathon", *words]
    done = subprocess.run(program, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_rerun_takes_no_other_package_in_silence(machine: Path, installed: Path, tmp_path: Path) -> None:
    typed(installed, "submit", "example-pi", "--cluster", "example", "-p", "throws=2000", "--wait")
    path = next((machine / "runs").glob("*-example-pi-*"))
    newer = shutil.copytree(installed, tmp_path / "newer")
    info = next(newer.glob("hackathon_example-*.dist-info"))
    info.rename(info.with_name("hackathon_example-2.0.dist-info"))
    metadata = newer / "hackathon_example-2.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("\nVersion: 1.0\n", "\nVersion: 2.0\n"))
    template = newer / "hackathon_example" / "jobs" / "job.sh.j2"
    template.write_text(template.read_text().replace("this job runs", "the NEW job runs"))
    # what was recorded runs, not what is installed now
    printed = typed(newer, "rerun", path.name, "--wait")
    for entry in ("clusters example", "recipes example-pi", "schedulers example", "templates example"):
        assert f"package of {entry}: then hackathon-example 1.0, now hackathon-example 2.0" in printed
    again = next(run for run in (machine / "runs").glob("*-example-pi-*") if run != path)
    assert (again / "job.sh").read_bytes() == (path / "job.sh").read_bytes()
    # with another walltime the script is made anew, and each change of a package is named
    printed = typed(newer, "rerun", path.name, "--walltime", "20m", "--dry-run")
    assert "templates example: hackathon-example 1.0 → hackathon-example 2.0" in printed
    assert "templates example: then hackathon-example 1.0, now –" in typed(None, "rerun", path.name, "--dry-run")
    printed = typed(None, "rerun", path.name, "--walltime", "20m", code=2)
    assert "took the cluster example from the package hackathon-example 1.0, which is not installed here" in printed


def test_a_profile_that_names_missing_templates_says_so(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = machine / "templates" / "clusters"
    folder.mkdir(parents=True)
    (machine / "project.yaml").write_text("name: own\ncommand: 'true'\n")
    for name, templates in (("lab", "exampel"), ("hall", "example")):
        profile = f"name: {name}\nscheduler: local\nnode: {{cores: auto}}\ntemplates: {templates}\n"
        (folder / f"{name}.yaml").write_text(profile)
    printed = answer(capsys, "render", "--cluster", "lab", code=2)
    assert "Cluster lab takes its job templates from exampel, which no installed package has" in printed
    assert "hackathon-example: this job runs" in answer(capsys, "render", "--cluster", "hall")
    # the project's own file of that name comes first
    (machine / "templates" / "jobs").mkdir()
    own = '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\necho mine\n{% endblock %}\n'
    (machine / "templates" / "jobs" / "job.sh.j2").write_text(own)
    script = answer(capsys, "render", "--cluster", "hall")
    assert "echo mine" in script and "hackathon-example" not in script
