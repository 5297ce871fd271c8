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
}
