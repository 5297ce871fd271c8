"""Messages of `hackathon.schedulers.local`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # submission
    "directive": (
        "Line {line} of the job script: {word} is not valid.",
        "ジョブスクリプト {line} 行目: {word} を解釈できません。",
    ),
    "directive_hint": (
        "Local jobs support `#HK walltime=SECONDS`, `processes=N`, and `threads=N`, each once and greater than zero.",
        "ローカルジョブで使えるのは `#HK walltime=秒`、`processes=N`、`threads=N` です（各 1 回、1 以上）。",
    ),
    "no_walltime": (
        "The job script has no walltime.",
        "ジョブスクリプトに実行時間の上限がありません。",
    ),
    "no_walltime_hint": (
        "Add `#HK walltime=600` (seconds) to the comments at its top.",
        "先頭のコメントに `#HK walltime=600`（秒）と書いてください。",
    ),
    "no_script": (
        "The job script {path} cannot be read: {reason}",
        "ジョブスクリプト {path} を読めません: {reason}",
    ),
    "condition": (
        "A dependency is `ok` or `any`, not {condition}.",
        "依存の条件は `ok` か `any` です（{condition} は使えません）。",
    ),
    "part": (
        "The part of an allocation that a job shall have is not valid: {word}",
        "ジョブに割り当てる資源の指定を解釈できません: {word}",
    ),
    "slots": (
        "HACKATHON_LOCAL_SLOTS must be an integer greater than zero, not {value}.",
        "HACKATHON_LOCAL_SLOTS は 1 以上の整数にしてください（現在 {value}）。",
    ),
    "no_process": (
        "The process that supervises the job could not be started: {reason}",
        "ジョブの監視プロセスを起動できません: {reason}",
    ),
    # ids
    "not_an_id": (
        "{job_id} is not the id of a local job.",
        "{job_id} はローカルジョブの ID ではありません。",
    ),
    "unknown_job": (
        "You have no local job {job_id} on this machine.",
        "このマシンにあなたのローカルジョブ {job_id} はありません。",
    ),
    "other_host": (
        "Job {job_id} belongs to {host}; this is {here}.",
        "ジョブ {job_id} は {host} のものです（ここは {here}）。",
    ),
    "other_host_hint": ("Log in to {host} and try again there.", "{host} にログインして実行してください。"),
    # places
    "unusable": ("Cannot use {path}: {reason}", "{path} を使えません: {reason}"),
    "not_private": (
        "{path} is not private to you, so no job is started from it.",
        "{path} は自分専用ではないため、ジョブを起動しません。",
    ),
    "not_private_hint": (
        "It must be your own directory with mode 0700. Choose another one with HACKATHON_LOCAL_DIR.",
        "本人所有でモード 0700 のディレクトリが必要です。HACKATHON_LOCAL_DIR で別の場所を指定できます。",
    ),
    "slots_directory": (
        "{path} is not a directory that users can share (mode 1777).",
        "{path} は共有できるディレクトリ（モード 1777）ではありません。",
    ),
    "slots_directory_hint": (
        "Ask its owner, or choose another one with HACKATHON_LOCAL_SLOTS_DIR.",
        "所有者に連絡するか、HACKATHON_LOCAL_SLOTS_DIR で別の場所を指定してください。",
    ),
    "queue_note": ("{slots} slots on {host}", "{host}: {slots} スロット"),
    # why a job waits or ended
    "reason_slots": ("waiting for free slots", "スロットの空き待ち"),
    "reason_dependency": ("waiting for {other}", "{other} の終了待ち"),
    "reason_dependency_failed": ("{other} did not succeed", "{other} が成功しませんでした"),
    "reason_cancelled": ("cancelled", "取り消されました"),
    "reason_walltime": ("walltime reached", "実行時間の上限に達しました"),
    "reason_not_started": ("the script could not be started: {words}", "スクリプトを起動できません: {words}"),
    "reason_no_process": ("no process could be started", "プロセスを起動できませんでした"),
    "reason_supervisor_died": ("its supervisor on {host} died", "{host} の監視プロセスが消滅しました"),
    "reason_restarted": ("{host} was restarted", "{host} が再起動されました"),
}
