"""Account, QOS, constraint, reservation and partition: what users and profiles say is what the job's header says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hackathon.cli.main import run

SLURM = """\
name: big
scheduler: slurm
dialect: {group: account, gpu_request: gpus-per-node}
node: {cores: 64, gpus: 4}
queue: regular
queues:
  regular: {qos: regular, nodes: 9}
  debug: {partition: boost, qos: debug, nodes: 2, walltime: "00:30:00"}
  other: {partition: elsewhere, nodes: 9}
  plain: {nodes: 9}
constraint: gpu&hbm80g
master_addr_suffix: i
launchers: [srun, torchrun]
starter: srun
"""
PBS = """\
name: bee
scheduler: pbs
dialect: {group: account}
directives: ["-l filesystems=home"]
node: {cores: 32, gpus: 4}
queues: {debug: {}}
"""
Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    clusters = folder / "templates" / "clusters"
    clusters.mkdir(parents=True)
    (clusters / "big.yaml").write_text(SLURM)
    (clusters / "bee.yaml").write_text(PBS)
    (folder / "train.py").write_text("print('accuracy 1')\n")
    (folder / "project.yaml").write_text("name: work\ncommand: python train.py\nframework: torch\ncluster: big\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hackathon(place: Path, capsys: pytest.CaptureFixture[str]) -> Answer:
    def call(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return call


def header(hackathon: Answer, *words: str) -> list[str]:
    """Return the directives of a rendered script about the place of a job."""
    code, script, error = hackathon("render", *words)
    assert code == 0, error
    names = ("--partition", "--qos", "--constraint", "--account", "--reservation", "-A", "-q", "-P", "-W")
    lines = [line.split(maxsplit=1)[1] for line in script.splitlines() if line.startswith(("#SBATCH ", "#PBS "))]
    return [line for line in lines if line.startswith(names)]


@pytest.mark.parametrize(
    ("queue", "lines"),
    [
        ("regular", ["--qos=regular"]),
        ("debug", ["--partition=boost", "--qos=debug"]),
        ("other", ["--partition=elsewhere"]),
        ("plain", ["--partition=plain"]),
    ],
)
def test_queue_stands_for_a_partition_a_qos_or_both(hackathon: Answer, queue: str, lines: list[str]) -> None:
    assert header(hackathon, "--queue", queue) == [*lines, "--constraint=gpu&hbm80g"]


def test_options_come_before_the_profile(hackathon: Answer, place: Path) -> None:
    words = ("--qos", "premium", "--constraint", "cpu", "--account", "m1", "--reservation", "day1")
    lines = ["--qos=premium", "--constraint=cpu", "--account=m1", "--reservation=day1"]
    assert header(hackathon, *words) == lines
    (place / "project.yaml").write_text((place / "project.yaml").read_text() + "qos: event\nconstraint: fast\n")
    assert header(hackathon) == ["--qos=event", "--constraint=fast"]
    assert header(hackathon, "--cluster", "bee", "--group", "m1") == ["-q debug", "-A m1"], (
        "the project's words are for Slurm"
    )


def test_account_is_another_word_for_group(hackathon: Answer) -> None:
    assert header(hackathon, "--account", "m1", "--group", "m1")[-1] == "--account=m1"
    code, _, error = hackathon("render", "--account", "m1", "--group", "m2")
    assert code == 2 and "m1" in error and "m2" in error
    assert header(hackathon, "--cluster", "bee", "--account", "m1") == ["-q debug", "-A m1"]


@pytest.mark.parametrize(("option", "value"), [("qos", "x"), ("constraint", "gpu")])
def test_option_that_a_job_would_not_have_is_refused(hackathon: Answer, option: str, value: str) -> None:
    code, _, error = hackathon("check", "--cluster", "bee", "--account", "m1", f"--{option}", value)
    assert code == 2 and f"--{option}" in error
    assert hackathon("check", "--cluster", "bee", "--account", "m1")[0] == 0
    assert hackathon("check", "--cluster", "laptop", f"--{option}", value)[0] == 0, (
        "a machine of one's own has no queue"
    )


def test_account_that_would_not_be_charged_is_refused(hackathon: Answer, place: Path) -> None:
    path = place / "templates" / "clusters" / "bee.yaml"
    path.write_text(PBS.replace("group: account", "group: none"))
    code, _, error = hackathon("check", "--cluster", "bee", "--group", "m1")
    assert code == 2 and "--group" in error
    path.write_text(PBS.replace("group: account", "group: none").replace("-l filesystems=home", "-A m9"))
    assert hackathon("check", "--cluster", "bee")[0] == 0
    (place / "project.yaml").write_text((place / "project.yaml").read_text() + "group: m1\n")
    code, _, error = hackathon("check", "--cluster", "bee")
    assert code == 2 and "m9" in error and "m1" in error
    path.write_text(PBS.replace("group: account", "group: none").replace("-l filesystems=home", "-A m1"))
    assert hackathon("check", "--cluster", "bee")[0] == 0


def test_value_that_is_no_name_reaches_no_header(hackathon: Answer) -> None:
    for option, value in (("--qos", "a b"), ("--constraint", "x$(id)"), ("--constraint", "-C")):
        assert hackathon("check", option, value)[0] == 2
        assert hackathon("render", option, value)[0] == 2


def test_ranks_meet_at_the_address_in_the_fast_network(hackathon: Answer, place: Path) -> None:
    assert hackathon("render", "--nodes", "2", "--to", str(place / "job"))[0] == 0
    assert "HK_ADDRESS_SUFFIX=i\n" in (place / "job" / "job.sh").read_text()
    assert "MASTER_ADDR=${HK_HOSTS[0]}$HK_ADDRESS_SUFFIX;" in (place / "job" / "hackathon.sh").read_text()
    assert "MASTER_ADDR=${hosts[0]}i\n" in hackathon("render", "--essence", "--nodes", "2")[1]


@pytest.mark.parametrize(
    ("profile", "text", "words"),
    [
        ("bee", PBS.replace("debug: {}", "debug: {qos: x}"), "queues.debug.qos"),
        ("bee", PBS.replace("debug: {}", "debug: {partition: x}"), "queues.debug.partition"),
        ("bee", f"{PBS}constraint: gpu\n", "constraint"),
        ("big", SLURM.replace("suffix: i", "suffix: $(id)"), "master_addr_suffix"),
    ],
)
def test_wrong_profile(hackathon: Answer, place: Path, profile: str, text: str, words: str) -> None:
    (place / "templates" / "clusters" / f"{profile}.yaml").write_text(text)
    code, _, error = hackathon("clusters", "check", profile)
    assert code == 2 and words in error and f"{profile}.yaml:" in error


def test_nearest_accepted_request_has_the_names_of_its_queue(hackathon: Answer) -> None:
    code, _, error = hackathon("check", "--queue", "debug", "--nodes", "4", "--walltime", "00:10:00")
    assert code == 2 and "--queue regular --nodes 4" in error


def script(place: Path, *header: str) -> str:
    lines = "".join(f"#SBATCH {line}\n" for line in header)
    (place / "a.sh").write_text(f"#!/bin/bash\n{lines}#SBATCH --ntasks-per-node=1\nsrun true\n")
    return str(place / "a.sh")


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        (["--partition=boost", "--qos=debug", "--nodes=4"], {"over-limit"}),
        (["--partition=boost", "--qos=debug", "--nodes=2"], set()),
        (["--partition=boost", "--qos=long", "--nodes=4"], set()),
        (["--qos=regular", "--nodes=99"], {"over-limit"}),
        (["--partition=elsewhere", "--nodes=4"], set()),
        (["--partition=debug", "--nodes=2"], {"queue-unknown"}),
        (["--partition=plain", "--nodes=99"], {"over-limit"}),
    ],
)
def test_lint_knows_what_a_queue_stands_for(hackathon: Answer, place: Path, lines: list[str], rules: set[str]) -> None:
    value = json.loads(hackathon("lint", script(place, *lines), "--cluster", "big", "--json")[1])
    found = {finding["rule"] for file in value["files"] for finding in file["findings"]}
    assert found & {"over-limit", "queue-unknown"} == rules


def test_converted_script_names_what_the_queue_stands_for(hackathon: Answer, place: Path) -> None:
    (place / "b.sh").write_text("#!/bin/bash\n#PBS -q debug\n#PBS -l select=2:ncpus=4\nmpirun true\n")
    converted = hackathon("convert", str(place / "b.sh"), "--to", "big")[1]
    assert "#SBATCH --partition=boost\n" in converted and "#SBATCH --qos=debug\n" in converted
