"""Converted scripts on real servers: Slurm and Grid Engine accept them, and they run to their end."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.gridengine_lab.lab import GridEngineLab
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab
from support.virtual_nodes.processes import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

OTHERS = {
    "pbs": ("#PBS -N a\n#PBS -l select=2:mpiprocs=1\n#PBS -l walltime=60\n#PBS -j oe",
            'cd "$PBS_O_WORKDIR"\necho $PBS_JOBID $PBS_JOBNAME $PBS_QUEUE'),
    "pbs array": ("#PBS -l select=1:ncpus=1\n#PBS -J 0-2\n#PBS -o out.^array_index^", "echo $PBS_ARRAY_INDEX"),
    "torque": ("#PBS -l nodes=1:ppn=2\n#PBS -t 1-2%1", "echo $PBS_ARRAYID $PBS_NP $PBS_NUM_NODES"),
    "grid engine": ("#$ -cwd\n#$ -pe smp 2\n#$ -l h_rt=60\n#$ -j y", "echo $NSLOTS $JOB_ID ${JOB_NAME}"),
    "grid engine array": ("#$ -cwd\n#$ -t 1-3\n#$ -tc 2\n#$ -o out.$JOB_ID.$TASK_ID", "echo $SGE_TASK_ID $JOB_ID"),
    "grid engine variables": ("#$ -cwd\n#$ -v A=1,B=2\n#$ -m n", "echo $A $B"),
    "pjm": ('#PJM -L node=1\n#PJM --mpi proc=2\n#PJM -L elapse=60\n#PJM -j\n#PJM -x "A=x y"',
            'cd "$PJM_O_WORKDIR"\necho $PJM_MPI_PROC $PJM_NODE $PJM_JOBID $A'),
    "pjm bulk": ('#PJM -L node=1\n#PJM --bulk --sparam "0-1"\n#PJM -o out.%j', "echo $PJM_BULKNUM"),
    "nqsv": ("#PBS -b 2\n#PBS -l elapstim_req=60\n#PBS -v A=1\n#PBS -v B=2", 'cd "$PBS_O_WORKDIR"\necho $A $B'),
    "nqsv array": ("#PBS -b 1\n#PBS -l elapstim_req=60\n#PBS -t 0-1", "echo $PBS_SUBREQNO"),
}  # fmt: skip
"""Header and commands; an unset variable ends a job with an error."""


def converted(folder: Path, header: str, commands: str, target: str) -> str:
    """Return the new script, of which nothing may be lost."""
    (folder / "old.sh").write_text(f"#!/bin/bash\n{header}\nset -eu\n{commands}\n")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(["convert", str(folder / "old.sh"), "--to", target, "--json"])
    answer = json.loads(out.getvalue())
    assert (code, answer["not_translated"]) == (0, []), answer
    return str(answer["script"])


@pytest.mark.slurm
def test_slurm_runs_what_was_written_for_others(slurm: SlurmLab, tmp_path: Path) -> None:
    jobs = {}
    for name, (header, commands) in OTHERS.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        (folder / "new.sh").write_text(converted(folder, header, commands, "slurm"))
        slurm.run("sbatch", "--test-only", str(folder / "new.sh"))
        jobs[name] = slurm.run("sbatch", "--parsable", "-D", str(folder), str(folder / "new.sh")).strip()

    def states() -> dict[str, set[str]]:
        rows = [line.split("|") for line in slurm.run("sacct", "-nPX", "-o", "JobID,State").splitlines()]
        return {name: {state for own, state in rows if own.partition("_")[0] == job} for name, job in jobs.items()}

    assert until(lambda: all(own == {"COMPLETED"} for own in states().values()), STRETCH * 120), states()


SLURM = {
    "plain": ("#SBATCH -J a\n#SBATCH -n 2\n#SBATCH -t 1\n#SBATCH --mail-type=NONE", "echo $SLURM_JOB_ID $SLURM_NTASKS"),
    "quoted": ('#SBATCH --export="ALL,A=x y"\n#SBATCH -o a.out', 'echo "$A"'),
    "chdir": ("#SBATCH --chdir=/tmp\n#SBATCH -e a.err", "echo $SLURM_SUBMIT_DIR"),
    "later": ("#SBATCH --dependency=afterany:1\n#SBATCH --no-requeue", "true"),
}


@pytest.mark.gridengine
def test_grid_engine_takes_what_was_written_for_slurm(gridengine: GridEngineLab, tmp_path: Path) -> None:
    for header, commands in SLURM.values():
        (tmp_path / "new.sh").write_text(converted(tmp_path, header, commands, "gridengine"))
        gridengine.run("qsub", "-verify", "new.sh", folder=tmp_path)


@pytest.mark.gridengine
def test_tasks_from_zero_and_their_files_are_the_same_on_grid_engine(gridengine: GridEngineLab, tmp_path: Path) -> None:
    header = "#SBATCH --array=0-1\n#SBATCH -o task_%A_%a.out"
    script = converted(tmp_path, header, "echo number $SLURM_ARRAY_TASK_ID", "gridengine")
    (tmp_path / "new.sh").write_text(script)
    tmp_path.chmod(0o777)
    job = gridengine.run("qsub", "-terse", "new.sh", folder=tmp_path).partition(".")[0]
    files = [tmp_path / f"task_{job}_{task}.out" for task in (1, 2)]
    assert until(lambda: all(file.exists() for file in files), STRETCH * 120), list(tmp_path.iterdir())
    numbers = [["number 0\n"], ["number 1\n"]]
    assert until(lambda: [file.read_text().splitlines(True)[-1:] for file in files] == numbers, STRETCH * 30), [
        file.read_text() for file in files
    ]
