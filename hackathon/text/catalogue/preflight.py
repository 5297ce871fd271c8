"""Messages of `submit --preflight` and `scale --preflight`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option": (
        "Look at the nodes first, with a job of seconds; start only if nothing is wrong.",
        "先に数秒のジョブでノードを点検し、問題がなければ始める",
    ),
    "job": ("preflight", "事前点検"),
    "of": ("preflight {run} failed: {what}", "事前点検 {run} が失敗: {what}"),
    "and_more": (" (and {count} more)", "(ほか {count} 件)"),
    "no_job": (
        "run {run} waits for run {other}, which has no job yet",
        "実行 {run} が待つ実行 {other} には、まだジョブがありません",
    ),
    "no_job_hint": (
        "submit that one first: `hackathon submit --again RUN`",
        "先にそちらを投入してください: `hackathon submit --again RUN`",
    ),
    "was_bad": (
        "run {run} waits for the preflight {other}, which did not succeed: {what}",
        "実行 {run} が待つ事前点検 {other} は成功しませんでした: {what}",
    ),
    "was_bad_hint": (
        "mend that and submit anew; this run never starts",
        "直してから新しく投入してください。この実行が始まることはありません",
    ),
    "with_segments": (
        "--preflight can not go ahead of segments: the second one would start although the first one may not",
        "--preflight と --segments は併用できません(最初の区間が止められても、次の区間が始まってしまうため)",
    ),
    "with_segments_hint": (
        "`hackathon submit preflight --wait` first, with the same --nodes and --launcher; then the segments",
        "先に同じ --nodes と --launcher で `hackathon submit preflight --wait` を実行してから投入してください",
    ),
    "with_resume": (
        "--preflight is decided when a study is made, not when it is resumed",
        "--preflight は測定を始めるときに指定します(再開時には指定できません)",
    ),
}
