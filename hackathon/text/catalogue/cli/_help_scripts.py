"""What `--help` shows of the commands that read job scripts; a part of `help`."""

SCRIPTS: dict[str, tuple[str, str]] = {
    "option_dialect": (
        "Scheduler whose directives the script has; by default, the script tells.",
        "スクリプトが使うスケジューラ（既定では指示行から判定）",
    ),
    "option_fix": (
        "Write NAME.fixed.EXT beside the script, with the corrections that are safe.",
        "安全な修正だけを加えた 名前.fixed.拡張子 を同じ場所に作成する",
    ),
    "option_lint_rules": ("List all rules.", "すべての規則を一覧表示する"),
    "option_convert_to": (
        "Cluster to convert for; or pbs, slurm, gridengine, pjm, nqsv.",
        "変換先のクラスタ。または pbs、slurm、gridengine、pjm、nqsv",
    ),
    "option_convert_from": (
        "Cluster that the script is for; default: each that has its queue.",
        "変換元のクラスタ（既定はスクリプトのキューがあるもの）",
    ),
    "option_convert_output": (
        "Write the script to a new file instead of standard output.",
        "標準出力の代わりに新しいファイルに書く",
    ),
    "lint_short": ("Find mistakes in a hand-written job script.", "手書きのジョブスクリプトの誤りを検出"),
    "lint_help": (
        "Find mistakes in hand-written job scripts for PBS, Slurm, Grid Engine, PJM or NQSV: directives that the "
        "scheduler silently ignores, refuses or reads as something else, numbers that do not fit, commands that fail in a "
        "job. Each finding shows the line, what the scheduler does, and the corrected line. With --cluster, the limits of "
        "its queues are checked too. Scripts are read, never run; `-` is standard input. Exit code 1: errors were found; "
        "2: a script could not be read.\n"
        "\n"
        "\b\n"
        "  hackathon lint job.sh\n"
        "  hackathon lint job.sh --cluster reedbush-h\n"
        "  hackathon lint *.sh --json\n"
        "  hackathon lint job.sh --fix               creates job.fixed.sh\n"
        "  hackathon lint --rules",
        "PBS、Slurm、Grid Engine、PJM、NQSV 用の手書きのジョブスクリプトの誤りを検出します。スケジューラに黙って無視される、"
        "拒否される、または別の意味になる指示行、矛盾する数値、ジョブ内で失敗するコマンドが対象です。該当する行、"
        "スケジューラの動作、修正後の行を示します。--cluster を付けると、キューの上限も確認します。"
        "スクリプトは読むだけで、実行しません。`-` は標準入力です。終了コード 1 はエラーの検出、2 "
        "は読めないスクリプトがあったことを表します。\n"
        "\n"
        "\b\n"
        "  hackathon lint job.sh\n"
        "  hackathon lint job.sh --cluster reedbush-h\n"
        "  hackathon lint *.sh --json\n"
        "  hackathon lint job.sh --fix               job.fixed.sh を作成\n"
        "  hackathon lint --rules",
    ),
    "convert_short": (
        "Convert the header of a job script for another cluster.",
        "ジョブスクリプトのヘッダーを別のクラスタ用に変換",
    ),
    "convert_help": (
        "Convert the header of a job script for another cluster's scheduler. The commands stay as they are; a directive "
        "without an equivalent becomes a comment, and the exit code is 1. Problems for the new scheduler are "
        "reported on standard error.\n"
        "\n"
        "\b\n"
        "  hackathon convert job.sh --to abci3\n"
        "  hackathon convert job.sh --to slurm -o job-slurm.sh\n"
        "  hackathon convert job.sh --to pjm",
        "ジョブスクリプトのヘッダーを、別のクラスタのスケジューラ用に変換します。コマンドはそのまま残ります。"
        "変換できない指示行はコメントになり、終了コードは 1 です。変換後のスクリプトに問題があれば、"
        "標準エラー出力に表示します。\n"
        "\n"
        "\b\n"
        "  hackathon convert job.sh --to abci3\n"
        "  hackathon convert job.sh --to slurm -o job-slurm.sh\n"
        "  hackathon convert job.sh --to pjm",
    ),
    "option_port_write": (
        "Create NAME.ported.py, or the file of -o. No file is ever overwritten.",
        "名前.ported.py（または -o のファイル）を作成する。既存のファイルは上書きしない",
    ),
    "option_port_output": ("The file that --write creates.", "--write で作成するファイル"),
    "option_port_to": (
        "What a Keras program becomes: Horovod (default), or TensorFlow's MultiWorkerMirroredStrategy.",
        "Keras のプログラムの変換先: Horovod（既定）、または TensorFlow の MultiWorkerMirroredStrategy",
    ),
    "port_short": ("Change a one-GPU training program for many GPUs.", "1 GPU 用の学習プログラムを複数 GPU 用に変更"),
    "port_help": (
        "Show the changes that turn a training program for one GPU into a distributed one. PyTorch becomes "
        "DistributedDataParallel: process group, device of each process, DistributedSampler and set_epoch, saving and "
        "printing on rank 0, no_sync. Chainer becomes ChainerMN. Keras becomes Horovod, or MultiWorkerMirroredStrategy with "
        "`--to multiworker`. In programs of Lightning, the Hugging Face Trainer and Accelerate, which distribute by "
        "themselves, only what is left is changed; if nothing is, the command says so. Only what is sure is changed; the rest "
        "becomes a comment with a question. The program is read, never run; `-` is standard input. Exit code 1: questions are "
        "left; 2: the program could not be read. Needs the package libcst.\n"
        "\n"
        "\b\n"
        "  hackathon port train.py\n"
        "  hackathon port train.py --write           creates train.ported.py\n"
        "  hackathon port train.py --write -o ddp.py\n"
        "  hackathon port keras.py --to multiworker\n"
        "  hackathon port train.py --json",
        "1 GPU 用の学習プログラムを分散学習用にするための変更を示します。PyTorch は DistributedDataParallel に変換します"
        "（プロセスグループ、各プロセスのデバイス、DistributedSampler と set_epoch、ランク 0 だけの保存と表示、no_sync）。"
        "Chainer は ChainerMN に、Keras は Horovod に変換します（`--to multiworker` では MultiWorkerMirroredStrategy）。"
        "Lightning、Hugging Face Trainer、Accelerate は自動で分散化するため、残りの箇所だけを変更し、変更が不要な場合はそのように表示します。"
        "確実な箇所だけを変更し、残りは質問のコメントにします。"
        "プログラムは読むだけで、実行しません。`-` は標準入力です。終了コード 1 "
        "は確認が必要な点が残っていること、2 は読めないことを表します。libcst が必要です。\n"
        "\n"
        "\b\n"
        "  hackathon port train.py\n"
        "  hackathon port train.py --write           train.ported.py を作成\n"
        "  hackathon port train.py --write -o ddp.py\n"
        "  hackathon port keras.py --to multiworker\n"
        "  hackathon port train.py --json",
    ),
}
