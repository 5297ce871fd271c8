"""What `--help` shows of the commands for data and Python environments; a part of `help`."""

DATA: dict[str, tuple[str, str]] = {
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
    "data_fetch_short": ("Download data that is not there yet.", "まだないデータをダウンロード"),
    "data_fetch_help": (
        "Download data that is not there yet, verify its checksum, and unpack it. An interrupted transfer resumes where "
        "it stopped. Proxies come from http_proxy and https_proxy.\n"
        "\n"
        "\b\n"
        "  hackathon data fetch\n"
        "  hackathon data fetch --again     also data that already exists",
        "まだないデータをダウンロードし、チェックサムを確かめて展開します。途中で切れた場合は続きから取得します。プロキシは "
        "http_proxy・https_proxy に従います。\n\n\b\n"
        "  hackathon data fetch\n"
        "  hackathon data fetch --again     既にあるものも取得し直す",
    ),
    "data_check_short": ("Verify the checksums of all data.", "全データのチェックサムを確認"),
    "data_check_help": (
        "Read every file again and compare it with what was fetched. Exit code 1: something is missing or changed.\n"
        "\n"
        "\b\n"
        "  hackathon data check",
        "全ファイルを読み直し、取得時の内容と比べます。不足や変更があれば終了コード 1 です。\n"
        "\n"
        "\b\n"
        "  hackathon data check",
    ),
    "data_stage_short": ("Show which data jobs copy to their nodes, or copy it now.", "ノードへのコピーの確認・実行"),
    "data_stage_help": (
        "Show which data each job copies to the disks of its nodes before the program starts (`stage: true`), or copy "
        "it now, in an interactive job.\n"
        "\n"
        "\b\n"
        "  hackathon data stage\n"
        "  hackathon data stage --to /tmp/mine",
        "プログラムの開始前に各ノードのディスクにコピーされるデータ（`stage: true`）を表示します。"
        "対話ジョブの中で今コピーすることもできます。\n"
        "\n"
        "\b\n"
        "  hackathon data stage\n"
        "  hackathon data stage --to /tmp/mine",
    ),
    "option_fetch_again": ("Also fetch what is already there.", "既にあるものも取得し直す"),
    "option_stage_to": ("Copy to this folder now.", "今このフォルダにコピーする"),
    "env_short": (
        "Build, list, or show the Python environments of recipes.",
        "レシピの Python 環境を作る・一覧・表示",
    ),
    "env_help": (
        "Python environments of recipes. Each is built once, on a machine with Internet access, in a place that compute "
        "nodes can read: `envs` of the project, or $HACKATHON_ENVS. Jobs of the recipe use it automatically.\n"
        "\n"
        "\b\n"
        "  hackathon env create torch-ddp\n"
        "  hackathon env list\n"
        "  hackathon env show torch-ddp",
        "レシピの Python 環境を、インターネットに出られるマシンで一度だけ、計算ノードから使える場所に作ります。"
        "場所はプロジェクトの `envs`（または $HACKATHON_ENVS）で、そのレシピのジョブは自動でその環境を使います。\n"
        "\n"
        "\b\n"
        "  hackathon env create torch-ddp\n"
        "  hackathon env list\n"
        "  hackathon env show torch-ddp",
    ),
    "env_create_short": ("Build the environment of a recipe or project.", "レシピ・プロジェクトの環境を作る"),
    "env_create_help": (
        "Build the environment of a recipe, or of the project, from its pinned requirements: with uv if it is "
        "installed, otherwise with venv and pip. Every command is printed. An existing environment is left alone; an "
        "interrupted build starts over.\n"
        "\n"
        "\b\n"
        "  hackathon env create\n"
        "  hackathon env create torch-ddp --variant cuda --cluster miyabi-g\n"
        "  hackathon env create torch-ddp --dry-run     only print the commands",
        "レシピまたはプロジェクトの環境を、バージョンを固定した requirements から作ります（uv があれば uv、なければ "
        "venv と pip）。実行するコマンドはすべてそのまま表示されます。既にあれば何もしません。"
        "途中で切れた作成は最初からやり直します。\n"
        "\n"
        "\b\n"
        "  hackathon env create\n"
        "  hackathon env create torch-ddp --variant cuda --cluster miyabi-g\n"
        "  hackathon env create torch-ddp --dry-run     コマンドだけを表示",
    ),
    "env_list_short": ("List environments.", "作成済みの環境の一覧"),
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
        "cpu or cuda; cuda uses `requirements-cuda.txt` if it exists.",
        "cpu か cuda。cuda では `requirements-cuda.txt` があればそれを使う",
    ),
    "option_python": ("Python to build it with (default: this one).", "使う Python（既定は今の Python）"),
    "option_build_again": ("Rebuild an existing environment.", "既にあっても作り直す"),
    "option_on": (
        "Build on this machine, or in a job if compute nodes have Internet access.",
        "このマシンで作るか、（ノードが外部に出られるなら）ジョブで作るか",
    ),
    "option_env_dry_run": ("Print the commands without running them.", "コマンドを表示するだけで何もしない"),
    "option_env_wait": (
        "With --on compute: wait until the job has finished.",
        "--on compute のとき、ジョブの終了まで待つ",
    ),
}
