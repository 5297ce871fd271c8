"""What `--help` shows of the commands for when something goes wrong; a part of `help`."""

TROUBLE: dict[str, tuple[str, str]] = {
    "try_short": (
        "Rehearse a program for a minute: is it ready for a study?",
        "1 分ほど試し、測定の準備ができているか確認",
    ),
    "try_help": (
        "Run the program for about a minute, on 1 and 2 processes, and say what was understood: ranks, metrics with the "
        "lines they came from, time of a step, batch, memory, and files that it wrote. Ends with `ready`, or with what to "
        "correct (exit code 1). Takes the cluster's debug queue where its profile marks one. Nothing of it counts as a "
        "result. After Ctrl-C the same command continues.\n"
        "\n"
        "\b\n"
        "  hackathon try\n"
        "  hackathon try --processes 1,4 --seconds 120\n"
        "  hackathon try --json",
        "プログラムを 1 プロセスと 2 プロセスで 1 分ほど実行し、把握できたことを表示します（ランク、指標とその出所の行、1 ステップの時間、"
        "バッチ、メモリ、書き込んだファイル）。最後に `準備完了` または修正点を表示します（修正点があれば終了コード 1）。プロファイルに"
        "デバッグ用のキューがあれば使います。測定結果には数えません。Ctrl-C のあとは同じコマンドで続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon try\n"
        "  hackathon try --processes 1,4 --seconds 120\n"
        "  hackathon try --json",
    ),
    "option_force": (
        "Submit although the text of the program has errors.",
        "プログラムにエラーが見つかっても投入する",
    ),
    "diagnose_short": ("Find out what went wrong and how to fix it.", "失敗の原因と対処を調べる"),
    "diagnose_help": (
        "Find out what went wrong in a run, a study, or any log: where it shows, why, and how to fix it. The cause is "
        "shown last. Without a name: the newest run, or its study.\n"
        "\n"
        "\b\n"
        "  hackathon diagnose\n"
        "  hackathon diagnose k3m9x2qa\n"
        "  hackathon diagnose slurm-1234.out rank-*.log     logs of one job that was started by hand\n"
        "  mpirun -np 4 python train.py 2>&1 | hackathon diagnose -\n"
        "  hackathon diagnose k3m9x2qa --bundle             one file for a tutor",
        "実行、測定、または任意のログについて、どこで、なぜ失敗し、どう直すかを表示します。原因は最後に出ます。"
        "名前を省くと最新の実行（測定の一部ならその測定）が対象です。\n"
        "\n"
        "\b\n"
        "  hackathon diagnose\n"
        "  hackathon diagnose k3m9x2qa\n"
        "  hackathon diagnose slurm-1234.out rank-*.log     手動で動かした1つのジョブのログ\n"
        "  mpirun -np 4 python train.py 2>&1 | hackathon diagnose -\n"
        "  hackathon diagnose k3m9x2qa --bundle             チューターに渡すファイル",
    ),
    "option_bundle": (
        "Also pack records and the ends of logs for a tutor, without secrets and names (.tar.gz).",
        "チューター用に記録とログの末尾を .tar.gz にまとめる（秘密情報と名前は除く）",
    ),
    "logs_short": ("Show the output of the ranks of a run.", "各ランクの出力を表示"),
    "logs_help": (
        "Show the output of all ranks of a run, merged by time; a line that several ranks print is shown once. Without "
        "a name: the newest run.\n"
        "\n"
        "\b\n"
        "  hackathon logs\n"
        "  hackathon logs k3x9 --rank 0 -f\n"
        "  hackathon logs --rank 0-3 --since 10m\n"
        "  hackathon logs --grep 'Error|WARN'\n"
        "  hackathon logs --stacks             where each rank is, when a job makes no progress\n"
        "  hackathon logs --path               where the files are",
        "全ランクの出力を時刻順にまとめて表示します。複数のランクが同じ行を出した場合は 1 行にまとめます。"
        "名前を省くと最新の実行です。\n\n\b\n"
        "  hackathon logs\n"
        "  hackathon logs k3x9 --rank 0 -f\n"
        "  hackathon logs --rank 0-3 --since 10m\n"
        "  hackathon logs --grep 'Error|WARN'\n"
        "  hackathon logs --stacks             各ランクがいる場所（止まったとき）\n"
        "  hackathon logs --path               ファイルの場所",
    ),
    "option_follow": ("Show new lines until the run has finished.", "終了まで新しい行を表示し続ける"),
    "option_rank": (
        "Only these ranks: 3, 0-3 or 0,4-7; may be repeated.",
        "このランクだけ（3、0-3、0,4-7。繰り返し可）",
    ),
    "option_since": (
        "Only lines written since: 10m, 14:30, 2026-11-21.",
        "それ以降の行だけ（10m、14:30、2026-11-21）",
    ),
    "option_grep": ("Only lines that match the regular expression.", "正規表現に合う行だけ"),
    "option_lines": (
        "Number of last lines of each log (default 50; with --since, all); with --grep, of matching lines.",
        "各ログの最後の行数（既定は 50、--since ではすべて）。--grep では一致した最後の行数",
    ),
    "option_raw": (
        "Show the files unchanged (all lines unless -n is given).",
        "ファイルをそのまま表示（-n がなければ全部）",
    ),
    "option_stacks": (
        "Show where the Python of each rank is; the ranks of a running job are asked. For a job that makes no progress.",
        "各ランクの Python がどこにいるかを表示（実行中なら各ランクに問い合わせる）。止まったジョブに使う",
    ),
    "option_path": ("Print only the paths of the files.", "ファイルの場所だけを表示する"),
    "board_short": ("Problems and their solutions, shared by all teams.", "問題と解決法を全チームで共有する掲示板"),
    "board_help": (
        "Problems and their solutions, shared by all teams of the event. A post belongs to the account that owns its "
        "file; nobody else can change it.\n"
        "\n"
        "\b\n"
        "  hackathon board                                    list posts\n"
        "  hackathon board --unsolved --part nccl\n"
        "  hackathon board post --run 3f7k                    with the run's diagnosis\n"
        "  hackathon board post 'NCCL hangs on two nodes'\n"
        "  hackathon board answer k7qd 'set NCCL_SOCKET_IFNAME=ib0'\n"
        "  hackathon board solve k7qd\n"
        "  hackathon board search hang nodes\n"
        "  hackathon board init /lustre/gz00/event            organisers, once",
        "問題と解決法を全チームで共有する掲示板です。投稿者はファイルの所有者で決まり、他人は書き換えられません。\n\n\b\n"
        "  hackathon board                                    一覧\n"
        "  hackathon board --unsolved --part nccl\n"
        "  hackathon board post --run 3f7k                    実行の診断を付けて投稿\n"
        "  hackathon board post 'NCCL hangs on two nodes'\n"
        "  hackathon board answer k7qd 'set NCCL_SOCKET_IFNAME=ib0'\n"
        "  hackathon board solve k7qd\n"
        "  hackathon board search hang nodes\n"
        "  hackathon board init /lustre/gz00/event            主催者が最初に一度だけ",
    ),
    "board_list_short": ("List posts, newest first.", "投稿の一覧（新しい順）"),
    "board_list_help": (
        "List posts, newest first.\n\n\b\n  hackathon board list --unsolved",
        "投稿を新しい順に表示します。\n\n\b\n  hackathon board list --unsolved",
    ),
    "board_search_short": ("Find posts and requests that contain all words.", "語をすべて含む投稿を探す"),
    "board_search_help": (
        "Find posts and requests for help that contain all words, also in their answers and findings.\n"
        "\n"
        "\b\n"
        "  hackathon board search out of memory",
        "語をすべて含む投稿と質問を、回答や診断も含めて探します。\n\n\b\n  hackathon board search out of memory",
    ),
    "board_show_short": ("Show a post with its answers.", "投稿と回答を表示"),
    "board_show_help": (
        "Show a post or a request with its finding and answers. Any unique part of its name names it.\n"
        "\n"
        "\b\n"
        "  hackathon board show k7qd",
        "投稿や質問を、診断と回答も含めて表示します。名前は、一意に決まる一部だけでも指定できます。\n"
        "\n"
        "\b\n"
        "  hackathon board show k7qd",
    ),
    "board_post_short": ("Write a post, optionally with a run's diagnosis.", "投稿する（実行の診断も付けられる）"),
    "board_post_help": (
        "Write a post; its first line is the title. Without text, your editor opens; with --run, the diagnosis alone is "
        "enough.\n"
        "\n"
        "\b\n"
        "  hackathon board post 'loss is NaN after 200 steps'\n"
        "  hackathon board post --run 3f7k\n"
        "  hackathon board post --part mpi - < text.txt",
        "投稿します。1行目が題名です。本文を省くとエディタが開きます。--run を付ければ診断だけでも投稿できます。\n\n\b\n"
        "  hackathon board post 'loss is NaN after 200 steps'\n"
        "  hackathon board post --run 3f7k\n"
        "  hackathon board post --part mpi - < text.txt",
    ),
    "board_answer_short": ("Answer a post or a request.", "投稿や質問に回答する"),
    "board_answer_help": (
        "Answer a post or a request for help.\n\n\b\n  hackathon board answer k7qd 'use srun --mpi=pmix'",
        "投稿や質問に回答します。\n\n\b\n  hackathon board answer k7qd 'use srun --mpi=pmix'",
    ),
    "board_solve_short": ("Close a post as solved.", "解決済みにする"),
    "board_solve_help": (
        "Close a post as solved, and say what solved it. Only its author and tutors listed in hackathon.yaml can do "
        "this.\n"
        "\n"
        "\b\n"
        "  hackathon board solve k7qd 'a smaller batch'",
        "投稿を解決済みにし、何で解決したかを残します。投稿者と hackathon.yaml のチューターだけができます。\n\n\b\n"
        "  hackathon board solve k7qd 'a smaller batch'",
    ),
    "board_init_short": ("Create or check the event's board.", "イベントの掲示板を作る・調べる"),
    "board_init_help": (
        "Create the event's board in a directory that all participants can reach, or check an existing one. `sticky`: "
        "one directory of mode 1777. `folders`: a folder for each user of hackathon.yaml, created by root.\n"
        "\n"
        "\b\n"
        "  hackathon board init /lustre/gz00/event\n"
        "  hackathon board init /lustre/gz00/event --mode folders",
        "全参加者が読めるディレクトリに掲示板を作ります。すでにあれば調べます。`sticky` はモード 1777 のディレクトリ1つ、"
        "`folders` は hackathon.yaml のユーザーごとのフォルダで、root が作る必要があります。\n\n\b\n"
        "  hackathon board init /lustre/gz00/event\n"
        "  hackathon board init /lustre/gz00/event --mode folders",
    ),
    "ask_short": ("Ask a tutor for help, with the latest diagnosis.", "診断を添えてチューターに質問する"),
    "ask_help": (
        "Ask a tutor for help. The request includes the newest failed run, its diagnosis, and where to look.\n"
        "\n"
        "\b\n"
        "  hackathon ask 'it hangs after the first epoch'\n"
        "  hackathon ask --run 3f7k                  the diagnosis is enough\n"
        "  hackathon ask list                        tutors: open requests\n"
        "  hackathon ask take k7qd\n"
        "  hackathon ask close k7qd 'wrong interface'",
        "チューターに質問します。失敗した最新の実行と、その診断、見るべき場所が付きます。\n"
        "\n"
        "\b\n"
        "  hackathon ask 'it hangs after the first epoch'\n"
        "  hackathon ask --run 3f7k                  診断だけで足りるとき\n"
        "  hackathon ask list                        チューター: 待っている質問\n"
        "  hackathon ask take k7qd\n"
        "  hackathon ask close k7qd 'wrong interface'",
    ),
    "ask_send_short": ("Send a request for help (the default).", "質問を送る（省略時の動作）"),
    "ask_send_help": (
        "Send a request for help; `send` may be omitted.\n\n\b\n  hackathon ask 'it hangs after the first epoch'",
        "質問を送ります。`send` は省略できます。\n\n\b\n  hackathon ask 'it hangs after the first epoch'",
    ),
    "ask_list_short": ("List open requests.", "待っている質問の一覧"),
    "ask_list_help": (
        "List open requests, newest first.\n\n\b\n  hackathon ask list\n  hackathon board show k7qd",
        "待っている質問を新しい順に表示します。\n\n\b\n  hackathon ask list\n  hackathon board show k7qd",
    ),
    "ask_take_short": ("Tutors: take a request.", "チューター: 質問を引き受ける"),
    "ask_take_help": (
        "Take a request, so that other tutors know. Only for tutors listed in hackathon.yaml.\n"
        "\n"
        "\b\n"
        "  hackathon ask take k7qd",
        "自分が対応することを他のチューターに知らせます。hackathon.yaml のチューター用です。\n\n\b\n"
        "  hackathon ask take k7qd",
    ),
    "ask_close_short": ("Close a request as solved.", "解決済みにする"),
    "ask_close_help": (
        "Close a request as solved, and say what solved it. Only its author and tutors listed in hackathon.yaml can do "
        "this.\n"
        "\n"
        "\b\n"
        "  hackathon ask close k7qd 'wrong interface'",
        "質問を解決済みにし、何で解決したかを残します。質問者と hackathon.yaml のチューターだけができます。\n\n\b\n"
        "  hackathon ask close k7qd 'wrong interface'",
    ),
    "standup_short": ("Write or show the daily status report.", "毎日の進捗報告を書く・見る"),
    "standup_help": (
        "Report your status: progress, goals, problems, and what you solved that may help others. Your last report of "
        "the day counts. Without options, your editor opens.\n"
        "\n"
        "\b\n"
        "  hackathon standup --progress '4 GPUs: 3.7x' --goals '16 GPUs' --problems 'loss is NaN'\n"
        "  hackathon standup show                    all teams on one page\n"
        "  hackathon standup show --day 2019-01-24 --lang ja",
        "進捗、目標、困っていること、他チームにも役立ちそうな解決を報告します。最後の報告が有効です。何も付けなければ"
        "エディタが開きます。\n\n\b\n"
        "  hackathon standup --progress '4 GPUs: 3.7x' --goals '16 GPUs' --problems 'loss is NaN'\n"
        "  hackathon standup show                    全チームのまとめ\n"
        "  hackathon standup show --day 2019-01-24 --lang ja",
    ),
    "standup_write_short": ("Write your report (the default).", "報告を書く（省略時の動作）"),
    "standup_write_help": (
        "Write your report; `write` may be omitted.\n\n\b\n  hackathon standup --progress '4 GPUs: 3.7x'",
        "報告を書きます。`write` は省略できます。\n\n\b\n  hackathon standup --progress '4 GPUs: 3.7x'",
    ),
    "standup_show_short": ("Show the reports of all teams.", "全チームの報告を表示"),
    "standup_show_help": (
        "Show the last report of each member since 06:00 of the previous day, by team, and what was solved.\n"
        "\n"
        "\b\n"
        "  hackathon standup show --lang ja",
        "全チームのまとめを表示します。前日 6:00 以降の各メンバーの最後の報告と、解決した問題が載ります。\n\n\b\n"
        "  hackathon standup show --lang ja",
    ),
    "notify_short": ("Send notifications to a chat (off by default).", "チャットへの通知（既定ではオフ）"),
    "notify_help": (
        "Notify a Slack or Mattermost channel when runs finish or fail (and which part failed), when somebody asks for "
        "help, and when a problem is solved. Off until you set the URL of an incoming webhook. Compute nodes need no "
        "Internet access: a relay on the login node reads run directories and the board.\n"
        "\n"
        "\b\n"
        "  hackathon notify set                      asks for the URL\n"
        "  hackathon notify relay --dry-run          what would be sent\n"
        "  hackathon notify relay                    until Ctrl-C, for example in tmux\n"
        "  hackathon notify relay --once             for example from cron\n"
        "  hackathon notify off",
        "実行の終了・失敗（どの部分の問題か）、質問、解決を Slack や Mattermost のチャンネルに通知します。受信 Webhook "
        "の URL を設定するまではオフです。計算ノードがインターネットに接続できる必要はなく、"
        "ログインノードの中継が実行フォルダと掲示板を読みます。\n"
        "\n"
        "\b\n"
        "  hackathon notify set                      URL を入力\n"
        "  hackathon notify relay --dry-run          送る内容を表示\n"
        "  hackathon notify relay                    Ctrl-C まで（tmux などで）\n"
        "  hackathon notify relay --once             cron などから\n"
        "  hackathon notify off",
    ),
    "notify_show_short": ("Show whether notifications are on (the default).", "オンかオフかを表示（省略時の動作）"),
    "notify_show_help": (
        "Show whether notifications are on. The URL itself is never shown.\n\n\b\n  hackathon notify show",
        "通知がオンかオフかを表示します。URL そのものは表示しません。\n\n\b\n  hackathon notify show",
    ),
    "notify_set_short": ("Set the webhook URL and turn notifications on.", "Webhook の URL を読み、オンにする"),
    "notify_set_help": (
        "Read the URL of an incoming webhook from the terminal or from standard input, never from the command line, "
        "which others can see. Earlier events are not sent.\n"
        "\n"
        "\b\n"
        "  hackathon notify set\n"
        "  hackathon notify set < address.txt",
        "受信 Webhook の URL を端末か標準入力から読みます。コマンドラインは他人から見えるため使いません。設定より前の出来事は"
        "通知しません。\n\n\b\n"
        "  hackathon notify set\n  hackathon notify set < address.txt",
    ),
    "notify_off_short": ("Delete the URL and turn notifications off.", "URL を消してオフにする"),
    "notify_off_help": (
        "Turn notifications off and delete the URL.\n\n\b\n  hackathon notify off",
        "通知をオフにし、URL を消します。\n\n\b\n  hackathon notify off",
    ),
    "notify_test_short": ("Send a test message.", "試しに1件送る"),
    "notify_test_help": (
        "Send a message to check that it arrives.\n\n\b\n  hackathon notify test",
        "試しに1件送り、届くかどうかを確かめます。\n\n\b\n  hackathon notify test",
    ),
    "notify_relay_short": ("Send events that were not sent yet.", "まだ送っていない出来事を送る"),
    "notify_relay_help": (
        "Send what happened in projects (default: this one; in an event's folder those of all teams) and on the event's "
        "board since the URL was set. Each event is sent once, also after a restart. If the server is busy or does not answer, the relay waits and tries again; "
        "with --once, it ends with exit code 3.\n"
        "\n"
        "\b\n"
        "  hackathon notify relay\n"
        "  hackathon notify relay /lustre/gz00/*/project --only run-failed --only asked\n"
        "  hackathon notify relay --once",
        "プロジェクト（既定は今いるもの、イベントのフォルダでは全チームのもの）とイベントの掲示板で、URL の設定後に起きたことを送ります。"
        "再起動しても同じものは二度送りません。サーバーが混んでいるか応答しなければ、待ってやり直します。--once "
        "では終了コード 3 で終わります。\n"
        "\n"
        "\b\n"
        "  hackathon notify relay\n"
        "  hackathon notify relay /lustre/gz00/*/project --only run-failed --only asked\n"
        "  hackathon notify relay --once",
    ),
    "option_notify_dry_run": ("Print the payload without sending it.", "送らずに内容を表示する"),
    "option_relay_once": ("Check once instead of until Ctrl-C.", "一度だけ調べて終わる"),
    "option_relay_every": ("Seconds between checks.", "調べる間隔（秒）"),
    "option_relay_only": ("Send only these; may be repeated.", "これだけを送る（繰り返し指定可）"),
    "option_relay_pages": (
        "Address of the dashboard, for a link in each message.",
        "ダッシュボードのアドレス。各メッセージにページへのリンクを付ける",
    ),
    "option_relay_no_board": ("Ignore the board.", "掲示板は見ない"),
    "option_ask_run": (
        "Run that the request is about (default: the newest failed run).",
        "対象の実行（既定は失敗した最新のもの）",
    ),
    "option_ask_no_run": ("The request is not about a run.", "実行とは関係ない"),
    "option_ask_all": ("Include closed requests.", "閉じたものも表示する"),
    "option_progress": ("What you have achieved.", "進捗"),
    "option_goals": ("Your next goals.", "次の目標"),
    "option_problems": ("What blocks you.", "困っていること"),
    "option_solved": ("What you solved that may help others.", "解決したこと（他チームにも役立ちそうなもの）"),
    "option_day": ("Day of the report (default: today).", "報告の日付（既定は今日）"),
    "option_shared": (
        "The event's shared directory, instead of the one in hackathon.yaml.",
        "hackathon.yaml の代わりに使う共有ディレクトリ",
    ),
    "option_part": ("Only this part, for example nccl.", "この部分のものだけ（例: nccl）"),
    "option_rule": ("Only this failure rule.", "このルールのものだけ"),
    "option_part_of": ("Part that the problem is in, for example nccl.", "どの部分の問題か（例: nccl）"),
    "option_rule_of": ("Failure rule that the problem matches.", "どのルールの問題か"),
    "option_unsolved": ("Only unsolved ones.", "未解決のものだけ"),
    "option_post_run": ("Attach this run's diagnosis.", "この実行の診断を付ける"),
    "option_board_mode": ("How posts are separated.", "投稿の分け方"),
}
