"""The wheel that people install: built from a copy of the checkout, used from an environment without the checkout."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import documentation
from support.paths import ROOT
from support.patience import STRETCH

SHIPPED = (
    "templates", "recipes", "team_projects", "docs/tutorial", "docs/how-to", "docs/reference", "docs/explanation",
)  # fmt: skip
NEEDED = (
    "hackathon", "templates", "recipes", "team_projects", "docs", "pyproject.toml", "README.md", "README.ja.md",
    "LICENSE",
)  # fmt: skip
LEFT_FOLDERS = ("runs", "studies", "site", "checkpoints")
LEFT_BEHIND = (
    "recipes/torch-ddp/__pycache__/train.cpython-311.pyc",
    "recipes/torch-ddp/checkpoints/last.pt",
    "team_projects/digits/runs/20260101-000000-digits-1p-aaaaaaaa/request.json",
    "team_projects/digits/studies/20260101-000000-digits-aaaaaaaa/study.json",
    "hackathon/cli/__pycache__/old.cpython-311.pyc",
)
"""What trying things out in a checkout leaves there; nothing of it may be shipped."""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and the archives that it comes from."""

    python: Path
    checkout: Path
    wheel: Path
    wheel_of_sdist: Path
    sdist: Path

    @property
    def site_packages(self) -> Path:
        """The folder that the wheel was installed into."""
        return next((self.python.parent.parent / "lib").glob("python*/site-packages"))

    def run(self, *words: str, cwd: Path, code: int = 0) -> str:
        """Run the installed `hackathon` and return its stdout."""
        unwanted = ("PYTHON", "HACKATHON_", "VIRTUAL")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        answer = subprocess.run(
            [self.python.parent / "hackathon", *words], cwd=cwd, env=environ, capture_output=True, text=True,
            timeout=STRETCH * 60,
        )  # fmt: skip
        assert answer.returncode == code, answer.stderr
        return answer.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in NEEDED:
        if (ROOT / name).is_dir():
            # the package `hackathon.runs` is no folder of run directories
            others = ("__pycache__", ".venv") if name == "hackathon" else ("__pycache__", ".venv", *LEFT_FOLDERS)
            shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns(*others))
        else:
            shutil.copy2(ROOT / name, checkout / name)
    for name in LEFT_BEHIND:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("left behind")
    _build(checkout, folder / "direct", "--wheel")
    _build(checkout, folder / "both")  # the source archive, and a wheel made from it
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    wheel = next((folder / "direct").glob("*.whl"))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "--quiet", "--no-deps",
         "--no-index", "--disable-pip-version-check", wheel],
        check=True,
    )  # fmt: skip
    result = Installed(
        python=venv / "bin" / "python",
        checkout=checkout,
        wheel=wheel,
        wheel_of_sdist=next((folder / "both").glob("*.whl")),
        sdist=next((folder / "both").glob("*.tar.gz")),
    )
    # The packages that it depends on come from the environment of the tests, behind its own; a folder that a .pth names
    # has its own .pth files left unread, so an editable install of this checkout there is not seen.
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    result.site_packages.joinpath("dependencies.pth").write_text("".join(f"{each}\n" for each in sorted(folders)))
    return result


def _build(checkout: Path, target: Path, *options: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", target, checkout],
        capture_output=True, text=True, timeout=STRETCH * 200,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout + answer.stderr


def _files(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(name for name in archive.namelist() if not name.endswith("/RECORD"))


def test_nothing_but_the_package_is_at_the_top(installed: Installed) -> None:
    assert {name.split("/")[0] for name in _files(installed.wheel)} == {"hackathon", "hackathon-0.1.0.dist-info"}


@pytest.mark.parametrize("kind", SHIPPED)
def test_templates_recipes_and_projects_are_whole(installed: Installed, kind: str) -> None:
    inside = {
        name.removeprefix("hackathon/_shipped/")
        for name in _files(installed.wheel)
        if name.startswith(f"hackathon/_shipped/{kind}/")
    }
    checkout = {
        str(path.relative_to(installed.checkout))
        for path in (installed.checkout / kind).rglob("*")
        if path.is_file() and str(path.relative_to(installed.checkout)) not in LEFT_BEHIND
    }
    assert inside == checkout


def test_what_was_left_in_the_checkout_is_not_shipped(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as archive:
        names = [*archive.getnames(), *_files(installed.wheel)]
    assert [name for name in names if any(name.endswith(left) for left in LEFT_BEHIND)] == []
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


def test_source_archive_makes_the_same_wheel(installed: Installed) -> None:
    assert _files(installed.wheel_of_sdist) == _files(installed.wheel)
    with zipfile.ZipFile(installed.wheel) as wheel, zipfile.ZipFile(installed.wheel_of_sdist) as other:
        assert [name for name in _files(installed.wheel) if wheel.read(name) != other.read(name)] == []


@pytest.mark.parametrize("language", ["en", "ja"])
def test_installed_docs_show_all_pages_as_the_checkout_does(
    installed: Installed, tmp_path: Path, language: str
) -> None:
    shown = json.loads(installed.run("docs", "--json", "--lang", language, cwd=tmp_path))["pages"]
    assert shown == documentation.pages(language)
    page = next(page for page in shown if page["name"] == "settings")
    assert installed.run("docs", "settings", "--lang", language, cwd=tmp_path) == page["text"]


def test_installed_package_is_the_one_that_runs(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("--version", cwd=tmp_path).split() == ["hackathon,", "version", "0.1.0"]
    answer = subprocess.run(
        [installed.python, "-c", "import hackathon; print(hackathon.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(answer.stdout.strip()).is_relative_to(installed.site_packages)


def test_installed_clusters_and_recipes(installed: Installed, tmp_path: Path) -> None:
    clusters = json.loads(installed.run("clusters", "--json", cwd=tmp_path))
    names = {each["name"] for each in clusters["clusters"] if isinstance(clusters, dict)}
    assert names == {path.stem for path in (ROOT / "templates" / "clusters").glob("*.yaml")}
    assert "torch-ddp" in installed.run("recipes", cwd=tmp_path)


def test_installed_render(installed: Installed, tmp_path: Path) -> None:
    script = installed.run(
        "render", "torch-ddp", "--cluster", "reedbush-h", "--queue", "h-debug", "--nodes", "2", "--group", "pz0425",
        cwd=tmp_path,
    )  # fmt: skip
    assert "#PBS -l select=2:mpiprocs=2:ompthreads=1\n" in script
    assert "#PBS -W group_list=pz0425\n" in script


def test_installed_init(installed: Installed, tmp_path: Path) -> None:
    installed.run("init", "--recipe", "torch-ddp", "--copy", "digits", cwd=tmp_path)
    made = {path.name for path in (tmp_path / "digits").iterdir()}
    assert {"project.yaml", "train.py", "hackathon_runtime.py", "data.py", "resnet.py"} <= made
    assert "torch-ddp" in (tmp_path / "digits" / "project.yaml").read_text()


def test_translations_are_compiled(installed: Installed, tmp_path: Path) -> None:
    for wheel in (installed.wheel, installed.wheel_of_sdist):
        names = zipfile.ZipFile(wheel).namelist()
        assert "hackathon/locale/ja/LC_MESSAGES/hackathon.mo" in names
        assert [name for name in names if name.endswith(".po")] == []
    assert "使い方" in installed.run("--lang", "ja", "--help", cwd=tmp_path)
