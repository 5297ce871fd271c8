"""Texts of `hackathon profile` and of its page."""

from hackathon.text.catalogue.profiling._profile_findings import FINDINGS

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- options
    "option_command": (
        "Profile this command instead of the project's.",
        "プロジェクトのコマンドの代わりに、このコマンドをプロファイルする",
    ),
    "option_from": (
        "Read trace files of torch.profiler (.json, .json.gz) instead of running anything; one file for each rank.",
        "実行せずに torch.profiler のトレース（.json、.json.gz）を読む。ランクごとに 1 ファイル",
    ),
    "option_skip": (
        "Steps to pass over before anything is measured.",
        "計測を始める前に飛ばすステップ数",
    ),
    "option_steps": ("Steps to record.", "記録するステップ数"),
    "option_memory": (
        "Also record the memory of tensors (more overhead).",
        "テンソルのメモリも記録する（オーバーヘッドが増える）",
    ),
    "option_seconds": (
        "End the run after this many seconds even if nothing was recorded.",
        "記録できなくても、この秒数で実行を終了する",
    ),
    "option_html": (
        "Write a report page; the page in the other language is written beside it.",
        "レポートのページを書き出す。もう一方の言語のページも隣に書き出す",
    ),
    "option_trace": (
        "Write the traces of all ranks as one file for ui.perfetto.dev (packed if the name ends with .gz).",
        "全ランクのトレースを ui.perfetto.dev で開ける 1 ファイルに書き出す（名前が .gz で終われば圧縮）",
    ),
    # ---- while it runs
    "goes_on": (
        "continuing with run {run} of an interrupted `hackathon profile`",
        "中断した `hackathon profile` の実行 {run} を引き継ぎます",
    ),
    "recording": (
        "the run ends once {steps} {steps:step is|steps are} recorded; Ctrl-C stops waiting, the same command continues",
        "{steps} ステップを記録すると実行を終了します。Ctrl-C で待つのをやめても、同じコマンドで続けられます",
    ),
    "merged": (
        "{file}: {count} events; open it in https://ui.perfetto.dev",
        "{file}: イベント {count} 件。https://ui.perfetto.dev で開けます",
    ),
    "not_kept": (
        "the profile could not be kept with run {run}, so pages do not show it: {what}",
        "プロファイルを実行 {run} に保存できなかったため、ページには表示されません: {what}",
    ),
    "page": ("page: {file}", "ページ: {file}"),
    # ---- errors
    "from_and_command": (
        "--from reads traces and runs nothing: it cannot be combined with --command",
        "--from はトレースを読むだけで何も実行しないため、--command と同時に指定できません",
    ),
    "options_with_from": (
        "--from records nothing: it cannot be combined with {names}",
        "--from では何も記録しないため、{names} と同時に指定できません",
    ),
    "one_target": ("more than one target: {targets}", "対象が複数あります: {targets}"),
    "one_target_hint": (
        "To read trace files, write --from before them.",
        "トレースを読むには、ファイル名の前に --from を付けてください。",
    ),
    "options_with_run": (
        "{names} cannot be combined with run {run}: it is shown, or recorded again, as it was",
        "{names} は実行 {run} と同時に指定できません。実行は元の条件のまま表示または記録されます",
    ),
    "options_with_run_hint": (
        "To record a job with other options, name its recipe or its project's folder instead of a run.",
        "オプションを変えて記録するには、実行の代わりにレシピかプロジェクトのフォルダを指定してください。",
    ),
    "command_of_recipe": (
        "--command replaces the command of a project, and the target is a recipe",
        "--command はプロジェクトのコマンドを置き換えますが、対象はレシピです",
    ),
    "command_of_recipe_hint": (
        "Create a project for your program with `hackathon init`.",
        "`hackathon init` で自分のプログラムのプロジェクトを作成してください。",
    ),
    "not_torch": (
        "{framework} programs are not recorded: only those of torch, TensorFlow and Chainer are",
        "{framework} のプログラムは記録できません（対象は torch、TensorFlow、Chainer）",
    ),
    "not_torch_hint": ("{offer}", "{offer}"),
    "offer_jax": (
        "JAX has its own: `jax.profiler.trace(DIR)`, shown by Perfetto.",
        "JAX には独自の方法があります。`jax.profiler.trace(DIR)` で記録し、Perfetto で表示します。",
    ),
    "offer_mxnet": (
        "MXNet has its own: `mxnet.profiler.set_config(…)` and `set_state('run')`.",
        "MXNet には独自の方法があります。`mxnet.profiler.set_config(…)` と `set_state('run')` を使います。",
    ),
    "unreadable": ("{file} cannot be read: {what}", "{file} を読めません: {what}"),
    "not_json": (
        "{file} is not a trace: it contains no JSON",
        "{file} はトレースではありません（JSON ではありません）",
    ),
    "not_json_hint": (
        'torch.profiler writes one with `export_chrome_trace("rank-0.json.gz")`.',
        'torch.profiler では `export_chrome_trace("rank-0.json.gz")` で書き出せます。',
    ),
    "no_events": (
        "{file} has no event of torch.profiler",
        "{file} に torch.profiler のイベントがありません",
    ),
    "no_events_hint": (
        "Traces of other programs (TensorFlow, Nsight) are not read.",
        "ほかのプログラム（TensorFlow、Nsight）のトレースは読めません。",
    ),
    "torn": (
        "{file} is damaged: no event of torch.profiler could be read",
        "{file} は壊れています。torch.profiler のイベントを 1 つも読めませんでした",
    ),
    "same_rank": (
        "{first} and {second} are both of rank {rank}",
        "{first} と {second} はどちらもランク {rank} のトレースです",
    ),
    "same_rank_hint": (
        "Give one file for each rank of one run.",
        "1 回の実行について、ランクごとに 1 ファイルを指定してください。",
    ),
    "no_time": ("{file} records no time", "{file} には時間の記録がありません"),
    "not_written": ("{file} could not be written: {what}", "{file} を書き込めませんでした: {what}"),
    "none": ("run {run} has no trace", "実行 {run} にはトレースがありません"),
    "none_hint": (
        "The recorder waits for `torch.optim`, TensorFlow or Chainer. Programs started with `python -E`, `-I` or `-S`, or in a container without "
        "the run's folder, do not load it. See why the run ended: hackathon diagnose {run!q}",
        "記録は `torch.optim`、TensorFlow、Chainer のどれかの読み込みを待って始まります。`python -E`、`-I`、`-S` で起動したプログラムや、実行のフォルダが"
        "見えないコンテナでは記録されません。終了の原因: hackathon diagnose {run!q}",
    ),
    "none_steps": (
        "run {run} ended after {steps} {steps:step|steps}; recording takes {needed}",
        "実行 {run} は {steps} ステップで終了しました。記録には {needed} ステップが必要です",
    ),
    "none_steps_hint": (
        "Train longer, or record fewer steps: --skip 2 --steps 3",
        "学習を長くするか、記録するステップを減らしてください: --skip 2 --steps 3",
    ),
    "none_failed": ("run {run} could not be recorded: {text}", "実行 {run} を記録できませんでした: {text}"),
    "none_failed_hint": (
        "The recorder needs torch 2.0, TensorFlow 2 or Chainer 7, and that no other profiler runs in the program.",
        "記録には torch 2.0 以降、TensorFlow 2、Chainer 7 のどれかが必要です。プログラムがほかのプロファイラを実行している間は記録できません。",
    ),
    "none_follower": (
        "run {run} has no trace: only the first worker of MultiWorkerMirroredStrategy is recorded, and it wrote none",
        "実行 {run} にはトレースがありません。MultiWorkerMirroredStrategy では先頭のワーカーだけを記録しますが、その記録がありません",
    ),
    "none_follower_hint": (
        "See why the run ended: hackathon diagnose {run!q}",
        "終了の原因: hackathon diagnose {run!q}",
    ),
    "none_optimizer": (
        "run {run} made no step of a torch optimizer, so no trace was written",
        "実行 {run} では torch のオプティマイザのステップがなかったため、トレースがありません",
    ),
    "none_framework": (
        "run {run} did not import torch, TensorFlow or Chainer, so no trace was written",
        "実行 {run} は torch、TensorFlow、Chainer のどれも読み込まなかったため、トレースがありません",
    ),
    "none_tensorflow": (
        "run {run} made no step of a TensorFlow program that applies gradients, so no trace was written",
        "実行 {run} では勾配を適用する TensorFlow のステップがなかったため、トレースがありません",
    ),
    "none_tensorflow_hint": (
        "Programs that use sessions of TensorFlow 1, or change variables without an optimizer, are not seen. "
        "`tf.profiler.experimental.start(DIR)` and `stop()` record them for TensorBoard.",
        "TensorFlow 1 のセッションを使うプログラムと、オプティマイザを使わずに変数を更新するプログラムは対象外です。"
        "`tf.profiler.experimental.start(DIR)` と `stop()` で記録し、TensorBoard で表示してください。",
    ),
    "none_chainer": (
        "run {run} made no step of a Chainer optimizer, so no trace was written",
        "実行 {run} では Chainer のオプティマイザのステップがなかったため、トレースがありません",
    ),
    "none_chainer_hint": (
        "Optimizers that are not made from `chainer.optimizer.GradientMethod` are not seen; "
        "`chainer.function_hooks.TimerHook` times functions without steps.",
        "`chainer.optimizer.GradientMethod` から派生していないオプティマイザは対象外です。"
        "ステップに分けずに関数の時間を測るには `chainer.function_hooks.TimerHook` を使ってください。",
    ),
    "none_jax": (
        "run {run} is a JAX program: torch.profiler cannot record it",
        "実行 {run} は JAX のプログラムのため、torch.profiler では記録できません",
    ),
    "none_mxnet": (
        "run {run} is an MXNet program: torch.profiler cannot record it",
        "実行 {run} は MXNet のプログラムのため、torch.profiler では記録できません",
    ),
    # ---- what is shown
    "head": (
        "{processes} {processes:process|processes}, {steps} recorded {steps:step|steps} of {milliseconds} ms, on {where}",
        "{processes} プロセス、記録 {steps} ステップ（1 ステップ {milliseconds} ms）、{where}",
    ),
    "of_run": ("run {run}", "実行 {run}"),
    "rank": ("rank", "ランク"),
    "mean": ("mean", "平均"),
    "part_data": ("data", "データ"),
    "part_host": ("host", "ホスト"),
    "part_compute": ("compute", "計算"),
    "part_communication": ("communication", "通信"),
    "part_waiting": ("waiting", "待ち"),
    "part_other": ("other", "その他"),
    "not_known": ("not known", "不明"),
    "communication": (
        "communication: {inside} ms a step in collectives, {exposed} ms of it not hidden by computing (waiting included)",
        "通信: 集団通信は 1 ステップ {inside} ms、うち計算で隠れないのは {exposed} ms（待ちを含む）",
    ),
    "loader": (
        "loader: {inside} ms a step, {exposed} ms of it not hidden by computing",
        "データの読み込み: 1 ステップ {inside} ms、うち計算で隠れないのは {exposed} ms",
    ),
    "tensor_core_share": (
        "Tensor Cores: {share} % of the time of kernels, judged by their names",
        "Tensor コア: カーネル時間の {share} %（カーネル名による判定）",
    ),
    "memory_device": ("memory: at most {size} on a GPU", "メモリ: GPU で最大 {size}"),
    "memory_tensors": ("memory: tensors of at most {size} on the host", "メモリ: ホストのテンソルは最大 {size}"),
    "memory_process": ("memory: at most {size} of main memory in a process", "メモリ: プロセスの主記憶は最大 {size}"),
    "overhead": (
        "overhead of recording: {share} % ({recorded} ms a step, {plain} ms without, {steps} steps)",
        "記録のオーバーヘッド: {share} %（1 ステップ {recorded} ms、記録なしで {plain} ms、{steps} ステップ）",
    ),
    "overhead_unknown": (
        "overhead of recording: not known, too few steps without the profiler",
        "記録のオーバーヘッド: 不明（記録しないステップが少ないため）",
    ),
    "overhead_foreign": (
        "overhead of recording: not known, the traces do not tell",
        "記録のオーバーヘッド: 不明（トレースからは分かりません）",
    ),
    "operators": ("operator (CPU, own time)", "演算（CPU、それ自体の時間）"),
    "kernels": ("kernel", "カーネル"),
    "page_device": ("Time of operators on the GPU", "GPU での演算の時間"),
    "device_operator": ("operator (GPU, kernels that it launched)", "演算（GPU、起動したカーネル）"),
    "device_kernels": ("kernels a step", "カーネル数/ステップ"),
    "device_share": ("of all kernels", "カーネル全体に占める割合"),
    "device_known": (
        "The operator is known for {share} % of the time of kernels; collectives are not counted.",
        "カーネル時間の {share} % について、起動した演算が分かっています（集団通信を除く）。",
    ),
    "calls": ("calls a step", "回数/ステップ"),
    "milliseconds": ("ms a step", "ms/ステップ"),
    "tensor_cores": ("Tensor Cores", "Tensor コア"),
    "yes": ("yes", "あり"),
    "no": ("no", "なし"),
    "gaps": (
        "longest gaps (nothing is computed, the program is busy elsewhere):",
        "最も長い空き（計算が行われず、プログラムが別の処理をしている区間）:",
    ),
    "gap": (
        "{milliseconds} ms on rank {rank} in step {step}: after {after}, before {before}",
        "{milliseconds} ms、ランク {rank}、ステップ {step}: {after} の後、{before} の前",
    ),
    "nsys": ("With Nsight Systems, on each rank:", "Nsight Systems を使う場合（各ランクで）:"),
    # ---- the page
    "page_title": ("Profile", "プロファイル"),
    "page_step": ("One step on each rank", "各ランクの 1 ステップ"),
    "page_step_text": (
        "Step {step}, whose length is the median. All ranks on one clock, {milliseconds} ms from left to right.",
        "長さが中央値のステップ {step}。全ランクの時計を合わせています。左端から右端まで {milliseconds} ms。",
    ),
    "page_shares": ("Where the time of a step goes", "1 ステップの時間の内訳"),
    "page_numbers": ("Figures", "数値"),
    "page_operators": ("Operators", "演算"),
    "page_kernels": ("Kernels", "カーネル"),
    "page_gaps": ("Longest gaps", "最も長い空き"),
    "page_remarks": ("Remarks", "注意"),
    "page_step_column": ("step (ms)", "ステップ (ms)"),
    "operator": ("operator", "演算"),
    "gflops": ("GFLOP", "GFLOP"),
    "gflops_per_s": ("GFLOP/s", "GFLOP/s"),
    "gb_per_s": ("GB/s", "GB/s"),
    "peak_share": ("of the peak", "ピーク比"),
    "intensity": ("FLOP/byte", "FLOP/バイト"),
    "bound": ("bound by", "律速"),
    "bound_memory": ("memory", "メモリ"),
    "bound_compute": ("computing", "演算"),
    "roof_title": ("How much of the device a step uses", "デバイスの利用率"),
    "roof_unknown": (
        "FLOPs of a step: not known. The traces mark no steps, have no shapes, no kernels of the GPU that computes, or no product of matrices, convolution or attention; too little of them could be read; or the GPU does not keep pace with the steps.",
        "1 ステップの FLOP 数: 不明。トレースに、ステップの区切り、形状の記録、計算している GPU のカーネル、または行列積・畳み込み・アテンションがないか、読めた部分が少なすぎるか、GPU の処理がステップと同じ速さで進んでいません。",
    ),
    "roof_flops": (
        "One step of a process: {flops}FLOP in products of matrices, convolutions and attention, {rate}FLOP/s",
        "1 プロセスの 1 ステップ: 行列積・畳み込み・アテンションで {flops}FLOP、{rate}FLOP/s",
    ),
    "mfu": ("MFU {share} % of {peaks}", "MFU {share} %（ピーク: {peaks}）"),
    "mfu_plain": (
        "Recording makes a step {longer} % longer: without it the MFU is about {share} %",
        "記録によりステップが {longer} % 長くなっています。記録しない場合の MFU は約 {share} %",
    ),
    "mfu_unknown": (
        "MFU: not known, for the device's peak is not. A recording that runs to its end measures it; the cluster's profile may have `peak_tflops`.",
        "MFU: デバイスのピークが不明のため不明。記録が最後まで動けば測定されます。クラスタのプロファイルの `peak_tflops` でも指定できます。",
    ),
    "peak_of": ("{rate}FLOP/s in {precision} ({source})", "{precision} {rate}FLOP/s（{source}）"),
    "roof_bytes": (
        "These operators read and write {rate}B/s, each byte counted once; the whole step moves more",
        "これらの演算の読み書きは {rate}B/s（各バイトを 1 回と数える）。ステップ全体ではこれより多くなります",
    ),
    "memory_peak": ("Peak of the memory: {rate}B/s ({source})", "メモリのピーク: {rate}B/s（{source}）"),
    "source_probe": (
        "measured in this job, all ranks of a node at once",
        "このジョブで測定、ノードの全ランク同時",
    ),
    **FINDINGS,
}
