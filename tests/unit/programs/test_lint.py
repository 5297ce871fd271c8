"""The linter of hand-written job scripts: each rule with a bad script and its twin, recordings, and no false alarms."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.config.cluster import Queue
from hackathon.config.problems import ConfigError
from hackathon.programs.scripts.findings import RULES, LintReport
from hackathon.programs.scripts.fixes import fixed, write_fixed
from hackathon.programs.scripts.lint import lint
from hackathon.programs.scripts.source import LARGEST, read_script, script_text
from hackathon.schedulers import registry
from hackathon.schedulers.registry import load_cluster
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from support.golden import reviewed
from support.lint_data import DATA, Recorded, Twin, public, recorded, right_launches, twins

TWINS = twins()
NAMES = [f"{number}-{twin.rule}-{twin.dialect or twin.cluster}" for number, twin in enumerate(TWINS)]


def look(raw: bytes, twin: Twin) -> LintReport:
    return lint(script_text(raw, "job.sh"), twin.dialect, load_cluster(twin.cluster) if twin.cluster else None)


def refused(report: LintReport) -> bool:
    return any(each.effect == "refused" and each.severity == "error" for each in report.findings)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_the_mistake_is_found_in_its_line_and_not_in_the_twin(twin: Twin) -> None:
    assert (twin.rule, twin.line) in {(each.rule, each.line) for each in look(twin.bad, twin).findings}
    assert look(twin.good, twin).findings == ()


def test_every_rule_has_twins() -> None:
    on_disk = {"output-folder-missing"}  # test_folders_of_the_output_are_looked_for
    assert {twin.rule for twin in TWINS} | on_disk == set(RULES)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_what_is_corrected_is_not_found_again(twin: Twin) -> None:
    cluster = load_cluster(twin.cluster) if twin.cluster else None
    source = script_text(twin.bad, "job.sh")
    before = lint(source, twin.dialect, cluster)
    after, count = fixed(source, twin.dialect, cluster)
    assert (count > 0) == any(each.edits for each in before.findings)
    assert not any(each.edits for each in lint(after, twin.dialect, cluster).findings)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_findings_have_words_in_both_languages(language: str) -> None:
    with speaking(language):
        for twin in TWINS:
            for each in look(twin.bad, twin).findings:
                assert each.message and "{" not in each.message.replace("${", "")


@pytest.mark.parametrize("script", recorded("slurm_directives.txt"), ids=lambda each: each.name)
def test_slurm_said_the_same(script: Recorded) -> None:
    """The recording's queue h-debug does not exist there, which no script tells."""
    report = lint(script_text(script.raw, script.name), "slurm")
    assert refused(report) == (script.exit_code != 0 and script.name != "pbs_group.sh")


@pytest.mark.parametrize("script", recorded("gridengine_directives.txt"), ids=lambda each: each.name)
def test_grid_engine_said_the_same(script: Recorded) -> None:
    """`qsub -verify` took the name with a blank; a real submission of it is refused (test_lint_on_gridengine.py)."""
    report = lint(script_text(script.raw, script.name), "gridengine")
    assert refused(report) == (script.exit_code != 0 or script.name == "qargs.sh")


@pytest.mark.parametrize("name", [name for name, _ in public()])
def test_headers_that_people_use_have_no_finding(name: str) -> None:
    report = lint(script_text(dict(public())[name], name))
    assert report.dialect == name.split()[0]
    assert report.findings == ()


def test_there_are_enough_headers() -> None:
    assert len(public()) >= 20


def test_scripts_that_are_rendered_have_no_finding() -> None:
    """One script of each pair of header and body: the others differ from it in their values alone."""
    golden = reviewed()
    scripts = {str(case): (case.cluster, script) for case, script in golden.of_each_pair().items()}
    scripts |= {name: ("", text) for name, text in (*golden.libraries().items(), ("rank.sh", golden.rank))}
    reports = {name: lint(script_text(script.encode(), name)) for name, (_, script) in scripts.items()}
    assert {name: report.findings for name, report in reports.items() if report.findings} == {}
    # without directives: of no scheduler, or of one that reads them in another file
    bare = {name for name, (cluster, _) in scripts.items() if cluster in ("laptop", "kubernetes", "mn2-like", "")}
    assert {name for name, report in reports.items() if report.dialect is None} == bare


@pytest.mark.parametrize(
    ("line", "dialect"),
    [
        ("#PBS -l elapstim_req=1:00:00", "nqsv"), ("#PBS -l select=2", "pbs"), ("#$ -cwd", "gridengine"),
        ("#SBATCH -n 2", "slurm"), ("#PJM -L node=2", "pjm"), ("# PBS -l select=1", "pbs"),
        ("  #SBATCH -n 2", "slurm"), ("#$HOME/bin/x", None), ("#SBATCHED", None), ("# just a script", None),
    ],
)  # fmt: skip
def test_the_dialect_is_told_by_the_directives(line: str, dialect: str | None) -> None:
    assert lint(script_text(f"#!/bin/bash\n{line}\n".encode(), "x")).dialect == dialect


def test_options_of_the_manual_that_few_people_use_are_known() -> None:
    raw = b"#!/bin/bash\n#SBATCH -n 2\n#SBATCH --acctg-freq=task=10\nsrun hostname\n"
    assert lint(script_text(raw, "x")).findings == ()


def test_a_script_that_writes_a_job_script_is_none() -> None:
    raw = b"#!/bin/bash\ncat > job.sh <<EOF\n#!/bin/bash\n#$ -cwd\n#SBATCH --time=1\nEOF\nsbatch job.sh\n"
    assert lint(script_text(raw, "x")) == LintReport("x", None, ())


def test_directives_in_here_documents_and_texts_are_not_behind_a_command() -> None:
    body = b'cat > a <<E\n#SBATCH --time=1\nE\necho "\n#SBATCH --time=2\n"\nx=$(cat <<< y)\n'
    assert lint(script_text(b"#!/bin/bash\n#SBATCH -n 2\n" + body, "x")).findings == ()


def test_grid_engine_reads_texts_and_here_documents_too() -> None:
    """`qsub -verify` of the real one obeys such lines."""
    for body in (
        b"x='a\n#$ -l h_rt=99:00:00\nb'\n",
        b'echo "\n#$ -l h_rt=99:00:00\n"\n',
        b"cat <<E\n#$ -l h_rt=99:00:00\nE\n",
    ):
        report = lint(script_text(b"#!/bin/bash\n#$ -cwd\n#$ -l h_rt=60\n" + body, "x"))
        assert "in-document" in {finding.rule for finding in report.findings}, body


def test_scripts_of_others_are_data(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    good = tmp_path / "job.sh"
    good.write_text(f"#!/bin/bash\n#SBATCH --job-name=$(touch {mark})\ntouch {mark}\n")
    lint(read_script(good))
    assert not mark.exists()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"#" * (LARGEST + 1))
    (tmp_path / "binary").write_bytes(b"#!/bin/bash\n\0")
    for name in ("pipe", "long", "binary", ".", "missing"):
        with pytest.raises(RequestError) as error:
            read_script(tmp_path / name)
        assert error.value.exit_code == 2


def test_control_characters_of_a_script_do_not_reach_the_terminal() -> None:
    (finding,) = lint(script_text(b"#!/bin/bash\n#SBATCH --time=\x1b]0;x\x07\n", "x")).findings
    assert finding.message.isprintable()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    assert write_fixed(tmp_path / "job.sh", "a\n").read_text() == "a\n"
    with pytest.raises(RequestError):
        write_fixed(tmp_path / "job.sh", "b\n")
    assert (tmp_path / "job.fixed.sh").read_text() == "a\n"


@pytest.mark.parametrize(
    ("header", "rules", "corrected"),
    [
        ("#PBS -N a \\\n-l select=2:\\ \nmpiprocs=4\n  #PBS -q \\\n b\n", [], None),
        ("# a comment \\\n-q b\n#PBS -N a\n", ["after-command"], "#PBS -N a\n# a comment \\\n-q b\n"),
        ("#PBS -N a \\\n-j o \\", ["bad-value"], None),
        ("#PBS -N a \\\n#PBS -q b\n", ["trailing-comment"], "#PBS -q b\n#PBS -N a\n\n"),
        ("#PBS -N a\nhostname\n#PBS -q b \\\nhostname\n", ["after-command"], None),
    ],
)
def test_a_directive_of_pbs_goes_on_behind_a_backslash(header: str, rules: list[str], corrected: str | None) -> None:
    source = script_text(f"#!/bin/bash\n{header}".encode(), "x")
    assert [each.rule for each in lint(source, "pbs").findings] == rules
    after, count = fixed(source, "pbs")
    assert (after.text() if count else None) == (f"#!/bin/bash\n{corrected}" if corrected else None)


@pytest.mark.parametrize(
    ("line", "dialect", "finding"),
    [
        ("#SBATCH -p gpu,gpu-long", "slurm", None), ("#SBATCH -p gpu", "slurm", None),
        ("#SBATCH -p gpu,cpu", "slurm", " cpu."), ("#SBATCH -p cpu", "slurm", " cpu."),
        ("#$ -q gpu,gpu-long", "gridengine", None), ("#$ -q gpu,cpu", "gridengine", " cpu."),
        ("#PBS -q gpu,gpu-long", "pbs", " gpu,gpu-long."),
        ("#SBATCH --gpus=8", "slurm", None), ("#SBATCH -n 8 --gpus=a100:8", "slurm", None),
        ("#SBATCH -N 2 --gpus=8", "slurm", None), ("#SBATCH -N 1 --gpus=8", "slurm", "8 GPUs"),
        ("#SBATCH --gpus-per-node=8", "slurm", "8 GPUs"), ("#SBATCH --gpus=16 --gpus-per-node=8", "slurm", "8 GPUs"),
    ],
)  # fmt: skip
def test_what_a_machine_with_two_queues_has(line: str, dialect: str, finding: str | None) -> None:
    cluster = load_cluster("reedbush-l" if dialect == "pbs" else dialect)
    node = replace(cluster.node, gpus=4)
    cluster = replace(cluster, node=node, queues={"gpu": Queue(), "gpu-long": Queue()}, unverified=())
    found = lint(script_text(f"#!/bin/bash\n{line}\nhostname\n".encode(), "x"), dialect, cluster).findings
    told = [each.message for each in found if each.rule in ("queue-unknown", "gpus-over")]
    assert len(told) == (finding is not None) and (finding or "") in "".join(told)


ODD = {
    "brackets": b"(" * 20000,
    "documents": b"<<A\n" * 3000,
    "list": b"#PBS -l " + b"a," * 20000,
    "flags": b"#SBATCH -" + b"n" * 9000,
    "quotation": b"'" + b"x\n" * 20000,
    "background": b"(a;" * 9000 + b"& " * 9000,
    "redirections": b"<<<a" * 9000,
    "variables": b"if $PBS_JOBID " * 9000,
    "letters": b"a" * 99000,
    "blanks": b"#PBS -l a" + b" " * 99000,
    "numbers": b"#" * 99000,
    "minutes": b"#SBATCH --time=" + b"9" * 5000,
    "days": b"#PBS -l walltime=" + b"9" * 5000 + b"d\n#$ -l h_rt=" + b"9" * 5000 + b"d",
    "powers": b"#$ -l h_rt=0x" + b"f" * 300,
    "continued": b"#PBS -N a" + b"\\\n" * 40000,
    "array": b"#PBS -J 1-" + b"9" * 5000,
    "code": "exit ²\nexit ".encode() + b"9" * 5000,
}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", list(ODD))
def test_long_and_odd_scripts_end(name: str) -> None:
    """No pattern runs away: with one that does, a script of this size takes hours."""
    for prefix in (b"#SBATCH -n 1\n", b"#PBS -q gen_S\n#PBS -b 2\n", b"#$ -cwd\n"):
        report = lint(script_text(b"#!/bin/bash\n" + prefix + ODD[name] + b"\n", "x"))
        assert report.dialect is not None


KUMO = """name: kumo
scheduler: pbs
node: {cores: 8}
queues: {k-main: {nodes: 2}}
scripts:
  signs: {-q: 'k-\\w+'}
  rules: [gpus-given]
  internal_queues: {k-large: k-main}
  scratch: $KUMO_TMP
"""


def test_a_profile_of_the_user_s_own_is_known_by_its_scripts(own_home: Path) -> None:
    file = own_home / "config/hackathon/clusters/kumo.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(KUMO)
    script = b"#!/bin/bash\n#PBS -q k-large\n#PBS -l select=2:ngpus=1\ncp a /tmp/a\n"
    findings = {finding.rule: finding for finding in lint(script_text(script, "x")).findings}
    assert findings.keys() == {"queue-internal", "gpus-given", "tmp-forbidden"}
    assert findings["queue-internal"].replacement == "#PBS -q k-main"
    assert findings["tmp-forbidden"].replacement == "cp a $KUMO_TMP/a" and "kumo" in findings["tmp-forbidden"].message
    assert lint(script_text(script.replace(b"k-large", b"main"), "x")).findings == ()
    file.write_text(KUMO.replace("k-\\w+", "k-("))
    with pytest.raises(ConfigError, match=r"scripts\.signs\.-q"):
        load_cluster("kumo")


def judged_headers() -> list[tuple[str, str, str]]:
    """Return (`refused`, `accepted`, or `site` if it depends on the site; name; header) of a real OpenPBS 23.06."""
    rows = [line.split("\t") for line in (DATA / "pbs_headers.tsv").read_text("utf-8").splitlines()]
    return [(verdict, name, header.replace(" ; ", "\n")) for verdict, name, header in rows]


def test_a_real_qsub_says_the_same() -> None:
    """Of what it refuses on any site all has an error, and nothing that it accepts is called refused."""
    missed, wrong = [], []
    headers = judged_headers()
    for verdict, name, header in headers:
        report = lint(script_text(f"#!/bin/bash\n{header}\necho hi\n".encode(), name), "pbs")
        if verdict == "refused" and not refused(report):
            missed.append(name)
        if verdict == "accepted" and refused(report):
            wrong.append(name)
    assert (missed, wrong) == ([], [])
    assert sum(verdict == "refused" for verdict, _, _ in headers) >= 60


@pytest.mark.parametrize(
    ("script", "replacement"),
    [
        ("b", 'srun bash -c "torchrun --nnodes $N --node_rank \\$SLURM_NODEID --nproc_per_node 4 --master_addr $A '
              'train.py"'),
        ("s", "srun --ntasks=2 --ntasks-per-node=1 --cpus-per-task=32 torchrun --nnodes=$N --rdzv_backend=c10d "
              "--rdzv_endpoint=$A:29500 --nproc_per_node=4 train.py"),
    ],
)  # fmt: skip
def test_launches_are_corrected(script: str, replacement: str) -> None:
    header = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n"
    names = "export A=$(hostname) N=$SLURM_NNODES\n"
    if script == "b":
        text = (
            f"{header}#SBATCH --ntasks-per-node=1\n{names}"
            + replacement.replace('bash -c "', "").replace("\\$SLURM_NODEID", "$SLURM_PROCID")[:-1]
        )
    else:
        text = f"{header}#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=8\n{names}" + replacement.replace(
            " --ntasks=2 --ntasks-per-node=1 --cpus-per-task=32", "")  # fmt: skip
    (finding,) = lint(script_text(f"{text}\n".encode(), "x")).findings
    assert finding.replacement == replacement
    better = text.replace(text.splitlines()[-1], replacement)
    assert lint(script_text(f"{better}\n".encode(), "x")).findings == ()


@pytest.mark.parametrize("name", [name for name, _ in right_launches()])
def test_right_launches_have_no_finding(name: str) -> None:
    assert lint(script_text(dict(right_launches())[name], name)).findings == ()


def test_a_corrected_loop_waits_behind_it() -> None:
    """`wait` in the loop would wait for the first node, which waits for the second one."""
    text = "#!/bin/bash\n#SBATCH --nodes=2\nfor n in 0 1; do\n  srun -N1 -n1 ./serve $n &\ndone\n"
    (finding,) = lint(script_text(text.encode(), "x")).findings
    assert (finding.rule, finding.replacement) == ("not-waited", "done\nwait")


def test_components_of_a_heterogeneous_job_do_not_repeat_each_other() -> None:
    header = "#SBATCH --nodes=4 --gpus-per-node=8\n#SBATCH {}\n#SBATCH --nodes=1 --gpus-per-node=1\n"
    body = "srun --het-group=0 python a.py &\nsrun --het-group=1 torchrun --nproc_per_node=8 b.py &\nwait\n"
    for word in ("hetjob", "packjob"):
        assert lint(script_text(f"#!/bin/bash\n{header.format(word)}{body}".encode(), "x")).findings == ()
    assert lint(script_text(f"#!/bin/bash\n{header.format('job')}{body}".encode(), "x")).has_errors


@pytest.mark.parametrize(
    ("cluster", "line", "rule"),
    [
        ("abci3", "#PBS -q R1234", None), ("abci3", "#PBS -q rt_XX", "queue-unknown"),
        ("miyabi-g", "#PBS -q R12.server", None),
    ],
)  # fmt: skip
def test_a_reservation_is_no_unknown_queue(cluster: str, line: str, rule: str | None) -> None:
    report = lint(script_text(f"#!/bin/bash\n{line}\nhostname\n".encode(), "x"), cluster=load_cluster(cluster))
    rules = {finding.rule for finding in report.findings}
    assert rules & {"queue-unknown"} == ({rule} if rule else set()) and not report.has_errors


@pytest.mark.parametrize(("cluster", "offline"), [("abci3", False), ("tsubame4", False), ("pegasus", True)])
def test_only_a_stated_lack_of_internet_is_reported(cluster: str, offline: bool) -> None:
    profile = load_cluster(cluster)
    report = lint(script_text(b"#!/bin/bash\ngit clone https://example.org/x\n", "x"), cluster=profile)
    assert ("no-internet" in {finding.rule for finding in report.findings}) == offline


@pytest.mark.parametrize("sets", ["set -eu", "set -euo pipefail", "set -o nounset", "set -e -u", "set +e -u"])
@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("conda activate a", 1), ("source ~/miniconda3/bin/activate a", 1), (". /opt/intel/oneapi/setvars.sh", 1),
        ("source $HOME/.bashrc", 1), (". /etc/profile", 1),
        ("module load a", 0), (". /etc/profile.d/modules.sh", 0), ("source .venv/bin/activate", 0),
        ("set +u; conda activate a", 0), ("set +eu; conda activate a; set -eu", 0),
        ("set +o nounset; conda activate a", 0),
        ("conda run -n a python train.py", 0), ("source ./setvars.local", 0),
    ],
)  # fmt: skip
def test_set_u_matters_to_scripts_that_are_known_to_break(sets: str, command: str, count: int) -> None:
    text = f'#!/bin/bash\n#SBATCH -n 2\neval "$(conda shell.bash hook)"\n{sets}\n{command}\n'
    rules = [finding.rule for finding in lint(script_text(text.encode(), "x")).findings]
    assert rules == ["strict-environment"] * count
    loose = text.replace(sets, "set -eo pipefail")
    assert lint(script_text(loose.encode(), "x")).findings == ()


@pytest.mark.parametrize("name", ["wisteria-a", "tsubame4", "wisteria-o"])
def test_how_a_profile_begins_says_nothing_about_the_shell(name: str) -> None:
    report = lint(script_text(b"#!/bin/bash\nmodule load a\n", "x"), cluster=load_cluster(name))
    assert "modules-unknown" not in {finding.rule for finding in report.findings}


def test_every_language_is_known_by_name() -> None:
    assert [registry.script_language(name).name for name in registry.SCRIPTS] == list(registry.SCRIPTS)  # type: ignore[union-attr]
    assert (DATA / "twins.txt").is_file()
