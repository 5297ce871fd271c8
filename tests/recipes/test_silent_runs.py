"""Runs that succeed and are wrong all the same: real jobs on this machine whose records tell what nothing printed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hackathon.diagnosis import diagnose
from support import warm
from support.installed import needs
from support.patience import STRETCH, until
from support.recipes import copy_recipe

needs("torch", "sklearn")
pytestmark = [pytest.mark.torch, pytest.mark.timeout(600), pytest.mark.slow]

SHARE = "DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed)"
BATCH = "for step, (images, labels) in enumerate(self._loader):"
VARIANTS: dict[str, tuple[str, int, str, Mapping[str, str]]] = {
    # name: (what it is made of, processes, options, what is put in the place of what)
    "same-data": ("torch-ddp", 2, "--epochs 2", {SHARE: SHARE.replace("world_size, rank", "1, 0")}),
    "starved": ("torch-ddp", 1, "--epochs 2", {BATCH: f"{BATCH}\n            __import__('time').sleep(0.2)"}),
    "nan-loss": ("torch-ddp", 1, "--epochs 4 --lr 1e6 --warmup-epochs 0", {}),
    "flat-loss": ("torch-ddp", 1, "--epochs 3 --batch-size 16 --lr 0", {}),
}  # fmt: skip


class Site:
    """A folder with a project for each variant, and a local scheduler of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "local").mkdir(mode=0o700)
        programs = f"{Path(warm.with_torch()).parent}:{Path(sys.executable).parent}"
        foreign = ("HK_", "HACKATHON_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
            "HACKATHON_LOCAL_DIR": str(folder / "local"), "HACKATHON_LOCAL_SLOTS_DIR": str(folder / "slots"),
            "HACKATHON_LOCAL_SLOTS": "4", "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"), "HACKATHON_LANG": "en", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PATH": f"{programs}:{os.environ['PATH']}",
            "VIRTUAL_ENV": "activated",  # else the toolkit puts its own `python` before the warm one
        }  # fmt: skip

    def call(self, *words: str, where: str = "") -> str:
        done = subprocess.run(
            [warm.with_toolkit(), "-m", "hackathon", *words], cwd=self.folder / where, env=self.environ,
            capture_output=True, text=True, timeout=STRETCH * 500, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.stdout

    def make(self, name: str, recipe: str, command: str, changes: Mapping[str, str]) -> None:
        """Make a project with the files of a recipe, some of their lines changed."""
        (copy_recipe(recipe, self.folder / name) / "recipe.yaml").unlink()
        for old, new in changes.items():
            files = [path for path in (self.folder / name).glob("*.py") if old in path.read_text()]
            assert len(files) == 1, old
            files[0].write_text(files[0].read_text().replace(old, new))
        project = {"name": name, "command": command, "framework": "torch", "cluster": "laptop", "walltime": "01:00:00"}
        (self.folder / name / "project.yaml").write_text(json.dumps(project))

    def wait(self, name: str) -> None:
        """Wait until the project's run is sealed: it has ended, and somebody has looked."""
        (run,) = self.runs(name)
        events = run / "events/job.jsonl"
        until(lambda: events.exists() and '"ended"' in events.read_text(), f"{name} to end", 400)
        until(lambda: bool(self.call("status", where=name)) and (run / "final.json").exists(), f"{name} sealed", 100)

    def runs(self, name: str) -> list[Path]:
        return sorted((self.folder / name / "runs").iterdir())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All runs, started together and ended."""
    made = Site(tmp_path_factory.mktemp("silent"))
    for name, (recipe, processes, options, changes) in VARIANTS.items():
        made.make(name, recipe, f"python train.py {options}", changes)
        made.call("submit", "--processes", str(processes), "--threads", "1", where=name)
    made.call("init", "--recipe", "torch-ddp", str(made.folder / "study"))
    # as many steps as the flat loss needs to be seen
    words = ("--processes", "1,2", "--mode", "strong", "-p", "epochs=3", "-p", "batch_size=16", "--threads", "1")
    made.call("scale", "--cluster", "laptop", *words, "--walltime", "01:00:00", "--wait", where="study")
    for name in VARIANTS:
        made.wait(name)
    yield made


def told(run: Path) -> list[Any]:
    assert json.loads((run / "final.json").read_text())["state"] == "SUCCEEDED", (run / "logs/rank-0.log").read_text()
    return diagnose([run])


@pytest.mark.parametrize(
    ("name", "part", "level"),
    [
        ("same-data", "data", "root"),
        ("starved", "data", "likely"),
        ("nan-loss", "numerics", "root"),
        ("flat-loss", "numerics", "likely"),
    ],
)
def test_what_nothing_printed_is_found(site: Site, name: str, part: str, level: str) -> None:
    (run,) = site.runs(name)
    findings = told(run)
    assert {each.part for each in findings} == {part}  # a log may say the same in words
    (finding,) = (each for each in findings if each.rule == f"silent-{name}")
    assert finding is findings[0]
    assert finding.level in (level, "root")
    assert finding.evidence is not None and finding.evidence.line is not None
    text = (run / finding.evidence.file).read_text().splitlines()[finding.evidence.line - 1]
    assert json.loads(text)


def test_healthy_runs_give_nothing(site: Site) -> None:
    runs = site.runs("study")
    assert len(runs) == 2
    for run in runs:
        assert told(run) == []


def test_command_tells_it_with_numbers_in_both_languages(site: Site) -> None:
    (run,) = site.runs("starved")
    for language, word in (("en", "waits for data"), ("ja", "データ待ち")):
        found = json.loads(site.call("diagnose", str(run), "--json", "--lang", language))
        (finding,) = found["findings"]
        assert word in finding["message"] and "{" not in finding["message"] + finding["advice"]


def test_command_looks_at_the_successful_runs_of_several(site: Site) -> None:
    runs = [str(run) for name in ("starved", "flat-loss", "study") for run in site.runs(name)]
    assert len(runs) == 4
    found = json.loads(site.call("diagnose", *runs, "--json"))
    assert {each["rule"] for each in found["findings"]} == {"silent-starved", "silent-flat-loss"}
    assert "None of these runs failed" not in site.call("diagnose", *runs)
