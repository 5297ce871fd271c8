"""Crates of runs: reading them, and doing them again."""

MESSAGES = {
    "address": ("{address} is a URL, not a file", "{address} はファイルではなく URL です"),
    "address_hint": (
        "download it first: `curl -LO {address!q}`, then give the file",
        "先にダウンロードし（`curl -LO {address!q}`）、そのファイルを指定してください",
    ),
    "unreadable": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "no_zip": ("{path} is not a readable zip file: {what}", "{path} は読める zip ファイルではありません: {what}"),
    "no_zip_hint": ("check that the download is complete", "ダウンロードが途中で切れていないか確認してください"),
    "no_crate": (
        "{path} is not an RO-Crate: it has no ro-crate-metadata.json",
        "{path} は RO-Crate ではありません（ro-crate-metadata.json がありません）",
    ),
    "bad_metadata": (
        "ro-crate-metadata.json in {path} does not describe an RO-Crate: the root entity `./` is missing",
        "{path} の ro-crate-metadata.json が RO-Crate を記述していません（ルート `./` がありません）",
    ),
    "foreign": (
        "{path} is an RO-Crate of another program ({profile}): it has no hackathon.json, so it is not known how to run "
        "it here",
        "{path} は別のプログラムの RO-Crate です（{profile}）。hackathon.json がないため、"
        "ここでの実行方法がわかりません",
    ),
    "other_version": (
        "hackathon.json in {path} has version {found}; this toolkit supports version 1",
        "{path} の hackathon.json はバージョン {found} です。このツールが読めるのはバージョン 1 です",
    ),
    "broken_file": ("{file} in {path} is not a JSON object", "{path} の {file} が JSON オブジェクトではありません"),
    "wrong_field": (
        "request.json in {path}: `{field}` has an invalid value",
        "{path} の request.json: `{field}` の値が不正です",
    ),
    "missing": ("files are missing in {path}:\n{files}", "{path} に足りないファイルがあります:\n{files}"),
    "too_many": (
        "{path} has {count} files, more than {limit}",
        "{path} のファイル数 {count} は上限 {limit} を超えています",
    ),
    "too_big": ("{path} contains more than {limit}", "{path} の中身が {limit} を超えています"),
    "outside": (
        "{path} names a file outside of it: {file}",
        "{path} に、外側を指すファイル名があります: {file}",
    ),
    "link": ("{path} contains a link that is not allowed: {file}", "{path} に許されないリンクがあります: {file}"),
    "repository": (
        "{path} contains a part of a git repository, whose settings could start programs: {file}",
        "{path} に git リポジトリの一部があります。その設定からプログラムが起動されるおそれがあります: {file}",
    ),
    "twice": ("{path} contains two files with the same name: {file}", "{path} に同名のファイルが 2 つあります: {file}"),
    "no_source": (
        "the RO-Crate of run {run} was published without its program:\n{files}",
        "実行 {run} の RO-Crate はプログラムなしで公開されています:\n{files}",
    ),
    "no_source_hint": (
        "ask the team for it; `publish.source: true` in hackathon.yaml publishes programs too",
        "チームに問い合わせてください。hackathon.yaml の `publish.source: true` でプログラムも公開されます",
    ),
    "refused_variable": (
        "the RO-Crate sets {name}={value}: this variable can change which code runs, so it is not taken from others",
        "RO-Crate が {name}={value} を設定しています。実行されるコードを変えうる変数のため、他人のものは使いません",
    ),
    "refused_variable_hint": (
        "if you do not need it, unpack the RO-Crate, delete {name} from `variables` in request.json, and give the folder",
        "不要なら、RO-Crate を展開して request.json の `variables` から {name} を消し、そのフォルダを指定してください",
    ),
    "refused_line": (
        "the RO-Crate sets {name} in an environment line: {line}\nThis variable can change which code runs, so it is not "
        "taken from others",
        "RO-Crate が環境設定の行で {name} を設定しています: {line}\n実行されるコードを変えうる変数のため、他人のものは使いません",
    ),
    "refused_line_hint": (
        "if you do not need it, unpack the RO-Crate, delete the line from `environment` in request.json, and give the folder",
        "不要なら、RO-Crate を展開して request.json の `environment` から行を消し、そのフォルダを指定してください",
    ),
    "to_run": (
        "from the RO-Crate, to be run as your account on {cluster} ({files} {files:file|files} of the program):",
        "RO-Crate の次の内容を、{cluster} であなたのアカウントとして実行します（プログラムのファイル {files} 個）:",
    ),
    "to_run_command": ("command", "コマンド"),
    "to_run_line": ("environment line", "環境設定の行"),
    "to_run_variable": ("variable (literal, nothing is expanded)", "変数（展開せず文字どおり）"),
    "ask": ("Run this program of somebody else?", "この他人のプログラムを実行しますか?"),
    "not_asked": (
        "a program of somebody else runs only after you confirmed it; nothing was submitted",
        "他人のプログラムは、確認してから実行します。何も投入していません",
    ),
    "not_asked_hint": (
        "read the lines above and `source/` in the RO-Crate, then add --yes",
        "上の内容と RO-Crate の `source/` を読み、--yes を付けて実行してください",
    ),
    "not_run": ("nothing was submitted", "何も投入していません"),
    # rerun elsewhere
    "in_place": (
        "run {run} used its folder directly and kept no copy of the program, so it can only be rerun on its own cluster",
        "実行 {run} は元のフォルダをそのまま使い、プログラムの写しがありません。再実行は同じクラスタでのみ可能です",
    ),
    "no_parameters": (
        "the definitions of the parameters of run {run} are not available, so {names} cannot be changed",
        "実行 {run} のパラメータの定義が見つからないため、{names} を変更できません",
    ),
    "no_parameters_hint": (
        "without -p, it runs with the recorded values",
        "-p を付けなければ、記録された値で実行されます",
    ),
    "why_given": ("as you asked", "指定どおり"),
    "why_from": ("from {origin}", "{origin} から"),
    "why_cluster": ("from cluster {cluster}", "クラスタ {cluster} の設定"),
    "why_asked_cluster": ("the target cluster", "今回の実行先"),
    "why_shape": ("{cluster} has {count} processes per node", "{cluster} は 1 ノード {count} プロセス"),
    "why_threads": ("a node of {cluster} has {cores} cores", "{cluster} の 1 ノードは {cores} コア"),
    "why_walltime": ("the queue allows at most {limit}", "キューの上限は {limit}"),
    "why_launcher": ("{cluster} has no {launcher}", "{cluster} に {launcher} はありません"),
    "why_package": ("from the installed packages", "インストール済みのパッケージによる"),
    "why_default": ("the program's default", "プログラムの既定値"),
    "why_other_machine": ("specific to {cluster}", "{cluster} 固有の設定"),
    "same": ("nothing changes", "変更はありません"),
    "changes": ("changes for cluster {cluster}:", "クラスタ {cluster} 向けの変更:"),
    "remarks": ("before you compare:", "比較の前に:"),
    "remark_outside": (
        "the run read these through links (`exclude:`), and they are not in the RO-Crate: {files}",
        "次のものはリンク経由で読まれており（`exclude:`）、RO-Crate（再実行用パッケージ）には含まれていません: {files}",
    ),
    "remark_masked": (
        "names were replaced in files of the program, which may affect it: {files}",
        "プログラム内の名前が伏せられています（動作に影響する可能性）: {files}",
    ),
    "remark_altered": (
        "the job changed files of its program: {files}",
        "ジョブがプログラムのファイルを書き換えていました: {files}",
    ),
    "remark_edited": (
        "the RO-Crate was edited after it was published: {files}",
        "公開後に RO-Crate が編集されています: {files}",
    ),
    "remark_toolkit": (
        "it ran with toolkit {then}; this is {now}",
        "当時のツールは {then}、今は {now} です",
    ),
    "remark_software": ("it ran with {software}", "当時のソフトウェア: {software}"),
    "remark_kept": (
        "the job also runs this line of the project; check that it works here: {line}",
        "ジョブはプロジェクトのこの行も実行します。ここで使えるか確認してください: {line}",
    ),
}
