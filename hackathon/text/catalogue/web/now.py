"""Messages of the Now page and of `hackathon top`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the page
    "title": ("Needs attention now", "現在の要対応"),
    "calm": ("Nothing needs attention", "要対応はありません"),
    "help_one": ("1 needs attention", "要対応 1 件"),
    "help_count": ("{count} need attention", "要対応 {count} 件"),
    "lead": (
        "Requests first, then failed, waiting, stalled, and idle runs; the most urgent first.",
        "質問、失敗、待ち、進行なし、低使用率の順に、急ぐものから並べています。",
    ),
    "lead_calm": ("All running jobs are making progress.", "実行中のジョブはすべて進行しています。"),
    "no_runs": ("No runs were found.", "実行が見つかりません。"),
    "lead_empty": ("No running jobs and no requests.", "実行中のジョブも質問もありません。"),
    "counts": ("Counts", "件数"),
    "count_help": ("Need attention", "要対応"),
    "count_running": ("Running", "実行中"),
    "count_queued": ("Waiting", "待ち"),
    "count_ended": ("Finished today", "今日の終了"),
    "of_them_well": ("{count} succeeded", "うち成功 {count}"),
    "list": ("Needs attention", "要対応"),
    "left": ("{count} more are not shown.", "ほかに {count} 件あります。"),
    "well": ("Running normally", "順調な実行"),
    "well_caption": ("Running normally", "順調な実行"),
    "well_left": ("{count} more are running normally.", "ほかに {count} 件が順調です。"),
    "column_who": ("Team, user", "チーム・利用者"),
    "column_run": ("Run", "実行"),
    "column_processes": ("Processes", "プロセス数"),
    "column_value": ("Throughput", "スループット"),
    "column_loss": ("Loss", "損失"),
    "column_gpu": ("GPU", "GPU"),
    "column_since": ("Time", "経過"),
    "trouble": ("Some data could not be read", "取得できない情報があります"),
    "person": ("somebody", "だれか"),
    # one item
    "kind_asked": ("asks for help", "質問"),
    "kind_failed": ("failed", "失敗"),
    "kind_waits": ("waiting", "待ち"),
    "kind_stands": ("no progress", "進行なし"),
    "kind_idle": ("low use", "低使用率"),
    "kind_memory": ("memory", "メモリ"),
    "kind_warned": ("warning", "警告"),
    "kind_lost": ("unknown", "状態不明"),
    "since": ("since {when}", "{when} から"),
    "helps": ("taken by {name}", "{name} さんが対応中"),
    "part": ("part: {part}", "問題の箇所: {part}"),
    "more_one": ("and 1 more with the same name", "同じ名前でほかに 1 件"),
    "more_count": ("and {count} more with the same name", "同じ名前でほかに {count} 件"),
    "newer": ("newer run: {state}", "新しい実行: {state}"),
    "to_do": ("What to do", "対処"),
    "says_failed": ("The run failed: {state}", "実行が失敗しました: {state}"),
    "says_never": ("The job can never start in {queue} as requested", "この要求のままでは {queue} で開始できません"),
    "says_held": ("Held in {queue} for {age}", "{queue} で保留のまま {age}"),
    "says_waits": ("Waiting in {queue} for {age}", "{queue} で {age} 待っています"),
    "says_stands": ("No output for {age}{step}", "{age} のあいだ出力がありません{step}"),
    "says_silent": ("No output since it started {age} ago{step}", "{age} 前の開始から出力がありません{step}"),
    "at_step": (", at step {step}", "（ステップ {step}）"),
    "says_idle_gpu": ("GPU utilisation is {percent} %", "GPU の使用率が {percent} % です"),
    "says_idle_cpu": ("CPU utilisation is {percent} %", "CPU の使用率が {percent} % です"),
    "says_memory": (
        "GPU memory is {percent} % full",
        "GPU メモリの使用率が {percent} % です",
    ),
    "says_lost": ("The scheduler no longer knows the job", "スケジューラがジョブを認識していません"),
    "says_uncertain": ("It is unclear whether the job was submitted", "ジョブが投入されたか確認できません"),
    "advice_asked": (
        "Take this request: hackathon ask take {request!q}",
        "対応する: hackathon ask take {request!q}",
    ),
    "advice_failed": ("hackathon diagnose {run!q}", "hackathon diagnose {run!q}"),
    "advice_never": (
        "Cancel it, and stay within the limits of the queue: hackathon clusters {cluster!q}",
        "取り消して、キューの上限内で投入し直してください: hackathon clusters {cluster!q}",
    ),
    "advice_held": (
        "Find out why it is held; only the computing centre can release its own holds: hackathon status {run!q}",
        "保留の理由を確かめてください。センターによる保留はセンターだけが解除できます: hackathon status {run!q}",
    ),
    "advice_waits": (
        "Use fewer nodes or a shorter walltime to start earlier; see other queues: hackathon clusters {cluster!q} --live",
        "ノード数や実行時間を減らすと早く始まります。ほかのキュー: hackathon clusters {cluster!q} --live",
    ),
    "advice_stands": (
        "A rank may be waiting for another rank or for data: hackathon diagnose {run!q}",
        "ランク同士の待ち合わせかデータ待ちの可能性があります: hackathon diagnose {run!q}",
    ),
    "advice_idle_gpu": (
        "Check that the model is on the GPU and that data arrives fast enough. Try more loader workers or larger "
        "batches.",
        "モデルが GPU 上にあるか、データの供給が間に合っているかを確かめてください。"
        "ローダーの並列数やバッチを増やすと改善することがあります。",
    ),
    "advice_idle_cpu": (
        "Check whether it waits for data or another process. Check the number of threads and loader workers.",
        "データや他のプロセスを待っていないか、スレッド数とローダーの並列数を確かめてください。",
    ),
    "advice_memory": (
        "A larger batch may not fit. JAX and TensorFlow reserve nearly all memory on purpose; in that case, ignore "
        "this.",
        "バッチを増やすと足りなくなるおそれがあります。JAX と TensorFlow は意図的にほぼ全部を確保するので、その場合は問題ありません。",
    ),
    "advice_warned": ("hackathon diagnose {run!q}", "hackathon diagnose {run!q}"),
    "says_check": (
        "It succeeded, but its check failed",
        "成功しましたが、精度条件は未達です",
    ),
    "advice_check": (
        "Compare with a smaller run: a larger global batch needs another learning rate and a warm-up.",
        "小さい規模の実行と比べてください。全体のバッチが大きいほど、学習率とウォームアップの調整が必要です。",
    ),
    "advice_lost": (
        "Check its last output, then submit it again: hackathon logs {run!q}",
        "最後の出力を確かめてから投入し直してください: hackathon logs {run!q}",
    ),
    "advice_uncertain": (
        "Check again before you submit it again: hackathon status {run!q}",
        "投入し直す前にもう一度確認してください: hackathon status {run!q}",
    ),
    # hackathon top
    "totals": (
        "running {running} · waiting {queued} · finished today {ended}, {succeeded} succeeded",
        "実行中 {running} · 待ち {queued} · 今日の終了 {ended}（成功 {succeeded}）",
    ),
    "gpu_is": ("GPU {percent} %", "GPU {percent} %"),
    "keys": ("Ctrl-C to quit", "Ctrl-C で終了"),
}
