"""What `--help` shows of the commands for failure rules; a part of `help`."""

RULES: dict[str, tuple[str, str]] = {
    "rules_short": (
        "Known failures: list, show, or check their rules.",
        "既知の障害のルール: 一覧・表示・検査",
    ),
    "rules_help": (
        "Rules by which `hackathon diagnose` recognises failures: shipped rules, and files in templates/rules of the "
        "project or the event, or in ~/.config/hackathon/rules. A rule there replaces a shipped one with the same id.\n"
        "\n"
        "\b\n"
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
    "rules_show_short": ("Show a rule and where it is defined.", "ルールの内容と由来を表示"),
    "rules_show_help": (
        "Show all fields of a rule, and the file that defines it.\n\n\b\n  hackathon rules show gpu-out-of-memory",
        "ルールの内容すべてと、書かれているファイルを表示します。\n\n\b\n  hackathon rules show gpu-out-of-memory",
    ),
    "rules_check_short": ("Check rule files.", "ルールのファイルを検査"),
    "rules_check_help": (
        "Check rule files, or all on the search path: keys and patterns, and whether each rule finds its own examples. "
        "Exit code 2: a problem was found.\n"
        "\n"
        "\b\n"
        "  hackathon rules check\n"
        "  hackathon rules check templates/rules/ours.yaml",
        "ルールのファイル（省略時は見つかるすべて）を検査します。キーやパターンの誤りと、"
        "各ルールが自分の例を検出できるかを調べます。問題があれば終了コード 2。\n"
        "\n"
        "\b\n"
        "  hackathon rules check\n"
        "  hackathon rules check templates/rules/ours.yaml",
    ),
    "rules_add_short": ("Create a rule from a line in a log.", "ログの 1 行からルールを作る"),
    "rules_add_help": (
        "Create a rule for everybody from a line that you recognised. Numbers, paths, hosts, and similar parts may "
        "differ. The rule is tested at once. Give the line as `hackathon diagnose` shows it; a file that is not here "
        "belongs to the newest run.\n"
        "\n"
        "\b\n"
        "  hackathon rules add --from logs/rank-1.log:812 --advice 'Load the module gcc/12 first.'\n"
        "  hackathon rules add --from slurm-7.out:90 --part mpi --healthy slurm-6.out",
        "見覚えのある行から、全員が使えるルールを作ります。数値・パス・ホスト名などは違っていても一致し、その場で試されます。"
        "行は `hackathon diagnose` の表示のとおりに指定します。手元にないファイルは最新の実行のものとみなします。\n\n\b\n"
        "  hackathon rules add --from logs/rank-1.log:812 --advice '先に module load gcc/12 を実行する'\n"
        "  hackathon rules add --from slurm-7.out:90 --part mpi --healthy slurm-6.out",
    ),
    "option_rules_from": ("The line, for example logs/rank-1.log:812.", "元になる行（例: logs/rank-1.log:812）"),
    "option_rules_add_part": (
        "Part that failed: nccl, mpi, … (default: guessed).",
        "障害の部分（nccl、mpi など。省略時は推定）",
    ),
    "option_rules_level": ("How strongly the line indicates the cause.", "その行がどこまで原因を示すか"),
    "option_rules_title": (
        "Meaning, in one line (default: the line itself).",
        "意味を 1 行で（省略時は行そのもの）",
    ),
    "option_rules_advice": ("How to fix it.", "対処"),
    "option_rules_healthy": (
        "Log of a successful run; a rule that matches it is refused.",
        "正常なログ。一致するルールは作らない",
    ),
    "option_rules_here": ("Where to store the rule.", "ルールを置く場所"),
    "option_rules_part": ("Only this part: gpu, nccl, mpi, ….", "この部分だけ: gpu、nccl、mpi など"),
}
