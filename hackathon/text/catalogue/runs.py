"""Messages of `hackathon.runs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # finding
    "no_record": (
        "{path} is not a run directory: request.json is missing or broken",
        "{path} は実行フォルダではありません(request.json がないか、壊れています)",
    ),
    "folder_unreadable": ("{path} can not be read: {what}", "{path} を読めません: {what}"),
    "run_unknown": ("there is no run {text!r} in {folder}", "{folder} に実行 {text!r} はありません"),
    "run_unknown_hint": ("`hackathon status` lists them", "`hackathon status` で一覧を表示します"),
    "run_unknown_near": (
        "there is no run {text!r}; did you mean\n{names}",
        "実行 {text!r} はありません。次のどれかですか?\n{names}",
    ),
    "run_ambiguous": (
        "{count} runs match {text!r}:\n{names}",
        "{text!r} に当てはまる実行が {count} 件あります:\n{names}",
    ),
    "run_ambiguous_hint": (
        "give more of its id; the last eight letters always suffice",
        "ID をもう少し長く指定してください。末尾の8文字なら必ず決まります",
    ),
    "study_unknown": ("there is no study {text!r} in {folder}", "{folder} に測定 {text!r} はありません"),
    "study_unknown_near": (
        "there is no study {text!r}; did you mean\n{names}",
        "測定 {text!r} はありません。次のどれかですか?\n{names}",
    ),
    "study_ambiguous": (
        "{count} studies match {text!r}:\n{names}",
        "{text!r} に当てはまる測定が {count} 件あります:\n{names}",
    ),
    "study_broken": (
        "{path} is not a study: study.json is missing or broken",
        "{path} は測定ではありません(study.json がないか、壊れています)",
    ),
    "no_study_yet": ("there are no studies in {folder} yet", "{folder} にはまだ測定がありません"),
    "no_study_yet_hint": ("`hackathon scale` makes one", "`hackathon scale` で作れます"),
    # snapshot
    "source_missing": ("the source folder {folder} is not there", "ソースフォルダ {folder} がありません"),
    "source_big": (
        "the source in {folder} is {size}; at most {limit} is copied into a run. The biggest files:\n{files}",
        "{folder} のソースは {size} あります。実行ごとにコピーできるのは {limit} までです。大きいファイル:\n{files}",
    ),
    "source_big_hint": (
        "name data and results in .gitignore (in a git repository), move them elsewhere, or use --in-place",
        "データや結果を .gitignore に書く(git リポジトリの場合)、別の場所へ移す、または --in-place を使ってください",
    ),
    "source_many": (
        "the source in {folder} has {count} files; at most {limit} are copied into a run. Fullest:\n{files}",
        "{folder} のソースは {count} ファイルあります。コピーできるのは {limit} までです。多いフォルダ:\n{files}",
    ),
    "source_many_hint": (
        "name data and results in .gitignore (in a git repository), move them elsewhere, or use --in-place",
        "データや結果を .gitignore に書く(git リポジトリの場合)、別の場所へ移す、または --in-place を使ってください",
    ),
    "source_unreadable": ("{file} can not be read: {what}", "{file} を読めません: {what}"),
    "source_unreadable_hint": (
        "make it readable, name it in .gitignore, or move it out of the project",
        "読めるようにする、.gitignore に書く、またはプロジェクトの外へ移してください",
    ),
    "source_changing": ("{file} changed while it was read", "{file} が読み取り中に変わりました"),
    "source_changing_hint": (
        "try again when nothing writes into the project",
        "書き込みが終わってから再実行してください",
    ),
    "source_link": (
        "links that lead out of the project can not be copied into a run:\n{files}",
        "プロジェクトの外を指すリンクは実行にコピーできません:\n{files}",
    ),
    "source_link_hint": (
        "name them in .gitignore and give the program the real path as a parameter, or use --in-place",
        ".gitignore に書いて実際のパスをパラメータで渡すか、--in-place を使ってください",
    ),
    "source_special": (
        "{file} is neither a file nor a link; it is not copied",
        "{file} は通常のファイルでもリンクでもないため、コピーしません",
    ),
    "source_dangling": (
        "link {file} leads to {target}, which is not copied; the job will not find it",
        "リンク {file} の先 {target} はコピーされないため、ジョブからは見えません",
    ),
    "git_silent": (
        "git does not answer in {folder}; all files are copied and the commit is not recorded",
        "{folder} で git が応答しません。全ファイルをコピーし、コミットは記録しません",
    ),
    # create
    "bad_value": ("a value of the request can not be written down: {what}", "リクエストの値を記録できません: {what}"),
    "disk_full": ("{folder}: {what}: no run was made there", "{folder}: {what}。実行を作れませんでした"),
    "disk_full_hint": (
        "make room (`hackathon clean` lists what can go) or look at your quota",
        "空きを作る(`hackathon clean` で候補を表示)か、quota を確認してください",
    ),
    "no_permission": (
        "runs can not be written into {folder}: {what}",
        "{folder} に実行を書き込めません: {what}",
    ),
    "no_permission_hint": (
        "work in a copy of the project that belongs to you",
        "自分のプロジェクトのコピーで作業してください",
    ),
    "not_written": ("{folder} can not be written: {what}", "{folder} に書き込めません: {what}"),
    "not_written_hint": (
        "make room (`hackathon clean` lists what can go), or look at the folder's owner and rights",
        "空きを作る(`hackathon clean` で候補を表示)か、フォルダの所有者と権限を確認してください",
    ),
    # submit
    "submitted_already": (
        "run {run} was submitted before: job {job_id}",
        "実行 {run} は投入済みです(ジョブ {job_id})",
    ),
    "submitted_already_hint": (
        "`hackathon rerun` makes a new run of the same script and source",
        "`hackathon rerun` で同じスクリプトとソースの新しい実行を作れます",
    ),
    "submitting_now": (
        "run {run} is being submitted, or that was cut off: an attempt began {seconds} s ago on {host}",
        "実行 {run} は投入の途中かもしれません({seconds} 秒前に {host} で開始)",
    ),
    "submitting_now_hint": (
        "wait a minute, then look at `hackathon status`",
        "1 分ほど待ってから `hackathon status` を見てください",
    ),
    "uncertain": (
        "nobody knows whether run {run} reached the queue: an earlier submission was cut off",
        "実行 {run} がキューに入ったか不明です(以前の投入が途中で切れました)",
    ),
    "uncertain_hint": (
        "look for a job named {name}; if there is none, `hackathon submit --again {run}` submits it",
        "ジョブ名 {name} を探してください。なければ `hackathon submit --again {run}` で投入できます",
    ),
    "id_not_written": (
        "run {run} is in the queue as job {job_id}, but that could not be written down: {what}",
        "実行 {run} はジョブ {job_id} としてキューに入りましたが、記録できませんでした: {what}",
    ),
    "id_not_written_hint": (
        "make room; `hackathon status` then finds the job by its name",
        "空きを作れば、`hackathon status` がジョブ名で見つけます",
    ),
    # states
    "cause_exit": ("exit code {exit_code}", "終了コード {exit_code}"),
    "cause_signal": ("ended by signal {signal}", "シグナル {signal} で終了"),
    "first_rank_exit": (
        "rank {rank} on {host} failed first, exit code {code}",
        "最初に失敗したのはランク {rank}({host})、終了コード {code}",
    ),
    "first_rank_vanished": (
        "rank {rank} on {host} vanished first, without a word (killed with its shell, or its node)",
        "最初に消えたのはランク {rank}({host})、記録なし(シェルかノードごと強制終了)",
    ),
    "first_rank_signal": (
        "rank {rank} on {host} was ended first, by signal {signal}",
        "最初に終了したのはランク {rank}({host})、シグナル {signal}",
    ),
    "cause_walltime": ("walltime reached", "経過時間の上限に到達"),
    "cause_memory": ("out of memory", "メモリ不足"),
    "cause_cancelled": ("cancelled", "キャンセル"),
    "cause_node": ("a node failed", "ノード障害"),
    "cause_never_started": ("never started", "一度も開始されず"),
    "cause_no_trace": (
        "the job ran but wrote nothing into the run directory",
        "ジョブは動きましたが、実行フォルダに何も書かれていません",
    ),
    "cause_no_cause": ("ended; the scheduler gives no cause", "終了(スケジューラは理由を示していません)"),
    "cause_never_runs": ("can never run", "このままでは実行されません"),
    "cause_preflight_failed": ("not started", "開始されず"),
    "cause_refused": ("refused by the scheduler", "スケジューラが拒否"),
    "cause_uncertain": (
        "the submission was cut off; no job of this name is known",
        "投入が途中で切れ、この名前のジョブは見つかりません",
    ),
    "cause_lost": (
        "the scheduler does not know the job any more",
        "スケジューラがこのジョブを認識していません",
    ),
    # differences
    "differs_toolkit": ("toolkit: then {then}, now {now}", "ツールキット: 当時 {then}、現在 {now}"),
    "differs_no_source": ("its source was not recorded", "ソースが記録されていません"),
    "differs_unreadable": (
        "the project's files in {folder} can not be compared: {what}",
        "{folder} のファイルを比較できません: {what}",
    ),
    "differs_project_changed": ("changed in the project since: {files}", "プロジェクト側で変更: {files}"),
    "differs_project_gone": ("gone from the project since: {files}", "プロジェクト側で削除: {files}"),
    "differs_project_new": ("new in the project since: {files}", "プロジェクト側で追加: {files}"),
    "differs_copy_changed": (
        "changed by its own job in the run's copy: {files}",
        "ジョブ自身が実行内のコピーを変更: {files}",
    ),
    "differs_copy_gone": ("gone from the run's copy: {files}", "実行内のコピーから消失: {files}"),
    "differs_field": ("{name}: then {then}, now {now}", "{name}: 当時 {then}、現在 {now}"),
    # cancel
    "cancel_not_submitted": ("run {run} was never submitted", "実行 {run} は投入されていません"),
    "cancel_uncertain": (
        "no job named {name} is known, so there is nothing to cancel for run {run}",
        "ジョブ名 {name} が見つからないため、実行 {run} のキャンセル対象がありません",
    ),
    "cancel_by_hand": (
        "run {run} was started by hand on {host}, outside any scheduler; end it there",
        "実行 {run} は {host} 上で手動で開始されました。そのホスト上で終了してください",
    ),
    # rerun, adopt
    "rerun_no_source": (
        "the source of run {run} was not recorded, so it can not be run again",
        "実行 {run} のソースが記録されていないため、再実行できません",
    ),
    "rerun_no_script": (
        "the script of run {run} can not be read: {what}",
        "実行 {run} のスクリプトを読めません: {what}",
    ),
    "adopt_unknown": ("the scheduler does not know job {job_id}", "スケジューラにジョブ {job_id} はありません"),
    "adopt_unknown_hint": (
        "if it ended long ago, adopt the folder with its output instead",
        "終了から時間が経っている場合は、出力のあるフォルダを adopt してください",
    ),
    "adopt_no_job": (
        "{folder} holds no trace of a job: no claim, slurm-ID.out or NAME.oID",
        "{folder} にジョブの痕跡がありません(claim、slurm-ID.out、NAME.oID のどれもなし)",
    ),
    "adopt_no_job_hint": ("give the job id instead", "代わりにジョブ ID を指定してください"),
    "adopted_already": ("job {job_id} was adopted before: run {run}", "ジョブ {job_id} は取り込み済みです(実行 {run})"),
    # clean
    "clean_partial": ("half-made directory", "作りかけのフォルダ"),
    "clean_failed": ("run without success", "成功しなかった実行"),
    "clean_never_submitted": ("run that was never submitted", "投入されなかった実行"),
    "clean_checkpoint": ("checkpoint", "チェックポイント"),
    "clean_source": ("source (the run can not be repeated then)", "ソース(削除すると再実行できません)"),
    "clean_cache": ("cache", "キャッシュ"),
    # doctor
    "doctor_python": ("Python", "Python"),
    "doctor_python_is": ("{version} at {path}, hackathon {toolkit}", "{version}({path})、hackathon {toolkit}"),
    "doctor_scheduler": ("scheduler", "スケジューラ"),
    "doctor_scheduler_is": ("{scheduler} answers; queues: {there}", "{scheduler} は応答します。キュー: {there}"),
    "doctor_queues_missing": (
        "the profile names queues that the scheduler does not show: {missing}",
        "プロファイルにあるキューがスケジューラにありません: {missing}",
    ),
    "doctor_queues_missing_remedy": (
        "it shows {there}; copy the profile {cluster} into templates/clusters/ of your project and correct it",
        "実際は {there} です。プロファイル {cluster} をプロジェクトの templates/clusters/ にコピーして直してください",
    ),
    "doctor_environment": ("environment", "環境設定"),
    "doctor_environment_is": (
        "all {count} lines of the profile work here",
        "プロファイルの {count} 行はすべて動きます",
    ),
    "doctor_environment_failed": ("a line of the profile failed: {what}", "プロファイルの行が失敗しました: {what}"),
    "doctor_environment_remedy": (
        "`module avail` shows the names of today; correct them in a copy of profile {cluster}",
        "`module avail` で今の名前を確かめ、プロファイル {cluster} のコピーを直してください",
    ),
    "doctor_folder": ("folder", "フォルダ"),
    "doctor_folder_is": ("{folder} can be written", "{folder} に書き込めます"),
    "doctor_folder_bad": ("{folder} can not be written: {what}", "{folder} に書き込めません: {what}"),
    "doctor_folder_remedy": ("work in a folder of your own", "自分のフォルダで作業してください"),
    "doctor_not_visible": ("compute nodes do not see {folder}", "計算ノードから {folder} は見えません"),
    "doctor_not_visible_remedy": ("work below {seen}", "{seen} の下で作業してください"),
    "doctor_clock": ("clock", "時計"),
    "doctor_clock_is": ("agrees with the file server ({seconds} s)", "ファイルサーバと一致({seconds} 秒)"),
    "doctor_clock_off": ("the file server's clock differs by {seconds} s", "ファイルサーバと {seconds} 秒ずれています"),
    "doctor_clock_remedy": (
        "times of runs will look odd; tell the centre",
        "実行時刻が不自然に見えます。センターに知らせてください",
    ),
    "doctor_space": ("space", "空き容量"),
    "doctor_space_is": ("{free} of {total} free", "{total} 中 {free} 空き"),
    "doctor_quota": ("quota", "クォータ"),
    "doctor_gpu": ("GPU driver", "GPU ドライバ"),
    "doctor_gpu_none_here": (
        "none on this machine; nodes should have {gpus} GPU(s)",
        "このマシンにはありません(ノードには {gpus} 基の想定)",
    ),
    "doctor_gpu_bad": ("nvidia-smi failed: {what}", "nvidia-smi が失敗しました: {what}"),
    "doctor_programs": ("launchers", "起動方法"),
    "doctor_programs_are": ("{there} found", "{there} があります"),
    "doctor_programs_missing": ("not found here: {missing}", "ここにはありません: {missing}"),
    "doctor_programs_remedy": (
        "load a module, activate your environment, or name them in the profile's `environment`",
        "module load する、環境を有効にする、またはプロファイルの `environment` に書いてください",
    ),
    "doctor_start": ("start on nodes", "ノードでの起動"),
    "doctor_start_is": (
        "{launcher} ran on {nodes} node(s) after {seconds} s: {hosts}",
        "{launcher} が {nodes} ノードで動きました({seconds} 秒): {hosts}",
    ),
    "doctor_start_bad": ("{state} after {seconds} s; hosts: {hosts}", "{seconds} 秒後 {state}、ホスト: {hosts}"),
    "doctor_start_remedy": ("look at {folder}/logs", "{folder}/logs を見てください"),
}
