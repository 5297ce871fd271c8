"""Messages about an event, its schedule, its people and its directories: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # kinds of participants
    "kind_undergraduate": ("undergraduate student", "学部学生"),
    "kind_master": ("master's student", "修士課程"),
    "kind_doctoral": ("doctoral student", "博士課程"),
    "kind_staff": ("university staff", "大学教職員"),
    "kind_company": ("company", "企業"),
    "kind_none": ("not given", "不明"),
    # schedule
    "no_time": ("(no time)", "（時間未定）"),
    "date": ("{date} ({weekday})", "{date}（{weekday}）"),
    "weekday_0": ("Mon", "月"),
    "weekday_1": ("Tue", "火"),
    "weekday_2": ("Wed", "水"),
    "weekday_3": ("Thu", "木"),
    "weekday_4": ("Fri", "金"),
    "weekday_5": ("Sat", "土"),
    "weekday_6": ("Sun", "日"),
    # show
    "no_event": ("there is no {file} in {folder}", "{folder} に {file} がありません"),
    "no_event_hint": (
        "Go to the event's folder or name it; `hackathon event init DIR` creates one.",
        "イベントのフォルダに移動するか、フォルダを指定してください。hackathon event init DIR で作成できます。",
    ),
    "list": (", ", "、"),
    "dates": ("Days", "開催日"),
    "place": ("Place", "会場"),
    "hosts": ("Hosts", "主催・共催"),
    "begins": ("Starts in {days} {days:day|days}.", "開始まであと {days} 日です。"),
    "begins_tomorrow": ("Starts tomorrow.", "明日から始まります。"),
    "over": ("The event is over: its last day was {last}.", "終了しました。最終日: {last}"),
    "on_now": ("Now: {title} ({time})", "現在: {title}（{time}）"),
    "on_next": ("Next: {title} at {time}, in {wait}", "次: {title}（{time}、あと {wait}）"),
    "minutes": ("{minutes} min", "{minutes} 分"),
    "hours": ("{hours} h {minutes} min", "{hours} 時間 {minutes} 分"),
    "applied": ("teams applied: {count}", "応募 {count} チーム"),
    "chosen": ("chosen: {count}", "採択 {count} チーム"),
    "took_part": ("took part: {count}", "参加 {count} チーム"),
    "people": ("people: {count}{kinds}", "参加者 {count} 人{kinds}"),
    "of_kinds": (" ({kinds})", "（{kinds}）"),
    "kind_count": ("{kind} {count}", "{kind} {count} 人"),
    "in_brackets": (" ({text})", "（{text}）"),
    "teams": ("Teams", "チーム"),
    "absent": ("(did not take part)", "（不参加）"),
    "tutor_of": ("tutor: {names}", "チューター: {names}"),
    "head_tutor": ("tutor", "チューター"),
    "head_account": ("account", "アカウント"),
    "head_knows": ("ask about", "聞けること"),
    "head_teams": ("teams", "担当チーム"),
    "nobody_knows": (
        "nobody is listed for {word}; listed topics: {known}",
        "{word} に詳しいチューターは登録されていません。登録されている内容: {known}",
    ),
    "knowledge_not_told": (
        "hackathon.yaml does not list what its tutors know about (`knows`)",
        "チューターに聞けること（knows）が hackathon.yaml に書かれていません",
    ),
    # init: the file
    "exists": ("{file} already exists", "{file} はすでにあります"),
    "exists_hint": (
        "It is not overwritten: edit it, then run `hackathon event init` without --from and without other values; "
        "--teams adds new teams of a table.",
        "上書きはしません。ファイルを編集してから、--from などを付けずに hackathon event init を実行してください。"
        "表にある新しいチームは --teams で追加できます。",
    ),
    "others_file": ("{file} belongs to another user", "{file} はほかのユーザのファイルです"),
    "others_file_hint": ("Ask its owner to add the teams.", "所有者にチームの追加を頼んでください。"),
    "folder_steers": (
        "team {team}: no folder is created, because its name contains a line break or another control character: {path}",
        "チーム {team}: 名前に改行などの制御文字があるため、フォルダを作りません: {path}",
    ),
    "no_plain_file": ("{file} is a link or not a regular file", "{file} はリンクか、通常のファイルではありません"),
    "no_plain_file_hint": ("Add the teams by hand.", "チームは手動で書き加えてください。"),
    "queue_alone": ("--queue needs --cluster", "--queue には --cluster も必要です"),
    "from_alone": (
        "--from uses the file as it is: --title, --date, --place, --cluster, --queue, and --tutor cannot be combined "
        "with it",
        "--from はファイルをそのまま使うため、--title、--date、--place、--cluster、--queue、--tutor とは併用できません",
    ),
    "from_alone_hint": ("Edit the file first.", "先にファイルを編集してください。"),
    "can_not_add": (
        "cannot add teams to {file} without changing something else: {names}",
        "ほかの部分を変えずに {file} へチームを追加できません: {names}",
    ),
    "can_not_add_hint": ("Add them by hand.", "手動で書き加えてください。"),
    "list_in_brackets": (
        "{file}:{line}: `{key}` is written in brackets, so nothing can be added to it",
        "{file}:{line}: {key} が [ ] で書かれているため、追加できません",
    ),
    "list_in_brackets_hint": (
        "Write one item per line, each starting with `- `, and try again.",
        "1 項目ずつ「- 」で始まる行に書き直してから、もう一度実行してください。",
    ),
    "can_not_make": ("cannot create {path}: {what}", "{path} を作れません: {what}"),
    "default_title": ("Distributed deep-learning hackathon", "分散深層学習ハッカソン"),
    "team_number": ("Team {number}", "チーム{number}"),
    "teams_kept": (
        "the table lists other members, tutors, or another group for teams that hackathon.yaml already contains; "
        "nothing of these teams was changed, edit them by hand: {names}",
        "hackathon.yaml にすでにあるチームのうち、表とメンバー・チューター・グループが異なるものがあります。変更していないので、"
        "手動で編集してください: {names}",
    ),
    "teams_added": ("Teams added: {names}", "追加したチーム: {names}"),
    # init: questions
    "ask_begin": (
        "A few questions for hackathon.yaml. Press Enter to accept the value in brackets; you can edit everything "
        "later.",
        "hackathon.yaml を作るための質問です。Enter を押すと [ ] の値になります。後からいつでも編集できます。",
    ),
    "ask_title": ("Title", "名称"),
    "ask_dates": (
        "Days, for example 2019-01-24, 2019-01-25 (Enter: not decided yet)",
        "開催日（例: 2019-01-24, 2019-01-25。未定なら Enter）",
    ),
    "ask_place": ("Place (Enter: not decided yet)", "会場（未定なら Enter）"),
    "ask_cluster": (
        "Cluster, a name listed by `hackathon clusters` (Enter: not decided yet)",
        "クラスタ（hackathon clusters にある名前。未定なら Enter）",
    ),
    "ask_queue": ("Queue", "キュー"),
    "ask_teams": ("Number of teams", "チーム数"),
    "ask_tutors": ("Accounts of tutors (Enter: not decided yet)", "チューターのアカウント（未定なら Enter）"),
    "ask_write": ("Write {file} and create the directories?", "{file} を書き、フォルダを作りますか？"),
    "would_write": ("{file}:", "{file} の内容:"),
    # init: comments of the file
    "comment_file": (
        "One event. `hackathon event check` lists problems, `hackathon event show` shows the event.\n"
        "After a change, run `hackathon event init` again to create the directories of new teams.",
        "イベントの設定。hackathon event check で問題を確認し、hackathon event show で表示できます。\n"
        "変更したら hackathon event init をもう一度実行すると、新しいチームのフォルダができます。",
    ),
    "comment_dates": ("Days:", "開催日:"),
    "comment_clusters": (
        "Clusters used, with queue, reservation, and the budget of each team:",
        "使うクラスタ。キュー、予約、1 チームの割り当てを書けます:",
    ),
    "comment_shared": (
        "The directory that all accounts can reach; it contains the board. Relative to this file.",
        "全員が使う共有フォルダ。掲示板が入ります。このファイルからの相対パスです。",
    ),
    "comment_teams": (
        "Teams: members with account and kind (undergraduate, master, doctoral, staff, company),\n"
        "the accounts of their tutors, the group to charge. A team that did not take part: took_part: false",
        "チーム。メンバー（アカウントと区分 undergraduate, master, doctoral, staff, company）、\n"
        "チューターのアカウント、課金するグループを書きます。参加しなかったチームには took_part: false",
    ),
    "comment_tutors": ("Tutors and the topics they help with:", "チューターと、聞けること:"),
    "comment_schedule": (
        "Time and end may be left out; after midnight, hours continue: 26:00.",
        "日程。時刻や終了は省けます。深夜 0 時以降は 26:00 のように書きます。",
    ),
    "comment_publish": (
        "What published pages may show. By default, they show neither names of people nor logs.",
        "公開ページに載せるもの。書かなければ氏名やログは載りません。",
    ),
    "word_place": ("venue", "会場"),
    "word_languages": ("languages of the published pages, the main one first", "公開ページの言語（先頭が基本）"),
    "word_hosts": ("organisers, the main one first", "主催・共催"),
    "word_budget": ("per team: node_hours, gpu_hours, or tokens", "1 チームあたり。node_hours、gpu_hours、tokens"),
    "word_spent": (
        "refuse submissions when the budget is spent (default: warn)",
        "使い切ったら投入を断る（既定は警告）",
    ),
    "word_chosen": ("number of teams selected, if more than listed below", "選ばれたチーム数（下の一覧より多いとき）"),
    "word_group": ("the group (project, account) to charge", "課金するグループ（プロジェクトコード）"),
    "word_project": ("project title", "課題"),
    "word_reception": ("Reception", "受付"),
    "word_break": ("Break", "休憩"),
    "word_end": ("End", "終了"),
    # init: the table of teams
    "table_empty": ("the table has no teams", "チームが 1 つもありません"),
    "table_encoding": (
        "neither UTF-8 nor cp932 (Shift_JIS); save it as CSV UTF-8",
        "UTF-8 でも cp932（Shift_JIS）でもありません。「CSV UTF-8」で保存してください",
    ),
    "table_quote": (
        'a quote (") is not closed or is inside a cell',
        '引用符（"）が閉じていないか、セルの途中にあります',
    ),
    "table_cells": (
        "{count} cells, but the header has {columns}; put text that contains commas in quotes",
        "セルが {count} 個ありますが、見出しは {columns} 個です。カンマを含む値は引用符で囲んでください",
    ),
    "table_column": (
        "there is no column {name}; did you mean `{near}`?",
        "列 {name} はありません。「{near}」のことですか？",
    ),
    "table_column_twice": ("this column appears twice", "この列が 2 つあります"),
    "table_no_team": ("column `team` is missing; known columns: {known}", "team 列がありません。使える列: {known}"),
    "table_no_name": ("the team's name is missing", "チーム名がありません"),
    "table_no_user": ("the account is missing", "アカウントがありません"),
    "table_user_twice": ("{name} is already in line {first}", "{name} は {first} 行目にもあります"),
    "table_differs": (
        "{value}, but an earlier line of the team has {before}",
        "{value} ですが、同じチームの前の行では {before} です",
    ),
    "table_ignored": ("these columns are not used: {names}", "使わない列があります: {names}"),
    # init: directories
    "head_folder": ("folder", "フォルダ"),
    "head_mode": ("mode", "モード"),
    "head_owner": ("owner", "所有者"),
    "head_state": ("state", "状態"),
    "state_made": ("created", "作成"),
    "state_mended": ("repaired", "修復"),
    "state_there": ("exists", "確認済み"),
    "state_left": ("unchanged", "変更せず"),
    "state_missing": ("not created", "作成できず"),
    "no_folder": ("it is not a directory", "フォルダではありません"),
    "others_folder": ("it belongs to {user}", "{user} のものです"),
    "no_lists": (
        "this file system does not support access control lists, so tutors cannot be given access individually",
        "このファイルシステムは ACL に対応していないため、チューターだけに許可できません",
    ),
    "no_shared": (
        "`shared` is missing: there is no board",
        "shared がないため、掲示板を作りません",
    ),
    "folder_reserved": (
        "team {team}: {path} is used for something else or cannot be a team's folder; set `folders`",
        "チーム {team}: {path} はほかの用途に使うフォルダです。folders で別の場所を指定してください",
    ),
    "teams_empty": (
        "no folder is created for teams without members: {names}",
        "メンバーのいないチームのフォルダは作りません: {names}",
    ),
    "group_unknown": (
        "team {team}: group {group} does not exist on this machine; ask for it, then run this again",
        "チーム {team}: この計算機にグループ {group} がありません。作成を頼み、もう一度実行してください",
    ),
    "no_account": (
        "team {team}: account {user} does not exist on this machine",
        "チーム {team}: この計算機にアカウント {user} がありません",
    ),
    "not_in_group": (
        "team {team}: {user} is not in group {group}",
        "チーム {team}: {user} はグループ {group} に入っていません",
    ),
    "for_admin": (
        "An administrator must run these commands as root (review them first; --admin-script FILE saves them):",
        "管理者（root）が実行するコマンドです（内容を確認してください。--admin-script ファイル名 で保存できます）:",
    ),
    "script_head": (
        "Gives the event's directories to the groups of the teams. Written by `hackathon event init`; review it before "
        "you run it.",
        "イベントのフォルダをチームのグループのものにします。hackathon event init が書きました。確認してから実行してください。",
    ),
    "no_script": (
        "Nothing to do for an administrator; {file} was not written.",
        "管理者に頼むことはありません。{file} は作りません。",
    ),
    "script_written": ("Written to {file}.", "{file} に書きました。"),
    "script_exists": ("{file} already exists; choose another name", "{file} はすでにあります。別の名前にしてください"),
    "nothing_done": ("Nothing was written (--dry-run).", "何も書いていません（--dry-run）。"),
    "next": (
        "Next: fill in {folder}/hackathon.yaml, then `hackathon event check`.",
        "次は {folder}/hackathon.yaml を埋めて、hackathon event check を実行してください。",
    ),
}
