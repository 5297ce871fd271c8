"""What `hackathon event check` says: key → (English, Japanese); `<key>_hint` is what to do about it."""

MESSAGES: dict[str, tuple[str, str]] = {
    "level_error": ("error", "エラー"),
    "level_warning": ("warning", "警告"),
    "level_remark": ("note", "注意"),
    "looked_at": (
        "{title}: {file}; teams: {teams}, tutors: {tutors}",
        "{title}: {file}、チーム {teams}、チューター {tutors} 人",
    ),
    "good": ("No problems found, as far as this account can see.", "このアカウントから見える範囲に問題はありません。"),
    "sum": (
        "errors: {errors}, warnings: {warnings}, notes: {remarks}",
        "エラー {errors} 件、警告 {warnings} 件、注意 {remarks} 件",
    ),
    "ready": ("Readiness (`hackathon ready`)", "準備状況（hackathon ready）"),
    # the file
    "file_open": ("other users can change this file: {mode}", "他のユーザーがこのファイルを書き換えられます: {mode}"),
    "file_open_hint": (
        "Whoever can write this file decides who is a tutor: {command}",
        "このファイルを書ける人は、だれをチューターにするかも決められます: {command}",
    ),
    "folder_open": (
        "other users can replace hackathon.yaml here: {mode}",
        "他のユーザーが hackathon.yaml を置き換えられます: {mode}",
    ),
    "folder_open_hint": ("{command}", "{command}"),
    "file_closed": (
        "{users} cannot read hackathon.yaml: {place} is {found}",
        "{users} が hackathon.yaml を読めません: {place} は {found}",
    ),
    "file_closed_hint": (
        "Their commands cannot find the event: {command}",
        "この人たちのコマンドがイベントの設定を使えません: {command}",
    ),
    # dates and schedule
    "no_dates": ("the event has no dates", "開催日がありません"),
    "no_dates_hint": (
        "Add for example `dates: [2019-01-24, 2019-01-25]`.",
        "dates: [2019-01-24, 2019-01-25] のように書きます。",
    ),
    "past": ("the event is over: its last day was {last}", "最終日 {last} は過ぎています"),
    "past_hint": (
        "This is OK for a report; otherwise, correct the dates.",
        "報告書の作成だけなら問題ありません。開催前なら日付を直してください。",
    ),
    "no_schedule": ("there is no schedule", "日程がありません"),
    "no_schedule_hint": (
        'Add `schedule:` with items such as `- {{day: 2019-01-24, start: "09:30", title: Reception}}`.',
        'schedule: に - {{day: 2019-01-24, start: "09:30", title: 受付}} のように書きます。',
    ),
    "overlap": (
        "“{title}” ({time}) overlaps “{other}” ({other_time}, line {line})",
        "「{title}」（{time}）が「{other}」（{other_time}、{line} 行目）と重なっています",
    ),
    "overlap_hint": (
        "Correct the times; write parallel sessions as one item.",
        "時刻を直してください。並行して行うものは 1 つの項目にまとめます。",
    ),
    "day_empty": ("no schedule items on {days}", "{days} の項目がありません"),
    # clusters
    "no_clusters": ("the event has no cluster", "クラスタの指定がありません"),
    "no_clusters_hint": (
        "Add `clusters:`; `hackathon clusters` lists the known ones.",
        "clusters: に書いてください。使えるものは hackathon clusters で表示されます。",
    ),
    "cluster_wrong": ("the profile of {cluster} has an error: {what}", "{cluster} の設定に問題があります: {what}"),
    "cluster_unknown": ("{what}", "{what}"),
    "cluster_unknown_hint": (
        "To add a cluster, write templates/clusters/NAME.yaml beside hackathon.yaml.",
        "新しいクラスタは hackathon.yaml の横の templates/clusters/名前.yaml に書きます。",
    ),
    "queue_near": (
        "{cluster} has no queue {queue}; did you mean `{near}`?",
        "{cluster} にキュー {queue} はありません。「{near}」のことですか？",
    ),
    "queue_unknown": (
        "{cluster} has no queue {queue}; known: {known}",
        "{cluster} にキュー {queue} はありません。あるもの: {known}",
    ),
    "queue_unknown_hint": (
        "If the queue was created for the event, add it to the cluster's profile.",
        "イベント用のキューなら、クラスタの設定に書き加えてください。",
    ),
    "live_silent": (
        "the scheduler of {cluster} does not answer here: {what}",
        "{cluster} のスケジューラが応答しません: {what}",
    ),
    "live_silent_hint": ("Try --live on a login node.", "ログインノードで --live を実行してください。"),
    "live_unknown": (
        "the scheduler of {cluster} has no queue {queue}; it has: {known}",
        "{cluster} のスケジューラにキュー {queue} はありません。あるもの: {known}",
    ),
    "live_closed": (
        "queue {queue} of {cluster} does not accept jobs now {note}",
        "{cluster} のキュー {queue} は今ジョブを受け付けていません {note}",
    ),
    "default_elsewhere": (
        "the default cluster {cluster} is not one of the event's clusters: {known}",
        "defaults のクラスタ {cluster} が clusters にありません: {known}",
    ),
    "refuse_nothing": (
        "`when_spent: refuse` is set, but no budget",
        "when_spent: refuse とありますが、budget がありません",
    ),
    "budget_empty": ("the budget on {cluster} is empty", "{cluster} の budget が空です"),
    "budget_empty_hint": (
        "Set node_hours, gpu_hours, or tokens.",
        "node_hours、gpu_hours、tokens のどれかを書いてください。",
    ),
    "budget_gpus": (
        "the budget on {cluster} is in GPU-hours, but its nodes have no GPU: nothing would be counted",
        "{cluster} のノードに GPU がないため、GPU 時間の割り当ては使われません",
    ),
    "budget_gpus_hint": ("Set node_hours instead.", "node_hours で書いてください。"),
    "budget_tokens": (
        "the budget on {cluster} is in tokens, but its profile has no rates: nothing would be counted",
        "{cluster} の設定に rates がないため、トークンの割り当ては使われません",
    ),
    "budget_tokens_hint": (
        "Add `rates` to the profile, or set node_hours instead.",
        "設定に rates を加えるか、node_hours で書いてください。",
    ),
    # people
    "no_teams": ("there are no teams", "チームがありません"),
    "no_teams_hint": (
        "Add them, or run `hackathon event init --teams teams.csv`.",
        "書き加えるか、hackathon event init --teams teams.csv を実行してください。",
    ),
    "no_tutors": ("there are no tutors", "チューターがいません"),
    "no_tutors_hint": (
        "Add them under `tutors`, with the topics they help with.",
        "tutors に、聞けることと一緒に書いてください。",
    ),
    "no_accounts_here": (
        "none of the event's {count} accounts exists on this machine, so people, groups, and directories were not "
        "checked",
        "イベントのアカウント（{count} 個）がこの計算機に 1 つもないため、人・グループ・フォルダを確認できません",
    ),
    "no_accounts_here_hint": (
        "Run this on a login node of the event's cluster.",
        "イベントで使うクラスタのログインノードで実行してください。",
    ),
    "tutor_no_account": (
        "the account of tutor {user} does not exist on this machine",
        "この計算機にチューター {user} のアカウントがありません",
    ),
    "tutor_no_account_hint": (
        "It may be an account on another cluster, or misspelt.",
        "別のクラスタのアカウントか、書き間違いの可能性があります。",
    ),
    "tutor_is_member": (
        "{user} is both a tutor and a member of team {team}",
        "{user} はチューターで、チーム {team} のメンバーでもあります",
    ),
    "team_empty": ("team {team} has no members", "チーム {team} にメンバーがいません"),
    "team_empty_hint": (
        "Add them; if the team did not take part, write `took_part: false`.",
        "書き加えてください。参加しなかったチームなら took_part: false と書きます。",
    ),
    "team_no_tutor": ("team {team} has no tutor", "チーム {team} にチューターがいません"),
    "team_no_tutor_hint": (
        "Add `tutors: [ACCOUNT]` to the team.",
        "チームに tutors: [アカウント] を書いてください。",
    ),
    "team_large": (
        "team {team} has {count} members; up to {usual} are usual",
        "チーム {team} は {count} 人です（通常は {usual} 人まで）",
    ),
    "kind_missing": (
        "team {team}: no kind for {users}; the report counts them as “{label}”",
        "チーム {team}: {users} の区分がありません。報告書では「{label}」になります",
    ),
    "no_account": (
        "team {team}: account {user} does not exist on this machine",
        "チーム {team}: この計算機にアカウント {user} がありません",
    ),
    "no_account_hint": (
        "It may be an account on another cluster, or misspelt.",
        "別のクラスタのアカウントか、書き間違いの可能性があります。",
    ),
    "member_no_user": (
        "team {team}: no account is known for {names}",
        "チーム {team}: {names} のアカウントがまだ書かれていません",
    ),
    "member_no_user_hint": (
        "Add `user:` to each member as soon as the accounts exist; until then they cannot use the board or answer by account.",
        "アカウントができたら各メンバーに user: を書いてください。それまでは、掲示板やアカウントによる回答が使えません。",
    ),
    "no_group": (
        "team {team} has no group, and jobs on {cluster} need one",
        "チーム {team} に group がありません。{cluster} のジョブには必要です",
    ),
    "no_group_hint": ("Add `group:` to the team.", "チームに group: を書いてください。"),
    "group_unknown": (
        "team {team}: group {group} does not exist on this machine",
        "チーム {team}: この計算機にグループ {group} がありません",
    ),
    "group_unknown_hint": (
        "Ask the administrator to create it, then run `hackathon event init` again.",
        "管理者に作成を頼み、hackathon event init をもう一度実行してください。",
    ),
    "not_in_group": (
        "team {team}: {user} is not in group {group}",
        "チーム {team}: {user} はグループ {group} に入っていません",
    ),
    "not_in_group_hint": (
        "Jobs charged to the group are refused, and the team's folder is closed; ask the administrator.",
        "ジョブが断られ、チームのフォルダも使えません。管理者に頼んでください。",
    ),
    "group_shared": (
        "teams {team} and {other} have the same group {group}: each can write to the other's folder",
        "チーム {team} と {other} は同じグループ {group} です。互いのフォルダに書けます",
    ),
    # directories
    "no_shared": (
        "`shared` is missing, so there is no board and no requests for help",
        "shared がないため、掲示板も質問（ask）も使えません",
    ),
    "no_shared_hint": (
        "Add `shared: shared`, then run `hackathon event init`.",
        "shared: shared と書き、hackathon event init を実行してください。",
    ),
    "no_board": ("{what}", "{what}"),
    "no_board_hint": ("Run `hackathon event init`.", "hackathon event init を実行してください。"),
    "board_problem": ("the board: {what}", "掲示板: {what}"),
    "board_problem_hint": (
        "Run `hackathon event init` as its owner.",
        "所有者として hackathon event init を実行してください。",
    ),
    "board_closed": (
        "{users} cannot use the board: {place} is {found}",
        "{users} が掲示板を使えません: {place} は {found}",
    ),
    "board_closed_hint": ("{command}", "{command}"),
    "surveys_open": (
        "other users can look into the surveys: {found}",
        "他のユーザーがアンケートのフォルダを見られます: {found}",
    ),
    "surveys_open_hint": ("{command}", "{command}"),
    "folder_reserved": (
        "team {team}: {path} is used for something else or cannot be a team's folder",
        "チーム {team}: {path} はほかの用途に使うフォルダか、チームの場所にできません",
    ),
    "folder_reserved_hint": (
        "Add `folders: [teams/NAME]` to the team.",
        "チームに folders: [teams/名前] を書いてください。",
    ),
    "folder_missing": ("team {team}: its folder {path} is missing", "チーム {team}: フォルダ {path} がありません"),
    "folder_missing_hint": ("Run `hackathon event init`.", "hackathon event init を実行してください。"),
    "folder_elsewhere": ("team {team}: its folder {path} is missing", "チーム {team}: フォルダ {path} がありません"),
    "folder_elsewhere_hint": (
        "It is outside the event's folder: its owner must create it, or correct `folders`.",
        "イベントのフォルダの外です。本人が作るか、folders を直してください。",
    ),
    "folder_unseen": (
        "team {team}: this account cannot see {path}: {what}",
        "チーム {team}: このアカウントから {path} が見えません: {what}",
    ),
    "folder_stray": (
        "{path} looks like a team's folder, but hackathon.yaml has no such team",
        "{path} はチームのフォルダのようですが、hackathon.yaml にそのチームがありません",
    ),
    "folder_stray_hint": (
        "If the team was renamed, add `folders: [{path}]` to keep it; nothing is deleted.",
        "チーム名を変えたのなら folders: [{path}] と書けば使い続けられます。削除はしません。",
    ),
    "folder_link": ("team {team}: this is a link to {target}", "チーム {team}: {target} へのリンクです"),
    "tutor_closed": (
        "team {team}: {users} (tutors) cannot read {path}: {place} is {found}",
        "チーム {team}: チューター {users} が {path} を読めません: {place} は {found}",
    ),
    "tutor_closed_hint": (
        "Its owner can give access: {command}",
        "所有者が次を実行します: {command}",
    ),
    "member_closed": (
        "team {team}: {users} cannot write to {path}: {place} is {found}",
        "チーム {team}: {users} が {path} で作業できません: {place} は {found}",
    ),
    "member_closed_hint": (
        "Run `hackathon event init`, or: {command}",
        "hackathon event init か、次を実行してください: {command}",
    ),
    "others_write": (
        "team {team}: members of other teams can write here: {users} ({found})",
        "チーム {team}: ほかのチームの {users} が書き込めます（{found}）",
    ),
    "others_write_hint": (
        "Run `hackathon event init` as its owner.",
        "所有者として hackathon event init を実行してください。",
    ),
    "runs_closed": (
        "team {team}: {users} (tutor) cannot read the runs in {path}: {found}",
        "チーム {team}: チューター {users} が {path} の実行記録を読めません: {found}",
    ),
    "runs_closed_hint": ("Its owner can give access: {command}", "所有者が次を実行します: {command}"),
    "unseen": ("this account cannot see {path}: {what}", "このアカウントから {path} が見えません: {what}"),
}
