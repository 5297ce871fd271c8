"""Messages of the forms of the dashboard: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # buttons and fields
    "take": ("Take this request", "対応する"),
    "answer": ("Send the answer", "回答を送る"),
    "close": ("Send and close", "回答して完了にする"),
    "solve": ("Mark as solved", "解決済みにする"),
    "words": ("Your answer", "回答"),
    "post": ("Post", "投稿する"),
    "post_words": ("New post; the first line is its title", "新しい投稿（1 行目が題名になります）"),
    "post_about": ("Post about this run", "この実行について投稿する"),
    "cancel": ("Cancel the run", "実行を取り消す"),
    "rerun": ("Run again", "再実行する"),
    "tell_cancel": ("Ask the team to cancel it", "チームに取り消しを依頼する"),
    "tell_rerun": ("Ask the team to run it again", "チームに再実行を依頼する"),
    "copy": ("Copy", "コピー"),
    "copy_link": ("Copy link", "リンクをコピー"),
    "copied": ("Copied", "コピーしました"),
    "of": ("{what}: {name}", "{what}: {name}"),
    "back": ("Back", "戻る"),
    # what is posted for a team
    "please_cancel": (
        "Please cancel the run {run}: hackathon cancel {run!q}",
        "実行 {run} を取り消してください: hackathon cancel {run!q}",
    ),
    "please_rerun": (
        "Please run {run} again: hackathon rerun {run!q}",
        "実行 {run} を再実行してください: hackathon rerun {run!q}",
    ),
    # questions
    "ask_cancel": ("Cancel this run?", "この実行を取り消しますか"),
    "ask_rerun": ("Run this again?", "この実行をもう一度投入しますか"),
    "ask_cancel_lead": (
        "Its job ends, also when it is running. Segments that follow it are cancelled, too.",
        "実行中であってもジョブを終了します。後に続く区間も取り消します。",
    ),
    "ask_rerun_lead": (
        "The recorded script and program are submitted again as a new run. It costs at most what this one could cost.",
        "記録されたスクリプトとプログラムを新しい実行として投入します。費用はこの実行の上限を超えません。",
    ),
    "about": (
        "{name} on {cluster}, {processes} {processes:process|processes}, walltime {walltime}",
        "{name}（{cluster}、{processes} プロセス、実行時間の上限 {walltime}）",
    ),
    "yes_cancel": ("Yes, cancel it", "取り消す"),
    "yes_rerun": ("Yes, run it again", "再実行する"),
    # what became of it
    "said_take": ("You have taken this request. The team sees it.", "対応中にしました。チームにも表示されます。"),
    "said_answer": ("Your answer was sent.", "回答を送りました。"),
    "said_solve": ("It is marked as solved.", "解決済みにしました。"),
    "said_post": ("Your post is on the board.", "掲示板に投稿しました。"),
    "said_tell": ("The team was asked on the board.", "掲示板でチームに依頼しました。"),
    "said_cancel": ("Cancellation was requested.", "取り消しを要求しました。"),
    "said_rerun": ("It was submitted again.", "再投入しました。"),
    "said_take_before": (
        "Somebody else had taken this request before you.",
        "この質問には、すでにほかの人が対応しています。",
    ),
    "said_solve_before": (
        "Somebody else had closed it before you. What you wrote was kept.",
        "すでにほかの人が完了にしていました。入力した内容は残しました。",
    ),
    # what went wrong
    "failed": ("This was not done", "実行できませんでした"),
    "your_words": ("What you wrote", "入力した内容"),
    "token": (
        "This page is too old, or it belongs to another dashboard. Load it again, then send the form.",
        "ページが古いか、別のダッシュボードのものです。再読み込みしてから送信してください。",
    ),
    "no_run": ("The run no longer exists.", "実行が見つかりません。"),
    "no_post": ("The post is not on the board.", "投稿が掲示板にありません。"),
    "broken": ("This form is incomplete.", "フォームの内容が不完全です。"),
    "large": ("The text is too long.", "入力が長すぎます。"),
    "not_own": ("{run} belongs to another account", "{run} は別のアカウントの実行です"),
    "not_own_hint": ("ask the team to do it", "チームに依頼してください"),
    "no_answer": (
        "the command about {run} did not finish in time; it is not known whether it worked",
        "{run} についてのコマンドが時間内に終わらず、結果は不明です",
    ),
    "command_failed": ("{reason}", "{reason}"),
}
