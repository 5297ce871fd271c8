"""What `--help` shows of the commands that make pages; a part of `help`."""

PAGES: dict[str, tuple[str, str]] = {
    "dashboard_short": ("Show tutors all runs of the event, live in a browser.", "全チームの実行をブラウザに表示"),
    "dashboard_help": (
        "Show all runs of an event, live in a browser: who needs help, all teams, each run with its logs, scaling "
        "results. FOLDER: an event, or folders with runs; without one the event that holds this folder, else this "
        "folder. It only reads. Others on this machine can not look in: it listens on a socket that only you can "
        "open, and prints the ssh command for your own computer.\n\n\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard /work/event --team Aurora     a participant's view\n"
        "  hackathon dashboard --port 8765                   a port with a key, where ssh can not forward sockets",
        "イベントの全実行をブラウザにライブ表示します。助けが必要な実行、全チーム、各実行のログ、スケーリング結果を"
        "見られます。FOLDER はイベントのフォルダ、または runs のあるフォルダです(省くと、今のフォルダを含むイベント、"
        "なければ今のフォルダ)。読むだけで、何も書き換えません。自分だけが開けるソケットで待ち受けるため、"
        "同じマシンの他の利用者からは見えません。手元のコンピュータで使う ssh コマンドを表示します。\n\n\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard /work/event --team Aurora     参加者用の表示\n"
        "  hackathon dashboard --port 8765                   ssh でソケットを転送できないとき(鍵つきのポート)",
    ),
    "top_short": ("Show who needs help, in the terminal.", "助けが必要な実行を端末に表示"),
    "top_help": (
        "Show who needs help, in the terminal: requests, failures with their cause, runs that wait too long, stand still "
        "or leave GPUs idle; then what goes well. FOLDER: an event, or folders with runs; without one the event that "
        "holds this folder, else this folder's project. It only reads, and stays fresh until Ctrl-C; into a pipe it "
        "prints once.\n\n\b\n"
        "  hackathon top\n"
        "  hackathon top /work/event --team Aurora\n"
        "  hackathon top --once --json",
        "助けが必要な実行を端末に表示します。質問、失敗とその原因、長く待っている実行、進まない実行、GPU が遊んでいる実行、"
        "そして順調な実行の順です。FOLDER はイベントのフォルダ、または runs のあるフォルダです(省くと、今のフォルダを含む"
        "イベント、なければ今のプロジェクト)。読むだけで、Ctrl-C まで更新を続けます。パイプには一度だけ出力します。\n\n\b\n"
        "  hackathon top\n"
        "  hackathon top /work/event --team Aurora\n"
        "  hackathon top --once --json",
    ),
    "option_once": ("Print it once.", "一度だけ表示する"),
    "option_interval": ("Seconds between two looks.", "更新の間隔(秒)"),
    "option_socket": (
        "The Unix socket's path, in a folder that only you can enter.",
        "Unix ソケットのパス(自分だけが入れるフォルダの中)",
    ),
    "option_port": (
        "A port on the loopback address, with a key, instead of a socket; 0: a free one.",
        "ソケットの代わりに、鍵つきのポートをループバックアドレスで開く(0: 空いているポート)",
    ),
    "option_bind": (
        "Another address than 127.0.0.1 for the port; what is sent is not encrypted.",
        "ポートを 127.0.0.1 以外のアドレスで開く(通信は暗号化されません)",
    ),
    "option_only_team": ("Only this team's runs.", "このチームの実行だけ"),
    "option_page_title": ("The name at the head of the pages.", "ページの見出しの名前"),
}
