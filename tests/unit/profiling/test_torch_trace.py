"""A program that runs torch's profiler itself has all of its events, and the recorder gives way; real processes."""

import ast
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hackathon.profiling import torch_trace
from hackathon.profiling.traces.recording import missing, trace_files
from hackathon.rehearsal.profile_run import PLACE, VARIABLE, recorder_files
from hackathon.runs.directory import RunDirectory
from support.patience import STRETCH

pytest.importorskip("torch")

PROGRAM = """
import sys, threading
import torch
from torch import profiler

torch.set_num_threads(1)
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
cpu = dict(activities=[profiler.ProfilerActivity.CPU])


def step(number):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()


def steps_in(events):
    return sum(each.count for each in events if each.key == "aten::addmm")


def scheduled():  # as in torch's tutorial
    seen = []
    plan = profiler.schedule(wait=1, warmup=1, active=3, repeat=5)
    ready = lambda p: seen.append(steps_in(p.key_averages()))
    with profiler.profile(schedule=plan, on_trace_ready=ready, **cpu) as own:
        for number in range(30):
            step(number)
            own.step()
    return seen


def between(first, last):
    for number in range(30):
        if number == first:
            own = profiler.profile(**cpu)
            own.__enter__()
        step(number)
        if number == last:
            own.__exit__(None, None, None)
    return steps_in(own.key_averages())


def warm_up():  # is warmed up when the recorder begins
    plan = profiler.schedule(wait=9, warmup=4, active=3, repeat=1)
    with profiler.profile(schedule=plan, **cpu) as own:
        for number in range(30):
            step(number)
            own.step()
    return steps_in(own.key_averages())


def thread():
    seen = []
    for number in range(30):
        if number == 15:
            other = threading.Thread(target=lambda: seen.append(between(0, 29)))
            other.start()
            other.join()
        step(number)
    return seen


def moves():  # to another thread, in the window
    done = threading.Event()
    first = lambda: ([step(number) for number in range(15)], done.set(), threading.Event().wait())
    threading.Thread(target=first, daemon=True).start()
    done.wait()
    none()


def none():
    for number in range(40):
        step(number)


print(eval(sys.argv[1]))
"""


def ran(folder: Path, call: str, python: str = sys.executable) -> tuple[str, RunDirectory]:
    """Return what the program told, which ended well, and its run; a warm Python has imported torch beforehand."""
    (folder / "train.py").write_text(PROGRAM)
    (folder / "request.json").write_text("{}")
    (folder / PLACE).mkdir()
    for name, content in recorder_files().items():
        (folder / name).write_bytes(content)
    more = {VARIABLE: "5,10,0", "HK_RUN": str(folder), "HK_RANK": "0", "PYTHONPATH": str(folder / PLACE)}
    done = subprocess.run(
        [python, "train.py", call], cwd=folder, env={**os.environ, **more}, capture_output=True, text=True,
        timeout=STRETCH * 100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1], RunDirectory(folder)


def test_it_runs_in_old_pythons_and_needs_no_package() -> None:
    source = Path(str(torch_trace.__file__)).read_text()
    imports = [each for each in ast.walk(ast.parse(source, feature_version=(3, 6))) if isinstance(each, ast.Import)]
    assert {name.name for each in imports for name in each.names} <= set(sys.stdlib_module_names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("scheduled()", "[3, 3, 3, 3, 3]"),
        ("between(15, 17)", "3"),
        ("between(3, 25)", "23"),
        ("between(11, 13)", "3"),
        ("warm_up()", "3"),
        ("thread()", "[30]"),
    ],
)
def test_the_recorder_gives_way_to_the_programs_own_profiler(
    call: str, told: str, tmp_path: Path, warm_python: str
) -> None:
    seen, run = ran(tmp_path, call, sys.executable if call == "warm_up()" else warm_python)
    assert seen == told and trace_files(run) == {}
    (note,) = missing(run)
    assert note.reason == "failed" and "the program runs torch's profiler itself" in note.text


@pytest.mark.slow
@pytest.mark.parametrize(("call", "warm"), [("none()", False), ("between(2, 4)", True)])
def test_steps_without_the_programs_profiler_are_recorded(
    call: str, warm: bool, tmp_path: Path, warm_python: str
) -> None:
    _, run = ran(tmp_path, call, warm_python if warm else sys.executable)
    assert missing(run) == []
    events: Any = json.loads(gzip.decompress(trace_files(run)[0].read_bytes()))["traceEvents"]
    assert sum(each.get("name") == "aten::addmm" for each in events) == 10


@pytest.mark.slow
def test_a_training_that_moves_to_another_thread_goes_on(tmp_path: Path, warm_python: str) -> None:
    _, run = ran(tmp_path, "moves()", warm_python)
    (note,) = missing(run)
    assert trace_files(run) == {} and "does not run any more where it was started" in note.text
