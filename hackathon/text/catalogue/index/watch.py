"""Messages of the index of runs and of its watcher: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "link_outside": (
        "{path} is a link that leads out of the event's folders; it is not followed",
        "{path} はイベントのフォルダの外を指すリンクなので、たどりません",
    ),
    "link_to_team": (
        "{path} is a link to a folder of team {team}; it is not followed, because runs count where they are stored",
        "{path} はチーム {team} のフォルダへのリンクなので、たどりません。実行は、実際に置かれている場所で数えます",
    ),
    "link_to_run": (
        "{path} is a link to another run; it is not followed, because runs count where they are stored",
        "{path} は別の実行へのリンクなので、たどりません。実行は、実際に置かれている場所で数えます",
    ),
    "folder_missing": (
        "{path} does not exist yet",
        "{path} はまだありません",
    ),
    "folder_unreadable": (
        "{path} cannot be read: {what}",
        "{path} を読めません: {what}",
    ),
    "too_many_folders": (
        "only the first {count} folders below {path} were searched for projects",
        "{path} 以下では、最初の {count} 個のフォルダだけをプロジェクトとして調べました",
    ),
    "broken": (
        "cannot read the files of this run",
        "この実行のファイルを読めません",
    ),
    "runs_unreadable": (
        "the user of this page cannot read {count} {count:run|runs} of {path}",
        "{path} の実行のうち {count} 件は、このページのユーザーには読めません",
    ),
    "event_broken": (
        "cannot read the event's file; using its previous content: {what}",
        "イベントのファイルを今は読めないため、前の内容を使っています: {what}",
    ),
    "look_failed": (
        "reading the runs failed; trying again: {what}",
        "実行を読み取れませんでした。再試行します: {what}",
    ),
    "worker_lost": (
        "the diagnosis of {run} in {project} took too long or failed, so no cause is shown",
        "{project} の {run} の診断に時間がかかりすぎたか失敗したため、原因は表示されません",
    ),
    "slow_rules": (
        "failure rules took too long on a run of {project} and were left out: {rules}",
        "{project} の実行で、次の診断ルールは時間がかかりすぎるため使いませんでした: {rules}",
    ),
}
