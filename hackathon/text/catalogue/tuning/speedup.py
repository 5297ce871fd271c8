"""Texts of `hackathon speedup`."""

MESSAGES = {
    "option_try": (
        "Measure these values instead of the known options: a declared parameter or env.VARIABLE; repeatable.",
        "既知のオプションの代わりに、この値を測定する（宣言済みのパラメータ、または env.変数名。複数指定可）",
    ),
    "option_seconds": (
        "Seconds of training in each start, counted from its first output.",
        "1 回の起動で学習を続ける秒数（最初の出力から数える）",
    ),
    "option_rounds": (
        "Starts of each option; default: as few as a claim needs.",
        "各オプションの起動回数（既定: 判定に必要な最小回数）",
    ),
    "option_largest_batch": (
        "Find the largest batch per process that fits into memory instead.",
        "代わりに、メモリに入る最大のバッチサイズ（プロセスあたり）を探す",
    ),
    "option_memory": (
        "With --largest-batch: limit of the address space of each start, e.g. 8GB; needed without a GPU.",
        "--largest-batch のとき: 各起動のアドレス空間の上限（例: 8GB）。GPU がなければ必要",
    ),
    "option_apply": (
        "Write the settings that won into project.yaml, after showing the change.",
        "速くなった設定を、変更内容を表示してから project.yaml に書き込む",
    ),
    "option_again": (
        "Measure again although the same was measured within a day.",
        "1 日以内に同じ測定があっても、もう一度測定する",
    ),
    "option_yes": ("Submit, and write project.yaml, without asking.", "確認せずに投入し、project.yaml に書き込む"),
    "confirm": (
        "Submit a job that starts the program {starts} times (at most {minutes} min)? If several options win, a second "
        "job measures them together.",
        "プログラムを {starts} 回起動するジョブ（最長 {minutes} 分）を投入しますか？ 複数のオプションが有効な場合は、"
        "それらをまとめて測定するジョブをもう 1 件投入します。",
    ),
    "waiting": (
        "the job starts the program up to {starts} times; Ctrl-C stops waiting, the same command continues",
        "ジョブの中でプログラムを最大 {starts} 回起動します。Ctrl-C で待つのをやめても、同じコマンドで続けられます",
    ),
    "earlier": (
        "using run {run}, which measures the same program with the same options (--again measures anew)",
        "同じプログラムと同じオプションの実行 {run} を使います（--again で測定し直します）",
    ),
    "second": (
        "several options win: measuring them together ({names})",
        "複数のオプションが有効です。まとめて測定します（{names}）",
    ),
    # ---- the table
    "baseline": (
        "as it is: {metric} {value} ({low} to {high} over {rounds} {rounds:start|starts})",
        "現状: {metric} {value}（{rounds} 回の起動で {low}～{high}）",
    ),
    "shares": ("time of a step: {parts}", "1 ステップの時間の内訳: {parts}"),
    "head_option": ("option", "オプション"),
    "head_ratio": ("speed", "速度"),
    "head_interval": ("interval", "区間"),
    "head_verdict": ("verdict", "判定"),
    "head_loss": ("loss", "損失"),
    "head_reason": ("reason", "理由"),
    "verdict_faster": ("faster", "速い"),
    "verdict_slower": ("slower", "遅い"),
    "verdict_none": ("within the noise", "誤差の範囲"),
    "verdict_few": ("not known: too few rounds", "不明（起動回数が不足）"),
    "verdict_failed": ("failed", "失敗"),
    "loss_untouched": ("not affected", "影響なし"),
    "loss_same": ("same", "同じ"),
    "loss_worse": ("worse", "悪化"),
    "loss_unknown": ("not known", "不明"),
    "unknown": ("not known", "不明"),
    "little_data": (
        "loading takes {percent} % of a step: little to gain",
        "データ読み込みはステップの {percent} % のため効果は小さい",
    ),
    "part_data": ("loading takes {percent} % of a step", "データ読み込みはステップの {percent} %"),
    "bound_data": ("loader-bound: {percent} % of a step", "読み込み律速（ステップの {percent} %）"),
    "little_compute": (
        "computing takes {percent} % of a step: little to gain",
        "計算はステップの {percent} % のため効果は小さい",
    ),
    "part_compute": ("computing takes {percent} % of a step", "計算はステップの {percent} %"),
    "bound_compute": ("compute-bound: {percent} % of a step", "計算律速（ステップの {percent} %）"),
    "error_rate": (
        "speed: median of the ratios to the program as it is, in the same round. If no option had an effect, a table "
        "like this would claim one with a probability of at most {percent} %.",
        "速度: 同じ回の現状との比の中央値。どのオプションにも効果がない場合に、この表が誤って効果ありとする確率は {percent} % 以下です。",
    ),
    "failed_log": ("{option} failed: {log}", "{option} は失敗しました: {log}"),
    "use": (
        "use: {settings}   (`--apply` writes it into project.yaml)",
        "推奨: {settings}（`--apply` で project.yaml に書き込みます）",
    ),
    "nothing": (
        "no option is faster outside the noise with an unchanged loss",
        "損失を変えずに、誤差の範囲を超えて速くなるオプションはありません",
    ),
    "left_there": ("not tried, the program sets it itself: {names}", "未測定（プログラム自身が設定）: {names}"),
    "left_gpu": ("not tried, needs a GPU: {names}", "未測定（GPU が必要）: {names}"),
    "left_lines": ("not tried: {name} needs these lines:", "未測定: {name} には次の行が必要です:"),
    # ---- errors
    "in_place": (
        "--in-place does not work here: each start needs its own copy of the program",
        "--in-place は使えません。起動ごとにプログラムのコピーが必要です",
    ),
    "one_process": (
        "speedup measures one process on one node",
        "speedup は 1 ノードの 1 プロセスで測定します",
    ),
    "one_process_hint": ("Leave --nodes and --processes out.", "--nodes と --processes を省いてください。"),
    "not_an_option": (
        "{name} is an option of the toolkit; measure parameters of the program or env.VARIABLE",
        "{name} は本ツールのオプションです。プログラムのパラメータか env.変数名 を測定できます",
    ),
    "nothing_to_try": (
        "the program has none of the known options",
        "既知のオプションに対応していないプログラムです",
    ),
    "nothing_to_try_hint": (
        "Name a declared parameter: --try NAME=VALUE,VALUE",
        "宣言済みのパラメータを指定してください: --try 名前=値,値",
    ),
    "no_throughput": (
        "the program recorded no {metric} as it is",
        "現状の設定で {metric} が記録されませんでした",
    ),
    "no_throughput_hint": (
        "Raise --seconds, or describe the throughput line under `metrics:` in project.yaml; `hackathon try` shows what "
        "is recognised.",
        "--seconds を増やすか、project.yaml の `metrics:` にスループットの行を記述してください。認識される値は `hackathon try` で確認できます。",
    ),
    "program_failed": ("the program failed as it is: {log}", "現状の設定でプログラムが失敗しました: {log}"),
    "no_project": (
        "there is no project.yaml in {folder} to write to",
        "{folder} に書き込み先の project.yaml がありません",
    ),
    "no_project_hint": ("Create one: hackathon init", "hackathon init で作成できます"),
    "not_own": (
        "{path} belongs to somebody else, is a link, or can be replaced by others: it is not written",
        "{path} は他の利用者のもの、リンク、または他の利用者が置き換えられるファイルのため、書き込みません",
    ),
    "not_writable": (
        "{path} cannot be changed automatically: set the values by hand",
        "{path} を自動では変更できません。値を手動で設定してください",
    ),
    "changed_meanwhile": (
        "{path} was changed in the meantime: nothing was written",
        "{path} が途中で変更されたため、何も書き込みませんでした",
    ),
    "nothing_to_apply": ("nothing to write into project.yaml", "project.yaml に書き込むものはありません"),
    "apply_confirm": ("Write this into {path}?", "この内容を {path} に書き込みますか？"),
    "apply_not_confirmed": (
        "nobody is at a terminal to confirm the change of project.yaml",
        "端末で確認できないため、project.yaml を変更しません",
    ),
    "apply_not_confirmed_hint": ("Confirm with --yes.", "--yes で確認を省けます。"),
    "applied": ("wrote {path}", "{path} に書き込みました"),
}
