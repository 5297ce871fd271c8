"""An invented event as it stands on its second morning: teams with studies, single runs, failures, a problem board."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from hackathon.board.board import open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.post import finding_of, post
from hackathon.runs.directory import RunDirectory
from support.samples.runs import Sample, write_run, write_study
from support.survey.closed import COMMENTS, write_survey

NAMES = ("aurora", "ブリザード", "cirrus", "drizzle", "etesian", "foehn", "gale", "harmattan", "iris", "jetstream")
PROJECTS = (
    "Segmentation of satellite images", "気象レーダーの短時間予測", "Protein contact maps", "Speech recognition",
    "Super-resolution of MRI", "Flood forecasts", "Crystal properties", "Traffic counting", "OCR of old maps",
    "Bird songs",
)  # fmt: skip
TITLE = {"en": "Deep-learning hackathon 2026", "ja": "深層学習ハッカソン 2026"}
FAILURES = (
    ("logs/rank-1.log", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total)\n"),
    ("logs/rank-0.log", "ModuleNotFoundError: No module named 'horovod'\n"),
    ("logs/rank-1.log", "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
                        "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE\n"),
)  # fmt: skip


DAYS = ("2026-03-01", "2026-03-02")
SCHEDULE = (
    (0, "09:30", "10:00", {"en": "Reception", "ja": "受付"}),
    (0, "10:00", "10:45", {"en": "Introduction to the machine, log-in", "ja": "計算機の紹介、ログイン"}),
    (0, None, None, {"en": "Break", "ja": "休憩"}),
    (0, "13:00", "17:15", {"en": "Hands-on", "ja": "ハンズオン"}),
    (0, "17:15", None, {"en": "End", "ja": "終了"}),
    (1, "10:00", "16:00", {"en": "Hands-on", "ja": "ハンズオン"}),
    (1, "16:00", "17:15", {"en": "Results presented and shared", "ja": "成果発表・共有"}),
    (1, "22:00", "26:00", {"en": "Night run", "ja": "夜間実行"}),
)


def write_event(
    folder: Path, teams: int = 8, *, names: Sequence[str] = NAMES, hostile: str = "", start: float | None = None
) -> Path:
    """Write an event with `hackathon.yaml` into `folder` and return the folder; `hostile` goes into every free text.

    Each team has a weak scaling study over 1…16 processes with two repeats and a second one, a failed run, and a run
    that goes on; every third team waits for help. Times count back from `start` (default: now).
    """
    begin = (time.time() if start is None else start) - 6 * 3600
    names = [names[i] if i < len(names) else f"team-{i + 1:03d}" for i in range(teams)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(_event(names, hostile), allow_unicode=True), "utf-8")
    make_place(folder / "shared", "sticky")
    board = open_board(folder / "shared", folder)
    for number, name in enumerate(names):
        project = folder / name / "train"
        speed = 0.97 - 0.035 * (number % 6)
        write_study(project, _points(900.0 + 130 * number, speed - 0.12), team=name, start=begin + 60 * number)
        later = begin + 3 * 3600 + 60 * number
        write_study(project, _points(1000.0 + 140 * number, speed), title="tuned", team=name, start=later)
        broken = write_run(
            project / "runs", Sample(4, None, "FAILED", "exit code 1", exit_code=1, note=hostile), 1,
            name="single", team=name, start=begin + 5 * 3600 + 120 * number,
        )  # fmt: skip
        file, text = FAILURES[number % len(FAILURES)]
        (broken / file).write_text(text + hostile)
        going = write_run(
            project / "runs", Sample(8, 2000.0, note=hostile or "learning rate × 8"), 2, name="single", team=name,
            start=begin + 5 * 3600 + 120 * number,
        )  # fmt: skip
        _unend(going)
        if number % 3 == 0:
            text = f"Our run of {name} ends at once\n{hostile or 'It worked yesterday.'}"
            post(board, text, kind="ask", run=broken.name, folder=project, finding=finding_of(RunDirectory(broken)))
    solved = post(board, hostile or "NCCL finds no InfiniBand\nThe log says NET/Socket.", part="nccl")
    board = open_board(folder / "shared", folder)
    found = next(each for each in board.posts if each.id in str(solved))
    reply(board, found, "answer", hostile or "export NCCL_IB_HCA=mlx5_0")
    reply(open_board(folder / "shared", folder), found, "solve", hostile or "that was it")
    said: dict[str, Any] = {"title": hostile, "introduction": hostile} if hostile else {}
    write_survey(folder, comments=(hostile, *COMMENTS[1:]) if hostile else COMMENTS, values=said)
    return folder


def _points(speed: float, efficiency: float) -> list[Sample]:
    """Return two runs each on 1…16 processes; the efficiency falls with each doubling."""
    return [
        Sample(count, round(speed * count * efficiency**doubling * (1 + 0.01 * repeat), 1))
        for doubling, count in enumerate((1, 2, 4, 8, 16))
        for repeat in range(2)
    ]


def _event(names: Sequence[str], hostile: str) -> dict[str, Any]:
    teams = [
        {
            "name": name, "group": f"gz{number:02d}", "project": hostile or PROJECTS[number % len(PROJECTS)],
            "members": [{"user": f"u{number:02d}{letter}", "kind": "master" if letter != "c" else "staff",
                         "name": f"Member {number}{letter}"} for letter in "abc"],
            "tutors": ["tutor1"],
        }
        for number, name in enumerate(names)
    ]  # fmt: skip
    return {
        "title": hostile or TITLE, "dates": list(DAYS), "place": hostile or "Kashiwa",
        "occasion": hostile or {"en": "Held for the third time.", "ja": "第3回である。"},
        "hosts": [hostile or {"en": "The computing centre", "ja": "計算センター"}, "A company"],
        "clusters": {"reedbush-h": {"queue": "h-debug", "budget": {"node_hours": 200, "gpu_hours": 400}}},
        "chosen": len(names) + 1,
        "teams": teams, "tutors": [{"user": "tutor1", "name": "Tutor One", "knows": ["NCCL"]}], "shared": "shared",
        "publish": {"board": True},
        "schedule": [
            {"title": hostile or title, "day": DAYS[day], **({"start": start} if start else {}),
             **({"end": end} if end else {})} for day, start, end, title in SCHEDULE
        ],
        "lessons": [hostile or {"en": "Check early that everything is ready.", "ja": "準備の確認を早めに行う。"}],
    }  # fmt: skip


def _unend(run: Path) -> None:
    """Turn an ended run into one that goes on."""
    (run / "final.json").unlink()
    events = run / "events" / "job.jsonl"
    lines = [line for line in events.read_text().splitlines() if json.loads(line)["event"] != "ended"]
    events.write_text("".join(f"{line}\n" for line in lines))
    metrics = run / "metrics" / "rank-0.jsonl"
    metrics.write_text("".join(f"{line}\n" for line in metrics.read_text().splitlines() if "final" not in line))
    os.utime(metrics)
