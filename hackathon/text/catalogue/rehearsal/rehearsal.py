"""Texts of `hackathon try`."""

MESSAGES = {
    "option_seconds": (
        "End each run this many seconds after its ranks began.",
        "ランクの開始からこの秒数で各実行を終了する",
    ),
    "option_steps": (
        "End a run earlier, after this many values of a metric and once the throughput has been told.",
        "指標の値がこの数だけ出力され、スループットも出力されたら、それより早く終了する",
    ),
    "option_yes": ("Submit without asking.", "確認せずに投入する"),
    "confirm": (
        "Submit {count} short {count:job|jobs}?",
        "短いジョブを {count} 件投入しますか？",
    ),
    "goes_on": (
        "continuing with run {run} of an interrupted `hackathon try`",
        "中断した `hackathon try` の実行 {run} を引き継ぎます",
    ),
    "waiting": (
        "each run ends after {seconds} s, or once it has told {steps} values of a metric and its throughput; Ctrl-C stops "
        "waiting, the same command continues",
        "各実行は {seconds} 秒後、または指標が {steps} 回とスループットが出力された時点で終了します。Ctrl-C で待つのをやめても、"
        "同じコマンドで続けられます",
    ),
    # ---- what was understood
    "run": (
        "{processes} {processes:process|processes}: run {run}, {state}{why}",
        "{processes} プロセス: 実行 {run}、{state}{why}",
    ),
    "ended_steps": ("ended by `try` after enough values", "十分な値が出たため `try` が終了させました"),
    "ended_seconds": ("ended by `try` after its time", "指定の時間が過ぎたため `try` が終了させました"),
    "ended_silent": (
        "ended by `try`: no value of any metric was seen until then",
        "指標の値が確認できないため `try` が終了させました",
    ),
    "ended_walltime": ("ended by its short walltime", "短い実行時間の上限で終了しました"),
    "ranks": (
        "ranks: {began} of {processes} began, on {hosts}",
        "ランク: {processes} のうち {began} が開始（{hosts}）",
    ),
    "by_meter": ("Meter of hackathon_runtime", "hackathon_runtime の Meter"),
    "by_pattern": ("pattern in `metrics:`", "`metrics:` のパターン"),
    "by_recorder": ("recorded from outside the program", "プログラムの外から記録"),
    "by_words": ("customary words", "一般的な語句"),
    "step": ("time of a step: {what}", "1 ステップの時間: {what}"),
    "batch": ("batch: {what}", "バッチ: {what}"),
    "batch_is": (
        "{total} samples a step, {each} per process ({about})",
        "1 ステップ {total} サンプル、プロセスあたり {each}（{about}）",
    ),
    "written": ("files written: {files}", "書き込んだファイル: {files}"),
    "memory": ("memory: {what}", "メモリ: {what}"),
    "data": ("data of the ranks: {what}", "ランクごとのデータ: {what}"),
    "data_identical_ranks": ("the same on all ranks", "全ランクで同じ"),
    "data_no_group": (
        "the same on all ranks: the program does not join a process group",
        "全ランクで同じ（プロセスグループに参加していません）",
    ),
    "data_several_worlds": (
        "the same in each of several worlds",
        "複数の world のそれぞれで同じ",
    ),
    "data_unknown": (
        "no sign that ranks read the same samples (`meter.saw(…)` would show it)",
        "ランクが同じサンプルを読んでいる兆候はありません（`meter.saw(…)` を使うと確認できます）",
    ),
    "known": ("{value} ({about})", "{value}（{about}）"),
    "not_known": ("not known: {why}", "不明: {why}"),
    "about_by_meter": ("told by the Meter", "Meter の記録"),
    "about_by_recorder": ("recorded from outside the program", "プログラムの外から記録"),
    "about_by_parameter": ("from the parameter in project.yaml", "project.yaml のパラメータ"),
    "about_batch_scope": (
        "the name of the parameter does not say whether it counts per process or in total",
        "パラメータの名前からは、プロセスあたりか全体かが分かりません",
    ),
    "about_batch_unknown": (
        "no input was recorded, and the program tells it neither by a parameter in project.yaml nor by the Meter",
        "入力を記録できず、project.yaml のパラメータにも Meter の記録にもありません",
    ),
    "about_step_by_meter": ("told by the Meter, without warm-up", "Meter の記録、ウォームアップを除く"),
    "about_step_by_rate": ("from steps/s", "steps/s から計算"),
    "about_step_by_batch": ("from the batch and samples/s", "バッチと samples/s から計算"),
    "about_step_by_recorder": ("recorded from outside the program", "プログラムの外から記録"),
    "about_step_unknown": (
        "the output has no steps/s, the batch is not known, and no steps could be recorded",
        "出力に steps/s がなく、バッチも不明で、ステップも記録できませんでした",
    ),
    "about_memory_of_gpu": ("the most on one GPU", "GPU 1 枚の最大値"),
    "about_memory_of_node": ("the most on a node, other programs included", "ノードの最大値、ほかのプログラムを含む"),
    "about_memory_unknown": ("the run was too short for a measurement", "測定するには実行が短すぎました"),
    # ---- what to mend
    "failed": (
        "the run on {processes} {processes:process|processes} failed: {why}",
        "{processes} プロセスの実行が失敗しました: {why}",
    ),
    "failed_advice": ("Read on: hackathon diagnose {run!q}", "詳しくは: hackathon diagnose {run!q}"),
    "silent": (
        "on {processes} {processes:process|processes} the program ran and printed no value of any metric",
        "{processes} プロセスで、プログラムは動作していましたが、指標の値を一度も出力しませんでした",
    ),
    "silent_advice": (
        "Does it hang, or does it need longer for its first step? See its output with `hackathon logs {run!q}`; "
        "give it longer with --seconds.",
        "停止しているか、最初のステップに時間がかかっています。`hackathon logs {run!q}` で出力を確認してください。"
        "--seconds で時間を延ばせます。",
    ),
    "no_throughput": (
        "no {metric} was found in the output, so a study would have no values",
        "出力に {metric} が見つからないため、測定しても値が得られません",
    ),
    "no_throughput_advice": (
        'Print it once a step, for example `print(f"throughput: {{rate:.1f}} samples/s")`, or describe your line under '
        "`metrics:` in project.yaml. If it comes more rarely, raise --seconds.",
        'たとえば `print(f"throughput: {{rate:.1f}} samples/s")` のように毎ステップ出力するか、project.yaml の `metrics:` に'
        "行の形を書いてください。出力の間隔が長い場合は --seconds を増やしてください。",
    ),
    "unsure_metric": (
        "the unit of {metric} does not say whether it counts one process or all; it is taken for all",
        "{metric} の単位からは 1 プロセスの値か全体の値か分かりません。全体の値として扱います",
    ),
    "unsure_metric_advice": (
        "Print the rate of all processes, or declare it under `metrics:` with `ranks: sum`.",
        "全プロセスの値を出力するか、`metrics:` に `ranks: sum` を指定してください。",
    ),
    "written_inside": (
        "the program wrote files into this run's own copy of the program: {files}",
        "プログラムは、この実行用のコピーの中にファイルを書き込みました: {files}",
    ),
    "written_inside_advice": (
        "They stay there, and later runs do not see them. `hackathon fetch {run!q}` copies them to the current folder.",
        "実行のフォルダに残り、以後の実行からは見えません。`hackathon fetch {run!q}` で現在のフォルダにコピーできます。",
    ),
    "ready": ("ready", "準備完了"),
    "not_ready": (
        "not ready: correct the errors above, then try again",
        "準備ができていません。上のエラーを修正し、もう一度試してください",
    ),
    "not_run": (
        "not ready: nothing was run. Correct the errors above, or run all the same with --force",
        "準備ができていません。何も実行していません。上のエラーを修正するか、--force を付けて実行してください",
    ),
    "next": (
        "next: hackathon scale --processes {counts!q} --wait",
        "次: hackathon scale --processes {counts!q} --wait",
    ),
    "first": (
        "First time with this program? `hackathon try` takes a minute and says whether its numbers can be believed.",
        "このプログラムは初めてですか？ `hackathon try` を使うと、数値を信頼できるかどうかを 1 分ほどで確認できます。",
    ),
}
