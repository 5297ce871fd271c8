"""Messages about Python environments: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "no_python": ("Python {python!r} was not found", "Python {python!r} が見つかりません"),
    "no_python_hint": ("--python takes a command or a path", "--python にはコマンド名かパスを指定します"),
    "bad_python": ("cannot run Python {python}: {what}", "Python {python} を実行できません: {what}"),
    "no_requirements": ("{file} does not exist", "{file} がありません"),
    "no_requirements_hint": (
        "list the required packages there, one package==version per line",
        "必要なパッケージを 1 行に 1 つ、package==version の形で書いてください",
    ),
    "option": (
        "the recipe lists {package!r} as a package, but it is an option of the installer",
        "レシピがパッケージとして {package!r} を挙げていますが、これはインストーラのオプションです",
    ),
    "option_hint": (
        "put options into the requirements file",
        "オプションは requirements.txt に書いてください",
    ),
    "steered": (
        "{file}, line {line}: {what!r} says where code comes from, and the file is not yours",
        "{file} の {line} 行目: {what!r} はコードの入手元を変えます。このファイルはあなたのものではありません",
    ),
    "steered_recipe": (
        "{file}: {what} in `install` steers what is built, and the file is not yours",
        "{file}: `install` の {what} は作成内容を変えます。このファイルはあなたのものではありません",
    ),
    "steered_recipe_hint": (
        "read the file; if you trust it, copy the folder (`cp -r`) and build from the copy",
        "内容を確認し、信頼できる場合はフォルダをコピー（`cp -r`）して、コピーから作成してください",
    ),
    "steered_hint": (
        "read the file; if you trust it, copy the folder (`cp -r`) and build from the copy",
        "内容を確認し、信頼できる場合はフォルダをコピー（`cp -r`）して、コピーから作成してください",
    ),
    "no_lock": (
        "{file} does not exist: no hashes are recorded for this Python and machine",
        "{file} がありません（この Python とマシン用のハッシュは記録されていません）",
    ),
    "no_lock_hint": (
        "Choose another Python with --python, or build without --locked.",
        "--python で別の Python を指定するか、--locked なしで作成してください。",
    ),
    "not_locked": (
        "no hashes are recorded for {packages}, which is compiled here",
        "{packages} はここでコンパイルするため、ハッシュの記録がありません",
    ),
    "not_locked_hint": ("Build without --locked.", "--locked なしで作成してください。"),
    "unreadable": ("{file} cannot be read: {what}", "{file} を読めません: {what}"),
    "not_visible": (
        "compute nodes of {cluster} cannot see {path}; they see {seen}",
        "{cluster} の計算ノードから {path} は見えません（見えるのは {seen}）",
    ),
    "not_visible_hint": (
        "work below one of these, or set HACKATHON_ENVS to a folder there",
        "その下で作業するか、HACKATHON_ENVS をその下のフォルダにしてください",
    ),
    "python_not_visible": (
        "compute nodes of {cluster} cannot see this Python ({python}); they see {seen}",
        "{cluster} の計算ノードからこの Python（{python}）は見えません（見えるのは {seen}）",
    ),
    "python_not_visible_hint": (
        "choose another one with --python, for example /usr/bin/python3 or the Python of a module",
        "--python で別の Python（/usr/bin/python3 やモジュールのもの）を指定してください",
    ),
    "busy": (
        "{path} is being built on {host} (process {processes})",
        "{path} は {host} で作成中です（プロセス {processes}）",
    ),
    "busy_hint": (
        "wait for it; if that process no longer runs, delete {marker}",
        "終わるまで待ってください。もう動いていなければ {marker} を削除してください",
    ),
    "not_written": ("{path} cannot be written: {what}", "{path} に書き込めません: {what}"),
    "failed": (
        "this command failed with exit code {code}:\n  {line}\n{tail}",
        "次のコマンドが終了コード {code} で失敗しました:\n  {line}\n{tail}",
    ),
    "failed_hint": ("see its full output in {log}", "すべての出力は {log} にあります"),
    "offline_nodes": (
        "compute nodes of {cluster} have no Internet access, so nothing can be installed there",
        "{cluster} の計算ノードはインターネットに出られないため、そこではインストールできません",
    ),
    "offline_nodes_hint": (
        "omit --on compute to build on this machine; if nodes do have Internet access, set `internet_on_nodes: true` in "
        "the profile",
        "--on compute を外してこのマシンで作ってください。ノードから外部に出られるなら、プロファイルに `internet_on_nodes: true` を書きます",
    ),
    "command_project": (
        "{name} uses its own command: its folder needs a requirements.txt",
        "{name} は独自コマンドのプロジェクトです。フォルダに requirements.txt が必要です",
    ),
    "there": ("already exists: {path}", "既にあります: {path}"),
    "built": ("built: {path} ({count} packages; lock: {lock})", "作成: {path}（{count} パッケージ、ロック: {lock}）"),
    "none": ("no environments in {folder}", "{folder} に環境はありません"),
    "unknown": ("there is no environment {name!r} in {folder}", "{folder} に環境 {name!r} はありません"),
    "unknown_hint": (
        "`hackathon env list` lists environments; `hackathon env create RECIPE` builds one",
        "一覧は `hackathon env list`、作成は `hackathon env create レシピ`",
    ),
    "variant": ("variant", "種類"),
    "packages": ("packages", "パッケージ数"),
    "built_at": ("built", "作成日時"),
    "folder": ("folder", "フォルダ"),
    "made_by": ("built by", "作成コマンド"),
}
