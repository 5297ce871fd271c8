"""What `--help` shows: key → (English, Japanese). Texts keep their line breaks after a `\\b`."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option_lang": ("Language of messages.", "メッセージの言語"),
    "option_help": ("Show this message and exit.", "この説明を表示する"),
    "option_version": ("Show the version and exit.", "バージョンを表示する"),
    "option_json": ("Print JSON.", "JSON で出力する"),
    "option_cluster": (
        "The machine's profile (`hackathon clusters`).",
        "マシンのプロファイル名(`hackathon clusters` で一覧)",
    ),
    "option_queue": ("PBS queue or Slurm partition.", "PBS のキュー、Slurm のパーティション"),
    "option_group": ("Group or account that pays.", "課金されるグループ(アカウント)"),
    "option_reservation": ("A reservation's name.", "予約名"),
    "option_nodes": ("Nodes.", "ノード数"),
    "option_processes": ("Processes in all, normally one per GPU.", "全プロセス数(通常は GPU 1枚に1つ)"),
    "option_processes_list": (
        "Process counts of the study: 1,2,4.",
        "測定するプロセス数の列: 1,2,4",
    ),
    "option_processes_per_node": ("Processes on a node.", "1ノードあたりのプロセス数"),
    "option_threads": ("Threads a process.", "1プロセスあたりのスレッド数"),
    "option_walltime": ("Longest time it may run: 00:30:00, 90m, 2h.", "実行時間の上限: 00:30:00、90m、2h"),
    "option_launcher": (
        "torchrun, mpirun, srun, local, horovodrun or horovodrun-mpi.",
        "torchrun、mpirun、srun、local、horovodrun、horovodrun-mpi のどれか",
    ),
    "option_parameter": ("A parameter's value; may be repeated.", "パラメータの値(繰り返し指定可)"),
    "option_in_place": (
        "Run the live folder instead of a snapshot.",
        "スナップショットを取らず、今のフォルダのまま実行する",
    ),
    "option_note": ("A remark that results and pages show.", "結果やページに表示されるメモ"),
    "option_tag": ("A tag; may be repeated.", "タグ(繰り返し指定可)"),
    "option_repeat": ("Submit it this many times.", "同じジョブを何回投入するか"),
    "option_wait": ("Wait until all jobs have ended.", "全ジョブの終了まで待つ"),
    "option_dry_run": ("Show what would be submitted, and submit nothing.", "投入せずに、投入内容だけを表示する"),
    "option_no_ask": ("Do not ask the scheduler.", "スケジューラに問い合わせない"),
    "render_short": (
        "Print the job script, exactly as it would be submitted.",
        "投入されるジョブスクリプトをそのまま表示",
    ),
    "render_help": (
        "Print the job script, exactly the bytes that `submit` hands to the scheduler. It can be read, edited and "
        "submitted by hand.\n\n\b\n"
        "  hackathon render\n"
        "  hackathon render torch-ddp --cluster reedbush-h --queue h-debug --nodes 2 --group pz0425\n"
        "  hackathon render --explain          where each value comes from",
        "`submit` がスケジューラに渡すのと同じジョブスクリプトを表示します。読んで、直して、手で投入できます。\n\n\b\n"
        "  hackathon render\n"
        "  hackathon render torch-ddp --cluster reedbush-h --queue h-debug --nodes 2 --group pz0425\n"
        "  hackathon render --explain          各値の由来を表示",
    ),
    "option_explain": ("Show each value with its origin.", "各値とその由来を表示する"),
    "option_rank_script": ("Print rank.sh, which runs on each rank.", "各ランクで動く rank.sh を表示する"),
    "check_short": (
        "Say whether the cluster would run it, and what it would cost.",
        "実行可能か、いくらかかるかを調べる",
    ),
    "check_help": (
        "Check a request against the cluster's limits before the queue does. Exit code 2 names every reason and the "
        "nearest request that would be accepted.\n\n\b\n"
        "  hackathon check --nodes 4 --walltime 2h\n"
        "  hackathon check torch-ddp --cluster miyabi-g --queue debug-g --nodes 8 --group gw25",
        "キューに断られる前に、クラスタの上限に照らして調べます。終了コード 2 のときは、すべての理由と、最も近い実行可能な"
        "指定を示します。\n\n\b\n"
        "  hackathon check --nodes 4 --walltime 2h\n"
        "  hackathon check torch-ddp --cluster miyabi-g --queue debug-g --nodes 8 --group gw25",
    ),
    "clusters_short": (
        "List machines, or show one with its queues and limits.",
        "マシンの一覧、またはキューと上限を表示",
    ),
    "clusters_help": (
        "List the machines that have a profile, or show one. A question mark marks what nobody has confirmed.\n\n\b\n"
        "  hackathon clusters\n"
        "  hackathon clusters reedbush-h\n"
        "  hackathon clusters slurm --live      ask the scheduler now\n"
        "  hackathon clusters slurm --measure   how fast do its processes communicate?\n"
        "  hackathon clusters reedbush-h --measure --queue h-debug --group pz0425 --nodes 2 --nodes 4",
        "プロファイルのあるマシンの一覧、または1台の詳細を表示します。? は未確認の値です。\n\n\b\n"
        "  hackathon clusters\n"
        "  hackathon clusters reedbush-h\n"
        "  hackathon clusters slurm --live      スケジューラに今の状態を聞く\n"
        "  hackathon clusters slurm --measure   プロセス間の通信速度を測る\n"
        "  hackathon clusters reedbush-h --measure --queue h-debug --group pz0425 --nodes 2 --nodes 4",
    ),
    "option_measure": (
        "Measure communication inside a node and between nodes with the recipe `allreduce`, and keep it.",
        "レシピ `allreduce` でノード内・ノード間の通信を測り、結果を保存する",
    ),
    "option_measure_nodes": (
        "Nodes of a measurement; may be repeated. Default: 1, and 2 where there are.",
        "測定に使うノード数(繰り返し指定可)。既定は 1 と、あれば 2",
    ),
    "option_live": ("Ask the scheduler about its queues now.", "スケジューラに今のキューを問い合わせる"),
    "data_short": (
        "Fetch and check the data that a program reads.",
        "プログラムが読むデータの取得・確認",
    ),
    "data_help": (
        "Data of a project or recipe, as `data:` in its file names them: fetched on a machine with the Internet into the "
        "project's folder `data`, where every node sees them. Jobs find them below $HK_DATA.\n\n\b\n"
        "  hackathon data fetch\n"
        "  hackathon data check\n"
        "  hackathon data stage",
        "プロジェクトやレシピの `data:` に書いたデータを、インターネットに出られる計算機でプロジェクトのフォルダ `data` に取得します。"
        "ジョブからは $HK_DATA の下に見えます。\n\n\b\n"
        "  hackathon data fetch\n"
        "  hackathon data check\n"
        "  hackathon data stage",
    ),
    "data_fetch_short": ("Download what is not there yet.", "まだないデータをダウンロード"),
    "data_fetch_help": (
        "Download what is not there yet, verify its checksum and unpack it. A transfer that was cut goes on where it "
        "stopped. Proxies are those of http_proxy and https_proxy.\n\n\b\n"
        "  hackathon data fetch\n"
        "  hackathon data fetch --again     even what is there",
        "まだないデータをダウンロードし、チェックサムを確かめて展開します。途中で切れた場合は続きから取得します。プロキシは "
        "http_proxy・https_proxy に従います。\n\n\b\n"
        "  hackathon data fetch\n"
        "  hackathon data fetch --again     既にあるものも取得し直す",
    ),
    "data_check_short": ("Read all data again and compare checksums.", "全データのチェックサムを確認"),
    "data_check_help": (
        "Read every file again and compare it with what was fetched; exit code 1 when something is missing or changed."
        "\n\n\b\n  hackathon data check",
        "全ファイルを読み直し、取得時の内容と比べます。欠けや違いがあれば終了コード 1 になります。\n\n\b\n  hackathon data check",
    ),
    "data_stage_short": ("Say what jobs copy to their nodes, or copy it.", "ノードへのコピーの確認・実行"),
    "data_stage_help": (
        "Say which data each job copies to the disks of its nodes before the program starts (`stage: true`), or copy "
        "them now, in an interactive job.\n\n\b\n"
        "  hackathon data stage\n"
        "  hackathon data stage --to /tmp/mine",
        "プログラムの開始前に各ノードのディスクにコピーされるデータ(`stage: true`)を表示します。対話ジョブの中で今コピーすることもできます。"
        "\n\n\b\n"
        "  hackathon data stage\n"
        "  hackathon data stage --to /tmp/mine",
    ),
    "option_fetch_again": ("Fetch what is there already, too.", "既にあるものも取得し直す"),
    "option_stage_to": ("Copy into this folder now.", "今このフォルダにコピーする"),
    "env_short": (
        "Build Python environments of recipes, list or show them.",
        "レシピの Python 環境を作る・一覧・表示",
    ),
    "env_help": (
        "Python environments of recipes: built once, on a machine with the Internet, where compute nodes can use them. "
        "They lie in `envs` of the project (or in $HACKATHON_ENVS); jobs of the recipe take them by themselves.\n\n\b\n"
        "  hackathon env create torch-ddp\n"
        "  hackathon env list\n"
        "  hackathon env show torch-ddp",
        "レシピの Python 環境を、インターネットに出られるマシンで一度だけ、計算ノードから使える場所に作ります。"
        "場所はプロジェクトの `envs`(または $HACKATHON_ENVS)で、そのレシピのジョブは自動でその環境を使います。\n\n\b\n"
        "  hackathon env create torch-ddp\n"
        "  hackathon env list\n"
        "  hackathon env show torch-ddp",
    ),
    "env_create_short": ("Build the environment of a recipe or project.", "レシピ・プロジェクトの環境を作る"),
    "env_create_help": (
        "Build the environment of a recipe, or of the project, from its pinned requirements: with uv where there is one, "
        "else with venv and pip. Every command is printed as it could be typed. What is there already is left alone; a "
        "build that was interrupted is begun anew.\n\n\b\n"
        "  hackathon env create\n"
        "  hackathon env create torch-ddp --variant cuda --cluster miyabi-g\n"
        "  hackathon env create torch-ddp --dry-run     only print the commands",
        "レシピまたはプロジェクトの環境を、バージョンを固定した requirements から作ります(uv があれば uv、なければ venv と pip)。"
        "実行するコマンドはすべてそのまま表示されます。既にあれば何もしません。途中で切れた作成は最初からやり直します。\n\n\b\n"
        "  hackathon env create\n"
        "  hackathon env create torch-ddp --variant cuda --cluster miyabi-g\n"
        "  hackathon env create torch-ddp --dry-run     コマンドだけを表示",
    ),
    "env_list_short": ("List the environments that are built.", "作成済みの環境の一覧"),
    "env_list_help": (
        "List the environments of the project.\n\n\b\n  hackathon env list",
        "プロジェクトの環境を一覧します。\n\n\b\n  hackathon env list",
    ),
    "env_show_short": ("Show how an environment was built and what is in it.", "環境の作り方と中身を表示"),
    "env_show_help": (
        "Show the commands that built an environment, and every package in it.\n\n\b\n  hackathon env show torch-ddp",
        "環境を作ったコマンドと、入っている全パッケージを表示します。\n\n\b\n  hackathon env show torch-ddp",
    ),
    "option_variant": (
        "cpu, or cuda: then `requirements-cuda.txt` is taken where there is one.",
        "cpu か cuda。cuda では `requirements-cuda.txt` があればそれを使う",
    ),
    "option_python": ("The Python to build it with; default: this one.", "使う Python(既定は今の Python)"),
    "option_build_again": ("Build it anew although it is there.", "既にあっても作り直す"),
    "option_on": (
        "Build it on this machine, or in a job where nodes reach the Internet.",
        "このマシンで作るか、(ノードが外部に出られるなら)ジョブで作るか",
    ),
    "option_env_dry_run": ("Print the commands and do nothing.", "コマンドを表示するだけで何もしない"),
    "option_env_wait": (
        "With --on compute: wait until the job has ended.",
        "--on compute のとき、ジョブの終了まで待つ",
    ),
    "recipes_short": (
        "List training programs, or show one with its parameters.",
        "レシピの一覧、またはパラメータを表示",
    ),
    "recipes_help": (
        "List the recipes, or show one with its parameters.\n\n\b\n  hackathon recipes\n  hackathon recipes torch-ddp",
        "レシピの一覧、または1つの詳細を表示します。\n\n\b\n  hackathon recipes\n  hackathon recipes torch-ddp",
    ),
    "schema_short": ("Print the JSON Schema of a file that people write.", "設定ファイルの JSON Schema を表示"),
    "schema_help": (
        "Print the JSON Schema of project.yaml, recipe.yaml, a cluster profile, hackathon.yaml or the user's "
        "config.yaml, for editors that complete and check YAML.\n\n\b\n  hackathon schema project > project.schema.json",
        "project.yaml、recipe.yaml、クラスタプロファイル、hackathon.yaml、個人設定 config.yaml の JSON Schema を表示します。"
        "YAML を補完・検査するエディタで使えます。\n\n\b\n  hackathon schema project > project.schema.json",
    ),
    "init_short": ("Make a project in a folder.", "フォルダにプロジェクトを作る"),
    "init_help": (
        "Make a project: project.yaml around a recipe, or around your own command. Your own program is not changed.\n\n\b\n"
        "  hackathon init --recipe torch-ddp digits\n"
        '  hackathon init --command "python train.py --lr {lr}" -p lr=0.1',
        "プロジェクト(project.yaml)を作ります。レシピを使うか、自分のコマンドを使うかを選びます。自分のプログラムは変更"
        "されません。\n\n\b\n"
        "  hackathon init --recipe torch-ddp digits\n"
        '  hackathon init --command "python train.py --lr {lr}" -p lr=0.1',
    ),
    "option_recipe": ("Use this recipe.", "このレシピを使う"),
    "option_command": (
        "Use your own command; {name} stands for a parameter.",
        "自分のコマンドを使う。{name} はパラメータ",
    ),
    "option_name": ("The project's name; default the folder's.", "プロジェクト名(既定はフォルダ名)"),
    "option_team": ("The team's name.", "チーム名"),
    "option_copy": (
        "Copy the recipe's program into the project, to change it.",
        "レシピのプログラムをプロジェクトにコピーする(改造用)",
    ),
    "completion_short": ("Print the shell's completion script.", "シェル補完スクリプトを表示"),
    "completion_help": (
        'Print a completion script.\n\n\b\n  eval "$(hackathon completion bash)"     in ~/.bashrc',
        '補完スクリプトを表示します。\n\n\b\n  eval "$(hackathon completion bash)"     ~/.bashrc に書く',
    ),
    "shell_short": ("Start an interactive job with the project's environment.", "同じ環境の対話ジョブを始める"),
    "shell_help": (
        "Start an interactive job (`qsub -I`, `salloc`) with the header and the environment of the project's jobs.\n\n\b\n"
        "  hackathon shell --nodes 1 --walltime 30m\n"
        "  hackathon shell --dry-run           only show the command",
        "プロジェクトのジョブと同じヘッダ・環境で対話ジョブ(`qsub -I`、`salloc`)を始めます。\n\n\b\n"
        "  hackathon shell --nodes 1 --walltime 30m\n"
        "  hackathon shell --dry-run           コマンドだけを表示",
    ),
    "submit_short": ("Submit one job, or the same job several times.", "ジョブを投入する(繰り返しも可)"),
    "submit_help": (
        "Submit the project's job, or a recipe's. The job runs from a snapshot of the source, so editing goes on.\n\n\b\n"
        "  hackathon submit --nodes 2 --wait\n"
        "  hackathon submit torch-ddp --cluster laptop --processes 2 -p epochs=5\n"
        "  hackathon submit --repeat 3 --note 'pinned memory'\n"
        "  hackathon submit --after ok:k3x9 --dry-run\n"
        "  hackathon submit --again k3x9        after a submission that was cut off",
        "プロジェクト(またはレシピ)のジョブを投入します。ソースのスナップショットから実行されるので、編集を続けられます。\n\n\b\n"
        "  hackathon submit --nodes 2 --wait\n"
        "  hackathon submit torch-ddp --cluster laptop --processes 2 -p epochs=5\n"
        "  hackathon submit --repeat 3 --note 'pinned memory'\n"
        "  hackathon submit --after ok:k3x9 --dry-run\n"
        "  hackathon submit --again k3x9        投入が途中で切れたとき",
    ),
    "option_after": (
        "Start after that run succeeded (ok:) or ended (any:).",
        "指定した実行の成功後(ok:)または終了後(any:)に始める",
    ),
    "option_again": (
        "Submit a run again whose submission was cut off, if its job is nowhere.",
        "投入が途中で切れた実行を、ジョブが見つからないときに再投入する",
    ),
    "scale_short": ("Measure scaling: one job per process count.", "スケーリングを測る(プロセス数ごとに1ジョブ)"),
    "scale_help": (
        "Measure how the project scales: one job per process count, with equal threads at every point. Weak scaling "
        "keeps the batch per process, strong scaling the batch of all. A study remembers what it has not submitted.\n\n\b\n"
        "  hackathon scale --processes 1,2,4 --wait\n"
        "  hackathon scale --processes 1,2,4,8 --mode strong --repeat 3\n"
        "  hackathon scale --processes 1,2,4,8 --max-queued 2\n"
        "  hackathon scale --resume            submit what is left",
        "プロジェクトのスケーリングを測ります。プロセス数ごとに1ジョブ、スレッド数は全点で同じです。weak はプロセスあたりの"
        "バッチを、strong は全体のバッチを一定にします。未投入の点は記録されます。\n\n\b\n"
        "  hackathon scale --processes 1,2,4 --wait\n"
        "  hackathon scale --processes 1,2,4,8 --mode strong --repeat 3\n"
        "  hackathon scale --processes 1,2,4,8 --max-queued 2\n"
        "  hackathon scale --resume            残りを投入する",
    ),
    "option_mode": (
        "weak: fixed batch per process; strong: fixed global batch.",
        "weak: プロセスあたりのバッチを一定に。strong: 全体のバッチを一定に",
    ),
    "option_scale_repeat": ("Measure each point this many times.", "各点の測定回数"),
    "option_max_queued": (
        "Have at most this many jobs in the queue; `--resume` or `--wait` submits the rest.",
        "キューに入れるジョブ数の上限。残りは `--resume` か `--wait` が投入する",
    ),
    "option_resume": (
        "Submit the points that a study has left (default: the newest).",
        "残りの点を投入する(既定は最新の測定)",
    ),
    "status_short": ("Show the states of runs.", "実行の状態を表示"),
    "status_help": (
        "Show the states of the newest runs, or of named runs and studies. Any unique part of a run's id names it.\n\n\b\n"
        "  hackathon status\n"
        "  hackathon status k3x9 --wait\n"
        "  hackathon status --all --json",
        "最近の実行、または指定した実行・測定の状態を表示します。ID の一部(一意なら)で指定できます。\n\n\b\n"
        "  hackathon status\n"
        "  hackathon status k3x9 --wait\n"
        "  hackathon status --all --json",
    ),
    "option_all": ("All runs, not only the newest 20.", "最新 20 件だけでなくすべて"),
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
        "  hackathon board init /lustre/gz00/event            運営が最初に一度だけ",
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
    "cancel_short": ("End jobs.", "ジョブを終わらせる"),
    "cancel_help": (
        "End the jobs of runs, or of all open runs of a study.\n\n\b\n  hackathon cancel k3x9",
        "実行のジョブを終わらせます。測定を指定すると、その未終了の実行すべてです。\n\n\b\n  hackathon cancel k3x9",
    ),
    "results_short": ("Speed-up and parallel efficiency of a study.", "速度向上率と並列効率"),
    "results_help": (
        "Show a study: median and spread over repeats, speed-up, parallel efficiency, the 75 % line, failed points with "
        "their reason. Without a name: the newest study or run.\n\n\b\n"
        "  hackathon results\n"
        "  hackathon results --plot scaling.svg\n"
        "  hackathon results --format csv > scaling.csv\n"
        "  hackathon results --baseline k3x9   compare with a run of another study",
        "測定結果(繰り返しの中央値とばらつき、速度向上率、並列効率、75 % の線、失敗した点とその理由)を表示します。"
        "名前を省くと最新の測定または実行です。\n\n\b\n"
        "  hackathon results\n"
        "  hackathon results --plot scaling.svg\n"
        "  hackathon results --format csv > scaling.csv\n"
        "  hackathon results --baseline k3x9   別の測定の実行と比べる",
    ),
    "option_format": ("Form of the output.", "出力形式"),
    "option_plot": ("Draw the study into FILE (.svg or .png).", "グラフを FILE(.svg / .png)に描く"),
    "option_baseline": ("Measure against this run.", "この実行を基準にする"),
    "option_metric": ("Another metric than the study's.", "別の指標で見る"),
    "publish_short": ("Write an offline page of all studies.", "全測定のオフラインページを書き出す"),
    "publish_help": (
        "Write static pages of studies: table, plot, how each was run, how to run it again. They open from a file and "
        "ask no other host for anything.\n\n\b\n  hackathon publish --to site\n  hackathon publish k3x9 --to /share/pages",
        "測定の静的ページ(表・グラフ・実行方法・再実行方法)を書き出します。ファイルとして開け、外部には一切アクセスしません。"
        "\n\n\b\n  hackathon publish --to site\n  hackathon publish k3x9 --to /share/pages",
    ),
    "option_to": ("Folder of the pages.", "書き出し先フォルダ"),
    "option_title": ("Title of the pages.", "ページの題名"),
    "rerun_short": ("Run a recorded script and source again.", "記録どおりにもう一度実行"),
    "rerun_help": (
        "Submit the recorded script and source of a run again, and say first what differs from then.\n\n\b\n"
        "  hackathon rerun k3x9 --wait\n  hackathon rerun k3x9 --dry-run      only say what differs",
        "実行時のスクリプトとソースをもう一度投入します。先に、当時との違いを示します。\n\n\b\n"
        "  hackathon rerun k3x9 --wait\n  hackathon rerun k3x9 --dry-run      違いだけを表示",
    ),
    "adopt_short": ("Take up a job that was submitted by hand.", "手で投入したジョブを取り込む"),
    "adopt_help": (
        "Make a run around a job that was submitted without this tool, so that status, logs and results know it.\n\n\b\n"
        "  hackathon adopt 123456\n  hackathon adopt ~/old-run-folder",
        "このツールを使わずに投入したジョブを実行として取り込み、status・logs・results で扱えるようにします。\n\n\b\n"
        "  hackathon adopt 123456\n  hackathon adopt ~/old-run-folder",
    ),
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
    "clean_short": ("Show what can be deleted, and delete it when told so.", "消せるものを示し、確認して消す"),
    "clean_help": (
        "Show what can go, with sizes, and ask before anything is deleted. Open runs are never touched.\n\n\b\n"
        "  hackathon clean\n  hackathon clean --failed --yes\n  hackathon clean --sources",
        "消せるものを大きさとともに示し、確認してから消します。終わっていない実行には触れません。\n\n\b\n"
        "  hackathon clean\n  hackathon clean --failed --yes\n  hackathon clean --sources",
    ),
    "option_failed": ("Also runs that failed or were cancelled.", "失敗・取消した実行も"),
    "option_sources": ("Also source snapshots of sealed runs.", "終了した実行のソースのスナップショットも"),
    "option_yes": ("Do not ask.", "確認しない"),
    "option_rerun_dry": ("Only say what differs.", "違いだけを表示する"),
    "doctor_short": ("Say whether this account and machine are ready.", "アカウントとマシンの準備状況を調べる"),
    "doctor_help": (
        "Look at Python, scheduler, modules, folder, space, quota, GPU driver and clock, and say what to do. With --job a "
        "job of seconds proves that nodes can start processes on each other. Exit code 1 when something is bad.\n\n\b\n"
        "  hackathon doctor\n  hackathon doctor --cluster slurm --job --nodes 2",
        "Python、スケジューラ、モジュール、フォルダ、空き容量、クォータ、GPU ドライバ、時計を調べ、対処を示します。--job では数秒の"
        "ジョブを投入し、ノード間で起動できることを確かめます。問題があれば終了コード 1。\n\n\b\n"
        "  hackathon doctor\n  hackathon doctor --cluster slurm --job --nodes 2",
    ),
    "option_doctor_job": ("Also submit a job of seconds and wait for it.", "数秒のジョブも投入して確かめる"),
}
