"""Messages of the index of runs and of its watcher: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "link_outside": (
        "{path} is a link that leads out of the folders of the event: it is not followed",
        "{path} はイベントのフォルダの外を指すリンクなので、たどりません",
    ),
    "folder_missing": (
        "{path} does not exist yet",
        "{path} はまだありません",
    ),
    "folder_unreadable": (
        "{path} can not be read: {what}",
        "{path} を読めません: {what}",
    ),
    "too_many_folders": (
        "below {path} only the first {count} folders were searched for projects",
        "{path} 以下では、最初の {count} 個のフォルダだけをプロジェクトとして調べました",
    ),
    "broken": (
        "the files of this run can not be read",
        "この実行のファイルを読めません",
    ),
    "runs_unreadable": (
        "{count} runs of {path} can not be read by the user of this page",
        "{path} の実行のうち {count} 件は、このページのユーザーには読めません",
    ),
    "event_broken": (
        "the event's file can not be read now, what it said before is used: {what}",
        "イベントのファイルを今は読めないため、前の内容を使っています: {what}",
    ),
    "look_failed": (
        "looking at the runs failed, it is tried again: {what}",
        "実行の確認に失敗したため、もう一度試します: {what}",
    ),
    "worker_lost": (
        "diagnosing {run} took too long or failed, so no cause is shown for it",
        "{run} の診断に時間がかかりすぎたか失敗したため、原因は表示されません",
    ),
}
