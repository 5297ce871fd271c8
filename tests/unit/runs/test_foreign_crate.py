"""The crate of a stranger: what it brings along is shown and confirmed, and nothing in its values is evaluated."""

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run as hackathon
from hackathon.jobs.foreign_variables import is_refused, literal, plain_value, set_by_line
from hackathon.jobs.render import render
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import DATA
from hackathon.jobs.script import in_double_quotes
from hackathon.jobs.transfer import sources_here, transfer
from hackathon.text.errors import RequestError
from support.patience import STRETCH
from support.runs import request


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody reruns what others published."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def crate(folder: Path, **changes: Any) -> Path:
    """Write the crate of a run of an own program, as a stranger may have edited it."""
    record = {**request(folder, command=("python", "train.py")).to_json(), **changes}
    files: dict[str, bytes] = {
        "request.json": json.dumps(record).encode(), "source/train.py": b"print(1)\n",
        "source.json": json.dumps({"files": {"train.py": ""}}).encode(),
    }  # fmt: skip
    listed = {"schema_version": 1, "run": "k3x9", "files": dict.fromkeys(files, ""), "source": {"complete": True}}
    graph = {"@graph": [{"@id": "ro-crate-metadata.json"}, {"@id": "./"}]}
    files |= {"hackathon.json": json.dumps(listed).encode(), "ro-crate-metadata.json": json.dumps(graph).encode()}
    with zipfile.ZipFile(folder / "theirs.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return folder / "theirs.zip"


def moved(here: Path, **changes: Any) -> Request:
    old = replace(request(here), **changes)
    sources = sources_here(old, Options(cluster="laptop"), {}, here)
    return transfer(old, sources, run="k3x9", files={}, source="theirs.zip", foreign=True)[0]


def ran(new: Request, folder: Path, home: Path) -> Mapping[str, str]:
    """Run the job's script as the scheduler does; return the environment of its program."""
    from hackathon.schedulers.registry import load_cluster

    folder.mkdir()
    script = render(replace(new, command=("env", "-0"), telemetry_seconds=0), load_cluster("laptop", []))
    for name, text in script.files.items():
        (folder / name).write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    subprocess.run(["bash", "job.sh"], cwd=folder, env=environment, check=True, timeout=60 * STRETCH)
    pairs = (folder / "logs" / "rank-0.log").read_bytes().split(b"\0")
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)


HOSTILE = {
    "A_1": "$(touch MARK)", "A_2": "`touch MARK`", "A_3": '"; touch MARK; "', "A_4": "$HOME/data", "A_5": "a\\\\b\\$c",
    "A_6": "${x:=$(touch MARK)}", "A_7": "two\nlines; touch MARK", "A_8": "'; touch MARK; '", "A_9": "\\",
    "A_10": "${IFS}!! * ~",
}  # fmt: skip


def test_values_of_a_crate_are_letters(tmp_path: Path, here: Path) -> None:
    new = moved(here, variables=HOSTILE, origins={f"variables.{name}": "recipe torch-ddp" for name in HOSTILE})
    home = tmp_path / "home"
    home.mkdir()
    found = ran(new, tmp_path / "run", home)
    assert {name: found[name] for name in HOSTILE} == {**HOSTILE, "A_5": "a\\b$c"}
    assert not list(tmp_path.rglob("MARK"))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
@settings(max_examples=30)
def test_any_value_is_text_for_the_line_that_sets_it(value: str) -> None:
    """The very line of `environment.sh.j2`."""
    script = 'hk_line=$1; eval "export ${hk_line%%=*}=\\"${hk_line#*=}\\""; printf %s "$V"'
    for recorded in (value, in_double_quotes(value)):
        done = subprocess.run(["bash", "-c", script, "x", f"V={literal(recorded)}"], capture_output=True, check=True)
        assert done.stdout.decode() == plain_value(recorded) and done.stderr == b""
    assert plain_value(in_double_quotes(value)) == value


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV", "PERL5LIB", "PERL5OPT", "PATH",
     "IFS", "PS4", "PROMPT_COMMAND", "HOME", "HK_COMMAND", "hk_line", "HK_RUN", "MASTER_ADDR", "NCCL_NET_PLUGIN",
     "GIT_SSH", "OMPI_MCA_mca_base_component_path", "OMPI_MCA_plm_rsh_agent", "http_proxy", "NODE_OPTIONS",
     "SLURM_NODELIST"],
)  # fmt: skip
def test_variables_that_load_code_are_refused_by_name(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for origin in ("recipe torch-ddp", "project.yaml", "command line"):
        with pytest.raises(RequestError, match=name):
            moved(here, variables={name: "/tmp/x"}, origins={f"variables.{name}": origin})
    for origin in ("cluster theirs", DATA):  # what belongs to their machine is not taken at all
        assert "/tmp/x" not in moved(here, variables={name: "/tmp/x"}, origins={f"variables.{name}": origin}).variables
    crate(here, variables={name: "/tmp/evil"}, origins={f"variables.{name}": "project.yaml"})
    assert hackathon(["rerun", "theirs.zip", "--cluster", "laptop", "--dry-run"]) == 2
    shown = capsys.readouterr().err
    assert name in shown and "request.json" in shown
    line = f"module load x; export {name}=/tmp/evil"
    assert is_refused(name) and set_by_line(line) == (None if name == "PATH" else name)


def test_common_variables_are_not_refused() -> None:
    for name in (
        "MODE", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS", "PYTHONHASHSEED", "CUDA_VISIBLE_DEVICES",
        "NODES", "PIPELINE_STAGES", "OMPI_MCA_btl", "TF_CPP_MIN_LOG_LEVEL", "HF_HUB_OFFLINE",
    ):  # fmt: skip
        assert not is_refused(name), name
    assert set_by_line("export FAST=1; PATH=$PATH:/x; x=$LD_LIBRARY_PATH") is None


def test_a_line_that_calls_itself_the_recipes_is_not(here: Path) -> None:
    lines = ("echo evil >&2",)
    origins = {"environment.0": "recipe torch-ddp"}
    known = moved(here, recipe="torch-ddp", environment=lines, origins=origins)
    assert lines[0] not in known.environment
    assert all(
        each.startswith(("cluster ", "recipe ")) for name, each in known.origins.items() if "environment." in name
    )
    unknown = moved(here, recipe="nowhere", environment=lines, origins=origins)  # then it is the stranger's, and told
    assert unknown.environment[-1] == lines[0] and "crate" in unknown.origins.values()
    with pytest.raises(RequestError, match="LD_PRELOAD"):
        moved(here, environment=("export LD_PRELOAD=/tmp/x.so",), origins={"environment.0": "project.yaml"})


def test_what_a_crate_runs_is_shown_and_confirmed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origins = {"environment.0": "recipe x", "variables.MODE": "recipe x"}
    brought: dict[str, Any] = {"command": ["python", "train.py", "a b"], "environment": ["echo line >&2"]}
    crate(here, variables={"MODE": "$(id) \x1b[2J"}, origins=origins, **brought)
    words = ["rerun", "theirs.zip", "--cluster", "laptop"]
    assert hackathon([*words, "--dry-run", "--json"]) == 0
    shown = capsys.readouterr()
    assert "command: python train.py 'a b'" in shown.err and "environment line: echo line" in shown.err
    assert "MODE=$(id)" in shown.err and "\x1b" not in shown.err and "nothing changes" not in shown.err
    assert json.loads(shown.out)["from_crate"] == {
        "command": ["python", "train.py", "a b"], "environment": ["echo line >&2"],
        "variables": {"MODE": "$(id) \x1b[2J"},
    }  # fmt: skip
    assert hackathon(words) == 2  # no terminal, no --yes
    shown = capsys.readouterr()
    assert "--yes" in shown.err and "python train.py 'a b'" in shown.err
    assert hackathon([*words, "--lang", "ja"]) == 2 and "他人" in capsys.readouterr().err
    assert not (here / "runs").exists()
