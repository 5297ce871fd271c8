"""Texts of `hackathon clusters`."""

MESSAGES: dict[str, tuple[str, str]] = {
    "measure_which": ("no cluster given to measure", "測定するクラスタを指定してください"),
    "measure_which_hint": ("hackathon clusters measure NAME", "hackathon clusters measure 名前"),
    "measure_only": (
        "job options need --measure",
        "ジョブのオプションは --measure と一緒に指定してください",
    ),
    "measure_only_hint": ("hackathon clusters measure NAME", "hackathon clusters measure 名前"),
    "value": ("value", "値"),
    "source": ("source", "出典"),
    "profile": ("profile", "プロファイル"),
    "machine": ("machine", "マシン"),
    "not_confirmed": ("(to be confirmed)", "（要確認）"),
    "file_good": ("OK: {name} ({file})", "OK: {name}（{file}）"),
    "file_counts": (
        "unverified values: {unverified}; values without a confirmed source: {bare}. Details: hackathon clusters show "
        "{name!q} --evidence. On the machine itself: hackathon clusters check {name!q} --live",
        "未確認の値: {unverified} 件、確かな出典のない値: {bare} 件。詳細: hackathon clusters show {name!q} --evidence。"
        "マシン上での確認: hackathon clusters check {name!q} --live",
    ),
    "this_machine": (
        "{name} describes whatever machine it is used on: there is nothing to compare",
        "{name} は実行するマシン自体を表すため、比較する値がありません",
    ),
    "this_machine_hint": (
        "omit --live to check the file",
        "ファイルだけを確認する場合は --live を外してください",
    ),
    "other_machine": (
        "this machine has none of the queues of {name}; it has: {found}",
        "このマシンには {name} のキューが 1 つもありません。あるキュー: {found}",
    ),
    "other_machine_hint": (
        "run it on the machine that the profile describes, or write a profile of this one: hackathon clusters new NAME",
        "プロファイルが表すマシンの上で実行するか、このマシンのプロファイルを作成してください: hackathon clusters new 名前",
    ),
    "not_writable": (
        "{path} cannot be changed automatically: change these by hand: {values}",
        "{path} を自動では変更できません。次の値を手動で変更してください: {values}",
    ),
    "output_without_live": ("--output needs --live", "--output は --live と一緒に指定してください"),
    "output_without_live_hint": (
        "hackathon clusters check NAME --live --output FILE",
        "hackathon clusters check 名前 --live --output ファイル",
    ),
    "verdict_same": ("confirmed", "一致"),
    "verdict_possible": ("possible: the scheduler tells no exact value", "矛盾なし（正確な値は分からない）"),
    "verdict_differs": ("differs", "不一致"),
    "verdict_missing": ("missing in the profile", "プロファイルにない値"),
    "verdict_gone": ("no such queue", "キューが存在しない"),
    "verdict_unknown": ("not known: the scheduler does not tell", "不明（スケジューラからは分からない）"),
    "nodes_not_told": (
        "this scheduler does not describe its nodes to users",
        "このスケジューラは利用者にノードの情報を示しません",
    ),
    "nodes_not_known": ("nodes: not known: {reason}", "ノード: 不明: {reason}"),
    "others": (
        "queues of the machine that the profile does not have: {names}",
        "プロファイルにないキュー: {names}",
    ),
    "closed": ("closed now: {names}", "現在停止中のキュー: {names}"),
    "nothing_to_change": (
        "The profile agrees with the machine, as far as its scheduler tells.",
        "スケジューラから分かる範囲で、プロファイルはマシンと一致しています。",
    ),
    "how_to_apply": (
        "To apply: save the lines above as FILE and run `patch -p0 < FILE`, or write a corrected profile: hackathon "
        "clusters check {name!q} --live --output ~/.config/hackathon/clusters/{name!q}.yaml",
        "適用するには、上の差分をファイルに保存して `patch -p0 < ファイル` を実行するか、修正済みのプロファイルを書き出します: "
        "hackathon clusters check {name!q} --live --output ~/.config/hackathon/clusters/{name!q}.yaml",
    ),
    "asked": ("asked of the scheduler: {commands}", "スケジューラへの問い合わせ: {commands}"),
    "told": ("who wrote the profile", "プロファイルの作成者"),
    "guess": ("a guess of `hackathon clusters new`", "`hackathon clusters new` の推測"),
    "written": ("created {file}", "作成: {file}"),
    "exists": ("{file} already exists", "{file} は既にあります"),
    "exists_hint": ("choose another file with --output", "--output で別のファイルを指定してください"),
    "bad_name": ("this cannot be a cluster's name: {reason}", "クラスタの名前にできません: {reason}"),
    "bad_name_hint": ("hackathon clusters new mycluster", "hackathon clusters new mycluster"),
    "which_scheduler": (
        "no scheduler was found on this machine",
        "このマシンにスケジューラが見つかりません",
    ),
    "which_scheduler_hint": ("add --scheduler with one of: {known}", "--scheduler で指定してください: {known}"),
    "no_answer": (
        "warning: the scheduler did not answer, so queues and nodes are not known: {reason}",
        "警告: スケジューラが応答しないため、キューとノードは不明です: {reason}",
    ),
    "ask_intro": (
        "Enter ? if you do not know: a guess is written and marked as unverified.",
        "分からない項目には ? を入力してください。推測した値を未確認として書きます。",
    ),
    "ask_scheduler": ("Scheduler ({known})", "スケジューラ（{known}）"),
    "ask_title": ("The machine's name for people", "マシンの表示名"),
    "ask_dialect": ("dialect.{key} ({values})", "dialect.{key}（{values}）"),
    "ask_gpus": ("GPUs in a node", "1 ノードの GPU 数"),
    "ask_ranks": ("Processes on a node (default: one per GPU)", "1 ノードのプロセス数（既定は GPU ごとに 1）"),
    "ask_starter": (
        "What starts programs on the nodes (srun, mpirun, pbs_tmrsh, ssh; probably {likely})",
        "ノード上でプログラムを起動するコマンド（srun、mpirun、pbs_tmrsh、ssh。おそらく {likely}）",
    ),
    "ask_environment": (
        "A line that jobs begin with, e.g. module load cuda (Enter: no more)",
        "ジョブの先頭に書く行。例: module load cuda（Enter で終了）",
    ),
    "not_a_number": ("{text} is not a number", "{text} は数ではありません"),
    "environment_comment": (
        "what the site's own job examples begin with, e.g.",
        "サイトのジョブ例の先頭にある行。例:",
    ),
    "counted_comment": ("counted when a job is made", "ジョブの作成時に数えます"),
    "other_nodes": (
        "{nodes} other {nodes:node|nodes}: {shape}; queues: {queues}",
        "別の構成のノード {nodes} 台: {shape}、キュー: {queues}",
    ),
    "next": (
        "Next: hackathon clusters check {name!q} --live; hackathon doctor --cluster {name!q} --job\n"
        "To use it: `cluster: {name}` in project.yaml, or --cluster {name!q}",
        "次の手順: hackathon clusters check {name!q} --live、hackathon doctor --cluster {name!q} --job\n"
        "使うには: project.yaml に `cluster: {name}` と書くか、--cluster {name!q} を指定してください",
    ),
}
