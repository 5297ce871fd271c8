"""What `--help` shows: key → (English, Japanese). Texts keep their line breaks after a `\\b`."""

from hackathon.text.catalogue.cli._help_clusters import CLUSTERS
from hackathon.text.catalogue.cli._help_data import DATA
from hackathon.text.catalogue.cli._help_event import EVENT
from hackathon.text.catalogue.cli._help_outputs import OUTPUTS
from hackathon.text.catalogue.cli._help_pages import PAGES
from hackathon.text.catalogue.cli._help_rules import RULES
from hackathon.text.catalogue.cli._help_scripts import SCRIPTS
from hackathon.text.catalogue.cli._help_speed import SPEED
from hackathon.text.catalogue.cli._help_survey import SURVEY
from hackathon.text.catalogue.cli._help_trouble import TROUBLE

MESSAGES: dict[str, tuple[str, str]] = {
    "option_lang": ("Language of messages.", "メッセージの言語"),
    "option_help": ("Show this message and exit.", "この説明を表示する"),
    "option_version": ("Show the version and exit.", "バージョンを表示する"),
    "option_json": ("Print JSON.", "JSON で出力する"),
    "option_cluster": (
        "Cluster profile (`hackathon clusters` lists them).",
        "クラスタのプロファイル名（`hackathon clusters` で一覧）",
    ),
    "option_queue": (
        "Queue, partition, resource group or resource type.",
        "キュー、パーティション、リソースグループ、資源タイプ",
    ),
    "option_group": ("Group or account to charge.", "課金するグループまたはアカウント"),
    "option_reservation": ("Reservation name.", "予約名"),
    "option_nodes": ("Number of nodes.", "ノード数"),
    "option_processes": (
        "Total number of processes, normally one per GPU.",
        "全プロセス数（通常は GPU 1 基に 1 プロセス）",
    ),
    "option_processes_list": (
        "Process counts to measure, for example 1,2,4.",
        "測定するプロセス数（例: 1,2,4）",
    ),
    "option_processes_per_node": ("Processes per node.", "1ノードあたりのプロセス数"),
    "option_threads": ("Threads per process.", "1プロセスあたりのスレッド数"),
    "option_walltime": ("Time limit: 00:30:00, 90m, 2h.", "実行時間の上限: 00:30:00、90m、2h"),
    "option_launcher": (
        "torchrun, mpirun, srun, local, horovodrun or horovodrun-mpi.",
        "torchrun、mpirun、srun、local、horovodrun、horovodrun-mpi のどれか",
    ),
    "option_binding": (
        "Cores of a rank: those of its GPU's memory node (numa), some of its own (cores), or all (none).",
        "ランクが使うコア: numa は GPU と同じメモリノードのコア、cores は専用のコア、none は全コア",
    ),
    "option_parameter": ("Set a parameter; may be repeated.", "パラメータの値（繰り返し指定可）"),
    "option_no_project": (
        "Run a recipe without the cluster, queue, group and time limit of the project in this folder.",
        "レシピの実行に、このフォルダのプロジェクトのクラスタ・キュー・グループ・実行時間を使わない",
    ),
    "option_in_place": (
        "Run in the project folder itself instead of a snapshot.",
        "スナップショットを取らず、プロジェクトのフォルダで直接実行する",
    ),
    "option_note": ("Note shown in results and on pages.", "結果やページに表示されるメモ"),
    "option_tag": ("A tag; may be repeated.", "タグ（繰り返し指定可）"),
    "option_repeat": ("Number of times to submit the job.", "同じジョブを何回投入するか"),
    "option_wait": ("Wait until all jobs have finished.", "全ジョブの終了まで待つ"),
    "option_dry_run": ("Show what would be submitted, without submitting it.", "投入せずに、投入内容だけを表示する"),
    "option_no_ask": ("Do not query the scheduler.", "スケジューラに問い合わせない"),
    "render_short": (
        "Print the job script that `submit` would submit.",
        "投入されるジョブスクリプトを表示",
    ),
    "render_help": (
        "Print the job script, byte for byte as `submit` hands it to the scheduler. To submit it by hand, write a folder "
        "with --to: the script needs the files beside it.\n"
        "\n"
        "\b\n"
        "  hackathon render\n"
        "  hackathon render torch-ddp --cluster reedbush-h --queue h-debug --nodes 2 --group pz0425\n"
        "  hackathon render --explain          where each value comes from\n"
        "  hackathon render --all              the script and the files beside it that it needs\n"
        "  hackathon render --to DIR           a folder to submit from by hand, as often as you like\n"
        "  hackathon render --essence          the few lines that start the program, and nothing else",
        "`submit` がスケジューラに渡すものと同一のジョブスクリプトを表示します。"
        "手動で投入するには、必要なファイルを --to でフォルダに書き出してください。\n"
        "\n"
        "\b\n"
        "  hackathon render\n"
        "  hackathon render torch-ddp --cluster reedbush-h --queue h-debug --nodes 2 --group pz0425\n"
        "  hackathon render --explain          各値の由来を表示\n"
        "  hackathon render --all              スクリプトと、それが必要とするファイルを表示\n"
        "  hackathon render --to DIR           手動で何度でも投入できるフォルダを作成\n"
        "  hackathon render --essence          プログラムを起動する最小限の行だけを表示",
    ),
    "option_render_to": (
        "Write a folder to submit from by hand: DIR, new or empty.",
        "手動で投入するためのフォルダを DIR（新規または空）に書き出す",
    ),
    "option_essence": (
        "Print a short script that needs no other files and records nothing.",
        "ほかのファイルを必要とせず、記録も残さない短いスクリプトを表示する",
    ),
    "option_explain": ("Show each value with its origin.", "各値とその由来を表示する"),
    "option_all_files": (
        "Print all files that the job needs: job.sh, hackathon.sh, rank.sh.",
        "ジョブに必要なファイル（job.sh、hackathon.sh、rank.sh）をすべて表示する",
    ),
    "option_rank_script": ("Print rank.sh, which runs on each rank.", "各ランクで動く rank.sh を表示する"),
    "option_files": (
        "Print the files that the scheduler reads beside the script (Kubernetes: job.yaml).",
        "スケジューラがスクリプトのほかに読むファイルを表示する（Kubernetes では job.yaml）",
    ),
    "check_short": (
        "Check whether the cluster accepts the job, and what it costs.",
        "クラスタで実行できるか、使用量はいくらかを確認",
    ),
    "check_help": (
        "Check a job against the limits of the cluster before you submit it. Exit code 2: the job would be refused; "
        "every reason and the nearest accepted request are shown. It also reads your own program and shows what would "
        "break or falsify a run of several processes.\n"
        "\n"
        "\b\n"
        "  hackathon check --nodes 4 --walltime 2h\n"
        "  hackathon check torch-ddp --cluster miyabi-g --queue debug-g --nodes 8 --group gw25",
        "投入する前に、クラスタの上限を満たすかを確認します。実行できない場合は終了コード 2 で、すべての理由と、"
        "最も近い実行可能な指定を示します。自分のプログラムも読み、複数プロセスでの実行を妨げる箇所や結果を誤らせる箇所を示します。\n"
        "\n"
        "\b\n"
        "  hackathon check --nodes 4 --walltime 2h\n"
        "  hackathon check torch-ddp --cluster miyabi-g --queue debug-g --nodes 8 --group gw25",
    ),
    "option_measure_nodes": (
        "Nodes of a measurement; may be repeated. Default: 1, and 2 where there are.",
        "測定に使うノード数（繰り返し指定可）。既定は 1 と、あれば 2",
    ),
    "recipes_short": (
        "List recipes, or show the parameters of one.",
        "レシピの一覧、またはパラメータを表示",
    ),
    "recipes_help": (
        "List the recipes, or show one with its parameters.\n\n\b\n  hackathon recipes\n  hackathon recipes torch-ddp",
        "レシピの一覧、または1つの詳細を表示します。\n\n\b\n  hackathon recipes\n  hackathon recipes torch-ddp",
    ),
    "docs_short": ("Read the documentation in the terminal.", "ドキュメントを端末で読む"),
    "docs_help": (
        "Read the tutorials, how-tos, reference and explanations in the terminal, without the Internet. Without a topic: the "
        "list of pages. TOPIC is a part of a page's name; any other word is searched for in all pages.\n\n\b\n"
        "  hackathon docs\n  hackathon docs my-job-failed\n  hackathon docs commands\n  hackathon docs walltime",
        "チュートリアル、手順、リファレンス、解説を、インターネットなしで端末に表示します。TOPIC を省くとページの一覧を表示します。TOPIC は"
        "ページ名の一部です。それ以外の語は全ページから検索します。\n\n\b\n"
        "  hackathon docs\n  hackathon docs my-job-failed\n  hackathon docs commands\n  hackathon docs walltime",
    ),
    "schema_short": ("Print the JSON Schema of a configuration file.", "設定ファイルの JSON Schema を表示"),
    "schema_help": (
        "Print the JSON Schema of project.yaml, recipe.yaml, a cluster profile, hackathon.yaml or the user's "
        "config.yaml, for editors that complete and check YAML.\n\n\b\n  hackathon schema project > project.schema.json",
        "project.yaml、recipe.yaml、クラスタプロファイル、hackathon.yaml、個人設定 config.yaml の JSON Schema を表示します。"
        "YAML を補完・検査するエディタで使えます。\n\n\b\n  hackathon schema project > project.schema.json",
    ),
    "init_short": ("Create a project in a folder.", "フォルダにプロジェクトを作る"),
    "init_help": (
        "Create a project: a project.yaml for a recipe or for your own command. Your own program is not changed.\n"
        "\n"
        "\b\n"
        "  hackathon init --recipe torch-ddp digits\n"
        '  hackathon init --command "python train.py --lr {lr}" -p lr=0.1',
        "プロジェクト（project.yaml）を作ります。レシピを使うか、自分のコマンドを使うかを選びます。"
        "自分のプログラムは変更されません。\n"
        "\n"
        "\b\n"
        "  hackathon init --recipe torch-ddp digits\n"
        '  hackathon init --command "python train.py --lr {lr}" -p lr=0.1',
    ),
    "option_recipe": ("Recipe to use.", "このレシピを使う"),
    "option_command": (
        "Use your own command; {name} stands for a parameter.",
        "自分のコマンドを使う。{name} はパラメータ",
    ),
    "option_name": ("Name of the project (default: the folder's name).", "プロジェクト名（既定はフォルダ名）"),
    "option_team": ("Name of the team.", "チーム名"),
    "option_copy": (
        "Copy the recipe's program into the project so that you can change it.",
        "レシピのプログラムをプロジェクトにコピーする（改造用）",
    ),
    "completion_short": ("Print a shell completion script.", "シェル補完スクリプトを表示"),
    "completion_help": (
        'Print a completion script.\n\n\b\n  eval "$(hackathon completion bash)"     in ~/.bashrc',
        '補完スクリプトを表示します。\n\n\b\n  eval "$(hackathon completion bash)"     ~/.bashrc に書く',
    ),
    "plugins_short": (
        "List what installed packages add to the toolkit.",
        "インストール済みパッケージが追加する機能の一覧",
    ),
    "plugins_help": (
        "List the commands, recipes, clusters, rules, templates, and schedulers that installed packages add, and say "
        "which cannot be used and why. The exit code is 1 if there are any.\n\n\b\n  hackathon plugins",
        "インストール済みのパッケージが追加するコマンド・レシピ・クラスタ・ルール・テンプレート・スケジューラの一覧を表示し、"
        "使えないものとその理由を示します。使えないものがあれば終了コードは 1 です。\n\n\b\n  hackathon plugins",
    ),
    "shell_short": (
        "Start an interactive job in the project's environment.",
        "プロジェクトと同じ環境で対話ジョブを始める",
    ),
    "shell_help": (
        "Start an interactive job (`qsub -I`, `salloc`) with the header and the environment of the project's jobs.\n\n\b\n"
        "  hackathon shell --nodes 1 --walltime 30m\n"
        "  hackathon shell --dry-run           only show the command",
        "プロジェクトのジョブと同じヘッダ・環境で対話ジョブ（`qsub -I`、`salloc`）を始めます。\n"
        "\n"
        "\b\n"
        "  hackathon shell --nodes 1 --walltime 30m\n"
        "  hackathon shell --dry-run           コマンドだけを表示",
    ),
    "submit_short": ("Submit a job, once or several times.", "ジョブを投入する（繰り返しも可）"),
    "submit_help": (
        "Submit the job of the project, or of a recipe. The job runs from a snapshot of the source, so you can keep "
        "editing.\n"
        "\n"
        "\b\n"
        "  hackathon submit --nodes 2 --wait\n"
        "  hackathon submit torch-ddp --cluster laptop --processes 2 -p epochs=5\n"
        "  hackathon submit --repeat 3 --note 'pinned memory'\n"
        "  hackathon submit --after ok:k3x9 --dry-run\n"
        "  hackathon submit --again k3x9        after an interrupted submission",
        "プロジェクト（またはレシピ）のジョブを投入します。ソースのスナップショットから実行されるので、"
        "編集を続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon submit --nodes 2 --wait\n"
        "  hackathon submit torch-ddp --cluster laptop --processes 2 -p epochs=5\n"
        "  hackathon submit --repeat 3 --note 'pinned memory'\n"
        "  hackathon submit --after ok:k3x9 --dry-run\n"
        "  hackathon submit --again k3x9        投入が中断されたとき",
    ),
    "option_after": (
        "Start after that run has succeeded (ok:) or finished (any:).",
        "指定した実行の成功後（ok:）または終了後（any:）に始める",
    ),
    "option_again": (
        "Submit a run again after an interrupted submission, if no job of it is found.",
        "投入が中断された実行を、ジョブが見つからない場合に再投入する",
    ),
    "scale_short": ("Measure scaling: one job per process count.", "スケーリングを測る（プロセス数ごとに1ジョブ）"),
    "scale_help": (
        "Measure how the project scales: one job per process count, with the same number of threads at every point. "
        "Weak scaling keeps the batch per process fixed, strong scaling the global batch. Points that are not submitted "
        "yet are kept in the study.\n"
        "\n"
        "\b\n"
        "  hackathon scale --processes 1,2,4 --wait\n"
        "  hackathon scale --processes 1,2,4,8 --mode strong --repeat 3\n"
        "  hackathon scale --processes 1,2,4,8 --max-queued 2\n"
        "  hackathon scale --processes 1,2 --vary lr=0.1,0.2 --vary env.NCCL_ALGO=Ring,Tree\n"
        "  hackathon scale --resume            submit the remaining points",
        "プロジェクトのスケーリングを測ります。プロセス数ごとに 1 ジョブを投入し、スレッド数は全点で同じにします。"
        "弱スケーリング（weak）ではプロセスあたりのバッチを、強スケーリング（strong）では全体のバッチを固定します。"
        "未投入の点は測定に記録されます。\n"
        "\n"
        "\b\n"
        "  hackathon scale --processes 1,2,4 --wait\n"
        "  hackathon scale --processes 1,2,4,8 --mode strong --repeat 3\n"
        "  hackathon scale --processes 1,2,4,8 --max-queued 2\n"
        "  hackathon scale --processes 1,2 --vary lr=0.1,0.2 --vary env.NCCL_ALGO=Ring,Tree\n"
        "  hackathon scale --resume            残りを投入する",
    ),
    "option_mode": (
        "weak: fixed batch per process; strong: fixed global batch.",
        "weak: プロセスあたりのバッチを固定。strong: 全体のバッチを固定",
    ),
    "option_scale_repeat": ("Number of runs per point.", "各点の測定回数"),
    "option_max_queued": (
        "Maximum number of jobs in the queue; `--resume` or `--wait` submits the rest.",
        "キューに入れるジョブ数の上限。残りは `--resume` か `--wait` が投入する",
    ),
    "option_resume": (
        "Submit the remaining points of a study (default: the newest).",
        "残りの点を投入する（既定は最新の測定）",
    ),
    "status_short": ("Show the states of runs.", "実行の状態を表示"),
    "status_help": (
        "Show the states of the newest runs, or of the runs and studies given. A part of a run's id that no other one has names it.\n"
        "\n"
        "\b\n"
        "  hackathon status\n"
        "  hackathon status k3x9 --wait\n"
        "  hackathon status --all --json",
        "最近の実行、または指定した実行・測定の状態を表示します。ID は、一意に決まる一部だけでも指定できます。\n"
        "\n"
        "\b\n"
        "  hackathon status\n"
        "  hackathon status k3x9 --wait\n"
        "  hackathon status --all --json",
    ),
    "option_all": ("All runs, not only the newest 20.", "最新 20 件だけでなくすべて"),
    "cancel_short": ("Cancel jobs.", "ジョブを取り消す"),
    "cancel_help": (
        "Cancel the jobs of runs, or all unfinished jobs of a study. Without a name, your unfinished runs are listed; if "
        "there is only one, you are asked about it.\n"
        "\n"
        "\b\n"
        "  hackathon cancel k3x9",
        "実行のジョブを取り消します。測定を指定すると、未終了のジョブをすべて取り消します。省くと未終了の実行を一覧し、1 件だけなら"
        "取り消すかどうかを尋ねます。\n"
        "\n"
        "\b\n"
        "  hackathon cancel k3x9",
    ),
    "results_short": ("Show speed-up and parallel efficiency of a study.", "速度向上率と並列効率を表示"),
    "results_help": (
        "Show a study: median and spread of repeats, speed-up, parallel efficiency, the 75 % target, and failed points "
        "with their cause. Without a name: the newest study or run.\n"
        "\n"
        "\b\n"
        "  hackathon results\n"
        "  hackathon results --plot scaling.svg\n"
        "  hackathon results --format csv > scaling.csv\n"
        "  hackathon results --baseline k3x9   compare with a run of another study",
        "測定結果（繰り返しの中央値とばらつき、速度向上率、並列効率、75 % の線、失敗した点とその理由）を表示します。"
        "名前を省くと最新の測定または実行です。\n"
        "\n"
        "\b\n"
        "  hackathon results\n"
        "  hackathon results --plot scaling.svg\n"
        "  hackathon results --format csv > scaling.csv\n"
        "  hackathon results --baseline k3x9   別の測定の実行と比べる",
    ),
    "option_format": ("Output format.", "出力形式"),
    "option_plot": ("Write a plot to FILE (.svg or .png).", "グラフを FILE(.svg / .png)に描く"),
    "option_baseline": ("Use this run as the base.", "この実行を基準にする"),
    "option_metric": ("Show this metric instead of the study's.", "測定の指標の代わりに、この指標で表示する"),
    "adopt_short": ("Track a job submitted by hand.", "手動で投入したジョブを取り込む"),
    "adopt_help": (
        "Create a run for a job that was submitted without this tool, so that status, logs, and results can show it.\n"
        "\n"
        "\b\n"
        "  hackathon adopt 123456\n"
        "  hackathon adopt ~/old-run-folder",
        "このツールを使わずに投入したジョブを実行として取り込み、status・logs・results で扱えるようにします。\n\n\b\n"
        "  hackathon adopt 123456\n  hackathon adopt ~/old-run-folder",
    ),
    "option_locked": (
        "Install exactly the files whose hashes the recipe records for this Python and machine.",
        "この Python とマシン用に記録されたハッシュと一致するファイルだけをインストールする",
    ),
    "option_cancel_yes": (
        "Cancel also a job whose name or owner the scheduler does not confirm.",
        "名前や所有者をスケジューラで確認できないジョブも取り消す",
    ),
    "option_yes": ("Do not ask for confirmation.", "確認しない"),
    "option_rerun_dry": (
        "Only show what has changed, and what an RO-Crate would run.",
        "違いと、RO-Crate が実行する内容だけを表示する",
    ),
    "option_rerun_yes": (
        "Run the program of an RO-Crate without asking.",
        "RO-Crate のプログラムを確認なしで実行する",
    ),
    "doctor_short": ("Check whether this account and machine are ready.", "アカウントとマシンの準備状況を調べる"),
    "doctor_help": (
        "Check Python, scheduler, modules, folder, disk space, quota, GPU driver, and clock, and show what to do about "
        "problems. --job also submits a short job that checks whether nodes can start processes on each other. Exit "
        "code 1: a check failed. --security shows instead what other users could read or change.\n"
        "\n"
        "\b\n"
        "  hackathon doctor\n"
        "  hackathon doctor --cluster slurm --job --nodes 2\n"
        "  hackathon doctor --security",
        "Python、スケジューラ、モジュール、フォルダ、空き容量、クォータ、GPU ドライバ、時計を調べ、対処を示します。--job では数秒の"
        "ジョブを投入し、ノード間で起動できることを確かめます。問題があれば終了コード 1。--security では、代わりに他の利用者が"
        "読めるもの・変更できるものを示します。\n\n\b\n"
        "  hackathon doctor\n  hackathon doctor --cluster slurm --job --nodes 2\n  hackathon doctor --security",
    ),
    "option_doctor_job": ("Also submit a short job and wait for it.", "数秒のジョブも投入して確かめる"),
    **DATA,
    **TROUBLE,
    **RULES,
    **OUTPUTS,
    **PAGES,
    **EVENT,
    **CLUSTERS,
    **SPEED,
    **SCRIPTS,
    **SURVEY,
}
