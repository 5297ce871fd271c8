"""`hackathon compare`."""

MESSAGES = {
    "no_common": (
        "{old} ran with {old_sizes} processes, {new} with {new_sizes}: they have no process count in common",
        "プロセス数が一致しません（{old}: {old_sizes}、{new}: {new_sizes}）",
    ),
    "no_common_hint": (
        "`hackathon rerun RUN --processes N` creates a run of the same size",
        "`hackathon rerun RUN --processes N` で同じ大きさの実行を作れます",
    ),
    "no_metric": ("neither side has the metric {metric}", "指標 {metric} はどちらにもありません"),
    "no_metric_hint": ("available: {known}", "あるもの: {known}"),
    "processes": ("processes", "プロセス"),
    "old": ("old", "旧"),
    "new": ("new", "新"),
    "change": ("change", "変化"),
    "verdict": ("verdict", "判定"),
    "equal": ("equal", "一致"),
    "not_equal": ("not equal", "不一致"),
    "verdict_same": ("same", "同じ"),
    "verdict_faster": ("faster", "速い"),
    "verdict_slower": ("slower", "遅い"),
    "verdict_different": ("different accuracy", "精度が違う"),
    "verdict_failed": ("failed", "失敗"),
    "verdict_unknown": ("unknown", "不明"),
    "says_same": ("The same within the noise.", "ノイズの範囲で同じです。"),
    "says_faster": ("Faster, with the same accuracy.", "速くなりました（精度は同じ）。"),
    "says_faster_only": (
        "Faster. Accuracy was not compared: it was not recorded on both sides.",
        "速くなりました。双方に記録がないため、精度は比較していません。",
    ),
    "says_slower": ("Slower.", "遅くなりました。"),
    "says_different": ("The accuracy is different.", "精度が違います。"),
    "says_failed": ("The new run did not succeed.", "新しい実行は成功していません。"),
    "says_unknown": (
        "Cannot compare: the two have no metric in common.",
        "判定できません（双方に共通の数値がありません）。",
    ),
    "method_welch": (
        "noise: 95 % interval from the spread of the repeats on both sides (Welch)",
        "ノイズ: 双方の繰り返しのばらつきによる 95 % 区間（Welch）",
    ),
    "method_prediction": (
        "noise: 95 % interval for one more run, from the repeats of one side; repeat the other one too",
        "ノイズ: 片側の繰り返しによる 95 % 予測区間。もう片側も繰り返すとより確かです",
    ),
    "method_tolerance": (
        "noise: not measured, one run each; up to {tolerance} % counts as the same (--tolerance)",
        "ノイズ: 1 回ずつのため未測定。{tolerance} % までを同じとみなします（--tolerance）",
    ),
    "weights_equal": (
        "The weights are identical, bit for bit: both trained the same network.",
        "重みがビット単位で一致しています。学習結果は同一です。",
    ),
    "diverged": (
        "a new run ended with {names} that is NaN or infinite: its training diverged",
        "新しい実行の {names} が NaN または無限大です。学習が発散しています",
    ),
    "check_failed": (
        "the new result fails the check that the old one passed",
        "新しい結果は、以前の結果が達成した精度条件を満たしていません",
    ),
}
