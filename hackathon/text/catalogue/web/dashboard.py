"""Messages of the live dashboard: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # what the command says
    "open": (
        "The dashboard of {title} is running. On your own computer, run",
        "{title} のダッシュボードを開きました。手元のコンピュータで次を実行し、",
    ),
    "then": ("and open in your browser", "ブラウザで次を開いてください"),
    "own_name": (
        "Browsers know that {name} is this computer; for one that does not, write localhost in its place.",
        "{name} はブラウザが自分のコンピュータとして扱う名前です。開けない場合は localhost に置き換えてください。",
    ),
    "direct": (
        "The dashboard of {title} is running. Open in your browser",
        "{title} のダッシュボードを開きました。ブラウザで次を開いてください",
    ),
    "token_file": (
        "The address contains the key: do not share it. It is also in {path}.",
        "このアドレスには鍵が含まれます。他人に見せないでください。鍵は {path} にもあります。",
    ),
    "not_local": (
        "{address} can be reached from other machines, and the connection is not encrypted",
        "{address} は他のマシンからも接続でき、通信は暗号化されません",
    ),
    "writes": (
        "The pages write on the board, and cancel or rerun your runs, in the name of {account} (--read-only turns this "
        "off).",
        "ページから、{account} の名前で掲示板への書き込みと自分の実行の取り消し・再実行ができます（--read-only "
        "で無効になります）。",
    ),
    "writes_one": (
        "The pages write on the board, and cancel or rerun your runs, in the name of {account}. The address works in "
        "one browser, once.",
        "ページから、{account} の名前で掲示板への書き込みと自分の実行の取り消し・再実行ができます。このアドレスは 1 "
        "つのブラウザで 1 回だけ使えます。",
    ),
    "until": ("Press Ctrl-C to stop.", "Ctrl-C で終了します。"),
    "ended": ("The dashboard has stopped.", "ダッシュボードを終了しました。"),
    # problems
    "no_web": (
        "the dashboard needs packages that are not installed: {what}",
        "ダッシュボードに必要なパッケージがありません: {what}",
    ),
    "no_web_hint": ("pip install starlette uvicorn", "pip install starlette uvicorn を実行してください"),
    "two_events": (
        "{first} and {second} are different events; a dashboard shows one event",
        "{first} と {second} は別々のイベントです。ダッシュボードは 1 つのイベントを表示します",
    ),
    "two_doors": (
        "--socket and --port cannot be combined",
        "--socket と --port は同時に指定できません",
    ),
    "write_not_local": (
        "--write cannot be combined with --bind {address}: the connection is not encrypted",
        "--write と --bind {address} は同時に指定できません。通信が暗号化されないためです",
    ),
    "write_not_local_hint": (
        "use a socket (omit --bind and --port), and open it with ssh -L",
        "ソケットを使い（--bind と --port を省く）、ssh -L で開いてください",
    ),
    "no_team": ("there is no team {team} in this event", "このイベントに {team} というチームはありません"),
    "no_team_hint": ("its teams: {teams}", "チーム: {teams}"),
    "team_without_event": (
        "--team needs an event: there is no hackathon.yaml here",
        "--team にはイベントが必要ですが、hackathon.yaml が見つかりません",
    ),
    "no_tutor": (
        "{tutor} is not the tutor of any team in this event",
        "このイベントに {tutor} が担当するチームはありません",
    ),
    "no_tutor_hint": ("tutors of teams: {tutors}", "担当のあるチューター: {tutors}"),
    "tutor_without_event": (
        "--tutor needs an event: there is no hackathon.yaml here",
        "--tutor にはイベントが必要ですが、hackathon.yaml が見つかりません",
    ),
    "running": (
        "a dashboard is already running at {path}",
        "{path} ではすでにダッシュボードが動いています",
    ),
    "running_hint": (
        "open that one (ssh -L 8000:{path!q} …), or choose another path with --socket",
        "それを開くか（ssh -L 8000:{path!q} …）、--socket で別のパスを指定してください",
    ),
    "gone": (
        "{path} was deleted, so the dashboard can no longer be reached",
        "{path} が削除されたため、ダッシュボードに接続できなくなりました",
    ),
    "gone_hint": (
        "some machines delete that folder when you log out: choose another path with --socket",
        "ログアウト時にこのフォルダを削除するマシンがあります。--socket で別のパスを指定してください",
    ),
    "path_long": (
        "the path {path} is {length} bytes long; the limit for a Unix socket is {limit}",
        "{path} は {length} バイトです。Unix ソケットのパスは {limit} バイトまでです",
    ),
    "path_long_hint": ("choose a shorter one with --socket", "--socket でもっと短いパスを指定してください"),
    "no_folder": ("cannot create {path}: {reason}", "{path} を作れません: {reason}"),
    "folder_foreign": (
        "{path} is not your own folder; other users could replace what is put there",
        "{path} は自分のフォルダではないため、中のファイルを他のユーザーに置き換えられるおそれがあります",
    ),
    "folder_foreign_hint": (
        "choose a folder of your own with --socket, and tell the administrators who owns {path}",
        "--socket で自分のフォルダを指定し、{path} の所有者を管理者に知らせてください",
    ),
    "folder_open": (
        "other users can access {path} (mode {mode})",
        "他のユーザーが {path} にアクセスできます（モード {mode}）",
    ),
    "folder_open_hint": (
        "chmod 700 {path!q}, or choose a folder that only you can enter",
        "chmod 700 {path!q} とするか、自分だけが入れるフォルダを指定してください",
    ),
    "no_socket": ("cannot create a socket at {path}: {reason}", "{path} にソケットを作れません: {reason}"),
    "no_socket_there": (
        "{path} exists and is not your socket; it was not changed",
        "{path} はすでにあり、あなたのソケットではないため、そのままにします",
    ),
    "no_port": ("cannot listen on {where}: {reason}", "{where} で待ち受けできません: {reason}"),
    "no_port_hint": (
        "omit --port to use a socket, or use --port 0 for a free port",
        "--port を省いてソケットを使うか、--port 0 で空いているポートを使ってください",
    ),
    # pages of trouble
    "page_404": ("Page not found", "ページが見つかりません"),
    "page_404_lead": (
        "The run may have been deleted, or the address is incomplete.",
        "実行が削除されたか、アドレスが不完全です。",
    ),
    "streams_429": (
        "Too many pages of the dashboard are open in this browser: close some, or reload this one to update it.",
        "このブラウザーでダッシュボードのページを開きすぎています。いくつか閉じるか、このページを再読み込みしてください。",
    ),
    "streams_503": (
        "Too many people follow this dashboard: pages are shown, but this one is not updated by itself.",
        "ダッシュボードを見ている人が多すぎます。ページは表示されますが、このページは自動では更新されません。",
    ),
    "page_500": ("This page could not be created", "ページを作れませんでした"),
    "page_500_lead": (
        "Other pages still work. The cause is shown in the terminal of the dashboard.",
        "ほかのページは使えます。原因はダッシュボードを動かしている端末に表示されています。",
    ),
    "page_504": ("This page takes too long", "ページの作成に時間がかかっています"),
    "page_504_lead": (
        "The file system may be slow. Try again in a moment.",
        "ファイルシステムが遅くなっているようです。少し待ってから開き直してください。",
    ),
    "to_now": ("Go to the runs that need attention", "要対応の実行へ"),
    # what live.js shows
    "lost": (
        "Connection lost. This page shows the last known state.",
        "接続が切れました。表示は最後に接続できた時点のものです。",
    ),
    "refused": (
        "This page can no longer connect because the dashboard was restarted: open the address that it printed.",
        "このページからは接続できなくなりました。ダッシュボードが再起動されています。新しく表示されたアドレスを開いてください。",
    ),
    "stale": (
        "This page cannot be updated at the moment, so it is out of date.",
        "現在このページを更新できません。表示は最新の状態ではありません。",
    ),
    "typed": (
        "What this was about has changed; what you wrote is kept here: send it or delete it.",
        "対象の内容が変わりました。入力した文章はここに残しています。送信するか、消してください。",
    ),
}
