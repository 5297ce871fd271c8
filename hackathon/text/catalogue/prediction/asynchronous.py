"""Texts of `hackathon predict --async`: its table, its warnings and its errors."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": (
        "asynchronous SGD, from run {run} with one worker: gradient {compute} ({batch} samples), exchange {exchange}, "
        "update {update}",
        "非同期 SGD。1 ワーカーの実行 {run} からの予測: 勾配 {compute}（{batch} サンプル）、交換 {exchange}、更新 {update}",
    ),
    "bound": (", staleness bound {bound}", "、遅延の上限 {bound}"),
    "column_workers": ("workers", "ワーカー"),
    "column_sweep": ("epoch sweep", "1 エポックの時間"),
    "column_rate": ("samples/s", "samples/s"),
    "column_batch": ("batch (10–90 %)", "バッチ（10～90 %）"),
    "column_staleness": ("staleness (90 %)", "遅延（90 %）"),
    "column_formula": ("formula", "公式"),
    "column_measured": ("measured", "実測"),
    "chosen": (
        "fastest with a batch within {tolerance} of {target}: {workers} {workers:worker|workers}, batch {batch}, {sweep} "
        "an epoch",
        "バッチが {target} の ±{tolerance} に入る最速の構成: {workers} ワーカー（バッチ {batch}、1 エポック {sweep}）",
    ),
    "none_chosen": (
        "no batch is within {tolerance} of {target}; the nearest one has {workers} {workers:worker|workers}, batch {batch}",
        "バッチが {target} の ±{tolerance} に入る構成はありません。最も近いのは {workers} ワーカー（バッチ {batch}）です",
    ),
    "warning_extrapolated": (
        "{workers} workers: no run with so many; the largest one that was measured has {largest}",
        "{workers} ワーカー: この数の実行はありません。実測の最大は {largest} ワーカーです",
    ),
    "warning_few_samples": (
        "{workers} workers: fewer samples than one batch for each worker; at most {most} can train",
        "{workers} ワーカー: サンプルが各ワーカーの 1 バッチに足りません。学習できるのは {most} ワーカーまでです",
    ),
    "warning_update_full": (
        "{workers} workers: the update thread works all the time; more workers make batches larger and gradients staler",
        "{workers} ワーカー: 更新スレッドに空きがありません。ワーカーを増やすとバッチと遅延が大きくなります",
    ),
    "warning_held_back": (
        "{workers} workers: gradients come faster than the server can apply them, and workers wait for it",
        "{workers} ワーカー: 勾配がサーバーの更新より速く届くため、ワーカーが更新を待ちます",
    ),
    "warning_link_full": (
        "{workers} workers: the server exchanges data all the time; more workers do not shorten the epoch",
        "{workers} ワーカー: サーバーの通信に空きがありません。ワーカーを増やしても 1 エポックの時間は短くなりません",
    ),
    "warning_large_updates": (
        "{workers} workers: the cost of an update grows with its gradients, and none with more than {gradients} was "
        "measured",
        "{workers} ワーカー: 更新の時間は勾配の数とともに増えますが、{gradients} 個を超える更新は測定していません",
    ),
    "assumes": (
        "assumed: each worker has cores or a GPU of its own, and exchanges as fast as the one that was measured; workers "
        "on other nodes are slower",
        "前提: 各ワーカーが専用のコアまたは GPU を持ち、測定したワーカーと同じ速さで通信する。別ノードのワーカーはこれより遅くなります",
    ),
    # ---- what is not known
    "no_run": (
        "not known: this project has no successful run of one worker that told its timings",
        "不明: タイミングを記録した 1 ワーカーの成功した実行が、このプロジェクトにありません",
    ),
    "no_run_hint": (
        "This run would tell: hackathon submit async-sgd --processes 1",
        "次の実行でわかります: hackathon submit async-sgd --processes 1",
    ),
    "no_such_run": ("no run has {name} in its id", "ID に {name} を含む実行がありません"),
    "no_such_run_hint": ("`hackathon status` lists the runs.", "実行の一覧: hackathon status"),
    "several_runs": (
        "{name} is part of the ids of {count} runs",
        "{name} を ID に含む実行が {count} 件あります",
    ),
    "several_runs_hint": ("Give more of the id.", "ID をもっと長く指定してください。"),
    "not_succeeded": (
        "not known: run {run} did not succeed ({state})",
        "不明: 実行 {run} は成功していません（{state}）",
    ),
    "not_succeeded_hint": (
        "Take a run that succeeded, or start one: hackathon submit async-sgd --processes 1",
        "成功した実行を指定するか、新しく実行してください: hackathon submit async-sgd --processes 1",
    ),
    "several_workers": (
        "run {run} has {workers} workers, which wait for each other's exchanges; its times are not those of one worker",
        "実行 {run} は {workers} ワーカーです。交換の待ちが含まれるため、1 ワーカーの時間がわかりません",
    ),
    "several_workers_hint": (
        "Take a run of one worker: hackathon submit async-sgd --processes 1",
        "1 ワーカーの実行を指定してください: hackathon submit async-sgd --processes 1",
    ),
    "not_known": (
        "not known: run {run} did not tell {missing}",
        "不明: 実行 {run} に {missing} が記録されていません",
    ),
    "not_known_hint": (
        "The recipe async-sgd tells them at its end. Training must be longer than its warm-up of ten gradients.",
        "レシピ async-sgd は終了時にこれらを記録します。学習はウォームアップ（勾配 10 回）より長くしてください。",
    ),
    "needs_async": ("{option} needs --async", "{option} には --async が必要です"),
    "needs_async_hint": (
        "--workers and --target-batch are about asynchronous SGD; other trainings take --processes.",
        "--workers と --target-batch は非同期 SGD 用です。それ以外の学習では --processes を指定します。",
    ),
    "needs_workers": ("--async needs --workers", "--async には --workers が必要です"),
    "needs_workers_hint": (
        "For example: hackathon predict --async --workers 8,16,64 --target-batch 256",
        "例: hackathon predict --async --workers 8,16,64 --target-batch 256",
    ),
    "not_with_async": ("{option} cannot be used with --async", "{option} は --async と同時に指定できません"),
    "not_with_async_hint": (
        "--async takes a run of one worker, --workers, --target-batch and --json.",
        "--async と併用できるのは、1 ワーカーの実行、--workers、--target-batch、--json です。",
    ),
    "too_many": (
        "{workers} workers cannot be simulated, at most {limit}",
        "シミュレーションできるのは {limit} ワーカーまでです（指定: {workers}）",
    ),
    "too_many_hint": ("Ask for fewer workers.", "ワーカー数を減らしてください。"),
}
