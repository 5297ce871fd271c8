"""Messages of `hackathon.jobs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "newer_request": (
        "the record was made by a newer hackathon (version {version}); this one reads version {known}",
        "この記録は新しい版の hackathon のものです（版 {version}）。この版で読めるのは {known} までです",
    ),
    "newer_request_hint": (
        "Update hackathon: `hackathon docs install` shows how.",
        "hackathon を更新してください。手順は `hackathon docs install` で読めます",
    ),
    "bad_variable": (
        "environment variable {variable}={value} cannot be read",
        "環境変数 {variable}={value} を読み取れません",
    ),
    "bad_variable_hint": ("unset it or give it a valid value", "変数を消すか、正しい値にしてください"),
    "parameter_type": (
        "parameter {name}: {value!r} is not {type}",
        "パラメータ {name}: {value!r} は {type} ではありません",
    ),
    "parameter_choice": (
        "parameter {name}: {value!r} is not one of {choices}",
        "パラメータ {name}: {value!r} は {choices} のどれでもありません",
    ),
    "parameter_low": (
        "parameter {name}: {value} is below {limit}",
        "パラメータ {name}: {value} は最小値 {limit} を下回っています",
    ),
    "parameter_high": (
        "parameter {name}: {value} is above {limit}",
        "パラメータ {name}: {value} は最大値 {limit} を超えています",
    ),
    "origin_command_line": ("command line", "コマンドライン"),
    "origin_environment": ("environment", "環境変数"),
    "origin_user": ("user", "利用者の設定"),
    "origin_event": ("event", "イベントの設定"),
    "origin_study": ("study", "測定"),
    "origin_crate": ("crate", "RO-Crate（再実行用パッケージ）"),
    "origin_default": ("default", "既定値"),
    "origin_machine": ("this machine", "このマシン"),
    "origin_cluster": ("cluster {name}", "クラスタ {name}"),
    "origin_recipe": ("recipe {name}", "レシピ {name}"),
    "parameter_unknown": (
        "there is no parameter {name!r} ({origin}); did you mean {near}?",
        "パラメータ {name!r} はありません（{origin}）。{near} のことですか？",
    ),
    "parameter_unknown_hint": ("known parameters: {known}", "使えるパラメータ: {known}"),
    "parameter_declared_twice": (
        "parameter {name} is declared by recipe {recipe}; the project gives only its value",
        "パラメータ {name} はレシピ {recipe} で宣言済みです。プロジェクトには値だけを書きます",
    ),
    "strong_needs_divide": (
        "strong scaling needs to know which parameter holds the batch per process",
        "強スケーリングには、プロセスあたりのバッチを表すパラメータの指定が必要です",
    ),
    "strong_needs_divide_hint": (
        "add `scaling: {{strong: {{divide: batch_size}}}}` to project.yaml, or `{{by_program: true}}` in the place of "
        "`{{divide: …}}` if the program divides its batch itself",
        "project.yaml に `scaling: {{strong: {{divide: batch_size}}}}` を加えてください。プログラム自身がバッチを割る場合は、"
        "`{{divide: …}}` の代わりに `{{by_program: true}}` と書きます",
    ),
    "strong_not_even": (
        "strong scaling: {name}={value} cannot be divided evenly by {processes} processes",
        "強スケーリング: {name}={value} は {processes} プロセスで割り切れません",
    ),
    "strong_not_even_hint": (
        "choose {name} as a multiple of the largest process count",
        "{name} を最大プロセス数の倍数にしてください",
    ),
    "not_positive": ("{name} must be at least 1, not {value}", "{name} は 1 以上です（指定: {value}）"),
    "shape": (
        "{processes} processes do not fit on {nodes} nodes with {per_node} processes per node",
        "{processes} プロセスは {nodes} ノード × {per_node} プロセスに合いません",
    ),
    "shape_hint": ("give only --nodes or only --processes", "--nodes か --processes の片方だけを指定してください"),
    "uneven": (
        "{processes} is not a multiple of {per_node} processes per node",
        "{processes} は、ノードあたり {per_node} プロセスの倍数ではありません",
    ),
    "uneven_hint": (
        "use {below} or {above}, or --processes-per-node N",
        "{below} か {above} にするか、--processes-per-node N を指定してください",
    ),
    "no_common_launcher": (
        "recipe {name} runs under {wanted}; cluster {cluster} offers {offered}",
        "レシピ {name} は {wanted} で動きますが、クラスタ {cluster} で使えるのは {offered} です",
    ),
    "no_cluster": (
        "no cluster given, and it could not be detected",
        "クラスタが指定されておらず、このマシンからも判断できません",
    ),
    "no_cluster_hint": (
        "--cluster NAME, or `cluster:` in project.yaml; `hackathon clusters` lists them",
        "--cluster 名前、または project.yaml の `cluster:`。一覧は `hackathon clusters`",
    ),
    "no_project": (
        "no project.yaml in {folder} or above it",
        "{folder} とその上のフォルダに project.yaml がありません",
    ),
    "no_project_hint": (
        "name a recipe (`hackathon recipes`), or create a project with `hackathon init`",
        "レシピ名を指定する（`hackathon recipes`）か、`hackathon init` でプロジェクトを作ってください",
    ),
    "refused": (
        "cluster {cluster} would refuse this job:\n{reasons}{nearest}",
        "クラスタ {cluster} はこのジョブを実行できません:\n{reasons}{nearest}",
    ),
    "oversubscribed": (
        "{processes} processes share {cores} {cores:core|cores}: the run works, but its speed says nothing about "
        "scaling",
        "{processes} プロセスが {cores} コアを共有します。動きますが、速さはスケーリングの目安になりません",
    ),
    "framework_missing": (
        "{framework} is not installed in the Python environment {where}: build one with `hackathon env create {recipe!q}`",
        "Python 環境 {where} に {framework} がありません。`hackathon env create {recipe!q}` で作れます",
    ),
    "environment_left_behind": (
        "the job will not use the active Python environment {where}: this scheduler does not pass PATH on. Add the line that "
        "activates it to `environment` in the cluster's profile, or build one with `hackathon env create`",
        "ジョブでは有効な Python 環境 {where} が使われません（このスケジューラは PATH を引き継ぎません）。有効にする行をクラスタの"
        "プロファイルの `environment` に加えるか、`hackathon env create` で作ってください",
    ),
    "nearest": ("\nnearest accepted request: {options}", "\n最も近い実行可能な指定: {options}"),
    "nearest_none": ("\nno queue accepts it", "\n受け付けるキューがありません"),
    "unconfirmed": (" (unverified limit)", "（未確認の上限）"),
    "queue_unknown": (
        "cluster {cluster} has no queue {queue!r}; it has {known}",
        "クラスタ {cluster} にキュー {queue!r} はありません。使えるキュー: {known}",
    ),
    "nodes_over": (
        "{nodes} nodes: queue {queue} allows at most {limit}{unsure}",
        "{nodes} ノード: キュー {queue} の上限は {limit} です{unsure}",
    ),
    "nodes_under": (
        "{nodes} nodes: queue {queue} needs at least {limit}",
        "{nodes} ノード: キュー {queue} の下限は {limit} です",
    ),
    "walltime_over": (
        "walltime {walltime}: queue {queue} allows at most {limit}{unsure}",
        "実行時間 {walltime}: キュー {queue} の上限は {limit} です{unsure}",
    ),
    "per_node_over": (
        "{per_node} processes per node: queue {queue} allows at most {limit}",
        "1ノード {per_node} プロセス: キュー {queue} の上限は {limit} です",
    ),
    "cores_over": (
        "{processes} processes per node × {threads} threads need {wanted} cores; a node of {cluster} has {cores} "
        "(--processes-per-node, --threads)",
        "1ノード {processes} プロセス × {threads} スレッドには {wanted} コア必要ですが、{cluster} のノードは {cores} コアです"
        "（--processes-per-node、--threads）",
    ),
    "memory_over": (
        "`memory: {memory}` is more than a node of {cluster} has, {most}",
        "`memory: {memory}` は {cluster} のノードのメモリ {most} を超えています",
    ),
    "gpus_not_asked": (
        "the nodes have {gpus} GPUs, and the profile {cluster} asks for none. `hackathon clusters new NAME` writes a profile of "
        "this machine",
        "ノードには GPU が {gpus} 基ありますが、プロファイル {cluster} は GPU を要求しません。`hackathon clusters new NAME` で、このマシンの"
        "プロファイルを作れます",
    ),
    "gpus_over": (
        "{processes} {processes:process|processes} per node × `gpus_per_process: {each}` need {wanted} GPUs; a node of {cluster} "
        "has {gpus} (--processes-per-node)",
        "1ノード {processes} プロセス × `gpus_per_process: {each}` には GPU が {wanted} 基必要ですが、{cluster} のノードは {gpus} 基です"
        "（--processes-per-node）",
    ),
    "essence_gpus": (
        "the short script does not divide the GPUs of a node between processes (`gpus_per_process: {each}`): use "
        "`hackathon render --to DIR`",
        "短いスクリプトではノードの GPU をプロセスに分けられません（`gpus_per_process: {each}`）。`hackathon render --to DIR` を使ってください",
    ),
    "memory_unknown": (
        "it is not known how {scheduler} is asked for memory here: write this site's option under `directives:` instead of "
        "`memory:`",
        "{scheduler} でのメモリの指定方法はサイトごとに異なります。`memory:` ではなく、このサイトのオプションを `directives:` に書いてください",
    ),
    "header_value": (
        "{name} {value!r} is not allowed in a job script's header (it must match {pattern})",
        "{name} {value!r} はジョブスクリプトのヘッダに書けません（形式: {pattern}）",
    ),
    "group_missing": (
        "cluster {cluster} needs a group: --group NAME, or `group:` in project.yaml",
        "クラスタ {cluster} ではグループが必要です: --group 名前、または project.yaml の `group:`",
    ),
    "one_node": (
        "{nodes} nodes: cluster {cluster} is a single machine",
        "{nodes} ノード: クラスタ {cluster} は1台のマシンです",
    ),
    "several_nodes": (
        "{nodes} nodes: jobs of several nodes are not supported on cluster {cluster}",
        "{nodes} ノード: クラスタ {cluster} では複数ノードのジョブを実行できません",
    ),
    "launcher_cluster": (
        "launcher {launcher} does not work on cluster {cluster}; it offers {offered}",
        "起動方法 {launcher} はクラスタ {cluster} では使えません。使えるもの: {offered}",
    ),
    "launcher_recipe": (
        "recipe {recipe} does not run under {launcher}; it runs under {offered}",
        "レシピ {recipe} は {launcher} では動きません。使えるもの: {offered}",
    ),
    "launcher_missing": (
        "launcher {launcher} is not installed on this machine: activate the environment that has it, name its lines under "
        "`environment:` in project.yaml, or choose another launcher",
        "起動方法 {launcher} がこのコンピュータにありません。インストール済みの環境を有効にするか、project.yaml の `environment:` に有効にする行を"
        "書くか、別の起動方法を選んでください",
    ),
    "launcher_one_node": (
        "{nodes} nodes: launcher local starts processes on one node only",
        "{nodes} ノード: 起動方法 local は1ノードだけで使えます",
    ),
    "binding_launcher": (
        "binding {binding}: launcher {launcher} cannot bind ranks to cores; these can: {offered}",
        "binding {binding}: 起動方法 {launcher} はランクをコアに固定できません。使えるもの: {offered}",
    ),
    "binding_unknown": (
        "binding {binding} is not one of {offered}",
        "binding {binding} は使えません。使えるもの: {offered}",
    ),
    "essence_files": (
        "{scheduler} starts jobs from {names}, so a script alone is not enough; use `hackathon submit`",
        "{scheduler} は {names} からジョブを起動するため、スクリプトだけでは足りません。`hackathon submit` を使ってください",
    ),
    "essence_nodes": (
        "on several nodes of {scheduler} the short script is not known to work; use --to DIR or `hackathon submit`",
        "{scheduler} の複数ノードで短いスクリプトが動くかは不明です。--to DIR または `hackathon submit` を使ってください",
    ),
    "essence_launcher": (
        "{launcher} needs files beside the script on several nodes; use --to DIR, or another --launcher",
        "複数ノードの {launcher} にはスクリプト以外のファイルが必要です。--to DIR または別の --launcher を使ってください",
    ),
    "not_visible": (
        "compute nodes of {cluster} cannot see {folder}; they see {visible}",
        "{cluster} の計算ノードから {folder} は見えません。見えるフォルダ: {visible}",
    ),
    "template_syntax": ("{file}:{line}: {what}", "{file}:{line}: テンプレートの文法エラー: {what}"),
    "template_output": (
        "{file}:{line}: a template may print only assignments and directive.NAME",
        "{file}:{line}: テンプレートに書き出せるのは assignments と directive.名前 だけです",
    ),
    "template_output_hint": (
        'use the shell variable instead, e.g. "$HK_NAME": values are quoted once, in the assignment block',
        '代わりにシェル変数（例: "$HK_NAME"）を使ってください。値は代入ブロックで一度だけ引用されます',
    ),
    "template_rebinds": (
        "{file}:{line}: a template may not redefine {name}",
        "{file}:{line}: テンプレートで {name} を再定義することはできません",
    ),
    "template_forbidden": (
        "{file}:{line}: `{what}` is not allowed in a job template",
        "{file}:{line}: ジョブテンプレートでは `{what}` を使えません",
    ),
    "template_forbidden_hint": (
        "allowed: block, extends, include, if, for … in directive.NAME, set; comparisons, and, or, not, ~ and tuples of "
        "names and constants; {{{{ assignments }}}}, {{{{ directive.NAME }}}}, {{{{ super() }}}}. The rest can be done in "
        "bash, where each value is a variable ($HK_…)",
        "使えるもの: block、extends、include、if、for … in directive.名前、set、名前と定数の比較・and・or・not・~・タプル、"
        "{{{{ assignments }}}}、{{{{ directive.名前 }}}}、{{{{ super() }}}}。それ以外は bash で書いてください（値は $HK_… にあります）",
    ),
    "template_endless": (
        "template {name} does not end: {what}",
        "テンプレート {name} の処理が終わりません: {what}",
    ),
    "template_endless_hint": (
        "look for a template that includes or extends itself, and for long loops",
        "自分自身を include / extends していないか、長いループがないか確認してください",
    ),
    "template_steps": ("more than {count} steps", "{count} ステップを超えました"),
    "template_letters": ("more than {count} characters", "{count} 文字を超えました"),
    "template_failed": (
        "template {name} cannot be rendered: {what}",
        "テンプレート {name} を展開できません: {what}",
    ),
    "template_large": (
        "{file} is larger than {limit}; a job template cannot be",
        "{file} が {limit} を超えています。ジョブテンプレートには大きすぎます",
    ),
    "template_missing": ("there is no job template {name}", "ジョブテンプレート {name} がありません"),
    "template_undefined": ("template {name}: {what}", "テンプレート {name}: 未定義の値: {what}"),
    "template_unreadable": ("{file} cannot be read: {what}", "{file} を読めません: {what}"),
    "variable_name": (
        "{name!r} is not a valid name of an environment variable",
        "{name!r} は環境変数の名前にできません",
    ),
    "value_nul": ("{name} contains a NUL character", "{name} に NUL 文字が含まれています"),
    "data_missing": (
        "{names}: not in {folder}, and compute nodes of {cluster} have no Internet access: run `hackathon data fetch` "
        "on a login node",
        "{names} が {folder} にありません。{cluster} の計算ノードはインターネットに出られないので、ログインノードで `hackathon data fetch` を実行してください",
    ),
}
