"""Messages of the problem board's page: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Problem board", "掲示板"),
    "lead": (
        "What somebody met, what was found, and what helped. Others may meet it too.",
        "だれかが出会った問題と、分かったこと、解決方法です。ほかの人の役にも立ちます。",
    ),
    "none": ("This event has no problem board.", "このイベントには掲示板がありません。"),
    "make": (
        "The organisers make one with `hackathon board init FOLDER`, in a folder that all teams reach; "
        "`shared: FOLDER` in hackathon.yaml names it.",
        "全チームが使えるフォルダに `hackathon board init FOLDER` で作り、hackathon.yaml に `shared: FOLDER` と書きます(主催者)。",
    ),
    "empty": ("Nobody has written anything yet.", "まだ投稿がありません。"),
    "trouble": ("Not everything on the board could be used", "掲示板に使えないものがあります"),
    "passed": (
        "{count} files are not what they claim to be and were passed over: hackathon board list",
        "{count} 個のファイルは正しい投稿ではないため無視しました: hackathon board list",
    ),
    "group_open": ("Open", "未解決"),
    "group_answered": ("Answered", "回答あり"),
    "group_solved": ("Solved", "解決済み"),
    "state_open": ("open", "未対応"),
    "state_taken": ("somebody helps", "対応中"),
    "state_answered": ("answered", "回答あり"),
    "state_solved": ("solved", "解決"),
    "kind_ask": ("Request for help", "質問"),
    "kind_post": ("Post", "投稿"),
    "no_title": ("without a title", "無題"),
    "run": ("Run", "実行"),
    "finding": ("Found", "診断"),
    "evidence": ("Seen in", "根拠"),
    "advice": ("Advice", "対処"),
    "step_answer": ("{name} answered", "{name} さんの回答"),
    "step_take": ("{name} helps", "{name} さんが対応"),
    "step_solve": ("Solved, says {name}", "解決: {name} さん"),
    "anonymous_answer": ("Answer", "回答"),
    "anonymous_take": ("Somebody helps", "対応開始"),
    "anonymous_solve": ("Solved", "解決"),
    "older": (
        "{count} older ones: hackathon board search",
        "これより古い投稿 {count} 件: hackathon board search",
    ),
    "how": ("Write something", "書き込むには"),
}
