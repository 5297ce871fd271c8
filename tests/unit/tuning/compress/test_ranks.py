"""Trainings of several processes, one after another: ranks meet, share a slot, and none waits for one that failed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hackathon.tuning import driver
from hackathon.tuning.compress import ranks
from support.patience import STRETCH

PROGRAM = """
import os, socket, sys, time
rank, run = int(os.environ["RANK"]), os.environ["HK_RUN"]
assert not os.path.exists("left-behind"), "a training found the files of another one"
if sys.argv[1] == "broken" and rank == 1:
    sys.exit("no such hook here")
place = "127.0.0.1", int(os.environ["MASTER_PORT"])
if rank == 0:
    meet = socket.create_server(place)
    other = meet.accept()[0]
    open("left-behind", "w").close()
    other.sendall(b"x")
else:
    for _ in range(6000):
        try:
            other = socket.create_connection(place)
            break
        except OSError:
            time.sleep(0.05)
    assert other.recv(1) == b"x"
print("met", sys.argv[1:], "TORCHELASTIC_RUN_ID" in os.environ, flush=True)
"""


def run(folder: Path, arms: list[list[str]], seconds: float = 60 * STRETCH, attempt: str = "1") -> list[dict[str, Any]]:
    """Run a job of two ranks, and return what its slots say."""
    source = folder / "source"
    if not source.exists():
        source.mkdir(parents=True)
        (folder / "slots").mkdir()
        (source / "train.py").write_text(PROGRAM)
        shutil.copy(str(driver.__file__), source / driver.PROGRAM)
        shutil.copy(str(ranks.__file__), source / ranks.PROGRAM)
    slots = [{"arm": arm, "round": 0} for arm in range(len(arms))]
    commands = [[[sys.executable, "-S", "train.py", *words]] for words in arms]
    (source / driver.TASK).write_text(
        json.dumps({"kind": "ranks", "seconds": seconds, "arms": commands, "slots": slots})
    )
    children = []
    for rank in range(2):
        env = {
            **os.environ, "RANK": str(rank), "HK_RANK": str(rank), "HK_PROCESSES": "2", "HK_RUN": str(folder),
            "HK_ATTEMPT": attempt, "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "x", "HK_DEADLINE": "",
        }  # fmt: skip
        env.pop("PYTHONPATH", None)
        children.append(subprocess.Popen([sys.executable, ranks.PROGRAM], cwd=source, env=env))
    assert [each.wait(200 * STRETCH) for each in children] == [0, 0]
    return [json.loads(path.read_text()) for path in sorted(folder.glob("slots/*/slot.json"))]


def test_ranks_train_together_and_a_failure_keeps_nobody_waiting(tmp_path: Path) -> None:
    first, broken, last = run(tmp_path, [["none"], ["broken"], ["topk"]])
    assert [first["failed"], broken["failed"], last["failed"]] == [False, True, False]
    assert [first["arm"], last["arm"]] == [0, 2] and first["ended"] == "itself" and broken["seconds"] < 60 * STRETCH
    assert "no such hook here" in (tmp_path / "slots/0001/logs/rank-1.log").read_text()
    for rank in range(2):
        assert (tmp_path / f"slots/0002/logs/rank-{rank}.log").read_text() == "met ['topk'] False\n"
    assert not (tmp_path / "slots/0000/source").exists(), "copies of the program are not kept"

    # a later attempt of the same job begins where it ended
    (tmp_path / "slots/0002/slot.json").unlink()
    before = (tmp_path / "slots/0000/slot.json").stat().st_mtime_ns
    again = run(tmp_path, [["none"], ["broken"], ["topk"]], attempt="2")
    assert not again[2]["failed"] and (tmp_path / "slots/0000/slot.json").stat().st_mtime_ns == before
