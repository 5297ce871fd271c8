"""Texts of `hackathon tune`."""

MESSAGES = {
    "option_space": (
        "What varies: NAME=log:a:b, lin:a:b, int:a:b or NAME=x,y,z. Repeatable.",
        "変える範囲: NAME=log:a:b、lin:a:b、int:a:b、または NAME=x,y,z。複数指定可",
    ),
    "option_objective": (
        "What is optimised: METRIC@DURATION (accuracy@10min), METRIC, or time-to:METRIC:VALUE.",
        "最適化するもの: METRIC@時間（例: accuracy@10min）、METRIC、time-to:METRIC:値",
    ),
    "option_direction": (
        "Whether a smaller or a larger value is better. Default: from the recipe's check, else from the metric's name.",
        "小さい値と大きい値のどちらがよいか。既定はレシピの check、なければ指標名から判断",
    ),
    "option_concurrent": ("Trials that run at once. Default: 4.", "同時に実行する試行の数（既定 4）"),
    "option_trials": (
        "Number of trials. Default: 30, or as many as the tokens pay for.",
        "試行の数。既定は 30、--tokens を指定した場合はその範囲で可能な数",
    ),
    "option_tokens": (
        "Tokens that all trials together may cost at most. A trial starts only if its full walltime is still covered.",
        "全試行で使うトークンの上限。試行は、実行時間の上限まで動いても収まる場合だけ開始",
    ),
    "option_sampler": (
        "What proposes trials: optuna (needs the extra `tune`), random, or grid (5 values of a range).",
        "試行の選び方: optuna（追加パッケージ `tune` が必要）、random、grid（範囲は 5 点）",
    ),
    "option_stopper": (
        "What stops trials early: predicted curves, successive halving, the median rule, or nothing.",
        "試行を早く打ち切る方法: predict（曲線の予測）、halving（successive halving）、median（中央値）、none（打ち切らない）",
    ),
    "option_delta": (
        "Stop a trial when its probability of becoming the best is below P.",
        "最良になる確率が P を下回った試行を打ち切る",
    ),
    "option_seed": ("Seed of the proposals.", "試行を選ぶ乱数の種"),
    "option_compare": (
        "Compare the choices of this dimension, such as optimizer: each gets as many trials as the others until one is "
        "surely better; that one gets the rest.",
        "この次元（例: optimizer）の選択肢を比較。差がはっきりするまで同じ数の試行を割り当て、残りの試行は最良のものだけに使用",
    ),
    "not_choices": (
        "--compare {name}: not a dimension of the space with several choices",
        "--compare {name}: 複数の選択肢を持つ次元ではありません",
    ),
    "not_choices_hint": (
        "Example: --space optimizer=sgd,adam --compare optimizer. Dimensions with choices: {names}",
        "例: --space optimizer=sgd,adam --compare optimizer。選択肢を持つ次元: {names}",
    ),
    "compare_few": (
        "{count} choices of {name} need at least {least} trials to be told apart",
        "{name} の {count} 個の選択肢の比較には {least} 回以上の試行が必要です",
    ),
    "compare_few_hint": ("Use --trials {least} or more.", "--trials を {least} 以上にしてください。"),
    "algorithm_best": (
        "{name}: {value} is the best with probability {percent} % ({trials} trials)",
        "{name}: {value} が最良です（確率 {percent} %、試行 {trials} 回）",
    ),
    "algorithm_chance": ("{value} {percent} %", "{value} {percent} %"),
    "algorithms_open": (
        "{name}: not decided, the differences are within the noise; probability of being the best: {chances}",
        "{name}: 差が誤差の範囲内のため、優劣は決まりません。最良である確率: {chances}",
    ),
    "algorithms_too_few": (
        "{name}: not decided; each choice needs at least {least} trials with a result",
        "{name}: 優劣は決まりません。選択肢ごとに結果のある試行が {least} 回以上必要です",
    ),
    "option_inside": (
        "Run the trials inside the allocation that this command runs in: as steps of the Slurm job, otherwise as "
        "processes of this machine, each with its own cores and GPUs.",
        "このコマンドが動いている割り当ての中で試行を実行。Slurm ではジョブのステップ、それ以外ではこのマシンのプロセスとし、試行ごとに別のコアと GPU を使用",
    ),
    "option_warm": (
        "Begin with the best configurations of your team's former studies of the same program and parameters, and "
        "predict by their curves (default); or begin from nothing.",
        "同じプログラムとパラメータに対する自チームの過去の探索の最良の設定から始め、その曲線も予測に使用（既定）。または何も引き継がずに開始",
    ),
    "warm": (
        "warm start: {configurations} {configurations:configuration|configurations} and {curves} "
        "{curves:curve|curves} of former studies ({studies}); --no-warm-start leaves them out",
        "過去の探索（{studies}）から設定 {configurations} 個と曲線 {curves} 本を使います。使わない場合は --no-warm-start",
    ),
    "warm_first": ("tried first: {settings}", "最初に試す設定: {settings}"),
    "warm_outside": (
        "{count} of their best configurations {count:lies|lie} outside the space and {count:is|are} left out",
        "最良の設定のうち {count} 個は範囲外のため使いません",
    ),
    "option_resume": (
        "Continue a tuning study; without a name, the newest. --concurrent, --trials, and --tokens change its limits.",
        "探索を再開（省略時は最新）。--concurrent、--trials、--tokens で上限を変更可能",
    ),
    "option_dry_run": (
        "Show what would be tried and the most it can cost; submit nothing.",
        "投入せず、内容と最大コストだけを表示",
    ),
    "option_yes": ("Do not ask before submitting.", "確認せずに投入"),
    "bad_space": ("cannot read --space {text}", "--space {text} を解釈できません"),
    "bad_space_hint": (
        "Examples: lr=log:1e-4:1, momentum=lin:0.5:0.99, layers=int:2:6, batch_size=32,64,128",
        "例: lr=log:1e-4:1、momentum=lin:0.5:0.99、layers=int:2:6、batch_size=32,64,128",
    ),
    "bad_values": ("cannot read the values of {name}: {text}", "{name} の値を解釈できません: {text}"),
    "bad_values_hint": (
        "Separate values with commas; put a value that contains a comma in quotation marks.",
        "値はカンマで区切ります。カンマを含む値は引用符で囲みます。",
    ),
    "bad_range": ("{name}={text} is not a range of two numbers", "{name}={text} は 2 つの数の範囲ではありません"),
    "bad_range_hint": (
        "Give both ends: log:1e-4:1, lin:0:1; whole numbers with int: int:2:6",
        "両端を指定します: log:1e-4:1、lin:0:1。整数は int:2:6",
    ),
    "reversed": (
        "the range {text} of {name} begins above its end",
        "{name} の範囲 {text} の始まりが終わりより大きくなっています",
    ),
    "reversed_hint": ("Write the smaller number first.", "小さい数を先に書いてください。"),
    "log_not_positive": (
        "the logarithmic range {text} of {name} must be above zero",
        "{name} の対数の範囲 {text} は正の数でなければなりません",
    ),
    "log_not_positive_hint": ("Use lin: for ranges that contain zero.", "0 を含む範囲には lin: を使います。"),
    "range_of_words": (
        "{name} has the type {type} or fixed choices; a range does not fit",
        "{name} の型は {type}、または選択肢が決まっているため、範囲は指定できません",
    ),
    "range_of_words_hint": ("List the values: NAME=a,b,c", "値を並べてください: NAME=a,b,c"),
    "range_of_whole": ("{name} takes whole numbers", "{name} は整数のパラメータです"),
    "range_of_whole_hint": ("Use {name}=int:{low}:{high}", "{name}=int:{low}:{high} を使ってください"),
    "unknown": (
        "the program has no parameter {name}; known: {names}",
        "パラメータ {name} はありません（宣言済み: {names}）",
    ),
    "unknown_hint": (
        "Declare it under `parameters:` in project.yaml and use it in `command`.",
        "project.yaml の `parameters:` に宣言し、`command` で使ってください。",
    ),
    "unknown_near": (
        "the program has no parameter {name}; did you mean {near}?",
        "パラメータ {name} はありません。{near} のことですか？",
    ),
    "twice": ("{name} is given twice in --space", "--space に {name} が 2 回あります"),
    "fixed": ("{name} is in --space and in -p", "{name} が --space と -p の両方にあります"),
    "no_space": ("nothing varies: --space is missing", "変えるものがありません: --space を指定してください"),
    "no_space_hint": (
        "Example: --space lr=log:1e-4:1. Parameters: {names}",
        "例: --space lr=log:1e-4:1。パラメータ: {names}",
    ),
    "no_objective": ("--objective is missing", "--objective を指定してください"),
    "no_objective_hint": (
        "Examples: accuracy@10min, loss, time-to:accuracy:0.95. To continue a study: --resume",
        "例: accuracy@10min、loss、time-to:accuracy:0.95。再開する場合は --resume",
    ),
    "bad_objective": ("cannot read the objective {text}", "目的 {text} を解釈できません"),
    "bad_objective_hint": (
        "Examples: accuracy@10min, loss, time-to:accuracy:0.95",
        "例: accuracy@10min、loss、time-to:accuracy:0.95",
    ),
    "bad_duration": (
        "{text} has no duration from 1 s to 400 days",
        "{text} の時間は 1 秒から 400 日の範囲で指定してください",
    ),
    "bad_duration_hint": (
        "Examples: accuracy@90s, accuracy@10min, accuracy@01:30:00",
        "例: accuracy@90s、accuracy@10min、accuracy@01:30:00",
    ),
    "bad_time_to": ("cannot read the objective {text}", "目的 {text} を解釈できません"),
    "bad_time_to_hint": (
        "Write time-to:METRIC:VALUE, such as time-to:accuracy:0.95",
        "time-to:指標:値 の形で書きます。例: time-to:accuracy:0.95",
    ),
    "kept": ("{options}: fixed when the tuning began", "{options} は探索の開始後に変更できません"),
    "kept_hint": (
        "--resume takes --concurrent, --trials, and --tokens; for other changes begin a new tuning.",
        "--resume で変更できるのは --concurrent、--trials、--tokens です。それ以外を変えるには、新しい探索を始めてください。",
    ),
    "with_resume": (
        "--resume continues with the study's own space and objective",
        "--resume では、元の探索の範囲と目的を使います",
    ),
    "with_resume_hint": (
        "Leave out --space, --objective, --compare, and --inside-allocation.",
        "--space、--objective、--compare、--inside-allocation を省いてください。",
    ),
    "too_many_cores": (
        "{concurrent} trials at once need more cores than the {most} of this allocation",
        "この割り当てのコアは {most} 個のため、{concurrent} 個の試行を同時に実行できません",
    ),
    "too_many_cores_hint": ("Use --concurrent {most}.", "--concurrent {most} を使ってください。"),
    "too_many_gpus": (
        "{concurrent} trials at once need more GPUs than the {most} of this allocation",
        "この割り当ての GPU は {most} 個のため、{concurrent} 個の試行を同時に実行できません",
    ),
    "too_many_gpus_hint": ("Use --concurrent {most}.", "--concurrent {most} を使ってください。"),
    "odd_allocation": (
        "the environment does not say what Slurm job {job} has",
        "Slurm ジョブ {job} の資源を環境変数から読み取れません",
    ),
    "odd_allocation_hint": (
        "Start the command inside the job, with salloc or in a script for sbatch.",
        "salloc、または sbatch のスクリプトを使い、ジョブの中でコマンドを実行してください。",
    ),
    "inside_one_node": (
        "a trial inside an allocation runs on one node, not on {nodes}",
        "割り当ての中の試行は 1 ノードで実行します（{nodes} ノードは使えません）",
    ),
    "inside_one_node_hint": (
        "Ask for fewer processes, or leave out --inside-allocation: then each trial is a job of its own.",
        "プロセス数を減らすか、--inside-allocation を省いて試行ごとに別のジョブとしてください。",
    ),
    "inside_tokens": (
        "trials inside an allocation cost nothing beyond it, so --tokens has no meaning",
        "割り当ての中の試行に追加の費用はかからないため、--tokens は使えません",
    ),
    "inside_tokens_hint": ("Limit the number: --trials 20", "--trials 20 のように数で制限してください。"),
    "share_here": (
        "each trial gets {cores} {cores:core|cores} and {gpus} {gpus:GPU|GPUs} of this machine",
        "試行ごとに、このマシンのコア {cores} 個と GPU {gpus} 個を使います",
    ),
    "share_steps": (
        "each trial is a step of Slurm job {job} ({nodes} {nodes:node|nodes}) with {cores} {cores:core|cores} and "
        "{gpus} {gpus:GPU|GPUs}",
        "試行は Slurm ジョブ {job}（{nodes} ノード）のステップとし、コア {cores} 個と GPU {gpus} 個を使います",
    ),
    "allocation_gone": ("its allocation has ended", "割り当てが終了しました"),
    "nothing_to_resume": ("no tuning study in {folder}", "{folder} に再開できる探索がありません"),
    "other_study": ("{study} is not a tuning study", "{study} は tune の探索ではありません"),
    "other_study_hint": (
        "Continue a scaling study with: hackathon scale --resume",
        "スケーリングの測定は hackathon scale --resume で再開します。",
    ),
    "is_tuned": ("{study} is a tuning study", "{study} は tune の探索です"),
    "is_tuned_hint": ("Continue it with: hackathon tune --resume {study!q}", "再開: hackathon tune --resume {study!q}"),
    "walltime": (
        "the walltime {walltime} ends before the objective's time {needed}",
        "実行時間の上限 {walltime} が目的の時間 {needed} より短くなっています",
    ),
    "walltime_hint": ("Leave --walltime out, or make it longer.", "--walltime を省くか、長くしてください。"),
    "no_rates": ("the profile of {cluster} has no price in tokens", "{cluster} の定義にトークンの単価がありません"),
    "no_rates_hint": (
        "Limit the number instead: --trials 20; or set `rates` in the profile.",
        "--trials 20 のように数で制限するか、定義に `rates` を設定してください。",
    ),
    "too_few_tokens": (
        "one trial can cost {needed} tokens, more than the limit of {tokens}",
        "1 回の試行に最大 {needed} トークンかかり、上限の {tokens} を超えます",
    ),
    "too_few_tokens_hint": (
        "Raise --tokens, or shorten --walltime.",
        "--tokens を増やすか、--walltime を短くしてください。",
    ),
    "no_optuna": ("Optuna is not installed", "Optuna がインストールされていません"),
    "no_optuna_hint": (
        "pip install optuna (or, in a clone of the toolkit: pip install '.[tune]'). Without a network: on a machine with one, pip download optuna -d wheelhouse; copy the folder; pip install --no-index --find-links wheelhouse optuna. Or use --sampler random",
        "pip install optuna（または clone したフォルダで pip install '.[tune]'）を実行してください。ネットワークがない場合は、接続できるマシンで pip download optuna -d wheelhouse を実行し、フォルダをコピーして pip install --no-index --find-links wheelhouse optuna を実行します。--sampler random なら不要です。",
    ),
    "wanted_most": (
        "maximise {objective} over {space}; sampler {sampler}, stopper {stopper}, {concurrent} at once",
        "{objective} を最大化: {space}（選び方 {sampler}、打ち切り {stopper}、同時実行 {concurrent}）",
    ),
    "wanted_least": (
        "minimise {objective} over {space}; sampler {sampler}, stopper {stopper}, {concurrent} at once",
        "{objective} を最小化: {space}（選び方 {sampler}、打ち切り {stopper}、同時実行 {concurrent}）",
    ),
    "confirm": (
        "Start up to {count} trials, {concurrent} at once?",
        "最大 {count} 回の試行を開始しますか（同時実行 {concurrent}）",
    ),
    "as_many": ("as many as the tokens pay for", "トークンの範囲で可能な数"),
    "study_is": ("study {study}", "探索 {study}"),
    "interrupted": (
        "The jobs go on. Continue with: hackathon tune --resume {study!q}    End them with: hackathon cancel {study!q}",
        "ジョブは続いています。再開: hackathon tune --resume {study!q}    取り消し: hackathon cancel {study!q}",
    ),
    "trial": ("trial {number}", "試行 {number}"),
    "state_waiting": ("waiting", "待機中"),
    "state_running": ("running", "実行中"),
    "state_finished": ("finished", "完了"),
    "state_stopped": ("stopped", "打ち切り"),
    "state_stopped_at": ("stopped (chance {percent} %)", "打ち切り（見込み {percent} %）"),
    "state_failed": ("failed", "失敗"),
    "no_value": ("no value of {metric}", "{metric} の値がありません"),
    "column_trial": ("trial", "試行"),
    "column_state": ("state", "状態"),
    "column_result": ("result", "結果"),
    "column_time": ("time", "時間"),
    "column_tokens": ("tokens", "トークン"),
    "column_run": ("run", "実行"),
    "best": (
        "best: trial {number} with {settings}: {objective} = {value}",
        "最良: 試行 {number}（{settings}）: {objective} = {value}",
    ),
    "none_finished": ("no trial has a result", "結果のある試行がありません"),
    "comma": (", ", "、"),
    "summary_trials": ("{count} trials", "試行 {count} 回"),
    "summary_tokens": (
        "{percent} % of the tokens of training all",
        "すべてを最後まで学習した場合の {percent} % のトークン",
    ),
    "summary_time": ("{percent} % of the time of training all", "すべてを最後まで学習した場合の {percent} % の時間"),
    "summary_another": ("; P(another is better) {percent} %", "。次の試行がさらによい確率 {percent} %"),
    "given_up": (
        "the first {count} trials failed; no more are started",
        "最初の {count} 回の試行が失敗したため、新しい試行を開始しません",
    ),
    "given_up_hint": ("Find the cause: hackathon diagnose {run!q}", "原因の確認: hackathon diagnose {run!q}"),
}
