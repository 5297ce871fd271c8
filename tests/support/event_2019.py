"""The event of January 2019 as a hackathon.yaml, for tests: its schedule and counts; teams and users are invented."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DAYS = ("2019-01-24", "2019-01-25")
COUNTS = {
    "length": (1, 1, 7, 2, 0), "lecture": (0, 0, 9, 2, 0), "handouts": (0, 2, 6, 3, 0), "satisfaction": (1, 1, 0, 3, 6),
}  # fmt: skip
"""The survey's counts of the levels 1…5; n = 11."""
MEANS = {"length": 2.9, "lecture": 3.2, "handouts": 3.1, "satisfaction": 4.1}
TEAMS: dict[str, tuple[tuple[str, str], ...]] = {
    "Aurora": (("akari", "master"), ("ayumu", "master"), ("aoi", "undergraduate")),
    "Borealis": (("bunta", "doctoral"), ("benika", "master")),
    "ひので": (("hinata", "doctoral"), ("haruto", "doctoral")),
    "Cumulus": (("chika", "master"), ("daichi", "doctoral")),
    "四つ葉": (("yotsuba", "staff"),),
    "Nimbus": (("natsu", "master"),),
}
"""Team → (account, kind) of its members: 6 teams, 11 people."""
TUTORS: dict[str, tuple[str, ...]] = {
    "tomo": ("Chainer", "ChainerMN", "NCCL"),
    "tamaki": ("TensorFlow", "Horovod"),
    "tsubasa": ("NVIDIA", "NCCL", "Nsight"),
}
"""Account → what to ask about."""
_SCHEDULE = (
    (0, "09:30", "10:00", "Reception", "受付"),
    (0, "10:00", "10:30", "Introduction to Reedbush-H, log-in", "Reedbush-H の紹介、ログイン"),
    (0, "10:30", "11:00", "Distributed training basics", "分散学習の基礎"),
    (0, "11:00", "11:20", "ChainerMN", "ChainerMN"),
    (0, "11:20", "11:40", "Distributed training with TensorFlow", "TensorFlow による分散学習"),
    (0, None, None, "Break", "休憩"),
    (0, "13:00", "13:45", "Participants and teams introduce themselves", "参加者・チームの自己紹介"),
    (0, "13:45", "17:15", "Hands-on (free breaks)", "ハンズオン（適宜休憩）"),
    (0, "17:15", None, "End", "終了"),
    (1, "10:00", "16:00", "Hands-on (free breaks)", "ハンズオン（適宜休憩）"),
    (1, "16:00", "17:15", "Results presented and shared", "成果発表・共有"),
    (1, "17:15", None, "Questionnaire, end", "アンケート、終了"),
)


def values_2019() -> dict[str, Any]:
    """Return the event's hackathon.yaml as plain values, to be changed by a test before it is written."""
    titles = ("en", "ja")
    tutors = list(TUTORS)
    return {
        "title": {"en": "Distributed deep-learning hackathon", "ja": "ディープラーニング分散学習ハッカソン"},
        "occasion": {
            "en": "The 111th trial-account parallel-programming course.",
            "ja": "第111回 お試しアカウント付き並列プログラミング講習会。",
        },
        "dates": list(DAYS),
        "place": {
            "en": "Information Technology Center, the University of Tokyo",
            "ja": "東京大学情報基盤センター",
        },
        "hosts": [
            {"en": "Information Technology Center, the University of Tokyo", "ja": "東京大学情報基盤センター"},
            "Preferred Networks",
            "TensorFlow User Group",
            "NVIDIA",
            {"en": "PC Cluster Consortium", "ja": "PCクラスタコンソーシアム"},
        ],
        "clusters": {"reedbush-h": {"queue": "h-debug", "budget": {"node_hours": 20}}},
        "chosen": 8,
        "teams": [
            {
                "name": name,
                "members": [{"user": user, "kind": kind, "name": user.title()} for user, kind in members],
                "tutors": [tutors[number % len(tutors)]],
                "project": f"{name}: digits",
            }
            for number, (name, members) in enumerate(TEAMS.items())
        ],
        "tutors": [
            {"user": user, "name": user.title(), "knows": list(knows)} for user, knows in TUTORS.items()
        ],
        "shared": "shared",
        "schedule": [
            {
                "title": words[0] if words[0] == words[1] else dict(zip(titles, words, strict=True)),
                "day": DAYS[day],
                **({"start": start} if start else {}),
                **({"end": end} if end else {}),
            }
            for day, start, end, *words in _SCHEDULE
        ],
    }  # fmt: skip


def event_2019(folder: Path, users: Mapping[str, str] | None = None, **changes: Any) -> Path:
    """Write the event's hackathon.yaml in a folder and return the file.

    `users` gives real accounts for invented ones (members and tutors): {"akari": "aka12345"}. `changes` replace whole
    keys of the file: clusters={"local": {}}; None takes a key out.
    """
    values = {**values_2019(), **changes}
    members = [member for team in values["teams"] or [] for member in team.get("members", [])]
    for person in [*members, *(values["tutors"] or [])]:
        person["user"] = (users or {}).get(person["user"], person["user"])
    for team in values["teams"] or []:
        team["tutors"] = [(users or {}).get(user, user) for user in team.get("tutors", [])]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hackathon.yaml"
    kept = {key: value for key, value in values.items() if value is not None}
    path.write_text(yaml.safe_dump(kept, allow_unicode=True, sort_keys=False, width=110), encoding="utf-8")
    path.chmod(0o644)
    return path
