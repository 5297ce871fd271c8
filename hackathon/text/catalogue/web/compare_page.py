"""Messages of the page of runs beside each other: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Compare runs", "実行の比較"),
    "lead": (
        "The curves of these runs in the same charts, and everything in which they differ.",
        "各実行の曲線を同じグラフに重ね、違いをすべて示します。",
    ),
    "choose": ("Tick two or more runs in the list of runs.", "実行の一覧で 2 件以上を選んでください。"),
    "runs": ("Runs", "実行"),
    "show": ("Show the ticked ones", "選んだ実行を表示"),
    "unknown": ("No single run has this name: {names}", "実行を特定できません: {names}"),
    "left": (
        "More runs were ticked than there are colours; {count} {count:is|are} left out.",
        "一度に比較できる数を超えたため、{count} 件を除いています。",
    ),
    "curves": ("Curves", "曲線"),
    "no_curves": ("None of these runs has a curve.", "これらの実行に曲線はありません。"),
    "not_drawn": ("without a curve here", "曲線なし"),
    "alt": ("{title} of several runs; last values: {ends}.", "複数の実行の{title}。最後の値: {ends}。"),
    "same": ("{count} more are the same in all runs.", "ほかの {count} 項目はすべての実行で同じです。"),
    "nothing": ("All {count} are the same.", "{count} 項目すべてが同じです。"),
    "largest": ("largest", "最大"),
    "in_pairs": ("Compare files of two runs", "2 件のファイルを比較"),
}
