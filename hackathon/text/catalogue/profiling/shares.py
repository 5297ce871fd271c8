"""Messages of `hackathon.profiling.sentences` and of pictures of shares: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "data": ("data", "データ"),
    "host": ("host", "ホスト"),
    "compute": ("compute", "計算"),
    "communication": ("communication", "通信"),
    "waiting": ("waiting", "待ち"),
    "other": ("other", "その他"),
    "point": (
        "{processes} {processes:process|processes}, {step} per step: {parts}",
        "{processes} プロセス、1 ステップ {step}: {parts}",
    ),
    "waiting_for": (
        "{part} (of that {waiting} waiting for rank {rank})",
        "{part}（うち {waiting} はランク {rank} 待ち）",
    ),
    "waiting_in_turn": (
        "{part} (of that {waiting} waiting for one rank or another)",
        "{part}（うち {waiting} は待ち、待たせるランクはさまざま）",
    ),
    "between": (", ", "、"),
    "not_known": ("{text}; not known: {parts}", "{text}。不明: {parts}"),
    "why": ("{names} ({why})", "{names}（{why}）"),
    "why_unmarked": ("not marked by the program", "プログラムに区間の指定なし"),
    "why_in_compute": ("contained in compute", "計算に含まれる"),
    "why_old_runtime": ("recorded by an older hackathon_runtime.py", "hackathon_runtime.py が古い"),
    "why_missing_ranks": ("not all ranks wrote their times", "時間を記録していないランクがある"),
    "why_unmatched": ("the collectives of the ranks do not match", "集団通信の回数がランクごとに異なる"),
    "none": (
        "where the time of a step goes is not known: the program records no step times (hackathon docs why-is-it-not-faster)",
        "1 ステップの時間の内訳は不明です。プログラムがステップの時間を記録していません（hackathon docs why-is-it-not-faster）",
    ),
}  # fmt: skip
