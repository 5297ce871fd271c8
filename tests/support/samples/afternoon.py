"""An invented event at 15:40 of its day: six teams, and eleven matters that want a tutor.

Two jobs lose node-hours (one hangs on eight nodes, with stacks; one idles on four), two teams are beyond their budget,
two ask, three have failures of three causes, and two wait long.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import yaml

from hackathon.access.permissions import user_name
from hackathon.board.board import open_board
from hackathon.board.directory import make_place
from hackathon.board.post import post
from support.samples.event import _unend
from support.samples.runs import Sample, write_run

TEAMS = ("Aurora", "Boreas", "Cumulus", "Drizzle", "Nimbus", "四つ葉")
HUNG = 16
"""Processes of the run that hangs: two on each of eight nodes."""
LATE = 7
"""The rank for which the others wait."""
LOADER = '  File "/lustre/gz03/u3a/train/source/train.py", line 61 in load_batch\n'
REDUCE = (
    '  File "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", line 2806 in all_reduce\n'
    '  File "/lustre/gz03/u3a/train/source/train.py", line 88 in average\n'
)
MAIN = '  File "/lustre/gz03/u3a/train/source/train.py", line 120 in main\n'
FAILURES = {
    "Aurora": "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity)\n",
    "Boreas": "ModuleNotFoundError: No module named 'apex'\n",
    "Cumulus": 'Traceback (most recent call last):\n  File "/lustre/gz02/u2a/train/source/train.py", line 12, in '
               "main\n    width = settings['width']\nKeyError: 'width'\n",
}  # fmt: skip


def write_afternoon(folder: Path, now: float | None = None) -> Path:
    """Write the event into `folder`, as it stands `now` (default: this moment), and return its hung run."""
    moment = time.time() if now is None else now
    folder.mkdir(parents=True, exist_ok=True)
    make_place(folder / "shared", "sticky")
    text = yaml.safe_dump(_event(moment), allow_unicode=True, sort_keys=False)
    (folder / "hackathon.yaml").write_text(text, "utf-8")
    for number, (team, log) in enumerate(FAILURES.items()):
        broken = Sample(4, None, "FAILED", "rank 1 ended with exit code 1", exit_code=1)
        run = _run(folder, team, number, broken, moment - 1500 + 60 * number, name="train")
        (run / "logs/rank-1.log").write_text(log)
    hung = _hung(folder, moment)
    _idle(folder, moment)
    for number, (team, hours) in enumerate((("Cumulus", 3.2), ("四つ葉", 2.6)), 20):
        run = _run(folder, team, number, Sample(16, 9000.0), moment - 3600 * hours - 900, name="long")
        _change(run / "request.json", walltime=6 * 3600)
        _last_event(run, moment - 900)
        _change(run / "final.json", t_ended=moment - 900)
    for number, (team, minutes) in enumerate((("Drizzle", 70), ("Nimbus", 25)), 30):
        _queued(_run(folder, team, number, Sample(8, None), moment - 60 * minutes, name="big"))
    for number, team in enumerate(TEAMS[:3], 40):
        well = _run(folder, team, number, Sample(4, 4300.0), moment - 1200, name="small")
        _unend(well)
        _value(well, moment - 5, 4300.0)
        _fresh(well, moment - 5)
    board = open_board(folder / "shared", folder)
    post(board, "The data set is not found on the nodes\nIt worked on the login node.", kind="ask")
    post(board, "How do we share a checkpoint between two accounts?", kind="ask")
    return hung


def _run(folder: Path, team: str, number: int, sample: Sample, start: float, *, name: str) -> Path:
    run = write_run(folder / team / "train/runs", sample, number, name=name, team=team, start=start - 240 * number)
    _change(run / "request.json", study=None)
    _change(run / "client/created.json", user=f"u{TEAMS.index(team)}a")
    return run


def _hung(folder: Path, now: float) -> Path:
    """Write a run of HUNG processes whose rank LATE reads data while the others wait in a collective for 23 minutes."""
    last = now - 23 * 60
    run = _run(folder, "Drizzle", 10, Sample(HUNG, 494.0), now - 3000, name="hang")
    _change(run / "request.json", walltime=2 * 3600)
    _unend(run)
    (run / "stacks").mkdir()
    (run / "steps").mkdir()
    for rank in range(HUNG):
        host = f"a{17 + rank // 2:03d}.example.jp"
        (run / f"events/rank-{rank}.jsonl").write_text(
            json.dumps({"t": now - 2940, "event": "started", "attempt": 1, "host": host}) + "\n"
        )
        (run / f"logs/rank-{rank}.log").write_text(f"rank {rank} of {HUNG} on {host}\nepoch 3\n")
        stack = LOADER if rank == LATE else REDUCE
        (run / f"stacks/rank-{rank}.txt").write_text(
            f"Current thread 0x00007f1e4c0a2740 (most recent call first):\n{stack}{MAIN}"
        )
        steps = 339 if rank == LATE else 340
        block = {"first": 1, "last": 20, "at": 1.0, "seconds": 20.0, "parts": {}, "collectives": []}
        (run / f"steps/rank-{rank}.json").write_text(
            json.dumps({"framework": "torch", "steps": steps, "first_step": now - 2900, "last_step": last,
                        "blocks": [block]})
        )  # fmt: skip
        os.utime(run / f"stacks/rank-{rank}.txt", (now - 240, now - 240))
    _value(run, last, 494.0, loss=0.71)
    _telemetry(run, "a017.example.jp", now - 2900, last, 93.6)
    _fresh(run, last)
    return run


def _idle(folder: Path, now: float) -> None:
    run = _run(folder, "Nimbus", 11, Sample(8, 700.0), now - 1500, name="slow")
    _change(run / "request.json", walltime=3600)
    _unend(run)
    for host in ("a025.example.jp", "a026.example.jp", "a027.example.jp", "a028.example.jp"):
        _telemetry(run, host, now - 1400, now - 10, 4.0)
    _value(run, now - 5, 700.0)
    _fresh(run, now - 5)


def _queued(run: Path) -> None:
    """Turn an ended run into one that waits in the queue."""
    for name in ("final.json", "events/job.jsonl"):
        (run / name).unlink()
    for name in ("events", "logs", "metrics"):
        for path in (run / name).iterdir():
            path.unlink()
    (run / "claim/job_id").unlink()
    begin = json.loads((run / "client/submitted.json").read_text())["t"]
    seen = {"t": begin + 5, "state": "QUEUED", "raw": "Q", "reason": "Not Running: not enough free nodes"}
    (run / "client/seen.json").write_text(json.dumps(seen))


def _telemetry(run: Path, host: str, begin: float, end: float, percent: float) -> None:
    rows = ["t,kind,index,utilisation_percent,memory_mib,power_w"]
    rows += [f"{begin + 20 * n:.1f},gpu,{gpu},{percent},9000,120" for n in range(int((end - begin) // 20) + 1)
             for gpu in (0, 1)]  # fmt: skip
    (run / f"telemetry/{host}.csv").write_text("\n".join(rows) + "\n")
    os.utime(run / f"telemetry/{host}.csv", (end, end))


def _value(run: Path, moment: float, speed: float, loss: float = 0.29) -> None:
    """Let a running program tell its last value at a moment."""
    with (run / "metrics/rank-0.jsonl").open("a") as stream:
        row = {"t": moment, "attempt": 1, "step": 340, "samples_per_s": speed, "loss": loss}
        stream.write(json.dumps(row) + "\n")


def _fresh(run: Path, moment: float) -> None:
    """Let logs and metrics be written last at a moment."""
    for name in ("logs", "metrics"):
        for path in (run / name).iterdir():
            os.utime(path, (moment, moment))


def _change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _last_event(run: Path, moment: float) -> None:
    path = run / "events/job.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "t": moment} if line["event"] == "ended" else line) + "\n"
                            for line in lines))  # fmt: skip


def _event(now: float) -> dict[str, Any]:
    me = user_name(os.geteuid())
    begin = time.localtime(now - 3600)
    day = time.strftime("%Y-%m-%d", begin)

    def at(minutes: int) -> str:
        """Return a time of that day; after midnight its hours go on from 24."""
        passed = 60 * begin.tm_hour + begin.tm_min + 60 + minutes
        return f"{passed // 60:02d}:{passed % 60:02d}"

    teams = [
        {
            "name": name,
            "members": [
                {"user": f"u{number}{letter}", "name": person} for letter, person in zip("ab", pair, strict=True)
            ],
            "tutors": [(me, "t1", "t2")[number % 3]],
            "seat": f"{'ABC'[number // 2]}-{number % 2 + 1}",
        }
        for number, (name, pair) in enumerate(zip(TEAMS, PEOPLE, strict=True))
    ]
    schedule = [{"title": {"en": "Hands-on", "ja": "ハンズオン"}, "day": day, "start": at(-60), "end": at(8)}]
    schedule += [{"title": {"en": "Presentations", "ja": "成果発表"}, "day": day, "start": at(8), "end": at(40)}]
    return {
        "title": {"en": "GPU hackathon", "ja": "GPU ハッカソン"}, "dates": [day], "shared": "shared",
        "clusters": {"reedbush-h": {"budget": {"node_hours": 20}}},
        "tutors": [{"user": me, "name": "Mori"}, {"user": "t1", "name": "Ito"}, {"user": "t2", "name": "Abe"}],
        "teams": teams, "schedule": schedule,
    }  # fmt: skip


PEOPLE = (
    ("Ada Lovelace", "千賀 健"), ("Bo Diaz", "Ben Okri"), ("Chie Mori", "Cy Young"), ("Dai Ueno", "Dora Lim"),
    ("Niko Abe", "Nao Ito"), ("四方 花", "葉山 遼"),
)  # fmt: skip
