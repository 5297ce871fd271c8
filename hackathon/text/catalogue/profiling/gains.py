"""Messages of `hackathon.profiling.gains` and `outcomes`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "at_most": ("at most {gain}", "最大 {gain}"),
    "interval": ("{gain} ({low} to {high})", "{gain}（{low}～{high}）"),
    "basis_share": (
        "{part} takes {share} of a step; no more than that can be saved",
        "{part}はステップの {share} で、それより大きな短縮はありません",
    ),
    "basis_part": (
        "{part} takes {share} of a step; at most {saves} of it can be saved",
        "{part}はステップの {share} で、短縮できるのは最大でその {saves} です",
    ),
    "basis_network": (
        "{part} takes {share} of a step; by the measured network, half the bytes save {saves} of a message of {size} MiB, "
        "and less of shorter ones",
        "{part}はステップの {share} です。ネットワークの測定値によると、バイト数を半分にすると {size} MiB のメッセージの "
        "{saves} が短縮され、短いメッセージではそれ以下です",
    ),
    "basis_speedup": (
        "`hackathon speedup` measured {ratio}× with one process (run {run})",
        "`hackathon speedup` の測定では 1 プロセスで {ratio} 倍でした（実行 {run}）",
    ),
    "basis_scaling": (
        "the efficiency from {base} to {processes} processes is {efficiency}; no more than the rest can be saved",
        "{base} プロセスから {processes} プロセスへの効率は {efficiency} で、残りより大きな短縮はありません",
    ),
    "advice_measured_option": (
        "{settings} is faster on this program: `hackathon speedup` measured {ratio}× with one process",
        "{settings} でこのプログラムは速くなります。`hackathon speedup` の測定では 1 プロセスで {ratio} 倍でした",
    ),
    "advice_poor_scaling": (
        "{lost} of a step is lost between {base} and {processes} processes, and the program does not tell to what: "
        "`hackathon profile` shows how much of it is communication",
        "{base} プロセスから {processes} プロセスの間でステップの {lost} が失われていますが、プログラムの記録からは原因が"
        "分かりません。`hackathon profile` で通信の割合を調べてください",
    ),
    "name_slow_loader": ("slow loader", "遅いデータ読み込み"),
    "name_host_bound": ("work of the host", "ホストの処理"),
    "name_exposed_communication": ("exposed communication", "隠れない通信"),
    "name_straggler": ("straggler", "遅いランク"),
    "name_imbalance": ("imbalance", "負荷の偏り"),
    "name_measured_option": ("{settings}, measured", "{settings}（測定済み）"),
    "name_poor_scaling": ("poor scaling", "低い並列効率"),
    "confirm_speed": (
        "if it helps, the throughput rises by more than the repeats differ",
        "効果があれば、スループットが反復のばらつき以上に上がります",
    ),
    "none": ("No advice: no part of a step takes more than it should.", "対策の候補はありません。どの区分も大きすぎません。"),
    "none_unknown": (
        "No advice: where the time of a step goes is not known for this run (hackathon docs why-is-it-not-faster).",
        "対策の候補は不明です。この実行にはステップの時間の記録がありません（hackathon docs why-is-it-not-faster）。",
    ),
    "head": (
        "{run}, {processes} {processes:process|processes}: what to try, the largest expected gain first",
        "{run}、{processes} プロセス: 対策の候補（期待できる短縮の大きい順）",
    ),
    "expected": ("expected gain: {gain} of a step; {why}", "期待できる短縮（ステップに対する割合）: {gain}。{why}"),
    "type": ("try: {command}", "実行するコマンド: {command}"),
    "needs_lines": ("the program needs:", "プログラムに必要な行:"),
    "needs_environment": (
        "in project.yaml, below `variables:`",
        "project.yaml の `variables:` に書く内容:",
    ),
    "confirm": ("confirm: {command}; {text}", "確認: {command}。{text}"),
    "ruled_out": (
        "measured by `hackathon speedup` without a gain: {what}",
        "`hackathon speedup` の測定では効果なし: {what}",
    ),
    "no_switch": (
        "no parameter of this program acts on it",
        "このプログラムには、これに効くパラメータがありません",
    ),
    "new_run": ("NEW", "NEW"),
    "outcome": (
        "advice on {name}: {verdict}; expected gain {expected}, measured {measured}",
        "{name}への対策: {verdict}。期待した短縮 {expected}、測定した短縮 {measured}",
    ),
    "then": ("; {text}", "。{text}"),
    "verdict_came_true": ("came true", "期待どおり"),
    "verdict_not": ("did not help", "効果なし"),
    "verdict_noise": ("inside the noise", "ノイズの範囲内"),
    "verdict_unknown": ("not known", "不明"),
    "verdict_untried": ("not tried", "未実施"),
    "reason_faster": ("faster, by more than the repeats differ", "反復のばらつき以上に速くなりました"),
    "reason_slower": ("slower, by more than the repeats differ", "反復のばらつき以上に遅くなりました"),
    "reason_share": (
        "it is faster, but the share of {part} has not fallen: something else did it",
        "速くなりましたが、{part}の割合は下がっていないため、別の原因です",
    ),
    "reason_noise": ("the difference does not exceed that of the repeats", "差は反復のばらつきを超えません"),
    "reason_once": (
        "each side ran once, so the noise is not known: repeat it (`--repeat 3`)",
        "どちらも 1 回だけの実行で、ばらつきが不明です。繰り返してください（`--repeat 3`）",
    ),
    "reason_unmeasured": (
        "a side has no throughput to compare",
        "比べられるスループットがない側があります",
    ),
    "changed": ("changed as advised: {what}", "対策による変更: {what}"),
    "changed_others": (
        "nothing that the advice names was changed, but: {what}",
        "対策が挙げるものは変更されていませんが、次が異なります: {what}",
    ),
    "changed_nothing": (
        "nothing that is on record was changed",
        "記録にある設定の違いはありません",
    ),
    "changed_program": ("the program", "プログラム"),
    "beyond": (
        "more than this advice can explain: something else helped too",
        "この対策だけでは説明できない短縮です。ほかの原因もあります",
    ),
    "report_title": ("Advice and what came of it", "対策の候補とその結果"),
    "report_note": (
        "Gains are shares of the time of a step. The measured one is known where a run was repeated.",
        "短縮はステップの時間に対する割合です。測定した短縮は、繰り返した実行がある場合だけ分かります。",
    ),
    "column_advice": ("Advice", "対策"),
    "column_changed": ("Changed", "変更"),
    "column_expected": ("Expected gain", "期待した短縮"),
    "column_measured": ("Measured gain", "測定した短縮"),
    "column_verdict": ("Verdict", "判定"),
    "pointer": (
        "what each piece of advice can gain, and the command to try it: `hackathon results {name!q} --advice`",
        "それぞれの対策で期待できる短縮とコマンド: `hackathon results {name!q} --advice`",
    ),
    "option_advice": (
        "What to try, with the expected gain of each and the command to type.",
        "試す対策を、期待できる短縮とコマンドとともに表示する。",
    ),
    "needs_measured": (
        "{name} has no advice yet: none of its runs has succeeded",
        "{name} には成功した実行がまだなく、対策の候補を出せません",
    ),
    "advice_alone": (
        "--advice goes with --json, not with other formats, --plot, --curve or --suggest",
        "--advice は --json とだけ併用できます。ほかの形式、--plot、--curve、--suggest とは併用できません",
    ),
}  # fmt: skip
