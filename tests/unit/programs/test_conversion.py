"""Conversion of a header: what one scheduler asks for is asked of the other, what cannot be said stays visible."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from hackathon.programs.scripts.conversion import Converted, convert, target_language
from hackathon.programs.scripts.lint import lint, looked_at
from hackathon.programs.scripts.source import script_text
from hackathon.schedulers import registry
from hackathon.schedulers.registry import load_cluster
from hackathon.schedulers.scripts import ScriptRequest
from hackathon.text.errors import RequestError

PBS = b"""#!/bin/bash
#PBS -N train
#PBS -q h-regular
#PBS -l select=4:mpiprocs=2:ompthreads=9
#PBS -W group_list=gi99
#PBS -l walltime=01:30:00
#PBS -j oe
# a comment stays
cd "$PBS_O_WORKDIR"
mpirun ./a.out
"""
BODY = '# a comment stays\ncd "$PBS_O_WORKDIR"\nmpirun ./a.out\n'


def to(raw: bytes, name: str) -> Converted:
    cluster = None if name in ("gridengine", "pjm", "nqsv") else load_cluster(name)
    return convert(script_text(raw, "job.sh"), cluster, target_language(name, cluster))


def losses(made: Converted) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of what is not translated."""
    return tuple((loss.line, loss.text) for loss in made.not_translated)


def read(made: Converted) -> ScriptRequest:
    look = looked_at(made.script, made.target)
    assert look is not None
    return look.request


@pytest.mark.parametrize("target", ["slurm", "pjm", "nqsv", "abci3"])
def test_the_other_scheduler_is_asked_for_the_same(target: str) -> None:
    made = to(PBS, target)
    request = read(made)
    assert (request.name, request.nodes, request.walltime, request.account) == ("train", 4, 5400, "gi99")
    folder = made.changed[-1].after if made.target in ("slurm", "pjm") else "PBS_O_WORKDIR"
    assert made.script.text().endswith(BODY.replace("PBS_O_WORKDIR", folder))
    assert not any(line.startswith("#PBS") for line in made.script.lines) or made.target in ("pbs", "nqsv")
    assert request.total() == (None if target == "nqsv" else 8)


def test_the_header_that_a_profile_wants() -> None:
    assert to(PBS, "abci3").script.lines[:7] == (
        "#!/bin/bash", "#PBS -N train", "#PBS -l select=4:mpiprocs=2:ompthreads=9", "#PBS -l walltime=01:30:00",
        "#PBS -P gi99", "#PBS -j oe", "# not translated: #PBS -q h-regular",
    )  # fmt: skip


def test_a_queue_of_another_machine_is_lost_and_told() -> None:
    assert losses(to(PBS, "abci3")) == ((3, "#PBS -q h-regular"),)
    assert losses(to(PBS, "slurm")) == ()


def command(tmp_path: Path, raw: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the answer of `hackathon convert`."""
    (tmp_path / "job.sh").write_text(raw)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(["convert", str(tmp_path / "job.sh"), "--json", *words])
    return code, json.loads(out.getvalue())


def test_all_variables_of_nqsv_count() -> None:
    raw = b"#!/bin/bash\n#PBS -b 2\n#PBS -v A=1\n#PBS -v B=2\n#PBS -v C\n#PBS -l elapstim_req=1:00:00\necho $A $B $C\n"
    made = to(raw, "slurm")
    assert "#SBATCH --export=ALL,A=1,B=2,C" in made.script.lines and losses(made) == ()
    assert "#PBS -v A=1,B=2,C" in to(raw, "pegasus").script.lines


def test_a_variable_that_pbs_replaces_is_told() -> None:
    made = to(b"#!/bin/bash\n#PBS -l select=1\n#PBS -v A=1\n#PBS -v B=2\necho $A $B\n", "slurm")
    assert "#SBATCH --export=ALL,B=2" in made.script.lines and losses(made) == ((3, "#PBS -v A=1"),)


@pytest.mark.parametrize(("target", "told"), [("reedbush-h", True), ("miyabi-g", True), ("pegasus", True),
                                              ("tsubame4", False)])  # fmt: skip
def test_gpus_of_a_node_that_do_not_fit_are_told(tmp_path: Path, target: str, told: bool) -> None:
    raw = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=4\n#SBATCH -t 1:00:00\nmpirun ./a\n"
    code, made = command(tmp_path, raw, "--to", target)
    gpus = [each["text"] for each in made["not_translated"] if "gpus" in each["text"]]
    assert (gpus == ["#SBATCH --gpus-per-node=4"]) == told and (code == 1 or not told)
    assert ("# not translated: #SBATCH --gpus-per-node=4" in made["script"]) == told


@pytest.mark.parametrize(("header", "gpus", "cores"), [
    ("#PBS -q h-regular\n#PBS -l select=2", 2, 36), ("#PJM -L rscgrp=regular-a\n#PJM -L node=2", 8, 72),
    ("#PBS -q regular-g\n#PBS -l select=2", 1, 72), ("#PBS -q gpu\n#PBS -b 2\n#PBS -l elapstim_req=1:00:00", 1, 48),
])  # fmt: skip
def test_a_queue_of_whole_nodes_keeps_its_gpus_and_cores(tmp_path: Path, header: str, gpus: int, cores: int) -> None:
    code, made = command(tmp_path, f"#!/bin/bash\n{header}\n./a\n", "--to", "slurm")
    lines = made["script"].splitlines()
    assert code == 0 and "#SBATCH --nodes=2" in lines and "#SBATCH --exclusive" in lines, lines
    assert f"#SBATCH --gpus-per-node={gpus}" in lines and f"#SBATCH --cpus-per-task={cores}" in lines, lines


def test_the_cluster_that_a_script_is_for_can_be_named(tmp_path: Path) -> None:
    raw = "#!/bin/bash\n#PBS -q h-regular\n#PBS -l select=2:mpiprocs=2\n./a\n"
    _, plain = command(tmp_path, raw, "--to", "slurm", "--from", "miyabi-g")
    assert "gpus" not in plain["script"], "Miyabi has no such queue"
    _, made = command(tmp_path, raw, "--to", "slurm", "--from", "reedbush-h")
    assert "--gpus-per-node=2" in made["script"] and "--cpus-per-task=18" in made["script"]
    _, small = command(tmp_path, raw.replace("h-regular", "h-debug"), "--to", "tsubame4", "--from", "reedbush-h")
    assert "not translated: #PBS -q h-debug" in small["script"]


def test_what_cannot_be_said_is_a_comment() -> None:
    raw = b"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --constraint=v100\n#SBATCH --dependency=afterok:12\nhostname\n"
    made = to(raw, "gridengine")
    assert [line for line, _ in losses(made)] == [2, 3, 4]
    assert "# not translated: #SBATCH --constraint=v100" in made.script.lines
    assert made.script.lines[-1] == "hostname"


@pytest.mark.parametrize(("array", "lines"), [("0-3%2", []), ("1-4%2", ["#$ -t 1-4", "#$ -tc 2"])])
def test_tasks_that_count_from_zero_are_lost_on_grid_engine(array: str, lines: list[str]) -> None:
    made = to(f"#!/bin/bash\n#SBATCH -n 1\n#SBATCH --array={array}\n".encode(), "gridengine")
    assert [line for line in made.script.lines if line.startswith("#$ -t")] == lines
    assert bool(losses(made)) == (not lines)


def test_gpus_are_asked_for_where_the_profile_does_not_give_whole_nodes() -> None:
    raw = b"#!/bin/bash\n#PBS -l select=2:mpiprocs=4:ngpus=4\n#PBS -l walltime=600\n"
    assert "#SBATCH --gpus-per-node=4" in to(raw, "slurm").script.lines
    assert not any("ngpus" in line for line in to(raw, "abci3").script.lines)


@pytest.mark.parametrize(
    ("asked", "cluster", "resources", "lost"),
    [
        ("-N 1|--gres=gpu:1", "genkai", ["-L gpu=1"], []),
        ("--gres=gpu:3|-n 1", "genkai", ["-L gpu=3"], []),
        ("-N 1|-n 2|--gres=gpu:2", "genkai", ["-L gpu=2"], ["-n 2"]),
        ("-N 1|--exclusive|--gres=gpu:1", "genkai", ["-L node=1"], ["--gres=gpu:1"]),
        ("-N 1|-n 4|--gres=gpu:4", "genkai", ["-L node=1", "--mpi proc=4"], []),
        ("-N 2|--gres=gpu:1", "genkai", ["-L node=2"], ["--gres=gpu:1"]),
        ("-N 1|-n 8", "genkai", ["-L node=1", "--mpi proc=8"], []),
        ("-N 1|-p share|--gres=gpu:2", "wisteria-a", ["-L gpu=2"], []),
        ("-N 1|-p regular-a|--gres=gpu:8", "wisteria-a", ["-L node=1"], []),
        ("-N 1|-p regular-a|--gres=gpu:1", "wisteria-a", ["-L node=1"], ["--gres=gpu:1"]),
        ("-N 1|--gres=gpu:1", "wisteria-o", ["-L node=1"], ["--gres=gpu:1"]),
        ("-N 1|--gres=gpu:1", "pjm", ["-L node=1"], ["--gres=gpu:1"]),
    ],
)
def test_a_part_of_a_node_is_no_whole_node_on_pjm(
    asked: str, cluster: str, resources: list[str], lost: list[str]
) -> None:
    raw = "#!/bin/bash\n" + "".join(f"#SBATCH {each}\n" for each in asked.split("|"))
    made = to(raw.encode(), cluster)
    words = [line.removeprefix("#PJM ") for line in made.script.lines]
    assert [each for each in words if each.startswith(("-L node", "-L gpu", "--mpi"))] == resources
    assert [line for _, line in losses(made)] == [f"#SBATCH {each}" for each in lost]


@pytest.mark.parametrize(("memory", "chunk", "lost"), [("0", "2", 1), ("0G", "2", 1), ("10G", "2:mem=10gb", 0)])
def test_all_memory_of_a_node_is_not_no_memory_on_pbs(memory: str, chunk: str, lost: int) -> None:
    made = to(f"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --mem={memory}\n#SBATCH --mail-type=END\n".encode(), "abci3")
    assert [line for line in made.script.lines if "select" in line] == [f"#PBS -l select={chunk}"]
    assert [line for _, line in losses(made)] == [f"#SBATCH --mem={memory}"] * lost
    assert "#PBS -m e" in made.script.lines


@pytest.mark.parametrize(
    ("asked", "lines", "lost"),
    [
        ("-N 2|--gpus=3", ["-l select=2"], ["--gpus=3"]),
        ("-N 2|--gpus=v100:4", ["-l select=2"], ["--gpus=v100:4"]),
        ("-N 2|-n 3", ["-l select=2"], ["-n 3"]),
        ("-N 2|-n 4", ["-l select=2:mpiprocs=2"], []),
        ("-N 2|-n 3|--ntasks-per-node=2", ["-l select=2:mpiprocs=2"], ["-n 3"]),
        ("-N 2|-n 4|--ntasks-per-node=2", ["-l select=2:mpiprocs=2"], []),
        ("-n 8|--ntasks-per-node=4", ["-l select=1:mpiprocs=4"], ["-n 8"]),
        ("-n 3", ["-l select=1:mpiprocs=3"], []),
        ("-N 2|--gpus=8", ["-l select=2"], []),
        ("--gpus=4", [], []),
        ("--gpus=8", [], ["--gpus=8"]),
        ("--gpus=8|--gpus-per-node=4", [], ["--gpus=8"]),
    ],
)
def test_what_nodes_cannot_share_equally_is_told_on_pbs(asked: str, lines: list[str], lost: list[str]) -> None:
    made = to(("#!/bin/bash\n" + "".join(f"#SBATCH {each}\n" for each in asked.split("|"))).encode(), "reedbush-l")
    assert [line.removeprefix("#PBS ") for line in made.script.lines if "-l select" in line] == lines
    assert [line for _, line in losses(made)] == [f"#SBATCH {each}" for each in lost]


@pytest.mark.parametrize(
    ("target", "path", "written"),
    [
        ("gridengine", "%x-%j.out", ["#$ -o $JOB_NAME-$JOB_ID.out"]), ("pjm", "a-%j.out", ["#PJM -o a-%j.out"]),
        ("pjm", "%x-%j.out", []), ("nqsv", "a-%j.out", []), ("nqsv", "a.out", ["#PBS -o a.out"]),
    ],
)  # fmt: skip
def test_signs_in_a_path_are_said_or_lost(target: str, path: str, written: list[str]) -> None:
    for option, letter in (("--output", "o"), ("--error", "e")):
        made = to(f"#!/bin/bash\n#SBATCH -n 1\n#SBATCH {option}={path}\n".encode(), target)
        lines = [line.replace(" -e ", " -o ") for line in made.script.lines if f" -{letter} " in line]
        assert lines == written
        assert [line for line, _ in losses(made)] == [3] * (not written)


@pytest.mark.parametrize(
    ("asked", "cluster", "resources", "lost"),
    [
        ("-N 4|--ntasks-per-node=2|--cpus-per-task=9", "pegasus", ["-b 4"], [3, 4]),
        ("-N 1|--ntasks-per-node=8|--cpus-per-task=9", "squid", ["-b 1", "-l cpunum_job=72"], [3, 4]),
        ("-N 2|-n 4|-c 9", "squid", ["-b 2", "-l cpunum_job=18"], [3, 4]),
        ("-n 8|-c 9", "squid", [], [2, 3]),
        ("-c 9", "squid", ["-l cpunum_job=9"], [2]),
        ("-N 1|-n 1|-c 1", "pegasus", ["-b 1"], []),
        ("--ntasks-per-node=4", "pjm", [], [2]),
        ("--ntasks-per-node=1", "pjm", [], []),
        ("-n 8|--ntasks-per-node=4", "pjm", ["--mpi proc=8"], [3]),
        ("-N 2|--ntasks-per-node=4", "pjm", ["-L node=2", "--mpi proc=8"], []),
    ],
)
def test_ranks_and_threads_are_said_or_lost(asked: str, cluster: str, resources: list[str], lost: list[int]) -> None:
    made = to(("#!/bin/bash\n" + "".join(f"#SBATCH {each}\n" for each in asked.split("|"))).encode(), cluster)
    words = [line.partition(" ")[2] for line in made.script.lines]
    assert [each for each in words if each.startswith(("-b", "-l cpunum", "-L node", "--mpi"))] == resources
    assert [line for line, _ in losses(made)] == lost


@pytest.mark.parametrize(
    ("command", "directive", "target", "options"),
    [
        ("module load x", "#$ -N a", "slurm", ["#SBATCH --job-name=a"]),
        (": a remark", "#PBS -N a", "slurm", ["#SBATCH --job-name=a"]),
        (": a remark", "#PBS -N a", "gridengine", ["#$ -N a", "#$ -cwd"]),
    ],
)
def test_a_header_stands_before_the_first_command(
    command: str, directive: str, target: str, options: list[str]
) -> None:
    made = to(f"#!/bin/bash\n# a comment\n{command}\n{directive}\nhostname\n".encode(), target)
    assert made.script.lines == ("#!/bin/bash", "# a comment", *options, command, "hostname")
    made = to(f"#!/bin/bash\n{directive}\n# a comment\nhostname\n".encode(), target)
    assert made.script.lines == ("#!/bin/bash", *options, "# a comment", "hostname")


def test_all_lines_of_a_directive_are_taken_or_lost() -> None:
    raw = b"#!/bin/bash\n#PBS -N a \\\n-l select=2:\\\nmpiprocs=4\n\n#PBS -r y \\\n-k oe\nhostname \\\n-f\n"
    made = to(raw, "slurm")
    assert made.script.lines == (
        "#!/bin/bash", "#SBATCH --job-name=a", "#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=4", "#SBATCH --requeue",
        "", "# not translated: #PBS -r y -k oe", "hostname \\", "-f",
    )  # fmt: skip
    assert losses(made) == ((6, "#PBS -r y -k oe"),)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ('-J "my job"', '--job-name="my job"'), ("-o 'a \"b\".txt'", "--output='a \"b\".txt'"),
        ('-J "a#1"', '--job-name="a#1"'), ("-J a", "--job-name=a"), ("--export=NONE", "--export=NONE"),
        ("--export=NONE,A=1", "--export=A=1"), ("--export=ALL,A=1", "--export=ALL,A=1"), ("--export=ALL", None),
    ],
)  # fmt: skip
def test_slurm_gets_back_its_quotation_marks_and_no_environment(asked: str, written: str | None) -> None:
    made = to(f"#!/bin/bash\n#SBATCH {asked}\n".encode(), "slurm")
    assert made.script.lines[1:] == ((f"#SBATCH {written}",) if written else ())
    assert losses(made) == ()


@pytest.mark.parametrize("name", list(registry.SCRIPTS))
def test_what_is_written_is_read_back(name: str) -> None:
    language = registry.script_language(name)
    assert language is not None
    wanted = ScriptRequest(
        name="a", queue="q", account="g", nodes=2, processes_per_node=4, walltime=5400, output="o.txt", merge=True,
        mail_user="a@b.org", mail_on=frozenset({"begin", "end"}), variables="A=1",
    )  # fmt: skip
    options, _ = language.write(wanted, {"group": {"pbs": "group_list"}.get(name, "account")})
    text = "#!/bin/bash\n" + "".join(f"{language.prefix} {option}\n" for option in options)
    source = script_text(text.encode(), "x")
    assert [each for each in lint(source, name).findings if each.severity == "error"] == []
    look = looked_at(source, name)
    assert look is not None
    got = look.request
    shared = ("name", "queue", "account", "walltime", "output", "mail_user", "mail_on", "variables")
    assert {each: getattr(got, each) for each in shared} == {each: getattr(wanted, each) for each in shared}


def test_resource_types_and_a_group_that_only_the_command_can_say() -> None:
    made = to(PBS, "tsubame4")
    assert [line for line in made.script.lines if line.startswith("#$")] == [
        "#$ -N train", "#$ -l node_f=4", "#$ -l h_rt=01:30:00", "#$ -cwd", "#$ -j y",
    ]  # fmt: skip
    assert [text for _, text in losses(made)] == ["#PBS -q h-regular", "#PBS -W group_list=gi99"]
    assert [each for each in lint(made.script, "gridengine").findings if each.severity == "error"] == []


@pytest.mark.parametrize("raw", [b"#!/bin/bash\nhostname\n", b""])
def test_a_script_without_directives_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError):
        to(raw, "slurm")


def test_a_machine_without_job_scripts_is_refused() -> None:
    with pytest.raises(RequestError):
        target_language("laptop", load_cluster("laptop"))


@pytest.mark.parametrize(
    ("raw", "target", "has", "listed"),
    [
        ("#PBS -J 0-9\n#PBS -o a.^array_index^\npython r.py $PBS_ARRAY_INDEX", "slurm",
         ["#SBATCH --array=0-9", "#SBATCH --output=a.%a", "python r.py $SLURM_ARRAY_TASK_ID"], []),
        ('#PBS -l select=1\n: "${PBS_NODEFILE:?}"\nsort -u $PBS_NODEFILE', "slurm", [], ["PBS_NODEFILE"] * 2),
        ("#PBS -l select=2:mpiprocs=1\nsort -u $PBS_NODEFILE", "pjm", ["sort -u $PJM_O_NODEINF"], []),
        ("#PBS -l select=2:mpiprocs=4\nsort $PBS_NODEFILE", "pjm", [], ["PBS_NODEFILE"]),
        ("#SBATCH -n 4\nA=${SLURM_JOB_ID:-x}; echo $SLURM_NTASKS_MORE # $SLURM_JOB_ID", "pbs",
         ["A=${PBS_JOBID:-x}; echo $SLURM_NTASKS_MORE # $PBS_JOBID"], ["SLURM_NTASKS_MORE"]),
        ("#SBATCH -n 4\nSLURM_NTASKS=2\necho $SLURM_NTASKS", "pbs", ["echo $SLURM_NTASKS"], []),
        ("#SBATCH -n 4\n# $SLURM_JOB_ID\necho $SLURM_PROCID", "pbs", ["# $SLURM_JOB_ID"], ["SLURM_PROCID"]),
        ("#SBATCH -n 4\necho $SLURM_NTASKS", "gridengine", ["#$ -pe mpi 4", "echo $NSLOTS"], []),
        ("#SBATCH --array=0-9%2\necho ${SLURM_ARRAY_TASK_ID}b", "gridengine",
         ["#$ -t 1-10", "#$ -tc 2", "echo $((SGE_TASK_ID - 1))b"], []),
        ("#SBATCH --array=1-4\necho $SLURM_JOB_ID", "gridengine", [], ["SLURM_JOB_ID"]),
        ("#$ -t 1-4\n#$ -cwd\necho $JOB_ID $MY_JOB_ID JOB_ID", "slurm",
         ["echo $SLURM_ARRAY_JOB_ID $MY_JOB_ID JOB_ID"], []),
        ("#PBS -t 1-24%4\n#PBS -l nodes=2:ppn=8:fat\necho $PBS_ARRAYID $PBS_NP", "slurm",
         ["#SBATCH --array=1-24%4", "#SBATCH --nodes=2", "echo $SLURM_ARRAY_TASK_ID $SLURM_NTASKS"],
         ["#PBS -l nodes=2:ppn=8:fat"]),
        ("#PBS -l select=1:mem=4096\necho", "slurm", ["#SBATCH --mem=4K"], []),
        ("#SBATCH --mem=64\necho", "abci3", ["#PBS -l select=1:mem=64mb"], []),
        ("#SBATCH --mail-type=BEGIN\n#SBATCH --mail-type=END\necho", "pbs", ["#PBS -m be"], []),
        ("#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\necho", "pbs",
         ["#PBS -l select=2:mpiprocs=4:ngpus=4"], []),
        ("#SBATCH --gres=gpu:a100:1\necho", "pbs", ["#PBS -l select=1:ngpus=1"], ["#SBATCH --gres=gpu:a100:1"]),
        ("#SBATCH --gres=gpu:a100:1\n#SBATCH --hint=nomultithread\necho", "slurm",
         ["#SBATCH --gpus-per-node=a100:1", "#SBATCH --hint=nomultithread"], []),
        ("#SBATCH -N 16\n#SBATCH hetjob\n#SBATCH -N 2\necho", "pbs", ["#PBS -l select=16"],
         ["#SBATCH hetjob", "#SBATCH -N 2"]),
        ("#SBATCH -N 16\n#SBATCH hetjob\n#SBATCH -N 2\necho", "slurm",
         ["#SBATCH --nodes=16", "#SBATCH hetjob", "#SBATCH --nodes=2"], []),
        ("#SBATCH -n 1\n./a", "pbs", ['cd "$PBS_O_WORKDIR"', "./a"], []),
        ("#PJM -L node=1\n#PJM -m b\n#PJM -m e\n#PJM -x \"A=x y\"\n./a", "slurm",
         ["#SBATCH --mail-type=BEGIN,END", '#SBATCH --export="ALL,A=x y"'], []),
    ],
)  # fmt: skip
def test_nothing_disappears(raw: str, target: str, has: list[str], listed: list[str]) -> None:
    cluster = None if target in registry.SCRIPTS else load_cluster(target)
    made = convert(script_text(f"#!/bin/bash\n{raw}\n".encode(), "job.sh"), cluster, target_language(target, cluster))
    assert [line for line in has if line not in made.script.lines] == [], made.script.text()
    assert [text for _, text in losses(made)] == listed


def test_a_default_queue_that_refuses_the_job_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH -N 4\n#SBATCH -t 24:00:00\nmpirun ./a\n"
    code, made = command(tmp_path, raw, "--to", "wisteria-a", "-o", str(tmp_path / "new.sh"))
    assert (code, made["script"]) == (2, None) and "short-a" in made["refused"]
    assert "regular-a" in capsys.readouterr().err and not (tmp_path / "new.sh").exists()
    code, made = command(tmp_path, raw.replace("-p gpu", "-p regular-a"), "--to", "wisteria-a")
    assert code == 0 and "#PJM -L rscgrp=regular-a" in made["script"]


def test_a_profile_adds_its_qos_and_its_constraint_where_the_script_has_none(tmp_path: Path) -> None:
    code, made = command(tmp_path, "#!/bin/bash\n#SBATCH --nodes=1\n./a\n", "--to", "perlmutter")
    assert code == 0
    assert "#SBATCH --qos=regular\n#SBATCH --constraint=gpu\n" in made["script"]
    assert {"qos", "constraint"} <= {change["field"] for change in made["changed"]}
    own = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH -q debug\n#SBATCH -C cpu\n./a\n"
    code, made = command(tmp_path, own, "--to", "perlmutter")
    options = [line for line in made["script"].splitlines() if line.startswith("#SBATCH")]
    assert (code, options) == (0, ["#SBATCH --nodes=1", "#SBATCH -q debug", "#SBATCH -C cpu"])
    assert made["changed"] == [], "the QOS stays, so the queue did not change"


@pytest.mark.parametrize(
    ("own", "target", "changed", "added"),
    [
        ("-q debug", "perlmutter", [], []),
        ("-q other", "perlmutter", [], []),
        ("-q debug", "archer2", [("queue", "", "standard")], ["#SBATCH --partition=standard"]),
        ("-q lowpriority", "archer2", [("queue", "", "lowpriority")], ["#SBATCH --partition=standard"]),
        ("-p gpu -q debug", "perlmutter", [("queue", "gpu", "debug")], []),
        ("-p gpu -q other", "perlmutter", [("queue", "gpu", "")], []),
        ("-p gpu", "marenostrum5-acc", [("queue", "gpu", "acc_ehpc"), ("qos", "", "acc_ehpc")],
         ["#SBATCH --qos=acc_ehpc"]),
    ],
)  # fmt: skip
def test_only_a_queue_that_the_header_names_has_changed(
    tmp_path: Path, own: str, target: str, changed: list[tuple[str, str, str]], added: list[str]
) -> None:
    options = "".join(f"#SBATCH {option.strip()}\n" for option in re.split(r"(?= -)", own))
    _, made = command(tmp_path, f"#!/bin/bash\n{options}#SBATCH --nodes=1\n#SBATCH -C gpu\n./a\n", "--to", target)
    fields = ("queue", "qos")
    assert [(change["field"], change["from"] or "", change["to"] or "") for change in made["changed"]
            if change["field"] in fields] == changed  # fmt: skip
    lines = made["script"].splitlines()
    assert [line for line in lines if line.startswith(("#SBATCH --partition", "#SBATCH --qos"))] == added
    assert all(f"#SBATCH {option.strip()}" in lines for option in re.findall(r"-q \w+", own))


@pytest.mark.parametrize(
    ("dialect", "request_line"),
    [
        ("{pe: node, slots_per_node: 4, gpu_request: slot}", "#$ -l gpu=1"),
        ("{pe: node, slots_per_node: 2, gpu_request: slot, gpu_resource: ngpus}", "#$ -l ngpus=2"),
        ("{pe: node, slots_per_node: 36, gpu_request: host}", "#$ -l gpu=4"),
        ("{pe: node, slots_per_node: 36, gpu_request: slot}", None),
        ("{pe: node, slots_per_node: 4}", None),
    ],
)
def test_gpus_for_grid_engine_count_as_its_profile_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str, request_line: str | None
) -> None:
    """GPUs that no number requests stay a named loss."""
    folder = tmp_path / "templates" / "clusters"
    folder.mkdir(parents=True)
    (tmp_path / "project.yaml").write_text("name: a\ncommand: ./a\n")
    (folder / "kumo.yaml").write_text(
        f"name: kumo\nscheduler: gridengine\nnode: {{cores: 36, gpus: 4}}\ndialect: {dialect}\n"
    )
    monkeypatch.chdir(tmp_path)
    script = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n./a\n"
    _, made = command(tmp_path, script, "--to", "kumo")
    lines = [line for line in made["script"].splitlines() if line.startswith("#$ -l")]
    assert lines == ([request_line] if request_line else [])
    lost = any("gpus" in line["text"] for line in made["not_translated"])
    assert lost == (request_line is None)
