"""Messages of `hackathon data`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "none": ("no data is declared", "データの宣言がありません"),
    "none_hint": (
        "add to `data:` in project.yaml: - {{name: …, url: https://…, sha256: …}}",
        "project.yaml の `data:` に - {{name: …, url: https://…, sha256: …}} と書いてください",
    ),
    "fetched": ("{name}: fetched, {size}", "{name}: 取得しました（{size}）"),
    "there": ("{name}: already there", "{name}: 既にあります"),
    "good": ("{name}: OK, {size}", "{name}: 正常（{size}）"),
    "no_sum": (
        "{name} has no checksum; the checksum of the downloaded file is sha256: {found}",
        "{name} にはチェックサムの指定がありません。取得したもの: sha256: {found}",
    ),
    "progress": ("{name}: {done} of {total}", "{name}: {total} のうち {done}"),
    "is_missing": (
        "{name}: not fetched, or project.yaml has changed since",
        "{name}: 未取得か、取得後に project.yaml が変わりました",
    ),
    "file_missing": ("{name}: a file is missing", "{name}: ファイルがありません"),
    "file_changed": ("{name}: a file differs from what was fetched", "{name}: 取得した内容と異なります"),
    "bad": ("{count} {count:problem|problems} found in the data", "データに {count} 件の問題があります"),
    "bad_hint": ("hackathon data fetch --again", "hackathon data fetch --again"),
    "refused": ("{url}: {what}", "{url}: {what}"),
    "refused_hint": ("check the URL and correct `url`", "URL を確かめて `url` を直してください"),
    "cut": (
        "{url}: {what}; {size} received so far are kept",
        "{url}: {what}。受信済みの {size} は残してあります",
    ),
    "cut_hint": (
        "run the same command again to resume; behind a proxy, set https_proxy",
        "同じコマンドで続きから取得します。プロキシがある場合は https_proxy を設定してください",
    ),
    "no_room": ("{folder} has {free} free, but {size} are needed", "{folder} の空きは {free} で、{size} が必要です"),
    "no_room_hint": ("`hackathon clean` shows what can be deleted", "`hackathon clean` で削除できるものを確認できます"),
    "not_written": ("cannot write to {folder}: {what}", "{folder} に書き込めません: {what}"),
    "checksum": (
        "{name}: the checksum of {url} is {found}, not {wanted}",
        "{name}: {url} の内容のチェックサムが異なります: {found}（指定は {wanted}）",
    ),
    "checksum_hint": (
        "the file has changed, or this is an error page of a proxy; the download was deleted",
        "ファイルが更新されたか、プロキシのエラーページかもしれません。取得したものは削除しました",
    ),
    "hostile": (
        "{archive} would write outside its folder: {what}",
        "{archive} はフォルダの外に書き込もうとします: {what}",
    ),
    "hostile_hint": ("do not trust this archive", "このアーカイブは信用しないでください"),
    "no_archive": ("{archive} is not a {kind} file: {what}", "{archive} は {kind} ファイルではありません: {what}"),
    "no_archive_hint": ("check `unpack`", "`unpack` の指定を確かめてください"),
    "old_python": (
        "{what} is a link: this Python cannot unpack links of tar files safely; it needs 3.11.4 or newer",
        "{what} はリンクです。この Python では tar のリンクを安全に展開できません（3.11.4 以降が必要です）",
    ),
    "old_python_hint": (
        "pack the files themselves in place of links, or use a newer Python",
        "リンクではなくファイルそのものを入れて固めるか、新しい Python を使ってください",
    ),
    "stage_plan": (
        "{name}: {size}, copied by each job to the disks of its nodes; the program finds it below $HK_DATA",
        "{name}: {size}。各ジョブが各ノードのディスクにコピーし、プログラムからは $HK_DATA の下に見えます",
    ),
    "stage_shared": (
        "{name}: {size}, read from the shared file system below $HK_DATA (`stage: true` would copy it)",
        "{name}: {size}。共有ファイルシステムの $HK_DATA から読みます（`stage: true` でコピー）",
    ),
    "staged": ("{name}: copied to {folder}", "{name}: {folder} にコピーしました"),
}
