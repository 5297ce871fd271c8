"""The whole job script of every cluster × launcher × recipe, compared with a reviewed file.

After a wanted change: `HACKATHON_GOLDEN=write pytest tests/golden`, then review the difference in git.
"""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from hackathon.config import load
from hackathon.config.cluster import ALL_LAUNCHERS, PLAIN_LAUNCHERS, Starter
from hackathon.jobs import machine
from hackathon.jobs.check import CheckError, check
from hackathon.jobs.options import Options
from hackathon.jobs.render import JobScript, render
from hackathon.jobs.resolve import Sources, resolve
from hackathon.schedulers import profiles

SCRIPTS = Path(__file__).parent / "scripts"
RECIPES = [recipe.name for recipe in load.list_recipes([])[0]]
CLUSTERS = [cluster.name for cluster in profiles.list_clusters([])[0]]
CASES = [(recipe, cluster, launcher) for recipe in RECIPES for cluster in CLUSTERS for launcher in ALL_LAUNCHERS]


@pytest.fixture(autouse=True)
def fixed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` must not make the files depend on the machine that runs the test."""
    monkeypatch.setattr(machine, "cores", lambda: 4)
    monkeypatch.setattr(machine, "gpus", lambda: 0)


# each test has an empty cache of its own: what does not change is read once
_recipe = cache(lambda name: load.load_recipe(name, []))
_cluster = cache(lambda name: profiles.load_cluster(name, []))


def _script(recipe_name: str, cluster_name: str, launcher: str) -> JobScript:
    recipe, folder = _recipe(recipe_name)
    cluster = _cluster(cluster_name)
    nodes = 1 if cluster.starter == "local" or launcher == "local" else 2
    group = "pz0425" if profiles.known_dialect(cluster).wants_group else None
    options = Options(nodes=nodes, launcher=launcher, group=group)
    sources = Sources(cluster=cluster, options=options, recipe=recipe, folder=folder)
    request = resolve(sources)
    check(request, cluster, recipe)
    return render(request, cluster)


def _supported(recipe_name: str, cluster_name: str, launcher: str) -> bool:
    recipe, _ = _recipe(recipe_name)
    cluster = _cluster(cluster_name)
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


def test_bash_reads_them() -> None:
    begun = {path: subprocess.Popen(["bash", "-n", path]) for path in sorted(SCRIPTS.glob("*.sh"))}
    assert [path.name for path, process in begun.items() if process.wait() != 0] == []


def _parts(script: str) -> tuple[str, str, str]:
    """Return what stands before a script's values, its values, and what stands after them."""
    begin, middle, end = script.partition("# ---- values: ")
    values, mark, rest = (middle + end).partition("\n# ---- ")
    return begin, values, mark + rest


@pytest.mark.slow
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """Scripts that differ in their values alone are read once, and all values once more as one script."""
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    scripts = {path: path.read_text() for path in sorted(SCRIPTS.glob("*.sh"))}
    bodies: dict[str, Path] = {}
    values = ["#!/bin/bash", "# shellcheck disable=SC2034", "{"]
    for path, text in scripts.items():
        begin, block, rest = _parts(text)
        prefixes = ("#PBS", "#SBATCH", "#PJM", "#$")
        directives = "".join(line for line in begin.splitlines(True) if not line.startswith(prefixes))
        names = "".join(f"{line.partition('=')[0]}\n" for line in block.splitlines())
        bodies.setdefault(directives + names + rest, path)
        values += [f"# {path.name}", block.partition("\n")[2]]
    together = tmp_path / "values.sh"
    together.write_text("\n".join([*values, "}", ""]))
    assert together.read_text().count("\nHK_NAME=") == len(scripts) - 1, "all but rank.sh have values"
    answer = subprocess.run(
        ["shellcheck", "--severity=warning", "--format=gcc", together, *bodies.values()], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("starter", sorted(set(Starter.__args__) - {_cluster(name).starter for name in CLUSTERS}))  # type: ignore[attr-defined]
def test_shellcheck_finds_nothing_in_starters_that_no_profile_has(starter: str, tmp_path: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    recipe, folder = _recipe("torch-ddp")
    cluster = replace(_cluster("slurm"), starter=starter)
    options = Options(nodes=2, launcher="torchrun")
    request = resolve(Sources(cluster=cluster, options=options, recipe=recipe, folder=folder))
    path = tmp_path / "job.sh"
    path.write_text(render(request, cluster).job)
    assert f"# starter: {starter} " in path.read_text()
    command = ["shellcheck", "--severity=warning", "--format=gcc", path]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


def test_no_date_and_no_run_id() -> None:
    wrong = re.compile(r"hk-|\b20[2-3][0-9]-?[01][0-9]-?[0-3][0-9]\b")
    assert [path.name for path in sorted(SCRIPTS.glob("*.sh")) if wrong.search(path.read_text())] == []


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


@pytest.mark.parametrize("part", ["g", "c"])
def test_miyabi_header_is_what_its_users_wrote(part: str) -> None:
    header = [line for line in _script("torch-ddp", f"miyabi-{part}", "mpirun").job.splitlines() if "#PBS" in line]
    ranks, threads = (1, 72) if part == "g" else (2, 56)
    assert header == [
        f"#PBS -q debug-{part}", f"#PBS -l select=2:mpiprocs={ranks}:ompthreads={threads}", "#PBS -l walltime=00:10:00",
        "#PBS -W group_list=pz0425", "#PBS -j oe",
    ]  # fmt: skip


def test_abci_names_its_group_as_project() -> None:
    header = [line for line in _script("torch-ddp", "abci3", "mpirun").job.splitlines() if line.startswith("#PBS")]
    assert "#PBS -P pz0425" in header
    assert not any("group_list" in line for line in header)


@pytest.mark.parametrize(
    ("found", "run"),
    [
        ("/bin/mpirun", f"{Path('/bin').resolve()}/mpirun" if Path("/bin").is_symlink() else "mpirun"),
        ("/etc/mpirun", "mpirun"),  # a folder that is no link: found again on PATH, without a prefix
        ("/usr/bin/mpirun", "/usr/bin/mpirun"),
        ("/opt/open mpi/bin/mpirun", "/opt/open mpi/bin/mpirun"),
        ("", "mpirun"),
    ],
)
def test_mpirun_gets_no_prefix_of_slashes(found: str, run: str) -> None:
    """Open MPI makes the prefix of the folder above its own; `/` ends every job: "only contained slashes"."""
    script = _script("torch-ddp", "reedbush-h", "mpirun").job
    function = script[script.index("hk_mpirun_path()") :]
    function = function[: function.index("\n}\n") + 3]
    fake = f"command() {{ {f'echo {shlex.quote(found)}' if found else 'false'}; }}\n"
    answer = subprocess.run(["bash", "-euc", fake + function + "hk_mpirun_path"], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout.strip()) == (0, run), answer.stderr


@pytest.mark.parametrize(
    ("job_id", "port"),
    [("2", 20002), ("008", 20008), ("31999", 21999), ("1234567[].pbs", 24567), ("98765432109", 22109)],
)
def test_jobs_of_one_node_meet_at_ports_of_their_own(job_id: str, port: int) -> None:
    assert _master_port(job_id) == port


def test_a_port_that_somebody_listens_on_is_left_alone() -> None:
    with contextlib.ExitStack() as stack:
        for taken in range(21000, 22000):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", taken)))
                break
        port = _master_port(str(taken - 20000))
        assert port != taken
        stack.enter_context(socket.create_server(("127.0.0.1", port)))


@pytest.mark.parametrize(("count", "said"), [(1, "1 process"), (0, "0 processes"), (12, "12 processes")])
def test_a_job_counts_in_plain_english(count: int, said: str) -> None:
    script = _script("torch-ddp", "slurm", "srun").job
    (counted,) = re.findall(r"^hk_counted\(\) .*?^}$", script, re.DOTALL | re.MULTILINE)
    text = f"{counted}\nhk_counted {count} process processes"
    assert subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=True).stdout == said
    assert "(s)" not in script and "(es)" not in script


def _master_port(job_id: str) -> int:
    lines = _script("torch-ddp", "slurm", "srun").job.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("hk_digits="))
    last = next(number for number, line in enumerate(lines) if line.startswith("export MASTER_ADDR"))
    settings = [f"HK_JOB_ID={shlex.quote(job_id)}", "HK_RUN=/x MASTER_ADDR=a HK_ATTEMPT=1 HK_DEADLINE=2"]
    text = "\n".join([*settings, *lines[first : last + 1], 'echo "$MASTER_PORT"'])
    return int(subprocess.run(["bash", "-euc", text], capture_output=True, text=True, check=True).stdout)
