"""Messages of `hackathon.profiling.sentences` and of pictures of shares: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "data": ("data", "データ"),
    "host": ("host", "ホスト"),
    "compute": ("compute", "計算"),
    "communication": ("communication", "通信"),
    "waiting": ("waiting", "待ち"),
    "other": ("other", "その他"),
    "point": (
        "{processes} {processes:process|processes}, {step} per step: {parts}",
        "{processes} プロセス、1 ステップ {step}: {parts}",
    ),
    "steps_only": ("Time of a step: {times}. Not known: {parts}", "1 ステップの時間: {times}。不明: {parts}"),
    "step_on": ("{step} with {processes} {processes:process|processes}", "{processes} プロセスで {step}"),
    "waiting_for": (
        "{part} (of that {waiting} waiting for rank {rank})",
        "{part}（うち {waiting} はランク {rank} 待ち）",
    ),
    "waiting_in_turn": (
        "{part} (of that {waiting} waiting, for different ranks in turn)",
        "{part}（うち {waiting} は待ち、遅れるランクは毎回異なる）",
    ),
    "between": (", ", "、"),
    "not_known": ("{text}; not known: {parts}", "{text}。不明: {parts}"),
    "why": ("{names} ({why})", "{names}（{why}）"),
    "why_unmarked": ("not marked by the program", "プログラムに区間の指定なし"),
    "why_in_compute": ("contained in compute", "計算に含まれる"),
    "why_old_runtime": ("recorded by an older hackathon_runtime.py", "hackathon_runtime.py が古い"),
    "why_missing_ranks": ("not all ranks wrote their times", "時間を記録していないランクがある"),
    "why_unmatched": ("the collectives of the ranks do not match", "集団通信の回数がランクごとに異なる"),
    "why_unseen": ("not visible from outside the program", "プログラムの外からは見えない"),
    "why_on_device": (
        "the GPU works beside the program: hackathon profile measures it",
        "GPU はプログラムと並行して動くため。hackathon profile で測定できる",
    ),
    "why_few_samples": ("too few samples: the run was short", "実行が短く、サンプルが足りない"),
    "hooked": ("{text} (seen from outside)", "{text}（外から記録）"),
    "sampled": (
        "{text} (seen from outside, host and compute by samples)",
        "{text}（外から記録、ホストと計算はサンプリング）",
    ),
    "advice_slow_loader": (
        "loading data takes {gain} of a step: add loader workers and prefetching, or put the data on a faster disk",
        "データの読み込みがステップの {gain} を占めています。読み込みワーカーを増やす、先読みを使う、"
        "データを速いディスクに置く、のいずれかを試してください",
    ),
    "advice_host_bound": (
        "the program's own work between the parts of a step takes {gain}: log less often, avoid .item() and Python "
        "loops over samples, or move this work to the loader's workers",
        "ステップの区間の間にあるプログラム自身の処理が {gain} を占めています。ログ出力の回数、.item()、"
        "サンプルごとの Python ループを減らすか、読み込みワーカーに移してください",
    ),
    "advice_exposed_communication": (
        "communication that no computing hides takes {gain} of a step: try other bucket sizes, gradients in fp16 or "
        "bf16 (DDP communication hook), gradient accumulation, or a larger batch per process",
        "計算で隠れない通信がステップの {gain} を占めています。バケットサイズの変更、fp16 か bf16 での勾配通信"
        "（DDP の通信フック）、勾配の累積、プロセスあたりのバッチの拡大を試してください",
    ),
    "advice_straggler": (
        "all other ranks wait for rank {rank} during {gain} of a step; it spends more time than the others in: {cause}. "
        "Check its node, its share of the data, and other processes on its cores or GPU",
        "ほかの全ランクがランク {rank} を待っており、待ちはステップの {gain} です。このランクだけ長いのは「{cause}」です。"
        "そのノード、割り当てられたデータの量、同じコアや GPU を使う別のプロセスを確認してください",
    ),
    "advice_imbalance": (
        "the ranks wait for each other in turn during {gain} of a step: give all ranks equal work in each step, "
        "for example batches of samples of similar length",
        "ランクが交互に待ち合っており、待ちはステップの {gain} です。長さの近いサンプルでバッチを作るなど、"
        "各ステップの仕事量をランク間でそろえてください",
    ),
    "confirm": ("if it helps, the share of {part} falls", "効果があれば、{part} の割合が下がります"),
    "from_to": ("{part} {old} % → {new} %", "{part} {old} % → {new} %"),
    "changed": (
        "{processes} {processes:process|processes}, shares of a step: {parts}",
        "{processes} プロセス、1 ステップの内訳: {parts}",
    ),
    "title": ("Where the time of a step goes", "1 ステップの時間の内訳"),
    "by_processes": ("Shares of a step by process count", "プロセス数ごとの内訳"),
    "by_rank": ("Shares of a step by rank", "ランクごとの内訳"),
    "axis": ("share of a step", "ステップに占める割合"),
    "column_part": ("part", "区分"),
    "column_step": ("step", "1 ステップ"),
    "column_rank": ("rank", "ランク"),
    "rank": ("rank {rank}", "ランク {rank}"),
    "processes": ("{processes} {processes:process|processes}", "{processes} プロセス"),
    "then": ("; ", "。"),
    "advice": ("{processes} {processes:process|processes}, to try: {text}", "{processes} プロセス、対策の候補: {text}"),
    "advice_of": ("{processes} {processes:process|processes}, {text}", "{processes} プロセス、{text}"),
    "none": (
        "where the time of a step goes is not known: the program records no step times, and no steps of torch's "
        "optimizers were seen from outside (hackathon docs why-is-it-not-faster)",
        "1 ステップの時間の内訳は不明です。プログラムがステップの時間を記録しておらず、torch のオプティマイザーのステップも"
        "外から確認できませんでした（hackathon docs why-is-it-not-faster）",
    ),
}  # fmt: skip
