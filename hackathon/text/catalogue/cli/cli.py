"""Messages of `hackathon.cli`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "help": (
        "Distributed deep learning on a shared supercomputer: from a team's project to a measured scaling curve.",
        "スパコンでの分散深層学習を支援します。プロジェクトの作成から、スケーリングの実測まで。",
    ),
    "section_start": ("Start here", "まず使うもの"),
    "section_jobs": ("Participants: jobs, scripts, and results", "参加者: ジョブ・スクリプト・結果"),
    "section_speed": ("Participants: faster and larger", "参加者: 高速化・予測・分割"),
    "section_team": ("Participants: help, machines, and your team", "参加者: ヘルプ・マシン・チーム"),
    "section_tutors": ("Tutors", "チューター"),
    "section_organisers": ("Organisers", "主催者"),
    "section_verbs": ("Commands", "コマンド"),
    "section_begin": ("In your program's folder", "自分のプログラムのフォルダで"),
    "begin": (
        'hackathon init --command "python train.py"\n'
        "hackathon check --processes 2\n"
        "hackathon scale --processes 1,2 --wait",
        'hackathon init --command "python train.py"\n'
        "hackathon check --processes 2\n"
        "hackathon scale --processes 1,2 --wait",
    ),
    "error": ("error", "エラー"),
    "hint": ("hint", "ヒント"),
    "warning": ("warning", "警告"),
    "interrupted": ("interrupted", "中断しました"),
    "folder_gone": ("the current folder no longer exists", "現在のフォルダはもう存在しません"),
    "folder_gone_hint": ("change to another folder: `cd`", "`cd` で別のフォルダへ移動してください"),
    "can_not_write": ("the output cannot be written: {reason}", "出力を書き込めません: {reason}"),
    "out_of_reach": ("cannot access {path}: {reason}", "{path} にアクセスできません: {reason}"),
    "no_command": ("There is no command {name!r}.", "コマンド {name!r} はありません。"),
    "no_topic": (
        "no page is called {name} or contains it",
        "{name} という名前のページも、その語を含むページもありません",
    ),
    "no_topic_hint": ("available: {known}", "あるもの: {known}"),
    "docs_how": ("To read a page: hackathon docs TOPIC", "ページを読むには: hackathon docs TOPIC"),
    "docs_tutorial": ("Tutorials", "チュートリアル"),
    "docs_how_to": ("How-tos", "手順"),
    "docs_reference": ("Reference", "リファレンス"),
    "docs_explanation": ("Explanations", "解説"),
    "did_you_mean": ("Did you mean {name!r}?", "{name!r} のことですか？"),
    "bad_size": (
        "{value!r} is not a size such as 16GB or 16GiB",
        "{value!r} は 16GB や 16GiB のような大きさではありません",
    ),
    "bad_walltime": (
        "{value!r} is not a walltime such as 00:30:00, 90m or 2h",
        "{value!r} は実行時間として読めません（例: 00:30:00、90m、2h）",
    ),
    "bad_assignment": ("{value!r} is not NAME=VALUE", "{value!r} は 名前=値 の形ではありません"),
    "bad_processes": (
        "{value!r} is not a list of process counts such as 1,2,4",
        "{value!r} はプロセス数の列として読めません（例: 1,2,4）",
    ),
    # ---- show
    "render_files": (
        "The scheduler reads {names} beside this script: `hackathon render --files` with the same options prints it.",
        "スケジューラはこのスクリプトのほかに {names} を読みます。同じオプションで `hackathon render --files` を実行すると表示できます。",
    ),
    "rendered_to": (
        "created {folder}; to submit from it: cd {folder!q}, then give job.sh to your scheduler's command or to bash",
        "{folder} を作成しました。投入するには cd {folder!q} の後、job.sh をスケジューラのコマンドか bash に渡してください",
    ),
    "rendered_adopt": (
        "afterwards, in your project: hackathon adopt {folder!q}",
        "投入後、プロジェクトで: hackathon adopt {folder!q}",
    ),
    "render_command_options": (
        "the command of the submission also needs: {options}",
        "投入コマンドには次のオプションも必要です: {options}",
    ),
    "render_one_of": ("{options} cannot be combined", "{options} は同時に使えません"),
    "render_no_files": (
        "The scheduler {scheduler} reads nothing but the job script.",
        "スケジューラ {scheduler} が読むのはジョブスクリプトだけです。",
    ),
    "request_line": (
        "{name} on {cluster}{queue}: {processes} {processes:process|processes} on {nodes} {nodes:node|nodes}, "
        "{launcher}, walltime {walltime}",
        "{name}: {cluster}{queue}、{processes} プロセス / {nodes} ノード、{launcher}、実行時間 {walltime}",
    ),
    "cost": (
        "at most {jobs} {jobs:job|jobs}, {node_hours} node-hours, {gpu_hours} GPU-hours",
        "最大 {jobs} ジョブ、{node_hours} ノード時間、{gpu_hours} GPU 時間",
    ),
    "cost_tokens": (", {tokens} tokens", "、{tokens} トークン"),
    "not_confirmed": ("unverified", "未確認"),
    "column_value": ("setting", "項目"),
    "column_origin": ("origin", "由来"),
    "check_good": ("OK: {what}", "実行できます: {what}"),
    "check_source": (
        "source: {count} {count:file|files}, {size}, copied into the run",
        "ソース: {count} ファイル、{size}（実行ごとにコピー）",
    ),
    "check_linked": ("; linked: {names}", "。リンク: {names}"),
    "check_in_place": ("source: the folder itself (--in-place)", "ソース: フォルダをそのまま使用（--in-place）"),
    "check_unverified": (
        "note: these values of cluster {cluster} are unverified: {paths}",
        "注意: クラスタ {cluster} の次の値は未確認です: {paths}",
    ),
    "cores": ("{n} cores", "{n} コア"),
    "scheduler": ("scheduler", "スケジューラ"),
    "node": ("node", "ノード"),
    "launchers": ("launchers", "起動方法"),
    "starter": ("starter", "ノード起動"),
    "queue": ("queue", "キュー"),
    "queues": ("queues", "キュー"),
    "nodes": ("nodes", "ノード"),
    "walltime": ("walltime", "実行時間"),
    "now": ("now", "現在"),
    "name": ("name", "名前"),
    "title": ("title", "説明"),
    "framework": ("framework", "フレームワーク"),
    "parameter": ("parameter", "パラメータ"),
    "type": ("type", "型"),
    "default": ("default", "既定値"),
    "question_mark": ("? = unverified value", "? = 未確認の値"),
    "processes": ("processes", "プロセス"),
    "backend": ("back-end", "通信"),
    "operation": ("operation", "操作"),
    "bus": ("bus [GB/s]", "バス帯域 [GB/s]"),
    "date": ("date", "日付"),
    "measure_alone": (
        "{cluster}: communication cannot be measured with a single process",
        "{cluster}: 1 プロセスでは、プロセス間の通信を測れません",
    ),
    "measure_alone_hint": (
        "use --processes-per-node 2, or --nodes 2 on a cluster with several nodes",
        "--processes-per-node 2、または複数ノードのクラスタなら --nodes 2 を指定してください",
    ),
    "measure_kept": ("saved in {file}", "保存: {file}"),
    "from": ("from", "提供元"),
    "of_package": ("From the package {package}", "パッケージ {package} から"),
    "recipe_where": (
        "in {folder}; runs under {launchers}; scaling is measured by {metric}",
        "場所: {folder}、起動方法: {launchers}、スケーリングの指標: {metric}",
    ),
    "project_exists": ("{file} already exists", "{file} は既にあります"),
    "project_exists_hint": ("edit it, or choose another folder", "それを編集するか、別のフォルダを指定してください"),
    "init_one_of": (
        "give either --recipe NAME or --command TEXT",
        "--recipe 名前 か --command コマンド のどちらか一方を指定してください",
    ),
    "init_one_of_hint": (
        "`hackathon recipes` lists recipes; for a program of your own: `hackathon init --command 'python train.py'`",
        "レシピの一覧は `hackathon recipes`。自分のプログラムなら `hackathon init --command 'python train.py'`",
    ),
    "init_program": (
        "{file} is a file; `init` takes the folder of the project",
        "{file} はファイルです。`init` にはプロジェクトのフォルダを指定してください",
    ),
    "init_program_hint": (
        "for a program of your own, in the folder where it is: `{command}`",
        "自分のプログラムなら、そのフォルダで `{command}` を実行してください",
    ),
    "recipe_elsewhere": (
        "a project names its recipe, and this name does not lead to {folder}",
        "project.yaml にはレシピ名を書きますが、この名前では {folder} が見つかりません",
    ),
    "recipe_elsewhere_hint": (
        "copy the recipe to {place}",
        "レシピを {place} にコピーしてください",
    ),
    "init_values": ("the command uses {names}: give a value", "コマンド中の {names} に値が必要です"),
    "init_values_hint": ("e.g. {example}", "例: {example}"),
    "no_parameter": ("recipe {recipe} has no parameter {name!r}", "レシピ {recipe} にパラメータ {name!r} はありません"),
    "project_comment": (
        "A hackathon project; `hackathon schema project` describes every key.",
        "`hackathon` のプロジェクト。各キーの説明は `hackathon schema project`。",
    ),
    "metrics_comment": (
        "needed only if the output format of your program is not recognised (common formats are)",
        "出力書式が自動認識されないプログラムの場合だけ指定する（よくある書式は設定不要）",
    ),
    "formats_known": (
        "recognised output formats: {formats} (throughput: {metrics})",
        "自動認識される出力書式: {formats}（スループット: {metrics}）",
    ),
    "formats_unknown": (
        "Numbers such as `812 samples/s` and `loss 0.5` are read without configuration. Where your program writes them "
        "otherwise, `hackathon results --suggest` shows after a run what to put under `metrics:` in project.yaml",
        "「812 samples/s」「損失 0.5」のような数値は設定なしで読み取ります。ほかの書き方の場合は、実行後に `hackathon results --suggest` が "
        "project.yaml の `metrics:` に書く内容を表示します",
    ),
    "walltime_comment": (
        "time limit; shorter jobs start earlier",
        "実行時間の上限。短いジョブほど早く始まります",
    ),
    "made": ("created {file}", "作成: {file}"),
    "init_next": (
        "next: cd {folder!q} && hackathon try && hackathon scale --processes 1,2 --wait",
        "次は: cd {folder!q} && hackathon try && hackathon scale --processes 1,2 --wait",
    ),
    "init_next_mend": (
        "next: correct what is listed above, then: cd {folder!q} && hackathon check",
        "次は: 上記の問題を修正してから: cd {folder!q} && hackathon check",
    ),
    "init_next_port": (
        "next: cd {folder!q} && hackathon port {file!q}",
        "次は: cd {folder!q} && hackathon port {file!q}",
    ),
    "shell_source": ("when the shell starts: source {file}", "シェルが始まったら: source {file}"),
    "shell_none": (
        "{scheduler} has no interactive jobs that the toolkit can start",
        "{scheduler} では、ツールキットから会話型ジョブを開始できません",
    ),
    "shell_missing": ("{command} was not found on this machine", "このマシンに {command} が見つかりません"),
    "again_alone": (
        "--again submits a run as it was made; only --dry-run, --wait, --trust and --json go with it",
        "--again は実行を作成時のまま投入します。併用できるのは --dry-run、--wait、--trust、--json だけです",
    ),
    "again_alone_hint": (
        "for other options, submit a new run without --again",
        "ほかのオプションを使うときは、--again を付けずに新しく投入してください",
    ),
    "no_job_yet": ("run {run} has no job yet", "実行 {run} にはまだジョブがありません"),
    "submit_stopped": (
        "{done} submitted, {left} not submitted; stopped at the first error",
        "{done} 件投入、{left} 件未投入（最初のエラーで中止）",
    ),
    "submit_unclear": (
        "it is unclear whether {run} reached the queue: `hackathon status` searches for it by its name; if it stays "
        "UNCERTAIN, run `hackathon submit --again {run!q}`",
        "{run} がキューに入ったか確認できません。`hackathon status` がジョブ名で探します。UNCERTAIN のままなら "
        "`hackathon submit --again {run!q}` を実行してください",
    ),
    "submit_next": (
        "next: hackathon status {run!q}; hackathon logs {run!q} -f",
        "次は: hackathon status {run!q}、hackathon logs {run!q} -f",
    ),
    "nobody_confirms": (
        "nobody is at a terminal to confirm the jobs",
        "端末で確認できないため、ジョブを投入しません",
    ),
    "nobody_confirms_hint": ("Confirm with --yes.", "--yes で確認を省けます。"),
    "job_is": ("job {job}", "ジョブ {job}"),
    "wait_interrupted": (
        "stopped waiting; the jobs continue (`hackathon status`, `hackathon cancel`)",
        "待つのをやめました。ジョブは続いています（`hackathon status`、`hackathon cancel`）",
    ),
    "scale_needs_processes": ("no process counts given", "プロセス数を指定してください"),
    "scale_needs_processes_hint": ("--processes 1,2,4", "--processes 1,2,4"),
    "study_is": (
        "study {study}: {points} {points:point|points} × {repeat}, {mode}",
        "測定 {study}: {points} 点 × {repeat} 回（{mode}）",
    ),
    "study_left": (
        "{left} {left:job|jobs} not submitted yet: hackathon scale --resume {study!q}",
        "未投入 {left} 件: hackathon scale --resume {study!q}",
    ),
    "study_held": (
        "another process is submitting {held} {held:job|jobs} of this study; if they do not appear within {minutes} "
        "minutes: hackathon scale --resume {study!q}",
        "この測定の {held} 件は別のプロセスが投入中です。{minutes} 分たっても現れないとき: "
        "hackathon scale --resume {study!q}",
    ),
    "study_next": (
        "next: hackathon status {study!q}; hackathon results {study!q}",
        "次は: hackathon status {study!q}、hackathon results {study!q}",
    ),
    "no_runs": ("there are no runs in {folder}", "{folder} に実行はありません"),
    "no_runs_hint": (
        "`hackathon try` starts a short one, `hackathon submit` a whole one",
        "`hackathon try` は短い実行を、`hackathon submit` は本番の実行を始めます",
    ),
    "run": ("run", "実行"),
    "state": ("state", "状態"),
    "job": ("job", "ジョブ"),
    "since": ("since", "経過"),
    "reason": ("reason", "理由"),
    "stale": ("{age} ago", "{age}前の情報"),
    "logs_of": ("run {run} ({folder})", "実行 {run}（{folder}）"),
    "no_logs": ("no output yet", "まだ出力がありません"),
    "cancelled": ("cancel requested: {run}", "取り消しを要求しました: {run}"),
    "cancel_ask": ("Cancel this job?", "このジョブを取り消しますか？"),
    "cancel_nothing": (
        "no unfinished runs in {folder}: nothing to cancel",
        "{folder} に未終了の実行はありません。取り消すものがありません",
    ),
    "cancel_which": ("no run named. Unfinished runs:\n{runs}", "実行を指定してください。未終了の実行:\n{runs}"),
    "cancel_ended": ("already finished: {run}", "既に終了しています: {run}"),
    "no_metrics": ("no metrics were recorded", "指標は記録されていません"),
    "metric": ("metric", "指標"),
    "value": ("value", "値"),
    "newest_study": (
        "the newest run is shown; newest study: hackathon results {study!q}",
        "最新の実行を表示します。最新の測定: hackathon results {study!q}",
    ),
    "no_study": ("there is no study in {folder}", "{folder} に測定はありません"),
    "no_study_hint": ("`hackathon scale --processes 1,2` creates one", "`hackathon scale --processes 1,2` で作れます"),
    "of_scaling_study": (
        "--plot, --baseline, and the formats csv and md are for scaling studies, not for single runs or tunings",
        "--plot、--baseline、形式 csv と md はスケーリングの測定に使います。単独の実行や tune の探索には使えません",
    ),
    "of_scaling_study_hint": (
        "Name a scaling study, or use --json.",
        "スケーリングの測定の名前を指定するか、--json を使ってください。",
    ),
    "drawn": ("plot written: {file}", "図を保存しました: {file}"),
    "published": (
        "{count} pages written to {folder}; open {file}",
        "{folder} に {count} ページを書き出しました。開くファイル: {file}",
    ),
    "rerun_same": ("nothing has changed since run {run}", "実行 {run} から変わったものはありません"),
    "rerun_differs": ("changed since run {run}:", "実行 {run} から変わったもの:"),
    "adopted_processes": (
        "neither the scheduler nor the folder tells how many processes the job has, so no number is made per process; "
        "if you know it: hackathon adopt JOB --processes N",
        "ジョブのプロセス数が分からないため、プロセスあたりの値は計算しません。"
        "分かる場合は hackathon adopt JOB --processes N で指定してください",
    ),
    "adopted": ("adopted as {run}", "実行 {run} として取り込みました"),
    "clean_nothing": ("nothing to delete in {folder}", "{folder} に削除できるものはありません"),
    "clean_ask": ("Delete {count} {count:item|items} ({size})?", "{count} 件（{size}）を削除しますか？"),
    "clean_done": ("deleted: {size}", "削除: {size}"),
    "clean_not_asked": (
        "nothing was deleted; --yes deletes without asking",
        "何も削除していません。--yes を付けると確認なしに削除します",
    ),
    "what": ("item", "対象"),
    "size": ("size", "大きさ"),
    "doctor_for": ("cluster {cluster}, runs in {folder}", "クラスタ {cluster}、実行フォルダ {folder}"),
    "doctor_no_project": (
        "(not in a project: defaults of the cluster were checked)",
        "（プロジェクト外: クラスタの既定値で確認）",
    ),
}
