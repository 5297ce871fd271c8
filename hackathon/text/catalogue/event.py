"""Messages about an event, its schedule, its people and its directories: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # kinds of participants
    "kind_undergraduate": ("undergraduate student", "学部学生"),
    "kind_master": ("master's student", "修士課程"),
    "kind_doctoral": ("doctoral student", "博士課程"),
    "kind_staff": ("university staff", "大学教職員"),
    "kind_company": ("company", "企業"),
    "kind_none": ("not told", "不明"),
    # schedule
    "no_time": ("(no time)", "（時間未定）"),
    "date": ("{date} ({weekday})", "{date}（{weekday}）"),
    "weekday_0": ("Mon", "月"),
    "weekday_1": ("Tue", "火"),
    "weekday_2": ("Wed", "水"),
    "weekday_3": ("Thu", "木"),
    "weekday_4": ("Fri", "金"),
    "weekday_5": ("Sat", "土"),
    "weekday_6": ("Sun", "日"),
}
