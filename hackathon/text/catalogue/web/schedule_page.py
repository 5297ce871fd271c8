"""Messages of the schedule's page: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Schedule", "日程"),
    "none": ("This event has no schedule.", "このイベントには日程がありません。"),
    "now": ("Now", "現在"),
    "next": ("Next", "次"),
    "nothing": ("Nothing is on", "予定はありません"),
    "wait": ("in {minutes} min", "あと {minutes} 分"),
    "time": ("Time", "時刻"),
    "item": ("Item", "内容"),
    "no_time": ("no time", "時刻なし"),
    "state_on": ("now", "進行中"),
    "state_next": ("next", "次"),
}
