"""What `--help` shows of the commands that organise an event: event, ready, slides; a part of `help`."""

EVENT: dict[str, tuple[str, str]] = {
    "event_short": ("Set up an event, check it, count what it used, report.", "イベントの準備・確認・使用量・報告書"),
    "event_help": (
        "An event in one file, hackathon.yaml: teams, tutors, schedule, clusters with budgets.",
        "イベントを1つのファイル hackathon.yaml で扱います。チーム、チューター、日程、クラスタと割り当てを書きます。",
    ),
}
