"""Messages about what a program wrote in its run."""

MESSAGES = {
    "title": (
        "written by the program of {run}: {count} {count:file|files}, {size}",
        "{run} のプログラムが書き込んだファイル: {count} 個、{size}",
    ),
    "title_at_least": (
        "written by the program of {run}: at least {count} {count:file|files}, {size}",
        "{run} のプログラムが書き込んだファイル: 少なくとも {count} 個、{size}",
    ),
    "folder": (
        "{path} ({count} {count:file|files}, the largest: {largest} {size})",
        "{path}（{count} 個のファイル、最大: {largest} {size}）",
    ),
    "more": ("… and {count} more {count:file|files}, {size}", "… ほか {count} 個、{size}"),
    "how": (
        "`hackathon fetch {run!q}` copies them to the current folder",
        "`hackathon fetch {run!q}` で現在のフォルダにコピーします",
    ),
    "in_first": (
        "the checkpoints of all segments are in the first one: {run}",
        "全区間のチェックポイントは最初の実行 {run} にあります",
    ),
    "in_place": (
        "the program ran in {folder}: files with relative paths are there, and they are not recorded",
        "プログラムは {folder} で実行されました。相対パスのファイルはそこにあり、記録されていません",
    ),
    "none": (
        "the program of {run} wrote no files in its run",
        "{run} のプログラムは実行フォルダに何も書き込んでいません",
    ),
    "no_match": (
        "no file that the program of {run} wrote fits {pattern}; `hackathon status {run!q}` lists them",
        "{run} のプログラムが書き込んだファイルに {pattern} に合うものはありません。一覧は `hackathon status {run!q}` です",
    ),
    "still_open": (
        "run {run} has not ended: a file that is being written may be incomplete",
        "実行 {run} は終了していません。書き込み中のファイルは不完全な可能性があります",
    ),
    "there": (
        "{count} {count:file exists|files exist} already; nothing was copied:\n{files}",
        "{count} 個のファイルがすでにあります。何もコピーしていません:\n{files}",
    ),
    "there_hint": (
        "choose another folder with `--to DIR`, or overwrite with `--force`",
        "`--to DIR` で別のフォルダを選ぶか、`--force` で上書きしてください",
    ),
    "is_folder": ("a folder has this name", "同じ名前のフォルダがあります"),
    "not_written": ("{file} cannot be written: {what}", "{file} に書き込めません: {what}"),
    "not_written_hint": (
        "choose another folder with `--to DIR`, or free some space",
        "`--to DIR` で別のフォルダを選ぶか、空きを作ってください",
    ),
    "hidden": (
        "its name begins with a dot, and the run belongs to somebody else; `--to DIR` copies it",
        "名前がドットで始まり、実行の所有者が別の人です。`--to DIR` を付けるとコピーします",
    ),
    "not_copied": ("not copied: {path}: {why}", "コピーしませんでした: {path}: {why}"),
    "copied": (
        "{count} {count:file|files} ({size}) copied to {folder}",
        "{count} 個のファイル（{size}）を {folder} にコピーしました",
    ),
    "not_yours": (
        "run {run} belongs to somebody else: only its owner deletes files in it",
        "実行 {run} の所有者は別の人です。ファイルを削除できるのは所有者だけです",
    ),
    "other_project": (
        "run {run} is not one of {folder}",
        "実行 {run} は {folder} にありません",
    ),
    "other_project_hint": (
        "change to the folder of its project first",
        "先にその実行のプロジェクトのフォルダへ移動してください",
    ),
    "not_over": (
        "run {run} has not ended, or a later segment may still need its checkpoints",
        "実行 {run} は終了していないか、後の区間がチェックポイントを使う可能性があります",
    ),
    "not_over_hint": (
        "`hackathon status {run!q}` shows its state; cancel it first if it is no longer needed",
        "状態は `hackathon status {run!q}` で確認できます。不要なら先に取り消してください",
    ),
    "kept": (
        "not deleted: what the programs of {count} {count:run|runs} wrote ({size}). `hackathon clean --outputs RUN` deletes it:",
        "{count} 件の実行のプログラムが書き込んだファイル（{size}）は削除しません。削除するには `hackathon clean --outputs RUN`:",
    ),
    "kept_run": ("{run}: {count} {count:file|files}, {size}", "{run}: {count} 個のファイル、{size}"),
    "kept_more": ("… and {count} more {count:run|runs}", "… ほか {count} 件の実行"),
    "nothing_to_delete": (
        "the programs of these runs wrote no files in their runs",
        "これらの実行のプログラムは実行フォルダに何も書き込んでいません",
    ),
    # why something can be deleted
    "reason_partial": ("incomplete directory", "作りかけのフォルダ"),
    "reason_failed": ("unsuccessful run", "成功しなかった実行"),
    "reason_never_submitted": ("run never submitted", "投入されなかった実行"),
    "reason_output": ("written by the program", "プログラムが書き込んだファイル"),
    "reason_changed_source": (
        "source file that the program changed (the run can then no longer be repeated)",
        "プログラムが変更したソースファイル（削除すると再実行できません）",
    ),
    "reason_source": ("source (the run can then no longer be repeated)", "ソース（削除すると再実行できません）"),
    "reason_cache": ("cache", "キャッシュ"),
    # page of a run
    "page_title": ("Files that the program wrote", "プログラムが書き込んだファイル"),
    "page_lead": ("{count} {count:file|files}, {size}.", "{count} 個のファイル、{size}。"),
    "page_not_all": ("There are more: not all of them were looked at.", "一部だけを調べたため、ほかにもあります。"),
    "page_file": ("File or folder", "ファイルまたはフォルダ"),
    "page_size": ("Size", "大きさ"),
}
