"""Messages of `submit --preflight` and `scale --preflight`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option": (
        "Check the nodes with a short job first; start only if it succeeds.",
        "先に数秒のジョブでノードを点検し、問題がなければ始める",
    ),
    "job": ("preflight", "事前点検"),
    "of": ("preflight {run} failed: {what}", "事前点検 {run} が失敗: {what}"),
    "and_more": (" (and {count} more)", "（ほか {count} 件）"),
    "no_job": (
        "run {run} waits for run {other}, which has no job yet",
        "実行 {run} が待つ実行 {other} には、まだジョブがありません",
    ),
    "no_job_hint": (
        "submit that run first: `hackathon submit --again RUN`",
        "先にそちらを投入してください: `hackathon submit --again RUN`",
    ),
    "was_bad": (
        "run {run} waits for the preflight {other}, which did not succeed: {what}",
        "実行 {run} が待つ事前点検 {other} は成功しませんでした: {what}",
    ),
    "was_bad_hint": (
        "fix the problem and submit a new run; this one never starts",
        "問題を直してから新しく投入してください。この実行が始まることはありません",
    ),
    "with_segments": (
        "--preflight cannot be combined with --segments: the second segment would start even if the first is stopped",
        "--preflight と --segments は併用できません（最初のセグメントが止められても、"
        "次のセグメントが始まってしまうため）",
    ),
    "with_segments_hint": (
        "run `hackathon submit preflight --wait` first, with the same --nodes and --launcher; then submit the segments",
        "先に同じ --nodes と --launcher で `hackathon submit preflight --wait` を実行してから投入してください",
    ),
    "with_resume": (
        "--preflight is chosen when a study is created, not when it is resumed",
        "--preflight は測定を始めるときに指定します（再開時には指定できません）",
    ),
}
