"""Durations in the reader's language."""

import pytest

from hackathon.text.messages import speaking
from hackathon.text.units import format_age, format_duration


@pytest.mark.parametrize(
    ("seconds", "english", "japanese"),
    [
        (0, "0 s", "0 秒"),
        (99, "99 s", "99 秒"),
        (240, "4 min", "4 分"),
        (12600, "3.5 h", "3.5 時間"),
        (181440, "2.1 d", "2.1 日"),
    ],
)
def test_ages(seconds: float, english: str, japanese: str) -> None:
    with speaking("en"):
        assert format_age(seconds) == english
    with speaking("ja"):
        assert format_age(seconds) == japanese


@pytest.mark.parametrize(
    ("seconds", "english", "japanese"),
    [
        (40, "40 s", "40 秒"),
        (60, "1 min", "1 分"),
        (520, "8 min 40 s", "8 分 40 秒"),
        (3600, "1 h", "1 時間"),
        (7530, "2 h 5 min", "2 時間 5 分"),
        (86400, "1 d", "1 日"),
        (273600, "3 d 4 h", "3 日 4 時間"),
    ],
)
def test_durations(seconds: float, english: str, japanese: str) -> None:
    with speaking("en"):
        assert format_duration(seconds) == english
    with speaking("ja"):
        assert format_duration(seconds) == japanese
