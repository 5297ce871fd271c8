"""What `--help` shows of the commands that collect and sum up answers; a part of `help`."""

SURVEY: dict[str, tuple[str, str]] = {
    "survey_short": ("Ask everybody, anonymously: form, answers, summary.", "匿名アンケート: フォーム・回答・集計"),
    "survey_help": (
        "Questionnaires of an event: make one, collect answers by form, file, terminal or CSV, sum them up.",
        "イベントのアンケートです。作成し、フォーム・ファイル・端末・CSV で回答を集め、集計します。",
    ),
}
