"""Remarks, verdicts and what stands out in a profile; a part of `profile`."""

FINDINGS: dict[str, tuple[str, str]] = {
    # ---- remarks
    "remark_torn": (
        "{file} is damaged; what stands before the damage was read",
        "{file} は壊れています。壊れた箇所より前だけを読みました",
    ),
    "remark_cut": ("{file} is too large; only its beginning was read", "{file} は大きすぎるため、先頭だけを読みました"),
    "remark_many": (
        "{file} has too many events; only the first ones were read",
        "{file} はイベントが多すぎるため、先頭だけを読みました",
    ),
    "remark_missing": (
        "traces of {count} of {processes} ranks: waiting cannot be told from communication",
        "{processes} ランク中 {count} ランクのトレースです。待ちと通信を区別できません",
    ),
    "remark_follower": (
        "of the workers of MultiWorkerMirroredStrategy only the first is recorded: TensorFlow's profiler can crash the "
        "others",
        "MultiWorkerMirroredStrategy のワーカーのうち、記録するのは先頭だけです。TensorFlow のプロファイラが、ほかのワーカーを"
        "異常終了させることがあるためです",
    ),
    "remark_failed": ("rank {rank} could not be recorded: {text}", "ランク {rank} を記録できませんでした: {text}"),
    "remark_unaligned": (
        "too few collectives could be matched between the hosts to align their clocks: waiting for another host cannot be "
        "told from communication",
        "ホスト間で対応する集団通信が少なすぎるため、時計を合わせられません。ホスト間の待ちと通信を区別できません",
    ),
    "remark_unmarked": (
        "the traces mark no steps: all of the recording counts as one step",
        "トレースにステップの区切りがないため、記録全体を 1 ステップとして扱います",
    ),
    "remark_on_device": (
        "a GPU computes, but its kernels are not in the trace: where the time goes is not known. With torch.profiler, "
        "record ProfilerActivity.CUDA, too; Chainer's kernels cannot be recorded",
        "GPU で計算していますが、トレースにカーネルがないため、時間の内訳は分かりません。torch.profiler では "
        "ProfilerActivity.CUDA も記録してください。Chainer のカーネルは記録できません",
    ),
    "remark_cut_short": (
        "too little of the trace could be read to tell where the time goes",
        "トレースのうち読めた部分が少なすぎるため、時間の内訳は分かりません",
    ),
    "remark_behind": (
        "the GPU falls further and further behind the program, which does not wait for it: the step takes longer than is "
        "told here. Record more steps, or call torch.cuda.synchronize() in each",
        "プログラムが GPU を待たないため、GPU の処理が遅れ続けています。実際のステップは、ここに示す時間より長くかかります。"
        "記録するステップを増やすか、各ステップで torch.cuda.synchronize() を呼んでください",
    ),
    "remark_catching_up": (
        "in these steps the program also waits for work of earlier ones, which it had given to the GPU without waiting: a "
        "step takes less time than is told here. Record more steps, or call torch.cuda.synchronize() in each",
        "これらのステップでは、以前のステップで GPU に渡した処理の完了も待っています。実際のステップは、ここに示す時間より"
        "短くなります。記録するステップを増やすか、各ステップで torch.cuda.synchronize() を呼んでください",
    ),
    "remark_unmatched": (
        "the ranks recorded different collectives: waiting cannot be told from communication",
        "ランクごとに記録された集団通信が異なるため、待ちと通信を区別できません",
    ),
    # ---- what stands out
    "verdict_nothing": (
        "nothing stands out: {share} % of a step is compute",
        "目立つ問題はありません。ステップの {share} % が計算です",
    ),
    "verdict_unmarked": (
        "no verdict: the traces mark no steps",
        "判定できません。トレースにステップの区切りがありません",
    ),
    "verdict_unseen": (
        "no verdict: the traces do not show what the GPU computes",
        "判定できません。GPU で何が計算されたかがトレースにありません",
    ),
    "verdict_cut_short": (
        "no verdict: too little of the traces could be read",
        "判定できません。トレースのうち読めた部分が少なすぎます",
    ),
    "verdict_behind": (
        "no verdict: the GPU falls behind the program's steps",
        "判定できません。GPU の処理がプログラムのステップより遅れていきます",
    ),
    "verdict_catching_up": (
        "no verdict: in these steps the program also waits for work of earlier ones",
        "判定できません。これらのステップでは、以前のステップの処理の完了も待っています",
    ),
    "found_copies": (
        "copy-bound: {share} % of a step ({milliseconds} ms) waits for data, more than half of it for copies to the GPU",
        "GPU へのコピーが律速: ステップの {share} %（{milliseconds} ms）がデータ待ちで、その半分以上は GPU へのコピーです",
    ),
    "advice_copies": (
        "Copy while the GPU computes (pin_memory=True, .to(device, non_blocking=True)), keep on the GPU what is used again, or offload less to the CPU.",
        "計算と並行してコピーする（pin_memory=True と .to(device, non_blocking=True)）、再び使うものを GPU に置いておく、CPU へのオフロードを減らす、などを試してください。",
    ),
    "advice_copies_tensorflow": (
        "End the pipeline with .apply(tf.data.experimental.prefetch_to_device('/GPU:0')), and keep on the GPU what is used again.",
        "パイプラインの最後に .apply(tf.data.experimental.prefetch_to_device('/GPU:0')) を置く、再び使うものを GPU に置いておく、などを試してください。",
    ),
    "found_loader": (
        "loader-bound: {share} % of a step ({milliseconds} ms) waits for data",
        "データの読み込みが律速: ステップの {share} %（{milliseconds} ms）がデータ待ちです",
    ),
    "advice_loader": (
        "Give the DataLoader workers (num_workers=4, persistent_workers=True, pin_memory=True on GPUs) or do less per sample.",
        "DataLoader のワーカーを増やす（num_workers=4、persistent_workers=True、GPU では pin_memory=True）か、サンプルごとの処理を減らしてください。",
    ),
    "advice_loader_tensorflow": (
        "End the pipeline with .prefetch(tf.data.AUTOTUNE), give .map() num_parallel_calls=tf.data.AUTOTUNE, .cache() what does not change, or do less per sample.",
        "パイプラインの最後に .prefetch(tf.data.AUTOTUNE) を置く、.map() に num_parallel_calls=tf.data.AUTOTUNE を指定する、変わらないデータを .cache() で保持する、サンプルごとの処理を減らす、などを試してください。",
    ),
    "advice_loader_chainer": (
        "Use chainer.iterators.MultiprocessIterator, or do less per sample.",
        "chainer.iterators.MultiprocessIterator を使うか、サンプルごとの処理を減らしてください。",
    ),
    "found_host_bound": (
        "host-bound: in {share} % of a step ({milliseconds} ms) nothing is computed while the program's own Python runs",
        "ホストが律速: ステップの {share} %（{milliseconds} ms）は、プログラム自身の Python の実行中で計算が行われていません",
    ),
    "advice_host_bound": (
        "Look at the longest gaps; log and call .item() less often, use larger batches, torch.compile or CUDA graphs.",
        "最も長い空きを確認してください。ログ出力や .item() を減らす、バッチを大きくする、torch.compile や CUDA グラフを使う方法があります。",
    ),
    "advice_host_bound_tensorflow": (
        "Look at the longest gaps; put the whole step into a tf.function, read losses less often, use larger batches, or steps_per_execution of compile().",
        "最も長い空きを確認してください。1 ステップ全体を tf.function に入れる、損失を読む回数を減らす、バッチを大きくする、compile() の steps_per_execution を使う方法があります。",
    ),
    "found_communication": (
        "communication-bound: {share} % of a step ({milliseconds} ms) is communication that computing does not hide",
        "通信が律速: ステップの {share} %（{milliseconds} ms）は、計算で隠れない通信です",
    ),
    "advice_communication": (
        "Try a larger batch, gradient accumulation, another bucket_cap_mb, or gradients in bf16.",
        "バッチを大きくする、勾配を累積する、bucket_cap_mb を変える、勾配を bf16 で通信する、などを試してください。",
    ),
    "advice_communication_tensorflow": (
        "Try a larger batch, gradient accumulation, or gradients in fp16 (with Horovod: compression=hvd.Compression.fp16).",
        "バッチを大きくする、勾配を累積する、勾配を fp16 で通信する（Horovod では compression=hvd.Compression.fp16）、などを試してください。",
    ),
    "found_late_rank": (
        "rank {rank} is late: the others wait for it during {share} % of a step ({milliseconds} ms)",
        "ランク {rank} が遅れています。ほかのランクはステップの {share} %（{milliseconds} ms）の間それを待っています",
    ),
    "advice_late_rank": (
        "Rank {rank} spends {more} ms a step more in {part} than the others. Compare its node, its data and its code path.",
        "ランク {rank} は「{part}」に 1 ステップあたり {more} ms 長くかかっています。そのノード、データ、実行経路を比べてください。",
    ),
    "advice_late_rank_unknown": (
        "Rank {rank} spends no more than the others outside of communication. Compare its network, and which collectives it calls.",
        "通信以外でランク {rank} がほかより長くかかっている部分はありません。そのネットワークと、呼び出す集団通信を比べてください。",
    ),
}
