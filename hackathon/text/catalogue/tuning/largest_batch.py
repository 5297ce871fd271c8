"""Texts of `hackathon speedup --largest-batch`."""

MESSAGES = {
    "alone": (
        "--largest-batch goes without --try, --rounds, and --apply",
        "--largest-batch は --try、--rounds、--apply と同時に使えません",
    ),
    "memory_alone": ("--memory needs --largest-batch", "--memory は --largest-batch と一緒に使います"),
    "no_parameter": (
        "the program declares no batch size ({names}) as a whole number",
        "バッチサイズ（{names}）が整数のパラメータとして宣言されていません",
    ),
    "no_parameter_hint": (
        "Declare it under `parameters:` in project.yaml and use it in `command`.",
        "project.yaml の `parameters:` に宣言し、`command` で使ってください。",
    ),
    "no_limit": (
        "a machine without GPUs needs a limit of memory",
        "GPU のないマシンではメモリの上限が必要です",
    ),
    "limit_of_gpu": (
        "--memory limits the address space, which CUDA needs much of; with GPUs, the limit is the GPU's memory",
        "--memory はアドレス空間を制限しますが、CUDA は大量に使います。GPU がある場合の上限は GPU のメモリです",
    ),
    "limit_of_gpu_hint": ("Leave --memory out.", "--memory を省いてください。"),
    "no_limit_hint": ("Give one: --memory 8GB", "例: --memory 8GB"),
    "not_in_command": (
        "the command does not contain the value of {name} as it is",
        "コマンドに {name} の値がそのままの形で含まれていません",
    ),
    "not_finished": (
        "the walltime ended the search",
        "探索が実行時間の上限で打ち切られました",
    ),
    "not_finished_hint": (
        "Give it more time: --walltime; or shorter starts: --seconds",
        "--walltime を延ばすか、--seconds を短くしてください",
    ),
    "head_batch": ("batch", "バッチ"),
    "head_what": ("start", "起動"),
    "head_result": ("result", "結果"),
    "head_memory": ("peak memory", "最大メモリ"),
    "kind_search": ("search", "探索"),
    "kind_confirm": ("confirmation, longer", "確認（長め）"),
    "kind_bf16": ("with bf16", "bf16 使用"),
    "kind_recompute": ("with recomputation", "再計算を使用"),
    "kind_checkpointing": ("with activation checkpointing", "アクティベーション再計算を使用"),
    "kind_accumulate": ("half the batch, accumulate 2", "バッチ半分、勾配を 2 回累積"),
    "fits": ("fits", "入る"),
    "out_of_memory": ("out of memory", "メモリ不足"),
    "failed": ("failed for another reason", "別の原因で失敗"),
    "limit": ("limit: {size}", "上限: {size}"),
    "largest": (
        "largest batch that fits: {batch} (predicted from two starts: {predicted})",
        "メモリに入る最大のバッチ: {batch}（2 回の起動からの予測: {predicted}）",
    ),
    "largest_fake": (
        "largest batch that fits: {batch} (predicted from the first start and fake tensors: {predicted}; {starts} starts "
        "of the search)",
        "メモリに入る最大のバッチ: {batch}（最初の起動とフェイクテンソルからの予測: {predicted}、探索の起動 {starts} 回）",
    ),
    "fake_memory": (
        "memory with it: {predicted} predicted by fake tensors, {measured} measured ({error} %)",
        "そのメモリ: フェイクテンソルの予測 {predicted}、測定 {measured}（{error} %）",
    ),
    "fake_no_step": (
        "fake tensors predict nothing here: the first start made no step of a torch optimizer that could be observed",
        "フェイクテンソルでは予測できません: 最初の起動で、観測できる torch のオプティマイザのステップがありませんでした",
    ),
    "fake_no_backward": (
        "fake tensors predict nothing here: no `backward` of a module's result was seen in a step",
        "フェイクテンソルでは予測できません: ステップ中に、モジュールの結果に対する `backward` がありませんでした",
    ),
    "fake_no_growth": (
        "fake tensors predict nothing here: by them, the memory of a step does not grow with the batch",
        "フェイクテンソルでは予測できません: バッチを大きくしてもステップのメモリが増えない計算結果になりました",
    ),
    "fake_compiled": (
        "fake tensors predict nothing here: the step is compiled, and observing it would compile it again",
        "フェイクテンソルでは予測できません: ステップが torch.compile でコンパイルされています（観測すると再コンパイルになるため）",
    ),
    "fake_failed": (
        "fake tensors predict nothing here: the step cannot be computed with them ({text})",
        "フェイクテンソルでは予測できません: ステップをフェイクテンソルで計算できませんでした（{text}）",
    ),
    "confirmed": (
        "use at most {batch}: it leaves a margin, and a longer start confirmed it",
        "推奨: {batch} 以下（余裕があり、長めの起動で確認済み）",
    ),
    "not_confirmed": (
        "{batch} leaves a margin, but a longer start with it failed: use less",
        "{batch} は余裕がある値ですが、長めの起動で失敗しました。より小さくしてください",
    ),
    "none_fits": (
        "no batch fits, not even {batch}",
        "どのバッチも入りません（{batch} でも不可）",
    ),
    "other_failure": (
        "not known: the start with batch {batch} failed, and no rule says that memory was the reason: {log}",
        "不明: バッチ {batch} の起動が失敗しましたが、メモリ不足とは判断できません: {log}",
    ),
    "rate": (
        "learning rate: {batch} instead of {first} samples a step call for {factor} times the rate, with warm-up (linear "
        "scaling rule, Goyal et al. 2017); check the accuracy",
        "学習率: バッチを {first} から {batch} にする場合は {factor} 倍にし、ウォームアップを入れます（線形スケーリング則、"
        "Goyal et al. 2017）。精度を確認してください",
    ),
    "critical": (
        "whether a batch this large needs more epochs (critical batch size) is not known: it was not measured",
        "このバッチで必要なエポック数が増えるか（臨界バッチサイズ）は、測定していないため不明です",
    ),
    "rate_noise": (
        "learning rate: {batch} instead of {first} samples a step call for about {factor} times the rate, by the noise "
        "scale (SGD; McCandlish et al. 2018), with warm-up; check the accuracy",
        "学習率: バッチを {first} から {batch} にする場合は約 {factor} 倍にし、ウォームアップを入れます（ノイズスケールによる値、SGD、"
        "McCandlish et al. 2018）。精度を確認してください",
    ),
    "critical_measured": (
        "gradient noise scale: about {samples} samples, by gradients of {small} and {large} samples after the first steps. "
        "Beyond a batch of that size, all processes together, a larger batch spares few steps. It grows during the training.",
        "勾配のノイズスケール: 約 {samples} サンプル（最初の数ステップの後、{small} サンプルと {large} サンプルの勾配から測定）。"
        "全プロセス合計のバッチがこれを超えると、大きくしてもステップ数はあまり減りません。この値は学習が進むと大きくなります",
    ),
    "critical_bound": (
        "gradient noise scale: at least {large} samples, by gradients of {small} and {large} samples after the first steps; "
        "more cannot be told from them. Up to a batch of that size, all processes together, steps are spared.",
        "勾配のノイズスケール: {large} サンプル以上（最初の数ステップの後、{small} サンプルと {large} サンプルの勾配から測定。"
        "これ以上の値は判定できません）。全プロセス合計のバッチがこの大きさになるまでは、ステップ数を減らせます",
    ),
    "saver": (
        "{name}: {memory} instead of {plain}",
        "{name}: {memory}（なしでは {plain}）",
    ),
}
