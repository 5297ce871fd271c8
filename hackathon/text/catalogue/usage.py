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
    "head_basis": ("by", "根拠"),
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
    "note_no_end": ("{count} with an end that nobody saw", "終了未確認 {count} 件"),
    "note_unclear": ("{count} unclear", "投入不明 {count} 件"),
    # below the table
    "zone": (
        "Days in {zone}. Jobs that go on count until now.",
        "日付は {zone} です。実行中のジョブは現在までを数えています。",
    ),
    "by_markers": (
        "Counted by the runs' own records; without --no-ask the scheduler's account is used.",
        "実行自身の記録で数えています。--no-ask を外すとスケジューラの課金記録を使います。",
    ),
    "limited": (
        "limit: nobody saw the end of a job; it counts to the latest that is possible (its walltime at most).",
        "上限で計算: ジョブの終了が確認できないため、あり得る最も遅い時刻（長くても制限時間）まで数えています。",
    ),
    "unclear": (
        "unclear: it is not known whether a job came of a submission; counted as nothing (`hackathon status`).",
        "投入不明: ジョブになったかどうか分からない投入です。0 と数えています（`hackathon status` で確認できます）。",
    ),
    "counted": ("counted: {read} of {all} folders of runs", "集計対象: 実行フォルダ {all} 個のうち {read} 個"),
    "nothing": ("No runs were found below {folder}.", "{folder} の下に実行が見つかりません。"),
    "written": ("written: {path}", "書き出しました: {path}"),
    # what could not be read or believed
    "unreadable": ("{path}: {what}; its runs are not counted", "{path}: {what}。ここの実行は数えていません"),
    "broken": (
        "{folder}: {count} run(s) can not be read and are not counted: {names}",
        "{folder}: 読めない実行が {count} 件あり、数えていません: {names}",
    ),
    "odd_clock": (
        "run {run}: it ended before it began, or begins in the future; counted as nothing. Look at the node's clock.",
        "実行 {run}: 開始より前に終了したか、開始が未来の時刻です。0 と数えました。ノードの時計を確認してください。",
    ),
    "odd_long": (
        "run {run}: it says that it took much longer than its walltime; counted with its walltime.",
        "実行 {run}: 制限時間を大きく超えた記録です。制限時間ぶんとして数えました。",
    ),
    "odd_nodes": (
        "run {run}: its number of nodes or GPUs can not be true; counted with the hosts that are known.",
        "実行 {run}: ノード数か GPU 数があり得ない値です。分かっているホスト数で数えました。",
    ),
    "odd_more": ("{folder}: {count} further runs like these", "{folder}: 同様の実行がほかに {count} 件"),
    "twice": (
        "run {run}: its job is counted already, for run {other}",
        "実行 {run}: このジョブは実行 {other} として数え済みです",
    ),
    "no_answer": (
        "{cluster}: the scheduler's account is not to be had; the runs' own records count. {what}",
        "{cluster}: スケジューラの課金記録が得られないため、実行自身の記録で数えます。{what}",
    ),
    # options
    "no_event": ("No hackathon.yaml in {folder} or above it", "{folder} とその上に hackathon.yaml がありません"),
    "no_event_hint": (
        "Name the event's folder: hackathon event usage DIR; `hackathon event init` makes one.",
        "イベントのフォルダを指定してください: hackathon event usage DIR。`hackathon event init` で作れます。",
    ),
    "bad_moment": (
        "--{option} {text!r} is neither a date nor a time",
        "--{option} {text!r} は日付でも時刻でもありません",
    ),
    "bad_moment_hint": (
        "Write 2019-01-24 or 2019-01-24T09:30; --until with a date alone has that day in it.",
        "2019-01-24 または 2019-01-24T09:30 のように書きます。--until に日付だけを書くと、その日を含みます。",
    ),
    "csv_and_json": ("--csv - and --json both write to stdout", "--csv - と --json はどちらも標準出力に書きます"),
    "csv_and_json_hint": ("Give --csv a file.", "--csv にファイル名を指定してください。"),
    "not_written": ("{path} can not be written: {what}", "{path} に書けません: {what}"),
    "not_written_hint": ("Choose another file.", "別のファイルを指定してください。"),
    # budgets at submission
    "budget": (
        "budget of team {team} on {cluster}: {parts}",
        "チーム {team} の {cluster} での割り当て: {parts}",
    ),
    "budget_part": (
        "{kind}: {used} used of {budget}{waiting}, this request at most {request}, {left} left",
        "{kind}: {budget} のうち使用 {used}{waiting}、今回は最大 {request}、残り {left}",
    ),
    "budget_waiting": (", up to {waiting} by jobs in the queue or running", "、待機中・実行中のジョブが最大 {waiting}"),
    "budget_counted": (" (counted: {read} of {all} folders)", "（集計できたフォルダ: {all} 個のうち {read} 個）"),
    "spent": ("nothing is left of the {text}", "使い切っています。{text}"),
    "would_spend": ("this request can go beyond the {text}", "この投入で超えることがあります。{text}"),
    "refused_spent": ("Refused: nothing is left of the {text}", "割り当てが残っていないため、投入できません。{text}"),
    "refused_spent_hint": (
        "Ask the organisers for more; `hackathon event usage` shows what was used.",
        "主催者に追加を相談してください。`hackathon event usage` で内訳を確認できます。",
    ),
    "refused_would": (
        "Refused: this can go beyond the {text}",
        "割り当てを超えるおそれがあるため、投入できません。{text}",
    ),
    "refused_would_hint": ("This would fit: {nearest}", "次の内容なら収まります: {nearest}"),
    "nearest_walltime": ("--walltime {walltime}", "--walltime {walltime}"),
    "nearest_jobs": ("{count} job(s) of these", "このうち {count} ジョブまで"),
    "nearest_or": (" or ", " または "),
    "refused_small": (
        "Refused: not even a minute of this fits the {text}",
        "1 分でも割り当てに収まらないため、投入できません。{text}",
    ),
    "refused_small_hint": (
        "Ask for fewer nodes, or wait: jobs in the queue and running ones count with all that they can still take "
        "(`hackathon status` takes notice of ended ones). Else ask the organisers for more.",
        "ノード数を減らすか、しばらく待ってください。待機中・実行中のジョブは、この先使い得る分もすべて数えています"
        "（`hackathon status` で終了が反映されます）。足りなければ主催者に相談してください。",
    ),
    "nobodys": (
        "no team of hackathon.yaml has this project or your account: not counted against a budget",
        "このプロジェクトもあなたのアカウントも hackathon.yaml のどのチームにもないため、割り当てには数えません",
    ),
}
