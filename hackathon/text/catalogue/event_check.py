"""What `hackathon event check` says: key → (English, Japanese); `<key>_hint` is what to do about it."""

MESSAGES: dict[str, tuple[str, str]] = {
    "level_error": ("error", "エラー"),
    "level_warning": ("warning", "警告"),
    "level_remark": ("remark", "注意"),
    "looked_at": (
        "{title}: {file}; teams: {teams}, tutors: {tutors}",
        "{title}: {file}、チーム {teams}、チューター {tutors} 人",
    ),
    "good": ("Nothing is wrong as far as this account can see.", "このアカウントから見える範囲に問題はありません。"),
    "sum": (
        "errors: {errors}, warnings: {warnings}, remarks: {remarks}",
        "エラー {errors} 件、警告 {warnings} 件、注意 {remarks} 件",
    ),
    "ready": ("Readiness (`hackathon ready`)", "準備状況（hackathon ready）"),
    # the file
    "file_open": ("others can write this file: {mode}", "ほかの人がこのファイルを書き換えられます: {mode}"),
    "file_open_hint": (
        "Who writes it decides who is a tutor: {command}",
        "書き換えた人がチューターを決められてしまいます: {command}",
    ),
    "folder_open": (
        "others can replace hackathon.yaml here: {mode}",
        "ほかの人が hackathon.yaml を置き換えられます: {mode}",
    ),
    "folder_open_hint": ("{command}", "{command}"),
    "file_closed": (
        "{users} can not read hackathon.yaml: {place} is {found}",
        "{users} が hackathon.yaml を読めません: {place} は {found}",
    ),
    "file_closed_hint": (
        "Their commands would not know the event: {command}",
        "この人たちのコマンドがイベントの設定を使えません: {command}",
    ),
    # dates and schedule
    "no_dates": ("the event has no dates", "開催日がありません"),
    "no_dates_hint": (
        "Write e.g. `dates: [2019-01-24, 2019-01-25]`.",
        "dates: [2019-01-24, 2019-01-25] のように書きます。",
    ),
    "past": ("the event is over: its last day was {last}", "最終日 {last} は過ぎています"),
    "past_hint": (
        "Fine for a report; otherwise put the dates right.",
        "報告書の作成だけなら問題ありません。開催前なら日付を直してください。",
    ),
    "no_schedule": ("there is no schedule", "日程がありません"),
    "no_schedule_hint": (
        'Write `schedule:` with items such as `- {{day: 2019-01-24, start: "09:30", title: Reception}}`.',
        'schedule: に - {{day: 2019-01-24, start: "09:30", title: 受付}} のように書きます。',
    ),
    "overlap": (
        "“{title}” ({time}) overlaps “{other}” ({other_time}, line {line})",
        "「{title}」（{time}）が「{other}」（{other_time}、{line} 行目）と重なっています",
    ),
    "overlap_hint": (
        "Put the times right; what is on in parallel is one item.",
        "時刻を直してください。並行して行うものは 1 つの項目にまとめます。",
    ),
    "day_empty": ("no items on {days}", "{days} の項目がありません"),
    # clusters
    "no_clusters": ("the event names no cluster", "クラスタの指定がありません"),
    "no_clusters_hint": (
        "Write `clusters:`; `hackathon clusters` lists those that are known.",
        "clusters: に書いてください。使えるものは hackathon clusters で表示されます。",
    ),
    "cluster_wrong": ("the profile of {cluster} is wrong: {what}", "{cluster} の設定に問題があります: {what}"),
    "cluster_unknown": ("{what}", "{what}"),
    "cluster_unknown_hint": (
        "A new one is a file: templates/clusters/NAME.yaml beside hackathon.yaml.",
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
        "A queue made for the event is added to the profile of the cluster.",
        "イベント用のキューなら、クラスタの設定に書き加えてください。",
    ),
    "live_silent": (
        "the scheduler of {cluster} does not answer here: {what}",
        "{cluster} のスケジューラが応答しません: {what}",
    ),
    "live_silent_hint": ("Try --live on a login node.", "ログインノードで --live を実行してください。"),
    "live_unknown": (
        "the scheduler of {cluster} knows no queue {queue}; it has: {known}",
        "{cluster} のスケジューラにキュー {queue} はありません。あるもの: {known}",
    ),
    "live_closed": (
        "the queue {queue} of {cluster} takes no jobs now {note}",
        "{cluster} のキュー {queue} は今ジョブを受け付けていません {note}",
    ),
    "default_elsewhere": (
        "the default cluster {cluster} is not among the event's: {known}",
        "defaults のクラスタ {cluster} が clusters にありません: {known}",
    ),
    "refuse_nothing": (
        "`when_spent: refuse`, but no budget is given",
        "when_spent: refuse とありますが、budget がありません",
    ),
    "budget_empty": ("the budget on {cluster} says nothing", "{cluster} の budget が空です"),
    "budget_empty_hint": (
        "Give node_hours, gpu_hours or tokens.",
        "node_hours、gpu_hours、tokens のどれかを書いてください。",
    ),
    "budget_gpus": (
        "GPU-hours on {cluster}, whose nodes have no GPU: nothing would ever be counted",
        "{cluster} のノードに GPU がないため、GPU 時間の割り当ては使われません",
    ),
    "budget_gpus_hint": ("Give node_hours.", "node_hours で書いてください。"),
    "budget_tokens": (
        "tokens on {cluster}, whose profile has no rates: nothing would ever be counted",
        "{cluster} の設定に rates がないため、トークンの割り当ては使われません",
    ),
    "budget_tokens_hint": (
        "Add `rates` to the profile, or give node_hours.",
        "設定に rates を加えるか、node_hours で書いてください。",
    ),
    # people
    "no_teams": ("there are no teams", "チームがありません"),
    "no_teams_hint": (
        "Write them, or `hackathon event init --teams teams.csv`.",
        "書き加えるか、hackathon event init --teams teams.csv を実行してください。",
    ),
    "no_tutors": ("there are no tutors", "チューターがいません"),
    "no_tutors_hint": (
        "Write them under `tutors`, with what to ask them.",
        "tutors に、聞けることと一緒に書いてください。",
    ),
    "no_accounts_here": (
        "this machine knows no account of the event (named: {count}): people, groups, directories could not be checked",
        "イベントのアカウント（{count} 個）がこの計算機に 1 つもないため、人・グループ・フォルダを確認できません",
    ),
    "no_accounts_here_hint": (
        "Run this on a login node of the event's cluster.",
        "イベントで使うクラスタのログインノードで実行してください。",
    ),
    "tutor_no_account": (
        "this machine has no account {user} (a tutor)",
        "この計算機にチューター {user} のアカウントがありません",
    ),
    "tutor_no_account_hint": (
        "Is it an account of another cluster, or a slip?",
        "別のクラスタのアカウントか、書き間違いではありませんか。",
    ),
    "tutor_is_member": (
        "{user} is a tutor and a member of team {team}",
        "{user} はチューターで、チーム {team} のメンバーでもあります",
    ),
    "team_empty": ("team {team} has no members", "チーム {team} にメンバーがいません"),
    "team_empty_hint": (
        "Add them; for a team that did not come write `took_part: false`.",
        "書き加えてください。来なかったチームなら took_part: false と書きます。",
    ),
    "team_no_tutor": ("team {team} has no tutor", "チーム {team} にチューターがいません"),
    "team_no_tutor_hint": (
        "Write `tutors: [ACCOUNT]` in the team.",
        "チームに tutors: [アカウント] を書いてください。",
    ),
    "team_large": (
        "team {team} has {count} members; {usual} are usual",
        "チーム {team} は {count} 人です（通常は {usual} 人まで）",
    ),
    "kind_missing": (
        "team {team}: no kind for {users}; the report counts them as “{label}”",
        "チーム {team}: {users} の区分がありません。報告書では「{label}」になります",
    ),
    "no_account": (
        "team {team}: this machine has no account {user}",
        "チーム {team}: この計算機にアカウント {user} がありません",
    ),
    "no_account_hint": (
        "Is it an account of another cluster, or a slip?",
        "別のクラスタのアカウントか、書き間違いではありませんか。",
    ),
    "no_group": (
        "team {team} has no group, and jobs on {cluster} need one",
        "チーム {team} に group がありません。{cluster} のジョブには必要です",
    ),
    "no_group_hint": ("Write `group:` in the team.", "チームに group: を書いてください。"),
    "group_unknown": (
        "team {team}: this machine has no group {group}",
        "チーム {team}: この計算機にグループ {group} がありません",
    ),
    "group_unknown_hint": (
        "Ask the administrator for it, then run `hackathon event init` again.",
        "管理者に作成を頼み、hackathon event init をもう一度実行してください。",
    ),
    "not_in_group": (
        "team {team}: {user} is not in the group {group}",
        "チーム {team}: {user} はグループ {group} に入っていません",
    ),
    "not_in_group_hint": (
        "Jobs for the group would be refused, and the team's folder be closed; ask the administrator.",
        "ジョブが断られ、チームのフォルダも使えません。管理者に頼んでください。",
    ),
    "group_shared": (
        "teams {team} and {other} have the same group {group}: each can write in the other's folder",
        "チーム {team} と {other} は同じグループ {group} です。互いのフォルダに書けます",
    ),
    # directories
    "no_shared": ("`shared` is missing: no board, no requests for help", "shared がないため、掲示板も質問も使えません"),
    "no_shared_hint": (
        "Write `shared: shared`, then `hackathon event init`.",
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
        "{users} can not use the board: {place} is {found}",
        "{users} が掲示板を使えません: {place} は {found}",
    ),
    "board_closed_hint": ("{command}", "{command}"),
    "surveys_open": (
        "others can look into the surveys: {found}",
        "ほかの人がアンケートのフォルダを見られます: {found}",
    ),
    "surveys_open_hint": ("{command}", "{command}"),
    "folder_reserved": (
        "team {team}: {path} is used for something else or is no place for a team",
        "チーム {team}: {path} はほかの用途に使うフォルダか、チームの場所にできません",
    ),
    "folder_reserved_hint": (
        "Give the team `folders: [teams/NAME]`.",
        "チームに folders: [teams/名前] を書いてください。",
    ),
    "folder_missing": ("team {team}: its folder {path} is missing", "チーム {team}: フォルダ {path} がありません"),
    "folder_missing_hint": ("Run `hackathon event init`.", "hackathon event init を実行してください。"),
    "folder_elsewhere": ("team {team}: its folder {path} is missing", "チーム {team}: フォルダ {path} がありません"),
    "folder_elsewhere_hint": (
        "It lies outside the event's folder: its owner makes it, or `folders` is put right.",
        "イベントのフォルダの外です。本人が作るか、folders を直してください。",
    ),
    "folder_unseen": (
        "team {team}: {path} can not be seen from this account: {what}",
        "チーム {team}: このアカウントから {path} が見えません: {what}",
    ),
    "folder_stray": (
        "{path} looks like a team's folder, but hackathon.yaml has no such team",
        "{path} はチームのフォルダのようですが、hackathon.yaml にそのチームがありません",
    ),
    "folder_stray_hint": (
        "A renamed team keeps it by `folders: [{path}]`; nothing is removed.",
        "チーム名を変えたのなら folders: [{path}] と書けば使い続けられます。削除はしません。",
    ),
    "folder_link": ("team {team}: this is a link to {target}", "チーム {team}: {target} へのリンクです"),
    "tutor_closed": (
        "team {team}: {users} (tutors) can not read {path}: {place} is {found}",
        "チーム {team}: チューター {users} が {path} を読めません: {place} は {found}",
    ),
    "tutor_closed_hint": (
        "Its owner lets them in: {command}",
        "所有者が次を実行します: {command}",
    ),
    "member_closed": (
        "team {team}: {users} can not work in {path}: {place} is {found}",
        "チーム {team}: {users} が {path} で作業できません: {place} は {found}",
    ),
    "member_closed_hint": (
        "Run `hackathon event init`, or: {command}",
        "hackathon event init か、次を実行してください: {command}",
    ),
    "others_write": (
        "team {team}: people of other teams can write here: {users} ({found})",
        "チーム {team}: ほかのチームの {users} が書き込めます（{found}）",
    ),
    "others_write_hint": (
        "Run `hackathon event init` as its owner.",
        "所有者として hackathon event init を実行してください。",
    ),
    "runs_closed": (
        "team {team}: {users} (tutor) can not read the runs in {path}: {found}",
        "チーム {team}: チューター {users} が {path} の実行記録を読めません: {found}",
    ),
    "runs_closed_hint": ("Its owner lets them in: {command}", "所有者が次を実行します: {command}"),
    "unseen": ("{path} can not be seen from this account: {what}", "このアカウントから {path} が見えません: {what}"),
}
