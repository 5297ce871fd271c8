"""What `--help` shows of the commands for when something goes wrong; a part of `help`."""

TROUBLE: dict[str, tuple[str, str]] = {
    "diagnose_short": ("Say what went wrong and what to do about it.", "失敗の原因と対処を調べる"),
    "diagnose_help": (
        "Say what went wrong in a run, a study or any log: which part, where it shows, why, what to do. The cause comes "
        "last. Without a name: the newest run, or its study.\n\n\b\n"
        "  hackathon diagnose\n"
        "  hackathon diagnose k3m9x2qa\n"
        "  hackathon diagnose slurm-1234.out rank-*.log     logs of one job that was started by hand\n"
        "  mpirun -np 4 python train.py 2>&1 | hackathon diagnose -\n"
        "  hackathon diagnose k3m9x2qa --bundle             one file for a tutor",
        "実行、測定、または任意のログについて、どこが、なぜ失敗し、どう直すかを表示します。原因は最後に出ます。"
        "名前を省くと最新の実行(測定の一部ならその測定)が対象です。\n\n\b\n"
        "  hackathon diagnose\n"
        "  hackathon diagnose k3m9x2qa\n"
        "  hackathon diagnose slurm-1234.out rank-*.log     手で動かした1つのジョブのログ\n"
        "  mpirun -np 4 python train.py 2>&1 | hackathon diagnose -\n"
        "  hackathon diagnose k3m9x2qa --bundle             チューターに渡すファイル",
    ),
    "option_bundle": (
        "Also pack records and ends of logs for a tutor, without secrets and names (.tar.gz).",
        "チューター用に記録とログの末尾を .tar.gz にまとめる(秘密情報と名前は除く)",
    ),
    "logs_short": ("Show what the ranks of a run print.", "各ランクの出力を表示"),
    "logs_help": (
        "Show what the ranks of a run print, merged by time; what several ranks print alike is shown once. "
        "Without a name: the newest run.\n\n\b\n"
        "  hackathon logs\n"
        "  hackathon logs k3x9 --rank 0 -f\n"
        "  hackathon logs --rank 0-3 --since 10m\n"
        "  hackathon logs --grep 'Error|WARN'\n"
        "  hackathon logs --path               where the files lie",
        "全ランクの出力を時刻順にまとめて表示します。複数のランクが同じ行を出した場合は 1 行にまとめます。"
        "名前を省くと最新の実行です。\n\n\b\n"
        "  hackathon logs\n"
        "  hackathon logs k3x9 --rank 0 -f\n"
        "  hackathon logs --rank 0-3 --since 10m\n"
        "  hackathon logs --grep 'Error|WARN'\n"
        "  hackathon logs --path               ファイルの場所",
    ),
    "option_follow": ("Follow new lines until the run has ended.", "終了まで新しい行を追いかける"),
    "option_rank": ("Only these ranks: 3, 0-3 or 0,4-7; may be repeated.", "このランクだけ(3、0-3、0,4-7。繰り返し可)"),
    "option_since": (
        "Only what was written since: 10m, 14:30, 2026-11-21.",
        "それ以降の行だけ(10m、14:30、2026-11-21)",
    ),
    "option_grep": ("Only lines in which the regular expression is found.", "正規表現に合う行だけ"),
    "option_lines": (
        "Last lines of each log (50; all with --since); with --grep the last that match.",
        "各ログの最後の行数(既定は 50、--since ではすべて)。--grep では一致した最後の行数",
    ),
    "option_raw": ("The files as they are, whole unless -n is given.", "ファイルをそのまま表示(-n がなければ全部)"),
    "option_path": ("Print only the files' paths.", "ファイルの場所だけを表示する"),
    "board_short": ("Problems and what solved them, shared by all teams.", "問題と解決法を全チームで共有する掲示板"),
    "board_help": (
        "Problems and what solved them, shared by all teams of the event. A post belongs to the account that owns its "
        "file; nobody else can alter it.\n\n\b\n"
        "  hackathon board                                    what is on it\n"
        "  hackathon board --unsolved --part nccl\n"
        "  hackathon board post --run 3f7k                    with the run's diagnosis\n"
        "  hackathon board post 'NCCL hangs on two nodes'\n"
        "  hackathon board answer k7qd 'set NCCL_SOCKET_IFNAME=ib0'\n"
        "  hackathon board solve k7qd\n"
        "  hackathon board search hang nodes\n"
        "  hackathon board init /lustre/gz00/event            the organisers, once",
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
    "board_list_short": ("List posts, the newest first.", "投稿の一覧(新しい順)"),
    "board_list_help": (
        "List posts, the newest first.\n\n\b\n  hackathon board list --unsolved",
        "投稿を新しい順に表示します。\n\n\b\n  hackathon board list --unsolved",
    ),
    "board_search_short": ("Find posts and requests that hold all words.", "語をすべて含む投稿を探す"),
    "board_search_help": (
        "Find posts and requests for help that hold all words, also in their answers and findings.\n\n\b\n"
        "  hackathon board search out of memory",
        "語をすべて含む投稿と質問を、回答や診断も含めて探します。\n\n\b\n  hackathon board search out of memory",
    ),
    "board_show_short": ("Show a post with its answers.", "投稿と回答を表示"),
    "board_show_help": (
        "Show a post or a request with its finding and answers. Any part of its name that no other has names it.\n\n\b\n"
        "  hackathon board show k7qd",
        "投稿や質問を、診断と回答も含めて表示します。名前は他と重ならなければ一部で足ります。\n\n\b\n"
        "  hackathon board show k7qd",
    ),
    "board_post_short": ("Write a post, with a run's diagnosis if you like.", "投稿する(実行の診断も付けられる)"),
    "board_post_help": (
        "Write a post; its first line is the title. Without a text your editor opens; with --run the diagnosis alone is "
        "enough.\n\n\b\n"
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
        "Close a post as solved, and say what solved it. Its writer and tutors of hackathon.yaml can.\n\n\b\n"
        "  hackathon board solve k7qd 'a smaller batch'",
        "投稿を解決済みにし、何で解決したかを残します。投稿者と hackathon.yaml のチューターだけができます。\n\n\b\n"
        "  hackathon board solve k7qd 'a smaller batch'",
    ),
    "board_init_short": ("Make or check the event's shared directory.", "共有ディレクトリを作る・調べる"),
    "board_init_help": (
        "Make the event's board in a directory that all participants reach, or check the one that is there. `sticky`: one "
        "directory of mode 1777. `folders`: a folder for each user of hackathon.yaml, which root has to make.\n\n\b\n"
        "  hackathon board init /lustre/gz00/event\n"
        "  hackathon board init /lustre/gz00/event --mode folders",
        "全参加者が読めるディレクトリに掲示板を作ります。すでにあれば調べます。`sticky` はモード 1777 のディレクトリ1つ、"
        "`folders` は hackathon.yaml のユーザーごとのフォルダで、root が作る必要があります。\n\n\b\n"
        "  hackathon board init /lustre/gz00/event\n"
        "  hackathon board init /lustre/gz00/event --mode folders",
    ),
    "ask_short": ("Call a tutor, with the last diagnosis and where to look.", "診断と見る場所を添えてチューターを呼ぶ"),
    "ask_help": (
        "Call a tutor. The request carries the newest failed run, its diagnosis and where to look.\n\n\b\n"
        "  hackathon ask 'it hangs after the first epoch'\n"
        "  hackathon ask --run 3f7k                  the diagnosis says it all\n"
        "  hackathon ask list                        tutors: who waits?\n"
        "  hackathon ask take k7qd\n"
        "  hackathon ask close k7qd 'wrong interface'",
        "チューターを呼びます。失敗した最新の実行と、その診断、見るべき場所が付きます。\n\n\b\n"
        "  hackathon ask 'it hangs after the first epoch'\n"
        "  hackathon ask --run 3f7k                  診断だけで足りるとき\n"
        "  hackathon ask list                        チューター: 待っている質問\n"
        "  hackathon ask take k7qd\n"
        "  hackathon ask close k7qd 'wrong interface'",
    ),
    "ask_send_short": ("Send a request for help (the default).", "質問を送る(省略時の動作)"),
    "ask_send_help": (
        "Send a request for help; `send` may be left out.\n\n\b\n  hackathon ask 'it hangs after the first epoch'",
        "質問を送ります。`send` は省略できます。\n\n\b\n  hackathon ask 'it hangs after the first epoch'",
    ),
    "ask_list_short": ("List requests that wait.", "待っている質問の一覧"),
    "ask_list_help": (
        "List requests that wait, the newest first.\n\n\b\n  hackathon ask list\n  hackathon board show k7qd",
        "待っている質問を新しい順に表示します。\n\n\b\n  hackathon ask list\n  hackathon board show k7qd",
    ),
    "ask_take_short": ("Tutors: say that you help.", "チューター: 引き受ける"),
    "ask_take_help": (
        "Say that you help, so that the others need not. For tutors of hackathon.yaml.\n\n\b\n  hackathon ask take k7qd",
        "自分が対応することを他のチューターに知らせます。hackathon.yaml のチューター用です。\n\n\b\n"
        "  hackathon ask take k7qd",
    ),
    "ask_close_short": ("Close a request as solved.", "解決済みにする"),
    "ask_close_help": (
        "Close a request as solved, and say what solved it. Its writer and tutors of hackathon.yaml can.\n\n\b\n"
        "  hackathon ask close k7qd 'wrong interface'",
        "質問を解決済みにし、何で解決したかを残します。質問者と hackathon.yaml のチューターだけができます。\n\n\b\n"
        "  hackathon ask close k7qd 'wrong interface'",
    ),
    "standup_short": ("Report for the morning round, and its page.", "朝会の報告と、そのまとめ"),
    "standup_help": (
        "Say how far you are: progress, goals, problems, and what you solved that others may meet. Your last report "
        "counts. Without options your editor opens.\n\n\b\n"
        "  hackathon standup --progress '4 GPUs: 3.7x' --goals '16 GPUs' --problems 'loss is NaN'\n"
        "  hackathon standup show                    all teams on one page\n"
        "  hackathon standup show --day 2019-01-24 --lang ja",
        "進捗、目標、困っていること、他チームにも役立ちそうな解決を報告します。最後の報告が有効です。何も付けなければ"
        "エディタが開きます。\n\n\b\n"
        "  hackathon standup --progress '4 GPUs: 3.7x' --goals '16 GPUs' --problems 'loss is NaN'\n"
        "  hackathon standup show                    全チームのまとめ\n"
        "  hackathon standup show --day 2019-01-24 --lang ja",
    ),
    "standup_write_short": ("Write your report (the default).", "報告を書く(省略時の動作)"),
    "standup_write_help": (
        "Write your report; `write` may be left out.\n\n\b\n  hackathon standup --progress '4 GPUs: 3.7x'",
        "報告を書きます。`write` は省略できます。\n\n\b\n  hackathon standup --progress '4 GPUs: 3.7x'",
    ),
    "standup_show_short": ("Print one page of all teams.", "全チームのまとめを表示"),
    "standup_show_help": (
        "Print one page of all teams: the members' last reports since 06:00 of the day before, and what was solved.\n\n\b\n"
        "  hackathon standup show --lang ja",
        "全チームのまとめを表示します。前日 6:00 以降の各メンバーの最後の報告と、解決した問題が載ります。\n\n\b\n"
        "  hackathon standup show --lang ja",
    ),
    "notify_short": ("Tell a chat what happens (off unless you set it).", "チャットへの通知(既定ではオフ)"),
    "notify_help": (
        "Tell a Slack or Mattermost channel that runs ended or failed, with the part that failed, that somebody asks for "
        "help, that a problem was solved. Off until you give the address of an incoming webhook. Compute nodes need no "
        "Internet: a relay on the login node reads run directories and the board.\n\n\b\n"
        "  hackathon notify set                      asks for the address\n"
        "  hackathon notify relay --dry-run          what would be sent\n"
        "  hackathon notify relay                    until Ctrl-C, e.g. in tmux\n"
        "  hackathon notify relay --once             e.g. from cron\n"
        "  hackathon notify off",
        "実行の終了・失敗(どの部分の問題か)、質問、解決を Slack や Mattermost のチャンネルに知らせます。受信 Webhook の URL を"
        "設定するまではオフです。計算ノードからインターネットに出る必要はなく、ログインノードの中継が実行フォルダと掲示板を"
        "読みます。\n\n\b\n"
        "  hackathon notify set                      URL を入力\n"
        "  hackathon notify relay --dry-run          送る内容を表示\n"
        "  hackathon notify relay                    Ctrl-C まで(tmux などで)\n"
        "  hackathon notify relay --once             cron などから\n"
        "  hackathon notify off",
    ),
    "notify_show_short": ("Say whether notifications are on (the default).", "オンかオフかを表示(省略時の動作)"),
    "notify_show_help": (
        "Say whether notifications are on. The address itself is never shown.\n\n\b\n  hackathon notify show",
        "通知がオンかオフかを表示します。URL そのものは表示しません。\n\n\b\n  hackathon notify show",
    ),
    "notify_set_short": ("Read the webhook's address and turn it on.", "Webhook の URL を読み、オンにする"),
    "notify_set_help": (
        "Read the address of an incoming webhook from the terminal or from standard input, never from the command line, "
        "which others can see. What happened before is not told.\n\n\b\n"
        "  hackathon notify set\n  hackathon notify set < address.txt",
        "受信 Webhook の URL を端末か標準入力から読みます。コマンドラインは他人から見えるため使いません。設定より前の出来事は"
        "通知しません。\n\n\b\n"
        "  hackathon notify set\n  hackathon notify set < address.txt",
    ),
    "notify_off_short": ("Forget the address.", "URL を消してオフにする"),
    "notify_off_help": (
        "Turn notifications off and forget the address.\n\n\b\n  hackathon notify off",
        "通知をオフにし、URL を消します。\n\n\b\n  hackathon notify off",
    ),
    "notify_test_short": ("Send one message to see whether it arrives.", "試しに1件送る"),
    "notify_test_help": (
        "Send one message to see whether it arrives.\n\n\b\n  hackathon notify test",
        "試しに1件送り、届くかどうかを確かめます。\n\n\b\n  hackathon notify test",
    ),
    "notify_relay_short": ("Send what happened and was not sent yet.", "まだ送っていない出来事を送る"),
    "notify_relay_help": (
        "Send what happened in projects (default: this one) and on the event's board since the address was set: each "
        "thing once, also after a restart. When the server is busy or away it waits and tries again; with --once it ends "
        "with exit code 3.\n\n\b\n"
        "  hackathon notify relay\n"
        "  hackathon notify relay /lustre/gz00/*/project --only run-failed --only asked\n"
        "  hackathon notify relay --once",
        "プロジェクト(既定は今いるもの)とイベントの掲示板で、URL の設定後に起きたことを送ります。再起動しても同じものは二度"
        "送りません。サーバーが混んでいるか応答しなければ、待ってやり直します。--once では終了コード 3 で終わります。\n\n\b\n"
        "  hackathon notify relay\n"
        "  hackathon notify relay /lustre/gz00/*/project --only run-failed --only asked\n"
        "  hackathon notify relay --once",
    ),
    "option_notify_dry_run": ("Print the payload, and send nothing.", "送らずに内容を表示する"),
    "option_relay_once": ("Look once instead of until Ctrl-C.", "一度だけ調べて終わる"),
    "option_relay_every": ("Seconds between two looks.", "調べる間隔(秒)"),
    "option_relay_only": ("Only these; may be repeated.", "これだけを送る(繰り返し指定可)"),
    "option_relay_no_board": ("Leave the board out.", "掲示板は見ない"),
    "option_ask_run": (
        "The run that it is about (default: the newest that failed).",
        "対象の実行(既定は失敗した最新のもの)",
    ),
    "option_ask_no_run": ("It is about no run.", "実行とは関係ない"),
    "option_ask_all": ("Closed ones too.", "閉じたものも表示する"),
    "option_progress": ("What you have reached.", "進捗"),
    "option_goals": ("What comes next.", "次の目標"),
    "option_problems": ("What holds you up.", "困っていること"),
    "option_solved": ("What you solved that others may meet.", "解決したこと(他チームにも役立ちそうなもの)"),
    "option_day": ("The morning (default: today's).", "どの日の朝会か(既定は今日)"),
    "option_shared": (
        "The event's shared directory, instead of hackathon.yaml's.",
        "hackathon.yaml の代わりに使う共有ディレクトリ",
    ),
    "option_part": ("Only of this part, e.g. nccl.", "この部分のものだけ(例: nccl)"),
    "option_rule": ("Only of this failure rule.", "このルールのものだけ"),
    "option_part_of": ("The part that it is about, e.g. nccl.", "どの部分の問題か(例: nccl)"),
    "option_rule_of": ("The failure rule that it is about.", "どのルールの問題か"),
    "option_unsolved": ("Only what is not solved.", "未解決のものだけ"),
    "option_post_run": ("Attach this run's diagnosis.", "この実行の診断を付ける"),
    "option_board_mode": ("How posts are kept apart.", "投稿の分け方"),
    "rules_short": (
        "The failures that a diagnosis knows: list, show or check them.",
        "診断が知っている障害のルール: 一覧・表示・検査",
    ),
    "rules_help": (
        "The rules by which `hackathon diagnose` recognises failures: the shipped ones, and files in templates/rules of "
        "the project or the event, or in ~/.config/hackathon/rules. A rule there replaces the one of its id.\n\n\b\n"
        "  hackathon rules list --part nccl\n"
        "  hackathon rules show gpu-out-of-memory\n"
        "  hackathon rules check templates/rules/ours.yaml",
        "`hackathon diagnose` が障害を見分けるルールです。付属のもの、プロジェクトやイベントの templates/rules、"
        "~/.config/hackathon/rules のファイルを使い、同じ id のルールは置き換わります。\n\n\b\n"
        "  hackathon rules list --part nccl\n"
        "  hackathon rules show gpu-out-of-memory\n"
        "  hackathon rules check templates/rules/ours.yaml",
    ),
    "rules_list_short": ("List the rules.", "ルールの一覧"),
    "rules_list_help": (
        "List the rules, by part.\n\n\b\n  hackathon rules list\n  hackathon rules list --part mpi",
        "ルールを部分ごとに一覧します。\n\n\b\n  hackathon rules list\n  hackathon rules list --part mpi",
    ),
    "rules_show_short": ("Show a rule and where it comes from.", "ルールの内容と由来を表示"),
    "rules_show_help": (
        "Show everything that a rule says, and the file that it comes from.\n\n\b\n  hackathon rules show gpu-out-of-memory",
        "ルールの内容すべてと、書かれているファイルを表示します。\n\n\b\n  hackathon rules show gpu-out-of-memory",
    ),
    "rules_check_short": ("Check files of rules.", "ルールのファイルを検査"),
    "rules_check_help": (
        "Check files of rules, or all on the search path: keys and patterns, and whether each rule finds its own examples. "
        "Exit code 2 when something is wrong.\n\n\b\n  hackathon rules check\n  hackathon rules check templates/rules/ours.yaml",
        "ルールのファイル(省略時は見つかるすべて)を検査します。キーやパターンの誤りと、各ルールが自分の例を検出できるかを"
        "調べます。問題があれば終了コード 2。\n\n\b\n  hackathon rules check\n  hackathon rules check templates/rules/ours.yaml",
    ),
    "rules_add_short": ("Make a rule of a line in a log.", "ログの 1 行からルールを作る"),
    "rules_add_help": (
        "Make a rule for everybody of a line that you recognised: numbers, paths, hosts and the like may be others, and it "
        "is tried at once. The line is named as `hackathon diagnose` shows it; a file that is not here is the newest "
        "run's.\n\n\b\n"
        "  hackathon rules add --from logs/rank-1.log:812 --advice 'Load the module gcc/12 first.'\n"
        "  hackathon rules add --from slurm-7.out:90 --part mpi --healthy slurm-6.out",
        "見覚えのある行から、全員が使えるルールを作ります。数値・パス・ホスト名などは違っていても一致し、その場で試されます。"
        "行は `hackathon diagnose` の表示のとおりに指定します。手元にないファイルは最新の実行のものとみなします。\n\n\b\n"
        "  hackathon rules add --from logs/rank-1.log:812 --advice '先に module load gcc/12 を実行する'\n"
        "  hackathon rules add --from slurm-7.out:90 --part mpi --healthy slurm-6.out",
    ),
    "option_rules_from": ("The line, e.g. logs/rank-1.log:812.", "元になる行(例: logs/rank-1.log:812)"),
    "option_rules_add_part": (
        "Where the failure lies: nccl, mpi, …; guessed otherwise.",
        "障害の部分(nccl、mpi など。省略時は推定)",
    ),
    "option_rules_level": ("How much the line says about the cause.", "その行がどこまで原因を示すか"),
    "option_rules_title": (
        "What it means, in one line; the line itself otherwise.",
        "意味を 1 行で(省略時は行そのもの)",
    ),
    "option_rules_advice": ("What to do about it.", "対処"),
    "option_rules_healthy": (
        "A log of a good run: a rule that hits it is refused.",
        "正常なログ。一致するルールは作らない",
    ),
    "option_rules_here": ("Whose rule it is.", "ルールを置く場所"),
    "option_rules_part": ("Only this part: gpu, nccl, mpi, ….", "この部分だけ: gpu、nccl、mpi など"),
}
