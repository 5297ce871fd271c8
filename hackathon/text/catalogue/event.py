"""Messages about an event, its schedule, its people and its directories: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # kinds of participants
    "kind_undergraduate": ("undergraduate student", "学部学生"),
    "kind_master": ("master's student", "修士課程"),
    "kind_doctoral": ("doctoral student", "博士課程"),
    "kind_staff": ("university staff", "大学教職員"),
    "kind_company": ("company", "企業"),
    "kind_none": ("not told", "不明"),
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
        "Go into the event's folder or name it; `hackathon event init DIR` makes one.",
        "イベントのフォルダに移動するか、フォルダを指定してください。hackathon event init DIR で作成できます。",
    ),
    "list": (", ", "、"),
    "dates": ("Days", "開催日"),
    "place": ("Place", "会場"),
    "hosts": ("Hosts", "主催・共催"),
    "begins": ("It begins in {days} days.", "開始まであと {days} 日です。"),
    "begins_tomorrow": ("It begins tomorrow.", "明日から始まります。"),
    "over": ("It is over: its last day was {last}.", "終了しました。最終日: {last}"),
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
    "absent": ("(did not come)", "（不参加）"),
    "tutor_of": ("tutor: {names}", "チューター: {names}"),
    "head_tutor": ("tutor", "チューター"),
    "head_account": ("account", "アカウント"),
    "head_knows": ("knows", "聞けること"),
    "head_teams": ("teams", "担当チーム"),
    "nobody_knows": (
        "nobody says to know {word}; asked can be: {known}",
        "{word} に詳しい人はいません。聞けること: {known}",
    ),
    "knowledge_not_told": (
        "hackathon.yaml does not say what its tutors know (`knows`)",
        "チューターに聞けること（knows）が hackathon.yaml に書かれていません",
    ),
    # init: the file
    "exists": ("{file} is there already", "{file} はすでにあります"),
    "exists_hint": (
        "Nothing is written over it: edit it, then run `hackathon event init` without --from and other values; new"
        " teams of a table are added by --teams.",
        "上書きはしません。ファイルを編集してから、--from などを付けずに hackathon event init を実行してください。"
        "表にある新しいチームは --teams で追加できます。",
    ),
    "others_file": ("{file} belongs to another user", "{file} はほかのユーザのファイルです"),
    "others_file_hint": ("Ask its owner to add the teams.", "所有者にチームの追加を頼んでください。"),
    "folder_steers": (
        "team {team}: no folder is made, since its name has a line end or another control character: {path}",
        "チーム {team}: 名前に改行などの制御文字があるため、フォルダを作りません: {path}",
    ),
    "no_plain_file": ("{file} is a link, or no plain file", "{file} はリンクか、通常のファイルではありません"),
    "no_plain_file_hint": ("Add the teams by hand.", "チームは手で書き加えてください。"),
    "queue_alone": ("--queue needs --cluster", "--queue には --cluster も必要です"),
    "can_not_add": (
        "teams can not be added to {file} without changing something else: {names}",
        "ほかの部分を変えずに {file} へチームを追加できません: {names}",
    ),
    "can_not_add_hint": ("Add them by hand.", "手で書き加えてください。"),
    "list_in_brackets": (
        "{file}:{line}: `{key}` is written in brackets; nothing can be added to it",
        "{file}:{line}: {key} が [ ] で書かれているため、追加できません",
    ),
    "list_in_brackets_hint": (
        "Write one item a line, each beginning with `- `, and try again.",
        "1 項目ずつ「- 」で始まる行に書き直してから、もう一度実行してください。",
    ),
    "can_not_make": ("{path} can not be made: {what}", "{path} を作れません: {what}"),
    "default_title": ("Distributed deep-learning hackathon", "分散深層学習ハッカソン"),
    "team_number": ("Team {number}", "チーム{number}"),
    "teams_added": ("Teams added: {names}", "追加したチーム: {names}"),
    # init: questions
    "ask_begin": (
        "A few questions for hackathon.yaml; Enter takes the answer in brackets, all of it can be edited later.",
        "hackathon.yaml のための質問です。Enter で [ ] の値になります。後からいつでも編集できます。",
    ),
    "ask_title": ("Title", "名称"),
    "ask_dates": (
        "Days, e.g. 2019-01-24, 2019-01-25 (Enter: not known yet)",
        "開催日（例: 2019-01-24, 2019-01-25。未定なら Enter）",
    ),
    "ask_place": ("Place (Enter: not known yet)", "会場（未定なら Enter）"),
    "ask_cluster": (
        "Cluster, a name of `hackathon clusters` (Enter: not known yet)",
        "クラスタ（hackathon clusters にある名前。未定なら Enter）",
    ),
    "ask_queue": ("Queue", "キュー"),
    "ask_teams": ("Number of teams", "チーム数"),
    "ask_tutors": ("Accounts of tutors (Enter: not known yet)", "チューターのアカウント（未定なら Enter）"),
    "ask_write": ("Write {file} and make the directories?", "{file} を書き、フォルダを作りますか？"),
    "would_write": ("{file}:", "{file} の内容:"),
    # init: comments of the file
    "comment_file": (
        "One event. `hackathon event check` names what is wrong, `hackathon event show` shows it;\n"
        "after a change run `hackathon event init` again, which makes the directories of new teams.",
        "イベントの設定。hackathon event check で問題を確認し、hackathon event show で表示できます。\n"
        "変更したら hackathon event init をもう一度実行すると、新しいチームのフォルダができます。",
    ),
    "comment_dates": ("Its days:", "開催日:"),
    "comment_clusters": (
        "Clusters that the event uses, with queue, reservation and what each team may use:",
        "使うクラスタ。キュー、予約、1 チームの割り当てを書けます:",
    ),
    "comment_shared": (
        "The directory that everybody reaches; the board lies in it. Relative to this file.",
        "全員が使う共有フォルダ。掲示板が入ります。このファイルからの相対パスです。",
    ),
    "comment_teams": (
        "Teams: members with account and kind (undergraduate, master, doctoral, staff, company),\n"
        "the accounts of their tutors, the group that pays. A team that did not come: took_part: false",
        "チーム。メンバー（アカウントと区分 undergraduate, master, doctoral, staff, company）、\n"
        "チューターのアカウント、利用グループを書きます。来なかったチームには took_part: false",
    ),
    "comment_tutors": ("Tutors, and what to ask them about:", "チューターと、聞けること:"),
    "comment_schedule": (
        "Items may lack a time or an end; after midnight the hours go on: 26:00.",
        "日程。時刻や終了は省けます。深夜 0 時以降は 26:00 のように書きます。",
    ),
    "comment_publish": (
        "What the published pages may show; without it neither people's names nor logs.",
        "公開ページに載せるもの。書かなければ氏名やログは載りません。",
    ),
    "word_place": ("where it is held", "会場"),
    "word_hosts": ("who holds it, the first one first", "主催・共催"),
    "word_budget": ("a team: node_hours, gpu_hours or tokens", "1 チームあたり。node_hours、gpu_hours、tokens"),
    "word_spent": (
        "what a submission does when the budget is spent; else it warns",
        "使い切ったら投入を断る（既定は警告）",
    ),
    "word_chosen": ("teams chosen, where more than those below", "選ばれたチーム数（下の一覧より多いとき）"),
    "word_group": ("the group (project, account) that pays", "利用グループ（プロジェクトコード）"),
    "word_project": ("what it works on", "課題"),
    "word_reception": ("Reception", "受付"),
    "word_break": ("Break", "休憩"),
    "word_end": ("End", "終了"),
    # init: the table of teams
    "table_empty": ("there are no teams in it", "チームが 1 つもありません"),
    "table_encoding": (
        "this is neither UTF-8 nor cp932 (Shift_JIS); save it as CSV UTF-8",
        "UTF-8 でも cp932（Shift_JIS）でもありません。「CSV UTF-8」で保存してください",
    ),
    "table_quote": (
        'a quote (") is not closed or stands in the midst of a cell',
        '引用符（"）が閉じていないか、セルの途中にあります',
    ),
    "table_cells": (
        "{count} cells, but the head has {columns}; put text with commas in quotes",
        "セルが {count} 個ありますが、見出しは {columns} 個です。カンマを含む値は引用符で囲んでください",
    ),
    "table_column": (
        "there is no column {name}; did you mean `{near}`?",
        "列 {name} はありません。「{near}」のことですか？",
    ),
    "table_column_twice": ("this column stands twice", "この列が 2 つあります"),
    "table_no_team": ("there is no column `team`; known: {known}", "team 列がありません。使える列: {known}"),
    "table_no_name": ("the team's name is missing", "チーム名がありません"),
    "table_no_user": ("the account is missing", "アカウントがありません"),
    "table_user_twice": ("{name} already stands in line {first}", "{name} は {first} 行目にもあります"),
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
    "state_made": ("made", "作成"),
    "state_mended": ("mended", "修正"),
    "state_there": ("there", "確認済み"),
    "state_left": ("left as it is", "変更せず"),
    "state_missing": ("could not be made", "作成できず"),
    "no_folder": ("it is no directory", "フォルダではありません"),
    "others_folder": ("it belongs to {user}", "{user} のものです"),
    "no_lists": (
        "this file system keeps no access control lists: tutors can not be let in one by one",
        "このファイルシステムは ACL に対応していないため、チューターだけに許可できません",
    ),
    "no_shared": (
        "`shared` is missing: there is no board",
        "shared がないため、掲示板を作りません",
    ),
    "folder_reserved": (
        "team {team}: {path} is used for something else or is no place for a team; give `folders`",
        "チーム {team}: {path} はほかの用途に使うフォルダです。folders で別の場所を指定してください",
    ),
    "teams_empty": (
        "no folder is made for teams without members: {names}",
        "メンバーのいないチームのフォルダは作りません: {names}",
    ),
    "group_unknown": (
        "team {team}: this machine has no group {group}; ask for it, then run this again",
        "チーム {team}: この計算機にグループ {group} がありません。作成を頼み、もう一度実行してください",
    ),
    "no_account": (
        "team {team}: this machine has no account {user}",
        "チーム {team}: この計算機にアカウント {user} がありません",
    ),
    "not_in_group": (
        "team {team}: {user} is not in the group {group}",
        "チーム {team}: {user} はグループ {group} に入っていません",
    ),
    "for_admin": (
        "An administrator has to run as root (read it first; --admin-script FILE writes it):",
        "管理者（root）が実行するコマンドです（内容を確認してください。--admin-script ファイル名 で保存できます）:",
    ),
    "script_head": (
        "Gives the event's directories to the teams' groups. Written by `hackathon event init`; read it first.",
        "イベントのフォルダをチームのグループのものにします。hackathon event init が書きました。確認してから実行してください。",
    ),
    "no_script": (
        "An administrator has nothing to do; {file} is not written.",
        "管理者に頼むことはありません。{file} は作りません。",
    ),
    "script_written": ("Written to {file}.", "{file} に書きました。"),
    "script_exists": ("{file} is there already; give another name", "{file} はすでにあります。別の名前にしてください"),
    "nothing_done": ("Nothing was written (--dry-run).", "何も書いていません（--dry-run）。"),
    "next": (
        "Next: fill in {folder}/hackathon.yaml, then `hackathon event check`.",
        "次は {folder}/hackathon.yaml を埋めて、hackathon event check を実行してください。",
    ),
}
