"""Messages of `hackathon notify`, and the texts that go to a chat: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # to the chat
    "run_ended": ("✓ run {run} has finished", "✓ 実行 {run} が終わりました"),
    "run_failed": ("✗ run {run} failed: {state}", "✗ 実行 {run} が失敗しました: {state}"),
    "run_failed_part": (
        "✗ run {run} failed ({state}): [{part}] {text}",
        "✗ 実行 {run} が失敗しました（{state}）: [{part}] {text}",
    ),
    "of_rank": ("rank {rank}", "ランク {rank}"),
    "asked": (
        "? {name} asks for help: {title} (`hackathon ask take {post!q}`)",
        "? {name} から質問: {title}（`hackathon ask take {post!q}`）",
    ),
    "about_run": ("run: {run}", "実行: {run}"),
    "solved": (
        "✓ {title}: marked as solved by {name} (`hackathon board show {post!q}`)",
        "✓ {title}: {name} が解決済みにしました（`hackathon board show {post!q}`）",
    ),
    "many": ("{count} events at once:", "まとめて {count} 件:"),
    "more": ("… and {count} more", "… ほか {count} 件"),
    "test_text": ("hackathon: notifications work in this channel", "hackathon: このチャンネルに通知が届きます"),
    # the command
    "prompt": ("URL of the incoming webhook (input is hidden)", "受信 Webhook の URL（入力は表示されません）"),
    "set": ("notifications are sent to {host}", "通知先: {host}"),
    "is_on": ("on: {host} (URL in {path})", "オン: {host}（URL は {path}）"),
    "is_off": ("off; `hackathon notify set` turns it on", "オフ。`hackathon notify set` でオンにできます"),
    "off": ("notifications are off", "通知はオフです"),
    "off_hint": (
        "set a webhook URL with `hackathon notify set`; --dry-run shows what would be sent",
        "`hackathon notify set` で Webhook の URL を設定してください。--dry-run は送る内容を表示します",
    ),
    "bad_address": ("not a webhook URL", "Webhook の URL ではありません"),
    "bad_address_hint": (
        "it must start with https:// (or http://) and contain no spaces",
        "https://（または http://）で始まり、空白を含まない URL を指定してください",
    ),
    "open_to_others": (
        "others can read the webhook URL in {path}, or the file is not yours",
        "{path} の Webhook の URL が他人に読めるか、自分のファイルではありません",
    ),
    "open_to_others_hint": (
        "chmod 600 {path!q}; if others may have seen it, create a new webhook",
        "chmod 600 {path!q} としてください。見られたおそれがあれば Webhook を作り直してください",
    ),
    "unreadable": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "not_written": ("{path} cannot be written: {what}", "{path} に書き込めません: {what}"),
    "not_written_hint": (
        "set XDG_CONFIG_HOME to a folder of your own",
        "XDG_CONFIG_HOME に自分が書き込めるフォルダを設定してください",
    ),
    "dead": ("{host} does not know this webhook ({what})", "{host} にその Webhook はありません（{what}）"),
    "dead_hint": (
        "set a new URL: `hackathon notify set`",
        "`hackathon notify set` で URL を設定し直してください",
    ),
    "not_taken": ("the message was not accepted: {what}", "送信できませんでした: {what}"),
    "taken": ("sent", "送信しました"),
    "paused": ("the server asked to wait", "サーバーから待つよう指示されています"),
    "watching": (
        "watching {projects} {projects:project|projects} of {teams} {teams:team|teams} (teams in the event: {all})",
        "{teams} チームの {projects} プロジェクトを見ています（イベントのチーム: {all}）",
    ),
    "passed": ("sent: {sent}, waiting: {waiting}", "送信: {sent} 件、待ち: {waiting} 件"),
    "refused": ("refused by the server: {count}", "サーバーが受け付けなかったもの: {count} 件"),
    "waits": ("the rest is sent later: {what}", "残りは後で送ります: {what}"),
}
