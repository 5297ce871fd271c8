"""Messages of an event's report, and of `hackathon event report`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # words
    "and": ("and", "と"),
    "comma": (", ", "、"),
    "throughput": ("throughput", "スループット"),
    "mode_weak": ("weak scaling", "弱スケーリング"),
    "mode_strong": ("strong scaling", "強スケーリング"),
    "people_one": ("1 person", "1人"),
    "people_many": ("{count} people", "{count}人"),
    "teams_one": ("1 team", "1チーム"),
    "teams_many": ("{count} teams", "{count}チーム"),
    "processes_one": ("1 process", "1プロセス"),
    "processes_many": ("{count} processes", "{count}プロセス"),
    "jobs_one": ("1 job", "1件"),
    "jobs_many": ("{count} jobs", "{count}件"),
    # the beginning
    "kicker": ("Event report", "開催報告"),
    "held_when_place": (
        "“{title}” was held on {when} at {place}.",
        "{when}に、{place}において「{title}」を開催しました。",
    ),
    "held_when": ("“{title}” was held on {when}.", "{when}に「{title}」を開催しました。"),
    "held_place": ("“{title}” was held at {place}.", "{place}において「{title}」を開催しました。"),
    "held": ("This is the report on “{title}”.", "「{title}」の開催についてご報告します。"),
    "summary": (
        "{people} took part in {teams}; {measured} measured how far their training scales beyond its base.",
        "{teams}、{people}が参加し、{measured}が並列化による速度の変化を実測しました。",
    ),
    "summary_best": (
        "The largest speed-up was {speedup} times on {processes} (team {team}).",
        "最大の速度向上は、{team}が{processes}で得た{speedup}倍でした。",
    ),
    "summary_none_faster": (
        "None became faster with more processes.",
        "プロセス数を増やして速くなったチームはありませんでした。",
    ),
    "summary_survey": (
        "{rate} of those invited answered “{title}” ({n} of {invited}).",
        "「{title}」の回答率は {rate}（{invited} 人中 {n} 人）でした。",
    ),
    "h_facts": ("At a glance", "開催概要"),
    "f_when": ("Date", "期日"),
    "f_place": ("Place", "会場"),
    "f_host": ("Host", "主催"),
    "f_cohosts": ("Co-hosts", "共催"),
    "f_clusters": ("Computers", "使用計算機"),
    "f_people": ("Participants", "参加者"),
    "people_of_teams": ("{people} in {teams}", "{teams}、{people}"),
    # participants
    "h_people": ("Participants", "参加者"),
    "applied": ("{teams} applied; {chosen} were selected.", "応募は{teams}で、うち{chosen}を採択しました。"),
    "not_applied": ("{chosen} were selected.", "採択は{chosen}です。"),
    "took_part": ("{teams} with {people} took part: {kinds}.", "参加したのは{teams}、{people}（{kinds}）です。"),
    "nobody": ("No participants are recorded.", "参加者は記録されていません。"),
    "kind_count": ("{kind} {count}", "{kind}{count}人"),
    "kind": ("Kind", "区分"),
    "count_people": ("People", "人数"),
    "row_applied": ("Teams that applied", "応募チーム"),
    "row_chosen": ("Teams selected", "採択チーム"),
    "row_took_part": ("Teams that took part", "参加チーム"),
    "row_people": ("People who took part", "参加人数"),
    "count": ("Count", "数"),
    "table_people": ("Teams and participants", "チームと参加者の数"),
    "table_kinds": ("Participants by kind", "区分別の参加人数"),
    # schedule and tutors
    "h_schedule": ("Schedule", "日程"),
    "time": ("Time", "時刻"),
    "item": ("Item", "内容"),
    "h_tutors": ("Tutors", "チューター"),
    "tutors_named": ("{count} helped the teams: {names}.", "{count}のチューターが各チームを支援しました（{names}）。"),
    "tutors": ("{count} helped the teams.", "{count}のチューターが各チームを支援しました。"),
    "tutors_know": ("Topics: {knows}.", "担当分野は、{knows}です。"),
    # results
    "h_results": ("Results of the teams", "各チームの成果"),
    "results_lead": (
        "Speed-up is the throughput divided by that of the base. Parallel efficiency is the speed-up divided by the "
        "ratio of the process counts.",
        "速度向上率は、基準のプロセス数でのスループットに対する倍率です。並列効率は、速度向上率をプロセス数の倍率で割った値です。",
    ),
    "results_caption": ("Speed-up of each team’s main study", "各チームの主な測定の速度向上率"),
    "not_compared": (
        "Measured on the team’s own computer, not compared: {text}",
        "手元のコンピュータでの測定で、比較の対象外です。{text}",
    ),
    "doubted": ("{text} This number is {mark}.", "{text}この数値は{mark}です。"),
    "other_project": ("Other project “{project}”", "別のプロジェクト「{project}」"),
    "team": ("Team", "チーム"),
    "problem": ("Problem", "課題"),
    "model": ("Model", "モデル"),
    "done": ("What was done", "取り組み"),
    "result": ("Result", "結果"),
    "speedup": ("Speed-up", "速度向上率"),
    "efficiency": ("Parallel efficiency", "並列効率"),
    "processes": ("Processes", "プロセス数"),
    "base": ("Base", "基準"),
    "measured_as": ("Measured as", "測定方法"),
    "team_best": (
        "{speedup} times as fast with {processes} as with {base}, parallel efficiency {efficiency} ({about}).",
        "{processes}で、{base}の場合の{speedup}倍の速度となりました（並列効率 {efficiency}、{about}）。",
    ),
    "team_base": ("No speed-up is recorded.", "速度向上の記録はありません。"),
    "team_failed": ("No results are recorded.", "成果の記録はありません。"),
    "team_none": ("No results are recorded.", "成果の記録はありません。"),
    "from_records": ("From the records of the runs: {text}", "実行記録によると、{text}"),
    "rise": (
        "{metric} went from {before} to {after} {unit} {how}.",
        "{how}、{metric}は {before} {unit} から {after} {unit} になりました。",
    ),
    "rise_same": ("on {processes}", "{processes}のまま"),
    "rise_more": ("(from {before} to {after})", "{before}から{after}にすることで"),
    "changed": ("Changed: {steps}.", "このときの変更点は「{steps}」です。"),
    # resources
    "h_used": ("Computing resources used", "利用した計算資源"),
    "used_sentence": (
        "On {cluster} the teams used {node_hours} node-hours{gpu} in {jobs}.",
        "{cluster} では、全チームで{jobs}のジョブに{node_hours}ノード時間{gpu}を利用しました。",
    ),
    "used_gpu": (" ({gpu_hours} GPU-hours)", "（{gpu_hours} GPU 時間）"),
    "used_caption": ("Resources used, by team", "チーム別の利用量"),
    "cluster": ("Computer", "計算機"),
    "no_cluster": ("an unknown computer", "不明な計算機"),
    "jobs": ("Jobs", "ジョブ数"),
    "node_hours": ("Node-hours", "ノード時間"),
    "gpu_hours": ("GPU-hours", "GPU 時間"),
    "tokens": ("Tokens", "トークン"),
    "sum": ("Sum", "合計"),
    # problems
    "h_problems": ("Problems and what solved them", "発生した問題と解決方法"),
    "problems_lead": (
        "On the event’s problem board, {count} problems were marked as solved.",
        "イベントの掲示板では{count}件の問題が解決済みとなりました。",
    ),
    "problems_one": (
        "On the event’s problem board, one problem was marked as solved.",
        "イベントの掲示板では1件の問題が解決済みとなりました。",
    ),
    "problems_some": ("The newest {count} are listed.", "新しいものから{count}件を挙げます。"),
    "problem_met": ("Problem", "問題"),
    "part": ("Part", "部位"),
    "solution": ("What solved it", "解決方法"),
    # survey
    "h_survey": ("Questionnaire", "アンケート結果"),
    "survey_answered": (
        "“{title}”: {n} of {invited} invited people answered (response rate {rate}).",
        "「{title}」には、対象者{invited}人のうち{n}人が回答しました（回答率 {rate}）。",
    ),
    "survey_answered_more": (
        "“{title}”: {n} answers; invited according to the event: {invited}.",
        "「{title}」への回答は{n}件でした（イベントの記載による対象者は{invited}人）。",
    ),
    "survey_answered_plain": ("“{title}”: {n} people answered.", "「{title}」には{n}人が回答しました。"),
    "survey_chart": ("Answers to “{title}”", "「{title}」の回答"),
    "survey_directions": ("Away from the middle: {text}.", "中央から外れた回答の内訳は、{text}です。"),
    "survey_direction": ("{item}: {direction}", "「{item}」が{direction}"),
    "survey_semicolon": ("; ", "、"),
    # lessons and the end
    "h_lessons": ("Lessons", "今後に向けて"),
    "h_photographs": ("Photographs", "写真"),
    "photographs_slot": (
        "place for photographs: list them in hackathon.yaml under report: photographs",
        "写真の挿入位置: hackathon.yaml の report: photographs に書いてください",
    ),
    "authors": ("{authors}", "文責: {authors}"),
    "with_affiliation": ("{name} ({affiliation})", "{name}（{affiliation}）"),
    "h_closing": ("Acknowledgements", "おわりに"),
    "closing": ("We thank everyone who took part.", "ご参加いただいた皆様に感謝いたします。"),
    "closing_helped": (
        "We thank everyone who took part, and {helpers} for their support.",
        "ご参加いただいた皆様、ならびに{helpers}に感謝いたします。",
    ),
    "the_tutors": ("the tutors", "チューターの皆様"),
    "the_cohosts": ("{names}", "共催の{names}"),
    "made": (
        "Created on {day} with hackathon from the event’s records.",
        "{day} にイベントの記録から hackathon で作成しました。",
    ),
    "masked": (
        "Names of people and machines are omitted, according to the event’s settings.",
        "イベントの公開設定に従い、個人名や計算機名などは伏せています。",
    ),
    # the command
    "place": ("{file}, line {line}", "{file} {line} 行目"),
    "remark_empty": ("`{name}` is empty: {place}", "`{name}` が空です: {place}"),
    "remark_thanks": (
        "the last paragraph is a general word of thanks; write your own in `{name}`: {place}",
        "最後の段落は一般的な謝辞です。`{name}` に文章を書けます: {place}",
    ),
    "remark_team_empty": ("team {team}: `{name}` is empty: {place}", "チーム {team}: `{name}` が空です: {place}"),
    "remark_none": (
        "team {team}: no runs are recorded, or this account cannot read them: {place}",
        "チーム {team}: 実行の記録がない、またはこのアカウントから読めません: {place}",
    ),
    "remark_failed": ("team {team}: no run succeeded", "チーム {team}: 成功した実行がありません"),
    "remark_base": (
        "team {team}: no study has a valid result beyond its base, so there is no speed-up",
        "チーム {team}: 基準を超える規模の有効な測定がないため、速度向上率がありません",
    ),
    "remark_no_members": ("team {team}: no members: {place}", "チーム {team}: メンバーがいません: {place}"),
    "remark_stranger": (
        "{team} has runs but is not in hackathon.yaml, so it is not in the report",
        "{team} は実行がありますが hackathon.yaml にないため、報告書に含まれません",
    ),
    "remark_unreviewed": (
        "survey {survey}: free-text answers are not in the report because they have not been reviewed: "
        "surveys/{survey}/texts.yaml",
        "アンケート {survey}: 自由記述が未確認のため報告書に含まれません: surveys/{survey}/texts.yaml",
    ),
    "remark_open": (
        "survey {survey} is still open, so it is not in the report: hackathon survey close {survey!q}",
        "アンケート {survey}: 受付中のため報告書に含まれません: hackathon survey close {survey!q}",
    ),
    "remark_unreadable": (
        "survey {survey} is not in the report: only the account that collects its answers can read it",
        "アンケート {survey} は含まれません。回答を集めたアカウントだけが読めます",
    ),
    "remark_too_like": (
        "survey {survey} is left out: nearly all of its answers are also in survey {other}, so the difference of the two "
        "summaries would reveal single answers",
        "アンケート {survey} は含まれません。回答の大部分が {other} と同じで、両方の集計の差から個人の回答が分かってしまうためです",
    ),
    "lacks": ("missing in the report:", "報告書には次のものがありません:"),
    "no_plots": ("the plots could not be drawn: {reason}", "図を描けませんでした: {reason}"),
    "no_event": ("hackathon.yaml does not exist in {folder}", "ここに hackathon.yaml がありません: {folder}"),
    "no_event_hint": (
        "give the event's folder, or create an event: hackathon event init",
        "イベントのフォルダを指定するか、hackathon event init で作成してください",
    ),
    "not_over": (
        "these files were changed since they were created, or were not created by this toolkit: {files}",
        "作成後に変更されたか、このツールが作成したものではありません: {files}",
    ),
    "not_over_hint": (
        "move them away, write elsewhere with --to, or overwrite them with --force",
        "移動するか、--to で別の場所に書くか、--force で上書きしてください",
    ),
    "written": ("written: {file}", "作成しました: {file}"),
    "next": (
        "next: `hackathon publish --check`, then `hackathon publish --to site`",
        "次に: `hackathon publish --check`、続いて `hackathon publish --to site`",
    ),
    "next_complete": (
        "next: add what is missing to hackathon.yaml and run `hackathon event report` again, then `hackathon publish "
        "--check`",
        "次に: 足りないものを hackathon.yaml に書いてもう一度 `hackathon event report`、続いて `hackathon publish --check`",
    ),
}
