"""Messages of `hackathon notify`, and the texts that go to a chat: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # to the chat
    "run_ended": ("✓ run {run} has ended", "✓ 実行 {run} が終わりました"),
    "run_failed": ("✗ run {run} failed: {state}", "✗ 実行 {run} が失敗しました: {state}"),
    "run_failed_part": (
        "✗ run {run} failed ({state}): [{part}] {text}",
        "✗ 実行 {run} が失敗しました ({state}): [{part}] {text}",
    ),
    "of_rank": ("rank {rank}", "ランク {rank}"),
    "asked": (
        "? {name} asks for help: {title} (`hackathon ask take {post}`)",
        "? {name} から質問: {title} (`hackathon ask take {post}`)",
    ),
    "about_run": ("run: {run}", "実行: {run}"),
    "solved": (
        "✓ {title}: solved, says {name} (`hackathon board show {post}`)",
        "✓ {title}: {name} が解決済みにしました (`hackathon board show {post}`)",
    ),
    "many": ("{count} things at once:", "まとめて {count} 件:"),
    "more": ("… and {count} more", "… ほか {count} 件"),
    "test_text": ("hackathon: notifications reach this channel", "hackathon: このチャンネルに通知が届きます"),
    # the command
    "prompt": ("Address of the incoming webhook (it is not shown)", "受信 Webhook の URL(入力は表示されません)"),
    "set": ("notifications go to {host}", "通知先: {host}"),
    "is_on": ("on: {host} (address in {path})", "オン: {host}(URL は {path})"),
    "is_off": ("off; `hackathon notify set` turns it on", "オフ。`hackathon notify set` でオンにできます"),
    "off": ("notifications are off", "通知はオフです"),
    "off_hint": (
        "`hackathon notify set` reads the address of a webhook; --dry-run shows what would be sent",
        "`hackathon notify set` で Webhook の URL を設定してください。--dry-run は送る内容を表示します",
    ),
    "bad_address": ("this is not the address of a webhook", "Webhook の URL ではありません"),
    "bad_address_hint": (
        "it begins with https:// (or http://) and has no spaces",
        "https://(または http://)で始まり、空白を含まないものです",
    ),
    "open_to_others": (
        "others can read the webhook's address in {path}, or the file is not yours",
        "{path} の Webhook の URL が他人に読めるか、自分のファイルではありません",
    ),
    "open_to_others_hint": (
        "chmod 600 {path}; if others have seen it, make a new webhook",
        "chmod 600 {path} としてください。見られたおそれがあれば Webhook を作り直してください",
    ),
    "unreadable": ("{path} can not be read: {what}", "{path} を読めません: {what}"),
    "not_written": ("{path} can not be written: {what}", "{path} に書き込めません: {what}"),
    "not_written_hint": (
        "set XDG_CONFIG_HOME to a folder of your own",
        "XDG_CONFIG_HOME に自分が書き込めるフォルダを設定してください",
    ),
    "dead": ("{host} knows no such webhook ({what})", "{host} にその Webhook はありません({what})"),
    "dead_hint": (
        "set its new address: `hackathon notify set`",
        "`hackathon notify set` で URL を設定し直してください",
    ),
    "not_taken": ("the message was not taken: {what}", "送信できませんでした: {what}"),
    "taken": ("sent", "送信しました"),
    "paused": ("the server asked to wait", "サーバーから待つよう指示されています"),
    "passed": ("sent: {sent}, waiting: {waiting}", "送信: {sent} 件、待ち: {waiting} 件"),
    "refused": ("refused by the server: {count}", "サーバーが受け付けなかったもの: {count} 件"),
    "waits": ("the rest waits: {what}", "残りは後で送ります: {what}"),
}
