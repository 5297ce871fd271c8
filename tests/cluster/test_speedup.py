"""`hackathon speedup` with small programs: planted gains are found, nothing else is claimed; batches are exact.

The programs tell a throughput that does not depend on the machine: noise is drawn from the number of the start.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site, SlurmBackend, until
from support.patience import STRETCH

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TRAIN = """
import argparse, os, random, sys, time
parser = argparse.ArgumentParser()
for name in ("workers", "skip", "idle", "seed"):
    parser.add_argument("--" + name, type=int)
args = parser.parse_args()
assert not os.path.exists("left-behind"), "a start found the files of another one"
open("left-behind", "w").close()
if args.idle == 9:
    sys.exit("no such option here")
noise = random.Random(os.path.basename(os.environ["HK_RUN"]))
while os.path.basename(os.environ["HK_RUN"]) != "0000" and os.path.exists(os.environ.get("HOLD", "")):
    time.sleep(0.05)
wait = (0.03 if args.workers == 0 else 0.01) + (0 if args.skip else 0.02)
for step in range(4):
    loss, rate = 2 / (step + 1) + 0.01 * args.seed, 1 / wait * noise.lognormvariate(0, 0.03)
    print(f"step {step} loss {loss:.4f} {rate:.3f} samples/s", flush=True)
"""
KEYS: dict[str, Any] = {
    "parameters": {
        "workers": {"default": 0, "type": "int"}, "skip": {"default": 0, "type": "int"},
        "idle": {"default": 0, "type": "int"}, "seed": {"default": 1, "type": "int"},
    },
}  # fmt: skip
COMMAND = "python train.py --workers {workers} --skip {skip} --idle {idle} --seed {seed}"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("speedup"))
    yield made
    made.stop()


def project(backend: Backend, folder: Path, program: str = TRAIN, command: str = COMMAND, **keys: Any) -> Site:
    site = Site(backend, folder, {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project(command, name=folder.name, **{**KEYS, **keys})
    (site.folder / "train.py").write_text(program)
    return site


def measure(site: Site, *words: str, code: int | None = 0) -> dict[str, Any]:
    told = site.run("speedup", "--json", "--yes", "--walltime", "900s", *words, code=code, seconds=240)
    found: dict[str, Any] = json.loads(told)
    return found


def test_planted_gains_are_found_and_exactly_those(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "planted")
    before = (site.folder / "project.yaml").read_text()
    words = ("--try", "workers=2", "--try", "skip=1", "--try", "idle=1,2,9")
    found = measure(site, *words)
    verdicts = {row["name"]: row["verdict"] for row in found["options"]}
    assert verdicts == {
        "workers=2": "faster", "skip=1": "faster", "idle=1": "none", "idle=2": "none", "idle=9": "failed",
    }, found  # fmt: skip
    rows = {row["name"]: row for row in found["options"]}
    assert rows["workers=2"]["low"] < 5 / 3 < rows["workers=2"]["high"] and rows["skip=1"]["loss"] == "same"
    assert found["together"]["verdict"] == "faster" and found["together"]["ratio"] > 4 and found["second_run"]
    assert found["apply"] == {"workers": 2, "skip": 1} and found["rounds"] == 8
    log = site.folder / "runs" / found["run"] / rows["idle=9"]["failed_log"]
    assert "no such option here" in log.read_text()
    assert site.run("results", code=2) == b"", "its runs are no results"
    kept = json.loads((site.folder / "runs" / found["run"] / "client" / "speedup.json").read_text())
    assert kept == found

    # the same command measures nothing anew, says it in a table, and writes what won
    text = site.run("speedup", "--yes", "--walltime", "900s", "--apply", *words).decode()
    assert "within the noise" in text and "workers=2 + skip=1" in text
    assert len(list((site.folder / "runs").glob("2*"))) == 2
    after = json.loads((site.folder / "project.yaml").read_text())
    assert after["parameters"]["workers"]["default"] == 2 and after["parameters"]["skip"]["default"] == 1
    assert after["parameters"]["idle"] == json.loads(before)["parameters"]["idle"]


def test_with_nothing_planted_nothing_is_claimed(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "nothing")
    found = measure(site, "--try", "idle=1,2", "--try", "env.NOTHING=1")
    assert [row["verdict"] for row in found["options"]] == ["none"] * 3, found
    assert found["apply"] == {} and found["together"] is None and found["second_run"] is None
    few = measure(site, "--try", "idle=1", "--rounds", "3")
    assert few["options"][0]["verdict"] == "few" and few["options"][0]["low"] is None


def test_a_program_without_a_throughput_is_measured_by_its_time(backend: Backend, tmp_path: Path) -> None:
    program = "import sys, time\ntime.sleep(0 if '1' in sys.argv else 2)\n"
    site = project(backend, tmp_path / "timed", program, "python train.py {skip}")
    found = measure(site, "--try", "skip=1", "--rounds", "6", "--seconds", "60")
    assert found["metric"] == "finishes_per_s" and found["baseline"]["value"] <= 0.5, found
    assert found["options"][0]["ratio"] > 1


def test_a_program_that_fails_as_it_is_is_not_compared(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "broken", "raise KeyError('no_such_key')\n")
    process = site.start("speedup", "--yes", "--try", "idle=1", "--rounds", "2")
    stderr = process.communicate(timeout=STRETCH * 200)[1].decode()
    assert process.returncode == 2 and "no_such_key" in stderr and "Traceback (most recent call last)" in stderr
    assert stderr.count("Traceback") == 1, "the program's own, and none of ours"


def test_the_same_command_goes_on_after_ctrl_c(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "again")
    words = ("tune-up", "--json", "--yes", "--walltime", "900s", "--try", "idle=1", "--rounds", "7")
    hold = tmp_path / "hold"
    hold.touch()  # no start but the first one ends, so that there is something left to interrupt
    held = {"HOLD": str(hold)}
    first = site.start(*words, **held)
    until(lambda: list((site.folder / "runs").glob("2*/slots/*/slot.json")), "the first start")
    first.send_signal(signal.SIGINT)
    assert b"the same command continues" in first.communicate(timeout=STRETCH * 60)[1] and first.returncode == 130
    hold.unlink()
    (made,) = (site.folder / "runs").glob("2*")
    found = json.loads(site.run(*words, **held))
    assert found["run"] == made.name and found["options"][0]["pairs"] == 7
    assert json.loads(site.run(*words, "--again", **held))["run"] != made.name
    # what is asked of the cluster makes it another measurement, though the program is the same
    other = json.loads(site.run(*words, "--threads", "2", **held))["run"]
    assert len(list((site.folder / "runs").glob("2*"))) == 3
    assert json.loads(site.run(*words, "--threads", "2", **held))["run"] == other


MODELS = {
    "attention": "held = bytearray(batch * 40_000), bytearray(batch * batch * 800)",
    "optimizer": "step = bytearray(batch * 200_000); del step; held = bytearray(30 << 20), bytearray(batch * 150_000)",
}
"""Name → what a step needs: a net whose memory grows with the square, and one that needs more in its second step."""
LIMIT = 120_000_000


def batches(backend: Backend, folder: Path, model: str) -> Site:
    program = f"import sys, time\nbatch = int(sys.argv[1])\n{model}\nprint('100 samples/s', flush=True)\n"
    program += "time.sleep(0.3)\n"  # the driver looks every 50 ms, when it has a core
    parameters = {"batch_size": {"default": 8, "type": "int", "min": 1}}
    return project(backend, folder, program, "python train.py {batch_size}", parameters=parameters)


SCAN = """
import resource, subprocess, sys
def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
for batch in range(BEGIN, BEGIN + 7):
    done = subprocess.run([sys.executable, "train.py", str(batch)], preexec_fn=limited, stderr=subprocess.PIPE)
    assert done.returncode == 0 or b"MemoryError" in done.stderr, done.stderr
    print("fits" if done.returncode == 0 else "fails", batch, flush=True)
"""


def really_fitting(site: Site, around: int) -> list[int]:
    """Return which of the batches around one fit for real: all are tried, in a job, under the same limit."""
    begin = max(1, around - 3)
    (site.folder / "scan.py").write_text(SCAN.replace("MOST", str(LIMIT)).replace("BEGIN", str(begin)))
    values = json.loads((site.folder / "project.yaml").read_text())
    (site.folder / "project.yaml").write_text(json.dumps({**values, "command": "python scan.py", "launcher": "local"}))
    site.run("submit", "--wait", "--walltime", "600s")
    log = max((site.folder / "runs").glob("2*")) / "logs" / "rank-0.log"
    words = [line.split() for line in log.read_text().splitlines() if line.startswith(("fits", "fails"))]
    assert [int(batch) for _, batch in words] == list(range(begin, begin + 7))
    return [int(batch) for verdict, batch in words if verdict == "fits"]


@pytest.mark.parametrize("model", MODELS)
def test_the_largest_batch_is_the_one_that_fits_for_real(backend: Backend, tmp_path: Path, model: str) -> None:
    site = batches(backend, tmp_path / model, MODELS[model])
    found = measure(site, "--largest-batch", "--memory", str(LIMIT))
    assert found["confirmed"] and 1 <= found["recommended"] < found["largest"]
    searched = [probe for probe in found["probes"] if probe["kind"] == "search"]
    # doubling and bisection from wherever the first prediction was: on a busy machine the memory of a start that lasts
    # 50 ms may be missed, and then it is far off
    assert len(searched) <= 32
    assert {probe["cause"] for probe in searched if not probe["fits"]} == {"hardware-memory-exhausted"}
    largest = next(probe for probe in found["probes"] if probe["batch"] == found["largest"])
    assert 0 < largest["memory_bytes"] <= LIMIT
    text = site.run("speedup", "--largest-batch", "--memory", str(LIMIT), "--walltime", "900s").decode()
    assert f"largest batch that fits: {found['largest']}" in text and "linear scaling rule" in text
    # the C library's heap grows in steps of 132 KiB: the length of a path in the environment decides on the last sample
    assert abs(max(really_fitting(site, found["largest"])) - found["largest"]) <= 1 and found["largest"] >= 4


def test_another_failure_is_not_taken_for_a_lack_of_memory(backend: Backend, tmp_path: Path) -> None:
    site = batches(backend, tmp_path / "odd", "assert batch < 40, 'odd batch'")
    found = measure(site, "--largest-batch", "--memory", str(LIMIT), code=1)
    assert found["largest"] is None and found["recommended"] is None and not found["confirmed"]
    assert found["other_failure"]["cause"] == "unknown" and found["other_failure"]["batch"] >= 40
    site = batches(backend, tmp_path / "huge", "held = bytearray(1 << 30)")
    found = measure(site, "--largest-batch", "--memory", str(LIMIT), code=1)
    assert found["largest"] is None and found["other_failure"] is None


def test_nobody_at_a_terminal_must_confirm_where_it_costs(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "asked", cluster="miyabi-g", group="gz00")
    process = site.start("speedup", "--try", "idle=1")
    _, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 2 and b"--yes" in stderr and b"node-hours" in stderr, stderr
    assert not list((site.folder / "runs").glob("2*"))


@pytest.mark.slurm
def test_on_slurm(slurm: Any, tmp_path: Path) -> None:
    site = project(SlurmBackend(slurm), tmp_path / "queued")
    found = measure(site, "--try", "workers=2", "--rounds", "7")
    assert [row["verdict"] for row in found["options"]] == ["faster"] and found["apply"] == {"workers": 2}
