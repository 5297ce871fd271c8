"""Messages of `hackathon.scaling`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the table
    "column_processes": ("processes", "プロセス"),
    "column_nodes": ("nodes", "ノード"),
    "column_speedup": ("speed-up", "速度向上"),
    "column_efficiency": ("efficiency", "並列効率"),
    "column_status": ("status", "状態"),
    "column_runs": ("runs", "成功"),
    "mode_weak": ("weak scaling (fixed batch per process)", "弱スケーリング（プロセスあたりのバッチを固定）"),
    "recorded": (
        "{metric} was recorded from outside the program, which prints no number that all runs share",
        "{metric} はプログラムの外から記録した値です（すべての実行に共通する表示がありません）",
    ),
    "measured_mode": (
        "the study was started as {asked}, but the samples of a step show {measured}; the table follows the samples",
        "{asked}として始めた測定ですが、1 ステップのサンプル数によれば{measured}です。表はサンプル数に従います",
    ),
    "mode_strong": ("strong scaling (fixed global batch)", "強スケーリング（全体のバッチを固定）"),
    "state_created": ("CREATED", "未投入"),
    "state_queued": ("QUEUED", "待ち"),
    "state_held": ("HELD", "保留"),
    "state_running": ("RUNNING", "実行中"),
    "state_ending": ("ENDING", "終了処理中"),
    "state_succeeded": ("SUCCEEDED", "成功"),
    "state_partial": ("PARTIAL", "一部成功"),
    "state_failed": ("FAILED", "失敗"),
    "state_timeout": ("TIMEOUT", "時間切れ"),
    "state_out_of_memory": ("OUT_OF_MEMORY", "メモリ不足"),
    "state_cancelled": ("CANCELLED", "取り消し"),
    "state_node_failed": ("NODE_FAILED", "ノード障害"),
    "state_lost": ("LOST", "状態不明"),
    "state_uncertain": ("UNCERTAIN", "投入不明"),
    # what stands under it
    "several_series": (
        "{count} combinations of settings; speed-up and efficiency compare runs with equal settings only",
        "設定の組み合わせは {count} 通り。速度向上率と並列効率は、設定が同じ実行どうしの比較です",
    ),
    "each_series": ("each combination", "どの組み合わせも"),
    "baseline_settings": (
        "the baseline {run} has settings that no run of the study has",
        "基準の実行 {run} と同じ設定の実行が、この測定にありません",
    ),
    "baseline_settings_hint": ("settings of the study: {known}", "この測定の設定: {known}"),
    "base_point": (
        "base: the smallest successful point, processes = {processes}",
        "基準: {processes} プロセス（成功した最小の点）",
    ),
    "base_run": ("base: run {run}, processes = {processes}", "基準: 実行 {run}（{processes} プロセス）"),
    "no_base": (
        "no results yet: cannot compute the speed-up",
        "結果がまだないため、速度向上率を計算できません",
    ),
    "below_target": (
        '{mark} below 75 % parallel efficiency ("three out of four")',
        "{mark} 並列効率が 75 %（「4 分の 3」の目安）を下回っています",
    ),
    "check_open": (
        "check {rule}: not judged; {silent} of {total} successful runs did not record the value",
        "精度条件 {rule}: 判定なし（成功した {total} 件のうち {silent} 件に値がありません）",
    ),
    "check_passed": (
        "check {rule}: passed by all {total} successful runs",
        "精度条件 {rule}: 成功した {total} 件すべてが達成",
    ),
    "check_failed": (
        "check {rule}: passed by only {good} of {total} successful runs",
        "精度条件 {rule}: 成功した {total} 件のうち達成は {good} 件のみ",
    ),
    "unreadable_state": ("run cannot be read", "読めない実行"),
    "unreadable": (
        "run {run} ({status}): its request.json does not say how many processes it had, so it has no point",
        "実行 {run}（{status}）: request.json からプロセス数が分からないため、点にできません",
    ),
    "run_failed": (
        "{processes} {processes:process|processes}, run {run}: {status} – {reason}",
        "{processes} プロセス、実行 {run}: {status} – {reason}",
    ),
    "no_reason": ("cause unknown", "理由は不明です"),
    "run_without_value": (
        "run {run} succeeded, but no {metric} was found in its output",
        "実行 {run} は成功しましたが、出力に {metric} が見つかりません",
    ),
    "about_run": ("run {run}: {text}", "実行 {run}: {text}"),
    "law_amdahl": ("Amdahl's law, {formula}", "アムダールの法則 {formula}"),
    "law_gustafson": ("Gustafson's law, {formula}", "グスタフソンの法則 {formula}"),
    "fit": (
        "{law}: serial fraction f = {fraction} (standard error {error})",
        "{law}: 逐次部分の割合 f = {fraction}（標準誤差 {error}）",
    ),
    "fit_without_noise": (
        "{law}: serial fraction f = {fraction}; repeat the points (--repeat 3) to get its error",
        "{law}: 逐次部分の割合 f = {fraction}。誤差には繰り返し（--repeat 3）が必要です",
    ),
    "fit_meaningless": (
        "{law} does not fit these points (faster than linear, slower than the base, or too far from any such curve)",
        "{law} はこの結果に当てはまりません（線形を超えるか、基準より遅いか、曲線から離れすぎています）",
    ),
    "predicted": (
        "predicted at {processes} processes: efficiency {efficiency} ({low} to {high} with 90 % probability)",
        "{processes} プロセスでの予測: 効率 {efficiency}（90 % 区間 {low}〜{high}）",
    ),
    "predicted_range": (
        "predicted at {processes} processes: efficiency {efficiency} ({low} to {high}; hackathon predict says why this "
        "is a range and not a 90 % interval)",
        "{processes} プロセスでの予測: 効率 {efficiency}（範囲 {low}〜{high}。90 % 区間でない理由は hackathon predict で表示）",
    ),
    # the plot
    "plot_speedup": ("Speed-up", "速度向上率"),
    "plot_efficiency": ("Parallel efficiency", "並列効率"),
    "plot_processes": ("Processes", "プロセス数"),
    "plot_ideal": ("linear", "線形"),
    "plot_target": ("75 %", "75 %"),
    "plot_subtitle": (
        "{metric} · base: processes = {base} · points: single runs, line: median",
        "{metric} · 基準 {base} プロセス · 点: 各実行、線: 中央値",
    ),
    "plot_predicted": (" · dashed: predicted, 90 %", " · 破線: 予測（90 % 区間）"),
    "plot_predicted_range": (" · dashed: predicted, a range", " · 破線: 予測（範囲）"),
    "plot_no_font": (
        "no Japanese font was found, so the labels of the plot are in English",
        "日本語を含むフォントが見つからないため、図のラベルを英語にしました",
    ),
    "plot_no_font_hint": (
        "put a font such as Noto Sans CJK into ~/.local/share/fonts, or use .svg",
        "Noto Sans CJK などのフォントを ~/.local/share/fonts に置くか、.svg を使ってください",
    ),
    "plot_title_omitted": (
        "the title has letters that no installed font supports; it was left out of the plot",
        "表示できるフォントがない文字を含む題名を図から省きました",
    ),
    "plot_wrong_suffix": (
        "a plot is written as .svg or .png, not {path}",
        "図の形式は .svg か .png です: {path}",
    ),
    "plot_missing_library": (
        "plots need vl-convert, which is not installed",
        "図の作成に必要な vl-convert がインストールされていません",
    ),
    "plot_missing_library_hint": (
        "pip install vl-convert-python",
        "pip install vl-convert-python を実行してください",
    ),
    "plot_failed_to_draw": ("the plot could not be drawn: {reason}", "図を描けませんでした: {reason}"),
    "plot_failed_to_draw_hint": (
        "the table is complete without it; --format csv gives the numbers for another program",
        "表はそのまま使えます。--format csv で他のソフトウェア用に数値を出力できます",
    ),
    "plot_killed": (
        "the drawing process was killed by signal {signal}",
        "描画プロセスがシグナル {signal} で終了しました",
    ),
    "plot_timeout": ("the drawing process took longer than {seconds} s", "描画プロセスが {seconds} 秒を超えました"),
    "plot_cannot_write": ("{path} cannot be written: {reason}", "{path} に書き込めません: {reason}"),
    "plot_bad_template": (
        "the plot template {path} cannot be read: {reason}",
        "図のテンプレート {path} を読めません: {reason}",
    ),
    # measurements of clusters
    "not_measured": ("{file} contains no measurement", "{file} に測定結果がありません"),
    "not_measured_hint": (
        "see the job's log: `hackathon logs`",
        "理由はジョブのログにあります: `hackathon logs`",
    ),
    "not_kept": ("the measurement could not be saved: {what}", "測定結果を保存できません: {what}"),
}
