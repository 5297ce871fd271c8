"""Texts of `hackathon lint` and `hackathon convert`: what a scheduler makes of a hand-written job script."""

from hackathon.text.catalogue.programs._lint_commands import COMMANDS

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- the commands
    "unreadable": ("cannot read {path}: {reason}", "{path} を読めません: {reason}"),
    "not_text": ("{path} is a binary file, not a script", "{path} はスクリプトではなくバイナリファイルです"),
    "too_long": ("{path} is longer than {limit} bytes", "{path} が {limit} バイトを超えています"),
    "exists": ("{path} already exists; it was not changed", "{path} はすでにあります。変更していません"),
    "exists_hint": (
        "Move or delete it, then run the command again.",
        "移動または削除してから、もう一度実行してください。",
    ),
    "not_written": ("cannot write {path}: {reason}", "{path} に書き込めません: {reason}"),
    "fix_needs_file": (
        "--fix needs a file, not standard input",
        "--fix には標準入力ではなくファイルを指定してください",
    ),
    "dialect_and_cluster": (
        "give --dialect or --cluster, not both: the cluster's profile names its scheduler",
        "--dialect と --cluster は同時に指定できません。スケジューラはクラスタのプロファイルで決まります",
    ),
    "no_scripts": ("no script given", "スクリプトが指定されていません"),
    "no_directives": (
        "{path} has no directives of a known scheduler",
        "{path} には、対応しているスケジューラの指示行がありません",
    ),
    "no_language": (
        "{name} is neither a cluster whose job scripts have a header nor a scheduler: {known}",
        "{name} は、ヘッダーのあるジョブスクリプトを使うクラスタでも、スケジューラ（{known}）でもありません",
    ),
    "untranslated": ("not translated:", "変換できません:"),
    "lost": (
        "line {line} has no equivalent and became a comment: {text}",
        "{line} 行目は変換できず、コメントにしました: {text}",
    ),
    "written": ("created {path}", "{path} を作成しました"),
    "fixed": ("created {path} with {count} {count:correction|corrections}", "{path} を作成しました（修正 {count} 件）"),
    "nothing_fixed": ("{path}: nothing to correct automatically", "{path}: 自動で修正できるものはありません"),
    "clean": ("{path}: OK ({dialect})", "{path}: 問題ありません（{dialect}）"),
    "is_python": (
        "{path}: a Python program, not a job script; `hackathon check` checks programs",
        "{path}: ジョブスクリプトではなく Python のプログラムです（プログラムの確認は `hackathon check`）",
    ),
    "is_yaml": (
        "{path}: a YAML file, not a job script; `hackathon check` checks a project",
        "{path}: ジョブスクリプトではなく YAML ファイルです（プロジェクトの確認は `hackathon check`）",
    ),
    "no_dialect": ("no directives", "指示行なし"),
    "in_file": ("{path} ({dialect})", "{path}（{dialect}）"),
    "error": ("error", "エラー"),
    "warning": ("warning", "警告"),
    "summary": (
        "{errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}",
        "エラー {errors} 件、警告 {warnings} 件",
    ),
    "doctor": ("job script", "ジョブスクリプト"),
    "doctor_found": (
        "{path}: {errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}; line {line}: {text}",
        "{path}: エラー {errors} 件、警告 {warnings} 件。{line} 行目: {text}",
    ),
    "doctor_remedy": ("hackathon lint {path!q}", "hackathon lint {path!q}"),
    "adopted": (
        "the job's script has {errors} {errors:error|errors} and {warnings} {warnings:warning|warnings}: hackathon lint {path!q}",
        "ジョブスクリプトにエラー {errors} 件、警告 {warnings} 件があります: hackathon lint {path!q}",
    ),
    # ---- how the file is written
    "carriage_return": (
        "the lines end in CR LF (Windows): {scheduler} refuses the script, or the job fails because its shell is not found. Convert the line ends, for example with `dos2unix`.",
        "改行が CR LF（Windows 形式）です。{scheduler} に拒否されるか、シェルが見つからずジョブが失敗します。`dos2unix` などで改行を変換してください。",
    ),
    "byte_order_mark": (
        "a byte order mark (BOM) stands before the first line, so `#!` is not at the beginning. Save the file as UTF-8 without BOM.",
        "先頭に BOM があるため、`#!` がファイルの先頭になりません。BOM なしの UTF-8 で保存してください。",
    ),
    "not_utf8": (
        "this line is not UTF-8. Programs on the compute nodes may not read it as you do.",
        "この行は UTF-8 ではありません。計算ノードのプログラムが正しく読めない可能性があります。",
    ),
    "no_shebang": (
        "{scheduler} refuses a script whose first line does not begin with `#!`.",
        "1 行目が `#!` で始まらないスクリプトは、{scheduler} に拒否されます。",
    ),
    # ---- where and how a directive stands
    "after_command": (
        "{scheduler} ignores this directive, because it stands behind the first command (line {first}: {command}). Move it up.",
        "この指示行は最初のコマンド（{first} 行目: {command}）より後にあるため、{scheduler} に無視されます。その前に移してください。",
    ),
    "indented": (
        "{scheduler} ignores this directive, because it is indented.",
        "字下げされているため、この指示行は {scheduler} に無視されます。",
    ),
    "commented": (
        "this looks like a directive, but {scheduler} takes it for a comment. If it is meant, write it without the blank and in capital letters.",
        "指示行のように見えますが、{scheduler} にはコメントとして扱われます。指示行なら、空白を入れずに大文字で書いてください。",
    ),
    "full_width": (
        "a full-width or typographic character (often copied from slides) stands in place of `-`, `=` or `#`: {scheduler} does not understand it.",
        "`-`、`=`、`#` の代わりに全角文字や組版用の記号（スライドからの複写でよくあります）が使われており、{scheduler} は解釈できません。",
    ),
    "in_document": (
        "{scheduler} reads the whole script: it obeys this directive though it stands in a here-document or between quotation marks.",
        "{scheduler} はスクリプト全体を読むため、ヒアドキュメントや引用符の中にあるこの指示行にも従います。",
    ),
    "two_dialects": (
        "{scheduler} obeys the directives of {other} too: where both say something, the later line wins, and what it does not know (such as the group) is dropped. Keep one kind.",
        "{scheduler} は {other} の指示行にも従います。同じ項目は後の行が優先され、解釈できないもの（グループなど）は黙って捨てられます。どちらか一方だけにしてください。",
    ),
    "partly_obeyed": (
        "{scheduler} obeys directives of {other} only in part: the group to charge is dropped silently. Convert the header with `hackathon convert`.",
        "{scheduler} は {other} の指示行に一部しか従いません。課金グループは黙って捨てられます。`hackathon convert` でヘッダーを変換してください。",
    ),
    "foreign_directive": (
        "{scheduler} ignores directives of {other} ({count} {count:line|lines}): it reads lines that begin with {prefix}.",
        "{other} の指示行（{count} 行）は {scheduler} に無視されます。{scheduler} が読むのは {prefix} で始まる行です。",
    ),
    "trailing_comment": (
        "{scheduler} refuses a directive with a comment behind it. Put the comment on a line of its own.",
        "指示行の末尾にコメントがあると {scheduler} に拒否されます。コメントは別の行に書いてください。",
    ),
    "spaced_equals": (
        "{scheduler} does not take blanks around `=`: they split the option and its value.",
        "`=` の前後に空白があると、{scheduler} ではオプションと値が分かれてしまいます。",
    ),
    "loose_word": (
        "{scheduler} refuses this directive: `{word}` is neither an option nor the value of one.",
        "`{word}` はオプションでもその値でもないため、この指示行は {scheduler} に拒否されます。",
    ),
    "open_quote": (
        "{scheduler} refuses this directive: a quotation mark is not closed.",
        "引用符が閉じていないため、この指示行は {scheduler} に拒否されます。",
    ),
    "list_option_missing": (
        "{scheduler} takes `{word}` for the name of a file: {option} is missing.",
        "{option} がないため、{scheduler} は `{word}` をファイル名とみなします。",
    ),
    "unknown_option": (
        "{scheduler} refuses the option `{option}`.",
        "オプション `{option}` は {scheduler} に拒否されます。",
    ),
    "other_version": (
        "`{option}` is an option of another version of {scheduler} (such as Torque); OpenPBS and PBS Professional refuse it.",
        "`{option}` は別系統の {scheduler}（Torque など）のオプションで、OpenPBS と PBS Professional では拒否されます。",
    ),
    "value_missing": (
        "{scheduler} refuses this directive: `{option}` lacks its value.",
        "`{option}` に値がないため、この指示行は {scheduler} に拒否されます。",
    ),
    "repeated": (
        "`{option}` is given more than once: {scheduler} takes `{winner}` (line {other}) and ignores `{value}`.",
        "`{option}` が複数回指定されています。{scheduler} では {other} 行目の `{winner}` が使われ、`{value}` は無視されます。",
    ),
    "variable_literal": (
        "{scheduler} does not expand variables in directives: `{option}` gets the text `{value}` as it stands.",
        "{scheduler} は指示行の変数を展開しません。`{option}` の値は文字どおり `{value}` になります。",
    ),
    # ---- values
    "bad_value": (
        "{scheduler} refuses `{value}` as the value of `{option}`.",
        "`{option}` の値 `{value}` は {scheduler} に拒否されます。",
    ),
    "short_time": (
        "`{value}` is {minutes} min {seconds} s, not hours and minutes. Did you mean {hours}?",
        "`{value}` は {minutes} 分 {seconds} 秒で、時間と分ではありません。{hours} の間違いではありませんか。",
    ),
    "bare_minutes": (
        "{scheduler} takes a bare number for minutes: {value} is {hours} hours. Did you mean seconds?",
        "{scheduler} では単位のない数は分を表し、{value} は {hours} 時間です。秒のつもりではありませんか。",
    ),
    "bare_seconds": (
        "{scheduler} takes a bare number for seconds: `{value}` ends the job after {value} s.",
        "{scheduler} では単位のない数は秒を表します。`{value}` ではジョブが {value} 秒で終了します。",
    ),
    "read_as": (
        "{scheduler} takes `{value}` and reads it as {seconds} s.",
        "{scheduler} は `{value}` を受け付けますが、{seconds} 秒と解釈します。",
    ),
    "queue_as_qos": (
        "`-q` is the QOS in {scheduler}, not the queue: without accounting, `{value}` is ignored, and the job goes to the default partition. The partition is `-p`.",
        "{scheduler} の `-q` はキューではなく QOS です。課金管理がなければ `{value}` は無視され、ジョブは既定のパーティションに入ります。パーティションは `-p` で指定します。",
    ),
    "unknown_resource": (
        "{scheduler} refuses the resource `{name}`: it belongs to another scheduler.",
        "資源 `{name}` は別のスケジューラのもので、{scheduler} に拒否されます。",
    ),
    "resource_beside_select": (
        "{scheduler} refuses `{option}` beside `-l select`: write it inside the select.",
        "`-l select` と `{option}` は併用できず、{scheduler} に拒否されます。select の中に書いてください。",
    ),
    "array_not_rerunnable": (
        "{scheduler} refuses an array of jobs that must not be rerun (`-r n`).",
        "再実行しない指定（`-r n`）のアレイジョブは {scheduler} に拒否されます。",
    ),
    "variables_replaced": (
        "the variables of this line are lost: {scheduler} takes only the last `-v` (line {other}). Join them with commas.",
        "{scheduler} では最後の `-v`（{other} 行目）だけが有効で、この行の変数は失われます。コンマで 1 つにまとめてください。",
    ),
    "node_and_gpu": (
        "give nodes or GPUs, not both: `node=1` takes all GPUs of the node.",
        "ノード数と GPU 数はどちらか一方だけを指定してください。`node=1` ではノードの全 GPU を占有します。",
    ),
    "total_processes": (
        "the number of processes is that of the whole job: {processes} for {nodes} nodes leaves nodes without a process.",
        "プロセス数はジョブ全体の数です。{nodes} ノードに対して {processes} では、プロセスのないノードが残ります。",
    ),
    # ---- the machine
    "site_limit": (
        "{what} is over the limit of {site}: {limit}.",
        "{what} は {site} の上限（{limit}）を超えています。",
    ),
    "walltime_needed": (
        "{site} refuses a job without a time limit: h_rt must be specified.",
        "{site} では、実行時間（h_rt）の指定がないジョブは拒否されます。",
    ),
    "over_limit": ("{text}", "{text}"),
    "queue_unknown": (
        "the profile of {cluster} has no queue {queue}, but: {known}.",
        "{cluster} のプロファイルにキュー {queue} はありません。あるのは {known} です。",
    ),
    "queue_internal": (
        "jobs cannot be submitted to {queue} on {site}: it only receives jobs from {better}.",
        "{site} の {queue} には直接投入できません。{better} に投入されたジョブが振り分けられるキューです。",
    ),
    "other_group_option": (
        "{cluster} wants the group to charge as `{better}`, not with `{option}`.",
        "{cluster} では、課金グループを `{option}` ではなく `{better}` で指定します。",
    ),
    "group_missing": (
        "{cluster} wants to know the group to charge: add `{option}`, or give it on the command line.",
        "{cluster} では課金グループの指定が必要です。`{option}` を追加するか、投入時に指定してください。",
    ),
    "no_group_option": (
        "{site} has no option for a group.",
        "{site} にはグループを指定するオプションがありません。",
    ),
    "gpus_given": (
        "the queues of {site} give the GPUs of a node by themselves, and may refuse a request for them.",
        "{site} ではキューがノードの GPU を割り当てます。GPU を指定すると拒否されることがあります。",
    ),
    "gpus_over": (
        "{gpus} GPUs for each node, but a node of {cluster} has {there}.",
        "1 ノードに GPU {gpus} 基を要求していますが、{cluster} のノードには {there} 基しかありません。",
    ),
    "environment_not_passed": (
        "{site} does not pass the environment of the submission: `{option}` has no use there. Set variables in the script.",
        "{site} では投入時の環境変数が引き継がれないため、`{option}` は使えません。変数はスクリプト内で設定してください。",
    ),
    "container_flag": (
        'containers fail on {site} without `-L jobenv=singularity` ("Failed to create mount namespace").',
        '{site} では `-L jobenv=singularity` がないとコンテナが失敗します（"Failed to create mount namespace"）。',
    ),
    "ssh_flag": (
        "ssh between the nodes of a job needs `{option}` here.",
        "ここではジョブのノード間の ssh に `{option}` が必要です。",
    ),
    **COMMANDS,
}
