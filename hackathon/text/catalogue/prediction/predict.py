"""Texts of `hackathon predict`: its table, its warnings and its errors."""

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- the table that people write
    "unreadable": ("cannot read {path}: {reason}", "{path} を読めません: {reason}"),
    "too_long": ("{path} is longer than {limit} bytes", "{path} が {limit} バイトを超えています"),
    "too_long_hint": (
        "Keep the lines that matter: at most a few repeats of each size.",
        "必要な行だけを残してください（各規模の繰り返しは数回で十分です）。",
    ),
    "not_text": (
        "{path}, line {line}: not text in UTF-8",
        "{path} の {line} 行目: UTF-8 のテキストではありません",
    ),
    "not_text_hint": (
        "Save the table as CSV with the encoding UTF-8.",
        "表を CSV（文字コード UTF-8）で保存してください。",
    ),
    "empty": ("{path} has no measurements", "{path} に測定値がありません"),
    "empty_hint": (
        "Each line needs processes and value; a line without a value is a failed run.",
        "各行に processes と value が必要です。value が空の行は失敗した実行とみなします。",
    ),
    "no_column": (
        "{path}, line {line}: column missing: {columns} (found: {found})",
        "{path} の {line} 行目: 列 {columns} がありません（見つかった列: {found}）",
    ),
    "no_column_hint": (
        "The first line names the columns: processes,value and optionally nodes,repeat,mode,unit,series.",
        "1 行目に列名を書きます: processes,value（任意: nodes,repeat,mode,unit,series）",
    ),
    "column_twice": (
        "{path}, line {line}: column {column} appears twice",
        "{path} の {line} 行目: 列 {column} が 2 回あります",
    ),
    "bad_table": ("the table has errors:\n{errors}", "表に誤りがあります:\n{errors}"),
    "bad_table_hint": (
        "Correct these lines, or leave the value empty where a run failed.",
        "該当する行を直してください。実行が失敗した行は value を空にしてください。",
    ),
    "in_line": ("{file}, line {line}, {column}: {reason}", "{file} の {line} 行目、{column}: {reason}"),
    "more_errors": (
        "… and {count} more {count:error|errors}",
        "… ほか {count} 件",
    ),
    "too_many_cells": (
        "{count} cells for {columns} columns; put numbers with thousands separators in quotes, or write them without",
        "列 {columns} に対してセルが {count} あります。桁区切りのある数値は引用符で囲むか、区切りなしで書いてください",
    ),
    "broken_quote": ("a quotation mark is not closed", "引用符が閉じていません"),
    "empty_cell": ("empty, although the line has a value", "値のある行で空になっています"),
    "bad_count": (
        "{value} is not a whole number of at least 1",
        "{value} は 1 以上の整数ではありません",
    ),
    "more_nodes": (
        "{nodes} nodes are more than {processes} {processes:process|processes}",
        "ノード数 {nodes} がプロセス数 {processes} を超えています",
    ),
    "no_number": ("{value} is not a number", "{value} は数値ではありません"),
    "not_finite": (
        "{value} is not a measurement; leave the cell empty if the run failed",
        "{value} は測定値ではありません。失敗した実行ではセルを空にしてください",
    ),
    "not_positive": (
        "{value} must be greater than 0; leave the cell empty if the run failed",
        "{value} は 0 より大きい必要があります。失敗した実行ではセルを空にしてください",
    ),
    "beyond_belief": ("{value} is outside 1e-100 to 1e100", "{value} は 1e-100～1e100 の範囲外です"),
    "bad_mode": ("{value} is neither weak nor strong", "{value} は weak でも strong でもありません"),
    "mixed": (
        "{value} in a series that has {other}; give such lines a series of their own",
        "{other} の系列に {value} があります。別の系列（series）に分けてください",
    ),
    # ---- what was asked for
    "no_good_row": ("no row of series {series} can be used", "系列 {series} に使える行がありません"),
    "no_good_row_hint": ("Measure at least one size.", "少なくとも 1 点を測定してください。"),
    "too_large": (
        "{processes} processes cannot be predicted, at most {limit}",
        "予測できるのは {limit} プロセスまでです（指定: {processes}）",
    ),
    "no_series": ("no series {name}; known: {known}", "系列 {name} はありません。ある系列: {known}"),
    "no_source": (
        "no study in {folder} and no table given, so nothing is known about larger sizes",
        "{folder} に測定がなく、表も指定されていないため、予測できません",
    ),
    "no_source_hint": (
        "Measure first, for example: hackathon scale --processes 1,2,4",
        "まず測定してください。例: hackathon scale --processes 1,2,4",
    ),
    "no_study": (
        "{name} is neither a file nor one study of {folder}",
        "{name} はファイルでも {folder} の測定でもありません",
    ),
    "no_study_hint": (
        "Name a CSV file, a unique part of a study's id, or - for the standard input.",
        "CSV ファイル、測定 ID の一部（一意に決まるもの）、または標準入力を表す - を指定してください。",
    ),
    "no_value_yet": (
        "study {study} has no result to predict from yet",
        "測定 {study} には、予測に使える結果がまだありません",
    ),
    "not_known": (
        "not known: no run of {name} on cluster {cluster} tells how fast it is",
        "不明です: クラスタ {cluster} で {name} の速度が分かる実行がありません",
    ),
    "not_known_hint": (
        "This run would tell: hackathon submit {name!q} --cluster {cluster!q} --processes 1\n"
        "The network: hackathon clusters measure {cluster!q} --nodes 1 --nodes 2",
        "速度を調べる実行: hackathon submit {name!q} --cluster {cluster!q} --processes 1\n"
        "ネットワークの測定: hackathon clusters measure {cluster!q} --nodes 1 --nodes 2",
    ),
    "no_goal": (
        "the time of a training is not known: no run reached its target",
        "学習時間は不明です: 目標に達した実行がありません",
    ),
    "no_goal_hint": (
        "Say --epochs and --samples (samples of an epoch), or measure a study whose runs reach --target METRIC:VALUE.",
        "--epochs と --samples（1 エポックのサンプル数）を指定するか、--target 指標:値 に達する実行を測定してください。",
    ),
    "no_samples": (
        "--epochs needs --samples, the number of samples in an epoch",
        "--epochs には --samples（1 エポックのサンプル数）も必要です",
    ),
    "no_samples_hint": (
        "For example: --epochs 90 --samples 1281167",
        "例: --epochs 90 --samples 1281167",
    ),
    "no_batch": (
        "the values are in {unit}, so the batch size is needed for the time of a training",
        "値の単位が {unit} のため、学習時間の予測にはバッチサイズが必要です",
    ),
    "no_batch_hint": (
        "Say --batch-size: samples of a step, per process in weak scaling, of all processes in strong scaling.",
        "--batch-size を指定してください（1 ステップのサンプル数。弱スケーリングではプロセスあたり、強スケーリングでは全体）。",
    ),
    "job_time": (
        "the values are times of a fixed amount of work in {unit}; it is not known how much of a training that is",
        "値は一定量の仕事にかかる時間（{unit}）です。学習全体のどれだけにあたるか分かりません",
    ),
    "job_time_hint": (
        "Use the unit s/epoch for times of an epoch, or rates such as samples/s.",
        "1 エポックの時間なら単位を s/epoch に、または samples/s などの速度にしてください。",
    ),
    "bad_target": (
        "{value} is not a METRIC:VALUE such as accuracy:0.95 or loss:<0.2",
        "{value} は 指標:値（例 accuracy:0.95、loss:<0.2）の形ではありません",
    ),
    "one_stdin": (
        "- can be the table or the history, not both",
        "- は表と履歴のどちらか一方にだけ指定できます",
    ),
    # ---- warnings of a prediction; the id stands before each
    "warning_single_runs": (
        "from single runs and no study",
        "測定（study）ではなく個別の実行からの予測です",
    ),
    "warning_batch_range": (
        "no run tells how many samples the training needs at this batch: from the same number of samples to the same "
        "number of steps as at the nearest batch; three batches that reach the target would tell",
        "このバッチで必要なサンプル数が分かる実行がないため、最も近いバッチと同じサンプル数から同じステップ数までの"
        "範囲です。目標に達する 3 種類のバッチの測定があれば推定できます",
    ),
    "warning_epochs_kept": (
        "the same epochs at a larger batch: whether the accuracy stays the same is not known; --critical-batch or a study "
        "whose runs reach a target tells more",
        "より大きなバッチでも同じエポック数としています。精度が保たれるかどうかは不明です。--critical-batch または"
        "目標に達する測定があれば推定できます",
    ),
    "warning_weak_assumed": (
        "the table names no mode; weak scaling is assumed",
        "モードの指定がないため、弱スケーリングとみなしました",
    ),
    "warning_job_time": (
        "the times fall with more processes, so they are taken as those of a fixed amount of work",
        "プロセス数とともに時間が短くなるため、一定量の仕事にかかる時間とみなしました",
    ),
    "warning_doubted": (
        "points whose results cannot be believed were not used",
        "信頼できない結果の点は使っていません",
    ),
    "warning_outlier": (
        "not used, because it cannot be true beside the others: {rows} processes",
        "他の点と矛盾するため使っていません: {rows} プロセス",
    ),
    "warning_inconsistent": (
        "one of these contradicts the others, measure them again: {rows} processes",
        "次のうちいずれかが他の点と矛盾しています。測り直してください: {rows} プロセス",
    ),
    "warning_retrograde": (
        "slower than the next smaller size: {rows} processes",
        "1 つ小さい規模より遅くなっています: {rows} プロセス",
    ),
    "warning_super_linear": (
        "more than linear speed-up, so the smallest size may be slow: {rows} processes",
        "線形を超える速度向上です。最小の規模が遅い可能性があります: {rows} プロセス",
    ),
    "warning_node_boundary": (
        "all measured sizes are inside one node ({per_node} processes); the network between nodes is not measured",
        "測定した規模はすべて 1 ノード内（{per_node} プロセス）です。ノード間のネットワークは測定していません",
    ),
    "boundary_measured": (
        "no run of the program is on several nodes; all are inside one ({per_node} processes)",
        "このプログラムの測定はすべて 1 ノード内（{per_node} プロセス）で、複数ノードの実行はありません",
    ),
    "warning_node_boundary_unknown": (
        "it is not known how many processes a node holds; add a column nodes or --processes-per-node",
        "ノードあたりのプロセス数が不明です。列 nodes または --processes-per-node を指定してください",
    ),
    "warning_one_row": (
        "only {processes} {processes:process|processes} measured: constant efficiency, a wide interval",
        "測定は {processes} プロセスだけです。効率一定と仮定し、区間を広く取りました",
    ),
    "warning_below": (
        "smaller than the smallest measured size ({processes} {processes:process|processes}): its efficiency is assumed",
        "測定した最小の規模（{processes} プロセス）より小さいため、その効率を仮定しました",
    ),
    "warning_cluster_unknown": (
        "the history has several clusters and the table names none, so all of them count; add a column cluster",
        "履歴に複数のクラスタがありますが、表にクラスタの指定がないため、すべてを使いました。列 cluster を追加してください",
    ),
    "warning_physics": (
        "from the loss inside the node and the measured network of the cluster, with overlap unknown",
        "ノード内の損失と、測定したクラスタのネットワーク性能からの予測です（通信の重なりは不明）",
    ),
    "warning_physics_step": (
        "from computing, the bytes of the gradients and the measured all-reduce of the cluster, with overlap in part unknown",
        "計算時間、勾配のバイト数、測定したクラスタの all-reduce 性能からの予測です（計算と通信の重なりは一部不明）",
    ),
    "warning_network_unknown": (
        "the network was not measured for such sizes; this would tell: hackathon clusters measure {cluster!q}",
        "この規模のネットワークは測定していません。測定するには: hackathon clusters measure {cluster!q}",
    ),
    "warning_extrapolation": (
        "{times} times the largest measured size ({largest} processes)",
        "測定した最大の規模（{largest} プロセス）の {times} 倍です",
    ),
    "range_boundary": (
        "a range, not a 90 % interval: no row tells what the step to several nodes costs; in public studies it was nothing "
        "to 71 % of the rate",
        "90 % 区間ではなく範囲です。複数ノードにしたときの損失が測定されていません（公開データでは性能の 0～71 %）",
    ),
    "range_simulated": (
        "a range, not a 90 % interval: predictions from a measured network were only tested in a simulation",
        "90 % 区間ではなく範囲です。測定したネットワークからの予測は、シミュレーションでしか検証していません",
    ),
    "range_rows": (
        "a range, not a 90 % interval: rows of this table contradict each other",
        "90 % 区間ではなく範囲です。互いに矛盾する点があります",
    ),
    "range_few": (
        "a range, not a 90 % interval: that takes three sizes that can be used",
        "90 % 区間ではなく範囲です。90 % 区間には、使える規模が 3 つ必要です",
    ),
    "range_below": (
        "a range, not a 90 % interval: smaller than all that was measured",
        "90 % 区間ではなく範囲です。測定したどの規模よりも小さいためです",
    ),
    "range_strong": (
        "a range, not a 90 % interval: in strong scaling it held in only seven to eight of ten new studies",
        "90 % 区間ではなく範囲です。強スケーリングの新しいデータでは、この範囲に入ったのは 10 件中 7～8 件でした",
    ),
    "range_layout": (
        "a range, not a 90 % interval: a node may end on the way to this size",
        "90 % 区間ではなく範囲です。この規模までにノードの境界を越える可能性があります",
    ),
    "range_far": (
        "a range, not a 90 % interval: it was validated up to four times the largest measured size",
        "90 % 区間ではなく範囲です。検証したのは、測定した最大の規模の 4 倍までです",
    ),
    "warning_below_target": ("efficiency below {percent} %", "効率が {percent} % を下回ります"),
    # ---- the table in the terminal
    "title": (
        "{series} · {mode} · efficiency against {base} {base:process|processes}",
        "{series}・{mode}・基準 {base} プロセス",
    ),
    "unnamed": ("prediction", "予測"),
    "column_processes": ("processes", "プロセス"),
    "column_value": ("value", "値"),
    "column_interval": ("90 % interval", "90 % 区間"),
    "column_range": ("range", "範囲"),
    "nine_of_ten": (" (90 %)", "（90 %）"),
    "column_efficiency": ("efficiency", "効率"),
    "column_seconds": ("time", "時間"),
    "column_tokens": ("tokens", "トークン"),
    "column_basis": ("basis", "根拠"),
    "basis_measured": ("measured", "測定値"),
    "basis_in_node": ("inside a node", "ノード内の測定"),
    "basis_sizes": ("measured sizes", "測定した規模"),
    "basis_across_nodes": ("across nodes", "複数ノードの測定"),
    "basis_history": ("other studies", "他の測定"),
    "basis_physics": ("measured network", "ネットワークの測定"),
    "basis_baseline": ("constant efficiency", "効率一定の仮定"),
    "shapes_line": ("shapes at {processes} processes: {shapes}", "{processes} プロセスの曲線の形: {shapes}"),
    "flag_slow": (
        "{processes} {processes:process|processes}: {size} – slower than the other sizes allow",
        "{processes} プロセス: {size} – 他の規模から考えられる値より遅い",
    ),
    "flag_fast": (
        "{processes} {processes:process|processes}: {size} – faster than the other sizes allow",
        "{processes} プロセス: {size} – 他の規模から考えられる値より速い",
    ),
    "flag_inconsistent": (
        "{processes} {processes:process|processes}: {size} – contradicts another size; measure again",
        "{processes} プロセス: {size} – 他の規模と矛盾します。測り直してください",
    ),
    "flag_retrograde": (
        "{processes} {processes:process|processes}: {size} – slower than the next smaller size",
        "{processes} プロセス: {size} – 1 つ小さい規模より遅い",
    ),
    "flag_superlinear": (
        "{processes} {processes:process|processes}: {size} – more than linear speed-up",
        "{processes} プロセス: {size} – 線形を超える速度向上",
    ),
    "flag_duplicate": (
        "{processes} {processes:process|processes}: {size} – measured twice with the same repeat",
        "{processes} プロセス: {size} – 同じ繰り返し番号の測定が重複",
    ),
    "training_line": ("training: {parts} ({basis})", "学習時間: {parts}（{basis}）"),
    "training_even": (
        "{processes} {processes:process|processes} in {time} ± {margin}",
        "{processes} プロセスで {time} ± {margin}",
    ),
    "training_between": (
        "{processes} {processes:process|processes} in {low} to {high}",
        "{processes} プロセスで {low}～{high}",
    ),
    "training_tokens": (", {tokens} tokens", "、{tokens} トークン"),
    "training_basis_given": ("epochs as given", "指定されたエポック数"),
    "training_basis_measured": ("samples as measured at this batch", "このバッチで測定したサンプル数"),
    "training_basis_critical_batch": ("samples by the critical batch size", "臨界バッチサイズから求めたサンプル数"),
    "training_basis_range": ("bounds of the samples", "サンプル数の上下限"),
    "next_run": (
        "next run that helps most: {processes} processes for {minutes} minutes: ±{before} becomes ±{after}",
        "次に最も役立つ測定: {processes} プロセスで {minutes} 分（±{before} → ±{after}）",
    ),
    "beside": ("for comparison at {processes} processes: {laws}", "参考（{processes} プロセス）: {laws}"),
    "law_amdahl": ("Amdahl {value}", "アムダール {value}"),
    "law_gustafson": ("Gustafson {value}", "グスタフソン {value}"),
    "law_usl": ("USL {value}", "USL {value}"),
    "law_constant_efficiency": ("constant efficiency {value}", "効率一定 {value}"),
    "largest_good": (
        "largest size above {target} efficiency: {processes} {processes:process|processes} ({efficiency})",
        "効率 {target} 以上で最大の規模: {processes} プロセス（{efficiency}）",
    ),
    "cheapest": (
        "cheapest per result: {processes} {processes:process|processes} ({efficiency})",
        "結果あたりの費用が最小の規模: {processes} プロセス（{efficiency}）",
    ),
    "study_line": (
        "study {study} predicts {value} at {processes} processes ({low} to {high}), efficiency {efficiency}",
        "測定 {study} からの予測: {processes} プロセスで {value}（{low}～{high}）、効率 {efficiency}",
    ),
}
