"""What `--help` shows of the commands that make pages; a part of `help`."""

PAGES: dict[str, tuple[str, str]] = {
    "dashboard_short": ("Show all runs of the event live in a browser.", "全チームの実行をブラウザに表示"),
    "dashboard_help": (
        "Show all runs of an event live in a browser: what needs attention, all teams, each run with its logs, scaling "
        "results. FOLDER: an event, or folders with runs (default: the event that contains this folder, otherwise this "
        "folder). From its pages you can also answer requests, post, and cancel or rerun your own runs; --read-only turns "
        "this off. It listens on a socket that only you can open, so other users of this machine cannot "
        "connect, and prints the ssh command for your own computer.\n"
        "\n"
        "\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard --team Aurora                 a participant's view\n"
        "  hackathon dashboard --port 8765                   a port with a key, if ssh cannot forward sockets",
        "イベントの全実行をブラウザにライブ表示します。要対応の実行、全チーム、各実行のログ、"
        "スケーリング結果を見られます。FOLDER はイベントのフォルダ、または runs のあるフォルダです（省くと、"
        "今のフォルダを含むイベント、なければ今のフォルダ）。質問への回答、投稿、自分の実行の取り消しと再実行もできます（--read-only で無効）。"
        "自分だけが開けるソケットで待ち受けるため、同じマシンの他の利用者からは見えません。手元のコンピュータで使う ssh "
        "コマンドを表示します。\n"
        "\n"
        "\b\n"
        "  hackathon dashboard\n"
        "  hackathon dashboard --team Aurora                 参加者用の表示\n"
        "  hackathon dashboard --port 8765                   ssh でソケットを転送できないとき（鍵つきのポート）",
    ),
    "top_short": ("Show what needs attention, in the terminal.", "要対応の実行を端末に表示"),
    "top_help": (
        "Show what needs attention, in the terminal: requests, failures with their cause, runs that wait too long, make "
        "no progress, or use their GPUs little; then runs without problems. FOLDER: an event, or folders with runs "
        "(default: the event that contains this folder, otherwise this folder's project). It only reads, and updates "
        "until Ctrl-C; into a pipe, it prints once.\n"
        "\n"
        "\b\n"
        "  hackathon top\n"
        "  hackathon top --team Aurora\n"
        "  hackathon top --tutor t05           the teams of one tutor\n"
        "  hackathon top --once --json",
        "要対応の実行を端末に表示します。質問、失敗とその原因、長く待っている実行、進行のない実行、GPU "
        "の使用率が低い実行、そして順調な実行の順です。FOLDER はイベントのフォルダ、または runs "
        "のあるフォルダです（省くと、今のフォルダを含むイベント、なければ今のプロジェクト）。読むだけで、Ctrl-C "
        "まで更新を続けます。パイプには一度だけ出力します。\n"
        "\n"
        "\b\n"
        "  hackathon top\n"
        "  hackathon top --team Aurora\n"
        "  hackathon top --tutor t05           1 人のチューターの担当チーム\n"
        "  hackathon top --once --json",
    ),
    "option_once": ("Print once and exit.", "一度だけ表示する"),
    "option_interval": ("Seconds between updates.", "更新の間隔（秒）"),
    "option_socket": (
        "Path of the Unix socket, in a folder that only you can enter.",
        "Unix ソケットのパス（自分だけが入れるフォルダの中）",
    ),
    "option_port": (
        "Use a port on the loopback address, with a key, instead of a socket; 0: any free port.",
        "ソケットの代わりに、鍵つきのポートをループバックアドレスで開く（0: 空いているポート）",
    ),
    "option_bind": (
        "Address for the port instead of 127.0.0.1; connections are not encrypted.",
        "ポートを 127.0.0.1 以外のアドレスで開く（通信は暗号化されません）",
    ),
    "option_dashboard_write": (
        "Let the pages answer, take, and close requests, post, and cancel or rerun runs, in the name of your account. "
        "Default: with a socket; a port with --write is for one browser.",
        "ページから質問への対応・回答・完了、投稿、実行の取り消しと再実行を、自分のアカウントの名前でできるようにする。"
        "既定ではソケットのとき有効。ポートで --write を指定すると、使えるブラウザは 1 つ",
    ),
    "option_only_team": ("Only this team's runs.", "このチームの実行だけ"),
    "option_only_tutor": (
        "Only the teams of this tutor (account or name).",
        "このチューター（アカウントか名前）が担当するチームだけ",
    ),
    "option_page_title": ("Title of the pages.", "ページの見出しの名前"),
    "publish_short": ("Write the event's site, or pages of studies.", "イベントのサイトや測定のページを書き出す"),
    "publish_help": (
        "Write the static site of the event that contains this folder: teams, studies, scaling results, runs, "
        "downloads. Outside an event, or with names: pages of this project's studies. The pages can be opened as files "
        "and load nothing from other hosts. Names of people, hosts, paths, and secrets are removed; hackathon.yaml "
        "defines what may be shown. The old site stays until the new one is complete.\n"
        "\n"
        "\b\n"
        "  hackathon publish --check            what would be published, what was removed\n"
        "  hackathon publish --to site\n"
        "  hackathon publish k3x9 --to pages    one study",
        "今のフォルダを含むイベントの静的サイト（チーム・測定・スケーリング結果・実行・データ）を書き出します。"
        "イベントの外や名前を指定したときは、このプロジェクトの測定のページです。ファイルとして開け、"
        "外部には一切アクセスしません。利用者名・ホスト名・パス・秘密情報は取り除かれ、公開してよいものは "
        "hackathon.yaml で決めます。新しいサイトが揃うまで、元のサイトはそのまま残ります。\n"
        "\n"
        "\b\n"
        "  hackathon publish --check            公開される内容と取り除かれるもの\n"
        "  hackathon publish --to site\n"
        "  hackathon publish k3x9 --to pages    測定を一つ",
    ),
    "option_to": ("Output folder.", "書き出し先フォルダ"),
    "option_doubtful": (
        "Also publish results that are not believable, with a mark.",
        "信頼できない値も、その旨の印を付けて公開する",
    ),
    "option_check_site": (
        "Write nothing; show what would be published and what was removed.",
        "書き出さずに、公開される内容と取り除かれるものを表示する",
    ),
    "option_title": ("Title of the pages.", "ページの題名"),
    "rerun_short": (
        "Re-run a recorded run or an RO-Crate, also on another cluster.",
        "記録や RO-Crate（再実行用パッケージ）から再実行（別のクラスタでも）",
    ),
    "rerun_help": (
        "Submit the recorded script and source of a run again, after showing what has changed since. With --cluster, or "
        "from an RO-Crate (the zip file of a published run, or its folder), the request is adapted to the cluster: "
        "queue, group, nodes, starter, modules. Parameters and the number of processes stay the same unless you set -p "
        "or --processes.\n"
        "\n"
        "\b\n"
        "  hackathon rerun k3x9 --wait\n"
        "  hackathon rerun k3x9 --dry-run                   only show what has changed\n"
        "  hackathon rerun k3x9 --cluster slurm --queue gpu\n"
        "  hackathon rerun ~/Downloads/run-k3x9.zip --cluster laptop --wait",
        "実行時のスクリプトとソースをもう一度投入します。先に、当時との違いを示します。--cluster を付けた場合や、"
        "RO-Crate（公開された実行の zip ファイル、またはそのフォルダ）からの場合は、"
        "キュー・グループ・ノード数・起動方法・モジュールを実行先に合わせます。パラメータとプロセス数はそのままです（-p "
        "と --processes で変更可）。\n"
        "\n"
        "\b\n"
        "  hackathon rerun k3x9 --wait\n"
        "  hackathon rerun k3x9 --dry-run                   違いだけを表示\n"
        "  hackathon rerun k3x9 --cluster slurm --queue gpu\n"
        "  hackathon rerun ~/Downloads/run-k3x9.zip --cluster laptop --wait",
    ),
    "option_predict_processes": (
        "Process counts to predict, separated by commas.",
        "予測するプロセス数（コンマ区切り）",
    ),
    "option_predict_async": (
        "Predict asynchronous SGD: epoch sweep time, mini-batch and staleness, from a run of one worker.",
        "非同期 SGD を予測する。1 ワーカーの実行から 1 エポックの時間、ミニバッチ、遅延（staleness）を求める",
    ),
    "option_predict_workers": (
        "With --async: numbers of workers to predict, separated by commas.",
        "--async で予測するワーカー数（コンマ区切り）",
    ),
    "option_predict_target_batch": (
        "With --async: samples of an update; tells the fastest number of workers whose batch lies within 25 % of it.",
        "--async で目標とする 1 更新のサンプル数。バッチがその ±25 % に入る最速のワーカー数を表示する",
    ),
    "option_predict_cluster": (
        "Use the measured network (clusters measure) and the prices of this cluster.",
        "このクラスタのネットワーク測定値（clusters measure）と料金を使う",
    ),
    "option_predict_gradient_bytes": (
        "Bytes of all gradients, which each step reduces, e.g. 102MB (default: from the runs' records).",
        "各ステップで集約する全勾配のバイト数（例: 102MB。既定は実行の記録）",
    ),
    "option_predict_batch_size": (
        "Samples of a step: per process in weak scaling, of all processes in strong scaling (default: from the runs' records).",
        "1 ステップのサンプル数。弱スケーリングではプロセスあたり、強スケーリングでは全体（既定は実行の記録）",
    ),
    "option_predict_epochs": (
        "Also predict the time of a training of so many epochs.",
        "このエポック数の学習にかかる時間も予測する",
    ),
    "option_predict_samples": ("Samples of an epoch.", "1 エポックのサンプル数"),
    "option_predict_critical_batch": (
        "Critical batch size: samples needed = E × (1 + batch ÷ critical batch), and --epochs holds at the smallest size "
        "(default: from runs at three batches).",
        "臨界バッチサイズ。必要なサンプル数 = E ×（1 + バッチ ÷ 臨界バッチ）とし、--epochs は最小の規模の値とする"
        "（既定は 3 種類のバッチの実行から推定）",
    ),
    "option_predict_target": (
        "What the training has to reach, e.g. accuracy:0.95 or loss:<0.2 (default: the check of the recipe).",
        "学習の目標（例: accuracy:0.95、loss:<0.2。既定はレシピの check）",
    ),
    "option_predict_series": ("Only this series of the table.", "表のうち、この系列だけ"),
    "option_predict_history": (
        "Table of other studies to learn from: the same columns, and cluster,model,framework.",
        "参考にする他の測定の表（同じ列に加えて cluster,model,framework）",
    ),
    "option_predict_per_node": (
        "Processes of a full node, where the table has no column nodes.",
        "ノードあたりのプロセス数（表に列 nodes がない場合）",
    ),
    "compare_short": ("Compare two results.", "2 つの結果を比べる"),
    "compare_help": (
        "Compare the result of NEW with that of OLD: the same within the noise of the repeats, faster, slower, or "
        "different in accuracy. Each is a run, a study, or an RO-Crate; several runs separated by commas are repeats. "
        "Exit code 0: the same or faster; 1: slower, different in accuracy, failed, or unknown.\n"
        "\n"
        "\b\n"
        "  hackathon compare k3x9 7qpm\n"
        "  hackathon compare published.zip 7qpm\n"
        "  hackathon compare a1,a2,a3 b1,b2,b3 --json",
        "NEW の結果を OLD と比べ、ノイズの範囲で同じか、速いか、遅いか、精度が違うかを判定します。"
        "それぞれ実行・測定・RO-Crate を指定でき、コンマ区切りは繰り返しとして扱います。終了コード 0: 同じか速い。1: "
        "遅い・精度が違う・失敗・不明。\n"
        "\n"
        "\b\n"
        "  hackathon compare k3x9 7qpm\n"
        "  hackathon compare published.zip 7qpm\n"
        "  hackathon compare a1,a2,a3 b1,b2,b3 --json",
    ),
    "option_metric_compare": ("Metric to compare (default: the old run's).", "比べる指標（既定は旧の実行のもの）"),
    "option_tolerance": (
        "Difference up to which single runs count as the same.",
        "1 回ずつの比較で同じとみなす差",
    ),
}
