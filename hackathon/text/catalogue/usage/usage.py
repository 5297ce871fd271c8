"""Messages about what an event's teams use, and about their budgets: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the table
    "head_team": ("team", "チーム"),
    "head_day": ("day", "日"),
    "head_user": ("account", "アカウント"),
    "head_cluster": ("cluster", "クラスタ"),
    "head_jobs": ("jobs", "ジョブ"),
    "head_what": ("what", "資源"),
    "head_used": ("used", "使用"),
    "head_budget": ("budget", "割り当て"),
    "head_share": ("%", "%"),
    "head_left": ("left", "残り"),
    "head_basis": ("basis", "根拠"),
    "head_note": ("note", "備考"),
    "kind_node_hours": ("node-hours", "ノード時間"),
    "kind_gpu_hours": ("GPU-hours", "GPU 時間"),
    "kind_tokens": ("tokens", "トークン"),
    "basis_scheduler": ("scheduler", "スケジューラ"),
    "basis_markers": ("markers", "実行の記録"),
    "basis_limit": ("limit", "上限で計算"),
    "basis_mixed": ("mixed", "混在"),
    "unknown_team": ("{team} (not in hackathon.yaml)", "{team}（hackathon.yaml にありません）"),
    "no_team": ("({user}, of no team)", "（{user}、チームなし）"),
    "note_running": ("{count} running", "実行中 {count} 件"),
    "note_no_end": ("{count} with unknown end", "終了未確認 {count} 件"),
    "note_unclear": ("{count} unclear", "投入不明 {count} 件"),
    # below the table
    "zone": (
        "Days in {zone}. Running jobs count until now.",
        "日付は {zone} です。実行中のジョブは現在までを数えています。",
    ),
    "by_markers": (
        "Counted from the runs' own records; without --no-ask, the scheduler's accounting is used.",
        "実行自身の記録で数えています。--no-ask を外すとスケジューラの課金記録を使います。",
    ),
    "limited": (
        "limit: the end of a job is not known; it counts until the latest possible time (at most its walltime).",
        "上限で計算: ジョブの終了が確認できないため、あり得る最も遅い時刻（長くても制限時間）まで数えています。",
    ),
    "unclear": (
        "unclear: unknown whether a job was submitted; not counted (`hackathon status`).",
        "投入不明: ジョブになったかどうか分からない投入です。0 と数えています（`hackathon status` で確認できます）。",
    ),
    "counted": ("counted: {read} of {all} run folders", "集計対象: 実行フォルダ {all} 個のうち {read} 個"),
    "written": ("written: {path}", "書き出しました: {path}"),
    # what could not be read or believed
    "unreadable": ("{path}: {what}; its runs are not counted", "{path}: {what}。ここの実行は数えていません"),
    "broken": (
        "{folder}: {count} {count:run|runs} cannot be read and {count:is|are} not counted: {names}",
        "{folder}: 読めない実行が {count} 件あり、数えていません: {names}",
    ),
    "odd_clock": (
        "run {run}: its end is before its start, or its start is in the future; not counted. Check the clock of the "
        "node.",
        "実行 {run}: 開始より前に終了したか、開始が未来の時刻です。0 と数えました。ノードの時計を確認してください。",
    ),
    "odd_long": (
        "run {run}: its records say that it took much longer than its walltime; counted with its walltime.",
        "実行 {run}: 制限時間を大きく超えた記録です。制限時間ぶんとして数えました。",
    ),
    "odd_nodes": (
        "run {run}: impossible number of nodes or GPUs; counted with the known hosts.",
        "実行 {run}: ノード数か GPU 数があり得ない値です。分かっているホスト数で数えました。",
    ),
    "odd_more": ("{folder}: {count} more runs like these", "{folder}: 同様の実行がほかに {count} 件"),
    "twice": (
        "run {run}: its job is already counted as run {other}",
        "実行 {run}: このジョブは実行 {other} として数え済みです",
    ),
    "job_other_owner": (
        "run {run}: its files name job {job}, which belongs to {who}; counted from the run's own records",
        "実行 {run}: 記録にあるジョブ {job} は {who} のジョブです。実行自身の記録で数えました",
    ),
    "job_other_run": (
        "run {run}: its files name job {job}, which is the job of another run ({who}); counted from the run's own "
        "records",
        "実行 {run}: 記録にあるジョブ {job} は別の実行（{who}）のジョブです。実行自身の記録で数えました",
    ),
    "job_unnamed": (
        "run {run}: its files name job {job} ({who}); it is not known whose job that is, because the accounting does "
        "not show an owner; counted from the run's own records",
        "実行 {run}: 記録にあるジョブ {job}（{who}）の所有者は、課金記録にないため分かりません。"
        "実行自身の記録で数えました",
    ),
    "job_untold": (
        "{folder}: it is not known whether the jobs of {count} {count:run|runs} belong to the owners of the runs; the "
        "accounting does not show an owner",
        "{folder}: 実行 {count} 件のジョブが実行の所有者のものかどうかは、課金記録に所有者がないため分かりません",
    ),
    "no_answer": (
        "{cluster}: the scheduler's accounting is not available; counted from the runs' own records. {what}",
        "{cluster}: スケジューラの課金記録が得られないため、実行自身の記録で数えます。{what}",
    ),
    # options
    "no_event": ("No hackathon.yaml in {folder} or above it", "{folder} とその上に hackathon.yaml がありません"),
    "no_event_hint": (
        "Name the event's folder: hackathon event usage DIR; `hackathon event init` creates one.",
        "イベントのフォルダを指定してください: hackathon event usage DIR。`hackathon event init` で作れます。",
    ),
    "bad_moment": (
        "--{option} {text!r} is neither a date nor a time",
        "--{option} {text!r} は日付でも時刻でもありません",
    ),
    "bad_moment_hint": (
        "Write 2019-01-24 or 2019-01-24T09:30; --until with only a date includes that day.",
        "2019-01-24 または 2019-01-24T09:30 のように書きます。--until に日付だけを書くと、その日を含みます。",
    ),
    "csv_and_json": (
        "--csv - and --json both write to standard output",
        "--csv - と --json はどちらも標準出力に書きます",
    ),
    "csv_and_json_hint": ("Use a file name with --csv.", "--csv にファイル名を指定してください。"),
    "not_written": ("{path} cannot be written: {what}", "{path} に書けません: {what}"),
    "not_written_hint": ("Choose another file.", "別のファイルを指定してください。"),
    # budgets at submission
    "budget": (
        "budget of team {team} on {cluster}: {parts}",
        "チーム {team} の {cluster} での割り当て: {parts}",
    ),
    "budget_part": (
        "{kind}: {used} of {budget} used{waiting}, this request needs at most {request}, {left} left",
        "{kind}: {budget} のうち使用 {used}{waiting}、今回は最大 {request}、残り {left}",
    ),
    "budget_waiting": (", up to {waiting} by queued or running jobs", "、待機中・実行中のジョブが最大 {waiting}"),
    "budget_counted": (" (counted: {read} of {all} folders)", "（集計できたフォルダ: {all} 個のうち {read} 個）"),
    "spent": ("nothing is left of the {text}", "使い切っています。{text}"),
    "would_spend": ("this request may exceed the {text}", "この投入で超えることがあります。{text}"),
    "refused_spent": ("Refused: nothing is left of the {text}", "割り当てが残っていないため、投入できません。{text}"),
    "refused_spent_hint": (
        "Ask the organisers for more; `hackathon event usage` shows what was used.",
        "主催者に追加を相談してください。`hackathon event usage` で内訳を確認できます。",
    ),
    "refused_would": (
        "Refused: this may exceed the {text}",
        "割り当てを超えるおそれがあるため、投入できません。{text}",
    ),
    "refused_would_hint": ("Within the budget: {nearest}", "次の内容なら収まります: {nearest}"),
    "nearest_walltime": ("--walltime {walltime}", "--walltime {walltime}"),
    "nearest_jobs": ("{count} {count:job|jobs} of these", "このうち {count} ジョブまで"),
    "nearest_or": (" or ", " または "),
    "refused_small": (
        "Refused: not even one minute of this fits the {text}",
        "1 分でも割り当てに収まらないため、投入できません。{text}",
    ),
    "refused_small_hint": (
        "Use fewer nodes, or wait: queued and running jobs count with all that they can still use (`hackathon status` "
        "records finished ones). Otherwise, ask the organisers for more.",
        "ノード数を減らすか、しばらく待ってください。待機中・実行中のジョブは、この先使い得る分もすべて数えています"
        "（`hackathon status` で終了が反映されます）。足りなければ主催者に相談してください。",
    ),
    "nobodys": (
        "neither this project nor your account belongs to a team of hackathon.yaml: not counted against a budget",
        "このプロジェクトもあなたのアカウントも hackathon.yaml のどのチームにもないため、割り当てには数えません",
    ),
}
