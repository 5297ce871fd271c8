"""Messages of the problem board's page: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Problem board", "掲示板"),
    "lead": (
        "Problems, what was found, and what solved them. Other teams may meet them too.",
        "発生した問題、分かったこと、解決方法です。ほかのチームにも役立ちます。",
    ),
    "none": ("This event has no problem board.", "このイベントには掲示板がありません。"),
    "make": (
        "The organisers create one with `hackathon board init FOLDER`, in a folder that all teams can reach, and add "
        "`shared: FOLDER` to hackathon.yaml.",
        "主催者が、全チームの使えるフォルダに `hackathon board init FOLDER` で作成し、hackathon.yaml に `shared: "
        "FOLDER` と書きます。",
    ),
    "empty": ("There are no posts yet.", "まだ投稿がありません。"),
    "trouble": ("Some files on the board were ignored", "掲示板の一部のファイルを無視しました"),
    "passed": (
        "{count} {count:file is not a valid post|files are not valid posts}: hackathon board list",
        "{count} 個のファイルは正しい投稿ではありません: hackathon board list",
    ),
    "group_open": ("Open", "未解決"),
    "group_answered": ("Answered", "回答あり"),
    "group_solved": ("Solved", "解決済み"),
    "state_open": ("open", "未対応"),
    "state_taken": ("taken", "対応中"),
    "state_answered": ("answered", "回答あり"),
    "state_solved": ("solved", "解決"),
    "kind_ask": ("Request for help", "質問"),
    "kind_post": ("Post", "投稿"),
    "no_title": ("untitled", "無題"),
    "run": ("Run", "実行"),
    "finding": ("Finding", "診断"),
    "evidence": ("Evidence", "根拠"),
    "advice": ("Advice", "対処"),
    "step_answer": ("{name} answered", "{name} さんの回答"),
    "step_take": ("{name} took the request", "{name} さんが対応"),
    "step_solve": ("Solved by {name}", "解決: {name} さん"),
    "anonymous_answer": ("Answer", "回答"),
    "anonymous_take": ("Taken by a tutor", "チューターが対応開始"),
    "anonymous_solve": ("Solved", "解決"),
    "older": (
        "{count} older posts: hackathon board search",
        "これより古い投稿 {count} 件: hackathon board search",
    ),
    "how": ("How to post", "投稿方法"),
}
