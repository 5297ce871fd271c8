"""A recorded request on another cluster: what stays, what changes and why, and what is refused with the nearest."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.jobs.check import CheckError
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import resolve
from hackathon.jobs.sources import gather
from hackathon.jobs.transfer import sources_here, transfer
from hackathon.runs.campaign import plan
from hackathon.runs.create import create
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from support.profiles import visible_everywhere
from support.runs import SCRIPT

BIG = """
name: big
scheduler: slurm
dialect: {group: account, gpu_request: gres}
node: {cores: 32, gpus: 4}
processes_per_node: 4
queues:
  small: {nodes: 2, walltime: 00:10:00}
  large: {nodes: 16, min_nodes: 2, walltime: 01:00:00}
queue: small
launchers: [srun, torchrun]
starter: srun
environment: [module load big]
variables: {BIG: "1"}
"""
"""A cluster of a project; its own queues, nodes and modules."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that knows the cluster `big`."""
    folder = tmp_path / "here"
    (folder / "templates" / "clusters").mkdir(parents=True)
    (folder / "templates" / "clusters" / "big.yaml").write_text(BIG)
    (folder / "project.yaml").write_text("name: here\nrecipe: torch-ddp\ngroup: mine\n")
    visible_everywhere("reedbush-h")
    monkeypatch.chdir(folder)
    return folder


def recorded(tmp_path: Path, **options: Any) -> Request:
    """Return a request of torch-ddp on Reedbush-H, as a team resolved it."""
    folder = tmp_path / "team"
    folder.mkdir(exist_ok=True)
    values = {"cluster": "reedbush-h", "queue": "h-debug", "group": "pz0425", "walltime": 900, "processes": 4}
    return resolve(gather("torch-ddp", Options(**{**values, **options}), {}, folder))


def moved(old: Request, here: Path, *, foreign: bool = True, environment: dict[str, str] | None = None, **options: Any):  # type: ignore[no-untyped-def]
    sources = sources_here(old, Options(**options), environment or {}, here, stay=not foreign)
    new, changes = transfer(old, sources, run="k3x9", files={}, source="crate.zip", foreign=foreign)
    plan(sources, [new])
    return new, changes


def test_what_belongs_to_a_machine_is_the_new_one(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path)
    new, changes = moved(old, here, cluster="big", group="gz01")
    assert (new.cluster, new.scheduler, new.starter, new.queue, new.group) == ("big", "slurm", "srun", "small", "gz01")
    assert (new.nodes, new.processes, new.processes_per_node, new.gpus_per_node) == (1, 4, 4, 4)
    assert new.environment == ("module load big",) and new.variables == {"BIG": "1"}
    assert new.command == old.command and new.parameters == old.parameters and new.launcher == "torchrun"
    assert new.team is None and new.mpi_options == () and new.origins["group"] == "command line"
    told = {each.name: each for each in changes}
    assert (told["cluster"].old, told["cluster"].new) == ("reedbush-h", "big")
    assert told["group"].why == "as you asked" and "–" in {each.new for each in changes if each.name == "environment"}
    assert "parameters.lr" not in told and all(each.why for each in changes)
    again, _ = moved(new, here, cluster="reedbush-h", group="pz0425", queue="h-debug")
    assert again.environment == old.environment and again.variables == old.variables
    assert again.mpi_options == old.mpi_options


@pytest.mark.parametrize(
    ("processes", "walltime", "queue", "nodes", "per_node"),
    [(4, 300, "small", 1, 4), (8, 300, "small", 2, 4), (12, 300, "large", 3, 4), (4, 300, "small", 1, 4),
     (8, 1800, "large", 2, 4), (2, 600, "small", 1, 2), (6, 300, "small", 2, 3)],
)  # fmt: skip
def test_queue_and_nodes_follow_the_limits(
    tmp_path: Path, here: Path, processes: int, walltime: int, queue: str, nodes: int, per_node: int
) -> None:
    old = recorded(tmp_path, processes=processes, walltime=walltime, queue="h-regular")
    new, _ = moved(old, here, cluster="big")
    assert (new.queue, new.nodes, new.processes_per_node, new.processes) == (queue, nodes, per_node, processes)
    assert new.walltime == walltime


def test_a_walltime_over_every_limit_is_cut(tmp_path: Path, here: Path) -> None:
    new, changes = moved(recorded(tmp_path, walltime=7200, queue="h-regular"), here, cluster="big")
    assert (new.queue, new.walltime) == ("small", 600)
    wide, _ = moved(recorded(tmp_path, walltime=7200, queue="h-regular", processes=12), here, cluster="big")
    assert (wide.queue, wide.walltime) == ("large", 3600)
    assert next(each for each in changes if each.name == "walltime").why == "the queue allows at most 00:10:00"


def test_refused_with_the_nearest(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path, processes=4)
    with pytest.raises(CheckError) as caught:
        moved(old, here, cluster="big", processes=80)
    assert caught.value.nearest is not None and caught.value.nearest.nodes == 16 and "--nodes 16" in str(caught.value)
    with pytest.raises(RequestError) as uneven:
        moved(old, here, cluster="big", processes=7)
    assert uneven.value.id == "jobs.uneven" and uneven.value.values["below"] == 4
    with pytest.raises(CheckError, match="nope"):
        moved(old, here, cluster="big", queue="nope")


def test_who_gives_the_group(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path)
    assert moved(old, here, cluster="big")[0].group == "mine"
    assert moved(old, here, cluster="big", environment={"HACKATHON_GROUP": "other"})[0].group == "other"
    (here / "project.yaml").write_text("name: here\nrecipe: torch-ddp\n")
    assert moved(old, here, cluster="big")[0].group is None  # never somebody else's
    with pytest.raises(CheckError, match="group"):
        moved(old, here, cluster="reedbush-h")


def test_the_own_cluster_keeps_all_but_what_was_asked_for(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path)
    new, changes = moved(old, here, foreign=False, queue="h-short")
    assert [each.name for each in changes] == ["queue"]
    assert (new.group, new.nodes, new.team) == (old.group, old.nodes, old.team)
    _, changes = moved(old, here, foreign=False, parameters={"epochs": "3"})
    assert [(each.name, each.new) for each in changes] == [("parameters.epochs", "3")]
    own = replace(old, directives=(*old.directives, "-m abe"))
    new, changes = moved(own, here, foreign=False, parameters={"epochs": "3"})
    assert new.directives == own.directives and "directives" not in {each.name for each in changes}
    # elsewhere, and from a stranger, they are the new cluster's only
    assert moved(own, here, foreign=False, cluster="big")[0].directives == ()
    assert "-m abe" not in moved(own, here, cluster="reedbush-h", group="gz01")[0].directives


def test_threads_stay_where_the_cores_are(tmp_path: Path, here: Path) -> None:
    assert moved(recorded(tmp_path, threads=8), here, cluster="big")[0].threads == 8
    new, changes = moved(recorded(tmp_path, threads=18, processes=2), here, cluster="big")
    assert new.threads == 16 and any(each.name == "threads" for each in changes)


def test_threads_leave_room_where_more_processes_share_a_node(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path, threads=18, processes=2)
    assert old.processes_per_node == 2
    for options, wanted in (
        ({"processes": 4}, 18), ({"nodes": 1, "processes": 36}, 1), ({"nodes": 1, "processes": 4}, 1),
        ({"nodes": 1, "processes": 4, "threads": 18}, 18), ({"walltime": 600}, 18),
    ):  # fmt: skip
        assert moved(old, here, foreign=False, **options)[0].threads == wanted
    few = recorded(tmp_path, threads=4, processes=2)
    assert moved(few, here, foreign=False, nodes=1, processes=4)[0].threads == 4, "there are cores for them"
    auto = replace(old, cluster="laptop")  # cores of this machine, which say nothing of a node
    assert moved(auto, here, foreign=False, nodes=1, processes=4)[0].threads == 18
    told = next(each for each in moved(old, here, foreign=False, nodes=1, processes=36)[1] if each.name == "threads")
    assert (told.old, told.new) == ("18", "1")


def test_a_new_cluster_s_threads_leave_room_too(tmp_path: Path, here: Path) -> None:
    (here / "templates" / "clusters" / "big.yaml").write_text(f"{BIG}threads: 8\n")
    old = recorded(tmp_path, threads=18, processes=2)
    assert moved(old, here, cluster="big")[0].threads == 8
    assert moved(old, here, cluster="big", nodes=1, processes=8)[0].threads == 4


def test_processes_per_node_that_do_not_fit_are_refused(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path)
    with pytest.raises(RequestError) as caught:
        moved(old, here, foreign=False, nodes=2, processes=8, processes_per_node=2)
    assert caught.value.id == "jobs.shape"
    new, _ = moved(old, here, foreign=False, nodes=4, processes=8, processes_per_node=2)
    assert (new.nodes, new.processes, new.processes_per_node) == (4, 8, 2)
    assert moved(old, here, foreign=False, nodes=2, processes_per_node=1)[0].processes == 2


def test_a_launcher_that_is_not_there(tmp_path: Path, here: Path) -> None:
    old = recorded(tmp_path, launcher="mpirun")
    new, changes = moved(old, here, cluster="big")
    assert new.launcher == "torchrun" and "big has no mpirun" in {each.why for each in changes}
    assert moved(old, here, cluster="big", launcher="srun")[0].launcher == "srun"


def test_lines_of_the_program_stay_in_their_place(tmp_path: Path, here: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "project.yaml").write_text(
        "name: own\ncommand: python train.py --rate {rate}\nparameters: {rate: 0.5}\ncluster: reedbush-h\n"
        "group: pz0425\nenvironment: [export FAST=1]\nvariables: {MODE: quick}\n"
    )
    old = resolve(gather(None, Options(), {}, folder))
    assert old.origins["environment.0"] == "cluster reedbush-h" and old.origins["environment.3"] == "project.yaml"
    new, _ = moved(old, here, cluster="big")
    assert new.environment == ("module load big", "export FAST=1")
    assert new.variables == {"BIG": "1", "MODE": "quick"}
    files = {"project.yaml": (folder / "project.yaml").read_bytes()}
    sources = sources_here(old, Options(cluster="big", parameters={"rate": "0.25"}), {}, here)
    changed, changes = transfer(old, sources, run="k", files=files, source="x", foreign=True)
    assert changed.command == ("python", "train.py", "--rate", "0.25") and changed.parameters == {"rate": 0.25}
    assert ("parameters.rate", "0.5", "0.25") in {(each.name, each.old, each.new) for each in changes}
    with pytest.raises(RequestError, match="rate"):  # without the program's own file nobody knows the command
        transfer(old, sources, run="k", files={}, source="x", foreign=True)
    sources = sources_here(old, Options(cluster="big", parameters={"rat": "1"}), {}, here)
    with pytest.raises(RequestError, match="did you mean rate"):
        transfer(old, sources, run="k", files=files, source="x", foreign=True)


def test_a_command_with_the_jobs_own_numbers_follows_its_size(tmp_path: Path, here: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "project.yaml").write_text(
        "name: own\ncommand: python train.py --devices {processes_per_node} --world {processes} --nodes {nodes}\n"
        "cluster: reedbush-h\ngroup: pz0425\n"
    )
    old = resolve(gather(None, Options(nodes=2), {}, folder))
    assert old.command == ("python", "train.py", "--devices", "2", "--world", "4", "--nodes", "2")
    assert old.parameters == {}
    larger = resolve(gather(None, Options(), {}, folder), processes=8)
    assert larger.command[2:] == ("--devices", "2", "--world", "8", "--nodes", "4")
    files = {"project.yaml": (folder / "project.yaml").read_bytes()}
    sources = sources_here(old, Options(cluster="reedbush-h", nodes=3), {}, here)
    assert transfer(old, sources, run="k", files=files, source="x", foreign=False)[0].command[-3:] == (
        "6",
        "--nodes",
        "3",
    )


def test_a_request_without_origins_of_its_lines(tmp_path: Path, here: Path) -> None:
    """Runs of an older toolkit: lines of a known profile and lines about modules are the machine's."""
    old = recorded(tmp_path)
    origins = {name: each for name, each in old.origins.items() if not name.startswith(("environment.", "variables."))}
    value = {**old.to_json(), "origins": origins, "environment": [*old.environment, "module load mine", "export A=1"]}
    new, _ = moved(Request.from_json(value), here, cluster="big")
    assert new.environment == ("module load big", "export A=1") and new.variables == {"BIG": "1"}
    value["cluster"] = "forgotten"
    with pytest.raises(RequestError, match="HOME"):  # whose they are is not known, and they would change what is loaded
        moved(Request.from_json(value), here, cluster="big")
    new, _ = moved(Request.from_json({**value, "variables": {}}), here, cluster="big")
    assert new.environment == ("module load big", "export A=1")


def test_a_built_environment_of_this_place(tmp_path: Path, here: Path) -> None:
    built = here / "envs" / "torch-ddp-cuda"
    built.mkdir(parents=True)
    (built / "env.json").write_text(json.dumps({"variant": "cuda", "digest": "d", "built": "now"}))
    new, _ = moved(recorded(tmp_path), here, cluster="big")
    assert new.python_environment is not None and new.python_environment["path"] == str(built)
    assert new.environment[0] == "module load big" and str(built) in new.environment[1]


# ---- the command ----
@pytest.fixture
def run(tmp_path: Path, here: Path) -> Path:
    """A recorded run on Reedbush-H in the project here."""
    return create(recorded(tmp_path), SCRIPT, runs_folder=here / "runs", note="as it was", tags=["t"]).path


def test_differences_come_first(run: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hackathon(["rerun", run.name, "--cluster", "big", "--dry-run", "--json"]) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["request"]["cluster"] == "big" and {"name", "old", "new", "why"} == told["changes"][0].keys()
    assert "cluster: reedbush-h → big" in shown.err and "module load big" in shown.err
    assert [path.name for path in run.parent.iterdir()] == [run.name]
    assert hackathon(["rerun", run.name, "--cluster", "big", "--dry-run", "--lang", "ja"]) == 0
    assert "変更" in capsys.readouterr().err
    assert hackathon(["rerun", run.name, "--cluster", "nowhere"]) == 2
    assert hackathon(["rerun", run.name, "--cluster", "big", "--processes", "7"]) == 2
    assert [path.name for path in run.parent.iterdir()] == [run.name]


def test_a_run_in_place_has_no_program_to_carry(tmp_path: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = recorded(tmp_path, in_place=True)
    run = create(old, SCRIPT, runs_folder=here / "runs")
    assert hackathon(["rerun", run.id, "--cluster", "big", "--dry-run"]) == 2
    assert "kept no copy" in capsys.readouterr().err


def test_hostile_names_of_a_crate_do_not_steer_the_terminal(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((run / "request.json").read_text())
    record["environment"] = ["export X=\x1b[31m1"]
    record["origins"] = {"environment.0": "project.yaml"}
    source = json.loads((run / "source.json").read_text())
    files: dict[str, bytes] = {"request.json": json.dumps(record).encode(), "source.json": json.dumps(source).encode()}
    files |= {f"source/{name}": (run / "source" / name).read_bytes() for name in source["files"]}
    listed = {"schema_version": 1, "run": "k\x1b[0m", "files": dict.fromkeys(files, ""), "source": {"complete": True}}
    graph = {"@graph": [{"@id": "ro-crate-metadata.json"}, {"@id": "./"}]}
    files |= {"hackathon.json": json.dumps(listed).encode(), "ro-crate-metadata.json": json.dumps(graph).encode()}
    with zipfile.ZipFile(here / "bad.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    assert hackathon(["rerun", "bad.zip", "--cluster", "big", "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.err + shown.out and "edited after it was published" in shown.err


def test_a_cluster_that_is_not_known_here(tmp_path: Path, here: Path) -> None:
    value = {**recorded(tmp_path).to_json(), "cluster": "theirs"}
    with pytest.raises(RequestError, match="theirs"):
        moved(Request.from_json(value), here, foreign=False)
    assert registry.load_cluster("big", [here]).name == "big"
