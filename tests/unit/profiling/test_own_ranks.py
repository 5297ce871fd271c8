"""Own programs with planted faults: what is seen from outside is what the programs saw, and they run as before."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from hackathon.profiling.advice import LIMITS
from hackathon.profiling.outside import outside_shares
from hackathon.profiling.points import point_json
from support.golden import reviewed
from support.paths import ROOT, TESTS
from support.patience import STRETCH
from support.planted_steps import apart, planted_shares

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(600)]

PROGRAM = TESTS / "support" / "own_ranks.py"
RANKS, POINTS = 2, 0.05
FAULTS = {
    "healthy": "", "sleep": "", "manual": "", "slow-loader": "data", "straggler": "waiting",
    "exposed-communication": "", "host-bound": "host",
}  # fmt: skip
"""What is planted → the part that advice has to be about; a fast machine hides the communication."""
SCALES = (1.0, 3.0)
"""On a busy machine processes wake up late; beside longer steps that is less."""


def test_planted_faults_are_seen_from_outside(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    wanted = list(FAULTS)
    wrong: dict[str, str] = {}
    for scale in SCALES:
        out = tmp_path / str(scale)
        subprocess.run(
            [sys.executable, str(PROGRAM), str(out), str(scale), *wanted],
            check=True, timeout=STRETCH * 280, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        wrong = {fault: why for fault in wanted if (why := difference(out / fault, FAULTS[fault]))}
        wanted = list(wrong)
        if not wrong:
            return
    raise AssertionError("\n".join(f"{fault}: {why}" for fault, why in wrong.items()))


def difference(run: Path, faulty: str) -> str:
    """Return what is wrong about the shares of a run; empty when they are right."""
    truths = [json.loads((run / f"truth-{rank}.json").read_text()) for rank in range(RANKS)]
    shares = outside_shares(run, RANKS)
    told = point_json([shares] if shares else [])
    if shares is None or told is None or told["unknown"]:
        return f"shares are {told}"
    planted = planted_shares(truths)
    if why := apart(shares.ranks, planted, POINTS):
        return why
    late = told["late_rank"]
    others = [each for rank, each in enumerate(planted) if rank != late]
    parts = {advice["part"] for advice in told["advice"]}
    for part, limit in LIMITS.items():  # what is wanted follows from what came of the plan
        share = fmean(each[part] for each in (others if part == "waiting" else planted))
        if (share < limit - POINTS and part in parts) or (share > limit + POINTS and part not in parts):
            return f"{part} is {share:.3f}, and the advice is about {parts}"
        if part == faulty and share < limit - POINTS:
            return f"{part} is {share:.3f} only"
    if faulty == "waiting" and late != RANKS - 1:
        return f"late is {late}"
    return ""


OTHERS_PROGRAM = """
import os, sys, threading
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        if how == "fails" and index == 37:
            raise ValueError("sample %d is broken" % index)
        return torch.ones(8) * index, index % 2

def threads():  # without those of the loader, which end when they like
    return [each.name for each in threading.enumerate() if "Queue" not in each.name]

how = sys.argv[1]
torch.manual_seed(0)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
loader = DataLoader(Data(), batch_size=2, num_workers=2 if how == "workers" else 0)

def train():
    for number, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if how == "leaves" and number == 12:
            sys.stdout.flush()
            os._exit(7)
    print("loss %.5f" % loss.item(), threads())

if how == "thread":
    thread = threading.Thread(target=train, name="training")
    thread.start()
    thread.join()
else:
    train()
print(sorted(os.environ.get("HK_STEPS", "")), torch.save(model, os.devnull))
"""
WAYS = {"fails": 1, "leaves": 7, "workers": 0, "thread": 0}
"""How the program goes → its exit code."""


def test_programs_print_and_end_as_before(tmp_path: Path, warm_python: str) -> None:
    """One of them imports torch itself, beside the recorder; where the others run, torch is there already."""
    pytest.importorskip("torch")
    script = reviewed().rank
    found = re.search(r"sitecustomize\.py\" <<'PYTHON'[^\n]*\n(.*?)\nPYTHON\n", script, re.DOTALL)
    assert found
    (tmp_path / "hackathon-python").mkdir()
    (tmp_path / "hackathon-python" / "sitecustomize.py").write_text(found[1])
    (tmp_path / "steps.py").write_bytes((ROOT / "templates" / "jobs" / "steps.py").read_bytes())
    (tmp_path / "train.py").write_text(OTHERS_PROGRAM)
    plain = {**os.environ, "OMP_NUM_THREADS": "1"}
    laid = {"HK_RUN": str(tmp_path), "PYTHONPATH": str(tmp_path / "hackathon-python")}
    begun = {}
    for way in WAYS:
        python = sys.executable if way == "fails" else warm_python
        for path in ("", str(tmp_path / f"{way}.json")):
            begun[way, bool(path)] = subprocess.Popen(
                [python, "train.py", way], cwd=tmp_path, env={**plain, **laid, "HK_STEPS": path},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
    ended = {each: (*process.communicate(timeout=STRETCH * 250), process.returncode) for each, process in begun.items()}
    for way, code in WAYS.items():
        assert ended[way, True] == ended[way, False]
        assert ended[way, True][2] == code, ended[way, True]
    for way in ("fails", "workers", "thread"):
        assert json.loads((tmp_path / f"{way}.json").read_text())["steps"] >= 18
