"""Crates of runs: reading them, and doing them again."""

MESSAGES = {
    "address": ("{address} is an address, not a file", "{address} はファイルではなくアドレスです"),
    "address_hint": (
        "download it first: `curl -LO {address}`, then name the file",
        "先にダウンロードし(`curl -LO {address}`)、そのファイルを指定してください",
    ),
    "unreadable": ("{path} can not be read: {what}", "{path} を読めません: {what}"),
    "no_zip": ("{path} is no zip file that can be read: {what}", "{path} は読める zip ファイルではありません: {what}"),
    "no_zip_hint": ("was it downloaded whole?", "ダウンロードが途中で切れていないか確認してください"),
    "no_crate": (
        "{path} is no RO-Crate: it has no ro-crate-metadata.json",
        "{path} は RO-Crate ではありません(ro-crate-metadata.json がありません)",
    ),
    "bad_metadata": (
        "ro-crate-metadata.json in {path} does not describe a crate: there is no root entity `./`",
        "{path} の ro-crate-metadata.json がクレートを記述していません(ルート `./` がありません)",
    ),
    "foreign": (
        "{path} is a crate of another program ({profile}): it has no hackathon.json, so nothing says how to run it here",
        "{path} は別のプログラムのクレートです({profile})。hackathon.json がないため、ここでの実行方法がわかりません",
    ),
    "other_version": (
        "hackathon.json in {path} has version {found}; this toolkit reads version 1",
        "{path} の hackathon.json はバージョン {found} です。このツールが読めるのはバージョン 1 です",
    ),
    "broken_file": ("{file} in {path} is no JSON object", "{path} の {file} が JSON オブジェクトではありません"),
    "wrong_field": (
        "request.json in {path}: `{field}` has a value that no run has",
        "{path} の request.json: `{field}` の値が不正です",
    ),
    "missing": ("files are missing in {path}:\n{files}", "{path} に足りないファイルがあります:\n{files}"),
    "too_many": (
        "{path} has {count} files, more than {limit}",
        "{path} のファイル数 {count} は上限 {limit} を超えています",
    ),
    "too_big": ("{path} holds more than {limit}", "{path} の中身が {limit} を超えています"),
    "outside": (
        "{path} names a file that would lie outside of it: {file}",
        "{path} に、外側を指すファイル名があります: {file}",
    ),
    "link": ("{path} holds a link where none may be: {file}", "{path} に許されないリンクがあります: {file}"),
    "twice": ("{path} holds two files of one name: {file}", "{path} に同名のファイルが 2 つあります: {file}"),
    "no_source": (
        "the crate of run {run} was published without its program:\n{files}",
        "実行 {run} のクレートはプログラムなしで公開されています:\n{files}",
    ),
    "no_source_hint": (
        "ask the team for it; `publish.source: true` in hackathon.yaml publishes programs too",
        "チームに問い合わせてください。hackathon.yaml の `publish.source: true` でプログラムも公開されます",
    ),
    # rerun elsewhere
    "in_place": (
        "run {run} took its folder as it was and kept no copy of the program, so it can only be rerun on its own cluster",
        "実行 {run} は元のフォルダをそのまま使い、プログラムの写しがありません。再実行は同じクラスタでのみ可能です",
    ),
    "no_parameters": (
        "nothing says what the parameters of run {run} mean, so {names} can not be changed",
        "実行 {run} のパラメータの定義が見つからないため、{names} を変更できません",
    ),
    "no_parameters_hint": (
        "without -p it runs with the recorded ones",
        "-p を付けなければ、記録された値で実行されます",
    ),
    "why_given": ("as you asked", "指定どおり"),
    "why_from": ("from {origin}", "{origin} から"),
    "why_cluster": ("of cluster {cluster}", "クラスタ {cluster} の設定"),
    "why_asked_cluster": ("where it runs now", "今回の実行先"),
    "why_shape": ("{cluster} has {count} processes a node", "{cluster} は 1 ノード {count} プロセス"),
    "why_threads": ("a node of {cluster} has {cores} cores", "{cluster} の 1 ノードは {cores} コア"),
    "why_walltime": ("the queue gives {limit} at most", "キューの上限は {limit}"),
    "why_launcher": ("{cluster} has no {launcher}", "{cluster} に {launcher} はありません"),
    "why_default": ("as the program declares it", "プログラムの既定値"),
    "why_other_machine": ("belongs to {cluster}", "{cluster} 固有の設定"),
    "same": ("nothing changes", "変更はありません"),
    "changes": ("changes for cluster {cluster}:", "クラスタ {cluster} 向けの変更:"),
    "remarks": ("before you compare:", "比較の前に:"),
    "remark_masked": (
        "names were masked in files of the program, which may matter: {files}",
        "プログラム内の名前が伏せられています(動作に影響する可能性): {files}",
    ),
    "remark_altered": (
        "the job wrote into files of its program: {files}",
        "ジョブがプログラムのファイルを書き換えていました: {files}",
    ),
    "remark_edited": (
        "the crate was edited after it was published: {files}",
        "公開後にクレートが編集されています: {files}",
    ),
    "remark_toolkit": (
        "it was run with toolkit {then}, this is {now}",
        "当時のツールは {then}、今は {now} です",
    ),
    "remark_software": ("it ran with {software}", "当時のソフトウェア: {software}"),
    "remark_kept": (
        "the job runs this line of the program's project; see that it fits here: {line}",
        "ジョブはプロジェクトのこの行も実行します。ここで使えるか確認してください: {line}",
    ),
}
