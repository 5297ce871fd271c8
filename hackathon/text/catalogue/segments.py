"""Messages about segments, runs that follow each other to train longer than a walltime: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option_segments": (
        "Plan this many runs, each going on where the former one's walltime ended.",
        "続けて実行するジョブの数。前のジョブが制限時間で終わった所から再開する",
    ),
    "option_curve": ("Print a metric's curve as CSV: step, value.", "指標の推移を CSV(ステップ, 値)で出力する"),
    "with_repeat": ("--segments and --repeat do not go together", "--segments と --repeat は同時に使えません"),
    "with_repeat_hint": ("submit the chain several times", "複数回投入してください"),
    "not_for_studies": (
        "a scaling study measures single runs: they have no segments",
        "スケーリング測定の各点は1回の実行なので、セグメントに分けられません",
    ),
    "not_for_studies_hint": (
        "to measure, a run of some minutes suffices; to train on: hackathon submit --segments N",
        "測定は数分の実行で足ります。長い学習は hackathon submit --segments N で投入してください",
    ),
    "before": (
        "run {run} goes on where {before} ends, and that one was not submitted yet",
        "実行 {run} は {before} の続きですが、{before} がまだ投入されていません",
    ),
    "before_hint": (
        "hackathon submit --again with the former one first",
        "先に前の実行を hackathon submit --again で投入してください",
    ),
    "place": ("segment {number} of {of}", "セグメント {number}/{of}"),
    "skipped_complete": ("nothing left to do", "学習完了済みのため何もせず終了"),
    "skipped_failed": ("not begun, for a former one failed", "前のセグメントが失敗したため開始せず"),
    "skipped_lost": ("not begun, for the first one is gone", "最初のセグメントがないため開始せず"),
    "complete": ("training is complete", "学習完了"),
    "goes_on": ("training goes on in another segment", "学習は次のセグメントへ続く"),
    "incomplete": (
        "training is not complete, and no segment is left",
        "学習は未完了で、残りのセグメントはありません",
    ),
    "no_curve": (
        "no curve of {metric!r} in {run}; there are: {names}",
        "{run} に {metric!r} の推移はありません。あるもの: {names}",
    ),
}
