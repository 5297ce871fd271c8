"""Messages of `hackathon ready`, the checklist before an event: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the points
    "item_account": ("logged in", "ログイン"),
    "item_environment": ("environment", "環境"),
    "item_data": ("data", "データ"),
    "item_job": ("job", "ジョブ"),
    "item_check": ("correctness check", "精度条件"),
    "item_baseline": ("one-process baseline", "1 プロセスの基準値"),
    "item_tutors": ("access for tutors", "チューターの閲覧"),
    "state_ok": ("OK", "済"),
    "state_bad": ("NOT OK", "未"),
    "state_unknown": ("could not be checked", "確認不可"),
    "title": ("Readiness: {project} on {cluster}", "準備状況: {project}（{cluster}）"),
    "title_team": (
        "Readiness: {team}: {project} on {cluster}",
        "準備状況: {team}: {project}（{cluster}）",
    ),
    "all_good": ("everything is ready", "すべて準備できています"),
    "some_left": (
        "{count} of {total} {total:item|items} left: fix them from the top, then run `hackathon ready` again",
        "{total} 項目中 {count} 項目が残っています。上から直して、もう一度 `hackathon ready` を実行してください",
    ),
    "submitted": (
        "submitted a short job that checks the compute node: {run} (job {job}). If you press Ctrl-C, it continues; see "
        "its result later with `hackathon ready --no-job`",
        "計算ノードを確認する短いジョブを投入しました: {run}（ジョブ {job}）。Ctrl-C を押してもジョブは続きます。"
        "結果は後で `hackathon ready --no-job` で確認できます",
    ),
    "posted": ("posted on the event's board as {id}", "イベントの掲示板に載せました: {id}"),
    "not_posted": ("not posted: {why}", "掲示板には載せていません: {why}"),
    # logged in
    "account_is": ("{user} on {host}, groups {groups}", "{host} の {user}、グループ {groups}"),
    "member_of": ("member of {team}", "チーム {team} のメンバー"),
    "no_event": ("hackathon.yaml was not found", "hackathon.yaml が見つかりません"),
    "no_event_do": (
        "put the project below the event's folder, or set HACKATHON_SHARED as instructed by the organisers",
        "プロジェクトをイベントのフォルダの下に置くか、主催者の案内どおり HACKATHON_SHARED を設定してください",
    ),
    "no_member": ("you are not in any team of hackathon.yaml", "hackathon.yaml のどのチームにもいません"),
    "no_member_do": (
        "tell the organisers that {user} is your account",
        "自分のアカウントが {user} であることを主催者に伝えてください",
    ),
    "group_is": ("in the team's group {group}", "チームのグループ {group} に所属"),
    "group_paid": (
        "the job was charged to the team's group {group}",
        "ジョブはチームのグループ {group} に課金されました",
    ),
    "group_unknown": (
        "the team's group {group} is not a Unix group on this machine, and no job was charged to it yet",
        "チームのグループ {group} はこのマシンの Unix グループになく、課金されたジョブもまだありません",
    ),
    "group_not": ("not in the team's group {group}", "チームのグループ {group} に入っていません"),
    "group_not_do": (
        "ask the organisers to add {user} to {group}, then log in again",
        "{user} を {group} に加えるよう主催者に依頼し、ログインし直してください",
    ),
    # environment
    "built": ("{path} ({variant}, built {date})", "{path}（{variant}、{date} 作成）"),
    "imported": (
        "Python {python} on {host} imports {packages}",
        "{host} の Python {python} で {packages} を import できました",
    ),
    "imported_nothing": (
        "Python {python} on {host}; the program imports only the standard library",
        "{host} の Python {python}。プログラムが import するのは標準ライブラリだけです",
    ),
    "not_imported": (
        "imports were not tested on a compute node",
        "計算ノードでの import はまだ試していません",
    ),
    "environment_changed": (
        "the environment or the imports have changed since job {run}",
        "ジョブ {run} の後で環境か import するものが変わりました",
    ),
    "import_failed": (
        "cannot import {count} {count:package|packages} on {host} (Python {python}): {name}: {why}",
        "{host}（Python {python}）で {count} 個のパッケージを import できません: {name}: {why}",
    ),
    "no_gpu_seen": (
        "the framework sees no GPU on {host}, although it has {gpus}",
        "{host} には GPU が {gpus} 枚ありますが、フレームワークから見えません",
    ),
    "environment_own_do": (
        "activate it with `environment:` in project.yaml",
        "project.yaml の `environment:` で環境を有効にしてください",
    ),
    # data
    "data_whole": (
        "{names}: complete; the checksums of all files match",
        "{names}: すべてのファイルのチェックサムが一致",
    ),
    "data_sizes": ("{names}: complete; the sizes of all files match", "{names}: すべてのファイルの大きさが一致"),
    "data_not_from_node": (
        "not checked from a compute node",
        "計算ノードからはまだ確認していません",
    ),
    "data_seen": (
        "{count} {count:file was|files were} read with the same content on {host} (run {run})",
        "{host} でも {count} ファイルが同じ内容で読めました（実行 {run}）",
    ),
    "data_unseen": (
        "cannot read {count} {count:file|files} on {host}: {path}: {why}",
        "{host} から {count} ファイルが読めません: {path}: {why}",
    ),
    "data_other": (
        "{count} {count:file differs|files differ} on {host}, or changed since: {path}",
        "{count} ファイルが {host} では違うか、その後変わりました: {path}",
    ),
    "data_unseen_do": (
        "move the project to a file system that compute nodes can read, then run `hackathon data fetch` and `hackathon "
        "ready`",
        "計算ノードから見えるファイルシステムにプロジェクトを置き、`hackathon data fetch` と `hackathon ready` を実行してください",
    ),
    "data_none_recipe": ("recipe {recipe} needs no data", "レシピ {recipe} に必要なデータはありません"),
    "data_none_run": (
        "project.yaml declares no data; run {run} succeeded with what the program reads",
        "project.yaml にデータの宣言はありません。実行 {run} は、プログラムが読むデータで成功しました",
    ),
    "data_none": (
        "project.yaml declares no data, and no run has succeeded yet",
        "project.yaml にデータの宣言がなく、成功した実行もまだありません",
    ),
    "data_none_do": (
        "declare the data under `data:` in project.yaml, or run the program successfully: hackathon submit --wait",
        "project.yaml の `data:` にデータを書くか、プログラムを一度成功させてください: hackathon submit --wait",
    ),
    # job
    "no_job": ("no job was submitted, and there is no earlier one", "ジョブを投入しておらず、以前のものもありません"),
    "job_open": (
        "run {run} (job {job}) is {state}: wait for it",
        "実行 {run}（ジョブ {job}）は {state} です。終わるのを待ってください",
    ),
    "job_ran": (
        "run {run} (job {job}) took {seconds} s on {host}, after {waited} s in the queue",
        "実行 {run}（ジョブ {job}）は {host} で {seconds} 秒で終了（待ち {waited} 秒）",
    ),
    "job_slow": (
        "run {run} (job {job}) took {seconds} s on {host}; it should take less than {limit} s",
        "実行 {run}（ジョブ {job}）は {host} で {seconds} 秒かかりました（{limit} 秒未満であるべきです）",
    ),
    "job_slow_do": (
        "importing packages from this file system is slow: put the environment on a faster one",
        "遅いファイルシステムからの import に時間がかかっています。環境を速いファイルシステムに置いてください",
    ),
    "job_failed": (
        "run {run} (job {job}): {state}",
        "実行 {run}（ジョブ {job}）: {state}",
    ),
    "job_silent": (
        "run {run} (job {job}) finished without writing its results",
        "実行 {run}（ジョブ {job}）は終わりましたが、結果を出力していません",
    ),
    # results
    "check_is": (
        "run {run}: {metric} = {value}, required: {rule}",
        "実行 {run}: {metric} = {value}（条件 {rule}）",
    ),
    "check_read": (
        "run {run}: {metric} = {value} was recorded; project.yaml has no `check:`",
        "実行 {run}: {metric} = {value} を読み取りました（project.yaml に `check:` はありません）",
    ),
    "check_bad": (
        "run {run}: {metric} = {value}, required: {rule}",
        "実行 {run}: {metric} = {value} は条件 {rule} を満たしません",
    ),
    "check_silent": (
        "run {run} succeeded, but the value that the check needs was not found in its output",
        "実行 {run} は成功しましたが、確認に使う数値が出力されていません",
    ),
    "check_silent_do": (
        "print the value, and describe it under `metrics:` and `check:` in project.yaml",
        "数値を出力し、project.yaml の `metrics:` と `check:` に書いてください",
    ),
    "no_good_run": ("no run has succeeded on {cluster} yet", "{cluster} で成功した実行がまだありません"),
    "baseline_is": ("run {run}: {value} on one GPU ({gpu})", "実行 {run}: GPU 1 枚（{gpu}）で {value}"),
    "baseline_without_gpu": (
        "run {run}: {value} with one process (nodes without GPUs)",
        "実行 {run}: 1 プロセスで {value}（GPU のないノード）",
    ),
    "baseline_no_gpu": (
        "run {run}: {value} with one process, but its node listed no GPU",
        "実行 {run}: 1 プロセスで {value}。ただしノードに GPU が見つかりませんでした",
    ),
    "baseline_no_gpu_do": (
        "make sure that the program uses the GPU, then: hackathon submit --processes 1 --wait",
        "プログラムが GPU を使うことを確かめてから: hackathon submit --processes 1 --wait",
    ),
    "baseline_none": (
        "no one-process run with a throughput has succeeded on {cluster}",
        "{cluster} で成功した、スループットの分かる 1 プロセスの実行がありません",
    ),
    "baseline_silent": (
        "the one-process run {run} succeeded, but no throughput was found in its output",
        "1 プロセスの実行 {run} は成功しましたが、スループットが出力されていません",
    ),
    "baseline_silent_do": (
        "print the throughput, and describe its line under `metrics:` in project.yaml",
        "出力し、その書式を project.yaml の `metrics:` に書いてください",
    ),
    # tutors
    "tutors_read": (
        "{users} can read {path} and its runs ({count} checked)",
        "{users} は {path} とその実行（{count} 個を確認）を読めます",
    ),
    "tutors_closed": ("{users} cannot read: {path}", "{users} には読み取り権限がありません: {path}"),
    "tutors_no_team": (
        "your team is not known, so neither are its tutors",
        "どのチームか分からないため、チューターも分かりません",
    ),
    "tutors_none": ("the team has no tutor in hackathon.yaml yet", "hackathon.yaml のチームにチューターがまだいません"),
    "tutors_none_do": ("ask the organisers who your tutor is", "担当のチューターを主催者に聞いてください"),
    "tutors_unknown": ("no such account on this machine: {users}", "このマシンにないアカウントです: {users}"),
    "tutors_unknown_do": (
        "tell the organisers: a tutor's account is missing or misspelt in hackathon.yaml",
        "主催者に伝えてください: hackathon.yaml のチューターのアカウントがないか、綴りが違います",
    ),
    "tutors_unseen": ("permissions could not be checked: {what}", "アクセス権を確認できません: {what}"),
    # looked at again by the organisers
    "head_team": ("team", "チーム"),
    "head_account": ("login", "ログイン"),
    "head_environment": ("env", "環境"),
    "head_data": ("data", "データ"),
    "head_job": ("job", "ジョブ"),
    "head_check": ("check", "精度条件"),
    "head_baseline": ("1 process", "1 プロセス"),
    "head_tutors": ("tutors", "チューター"),
    "head_posted": ("posted", "投稿"),
    "word_confirmed": ("confirmed", "確認済み"),
    "word_told": ("claimed", "自己申告"),
    "word_unknown": ("not checked", "確認不可"),
    "word_no": ("missing", "未"),
    "word_refuted": ("contradicted", "事実と違う"),
    "word_nobody": ("nothing posted", "投稿なし"),
    "lacking_all": ("nobody has run `hackathon ready` yet", "まだだれも `hackathon ready` を実行していません"),
    "lacking_refuted": ("{what}: {user} claims it, but {why}", "{what}: {user} の申告は事実と違います: {why}"),
    "why_no_account": ("account {user} does not exist on this machine", "このマシンにアカウント {user} がありません"),
    "why_no_group": (
        "{user} is not in the Unix group {group}",
        "{user} は Unix グループ {group} に入っていません",
    ),
    "why_other_group": ("run {run} did not run under {group}", "実行 {run} は {group} で動いていません"),
    "why_only_told": ("none of it can be checked from here", "ここからは確認できません"),
    "why_silent": ("run {run} has no result for it", "実行 {run} にその結果がありません"),
    "why_not_imported": ("{name} was not imported in run {run}", "実行 {run} で {name} は import されていません"),
    "why_not_seen": (
        "run {run} did not read {path} with the same content",
        "実行 {run} では {path} が同じ内容で見えていません",
    ),
    "why_slow": ("run {run} did not finish within {limit} s", "実行 {run} は {limit} 秒以内に終わっていません"),
    "why_not_passed": ("run {run} did not pass a check", "実行 {run} は精度条件を満たしていません"),
    "why_no_rate": (
        "run {run} is not a one-process run with a throughput",
        "実行 {run} はスループットの分かる 1 プロセスの実行ではありません",
    ),
    "why_other_value": ("run {run} has another value", "実行 {run} の値と違います"),
    "why_no_folder": ("it does not name a folder", "フォルダが書かれていません"),
    "why_no_run_named": ("it does not name a run", "実行が書かれていません"),
    "why_gone": ("run {run} does not exist", "実行 {run} がありません"),
    "why_unreadable": ("it cannot be read from here: {what}", "ここからは読めません: {what}"),
    "why_other_owner": (
        "{path} belongs to {owner}, who is not in the team",
        "{path} の所有者 {owner} はチームのメンバーではありません",
    ),
    "why_strange": (
        "run {run} contains links or pipes that lead outside",
        "実行 {run} に外へ出るリンクやパイプがあります",
    ),
    "why_large": ("the logs of run {run} are too large to be checked here", "実行 {run} のログが大きすぎて読めません"),
    "why_copied": (
        "run {run} was created by {user}, who is not in the team",
        "実行 {run} を作った {user} はチームのメンバーではありません",
    ),
    "why_open": ("run {run} was {word} when last checked", "実行 {run} は最後に見たとき {word} でした"),
    "why_not_succeeded": ("run {run} is {word}", "実行 {run} は {word} です"),
    "why_future": ("the times of run {run} are in the future", "実行 {run} の時刻が未来です"),
    "why_no_probe": (
        "run {run} was not started by `hackathon ready`",
        "実行 {run} は `hackathon ready` のものではありません",
    ),
    "why_no_training": ("run {run} does not train anything", "実行 {run} は学習の実行ではありません"),
    "why_tutor_unknown": (
        "the tutors' accounts do not exist here: {users}",
        "チューターのアカウントがここにありません: {users}",
    ),
    "why_closed": ("{user} cannot read {path}", "{user} は {path} を読めません"),
}
