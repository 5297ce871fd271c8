"""Messages of `hackathon ready`, the checklist before an event: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the points
    "item_account": ("logged in", "ログイン"),
    "item_environment": ("environment", "環境"),
    "item_data": ("data", "データ"),
    "item_job": ("job", "ジョブ"),
    "item_check": ("correctness check", "正しさの確認"),
    "item_baseline": ("one-GPU baseline", "GPU 1 枚の基準値"),
    "item_tutors": ("tutors can read", "チューターの閲覧"),
    "state_ok": ("ok", "済"),
    "state_bad": ("NOT OK", "未"),
    "state_unknown": ("could not be looked at", "確認不可"),
    "title": ("Ready for the event? {project} on {cluster}", "イベントの準備: {project}（{cluster}）"),
    "title_team": (
        "Ready for the event? {team}: {project} on {cluster}",
        "イベントの準備: {team}: {project}（{cluster}）",
    ),
    "all_good": ("everything is ready", "すべて準備できています"),
    "some_left": (
        "{count} of {total} points are left: mend them from the top and run `hackathon ready` again",
        "{total} 項目中 {count} 項目が残っています。上から直して、もう一度 `hackathon ready` を実行してください",
    ),
    "submitted": (
        "a small job looks at the compute node: {run} (job {job}); Ctrl-C: it goes on, later `hackathon ready --no-job`",
        "計算ノードを確認する小さなジョブを投入しました: {run}（ジョブ {job}）。Ctrl-C で待つのをやめても続きます（後で `hackathon ready --no-job`）",
    ),
    "posted": ("posted on the event's board as {id}", "イベントの掲示板に載せました: {id}"),
    "not_posted": ("not posted: {why}", "掲示板には載せていません: {why}"),
    # logged in
    "account_is": ("{user} on {host}, groups {groups}", "{host} の {user}、グループ {groups}"),
    "member_of": ("member of {team}", "チーム {team} のメンバー"),
    "no_event": ("no hackathon.yaml is found", "hackathon.yaml が見つかりません"),
    "no_event_do": (
        "put the project below the event's folder, or set HACKATHON_SHARED as the organisers say",
        "プロジェクトをイベントのフォルダの下に置くか、主催者の案内どおり HACKATHON_SHARED を設定してください",
    ),
    "no_member": ("in no team of hackathon.yaml", "hackathon.yaml のどのチームにもいません"),
    "no_member_do": (
        "tell the organisers that {user} is your account",
        "自分のアカウントが {user} であることを主催者に伝えてください",
    ),
    "group_is": ("in the team's group {group}", "チームのグループ {group} に所属"),
    "group_paid": ("the job ran under the team's group {group}", "ジョブはチームのグループ {group} で動きました"),
    "group_unknown": (
        "the team's group {group} is no Unix group here, and no job ran under it yet",
        "チームのグループ {group} は Unix グループになく、そのグループで動いたジョブもまだありません",
    ),
    "group_not": ("not in the team's group {group}", "チームのグループ {group} に入っていません"),
    "group_not_do": (
        "ask the organisers to put {user} into {group}, then log in again",
        "{user} を {group} に入れるよう主催者に頼み、ログインし直してください",
    ),
    # environment
    "built": ("{path} ({variant}, built {date})", "{path}（{variant}、{date} 作成）"),
    "imported": (
        "Python {python} on {host} imports {packages}",
        "{host} の Python {python} で {packages} を import できました",
    ),
    "imported_nothing": (
        "Python {python} on {host}; the program imports its standard library only",
        "{host} の Python {python}。プログラムが import するのは標準ライブラリだけです",
    ),
    "not_imported": (
        "whether it imports was not tried on a compute node",
        "計算ノードでの import はまだ試していません",
    ),
    "environment_changed": (
        "it is another one since job {run}, or the program imports more",
        "ジョブ {run} の後で環境か import するものが変わりました",
    ),
    "import_failed": (
        "{count} packages can not be imported on {host} (Python {python}): {name}: {why}",
        "{host}（Python {python}）で {count} 個のパッケージを import できません: {name}: {why}",
    ),
    "no_gpu_seen": (
        "the framework sees no GPU on {host}, which has {gpus}",
        "{host} には GPU が {gpus} 枚ありますが、フレームワークから見えません",
    ),
    "environment_own_do": (
        "activate it under `environment:` in project.yaml",
        "project.yaml の `environment:` で環境を有効にしてください",
    ),
    # data
    "data_whole": ("{names}: complete, by the checksum of every file", "{names}: すべてのファイルのチェックサムが一致"),
    "data_sizes": ("{names}: complete, by the size of every file", "{names}: すべてのファイルの大きさが一致"),
    "data_not_from_node": (
        "not looked at from a compute node",
        "計算ノードからはまだ確認していません",
    ),
    "data_seen": (
        "{count} files read the same on {host} (run {run})",
        "{host} でも {count} ファイルが同じ内容で読めました（実行 {run}）",
    ),
    "data_unseen": (
        "{count} files are not seen from {host}: {path}: {why}",
        "{host} から {count} ファイルが読めません: {path}: {why}",
    ),
    "data_other": (
        "{count} files are not the same on {host}, or changed since: {path}",
        "{count} ファイルが {host} では違うか、その後変わりました: {path}",
    ),
    "data_unseen_do": (
        "put the project on a file system that compute nodes see, then `hackathon data fetch` and `hackathon ready`",
        "計算ノードから見えるファイルシステムにプロジェクトを置き、`hackathon data fetch` と `hackathon ready` を実行してください",
    ),
    "data_none_recipe": ("recipe {recipe} needs no data of its own", "レシピ {recipe} に必要なデータはありません"),
    "data_none_run": (
        "project.yaml declares none; run {run} succeeded with what the program reads",
        "project.yaml に宣言はありません。実行 {run} は必要なものを読んで成功しました",
    ),
    "data_none": (
        "project.yaml declares no data, and no run has succeeded yet",
        "project.yaml にデータの宣言がなく、成功した実行もまだありません",
    ),
    "data_none_do": (
        "declare them under `data:` in project.yaml, or show that it runs: hackathon submit --wait",
        "project.yaml の `data:` に書くか、動くことを示してください: hackathon submit --wait",
    ),
    # job
    "no_job": ("no job was submitted, and there is none from before", "ジョブを投入しておらず、以前のものもありません"),
    "job_open": (
        "run {run} (job {job}) is {state}: wait for it",
        "実行 {run}（ジョブ {job}）は {state} です。終わるのを待ってください",
    ),
    "job_ran": (
        "run {run} (job {job}) took {seconds} s on {host}, after {waited} s in the queue",
        "実行 {run}（ジョブ {job}）は {host} で {seconds} 秒で終了（待ち {waited} 秒）",
    ),
    "job_slow": (
        "run {run} (job {job}) took {seconds} s on {host}, not under {limit} s",
        "実行 {run}（ジョブ {job}）は {host} で {seconds} 秒かかりました（{limit} 秒未満であるべきです）",
    ),
    "job_slow_do": (
        "importing packages from a slow file system takes long: put the environment on a faster one",
        "遅いファイルシステムからの import に時間がかかっています。環境を速いファイルシステムに置いてください",
    ),
    "job_failed": (
        "run {run} (job {job}): {state} {why}",
        "実行 {run}（ジョブ {job}）: {state} {why}",
    ),
    "job_silent": (
        "run {run} (job {job}) ended and said nothing of what it found",
        "実行 {run}（ジョブ {job}）は終わりましたが、結果を出力していません",
    ),
    # results
    "check_is": (
        "run {run}: {metric} = {value}, wanted {rule}",
        "実行 {run}: {metric} = {value}（条件 {rule}）",
    ),
    "check_read": (
        "run {run}: {metric} = {value} was read; project.yaml has no `check:`",
        "実行 {run}: {metric} = {value} を読み取りました（project.yaml に `check:` はありません）",
    ),
    "check_bad": (
        "run {run}: {metric} = {value}, wanted {rule}",
        "実行 {run}: {metric} = {value} は条件 {rule} に届きません",
    ),
    "check_silent": (
        "run {run} succeeded and told no number that the check wants",
        "実行 {run} は成功しましたが、確認に使う数値が出力されていません",
    ),
    "check_silent_do": (
        "print it, and name it under `metrics:` and `check:` in project.yaml",
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
        "no run of one process with a throughput has succeeded on {cluster}",
        "{cluster} で成功した、スループットの分かる 1 プロセスの実行がありません",
    ),
    "baseline_silent": (
        "run {run} of one process succeeded and told no throughput",
        "1 プロセスの実行 {run} は成功しましたが、スループットが出力されていません",
    ),
    "baseline_silent_do": (
        "print it, and name its pattern under `metrics:` in project.yaml",
        "出力し、その書式を project.yaml の `metrics:` に書いてください",
    ),
    # tutors
    "tutors_read": (
        "{users} can read {path} and its runs ({count} looked at)",
        "{users} は {path} とその実行（{count} 個を確認）を読めます",
    ),
    "tutors_closed": ("closed to {users}: {path}", "{users} には閉じています: {path}"),
    "tutors_no_team": ("whose tutors is not known", "どのチームか分からないため、チューターも分かりません"),
    "tutors_none": ("the team has no tutor in hackathon.yaml yet", "hackathon.yaml のチームにチューターがまだいません"),
    "tutors_none_do": ("ask the organisers who helps you", "担当のチューターを主催者に聞いてください"),
    "tutors_unknown": ("no such account on this machine: {users}", "このマシンにないアカウントです: {users}"),
    "tutors_unknown_do": (
        "tell the organisers: a tutor's account is missing or misspelt in hackathon.yaml",
        "主催者に伝えてください: hackathon.yaml のチューターのアカウントがないか、綴りが違います",
    ),
    "tutors_unseen": ("permissions could not be looked at: {what}", "アクセス権を確認できません: {what}"),
    # looked at again by the organisers
    "head_team": ("team", "チーム"),
    "head_account": ("login", "ログイン"),
    "head_environment": ("env", "環境"),
    "head_data": ("data", "データ"),
    "head_job": ("job", "ジョブ"),
    "head_check": ("check", "正しさ"),
    "head_baseline": ("1 GPU", "GPU 1 枚"),
    "head_tutors": ("tutors", "チューター"),
    "head_posted": ("posted", "投稿"),
    "word_confirmed": ("confirmed", "確認済み"),
    "word_told": ("told", "自己申告"),
    "word_unknown": ("not looked at", "確認不可"),
    "word_no": ("not done", "未"),
    "word_refuted": ("not so", "事実と違う"),
    "word_nobody": ("nothing posted", "投稿なし"),
    "lacking_all": ("nobody ran `hackathon ready` yet", "まだだれも `hackathon ready` を実行していません"),
    "lacking_refuted": ("{what}: {user} claims it, but {why}", "{what}: {user} の申告は事実と違います: {why}"),
    "why_no_account": ("this machine knows no account {user}", "このマシンにアカウント {user} がありません"),
    "why_no_group": (
        "{user} is not in the Unix group {group}",
        "{user} は Unix グループ {group} に入っていません",
    ),
    "why_other_group": ("run {run} did not run under {group}", "実行 {run} は {group} で動いていません"),
    "why_only_told": ("nothing in it can be looked at from here", "ここからは確認できません"),
    "why_silent": ("run {run} says nothing of it", "実行 {run} にその結果がありません"),
    "why_not_imported": ("{name} was not imported in run {run}", "実行 {run} で {name} は import されていません"),
    "why_not_seen": ("run {run} did not see {path} as it is", "実行 {run} では {path} が同じ内容で見えていません"),
    "why_slow": ("run {run} did not end within {limit} s", "実行 {run} は {limit} 秒以内に終わっていません"),
    "why_not_passed": ("run {run} passed no check", "実行 {run} は確認を通っていません"),
    "why_no_rate": (
        "run {run} is none of one process with a throughput",
        "実行 {run} はスループットの分かる 1 プロセスの実行ではありません",
    ),
    "why_other_value": ("run {run} shows another value", "実行 {run} の値と違います"),
    "why_no_folder": ("it names no folder", "フォルダが書かれていません"),
    "why_no_run_named": ("it names no run", "実行が書かれていません"),
    "why_gone": ("run {run} is not there", "実行 {run} がありません"),
    "why_unreadable": ("it can not be read from here: {what}", "ここからは読めません: {what}"),
    "why_other_owner": (
        "{path} belongs to {owner}, who is not in the team",
        "{path} の所有者 {owner} はチームのメンバーではありません",
    ),
    "why_strange": (
        "run {run} holds links or pipes that lead elsewhere",
        "実行 {run} に外へ出るリンクやパイプがあります",
    ),
    "why_large": ("the logs of run {run} are too large to be read here", "実行 {run} のログが大きすぎて読めません"),
    "why_copied": (
        "run {run} was made by {user}, who is not in the team",
        "実行 {run} を作った {user} はチームのメンバーではありません",
    ),
    "why_open": ("run {run} was {word} when last seen", "実行 {run} は最後に見たとき {word} でした"),
    "why_not_succeeded": ("run {run} is {word}", "実行 {run} は {word} です"),
    "why_future": ("run {run} claims a time that has not come", "実行 {run} の時刻が未来です"),
    "why_no_probe": ("run {run} is none of `hackathon ready`", "実行 {run} は `hackathon ready` のものではありません"),
    "why_no_training": ("run {run} trains nothing", "実行 {run} は学習の実行ではありません"),
    "why_tutor_unknown": ("tutors are not known here: {users}", "チューターのアカウントがここにありません: {users}"),
    "why_closed": ("{path} is closed to {user}", "{path} は {user} には閉じています"),
}
