"""Messages of the pages' looks and of the scaling results of all teams: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # figures
    "data": ("Data", "数値"),
    "failed": ("failed", "失敗"),
    "failed_key": ("× no run of this size succeeded", "× このサイズの実行はすべて失敗"),
    "switch": ("Choose what the charts show", "グラフに表示するもの"),
    "hide_published": ("hide published results, zoom to the teams’ own", "公表値を隠し、チームの結果を拡大"),
    "show": ("Show", "表示"),
    "save": ("Download as", "保存"),
    "keys": (
        "Keyboard shortcuts: / search, j k next and previous row, g t teams, g n now, g r runs, g s scaling",
        "キーボード操作: / 検索、j k 次・前の行、g t チーム、g n 現況、g r 実行、g s スケーリング",
    ),
    "zoom": (
        "drag to move, Ctrl + wheel to zoom, double-click to reset",
        "ドラッグで移動、Ctrl + ホイールで拡大、ダブルクリックで元に戻ります",
    ),
    "no_bundle": (
        "plots are static images, because Vega could not be prepared: {reason}",
        "図は静止画のままです: Vega を用意できませんでした: {reason}",
    ),
    "no_bundle_hint": (
        "the pages are complete without it",
        "ページはこのままで問題なく使えます",
    ),
    # scaling results of all teams
    "scaling": ("Scaling results", "スケーリングの結果"),
    "scaling_lead": (
        "How each team's training scales beyond one GPU, compared with published results.",
        "各チームの学習が 1 GPU からどこまで速くなったかを、公表されている結果と並べて示します。",
    ),
    "none": (
        "No team has a speed-up yet. Measure at least two sizes: hackathon scale --processes 1,2,4",
        "速度向上率のあるチームはまだありません。2 つ以上の規模の測定が必要です: hackathon scale --processes 1,2,4",
    ),
    "not_compared": ("own computer, not compared", "手元のコンピュータでの測定、比較の対象外"),
    "waiting": ("No speed-up yet: {teams}", "速度向上率はまだなし: {teams}"),
    "key": ("Legend of the plots", "図の凡例"),
    "published": ("Published", "公表値"),
    "ideal": ("linear", "線形"),
    "thin": (
        "The {shown} fastest teams are in colour; the other {count} are thin grey lines.",
        "色が付いているのは上位 {shown} チームです。ほかの {count} チームは細い灰色の線です。",
    ),
    "other_bases": (
        "If a study starts with more than one process, its line starts on the linear line, because its speed-up over "
        "one process is not known.",
        "2 プロセス以上から始まる測定では 1 プロセスに対する速度向上率が分からないため、"
        "線を線形の線の上から始めています。",
    ),
    "caption": (
        "The largest speed-up of each team, from medians over repeats",
        "各チームの最大の速度向上率（繰り返しの中央値による）",
    ),
    "column_who": ("Team", "チーム"),
    "column_study": ("Study", "測定"),
    "further_one": ("1 more", "ほか 1 件"),
    "further": ("{count} more", "ほか {count} 件"),
    "from_base": ("base {base}", "基準 {base}"),
    "column_good": ("Good runs", "成功した実行"),
    "of": ("{good} of {total}", "{total} 件中 {good} 件"),
    "below": ("below {target}", "{target} 未満"),
    "references": ("Published results", "公表されている結果"),
    "references_lead": ("The dashed line at {target}: {title}.", "{target} の破線: {title}。"),
    "references_caption": (
        "Results published by others; machines and models differ",
        "他の機関が公表した結果です。計算機もモデルも異なります",
    ),
    "column_reference": ("Result", "結果"),
    "column_source": ("Source", "出典"),
    "alt_speedup": (
        "Speed-up over processes on logarithmic axes for {count} teams, with the ideal line, the target line and "
        "published results. The largest is {team}: {speedup} × on {processes} processes. The data follow as a table.",
        "{count} チームのプロセス数に対する速度向上率（両対数）と、線形の線、目標の線、公表されている結果。最大は "
        "{team} の {processes} プロセスで {speedup} 倍です。数値は続く表にあります。",
    ),
    "alt_efficiency": (
        "Parallel efficiency over processes for {count} teams, with the ideal line, the target line and published "
        "results. {team} has the largest speed-up, with {efficiency} on {processes} processes. The data follow as a "
        "table.",
        "{count} チームのプロセス数に対する並列効率と、線形の線、目標の線、公表されている結果。速度向上率が最大の "
        "{team} は {processes} プロセスで {efficiency} です。数値は続く表にあります。",
    ),
}
