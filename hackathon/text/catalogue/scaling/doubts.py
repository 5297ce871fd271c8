"""Why a result may not be believed."""

MESSAGES: dict[str, tuple[str, str]] = {
    "identical_ranks_batches": (
        "all {ranks} ranks did the same work: their first {count} batches are equal",
        "{ranks} ランクすべてが同じ計算をしています（最初の {count} バッチが同一です）",
    ),
    "identical_ranks_losses": (
        "all {ranks} ranks did the same work: their {count} losses are equal ({first}, …)",
        "{ranks} ランクすべてが同じ計算をしています（{count} 個の損失が同一です: {first}, …）",
    ),
    "no_group": (
        "the {processes} processes do not work together: {file} and the files that it imports join no process group",
        "{processes} プロセスが連携していません（{file} とその import 先は、プロセスグループに参加しません）",
    ),
    "no_group_recorded": (
        "the {processes} processes do not work together: none of them had a process group in {steps} recorded steps, so each one "
        "trains alone",
        "{processes} プロセスが連携していません（記録した {steps} ステップの間、プロセスグループがなく、それぞれ単独で学習しています）",
    ),
    "no_group_silent": (
        "the {processes} processes do not work together: they form a group, but exchanged nothing in {steps} recorded steps",
        "{processes} プロセスが連携していません（グループに参加していますが、記録した {steps} ステップの間、何も交換していません）",
    ),
    "several_worlds_recorded": (
        "the group of each process has {size} {size:member|members} instead of {processes}: the processes do not all work together",
        "各プロセスのグループには {size} プロセスしかいません（全体は {processes} プロセス）。全体では連携していません",
    ),
    "several_worlds": (
        "the {processes} processes form {worlds} groups of {size} that do not know of each other",
        "{processes} プロセスが {size} プロセスずつ {worlds} 組に分かれ、互いに連携していません",
    ),
    "several_worlds_fixed": (
        "each of the {processes} processes forms a group of its own: the program says `world_size=1`",
        "プログラムに `world_size=1` とあるため、{processes} プロセスがそれぞれ別のグループになっています",
    ),
    "several_worlds_apart": (
        "the {processes} processes join one group and exchange neither gradients nor weights: each one trains by itself",
        "{processes} プロセスは 1 つのグループに参加していますが、勾配も重みも交換せず、別々に学習しています",
    ),
    "several_worlds_around": (
        "the {processes} processes exchange no gradients: the program calls `model.module(…)`, which goes around "
        "DistributedDataParallel, so each one trains by itself",
        "プログラムが `model.module(…)` を呼び出し、DistributedDataParallel を通らないため、{processes} プロセスが勾配を交換せず、"
        "別々に学習しています",
    ),
    "several_worlds_launched": (
        "each of the {processes} processes starts `{launcher}`, and with it a group of its own",
        "{processes} プロセスのそれぞれが `{launcher}` を起動し、別々のグループになっています",
    ),
    "several_worlds_spawned": (
        "each of the {processes} processes starts ranks of its own that meet on the local machine: they form {processes} groups",
        "{processes} プロセスのそれぞれがローカルホストで待ち合わせるランクを起動し、{processes} 組に分かれています",
    ),
    "identical_ranks_stream": (
        "all {processes} ranks train with the same samples: the IterableDataset is not divided",
        "{processes} ランクすべてが同じサンプルで学習しています（IterableDataset が分割されていません）",
    ),
    "work_mismatch_swallowed": (
        "the training ended early: an exception was caught ({text}), and the program went on as if it had succeeded",
        "例外（{text}）が捕まえられ、学習が途中で終わっていますが、プログラムは成功したものとして終了しています",
    ),
    "identical_ranks_text": (
        "all {processes} ranks train with the same batches: the DataLoader has no sampler, and the seed is the same",
        "{processes} ランクすべてが同じバッチで学習しています（DataLoader にサンプラーがなく、シードも同じです）",
    ),
    "work_mismatch_divided": (
        "the program divides the batch by the {processes} processes itself: this is strong scaling, shown as weak scaling",
        "プログラム自身がバッチを {processes} プロセスで割っています。弱スケーリングと表示されていますが、強スケーリングです",
    ),
    "bad_loss_value": (
        "the loss of rank {rank} became {value} and stayed so",
        "ランク {rank} の損失が {value} になり、そのまま戻りませんでした",
    ),
    "flat_loss": (
        "the loss did not fall in {steps} steps (from {first} to {last})",
        "{steps} ステップの間、損失が {first} から {last} までしか変わっていません",
    ),
    "check_failed": (
        "the check failed: {metric} is {value}, wanted {rule}",
        "精度条件を満たしていません: {metric} が {value}（条件 {rule}）",
    ),
    "log_cut": (
        "the log of rank {rank} has {size} of the {bytes} bytes that it had when the rank ended: what it said cannot be "
        "checked",
        "ランク {rank} のログは {size} バイトしかなく、終了時の {bytes} バイトより短くなっています。内容を確認できません",
    ),
    "work_mismatch": (
        "a step processes {work} samples, where {scaling} from {base} {base:process|processes} gives {expected}",
        "1 ステップの処理数が {work} サンプルです。{base} プロセスを基準とする{scaling}なら {expected} のはずです",
    ),
    "base_mismatch": (
        "the base was measured with {base} processes, because {smallest} gave no value",
        "{smallest} プロセスでは値が得られず、{base} プロセスが基準になっています",
    ),
    "warm_up_included": (
        "the mean includes the warm-up: without the first value it is {without} instead of {value}",
        "平均にウォームアップが含まれています。最初の値を除くと {value} ではなく {without} になります",
    ),
    "unsure_metric": (
        "the output does not say whether {metric} is one process's or that of all {processes}; it is taken for all. Print it with "
        "the word total or the unit per GPU, or write `ranks: sum` under `metrics:`",
        "出力からは、{metric} が 1 プロセスの値か全 {processes} プロセスの値かがわかりません（全体の値とみなしています）。total という語か "
        "GPU あたりの単位を付けて表示するか、`metrics:` に `ranks: sum` と書いてください",
    ),
    "coarse_metric": (
        "{metric} may be off by more than 10 %: it comes from a time that was printed with one digit. Give each step more work, "
        "or use the Meter",
        "{metric} には 10 % を超える誤差がありえます（1 桁で表示された時間から計算しています）。1 ステップの計算量を増やすか、Meter を"
        "使ってください",
    ),
    "metric_contradicted": (
        "the program prints {printed} {unit}, but the recorder counted {recorded}",
        "プログラムの表示は {printed} {unit} ですが、記録では {recorded} です",
    ),
    "super_linear": (
        "the efficiency of {efficiency} % is higher than noise explains: does each process still do its part of the work?",
        "効率 {efficiency} % は、ばらつきでは説明できないほど高い値です。各プロセスが本来の分の計算をしているか確認してください",
    ),
    "noise": (
        "the speed-up differs from that of {processes} {processes:process|processes} by less than the spread of the "
        "repeats (± {deviation})",
        "速度向上率の {processes} プロセスとの差が、繰り返しのばらつき（± {deviation}）より小さいです",
    ),
    # how they are shown
    "mark_false": ("not believable", "信頼できない値"),
    "mark_check": ("to be checked", "要確認"),
    "remark": (
        "{processes} {processes:process|processes}, {mark}: {text}",
        "{processes} プロセス、{mark}: {text}",
    ),
    "evidence": (" ({place})", "（{place}）"),
    "withheld": (
        "{count} {count:result is|results are} not published, because {count:it is|they are} not believable: {runs}; "
        "--doubtful publishes {count:it|them}, marked",
        "信頼できない値 {count} 件は公開しません: {runs}。--doubtful を付けると印を付けて公開します",
    ),
}
