"""Messages of `hackathon results --suggest` and `hackathon init --from-log`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option_suggest": (
        "Show the lines of the output that look like a throughput, or else like the time of an epoch or a step, and the "
        "`metrics:` entry that reads each.",
        "出力のうちスループット（なければエポックやステップの時間）らしい行と、それを読み取る `metrics:` の記述を表示する",
    ),
    "option_from_log": (
        "Write the `metrics:` entry for this output of your program.",
        "プログラムのこの出力に合う `metrics:` を書き込む",
    ),
    "paste": (
        "{source}: the first entry below goes into project.yaml; the others are alternatives",
        "{source}: 先頭の記述を project.yaml に貼り付けてください。残りは別の候補です",
    ),
    "known": (
        "already read without configuration: {name} = {value} {unit}; an entry for it replaces this reading",
        "設定なしで読み取れています: {name} = {value} {unit}。記述を有効にすると、そちらが優先されます",
    ),
    "each": (
        "the unit counts one process: the value is that of one process, not of the whole job",
        "単位は 1 プロセスあたりです。値はジョブ全体ではなく 1 プロセスのものです",
    ),
    "none": (
        "no line of {source} looks like a throughput, or like the time of an epoch or a step",
        "{source} にスループットらしい行も、エポックやステップの時間らしい行もありません",
    ),
    "none_hint": (
        "print one at regular intervals, e.g. `throughput: 812.3 samples/s`",
        "プログラムで定期的に出力してください（例: `throughput: 812.3 samples/s`）",
    ),
    "no_output": ("no run of {name} has any output", "{name} の実行にはまだ出力がありません"),
    "try": (
        "No throughput was found. `hackathon results --suggest {name!q}` shows the lines that could be measured",
        "スループットが見つかりません。測定に使えそうな行は `hackathon results --suggest {name!q}` で確認できます",
    ),
    "no_line": (
        "No throughput was found, and no line looks like one: {hint}",
        "スループットが見つからず、それらしい行もありません。{hint}",
    ),
    "alone": ("--suggest goes with --json alone", "--suggest と併用できるのは --json だけです"),
    "only_command": (
        "--from-log describes the output of your own command",
        "--from-log は自分のコマンドの出力に使います",
    ),
    "only_command_hint": ("use --command instead of --recipe", "--recipe の代わりに --command を指定してください"),
    "from_project": (
        "read with the metrics of project.yaml as they are now, not with those of the time of submission",
        "投入時の指標の定義ではなく、現在の project.yaml の定義で読み取っています",
    ),
    "sum": (
        "note on {name}: the unit counts one process; the values of all {processes} processes are added up",
        "注（{name}）: 単位は 1 プロセスあたりです。全 {processes} プロセスの値を合計しました",
    ),
    "times": (
        "note on {name}: the unit counts one process; the value of one was multiplied by {processes}",
        "注（{name}）: 単位は 1 プロセスあたりです。1 プロセスの値を {processes} 倍しました",
    ),
    "unsure": (
        "note on {name}: the unit does not say whether it counts one process or all {processes}; taken as all",
        "注（{name}）: 1 プロセスの値か全 {processes} プロセスの値かを単位から判断できません。全体の値とみなしました",
    ),
    "recorded": (
        "note on {name}: the program prints none; the recorder counted it",
        "注（{name}）: プログラムが表示しないため、外から記録した値です",
    ),
    "coarse": (
        "note on {name}: computed from a printed time of one digit; it may be off by more than 10 %",
        "注（{name}）: 1 桁で表示された時間から計算しました。10 % を超える誤差がありえます",
    ),
}
