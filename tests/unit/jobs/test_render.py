"""Rendering: quoting, header values, the template lint, overriding templates."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hackathon.schedulers
from hackathon.config.cluster import Cluster, Node
from hackathon.jobs.essence import essence
from hackathon.jobs.render import assignments, render
from hackathon.jobs.request import Request
from hackathon.jobs.script import in_double_quotes
from hackathon.schedulers.dialect import Dialect
from hackathon.text.errors import RequestError
from hackathon.text.paths import shipped
from support.patience import STRETCH


def make(**changes: object) -> Request:
    values: dict[str, object] = {
        "name": "digits", "recipe": None, "framework": "torch", "cluster": "test", "scheduler": "pbs", "queue": "debug",
        "group": "gx00", "reservation": None, "nodes": 2, "processes": 4, "processes_per_node": 2, "threads": 1,
        "gpus_per_node": 2, "walltime": 600, "launcher": "torchrun", "starter": "mpirun", "mpi": "openmpi",
        "command": ("python", "train.py"),
    }  # fmt: skip
    return Request(**{**values, **changes})  # type: ignore[arg-type]


CLUSTER = Cluster(name="test", scheduler="pbs", node=Node(), dialect={"group": "group_list"})
hostile = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
planted = hostile.flatmap(
    lambda text: st.sampled_from([text, f"{text}\n#$ -q x", f"\r#PBS -q x\n{text}'", f"\\\n#{text}"])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(planted, max_size=5), planted, planted)
def test_values_reach_bash_unchanged(words: list[str], name: str, line: str) -> None:
    block = assignments(make(command=("python", *words), name=name, environment=(line,)))
    script = block + '\nprintf \'%s\\0\' "${HK_COMMAND[@]}" "$HK_NAME" "${HK_ENVIRONMENT[@]}"\n'
    answer = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert answer.stdout.decode().split("\0")[:-1] == ["python", *words, name, line]
    assert not re.search(r"(?m)^#|\r", block), "a scheduler would read it"


@settings(max_examples=30)
@given(planted, planted)
def test_the_short_script_has_no_line_of_a_value_either(word: str, value: str) -> None:
    request = make(
        nodes=1, processes=1, processes_per_node=1, launcher="local", starter="local", source="/tmp",
        command=("printf", "%s\\0", word), variables={"A": in_double_quotes(value)},
        environment=(":\n#PBS -q x",),
    )  # fmt: skip
    script = essence(request, CLUSTER, Path("/tmp"))
    body = script.partition("# environment")[2]
    assert not re.search(r"(?m)^\s*#(?! [a-z])|\r", body)
    ending = "\nprintf '%s\\0' \"$A\"\n"
    answer = subprocess.run(["bash", "-c", body + ending], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert answer.stdout.decode().split("\0")[:-1] == [word, value]


@pytest.mark.parametrize("value", ["a b", "x;rm", "$(id)", "`id`", "x\n#PBS -l walltime=99:00:00", "キュー", "'", '"'])
@pytest.mark.parametrize("field", ["queue", "group"])
def test_header_takes_only_tokens(field: str, value: str) -> None:
    with pytest.raises(RequestError, match=field):
        render(make(**{field: value}), CLUSTER)


def test_nul_and_odd_variable_names_are_refused() -> None:
    with pytest.raises(RequestError, match="NUL"):
        assignments(make(command=("python", "a\0b")))
    with pytest.raises(RequestError, match="variable"):
        assignments(make(variables={"A=$(id);B": "1"}))


def test_equal_requests_give_equal_bytes() -> None:
    assert render(make(), CLUSTER) == render(make(), CLUSTER)


@pytest.mark.parametrize(
    "body",
    [
        "{{ request }}", "{{ launcher }}", "echo '{{ HK_NAME }}'", "{{ directive.queue ~ launcher }}",
        "{{ assignments|upper }}", "{% set assignments = launcher %}{{ assignments }}", "{{ self.launch() }}",
        "{% for directive in [launcher] %}{{ directive.x }}{% endfor %}", "{% filter upper %}x{% endfilter %}",
        "{% macro m() %}x{% endmacro %}", "{% with directive = launcher %}{{ directive.q }}{% endwith %}",
        "{% for option in directive.options %}{% set option = launcher %}{{ option }}{% endfor %}",
    ],
)  # fmt: skip
def test_own_template_may_not_write_values(tmp_path: Path, body: str) -> None:
    folder = tmp_path / "templates"
    (folder / "jobs").mkdir(parents=True)
    own = '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\n' + body + "\n{% endblock %}\n"
    (folder / "jobs" / "job.sh.j2").write_text(own)
    with pytest.raises(RequestError) as refused:
        render(make(), CLUSTER, [folder])
    assert "job.sh.j2" in refused.value.message


def test_own_template_overrides_one_block(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.sh.j2").write_text(
        '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\necho "stage $HK_NAME"\n{% endblock %}\n'
    )
    script = render(make(name="it's $(x)"), CLUSTER, [tmp_path]).job
    assert 'echo "stage $HK_NAME"' in script
    assert f"HK_NAME={shlex.quote(chr(105) + chr(116) + chr(39) + 's $(x)')}" in script
    assert script.replace('echo "stage $HK_NAME"\n', "") == render(make(name="it's $(x)"), CLUSTER).job


@pytest.mark.parametrize("text", ["{% if %}", "{{ nothing_known }}", "{% include 'gone.sh.j2' %}"])
def test_broken_own_template_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.sh.j2").write_text(text)
    with pytest.raises(RequestError):
        render(make(), CLUSTER, [tmp_path])


def test_shipped_templates_pass_the_lint() -> None:
    from hackathon.jobs.render import _environment
    from hackathon.jobs.templates.lint import lint

    environment = _environment([], Dialect())
    of_schedulers = Path(hackathon.schedulers.__file__).parent.glob("*/*.sh.j2")
    files = sorted([*shipped("templates", "jobs").glob("*.j2"), *of_schedulers])
    assert {"header.sh.j2", "identity.sh.j2", "hosts.sh.j2"} <= {path.name for path in files}
    assert len(files) > 15
    for path in files:
        lint(environment, path.name, path.read_text(), str(path))


def test_script_runs_without_the_toolkit_and_keeps_secrets_to_itself(tmp_path: Path) -> None:
    """A person may hand the scripts to bash; what the environment holds is for the owner's eyes only."""
    request = make(
        scheduler="local", starter="local", launcher="local", nodes=1, processes=2, telemetry_seconds=0,
        command=("bash", "-c", "echo $RANK $KEY; echo oops >&2"),
    )  # fmt: skip
    script = render(request, CLUSTER)
    for name, text in script.files.items():
        (tmp_path / name).write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "KEY": "it's a 'secret' $(id)"}
    subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=environment, check=True, timeout=STRETCH * 60)
    for rank in (0, 1):
        assert (tmp_path / "logs" / f"rank-{rank}.log").read_text() == f"{rank} it's a 'secret' $(id)\noops\n"
    assert (tmp_path / "env" / "job-1.sh").stat().st_mode & 0o077 == 0
