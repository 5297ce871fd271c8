"""How a node follows node 0 where every node runs the job script: the shell function of a script, without clocks.

`sleep` is a function that counts, so a minute of waiting takes no time; at some counts it does what node 0 would do.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.golden import Case, reviewed
from support.patience import STRETCH, until

SCRIPT = reviewed().library(Case("torch-ddp", "kubernetes", "torchrun"))
FUNCTIONS = "".join(re.findall(r"^hk_(?:resolve|follow)\(\) .*?^}$\n", SCRIPT, re.DOTALL | re.MULTILINE))
STAND_INS = """
HK_RUN=$PWD HK_HOST=here HK_HOSTS=(node0)
getent() { :; }
hk_hosts_of_job() { :; }
count=0
sleep() {
  count=$((count + 1))
  if [ "$count" -eq "${LEAD_AT:-0}" ]; then echo "2 torchrun 1" >env/lead; fi
  case $count in "${TERM_AT:-}" | "${TOLD_AT:-}" | "${READY_AT:-}")
    until [ -e ready ]; do command sleep 0.01; done ;;
  esac
  if [ "$count" -eq "${TERM_AT:-0}" ]; then kill -TERM $$; fi
  if [ "$count" -eq "${TOLD_AT:-0}" ]; then : >env/told-2-1; fi
  if [ "$count" -gt 150 ]; then exit 99; fi
  if [ -n "${PAUSE:-}" ]; then command sleep "$PAUSE"; fi
}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name in ("env", "events", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "rank.sh").write_text('echo "$2 $3 $4"; exit 3')
    return tmp_path


def follow(run: Path, **variables: str) -> tuple[int, int]:
    """Return the exit code of node 1's script, and how many seconds it would have taken."""
    text = f"{STAND_INS}{FUNCTIONS}trap 'echo $count >count' EXIT\nhk_follow 1"
    done = subprocess.run(["bash", "-c", text], cwd=run, env={**os.environ, **variables}, timeout=STRETCH * 60)
    return done.returncode, int((run / "count").read_text())


def test_it_waits_for_node_0_and_leaves_it_the_exit_code(run: Path) -> None:
    code, seconds = follow(run, LEAD_AT="90")
    assert code == 0 and seconds >= 90  # node 0 alone decides how the job ends
    assert (run / "env" / "ended-2-1").read_text() == "3\n"
    assert (run / "logs" / "node-1.log").read_text() == "2 torchrun 1\n"
    assert sorted(path.name for path in (run / "events").iterdir()) == []


def test_an_earlier_life_of_the_job_is_not_followed(run: Path) -> None:
    (run / "env" / "lead").write_text("1 torchrun 57\n")
    (run / "events" / "job.jsonl").write_text('{"event":"started","attempt":1}\n')
    assert follow(run) == (99, 151)  # still waiting
    assert not (run / "env" / "ended-1-1").exists()
    assert follow(run, LEAD_AT="5")[0] == 0 and (run / "env" / "ended-2-1").exists()


def test_job_that_ended_before_the_node_was_there(run: Path) -> None:
    (run / "events" / "job.jsonl").write_text('{"event":"started"}\n{"event":"ended","exit_code":0}\n')
    assert follow(run) == (0, 60)


def test_told_to_end_while_it_waits(run: Path) -> None:
    (run / "ready").touch()
    assert follow(run, TERM_AT="7") == (143, 7)


@pytest.mark.parametrize("way", ["TERM_AT", "TOLD_AT"])
def test_told_to_end_it_tells_its_ranks_once(run: Path, way: str) -> None:
    told = "trap 'echo told >>told; exit 7' TERM\n: >ready\nwhile kill -0 $PPID; do sleep 0.01; done"
    (run / "rank.sh").write_text(told)
    assert follow(run, **{"LEAD_AT": "3", way: "20", "PAUSE": "0.02"})[0] == 0
    assert (run / "told").read_text() == "told\n" and (run / "env" / "ended-2-1").read_text() == "7\n"


@pytest.mark.slow
def test_node_0_is_silent(run: Path) -> None:
    (run / "rank.sh").write_text("trap 'echo told >>told' TERM\n: >ready\nwhile kill -0 $PPID; do sleep 0.01; done")
    code, seconds = follow(run, LEAD_AT="3", READY_AT="10", PAUSE="0.01")
    assert code == 70 and 90 <= seconds <= 100
    until(lambda: (run / "told").exists() and (run / "told").read_text())  # it may hear of it after the script ended
    assert (run / "told").read_text() == "told\n" and not (run / "env" / "ended-2-1").exists()
