"""Messages about Python environments: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "no_python": ("there is no Python {python!r} here", "Python {python!r} が見つかりません"),
    "no_python_hint": ("--python takes a command or a path", "--python にはコマンド名かパスを指定します"),
    "bad_python": ("Python {python} does not run: {what}", "Python {python} を実行できません: {what}"),
    "no_requirements": ("there is no {file}", "{file} がありません"),
    "no_requirements_hint": (
        "write down there what the program needs, one package==version a line",
        "必要なパッケージを 1 行に 1 つ、package==version の形で書いてください",
    ),
    "unreadable": ("{file} can not be read: {what}", "{file} を読めません: {what}"),
    "not_visible": (
        "compute nodes of {cluster} would not see {path}; they see {seen}",
        "{cluster} の計算ノードから {path} は見えません(見えるのは {seen})",
    ),
    "not_visible_hint": (
        "work below one of those, or set HACKATHON_ENVS to a folder there",
        "その下で作業するか、HACKATHON_ENVS をその下のフォルダにしてください",
    ),
    "python_not_visible": (
        "compute nodes of {cluster} would not see this Python ({python}); they see {seen}",
        "{cluster} の計算ノードからこの Python({python})は見えません(見えるのは {seen})",
    ),
    "python_not_visible_hint": (
        "take another one with --python, e.g. /usr/bin/python3 or one of a module",
        "--python で別の Python(/usr/bin/python3 やモジュールのもの)を指定してください",
    ),
    "busy": (
        "{path} is being built on {host} (process {processes})",
        "{path} は {host} で作成中です(プロセス {processes})",
    ),
    "busy_hint": (
        "wait for it; if nothing runs there any more, delete {marker}",
        "終わるまで待ってください。もう動いていなければ {marker} を削除してください",
    ),
    "not_written": ("{path} can not be written: {what}", "{path} に書き込めません: {what}"),
    "failed": (
        "this command ended with {code}:\n  {line}\n{tail}",
        "次のコマンドがコード {code} で終わりました:\n  {line}\n{tail}",
    ),
    "failed_hint": ("everything that it printed is in {log}", "すべての出力は {log} にあります"),
    "offline_nodes": (
        "compute nodes of {cluster} do not reach the Internet, so nothing can be installed there",
        "{cluster} の計算ノードはインターネットに出られないため、そこではインストールできません",
    ),
    "offline_nodes_hint": (
        "leave --on compute out: this machine builds it; if nodes do reach the Internet, `internet_on_nodes: true` in the profile says so",
        "--on compute を外してこのマシンで作ってください。ノードから外部に出られるなら、プロファイルに `internet_on_nodes: true` を書きます",
    ),
    "command_project": (
        "{name} names its own command: its folder needs a requirements.txt",
        "{name} は独自コマンドのプロジェクトです。フォルダに requirements.txt が必要です",
    ),
    "there": ("is there already: {path}", "既にあります: {path}"),
    "built": ("built: {path} ({count} packages; lock: {lock})", "作成: {path}({count} パッケージ、ロック: {lock})"),
    "none": ("no environments in {folder}", "{folder} に環境はありません"),
    "unknown": ("there is no environment {name!r} in {folder}", "{folder} に環境 {name!r} はありません"),
    "unknown_hint": (
        "`hackathon env list` shows what is there; `hackathon env create RECIPE` builds one",
        "一覧は `hackathon env list`、作成は `hackathon env create レシピ`",
    ),
    "variant": ("variant", "種類"),
    "packages": ("packages", "パッケージ数"),
    "built_at": ("built", "作成日時"),
    "folder": ("folder", "フォルダ"),
    "made_by": ("built by", "作成コマンド"),
}
