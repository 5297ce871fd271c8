"""Texts of `hackathon compress`."""

MESSAGES = {
    "option_hooks": (
        "Hooks to measure; default: all that the program declares.",
        "測定するフック（既定: プログラムが宣言しているものすべて）",
    ),
    "option_seeds": (
        "Trainings of each hook, each with its own seed; default: as few as a claim needs.",
        "各フックの学習回数（1 回ごとに乱数の種を変える。既定: 判定に必要な最小回数）",
    ),
    "option_seconds": (
        "The most seconds that one training may take; a longer one counts as failed.",
        "1 回の学習の最長秒数（超えた学習は失敗とする）",
    ),
    "option_apply": (
        "Write the hook that pays into project.yaml, after showing the change.",
        "有効なフックを、変更内容を表示してから project.yaml に書き込む",
    ),
    "confirm": (
        "Submit a job that trains {starts} times (at most {minutes} min)?",
        "学習を {starts} 回行うジョブ（最長 {minutes} 分）を投入しますか？",
    ),
    "one_process": (
        "a single process sends no gradients",
        "1 プロセスでは勾配の通信がありません",
    ),
    "one_process_hint": ("Use at least two: --processes 2", "2 プロセス以上を指定してください: --processes 2"),
    "no_hooks": (
        "the program declares no parameter that says how gradients travel ({names}, with the choice none)",
        "勾配の送り方のパラメータ（{names}。選択肢に none を含むもの）が宣言されていません",
    ),
    "no_hooks_hint": (
        "The recipes torch-ddp and torch-ddp-tuned have one. For your own program take compression.py out of the folder that `hackathon init --recipe torch-ddp --copy NEW_FOLDER` makes.",
        "レシピ torch-ddp と torch-ddp-tuned にあります。自作プログラムでは、`hackathon init --recipe torch-ddp --copy 新しいフォルダ` が作る compression.py をコピーして使ってください。",
    ),
    "unknown_hook": (
        "the program has no hook {hook}; it has {hooks}",
        "フック {hook} はありません。使えるのは {hooks} です",
    ),
    "no_seed": (
        "the program declares no seed as a whole number, so trainings cannot be compared seed by seed",
        "乱数の種（seed）が整数のパラメータとして宣言されていないため、種ごとの比較ができません",
    ),
    "no_seed_hint": (
        "Declare it under `parameters:` in project.yaml and use it in `command`.",
        "project.yaml の `parameters:` に宣言し、`command` で使ってください。",
    ),
    # ---- the table
    "baseline": (
        "uncompressed, {processes} processes: {metric} {value} ({low} to {high} over {seeds} seeds), a process sends "
        "{sent} in a step",
        "圧縮なし、{processes} プロセス: {metric} {value}（{seeds} 個の種で {low}～{high}）、1 プロセスが 1 ステップで送る量 {sent}",
    ),
    "accuracy": (
        "its {metric}: {low} to {high}; another seed makes a difference of {spread}",
        "{metric}: {low}～{high}（種を変えたときの差 {spread}）",
    ),
    "no_accuracy": (
        "neither an accuracy nor a loss was recorded at the end, so no gain can be claimed",
        "学習の終わりに精度も損失も記録されなかったため、有効と判定できません",
    ),
    "head_hook": ("hook", "フック"),
    "head_sent": ("sent in a step", "1 ステップの送信量"),
    "head_speed": ("speed", "速度"),
    "head_interval": ("interval", "区間"),
    "head_difference": ("metric (+ is better)", "指標の差（＋は改善）"),
    "head_verdict": ("verdict", "判定"),
    "verdict_pays": ("pays: faster, metric kept", "有効: 速く、指標も同等"),
    "verdict_accuracy": ("makes the metric worse", "指標が悪化"),
    "verdict_unclear": ("faster, but the metric is not clearly kept", "速いが、指標が同等とはいえない"),
    "verdict_slower": ("slower", "遅い"),
    "verdict_none": ("within the noise", "誤差の範囲"),
    "verdict_few": ("too few seeds for a claim", "判定には種が不足"),
    "verdict_failed": ("failed", "失敗"),
    "nothing": (
        "no hook pays here: keep the gradients uncompressed",
        "この環境で有効なフックはありません。圧縮せずに使ってください",
    ),
}
