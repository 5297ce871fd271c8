"""Messages of `hackathon.runs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # finding
    "no_record": (
        "{path} is not a run directory: request.json is missing or damaged",
        "{path} は実行フォルダではありません（request.json がないか、壊れています）",
    ),
    "newer_record": (
        "run {run} was made by a newer hackathon ({toolkit}, records of version {version}), which this one cannot read",
        "実行 {run} は新しい版の hackathon（{toolkit}、記録の版 {version}）で作られたため、この版では読めません",
    ),
    "newer_record_hint": (
        "Update hackathon: `hackathon docs install` shows how.",
        "hackathon を更新してください。手順は `hackathon docs install` で読めます",
    ),
    "newer_study": (
        "study {study} was made by a newer hackathon (records of version {version}), which this one cannot read",
        "測定 {study} は新しい版の hackathon（記録の版 {version}）で作られたため、この版では読めません",
    ),
    "newer_study_hint": (
        "Update hackathon: `hackathon docs install` shows how.",
        "hackathon を更新してください。手順は `hackathon docs install` で読めます",
    ),
    "folder_unreadable": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "run_unknown": ("there is no run {text!r} in {folder}", "{folder} に実行 {text!r} はありません"),
    "run_unknown_hint": ("`hackathon status` lists them", "`hackathon status` で一覧を表示します"),
    "run_unknown_near": (
        "there is no run {text!r}; did you mean\n{names}",
        "実行 {text!r} はありません。次のどれかですか？\n{names}",
    ),
    "run_ambiguous": (
        "{count} runs match {text!r}:\n{names}",
        "{text!r} に当てはまる実行が {count} 件あります:\n{names}",
    ),
    "run_ambiguous_hint": (
        "give more of the id; its last eight letters are always enough",
        "ID をもう少し長く指定してください。末尾の8文字なら必ず決まります",
    ),
    "study_unknown": ("there is no study {text!r} in {folder}", "{folder} に測定 {text!r} はありません"),
    "study_unknown_near": (
        "there is no study {text!r}; did you mean\n{names}",
        "測定 {text!r} はありません。次のどれかですか？\n{names}",
    ),
    "study_ambiguous": (
        "{count} studies match {text!r}:\n{names}",
        "{text!r} に当てはまる測定が {count} 件あります:\n{names}",
    ),
    "study_broken": (
        "{path} is not a study: study.json is missing or damaged",
        "{path} は測定ではありません（study.json がないか、壊れています）",
    ),
    "no_study_yet": ("there are no studies in {folder} yet", "{folder} にはまだ測定がありません"),
    "no_study_yet_hint": ("`hackathon scale` creates one", "`hackathon scale` で作れます"),
    # snapshot
    "source_missing": ("the source folder {folder} does not exist", "ソースフォルダ {folder} がありません"),
    "source_big": (
        "the source in {folder} is {size}; at most {limit} can be copied into a run. The biggest files:\n{files}",
        "{folder} のソースは {size} あります。実行ごとにコピーできるのは {limit} までです。大きいファイル:\n{files}",
    ),
    "source_big_hint": (
        "write `exclude: [{exclude}]` in project.yaml to link it into the run, or run in the folder itself with --in-place",
        "project.yaml に `exclude: [{exclude}]` と書くとコピーせずリンクします。または --in-place でフォルダの中で実行してください",
    ),
    "source_many": (
        "the source in {folder} has {count} files; at most {limit} can be copied into a run. Folders with the most "
        "files:\n"
        "{files}",
        "{folder} のソースは {count} ファイルあります。コピーできるのは {limit} までです。多いフォルダ:\n{files}",
    ),
    "source_many_hint": (
        "write `exclude: [{exclude}]` in project.yaml to link it into the run, or run in the folder itself with --in-place",
        "project.yaml に `exclude: [{exclude}]` と書くとコピーせずリンクします。または --in-place でフォルダの中で実行してください",
    ),
    "exclude_wrong": (
        "`exclude: {pattern}` cannot be linked into a run",
        "`exclude: {pattern}` は実行にリンクできません",
    ),
    "exclude_wrong_hint": (
        "write paths in the project's folder, such as data or weights/*.pt: without .., **, or a link on the way, and with "
        "at most {limit} matches",
        "data や weights/*.pt のような、プロジェクトのフォルダ内のパスを書いてください。.. と ** とリンクの先は使えません。一致するのは {limit} 個までです",
    ),
    "exclude_nothing": (
        "`exclude: {pattern}` in project.yaml matches nothing",
        "project.yaml の `exclude: {pattern}` に一致するものがありません",
    ),
    "source_unreadable": ("{file} cannot be read: {what}", "{file} を読めません: {what}"),
    "source_unreadable_hint": (
        "make it readable, list it in .gitignore, or move it out of the project",
        "読めるようにする、.gitignore に書く、またはプロジェクトの外へ移してください",
    ),
    "source_changing": ("{file} changed while it was being read", "{file} が読み取り中に変わりました"),
    "source_changing_hint": (
        "try again when nothing is writing to the project",
        "書き込みが終わってから再実行してください",
    ),
    "source_link": (
        "links that point outside the project cannot be copied into a run:\n{files}",
        "プロジェクトの外を指すリンクは実行にコピーできません:\n{files}",
    ),
    "source_link_hint": (
        "list them under `exclude:` in project.yaml, which links them into the run, or run in the folder itself with --in-place",
        "project.yaml の `exclude:` に書くと実行にもリンクされます。または --in-place でフォルダの中で実行してください",
    ),
    "source_special": (
        "{file} is not a regular file or a link; it is not copied",
        "{file} は通常のファイルでもリンクでもないため、コピーしません",
    ),
    "source_dangling": (
        "link {file} points to {target}, which is not copied; the job will not find it",
        "リンク {file} の先 {target} はコピーされないため、ジョブからは見えません",
    ),
    "git_silent": (
        "git does not respond in {folder}; all files are copied, and the commit is not recorded",
        "{folder} で git が応答しません。全ファイルをコピーし、コミットは記録しません",
    ),
    # create
    "bad_value": ("a value of the request cannot be recorded: {what}", "リクエストの値を記録できません: {what}"),
    "disk_full": ("{folder}: {what}: no run was created", "{folder}: {what}。実行を作れませんでした"),
    "disk_full_hint": (
        "free some space (`hackathon clean` lists what can be deleted), or check your quota",
        "空きを作る（`hackathon clean` で候補を表示）か、quota を確認してください",
    ),
    "no_permission": (
        "cannot write runs to {folder}: {what}",
        "{folder} に実行を書き込めません: {what}",
    ),
    "no_permission_hint": (
        "work in your own copy of the project",
        "自分のプロジェクトのコピーで作業してください",
    ),
    "not_written": ("{folder} cannot be written: {what}", "{folder} に書き込めません: {what}"),
    "not_written_hint": (
        "free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and permissions",
        "空きを作る（`hackathon clean` で候補を表示）か、フォルダの所有者と権限を確認してください",
    ),
    # submit
    "no_after_ok": (
        "{scheduler} cannot start a job only after another one has succeeded",
        "{scheduler} では、別のジョブの成功を待つジョブを投入できません",
    ),
    "no_after_any": (
        "{scheduler} cannot start a job only after another one has ended",
        "{scheduler} では、別のジョブの終了を待つジョブを投入できません",
    ),
    "bad_file": (
        "the scheduler {scheduler} wants to write {name} into a run's folder, which is not allowed",
        "スケジューラ {scheduler} は実行フォルダに {name} を書き込もうとしましたが、許可されていません",
    ),
    "submitted_already": (
        "run {run} was already submitted: job {job_id}",
        "実行 {run} は投入済みです（ジョブ {job_id}）",
    ),
    "submitted_already_hint": (
        "`hackathon rerun` creates a new run from the same script and source",
        "`hackathon rerun` で同じスクリプトとソースの新しい実行を作れます",
    ),
    "submitting_now": (
        "run {run} is being submitted, or its submission was interrupted: an attempt started {seconds} s ago on {host}",
        "実行 {run} は投入の途中かもしれません（{seconds} 秒前に {host} で開始）",
    ),
    "submitting_now_hint": (
        "wait a minute, then run `hackathon status`",
        "1 分ほど待ってから `hackathon status` を見てください",
    ),
    "uncertain": (
        "it is unclear whether run {run} reached the queue: an earlier submission was interrupted",
        "実行 {run} がキューに入ったか確認できません（以前の投入が中断されました）",
    ),
    "uncertain_hint": (
        "look for a job named {name}; if there is none, `hackathon submit --again {run!q}` submits it",
        "ジョブ名 {name} を探してください。なければ `hackathon submit --again {run!q}` で投入できます",
    ),
    "id_not_written": (
        "run {run} is in the queue as job {job_id}, but this could not be recorded: {what}",
        "実行 {run} はジョブ {job_id} としてキューに入りましたが、記録できませんでした: {what}",
    ),
    "id_not_written_hint": (
        "free some space; `hackathon status` then finds the job by its name",
        "空きを作れば、`hackathon status` がジョブ名で見つけます",
    ),
    # states
    "cause_exit": ("exit code {exit_code}", "終了コード {exit_code}"),
    "cause_signal": ("killed by signal {signal}", "シグナル {signal} で終了"),
    "first_rank_exit": (
        "rank {rank} on {host} failed first, exit code {code}",
        "最初に失敗したのはランク {rank}（{host}）、終了コード {code}",
    ),
    "first_rank_vanished": (
        "a process on {host} (rank {rank}) was the first to stop, without output (killed together with its shell or "
        "node)",
        "最初に停止したのは {host} のプロセス（ランク {rank}）で、出力はありません（シェルまたはノードごと強制終了）",
    ),
    "first_rank_signal": (
        "rank {rank} on {host} was killed first, by signal {signal}",
        "最初に終了したのはランク {rank}（{host}）、シグナル {signal}",
    ),
    "cause_walltime": ("walltime reached", "経過時間の上限に到達"),
    "cause_memory": ("out of memory", "メモリ不足"),
    "cause_cancelled": ("cancelled", "取り消し"),
    "cause_node": ("a node failed", "ノード障害"),
    "cause_never_started": ("never started", "一度も開始されず"),
    "cause_no_trace": (
        "the job ran but wrote nothing into the run directory",
        "ジョブは動きましたが、実行フォルダに何も書かれていません",
    ),
    "cause_no_cause": ("finished; the scheduler gives no cause", "終了（スケジューラは理由を示していません）"),
    "cause_never_runs": ("can never start", "このままでは実行されません"),
    "cause_preflight_failed": ("not started", "開始されず"),
    "cause_refused": ("refused by the scheduler", "スケジューラが拒否"),
    "cause_uncertain": (
        "the submission was interrupted; no job of this name is found",
        "投入が中断され、この名前のジョブは見つかりません",
    ),
    "cause_lost": (
        "the scheduler no longer knows the job",
        "スケジューラがこのジョブを認識していません",
    ),
    # differences
    "differs_toolkit": ("toolkit: then {then}, now {now}", "ツールキット: 当時 {then}、現在 {now}"),
    "differs_package": ("package of {entry}: then {then}, now {now}", "{entry} のパッケージ: 当時 {then}、現在 {now}"),
    "differs_no_source": ("its source was not recorded", "ソースが記録されていません"),
    "differs_unreadable": (
        "the project's files in {folder} cannot be compared: {what}",
        "{folder} のファイルを比較できません: {what}",
    ),
    "differs_project_changed": ("changed in the project since: {files}", "プロジェクト側で変更: {files}"),
    "differs_project_gone": ("removed from the project since: {files}", "プロジェクト側で削除: {files}"),
    "differs_project_new": ("added to the project since: {files}", "プロジェクト側で追加: {files}"),
    "differs_copy_changed": (
        "changed by the job itself in the run's copy: {files}",
        "ジョブ自身が実行内のコピーを変更: {files}",
    ),
    "differs_copy_gone": ("missing from the run's copy: {files}", "実行内のコピーから消失: {files}"),
    "differs_field": ("{name}: then {then}, now {now}", "{name}: 当時 {then}、現在 {now}"),
    # cancel
    "cancel_not_submitted": ("run {run} was never submitted", "実行 {run} は投入されていません"),
    "cancel_uncertain": (
        "no job named {name} is found, so there is nothing to cancel for run {run}",
        "ジョブ名 {name} が見つからないため、実行 {run} に取り消すジョブはありません",
    ),
    "cancel_by_hand": (
        "run {run} was started by hand on {host}, outside any scheduler; stop it there",
        "実行 {run} は {host} 上で手動で開始されました。そのホスト上で終了してください",
    ),
    "cancel_other_owner": (
        "run {run} names job {job_id}, which belongs to {user}; the run belongs to {account}. The job was not cancelled",
        "実行 {run} に書かれたジョブ {job_id} は {user} のものです（実行の所有者は {account}）。ジョブは取り消しませんでした",
    ),
    "cancel_other_owner_hint": (
        "The run's files name somebody else's job. Ask {account} about it.",
        "実行のファイルに他人のジョブ ID が書かれています。{account} に確認してください。",
    ),
    "cancel_other_run": (
        "run {run} names job {job_id}, which is the job {name} of another run. The job was not cancelled",
        "実行 {run} に書かれたジョブ {job_id} は、別の実行のジョブ {name} です。ジョブは取り消しませんでした",
    ),
    "cancel_other_run_hint": (
        "Cancel the run that job {name} belongs to. The last eight characters of its ID are those of the job's name.",
        "ジョブ {name} の実行を取り消してください。実行 ID の末尾 8 文字がジョブ名の末尾と同じです。",
    ),
    "cancel_renamed": (
        "job {job_id} of run {run} is named {name}. The toolkit gave it another name",
        "実行 {run} のジョブ {job_id} の名前は {name} です。このツールが付けた名前と異なります",
    ),
    "cancel_renamed_hint": (
        "If this is the job to cancel, type `hackathon cancel {run!q} --yes`.",
        "このジョブで間違いなければ、`hackathon cancel {run!q} --yes` と入力してください。",
    ),
    "cancel_untold": (
        "the scheduler does not say whether job {job_id} belongs to run {run} of {account}",
        "ジョブ {job_id} が {account} の実行 {run} のものかどうか、スケジューラの回答ではわかりません",
    ),
    "cancel_untold_hint": (
        "Look the job up in the queue. If it is the right one, type `hackathon cancel {run!q} --yes`.",
        "キューでジョブを確認してください。間違いなければ、`hackathon cancel {run!q} --yes` と入力してください。",
    ),
    "job_of_other_owner": (
        "run {run} names job {job_id}, which belongs to {user}; its state is not shown",
        "実行 {run} に書かれたジョブ {job_id} は {user} のものです。ジョブの状態は表示しません",
    ),
    "job_of_other_run": (
        "run {run} names job {job_id}, which is the job {name} of another run; its state is not shown",
        "実行 {run} に書かれたジョブ {job_id} は、別の実行のジョブ {name} です。ジョブの状態は表示しません",
    ),
    # rerun, adopt
    "adopt_other_owner": (
        "job {job_id} belongs to {user}, not to {account}",
        "ジョブ {job_id} は {user} のもので、{account} のものではありません",
    ),
    "adopt_other_owner_hint": (
        "Only the owner of a job can adopt it.",
        "ジョブを取り込めるのは、そのジョブの所有者だけです。",
    ),
    "rerun_removed": (
        "run {run} was cleaned up: only its record is left, so it cannot be run again",
        "実行 {run} は整理され、記録しか残っていないため、再実行できません",
    ),
    "rerun_no_source": (
        "the source of run {run} was not recorded, so it cannot be run again",
        "実行 {run} のソースが記録されていないため、再実行できません",
    ),
    "rerun_no_script": (
        "the script of run {run} cannot be read: {what}",
        "実行 {run} のスクリプトを読めません: {what}",
    ),
    "adopt_unknown": ("the scheduler does not know job {job_id}", "スケジューラにジョブ {job_id} はありません"),
    "adopt_unknown_hint": (
        "if it finished long ago, adopt the folder with its output instead",
        "終了から時間が経っている場合は、出力のあるフォルダを adopt してください",
    ),
    "adopt_no_job": (
        "no trace of a job in {folder}: no claim, slurm-ID.out, or NAME.oID",
        "{folder} にジョブの痕跡がありません（claim、slurm-ID.out、NAME.oID のどれもなし）",
    ),
    "adopt_no_job_hint": ("give the job id instead", "代わりにジョブ ID を指定してください"),
    "adopted_already": (
        "job {job_id} is already adopted as run {run}",
        "ジョブ {job_id} は取り込み済みです（実行 {run}）",
    ),
    # render --to
    "hand_on_not_empty": (
        "{folder} exists and is not an empty folder",
        "{folder} は存在し、空のフォルダではありません",
    ),
    "hand_on_in_runs": (
        "{folder} lies in {runs}, where runs are kept; choose a folder elsewhere",
        "{folder} は実行記録の場所 {runs} の中です。ほかのフォルダを指定してください",
    ),
    "hand_on_here": (
        "{folder} is the current folder; name a new one",
        "{folder} は現在のフォルダです。新しいフォルダを指定してください",
    ),
    # doctor
    "doctor_python": ("Python", "Python"),
    "doctor_python_is": ("{version} at {path}, hackathon {toolkit}", "{version}（{path}）、hackathon {toolkit}"),
    "doctor_scheduler": ("scheduler", "スケジューラ"),
    "doctor_scheduler_is": ("{scheduler} answers; queues: {there}", "{scheduler} は応答します。キュー: {there}"),
    "doctor_queues_missing": (
        "the profile lists queues that the scheduler does not have: {missing}",
        "プロファイルにあるキューがスケジューラにありません: {missing}",
    ),
    "doctor_queues_missing_remedy": (
        "the scheduler has {there}; copy the profile {cluster} into templates/clusters/ of your project and correct it",
        "実際は {there} です。プロファイル {cluster} をプロジェクトの templates/clusters/ にコピーして直してください",
    ),
    "doctor_environment": ("environment", "環境設定"),
    "doctor_environment_is": (
        "all {count} lines of the profile work here",
        "プロファイルの {count} 行はすべて動きます",
    ),
    "doctor_environment_failed": ("a line of the profile failed: {what}", "プロファイルの行が失敗しました: {what}"),
    "doctor_environment_remedy": (
        "`module avail` lists the current modules; correct them in a copy of profile {cluster}",
        "`module avail` で今の名前を確かめ、プロファイル {cluster} のコピーを直してください",
    ),
    "doctor_folder": ("folder", "フォルダ"),
    "doctor_folder_is": ("{folder} is writable", "{folder} に書き込めます"),
    "doctor_folder_bad": ("{folder} is not writable: {what}", "{folder} に書き込めません: {what}"),
    "doctor_folder_remedy": ("work in a folder of your own", "自分のフォルダで作業してください"),
    "doctor_not_visible": ("compute nodes cannot see {folder}", "計算ノードから {folder} は見えません"),
    "doctor_not_visible_remedy": ("work below {seen}", "{seen} の下で作業してください"),
    "doctor_clock": ("clock", "時計"),
    "doctor_clock_is": ("agrees with the file server ({seconds} s)", "ファイルサーバと一致（{seconds} 秒）"),
    "doctor_clock_off": ("the file server's clock differs by {seconds} s", "ファイルサーバと {seconds} 秒ずれています"),
    "doctor_clock_remedy": (
        "times of runs will be wrong; tell the computing centre",
        "実行時刻が不自然に見えます。センターに知らせてください",
    ),
    "doctor_space": ("space", "空き容量"),
    "doctor_space_is": ("{free} of {total} free", "{total} 中 {free} 空き"),
    "doctor_quota": ("quota", "クォータ"),
    "doctor_gpu": ("GPU driver", "GPU ドライバ"),
    "doctor_gpu_none_here": (
        "none on this machine; nodes should have {gpus} {gpus:GPU|GPUs}",
        "このマシンにはありません（ノードには {gpus} 基の想定）",
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
        "{launcher} ran on {nodes} {nodes:node|nodes} after {seconds} s: {hosts}",
        "{launcher} が {nodes} ノードで動きました（{seconds} 秒）: {hosts}",
    ),
    "doctor_start_bad": ("{state} after {seconds} s; hosts: {hosts}", "{seconds} 秒後 {state}、ホスト: {hosts}"),
    "doctor_start_remedy": ("see {folder}/logs", "{folder}/logs を見てください"),
}
