"""What `--help` shows: key → (English, Japanese). Texts keep their line breaks after a `\\b`."""

from hackathon.text.catalogue._help_event import EVENT
from hackathon.text.catalogue._help_pages import PAGES
from hackathon.text.catalogue._help_survey import SURVEY
from hackathon.text.catalogue._help_trouble import TROUBLE

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
    "adopt_short": ("Take up a job that was submitted by hand.", "手で投入したジョブを取り込む"),
    "adopt_help": (
        "Make a run around a job that was submitted without this tool, so that status, logs and results know it.\n\n\b\n"
        "  hackathon adopt 123456\n  hackathon adopt ~/old-run-folder",
        "このツールを使わずに投入したジョブを実行として取り込み、status・logs・results で扱えるようにします。\n\n\b\n"
        "  hackathon adopt 123456\n  hackathon adopt ~/old-run-folder",
    ),
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
    **TROUBLE,
    **PAGES,
    **EVENT,
    **SURVEY,
}
