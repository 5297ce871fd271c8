"""`hackathon env create` really builds environments, here of a package that lies on this disk."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.cli import shown
from hackathon.cli.main import run
from hackathon.config import load
from hackathon.config.problems import ConfigError
from hackathon.config.recipe import InstallStep
from hackathon.jobs.environments import find_environment
from hackathon.jobs.plan import Plan
from hackathon.runs import campaign
from hackathon.runs.environment import install_plan
from hackathon.runs.environment.requirement_lines import beyond_packages
from hackathon.runs.source import snapshot
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json, write_json
from hackathon.text.uptime import born, process_status
from support.paths import ROOT

WHEEL = "tinything-1.0-py3-none-any.whl"
RECIPE = """name: tiny
framework: tinything
entry: train.py
launchers: [local]
"""


def _wheel(folder: Path) -> Path:
    """Write the smallest package that pip installs, with a program of its own."""
    path = folder / WHEEL
    about = "tinything-1.0.dist-info"
    files = {
        "tinything/__init__.py": "ANSWER = 42\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a recipe `tiny` that wants one local package; pip is kept from every index."""
    here = tmp_path / "it's here"
    recipe = here / "recipes" / "tiny"
    recipe.mkdir(parents=True)
    _wheel(tmp_path)
    (recipe / "recipe.yaml").write_text(RECIPE)
    (recipe / "train.py").write_text(
        "import os, sys, tinything\nprint('answer', tinything.ANSWER, sys.prefix, os.environ['VIRTUAL_ENV'])\n"
    )
    (recipe / "requirements.txt").write_text("tinything==1.0\n")
    (here / "hackathon.yaml").write_text("title: t\n")
    monkeypatch.chdir(here)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "HACKATHON_CLUSTER": "laptop"}.items():
        monkeypatch.setenv(name, value)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(install_plan.shutil, "which", _without_uv(install_plan.shutil.which))
    yield here


def _without_uv(which):  # type: ignore[no-untyped-def]
    return lambda name, *words, **named: None if name == "uv" else which(name, *words, **named)


def _environment(place: Path) -> Path:
    return place / "envs" / "tiny-cpu"


@pytest.mark.slow
def test_an_environment_is_built_once_and_jobs_run_in_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "create", "tiny"]) == 0
    shown = capsys.readouterr()
    path = _environment(place)
    assert f"built: {path}" in shown.out
    assert (path / "lock.txt").read_text().splitlines()[-1] == "tinything==1.0"
    record = json.loads((path / "env.json").read_text())
    assert record["packages"]["tinything"] == "1.0" and record["variant"] == "cpu"

    # every command was shown, and typed by hand in a shell they build the same
    lines = [line.removeprefix("$ ") for line in shown.err.splitlines() if line.startswith("$ ")]
    assert lines == record["commands"]
    again = place / "by hand"
    quoted = [str(each).replace("'", "'\"'\"'") for each in (path, again)]
    script = "\n".join(line.replace(*quoted) for line in lines)
    subprocess.run(["bash", "-euc", script], check=True, capture_output=True)
    imported = subprocess.run([again / "bin" / "python", "-c", "import tinything"], check=False)
    assert imported.returncode == 0

    # the same is left alone, another variant lies beside it
    before = (path / "env.json").stat().st_mtime_ns
    assert run(["env", "create", "tiny"]) == 0
    shown = capsys.readouterr()
    assert f"already exists: {path}" in shown.out and "$" not in shown.err
    assert (path / "env.json").stat().st_mtime_ns == before
    assert run(["env", "list", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["environments"]] == ["tiny"]
    assert run(["env", "show", "tiny-cpu"]) == 0
    assert "tinything 1.0" in capsys.readouterr().out
    assert run(["env", "show", "other"]) == 2
    capsys.readouterr()

    # a job of the recipe runs in it, and says so beforehand and afterwards
    assert run(["render", "tiny", "--explain"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("python_environment"))
    assert str(path) in row and "hackathon env create" in row
    assert run(["submit", "tiny", "--wait"]) == 0
    (job,) = (place / "runs").iterdir()
    assert f"answer 42 {path} {path}" in (job / "logs" / "rank-0.log").read_text()
    written = json.loads((job / "request.json").read_text())["python_environment"]
    assert written["path"] == str(path) and written["digest"] == record["digest"]


@pytest.mark.slow
def test_a_failed_build_shows_the_installer_and_leaves_what_was_there(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"digest": "another", "variant": "cpu", "built": "before"}
    _environment(place).mkdir(parents=True)
    (_environment(place) / "env.json").write_text(json.dumps(good))
    (place / "recipes" / "tiny" / "requirements.txt").write_text("tinything==2.0\n")
    assert run(["env", "create", "tiny"]) == 1
    text = capsys.readouterr().err
    assert "tinything==2.0" in text and "pip install -r" in text and "tiny-cpu.log" in text
    assert "tinything==2.0" in (place / "envs" / "tiny-cpu.log").read_text()
    assert json.loads((_environment(place) / "env.json").read_text()) == good
    left = {path.name for path in (place / "envs").iterdir()}
    assert left == {"tiny-cpu", "tiny-cpu.log"}


@pytest.mark.slow
def test_an_interrupted_build_is_noticed_and_begun_anew(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # a package whose installation never ends: a FIFO that nobody writes into
    os.mkfifo(place.parent / "endless.txt")
    requirements = place / "recipes" / "tiny" / "requirements.txt"
    requirements.write_text(f"-r {place.parent}/endless.txt\n")
    words = ["nice", "-n", "7", sys.executable, "-m", "hackathon", "env", "create", "tiny"]
    child = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    marker = place / "envs" / ".tiny-cpu.building"
    installer = 0
    try:
        while child.poll() is None and not (installer and _command(installer).endswith("tiny/requirements.txt")):
            time.sleep(0.02)
            installer = (_json(marker).get("processes") or [0])[-1]
        assert child.poll() is None
        # Linux only counts that of a session
        session = Path(f"/proc/{installer}/autogroup")
        assert not session.exists() or session.read_text().endswith(f" nice {os.nice(0) + 7}\n")
        assert find_environment("tiny", place / "envs", gpus=0) is None, "half an environment is none"
        requirements.write_text("tinything==1.0\n")
        assert run(["env", "create", "tiny"]) == 2, "it is being built"
        assert str(child.pid) in capsys.readouterr().err
        child.kill()
        child.wait()
        assert run(["env", "create", "tiny"]) == 2, "its installer still runs"
        assert str(installer) in capsys.readouterr().err
    finally:
        child.kill()
        child.wait()
        if installer:
            os.kill(installer, signal.SIGKILL)
    while (status := process_status(installer)) is not None and not status.has_ended:
        time.sleep(0.02)  # a process that is being taken down has lost its command line before it has ended
    # as if another process had got the number
    write_json(marker, {**read_json(marker), "processes": [os.getppid()], "born": [(born(os.getppid()) or 0) - 1]})
    (_environment(place) / "left-over").touch()
    assert run(["env", "create", "tiny"]) == 0
    assert not (_environment(place) / "left-over").exists() and not marker.exists()
    assert find_environment("tiny", place / "envs", gpus=0) is not None


def _json(path: Path) -> dict[str, list[int]]:
    try:
        value: dict[str, list[int]] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().rstrip("\0").replace("\0", " ")
    except OSError:
        return ""


@pytest.mark.slow
def test_a_job_builds_it_where_nodes_reach_the_internet(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "create", "tiny", "--on", "compute", "--wait"]) == 0
    assert find_environment("tiny", place / "envs", gpus=0) is not None
    capsys.readouterr()
    asked = ["env", "create", "tiny", "--on", "compute", "--cluster", "reedbush-h", "--group", "pz0425"]
    assert run(asked) == 2
    assert "have no Internet access" in capsys.readouterr().err


def test_a_job_that_builds_it_needs_no_data(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, planned = place / "own", list[Plan]()
    project.mkdir()
    (project / "project.yaml").write_text(
        "name: own\ncommand: python train.py\nvariables: {MODE: quick}\n"
        "data: [{name: big, url: 'https://example.org/big', stage: true}]\n"
    )
    (project / "requirements.txt").write_text("tinything==1.0\n")
    monkeypatch.setattr(campaign, "start", planned.append)
    monkeypatch.setattr(shown, "finish", lambda *_: None)
    assert run(["env", "create", "own", "--on", "compute"]) == 0
    (request,) = planned[0].requests
    assert request.data == () and request.variables.get("MODE") == "quick"
    assert not [name for name in request.variables if name.startswith("HK_")]


def test_own_code_gets_one_too(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = place / "own"
    project.mkdir()
    (project / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    assert run(["env", "create", "own"]) == 2
    assert "requirements.txt" in capsys.readouterr().err
    (project / "requirements.txt").write_text("tinything==1.0\n")
    assert run(["env", "create", "own", "--dry-run"]) == 0
    assert f"-r '{project}/requirements.txt'".replace("it's", "it'\"'\"'s") in capsys.readouterr().out
    # what is built is no source
    (project / "envs").mkdir()
    for name in ("CACHEDIR.TAG", "own-cpu.log"):
        (project / "envs" / name).touch()
    assert set(snapshot.take(project).files) == {"project.yaml", "requirements.txt"}


def test_who_lacks_the_framework_is_told_what_to_type(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_virtual_environment = sys.prefix != sys.base_prefix
    for name, told in ((f"{sys.prefix}/bin/hackathon", in_virtual_environment), ("/home/you/bin/hackathon", False)):
        monkeypatch.setattr(sys, "argv", [name])
        assert run(["check", "tiny"]) == 0
        assert ("hackathon env create tiny" in capsys.readouterr().err) == told


def _plan(
    folder: Path, *steps: InstallStep, variant: str = "cpu", locked: bool = False, python: str | None = None
) -> install_plan.InstallPlan:  # fmt: skip
    cluster = registry.load_cluster("laptop", [])
    return install_plan.plan(
        "x", folder, steps, envs=folder / "envs", variant=variant, cluster=cluster, locked=locked, python=python
    )


def test_steps_become_the_words_of_pip(place: Path, tmp_path: Path) -> None:
    recipe = place / "recipes" / "tiny"
    (recipe / "tool.cmake").write_text("one")
    step = InstallStep(
        packages=["horovod==0.28.1"], build_isolation=False, from_source=["horovod"], no_dependencies=True,
        variables={"TOOL": "{recipe}/tool.cmake", "PLACE": "{env}/lib"},
    )  # fmt: skip
    made = _plan(recipe, InstallStep(requirements="requirements.txt"), step)
    python = str(recipe / "envs" / "x-cpu" / "bin" / "python")
    assert made.commands[1].argv == (python, "-I", "-m", "pip", "install", "-r", str(recipe / "requirements.txt"))
    assert made.commands[2].argv == (
        python, "-I", "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-binary", "horovod",
        "horovod==0.28.1",
    )  # fmt: skip
    assert made.commands[2].variables == {"TOOL": f"{recipe}/tool.cmake", "PLACE": f"{recipe}/envs/x-cpu/lib"}
    # what decides the result decides the digest
    digests = {made.digest}
    (recipe / "tool.cmake").write_text("two")
    digests.add(_plan(recipe, InstallStep(requirements="requirements.txt"), step).digest)
    (recipe / "requirements.txt").write_text("tinything==1.1\n")
    digests.add(_plan(recipe, InstallStep(requirements="requirements.txt"), step).digest)
    digests.add(_plan(recipe, InstallStep(requirements="requirements.txt")).digest)
    assert len(digests) == 4
    (recipe / "requirements-cuda.txt").write_text("tinything==1.0\n")
    assert _plan(recipe, variant="cuda").commands[1].argv[-1] == str(recipe / "requirements-cuda.txt")
    assert _plan(recipe).commands[1].argv[-1] == str(recipe / "requirements.txt")


STEERING = (
    "--index-url https://evil.example/simple", "--extra-index-url=https://evil.example", "-i https://evil.example",
    "--find-links /home/eve", "-f .", "-r more.txt", "-c limits.txt", "-e .", "--trusted-host evil.example", "--pre",
    "numpy @ https://evil.example/numpy.whl", "https://evil.example/a.whl", "git+https://evil.example/a", "./a",
    "/home/eve/a", "a/b", "..", "numpy-1.0-py3-none-any.whl", "a.tar.gz", "numpy --config-settings=x", "${HOME}",
    "numpy==1.0 \\\n  --index-url https://evil.example", "numpy \\", "numpy; extra == 'x' @ file:///a",
)  # fmt: skip
PLAIN = (
    "numpy", "numpy==2.4.6", "torch>=2,<3", "torch ~= 2.1", "ruamel.yaml[jinja2]==0.1",
    "numpy==1.* ; python_version < '3.9'",
    "# only a comment", "numpy==2.4.6  # why", "", "numpy==2.4.6 \\\n    --hash=sha256:0aF1 \\\n    --hash=sha256:22",
    "torch==2.13.0+cu126", "typing_extensions (>=4)",
)  # fmt: skip


@pytest.mark.parametrize("line", STEERING)
def test_what_steers_the_installer_is_told_apart(line: str) -> None:
    assert next(beyond_packages(f"numpy==1.0\n{line}\n"))[0] == 2


@pytest.mark.parametrize("line", PLAIN)
def test_plain_packages_are(line: str) -> None:
    assert list(beyond_packages(line)) == []


def test_requirements_of_the_toolkit_are_plain() -> None:
    for path in (ROOT / "recipes").glob("*/requirements*.txt"):
        assert list(beyond_packages(path.read_text())) == [], path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_strangers_files_do_not_say_where_packages_come_from(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = place / "recipes" / "tiny"
    file = recipe / "requirements.txt"
    file.write_text("tinything==1.0\n--extra-index-url https://evil.example\n")
    assert run(["env", "create", "tiny", "--dry-run"]) == 0  # the user's own
    os.chown(file, 12345, 12345)
    with pytest.raises(RequestError) as caught:
        _plan(recipe, InstallStep(requirements="requirements.txt"))
    assert caught.value.id == "environments.steered"
    assert (caught.value.values["line"], caught.value.values["file"]) == (2, file) and caught.value.hint
    file.write_text("tinything==1.0\n")
    assert _plan(recipe, InstallStep(requirements="requirements.txt"))
    machine, tag = os.uname(), sys.implementation.cache_tag
    lock = recipe / f"requirements-{machine.sysname.lower()}-{machine.machine}-{tag}.lock"
    hashed = f"tinything==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
    lock.write_text(hashed)
    os.chown(lock, 12345, 12345)
    assert _plan(recipe, InstallStep(requirements="requirements.txt"), locked=True)
    lock.write_text(f"--index-url https://evil.example\n{hashed}")
    with pytest.raises(RequestError) as caught:
        _plan(recipe, InstallStep(requirements="requirements.txt"), locked=True)
    assert (caught.value.id, caught.value.values["file"]) == ("environments.steered", lock)
    steps = (
        InstallStep(packages=["x @ file:///home/eve/x"]),
        InstallStep(packages=["x"], variables={"CC": "{recipe}/cc"}),
    )
    for step in steps:
        assert _plan(recipe, step)
    os.chown(recipe / "recipe.yaml", 12345, 12345)
    for step in steps:
        with pytest.raises(RequestError) as caught:
            _plan(recipe, step)
        assert caught.value.id == "environments.steered_recipe"
    os.chown(recipe / "recipe.yaml", 0, 0)
    with pytest.raises(RequestError) as caught:  # whoever wrote it
        _plan(recipe, InstallStep(packages=["--index-url=https://evil.example"]))
    assert caught.value.id == "environments.option"


@pytest.mark.slow
def test_a_lock_lets_in_only_the_files_with_its_hashes(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = place / "recipes" / "tiny"
    assert run(["--lang", "en", "env", "create", "tiny", "--locked"]) == 2
    error = capsys.readouterr().err
    name = f"requirements-linux-{os.uname().machine}-{sys.implementation.cache_tag}.lock"
    assert str(recipe / name) in error and "--python" in error
    digest = hashlib.sha256((tmp_path / WHEEL).read_bytes()).hexdigest()
    (recipe / name).write_text(f"tinything==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    assert run(["env", "create", "tiny", "--locked"]) != 0  # the index offers another file
    (recipe / name).write_text(f"tinything==1.0 \\\n    --hash=sha256:{digest}\n")
    assert run(["env", "create", "tiny", "--locked"]) == 0
    with pytest.raises(RequestError) as caught:
        cluster = registry.load_cluster("laptop", [])
        install_plan.plan("x", recipe, [InstallStep(packages=["horovod==0.28.1"])], envs=place, variant="cpu",
                          cluster=cluster, locked=True)  # fmt: skip
    assert caught.value.id == "environments.not_locked" and caught.value.hint


def test_locks_of_recipes_have_what_their_requirements_name() -> None:
    locks = sorted((ROOT / "recipes").glob("*/*.lock"))
    assert len(locks) >= 3
    for lock in locks:
        text = lock.read_text()
        pins = set(re.findall(r"^([a-z0-9-]+==\S+) \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.MULTILINE))
        assert len(pins) == text.count("==") and list(beyond_packages(text)) == []
        wanted = [
            line for line in (lock.parent / "requirements.txt").read_text().splitlines() if not line.startswith("#")
        ]
        assert set(wanted) <= pins, lock


def test_uv_is_taken_where_it_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_plan.shutil, "which", lambda name, *_: f"/opt/bin/{name}")
    made = _plan(place / "recipes" / "tiny")
    path = place / "recipes" / "tiny" / "envs" / "x-cpu"
    assert made.commands[0].argv == ("/opt/bin/uv", "venv", "--seed", "--python", sys.executable, str(path))
    assert made.commands[1].argv[:5] == ("/opt/bin/uv", "pip", "install", "--python", f"{path}/bin/python")


def test_caches_lie_beside_when_nodes_do_not_see_the_home(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    laptop = registry.load_cluster("laptop", [])
    hidden = replace(laptop, visible_from_nodes=[str(place)])
    folder = place / "recipes" / "tiny"
    made = install_plan.plan("x", folder, [], envs=place / "envs", variant="cpu", cluster=hidden)
    assert made.variables["PIP_CACHE_DIR"] == str(place / "envs" / ".cache" / "pip")
    assert "PIP_CACHE_DIR" not in _plan(folder).variables
    with pytest.raises(Exception, match="cannot see") as refused:
        install_plan.plan("x", folder, [], envs=tmp_path / "envs", variant="cpu", cluster=hidden)
    assert str(place) in str(refused.value)


def test_a_wrong_step_is_told_with_its_line(place: Path) -> None:
    path = place / "recipes" / "tiny" / "recipe.yaml"
    path.write_text(
        RECIPE + "install:\n  - {requirements: ../x.txt}\n  - {package: [a]}\n  - {packages: [--pre]}\n"
        "  - {requirements: a.txt, packages: [b]}\n"
    )
    with pytest.raises(ConfigError) as wrong:
        load.load_recipe("tiny", [place])
    text = str(wrong.value)
    for word in ("inside the recipe's folder", "packages", "is not a package", "either"):
        assert word in text
