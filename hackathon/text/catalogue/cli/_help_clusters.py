"""What `--help` shows of `hackathon clusters`; a part of `help`."""

CLUSTERS: dict[str, tuple[str, str]] = {
    "clusters_short": (
        "List clusters, show or check a profile, write a new one.",
        "クラスタの一覧・表示・確認・新規作成",
    ),
    "clusters_help": (
        "List the clusters that have a profile, show one, compare one with the machine, or write a new one. "
        "`hackathon clusters` alone lists them; `hackathon clusters NAME` shows one, and `--live` and `--measure` work "
        "there too. A question mark marks unverified values.\n"
        "\n"
        "\b\n"
        "  hackathon clusters\n"
        "  hackathon clusters reedbush-h\n"
        "  hackathon clusters check slurm --live     compare with what the scheduler says\n"
        "  hackathon clusters new kumo               write a profile of this machine",
        "プロファイルのあるクラスタの一覧と詳細の表示、マシンとの比較、新しいプロファイルの作成を行います。"
        "`hackathon clusters` だけなら一覧、`hackathon clusters 名前` なら詳細を表示します（`--live` と `--measure` も使えます）。"
        "？は未確認の値です。\n"
        "\n"
        "\b\n"
        "  hackathon clusters\n"
        "  hackathon clusters reedbush-h\n"
        "  hackathon clusters check slurm --live     スケジューラの情報と比較する\n"
        "  hackathon clusters new kumo               このマシンのプロファイルを作成する",
    ),
    "clusters_list_short": ("List the clusters that have a profile.", "プロファイルのあるクラスタの一覧"),
    "clusters_list_help": (
        "List the clusters that have a profile: the project's, the event's, your own and the shipped ones.\n"
        "\n\b\n  hackathon clusters list",
        "プロファイルのあるクラスタ（プロジェクト、イベント、個人、同梱）の一覧を表示します。\n"
        "\n\b\n  hackathon clusters list",
    ),
    "clusters_show_short": (
        "Show a cluster's queues and limits, and where each value is from.",
        "クラスタのキュー・上限・各値の出典を表示",
    ),
    "clusters_show_help": (
        "Show one cluster: node, queues, limits, and what was measured there. A question mark marks unverified values.\n"
        "\n"
        "\b\n"
        "  hackathon clusters show reedbush-h\n"
        "  hackathon clusters show miyabi-g --evidence   where each value is from, and of which day\n"
        "  hackathon clusters show slurm --live          ask the scheduler now",
        "クラスタのノード構成、キュー、上限、測定結果を表示します。？は未確認の値です。\n"
        "\n"
        "\b\n"
        "  hackathon clusters show reedbush-h\n"
        "  hackathon clusters show miyabi-g --evidence   各値の出典と日付\n"
        "  hackathon clusters show slurm --live          スケジューラに今の状態を聞く",
    ),
    "clusters_check_short": (
        "Check a profile, and compare it with the machine.",
        "プロファイルを検査し、マシンと比較",
    ),
    "clusters_check_help": (
        "Check a profile's file. With --live, on the machine itself: compare its queues, limits and node with what the "
        "scheduler says, and print the difference as a patch of the profile, with what was confirmed as evidence. Exit "
        "code 1: a value differs, or is missing; 2: the file is wrong; 3: the scheduler does not answer.\n"
        "\n"
        "\b\n"
        "  hackathon clusters check miyabi-g\n"
        "  hackathon clusters check miyabi-g --live\n"
        "  hackathon clusters check kumo --live --output kumo-new.yaml",
        "プロファイルのファイルを検査します。--live を付けると（そのマシン上で）キュー・上限・ノード構成をスケジューラの情報と"
        "比較し、違いをプロファイルへのパッチとして表示します。確認できた値には出典を付けます。終了コード 1 は値の不一致・不足、"
        "2 はファイルの誤り、3 はスケジューラが応答しないことを表します。\n"
        "\n"
        "\b\n"
        "  hackathon clusters check miyabi-g\n"
        "  hackathon clusters check miyabi-g --live\n"
        "  hackathon clusters check kumo --live --output kumo-new.yaml",
    ),
    "clusters_measure_short": (
        "Measure how fast processes communicate, and keep it.",
        "プロセス間の通信速度を測定して保存",
    ),
    "clusters_measure_help": (
        "Measure communication inside a node and between nodes with the recipe `allreduce`, one job after the other, and "
        "keep the result with the cluster.\n"
        "\n"
        "\b\n"
        "  hackathon clusters measure slurm\n"
        "  hackathon clusters measure reedbush-h --queue h-debug --group pz0425 --nodes 2 --nodes 4",
        "レシピ `allreduce` でノード内・ノード間の通信を 1 ジョブずつ測り、結果をクラスタの情報として保存します。\n"
        "\n"
        "\b\n"
        "  hackathon clusters measure slurm\n"
        "  hackathon clusters measure reedbush-h --queue h-debug --group pz0425 --nodes 2 --nodes 4",
    ),
    "clusters_new_short": (
        "Write a profile of this machine.",
        "このマシンのプロファイルを作成",
    ),
    "clusters_new_help": (
        "Write the profile of a machine: ask its scheduler for queues, limits and nodes, and you for the rest. "
        "Values that neither of you gave are guesses and are marked as unverified. The file goes to the project or event, else to your own "
        "profiles; it never replaces another one. Without a terminal, or with --yes, nothing is asked.\n"
        "\n"
        "\b\n"
        "  hackathon clusters new kumo\n"
        '  hackathon clusters new kumo --yes --dialect group=account --environment "module load cuda"\n'
        "  hackathon clusters new kumo --scheduler pbs --no-ask --gpus 4 --output kumo.yaml",
        "マシンのプロファイルを作成します。キュー・上限・ノードはスケジューラに問い合わせ、残りは対話で入力します。"
        "分からない値は推測し、未確認として記録します。ファイルはプロジェクトまたはイベント、なければ個人用の場所に作成し、"
        "既存のファイルは置き換えません。端末以外での実行時や --yes 指定時は質問しません。\n"
        "\n"
        "\b\n"
        "  hackathon clusters new kumo\n"
        '  hackathon clusters new kumo --yes --dialect group=account --environment "module load cuda"\n'
        "  hackathon clusters new kumo --scheduler pbs --no-ask --gpus 4 --output kumo.yaml",
    ),
    "option_live": ("Ask the scheduler about its queues now.", "スケジューラに今のキューを問い合わせる"),
    "option_evidence": ("Show where each value is from, and of which day.", "各値の出典と日付を表示する"),
    "option_check_live": (
        "Compare the profile with what the scheduler of this machine says.",
        "プロファイルをこのマシンのスケジューラの情報と比較する",
    ),
    "option_check_output": (
        "Write the corrected profile to a new file.",
        "修正したプロファイルを新しいファイルに書く",
    ),
    "option_new_scheduler": (
        "Scheduler of the machine. Default: the one whose commands are found here.",
        "マシンのスケジューラ。既定は、このマシンにコマンドがあるもの",
    ),
    "option_new_title": ("The machine's name for people.", "マシンの表示名"),
    "option_new_gpus": (
        "GPUs in a node, if the scheduler does not tell.",
        "1 ノードの GPU 数（スケジューラから分からない場合）",
    ),
    "option_new_starter": (
        "What starts programs on the nodes: srun, mpirun, pbs_tmrsh, ssh or local.",
        "ノード上でプログラムを起動する方法: srun、mpirun、pbs_tmrsh、ssh、local",
    ),
    "option_new_dialect": (
        "A key of the scheduler's dialect, e.g. group=account; may be repeated.",
        "スケジューラの dialect のキー。例: group=account（繰り返し指定可）",
    ),
    "option_new_environment": (
        "A shell line that jobs begin with; may be repeated.",
        "ジョブの先頭に書くシェルの行（繰り返し指定可）",
    ),
    "option_new_visible": (
        "A folder that compute nodes see; may be repeated. Default: all.",
        "計算ノードから見えるフォルダ（繰り返し指定可）。既定はすべて",
    ),
    "option_new_no_ask": ("Do not ask the scheduler.", "スケジューラに問い合わせない"),
    "option_new_yes": ("Ask no questions.", "質問しない"),
    "option_new_output": ("Write to this new file.", "作成するファイル"),
}
