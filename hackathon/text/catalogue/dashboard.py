"""Messages of the live dashboard: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # what the command says
    "open": (
        "The dashboard of {title} is open. On your own computer run",
        "{title} のダッシュボードを開きました。手元のコンピュータで次を実行し、",
    ),
    "then": ("and open in its browser", "ブラウザで次を開いてください"),
    "direct": (
        "The dashboard of {title} is open. Open in a browser",
        "{title} のダッシュボードを開きました。ブラウザで次を開いてください",
    ),
    "token_file": (
        "The address holds the key: keep it to yourself. It is also in {path}.",
        "このアドレスには鍵が含まれます。他人に見せないでください。鍵は {path} にもあります。",
    ),
    "not_local": (
        "{address} can be reached from other machines, and what goes over the network is not encrypted",
        "{address} は他のマシンからも接続でき、通信は暗号化されません",
    ),
    "until": ("Ctrl-C ends it.", "Ctrl-C で終了します。"),
    "ended": ("The dashboard is closed.", "ダッシュボードを終了しました。"),
    # problems
    "no_web": (
        "the dashboard needs packages that are not installed: {what}",
        "ダッシュボードに必要なパッケージがありません: {what}",
    ),
    "no_web_hint": ("pip install starlette uvicorn", "pip install starlette uvicorn を実行してください"),
    "two_events": (
        "{first} and {second} are two events: a dashboard shows one",
        "{first} と {second} は別々のイベントです。ダッシュボードは 1 つのイベントを表示します",
    ),
    "two_doors": (
        "a dashboard listens on a socket or on a port, not on both",
        "ソケットとポートは同時に指定できません",
    ),
    "no_team": ("there is no team {team} in this event", "このイベントに {team} というチームはありません"),
    "no_team_hint": ("its teams: {teams}", "チーム: {teams}"),
    "team_without_event": (
        "--team needs an event: there is no hackathon.yaml here",
        "--team にはイベントが必要ですが、hackathon.yaml が見つかりません",
    ),
    "running": (
        "a dashboard is running at {path} already",
        "{path} ではすでにダッシュボードが動いています",
    ),
    "running_hint": (
        "open that one: ssh -L 8000:{path} …, or give another one its own place with --socket",
        "そちらを使うか(ssh -L 8000:{path} …)、別の場所を --socket で指定してください",
    ),
    "gone": (
        "{path} was removed, so that nobody can reach the dashboard any more",
        "{path} が削除されたため、ダッシュボードに接続できなくなりました",
    ),
    "gone_hint": (
        "some machines remove that folder when you log out: give the dashboard another place with --socket",
        "ログアウト時にこのフォルダを消すマシンがあります。--socket で別の場所を指定してください",
    ),
    "path_long": (
        "the path {path} has {length} bytes; a Unix socket's has {limit} at most",
        "{path} は {length} バイトです。Unix ソケットのパスは {limit} バイトまでです",
    ),
    "path_long_hint": ("choose a shorter one with --socket", "--socket でもっと短いパスを指定してください"),
    "no_folder": ("{path} can not be made: {reason}", "{path} を作れません: {reason}"),
    "folder_foreign": (
        "{path} is no folder of your own: what is put there others could replace",
        "{path} はあなたのフォルダではないため、他人に置き換えられるおそれがあります",
    ),
    "folder_foreign_hint": (
        "choose a folder of your own with --socket, and tell the administrators who owns {path}",
        "--socket で自分のフォルダを指定し、{path} の所有者を管理者に知らせてください",
    ),
    "folder_open": (
        "{path} is open to others (mode {mode})",
        "{path} は他の利用者に開かれています(モード {mode})",
    ),
    "folder_open_hint": (
        "chmod 700 {path}, or choose a folder that only you can enter",
        "chmod 700 {path} とするか、自分だけが入れるフォルダを指定してください",
    ),
    "no_socket": ("no socket can be made at {path}: {reason}", "{path} にソケットを作れません: {reason}"),
    "no_socket_there": (
        "{path} exists and is no socket of yours: it is left alone",
        "{path} はすでにあり、あなたのソケットではないため、そのままにします",
    ),
    "no_port": ("can not listen on {where}: {reason}", "{where} で待ち受けできません: {reason}"),
    "no_port_hint": (
        "leave --port out for a socket, or take --port 0 for a free port",
        "--port を省いてソケットを使うか、--port 0 で空いているポートを使ってください",
    ),
    # pages of trouble
    "page_404": ("There is no such page", "ページが見つかりません"),
    "page_404_lead": (
        "The run may have been removed, or the address is incomplete.",
        "実行が削除されたか、アドレスが不完全です。",
    ),
    "page_500": ("This page could not be made", "ページを作れませんでした"),
    "page_500_lead": (
        "The other pages go on. The terminal of the dashboard tells what went wrong.",
        "ほかのページは使えます。原因はダッシュボードを動かしている端末に表示されています。",
    ),
    "page_504": ("This page takes too long", "ページの作成に時間がかかっています"),
    "page_504_lead": (
        "A file system may be slow now. Try again in a moment.",
        "ファイルシステムが遅くなっているようです。少し待ってから開き直してください。",
    ),
    "to_now": ("To the runs that need help", "助けが必要な実行へ"),
    # what live.js shows
    "lost": (
        "Connection lost. This page is as of the last moment that the dashboard could be reached.",
        "接続が切れました。表示は最後に接続できた時点のものです。",
    ),
    "refused": (
        "The dashboard does not let this page in any more. It was started anew: open the address that it printed then.",
        "このページからは接続できなくなりました。ダッシュボードが再起動されています。新しく表示されたアドレスを開いてください。",
    ),
    "stale": (
        "This page cannot be updated at the moment: what it shows is not the newest state.",
        "現在このページを更新できません。表示は最新の状態ではありません。",
    ),
}
