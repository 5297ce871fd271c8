"""Messages about segments, runs that follow each other to train longer than a walltime: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option_segments": (
        "Plan this many runs; each continues where the previous one reached its walltime.",
        "続けて実行するジョブの数。前のジョブが制限時間で終わった所から再開する",
    ),
    "option_curve": ("Print a metric over time as CSV: step, value.", "指標の推移を CSV（ステップ, 値）で出力する"),
    "with_repeat": ("--segments and --repeat cannot be combined", "--segments と --repeat は同時に使えません"),
    "with_repeat_hint": ("submit the chain several times", "複数回投入してください"),
    "not_for_studies": (
        "a scaling study measures single runs; they cannot have segments",
        "スケーリング測定の各点は1回の実行なので、セグメントに分けられません",
    ),
    "not_for_studies_hint": (
        "a run of a few minutes is enough to measure; for long training: hackathon submit --segments N",
        "測定は数分の実行で足ります。長い学習は hackathon submit --segments N で投入してください",
    ),
    "before": (
        "run {run} continues {before}, which was not submitted yet",
        "実行 {run} は {before} の続きですが、{before} がまだ投入されていません",
    ),
    "before_hint": (
        "submit the previous run first with hackathon submit --again",
        "先に前の実行を hackathon submit --again で投入してください",
    ),
    "place": ("segment {number} of {of}", "セグメント {number}/{of}"),
    "skipped_complete": ("training is already complete", "学習は完了済み"),
    "skipped_failed": ("not started: a previous segment failed", "前のセグメントが失敗したため開始せず"),
    "skipped_lost": ("not started: the first segment does not exist", "最初のセグメントがないため開始せず"),
    "complete": ("training is complete", "学習完了"),
    "goes_on": ("training continues in the next segment", "学習は次のセグメントへ続く"),
    "incomplete": (
        "training is not complete, and no segments are left",
        "学習は未完了で、残りのセグメントはありません",
    ),
    "curve_alone": (
        "--curve prints the CSV of one run: no study, other format, --plot, --baseline or --metric",
        "--curve は 1 つの実行の推移を CSV で出力します。測定（study）やほかの形式、--plot、--baseline、--metric とは"
        "併用できません",
    ),
    "no_curve": (
        "no values of {metric!r} over time in {run}; available: {names}",
        "{run} に {metric!r} の推移はありません。あるもの: {names}",
    ),
}
