"""Messages of the page of surveys that still collect: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Surveys", "アンケート"),
    "lead": (
        "How many have answered. What they said is shown after the survey has been closed.",
        "回答状況です。回答の内容は、締め切り後に表示されます。",
    ),
    "survey": ("Survey", "アンケート名"),
    "answers": ("Answers", "回答数"),
    "rate": ("Response rate", "回答率"),
    "of": ("{count} of {invited}", "{invited} 人中 {count} 人"),
    "for_participants": ("participants", "参加者向け"),
    "for_tutors": ("tutors", "チューター向け"),
    "state_draft": ("not open yet", "未開始"),
    "state_open": ("open", "回答受付中"),
    "state_closed": ("closed", "締め切り済み"),
    "none": ("This event has no survey yet.", "このイベントにはまだアンケートがありません。"),
    "closed": (
        "The surveys of this event are not readable for you: their folder belongs to another account.",
        "このイベントのアンケートのフォルダは別のアカウントのもので、読めません。",
    ),
    "unreadable": (
        "These surveys belong to another account: {names}",
        "ほかのアカウントのアンケートのため表示できません: {names}",
    ),
}
