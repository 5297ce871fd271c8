"""What `--help` shows of the commands that make pages; a part of `help`."""

PAGES: dict[str, tuple[str, str]] = {
    "dashboard_short": ("Show tutors all runs of the event, live in a browser.", "全チームの実行をブラウザに表示"),
    "dashboard_help": (
        "Show all runs of an event, live in a browser: who needs help, all teams, each run with its logs, scaling "
        "results. FOLDER: an event, or folders with runs; without one the event that holds this folder, else this "
        "folder. It only reads. Others on this machine can not look in: it listens on a socket that only you can "
        "open, and prints the ssh command for your own computer.\n\n\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard --team Aurora                 a participant's view\n"
        "  hackathon dashboard --port 8765                   a port with a key, where ssh can not forward sockets",
        "イベントの全実行をブラウザにライブ表示します。助けが必要な実行、全チーム、各実行のログ、スケーリング結果を"
        "見られます。FOLDER はイベントのフォルダ、または runs のあるフォルダです(省くと、今のフォルダを含むイベント、"
        "なければ今のフォルダ)。読むだけで、何も書き換えません。自分だけが開けるソケットで待ち受けるため、"
        "同じマシンの他の利用者からは見えません。手元のコンピュータで使う ssh コマンドを表示します。\n\n\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard --team Aurora                 参加者用の表示\n"
        "  hackathon dashboard --port 8765                   ssh でソケットを転送できないとき(鍵つきのポート)",
    ),
    "top_short": ("Show who needs help, in the terminal.", "助けが必要な実行を端末に表示"),
    "top_help": (
        "Show who needs help, in the terminal: requests, failures with their cause, runs that wait too long, stand still "
        "or leave GPUs idle; then what goes well. FOLDER: an event, or folders with runs; without one the event that "
        "holds this folder, else this folder's project. It only reads, and stays fresh until Ctrl-C; into a pipe it "
        "prints once.\n\n\b\n"
        "  hackathon top\n"
        "  hackathon top --team Aurora\n"
        "  hackathon top --once --json",
        "助けが必要な実行を端末に表示します。質問、失敗とその原因、長く待っている実行、進まない実行、GPU が遊んでいる実行、"
        "そして順調な実行の順です。FOLDER はイベントのフォルダ、または runs のあるフォルダです(省くと、今のフォルダを含む"
        "イベント、なければ今のプロジェクト)。読むだけで、Ctrl-C まで更新を続けます。パイプには一度だけ出力します。\n\n\b\n"
        "  hackathon top\n"
        "  hackathon top --team Aurora\n"
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
    "publish_short": ("Write the event's site, or pages of studies.", "イベントのサイトや測定のページを書き出す"),
    "publish_help": (
        "Write the static site of the event that holds this folder: teams, studies, scaling results, runs, downloads. "
        "Outside an event, or with names: pages of this project's studies. The pages open from a file and ask no other "
        "host for anything. People, hosts, paths and secrets are taken out; hackathon.yaml says what may be shown. The "
        "old site stays until the new one is whole.\n\n\b\n"
        "  hackathon publish --check            what would go out, what was taken out\n"
        "  hackathon publish --to site\n"
        "  hackathon publish k3x9 --to pages    one study",
        "今のフォルダを含むイベントの静的サイト(チーム・測定・スケーリング結果・実行・データ)を書き出します。イベントの外や"
        "名前を指定したときは、このプロジェクトの測定のページです。ファイルとして開け、外部には一切アクセスしません。"
        "利用者名・ホスト名・パス・秘密情報は取り除かれ、公開してよいものは hackathon.yaml で決めます。"
        "新しいサイトが揃うまで、元のサイトはそのまま残ります。\n\n\b\n"
        "  hackathon publish --check            公開される内容と取り除かれるもの\n"
        "  hackathon publish --to site\n"
        "  hackathon publish k3x9 --to pages    測定を一つ",
    ),
    "option_to": ("Folder of the site.", "書き出し先フォルダ"),
    "option_check_site": (
        "Write nothing; show what would go out and what was taken out.",
        "書き出さずに、公開される内容と取り除かれるものを表示する",
    ),
    "option_title": ("Title of the pages.", "ページの題名"),
    "rerun_short": (
        "Run a recorded run or a crate again, also elsewhere.",
        "記録やクレートから(別のクラスタでも)再実行",
    ),
    "rerun_help": (
        "Submit the recorded script and source of a run again, and say first what differs from then. With --cluster, or "
        "from a crate (the zip file of a published run, or its folder), the request is fitted to the cluster: queue, "
        "group, nodes, starter, modules. Parameters and processes stay; -p and --processes change them.\n\n\b\n"
        "  hackathon rerun k3x9 --wait\n"
        "  hackathon rerun k3x9 --dry-run                   only say what differs\n"
        "  hackathon rerun k3x9 --cluster slurm --queue gpu\n"
        "  hackathon rerun ~/Downloads/run-k3x9.zip --cluster laptop --wait",
        "実行時のスクリプトとソースをもう一度投入します。先に、当時との違いを示します。--cluster を付けた場合や、クレート"
        "(公開された実行の zip ファイル、またはそのフォルダ)からの場合は、キュー・グループ・ノード数・起動方法・モジュールを"
        "実行先に合わせます。パラメータとプロセス数はそのままです(-p と --processes で変更可)。\n\n\b\n"
        "  hackathon rerun k3x9 --wait\n"
        "  hackathon rerun k3x9 --dry-run                   違いだけを表示\n"
        "  hackathon rerun k3x9 --cluster slurm --queue gpu\n"
        "  hackathon rerun ~/Downloads/run-k3x9.zip --cluster laptop --wait",
    ),
    "compare_short": ("Set a new result beside an old one.", "新旧の結果を比べる"),
    "compare_help": (
        "Set the result of NEW beside that of OLD and say whether it is the same within the noise of the repeats, faster, "
        "slower, or of another accuracy. Each is a run, a study or a crate; several with commas between are repeats. "
        "Exit code 0: the same or faster; 1: slower, another accuracy, failed or not known.\n\n\b\n"
        "  hackathon compare k3x9 7qpm\n"
        "  hackathon compare published.zip 7qpm\n"
        "  hackathon compare a1,a2,a3 b1,b2,b3 --json",
        "NEW の結果を OLD と並べ、ノイズの範囲で同じか、速いか、遅いか、精度が違うかを判定します。それぞれ実行・測定・クレートを"
        "指定でき、コンマ区切りは繰り返しとして扱います。終了コード 0: 同じか速い。1: 遅い・精度が違う・失敗・不明。\n\n\b\n"
        "  hackathon compare k3x9 7qpm\n"
        "  hackathon compare published.zip 7qpm\n"
        "  hackathon compare a1,a2,a3 b1,b2,b3 --json",
    ),
    "option_metric_compare": ("The metric to compare; default the old run's.", "比べる指標(既定は旧の実行のもの)"),
    "option_tolerance": (
        "How much single runs may differ and count as the same.",
        "1 回ずつの比較で同じとみなす差",
    ),
}
