"""`make bundle`: one file that runs without pip, without installed packages and without the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import documentation
from support.paths import ROOT
from support.patience import STRETCH

pytestmark = pytest.mark.slow
PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
"""The Python that the environment of the tests was made with: it has none of their packages."""


@dataclass(frozen=True)
class Bundle:
    """The file, copied alone into a folder, and an account that starts it."""

    file: Path
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        """Return a login's environment: what a loaded module put before everything must not count."""
        here = f"{self.file.parent / 'bin'}:/usr/bin:/bin"
        ours = {"PATH": here, "HOME": str(self.home), "PYTHONPATH": str(self.file.parent / "module")}
        return {**ours, "TMPDIR": str(self.home / "tmp"), **more}

    def start(self, *words: str, argv: tuple[str | Path, ...] = (), **environment: str) -> "subprocess.Popen[str]":
        """Start a command of the bundle."""
        return subprocess.Popen(
            [*(argv or (self.file,)), *words], cwd=self.home, env=self.environment(**environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str, code: int = 0, argv: tuple[str | Path, ...] = (), **environment: str) -> tuple[str, str]:
        """Return what a command of the bundle wrote to stdout and stderr."""
        with self.start(*words, argv=argv, **environment) as child:
            out, err = child.communicate(timeout=STRETCH * 120)
        assert child.returncode == code, out + err
        return out, err

    @property
    def folders(self) -> list[Path]:
        """What lies where bundles are unpacked."""
        return sorted((self.home / ".cache" / "hackathon" / "bundle").iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of what is installed here; no network is needed."""
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run(
        [sys.executable, ROOT / "bundle" / "build.py", "--installed", "--output", folder / "hackathon"],
        cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(PYTHON)
    launcher = folder / "bin" / "torchrun"
    launcher.write_text('#!/bin/sh\nexec python3 -m torch.distributed.run "$@"\n')
    launcher.chmod(0o755)
    (folder / "module").mkdir()
    for name in ("jinja2", "click", "hackathon"):
        (folder / "module" / f"{name}.py").write_text("raise SystemExit('of another Python')")
    return folder / "hackathon"


@pytest.fixture
def bundle(built: Path, tmp_path: Path) -> Bundle:
    """The bundle of an account that never started it."""
    (tmp_path / "tmp").mkdir()
    return Bundle(built, tmp_path)


@pytest.fixture(scope="module")
def used(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The bundle of an account that has started it."""
    home = tmp_path_factory.mktemp("home")
    found = Bundle(built, home)
    assert found.run("--version")[0] == "hackathon, version 0.1.0\n"
    return found


def test_a_team_gets_from_its_program_to_a_script(used: Bundle) -> None:
    program = used.home / "train.py"
    program.write_text("import torch.distributed as dist\ndist.init_process_group()\nprint('812.3 samples/s')\n")
    used.run("init", "--command", "python train.py --lr {lr}", "-p", "lr=0.1", "--cluster", "laptop")
    assert (used.home / "hackathon_runtime.py").read_bytes() == (
        ROOT / "hackathon" / "runtime" / "hackathon_runtime.py"
    ).read_bytes()
    assert "laptop" in used.run("check", "--processes", "2")[0]
    script = used.run("render", "torch-ddp", "--cluster", "slurm", "--nodes", "2")[0]
    assert "#SBATCH --nodes=2" in script


def test_what_is_shipped_is_inside(used: Bundle) -> None:
    assert "Usage: hackathon" in used.run("--help")[0] and "まず使うもの" in used.run("--help", "--lang", "ja")[0]
    assert used.run("docs", "install")[0] == (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    assert "torch-fsdp-lm" in used.run("recipes")[0]
    assert "miyabi-g" in used.run("clusters")[0]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_docs_show_all_pages_as_the_checkout_does(used: Bundle, language: str) -> None:
    shown = used.run("docs", "--json", "--lang", language)[0]
    assert json.loads(shown)["pages"] == documentation.pages(language)


def test_only_the_bundle_and_the_standard_library_are_imported(used: Bundle) -> None:
    said = "".join(
        used.run(*words, argv=(PYTHON, "-S", "-v", used.file), HACKATHON_CLUSTER="laptop")[1]
        for words in (("schema", "project"), ("render", "torch-ddp"), ("diagnose", "--help"))
    )
    files = [Path(each) for each in re.findall(r"(?:code object|loaded) from '?([^'\n]+)", said)]
    library = Path(os.__file__).resolve().parent
    [folder] = used.folders
    for package in ("hackathon", "click", "jinja2"):
        assert any(each.is_relative_to(folder / package) for each in files), f"{package}: the list was not understood"
    strange = [
        each
        for each in files
        if not each.is_relative_to(folder)
        and not each.is_relative_to(used.file)
        and (not each.resolve().is_relative_to(library) or "-packages" in str(each))
    ]
    assert strange == []


def test_starts_at_the_same_time_share_one_folder(bundle: Bundle) -> None:
    children = [bundle.start("--version") for _ in range(3)]
    assert [child.communicate(timeout=STRETCH * 120)[0] for child in children] == ["hackathon, version 0.1.0\n"] * 3
    [folder] = bundle.folders
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_damaged_folder_is_unpacked_again(bundle: Bundle) -> None:
    bundle.run("--version")
    [folder] = bundle.folders
    shutil.rmtree(folder / "click")
    assert bundle.run("--version")[0] == "hackathon, version 0.1.0\n"
    assert (folder / "click" / "core.py").is_file() and bundle.folders == [folder]


def test_a_folder_that_is_deleted_while_a_command_runs_comes_back(bundle: Bundle) -> None:
    program = (
        "import runpy, shutil, sys\n"
        "sys.argv = [sys.argv[1], '--version']\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "import hackathon\n"
        "from hackathon.cli.main import run\n"
        "shutil.rmtree(hackathon.__path__[0][:-len('/hackathon')])\n"
        "sys.exit(run(['clusters', 'laptop']))"
    )
    out, _ = bundle.run(argv=(PYTHON, "-c", program, bundle.file), PYTHONPATH="")
    assert "laptop" in out and len(bundle.folders) == 1


def test_a_home_that_cannot_be_written_is_done_without(bundle: Bundle) -> None:
    assert bundle.run("--version", HOME="/dev/null")[0] == "hackathon, version 0.1.0\n"
    assert [each.name for each in (bundle.home / "tmp").iterdir()] == [f"hackathon-{os.geteuid()}"]


def test_no_place_at_all_is_told_with_the_remedy(bundle: Bundle) -> None:
    _, said = bundle.run("--version", code=3, HOME="/dev/null", TMPDIR="/dev/null", HACKATHON_LANG="ja")
    assert "/dev/null" in said and "export XDG_CACHE_HOME=" in said and "展開できません" in said


def test_what_others_could_have_prepared_is_not_run(bundle: Bundle) -> None:
    bundle.run("--version")
    [folder] = bundle.folders
    folder.rename(bundle.home / "elsewhere")
    (bundle.home / "elsewhere" / "hackathon" / "__init__.py").write_text("raise SystemExit('of somebody else')")
    folder.symlink_to(bundle.home / "elsewhere")
    assert bundle.run("--version")[0] == "hackathon, version 0.1.0\n"
    folder.unlink()
    (bundle.home / "elsewhere").rename(folder)
    folder.chmod(0o777)
    assert bundle.run("--version")[0] == "hackathon, version 0.1.0\n"


@contextmanager
def _only(bundle: Bundle, *pythons: Path) -> Iterator[dict[str, str]]:
    """Give a PATH on which nothing is but some Pythons."""
    folder = bundle.home / "only"
    folder.mkdir()
    for each in pythons:
        (folder / each.name).symlink_to(each)
    yield {"PATH": str(folder)}


def test_a_python_that_does_not_fit_finds_one_or_names_it(bundle: Bundle) -> None:
    versions = {
        ".".join(path.parts[-3].split(".")[:2]): path for path in Path.home().glob(".pyenv/versions/3.*/bin/python3")
    }
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    others = [path for version, path in versions.items() if version != own]
    if not others:
        pytest.skip("no other Python on this machine")
    fitting = bundle.home / f"python{own}"
    fitting.symlink_to(PYTHON)
    with _only(bundle, fitting) as path:
        for other in others:
            assert bundle.run("--version", argv=(other, bundle.file), **path)[0] == "hackathon, version 0.1.0\n"
            _, said = bundle.run("--version", code=3, argv=(other, bundle.file), PATH="/nowhere")
            assert f"CPython {own} (linux-" in said and str(other) in said and "hint:" in said
