"""The whole job script of every cluster × launcher × recipe, compared with a reviewed file.

After a wanted change: `HACKATHON_GOLDEN=write pytest tests/golden`, then review the difference in git.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from hackathon.config import load
from hackathon.config.cluster import ALL_LAUNCHERS, PLAIN_LAUNCHERS
from hackathon.jobs import machine
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.options import Options
from hackathon.jobs.render import JobScript, render
from hackathon.jobs.resolve import Sources, resolve

SCRIPTS = Path(__file__).parent / "scripts"
RECIPES = [recipe.name for recipe in load.list_recipes([])[0]]
CLUSTERS = [cluster.name for cluster in load.list_clusters([])[0]]
CASES = [(recipe, cluster, launcher) for recipe in RECIPES for cluster in CLUSTERS for launcher in ALL_LAUNCHERS]


@pytest.fixture(autouse=True)
def fixed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` must not make the files depend on the machine that runs the test."""
    monkeypatch.setattr(machine, "cores", lambda: 4)
    monkeypatch.setattr(machine, "gpus", lambda: 0)


def _script(recipe_name: str, cluster_name: str, launcher: str) -> JobScript:
    recipe, folder = load.load_recipe(recipe_name, [])
    cluster = load.load_cluster(cluster_name, [])
    nodes = 1 if cluster.starter == "local" or launcher == "local" else 2
    options = Options(nodes=nodes, launcher=launcher, group="pz0425" if cluster.scheduler == "pbs" else None)
    sources = Sources(cluster=cluster, options=options, recipe=recipe, folder=folder)
    request = resolve(sources)
    check(request, cluster, recipe)
    return render(request, cluster)


def _supported(recipe_name: str, cluster_name: str, launcher: str) -> bool:
    recipe, _ = load.load_recipe(recipe_name, [])
    cluster = load.load_cluster(cluster_name, [])
    return launcher in (recipe.launchers or PLAIN_LAUNCHERS) and launcher in (cluster.launchers or ALL_LAUNCHERS)


@pytest.mark.parametrize(("recipe", "cluster", "launcher"), CASES)
def test_script_is_as_reviewed(recipe: str, cluster: str, launcher: str) -> None:
    if not _supported(recipe, cluster, launcher):
        with pytest.raises(CheckError) as refused:
            _script(recipe, cluster, launcher)
        assert launcher in refused.value.message
        return
    script = _script(recipe, cluster, launcher)
    path = SCRIPTS / f"{recipe}-{cluster}-{launcher}.sh"
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(script.job)
        (SCRIPTS / "rank.sh").write_text(script.rank)
    assert path.read_text() == script.job
    assert (SCRIPTS / "rank.sh").read_text() == script.rank


def test_no_golden_file_is_left_over() -> None:
    wanted = {f"{recipe}-{cluster}-{launcher}.sh" for recipe, cluster, launcher in CASES
              if _supported(recipe, cluster, launcher)}  # fmt: skip
    assert {path.name for path in SCRIPTS.glob("*.sh")} == wanted | {"rank.sh"}


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.name)
def test_bash_reads_it(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)


def test_shellcheck_finds_nothing() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    answer = subprocess.run(
        ["shellcheck", "--severity=warning", "--format=gcc", *sorted(SCRIPTS.glob("*.sh"))],
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.name)
def test_no_date_and_no_run_id(path: Path) -> None:
    text = path.read_text()
    assert "hk-" not in text
    assert not re.search(r"\b20[2-3][0-9]-?[01][0-9]-?[0-3][0-9]\b", text)


def test_reedbush_header_is_what_its_users_wrote() -> None:
    script = _script("torch-ddp", "reedbush-h", "mpirun").job
    header = [line for line in script.splitlines() if line.startswith("#PBS")]
    assert "#PBS -q h-debug" in header
    assert any(line.startswith("#PBS -l select=2:mpiprocs=2:ompthreads=") for line in header)
    assert "#PBS -W group_list=pz0425" in header
    assert not any("ngpus" in line or "ncpus" in line or "place" in line for line in header)


def test_reedbush_script_carries_what_chainermn_users_needed() -> None:
    lines = _script("chainermn-mnist", "reedbush-h", "mpirun").job.splitlines()
    values = {name: shlex.split(text.strip("()")) for name, _, text in (line.partition("=") for line in lines)
              if name in ("HK_ENVIRONMENT", "HK_VARIABLES", "HK_MPI_OPTIONS")}  # fmt: skip
    assert values["HK_MPI_OPTIONS"] == ["-x", "PYTHONUSERBASE"]
    assert {"HOME=/lustre/$GROUP/$USER", "PYTHONUSERBASE=/lustre/$GROUP/$USER/.python"} <= set(values["HK_VARIABLES"])
    assert ". /etc/profile.d/modules.sh" in values["HK_ENVIRONMENT"] and "unset PIP_ROOT" in values["HK_ENVIRONMENT"]


def test_abci_names_its_group_as_project() -> None:
    header = [line for line in _script("torch-ddp", "abci3", "mpirun").job.splitlines() if line.startswith("#PBS")]
    assert "#PBS -P pz0425" in header
    assert not any("group_list" in line for line in header)


@pytest.mark.parametrize(
    ("job_id", "port"),
    [("2", 20002), ("008", 20008), ("31999", 21999), ("1234567[].pbs", 24567), ("98765432109", 22109)],
)
def test_jobs_of_one_node_meet_at_ports_of_their_own(job_id: str, port: int) -> None:
    script = _script("torch-ddp", "slurm", "srun").job
    lines = [line for line in script.splitlines() if line.startswith(("hk_digits=", "export MASTER_PORT="))]
    assert len(lines) == 2
    text = "\n".join([f"HK_JOB_ID={shlex.quote(job_id)}", *lines, 'echo "$MASTER_PORT"'])
    answer = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=True)
    assert int(answer.stdout) == port
