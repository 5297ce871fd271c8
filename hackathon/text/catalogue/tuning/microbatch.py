"""Texts of `hackathon microbatch`."""

MESSAGES = {
    "option_memory": (
        "Limit of the address space of each start, e.g. 8GB; needed without a GPU. With a GPU, its memory is the limit.",
        "各起動のアドレス空間の上限（例: 8GB）。GPU がなければ必要。GPU がある場合の上限は GPU のメモリ",
    ),
    "option_fewest": (
        "Take the fewest micro-batches that fit, and compare no speeds.",
        "速度を比べず、メモリに入る最小のマイクロバッチ数にする",
    ),
    "option_copy": (
        "Write micro_batches.py into the project, show the lines that use it, and measure nothing.",
        "micro_batches.py をプロジェクトに書き込み、使い方の行を表示する（測定はしない）",
    ),
    "option_apply": (
        "Write the number of micro-batches into project.yaml, after showing the change.",
        "マイクロバッチの数を、変更内容を表示してから project.yaml に書き込む",
    ),
    "confirm": (
        "Submit a job that starts the program about {starts} times (at most {minutes} min)?",
        "プログラムを約 {starts} 回起動するジョブ（最長 {minutes} 分）を投入しますか？",
    ),
    "head_parts": ("micro-batches", "マイクロバッチ数"),
    "head_size": ("samples", "サンプル数"),
    "head_what": ("start", "起動"),
    "head_result": ("result", "結果"),
    "head_memory": ("peak memory", "最大メモリ"),
    "head_speed": ("speed", "速度"),
    "split": (
        "use {parts} micro-batches for the batch of {batch}: {sizes}",
        "バッチ {batch} を {parts} 個のマイクロバッチに分割します: {sizes}",
    ),
    "whole": (
        "the whole batch of {batch} fits: no micro-batches are needed",
        "バッチ {batch} は全体でメモリに入ります。マイクロバッチは不要です",
    ),
    "rounds": ("speed, median of {count}", "速度、{count} 回の中央値"),
    "faster": (
        "{parts} micro-batches are {ratio} times as fast as {fewest}, the fewest that fit",
        "{parts} 個は、メモリに入る最小の個数 {fewest} 個の {ratio} 倍の速さです",
    ),
    "none_faster": (
        "more micro-batches are not faster outside the noise",
        "マイクロバッチを増やしても、測定のばらつきを超えて速くはなりません",
    ),
    "no_speed": (
        "speeds were not compared: the program printed no throughput, or the walltime was over",
        "速度は比較していません。プログラムがスループットを出力しなかったか、実行時間の上限に達しました",
    ),
    "memory": (
        "peak memory with {parts} micro-batches: planned {planned}, measured {measured} ({percent} %)",
        "マイクロバッチ {parts} 個の最大メモリ: 計画 {planned}、実測 {measured}（{percent} %）",
    ),
    "use": (
        "set it under `variables:` in project.yaml (--apply writes it): {setting}",
        "project.yaml の `variables:` に設定してください（--apply で書き込みます）: {setting}",
    ),
    "batch_normalisation": (
        "batch normalisation sees a micro-batch and not the batch, so the gradient is not the same: {names}",
        "バッチ正規化はバッチ全体ではなくマイクロバッチの統計を使うため、勾配は同じになりません: {names}",
    ),
    "none_fits": (
        "even micro-batches of one sample do not fit into memory",
        "1 サンプルのマイクロバッチでもメモリに入りませんでした",
    ),
    "other_failure": (
        "the start with {parts} micro-batches failed for another reason: {log}",
        "{parts} 個のマイクロバッチの起動が別の原因で失敗しました: {log}",
    ),
    "no_wrapper": (
        "the program does not compute its batches with MicroBatches, so they cannot be divided from outside",
        "プログラムが MicroBatches を使っていないため、外からバッチを分割できません",
    ),
    "lines": (
        "Use these lines; `hackathon microbatch --copy` writes micro_batches.py into the project:",
        "次の行を使ってください（`hackathon microbatch --copy` で micro_batches.py をプロジェクトに書き込みます）:",
    ),
    "copied": ("{path} is in place", "{path} を用意しました"),
    "copy_needs_project": (
        "--copy writes into a project with its own program",
        "--copy は自作プログラムのプロジェクトで使います",
    ),
    "copy_needs_project_hint": (
        "The recipes torch-ddp and torch-ddp-tuned have the file already.",
        "レシピ torch-ddp と torch-ddp-tuned には、このファイルがあります。",
    ),
    "other_file": (
        "{path} is another file: nothing was written",
        "{path} は別のファイルのため、何も書き込みませんでした",
    ),
    "no_scipy": (
        "more than {states} choices have to be weighed, which needs SciPy: the best split is not known",
        "{states} を超える組み合わせの比較には SciPy が必要なため、最適な分割は分かりません",
    ),
    "no_scipy_hint": ("Install it: pip install scipy", "pip install scipy でインストールしてください"),
    "not_solved": (
        "the solver found no best split: {reason}",
        "ソルバーが最適な分割を見つけられませんでした: {reason}",
    ),
    # ---- single layers
    "option_layers": (
        "Find convolutions that are faster in parts of their batch instead.",
        "代わりに、バッチを分割すると速くなる畳み込み層を探す",
    ),
    "option_workspace": (
        "With --layers: limit of a convolution's workspace, e.g. 512MB.",
        "--layers のとき: 畳み込み 1 層のワークスペースの上限（例: 512MB）",
    ),
    "option_shared": (
        "With --layers: all convolutions share the limit.",
        "--layers のとき: 上限を全畳み込み層の合計とする",
    ),
    "layers_alone": (
        "--workspace and --shared need --layers",
        "--workspace と --shared は --layers と一緒に使います",
    ),
    "shared_of_what": ("--shared needs --workspace", "--shared には --workspace が必要です"),
    "no_layers": (
        "run {run} measured no convolution",
        "実行 {run} では畳み込み層が測定されませんでした",
    ),
    "no_layers_hint": (
        "The program needs the lines of `hackathon microbatch --copy`, and convolutions.",
        "`hackathon microbatch --copy` の行と、畳み込み層のあるプログラムが必要です。",
    ),
    "no_room": (
        "a convolution needs more workspace than that even in the smallest parts",
        "最小に分割しても、畳み込み層のワークスペースが上限を超えます",
    ),
    "head_layer": ("layer", "層"),
    "head_time": ("time", "時間"),
    "head_sizes": ("parts", "分割"),
    "head_gain": ("kernels", "カーネルの速度比"),
    "compared": (
        "the program with these splits: {ratio}× ({low} to {high}), {verdict}",
        "この分割を使ったプログラム: {ratio} 倍（{low}～{high}）、{verdict}",
    ),
    "layers_unknown": (
        "no speed was recorded with these splits, so they cannot be compared",
        "この分割を使ったプログラムの速度が記録されず、比較できません",
    ),
    "no_split_pays": (
        "no split of a convolution pays here",
        "この環境で有効な畳み込み層の分割はありません",
    ),
}
