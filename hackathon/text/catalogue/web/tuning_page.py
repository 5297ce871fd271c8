"""Texts of the page of a tuning study."""

MESSAGES = {
    "kind": ("tuning", "パラメータ探索"),
    "lead_most": (
        "Looks for the parameters with the largest {objective}.",
        "{objective} が最大になるパラメータの探索です。",
    ),
    "lead_least": (
        "Looks for the parameters with the smallest {objective}.",
        "{objective} が最小になるパラメータの探索です。",
    ),
    "sampler": ("Sampler", "選び方"),
    "stopper": ("Stopping rule", "打ち切り"),
    "outcome": ("Outcome", "結果"),
    "curves": ("Learning curves", "学習曲線"),
    "coordinates": ("Configurations and results", "設定と結果"),
    "axis_values": ("number of the value", "値の番号"),
    "values": ("values", "値の数"),
    "first": ("first", "最初"),
    "last": ("last", "最後"),
    "alt_curves": (
        "Learning curves of {count} {count:trial|trials}, one line each.",
        "試行 {count} 回の学習曲線。試行ごとに 1 本の線です。",
    ),
    "alt_coordinates": (
        "One line for each of {count} {count:trial|trials}: its value of each parameter, and its result with the best at the top.",
        "試行 {count} 回をそれぞれ 1 本の線で表したもの。各パラメータの値と結果を示し、結果は上ほど良い値です。",
    ),
    "alt_best": ("The best is trial {number} with {settings}.", "最良は試行 {number}（{settings}）です。"),
    "legend": (
        "Blue: the best trial. Grey: finished trials. Orange, dashed: trials that were stopped early. Green: trials that run.",
        "青: 最良の試行。灰色: 完了した試行。オレンジの破線: 途中で打ち切った試行。緑: 実行中の試行。",
    ),
    "trials": ("Trials", "試行"),
    "caption": (
        "All trials: finished ones first, the best one in front",
        "すべての試行（完了した試行を良い順に先に表示）",
    ),
    "best": ("best", "最良"),
    "more": (
        "{count} more {count:run is|runs are} not shown.",
        "ほかに {count} 件の実行があります（表示していません）。",
    ),
}
