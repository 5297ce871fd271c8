"""One command line with `--json` for each command that has it, and the folder in which all of them run."""

import contextlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.directory import make_place
from hackathon.cli.main import run
from support.paths import RECIPES
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study
from support.traces import gloo_traces
from support.trackers import install_mlflow

TABLE = "processes,value\n1,100\n2,190\n4,350\n"
PROGRAM = """
import argparse, os, random, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--hook", default="none")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
batch, parts = 60, int(os.environ.get("HACKATHON_MICRO_BATCHES", "1"))
size = -(-batch // parts)
with open(os.environ["HK_RUN"] + "/micro_batches.json", "w") as stream:
    json = __import__("json")
    json.dump({"batch": batch, "sizes": [size] * (parts - 1) + [batch - size * (parts - 1)]}, stream)
noise = random.Random(os.path.basename(os.environ["HK_RUN"]))
if os.environ.get("HK_RANK", "0") == "0":
    for step in range(4):
        rate = 800 * noise.lognormvariate(0, 0.02)
        print(f"step {step} loss {1 / (step + 1):.4f} throughput {rate:.2f} samples/s", flush=True)
    print(f"accuracy {0.9 + noise.gauss(0, 0.004):.5f}", flush=True)
open("model.txt", "w").close()
"""
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=10\nsrun python train.py\n"
OPERATOR = {"forward": 0.004, "backward": 0.008, "parameters": 4e8, "saved": 5e7, "workspace": 1e7}
GRAPH = {
    "schema_version": 1,
    "operators": [{"name": name, **OPERATOR} for name in ("first", "second")],
    "edges": [{"from": "first", "to": "second", "bytes": 8e6}],
}
PORTED = """import torch
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 4)), batch_size=4, shuffle=True)
for (batch,) in data:
    optimizer.zero_grad()
    model(batch.cuda()).sum().backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
NETWORK = """import json, os, time
row = {"bytes": 4096, "busbw_gb_s": 1.5, "time_us": 20.0}
operation = {"rows": [row], "fits": {"small": {"alpha_us": 10.0, "beta_gb_s": 1.0}, "large": None}}
value = {"operations": {"all-reduce": operation}, "processes": 1, "nodes": 1, "backend": "gloo", "device": "cpu"}
with open(os.environ["HK_RUN"] + "/allreduce.json", "w") as stream:
    json.dump({**value, "t": time.time()}, stream)
"""


@dataclass
class JsonWorld:
    """An event with a team's project in it: a study, runs, a board, a survey, files for every command."""

    event: Path
    good: str
    failed: str
    post: str = ""
    request: str = ""
    run: str = ""

    def words(self, text: str) -> list[str]:
        """Return the words of a command line; {good} and {failed} are runs, {run} is one of `submit`."""
        if "{post}" in text and not self.post:
            self.post = printed("board post nan")["short"]
        if "{request}" in text and not self.request:
            self.request = printed("ask send it-stops")["short"]
        if "{run}" in text and not self.run:
            self.run = printed("submit --wait")["runs"][0]["run_id"]
        return [word.format(**vars(self), study="kq3v7xya") for word in text.split()]


def printed(text: str) -> Any:
    """Return the JSON of a command line."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        assert run([*text.split(), "--json"]) == 0, text
    return json.loads(stream.getvalue())


def build_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> JsonWorld:
    """Return the event and the project, written below `folder`, which becomes the current folder's parent."""
    me = user_name(os.geteuid())
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HACKATHON_LOCAL_DIR", "HACKATHON_LOCAL_SLOTS_DIR"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "8")
    monkeypatch.setenv("HACKATHON_LANG", "en")
    install_mlflow(monkeypatch)
    event = folder / "event"
    make_place(event / "shared", "sticky")
    (event / "hackathon.yaml").write_text(
        "title: E\nshared: shared\ndates: [2019-01-24]\nclusters:\n  laptop: {}\nteams:\n"
        f"- name: Aurora\n  members: [{{user: {me}, name: Ada}}]\n  tutors: [{me}]\n  folders: [aurora]\n"
        f"tutors: [{{user: {me}}}]\n"
    )
    project = event / "aurora"
    write_study(
        project, [Sample(1, 1200.0), Sample(2, 2300.0), Sample(4, 4300.0), Sample(8, None, "FAILED", exit_code=1)]
    )
    write_rich(project, 5)
    write_rich(project, 6, failed=True)
    names = sorted(path.name for path in (project / "runs").iterdir())
    values = {
        "name": "train", "command": "python train.py --lr {lr} --hook {hook} --seed {seed}", "cluster": "laptop",
        "launcher": "local", "walltime": "30m", "processes": 1, "team": "Aurora",
        "parameters": {
            "lr": {"default": 0.1, "type": "float"}, "hook": {"default": "none", "choices": ["none", "good"]},
            "seed": {"default": 1, "type": "int"},
        },
        "metrics": {"accuracy": {"pattern": "accuracy ([0-9.]+)", "reduce": "last"}},
    }  # fmt: skip
    (project / "project.yaml").write_text(json.dumps(values))
    for name, text in {
        "train.py": PROGRAM, "table.csv": TABLE, "job.sh": SCRIPT, "one.py": PORTED, "graph.json": json.dumps(GRAPH),
        "devices.json": json.dumps({"count": 2, "memory": 5e9, "bandwidth": 1e10}),
        "reference.yaml": "clusters:\n  reedbush-h: [{processes: 4, value: 4300, tolerance: 0.1}]\n",
        "answers.csv": "length\n3\n4\n", "last-year.yaml": "title: Last\nteams: []\n",
    }.items():  # fmt: skip
        (project / name).write_text(text)
    _write_recipes(event / "recipes")
    for trace in gloo_traces(2, {1: 20.0}):
        trace.write(project)
    monkeypatch.chdir(event)
    assert run(["survey", "new", "after"]) == 0
    monkeypatch.chdir(project)
    return JsonWorld(event, names[-2], names[-1])


def _write_recipes(folder: Path) -> None:
    """Write a recipe without packages, and a stand-in for the measurement of a network that needs no torch."""
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "recipe.yaml").write_text("name: tiny\nframework: none\nentry: train.py\nlaunchers: [local]\n")
    (folder / "tiny" / "train.py").write_text("print('hello')\n")
    (folder / "tiny" / "requirements.txt").write_text("")
    measured = folder / "allreduce"
    measured.mkdir()
    text = (RECIPES / "allreduce" / "recipe.yaml").read_text()
    (measured / "recipe.yaml").write_text(text)
    (measured / "bench.py").write_text(NETWORK)


SCENES: dict[str, tuple[str, ...]] = {
    "try": ("try --yes --processes 1 --seconds 10",),
    "scale": ("scale --processes 1 --dry-run", "scale --processes 1", "scale --processes 1 --wait"),
    "status": ("status --no-ask", "status {good} --no-ask"),
    "diagnose": ("diagnose {failed}", "diagnose {study}", "diagnose job.sh"),
    "check": ("check", "check --nodes 2"),
    "submit": ("submit", "submit --wait"),
    "render": ("render", "render --all", "render --to by-hand", "render --files"),
    "compare": ("compare {good} {failed} --no-ask", "compare {study} {study} --no-ask"),
    "results": (
        "results {study} --no-ask",
        "results {good} --no-ask",
        "results {study} --no-ask --advice",
        "results {run} --suggest",
    ),
    "rerun": ("rerun {run}",),
    "fetch": ("fetch {good} --to fetched",),
    "export": ("export {study} --to mlflow --no-ask",),
    "lint": ("lint job.sh", "lint --rules"),
    "convert": ("convert job.sh --to reedbush-h",),
    "port": ("port one.py",),
    "env create": ("env create tiny",),
    "env list": ("env list",),
    "env show": ("env show tiny",),
    "recipes": ("recipes", "recipes torch-ddp"),
    "profile": ("profile --from rank-0.json rank-1.json",),
    "speedup": ("speedup --yes --try lr=0.2 --seconds 1 --rounds 3",),
    "microbatch": ("microbatch --yes --memory 300MB --seconds 1",),
    "compress": ("compress --yes --hooks good --seeds 5 --seconds 60",),
    "clusters measure": ("clusters measure laptop --nodes 1 --processes-per-node 2 --launcher local",),
    "tune": ("tune --sampler random --space lr=0.1,0.2 --trials 2 --objective accuracy --yes",),
    "predict": (
        "predict table.csv --processes 8,16",
        "predict --processes 16",
        "predict --processes 16 --epochs 3 --samples 1000 --batch-size 8",
    ),
    "plan": ("plan --graph graph.json --devices devices.json --micro-batches 4",),
    "docs": ("docs predict", "docs"),
    "doctor": ("doctor", "doctor --security"),
    "clusters list": ("clusters list",),
    "clusters show": ("clusters show laptop", "clusters show reedbush-h"),
    "clusters check": ("clusters check laptop",),
    "clusters new": ("clusters new mine --scheduler slurm --no-ask --yes",),
    "ask send": ("ask send it-hangs",),
    "ask list": ("ask list",),
    "ask take": ("ask take {request}",),
    "ask close": ("ask close {request} solved",),
    "board init": ("board init",),
    "board post": ("board post loss-is-nan --part numerics",),
    "board list": ("board list",),
    "board search": ("board search nan",),
    "board show": ("board show {post}",),
    "board answer": ("board answer {post} which-rate",),
    "board solve": ("board solve {post} lower-rate",),
    "standup write": ("standup write --progress one --goals two",),
    "standup show": ("standup show",),
    "ready": ("ready --no-job",),
    "plugins": ("plugins",),
    "top": ("top --once --no-ask",),
    "rules list": ("rules list",),
    "rules show": ("rules show gpu-out-of-memory",),
    "event init": ("event init {event}", "event init ../new --from last-year.yaml --dry-run"),
    "event check": ("event check {event}",),
    "event show": ("event show {event}", "event show {event} --knows NCCL"),
    "event usage": ("event usage {event}",),
    "survey open": ("survey open after --tokens 2",),
    "survey check": ("survey check",),
    "survey import": ("survey import answers.csv --survey after --dry-run",),
    "notify show": ("notify show",),
    "notify relay": ("notify relay --dry-run --once",),
    "trust": ("trust --list", "trust {event}"),
}
"""Command → command lines without `--json`, in the order in which they run."""
SLOW = frozenset({
    "try", "tune", "speedup", "microbatch", "compress", "clusters measure", "env create", "env show", "scale", "submit",
    "rerun", "results", "status", "top", "docs",
})  # fmt: skip
"""Commands that run jobs, or that look at what others of these left."""
