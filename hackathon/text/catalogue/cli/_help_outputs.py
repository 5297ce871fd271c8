"""What `--help` shows of the commands that copy and delete what programs wrote; a part of `help`."""

OUTPUTS: dict[str, tuple[str, str]] = {
    "fetch_short": (
        "Copy files that a program wrote out of its run.",
        "プログラムが書き込んだファイルを実行からコピー",
    ),
    "fetch_help": (
        "Copy models, checkpoints and other files that the program wrote out of a run's folder. `hackathon status RUN` "
        "lists them. Without a pattern all are copied. A pattern is a name, a path or a folder; quote it so that the "
        "shell leaves it alone. Links are not followed out of the run.\n"
        "\n"
        "\b\n"
        "  hackathon fetch k3x9 model_final.pth\n"
        "  hackathon fetch k3x9 'checkpoints/*.pt' --to ~/models",
        "プログラムが書き込んだモデルやチェックポイントなどを実行フォルダからコピーします。一覧は `hackathon status RUN` です。"
        "パターンを省くとすべてコピーします。パターンには名前・パス・フォルダを指定します。シェルに展開されないよう引用符で"
        "囲んでください。実行フォルダの外を指すリンクはたどりません。\n"
        "\n"
        "\b\n"
        "  hackathon fetch k3x9 model_final.pth\n"
        "  hackathon fetch k3x9 'checkpoints/*.pt' --to ~/models",
    ),
    "option_fetch_to": (
        "Copy to this folder, not to the current one.",
        "現在のフォルダの代わりに、このフォルダにコピーする",
    ),
    "option_fetch_force": ("Overwrite existing files.", "既存のファイルを上書きする"),
    "clean_short": (
        "List deletable files with their sizes, and delete them on request.",
        "削除できるものを大きさとともに表示し、確認して削除",
    ),
    "clean_help": (
        "List deletable files with their sizes, and ask before deleting anything. Unfinished runs are never touched. "
        "Models, checkpoints and other files that a program wrote stay; `--outputs` deletes them.\n"
        "\n"
        "\b\n"
        "  hackathon clean\n"
        "  hackathon clean --failed --yes\n"
        "  hackathon clean --outputs k3x9\n"
        "  hackathon clean --sources",
        "削除できるものを大きさとともに表示し、確認してから削除します。終わっていない実行には触れません。プログラムが"
        "書き込んだモデルやチェックポイントなどは残ります。削除するには `--outputs` を使います。\n"
        "\n"
        "\b\n"
        "  hackathon clean\n"
        "  hackathon clean --failed --yes\n"
        "  hackathon clean --outputs k3x9\n"
        "  hackathon clean --sources",
    ),
    "option_failed": (
        "Include failed and cancelled runs, with what their programs wrote.",
        "失敗した実行・取り消した実行を、プログラムが書き込んだファイルも含めて対象にする",
    ),
    "option_sources": (
        "Include source snapshots of finished runs; what their programs wrote there stays.",
        "終了した実行のソースのスナップショットも対象にする（プログラムが書き込んだものは残る）",
    ),
    "option_outputs": (
        "Delete the files that the program of this run wrote (repeatable).",
        "この実行のプログラムが書き込んだファイルを削除する（繰り返し可）",
    ),
}
