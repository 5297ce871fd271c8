"""Messages about the grid of a study (`scale --vary`): key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option_vary": (
        "Vary a setting over these values: a parameter, launcher, queue, group, reservation, processes_per_node, "
        "threads, walltime, or env.VARIABLE. Repeat the option for a grid.",
        "設定をこれらの値で変えて測る。パラメータ、launcher、queue、group、reservation、processes_per_node、"
        "threads、walltime、env.変数名。複数指定するとすべての組み合わせを測る",
    ),
    "bad_axis": ("cannot read --vary {text!r}", "--vary {text!r} を解釈できません"),
    "bad_axis_hint": ("write --vary NAME=VALUE,VALUE", "--vary 名前=値,値 と書いてください"),
    "bad_values": ("cannot read the values of {name}: {text!r}", "{name} の値を解釈できません: {text!r}"),
    "bad_values_hint": (
        "separate values with commas; put a value that contains a comma in quotation marks: 'NAME=\"a,b\",c'",
        "値はコンマで区切ります。コンマを含む値は引用符で囲んでください: 'NAME=\"a,b\",c'",
    ),
    "bad_value": ("{value!r} is not a valid value for {name}", "{value!r} は {name} の値として使えません"),
    "bad_variable": (
        "{name!r} is not the name of an environment variable that a study can vary",
        "{name!r} は測定で変えられる環境変数名ではありません",
    ),
    "bad_variable_hint": (
        "use letters, digits and _; names that begin with HK_ or HACKATHON_ are reserved",
        "英字、数字、_ を使ってください。HK_ と HACKATHON_ で始まる名前は予約されています",
    ),
    "bad_launcher": ("{value!r} is not a launcher", "{value!r} というランチャーはありません"),
    "bad_launcher_hint": ("launchers: {known}", "ランチャー: {known}"),
    "twice": ("{name} is varied twice", "{name} が --vary に2回指定されています"),
    "twice_hint": ("give all its values in one --vary", "値は1つの --vary にまとめてください"),
    "fixed": ("{name} is varied and also fixed by {option}", "{name} は --vary と {option} の両方で指定されています"),
    "fixed_hint": ("remove one of them", "どちらか一方を削除してください"),
    "ambiguous": (
        "{name} is both a parameter of the program and an option of the toolkit",
        "{name} はプログラムのパラメータでもツールのオプションでもあります",
    ),
    "ambiguous_hint": (
        "write parameters.{name} or options.{name}",
        "parameters.{name} または options.{name} と書いてください",
    ),
    "unknown": ("{name!r} cannot be varied", "{name!r} は変えられません"),
    "unknown_hint": (
        "parameters: {parameters}; options: {options}; environment variables: env.NAME",
        "パラメータ: {parameters}、オプション: {options}、環境変数: env.名前",
    ),
    "unknown_near": ("{name!r} cannot be varied; did you mean {near}?", "{name!r} は変えられません。{near} ですか?"),
    "unknown_near_hint": (
        "parameters: {parameters}; options: {options}; environment variables: env.NAME",
        "パラメータ: {parameters}、オプション: {options}、環境変数: env.名前",
    ),
    "too_large": (
        "the grid has {count} runs; the limit is {limit}",
        "組み合わせは {count} 件で、上限の {limit} 件を超えます",
    ),
    "too_large_hint": ("vary fewer values, or measure in several studies", "値を減らすか、複数の測定に分けてください"),
    "with_resume": (
        "a resumed study keeps what was planned: --vary, job options, --mode, --repeat, --note and --tag cannot be "
        "combined with --resume",
        "再開した測定の計画は変わりません。--vary、ジョブのオプション、--mode、--repeat、--note、--tag は --resume と"
        "同時に使えません",
    ),
    "with_resume_hint": (
        "leave them out, or start a new study",
        "これらを外すか、新しい測定を始めてください",
    ),
}
