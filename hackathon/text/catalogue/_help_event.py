"""What `--help` shows of the commands that organise an event: event, ready, slides; a part of `help`."""

EVENT: dict[str, tuple[str, str]] = {
    "ready_short": ("Check with evidence that your team can begin.", "開始できる状態かを証拠つきで確認"),
    "ready_help": (
        "Before the event, in your own account and in your team's project: a checklist with evidence. Logged in, "
        "environment imports, data seen from a compute node, a job that ended in under 60 s, correctness check, "
        "one-GPU baseline, tutors can read. It submits one small job and waits for it, and posts the list on the "
        "event's board, where the organisers see it. Exit code 0: all is ready.\n\n"
        "\b\n"
        "hackathon ready                 the project here, on its cluster\n"
        "hackathon ready --no-job        look again without a job: what the last one said counts\n"
        "hackathon ready --no-post       for yourself only",
        "イベントの前に、自分のアカウントで、チームのプロジェクトの中で実行します。証拠つきの確認リストを表示します: "
        "ログイン、環境の import、計算ノードから見えるデータ、60秒未満で終わるジョブ、正しさの確認、GPU 1 枚の基準値、"
        "チューターの閲覧。小さなジョブを1つ投入して待ち、結果を主催者が見られるようイベントの掲示板に載せます。"
        "すべて済んでいれば終了コード 0 です。\n\n"
        "\b\n"
        "hackathon ready                 ここのプロジェクトを、そのクラスタで\n"
        "hackathon ready --no-job        ジョブなしで再確認（前回のジョブの結果を使う）\n"
        "hackathon ready --no-post       掲示板に載せない",
    ),
    "option_no_job": ("Submit no job: what the last one said counts.", "ジョブを投入せず、前回の結果を使う"),
    "option_no_post": ("Do not post it on the board.", "掲示板に載せない"),
    "event_short": ("Set up an event, check it, count what it used, report.", "イベントの準備・確認・使用量・報告書"),
    "event_help": (
        "An event in one file, hackathon.yaml: teams, tutors, schedule, clusters with budgets.\n\n"
        "\b\n"
        "hackathon event init my-event\n"
        "hackathon event check my-event\n"
        "hackathon event report my-event",
        "イベントを1つのファイル hackathon.yaml で扱います。チーム、チューター、日程、クラスタと割り当てを書きます。\n\n"
        "\b\n"
        "hackathon event init my-event\n"
        "hackathon event check my-event\n"
        "hackathon event report my-event",
    ),
    "event_init_short": (
        "Write hackathon.yaml and make the shared directories.",
        "hackathon.yaml と共有フォルダを作成",
    ),
    "event_init_help": (
        "Set up an event: write a commented hackathon.yaml and make its directories: the board, a folder for each team "
        "that its members write and tutors read, and a private one for surveys. Without options it asks on a terminal. "
        "Run it again after a change: it makes what is missing, mends what is yours and changes nothing of others.\n\n"
        "As root it does all. Another account does what it can and prints what an administrator has to run.\n\n"
        "\b\n"
        "hackathon event init my-event\n"
        "hackathon event init my-event --from last-year.yaml --dry-run\n"
        "hackathon event init my-event --teams teams.csv --admin-script for-root.sh",
        "イベントを準備します。コメント付きの hackathon.yaml を書き、フォルダを作ります。作るのは掲示板、チームごとのフォルダ"
        "（メンバーが書き、チューターが読める）、アンケート用の非公開フォルダです。オプションなしなら端末で質問します。"
        "変更後にもう一度実行すると、足りないものを作り、自分のものを直します。ほかの人のものは変えません。\n\n"
        "root ならすべて行います。それ以外のアカウントでは、できることを行い、管理者が実行するコマンドを表示します。\n\n"
        "\b\n"
        "hackathon event init my-event\n"
        "hackathon event init my-event --from last-year.yaml --dry-run\n"
        "hackathon event init my-event --teams teams.csv --admin-script for-root.sh",
    ),
    "option_event_from": ("Take a complete hackathon.yaml from FILE.", "完成した hackathon.yaml を FILE から使う"),
    "option_event_teams": (
        "Take teams from a CSV: team, user, kind, name, tutors, project, group.",
        "CSV からチームを読む（team, user, kind, name, tutors, project, group）",
    ),
    "option_event_title": ("The event's name.", "イベントの名称"),
    "option_event_date": ("A day, e.g. 2019-01-24; may be repeated.", "開催日（例: 2019-01-24）。複数指定可"),
    "option_event_place": ("Where it is held.", "会場"),
    "option_event_cluster": ("The cluster it uses.", "使うクラスタ"),
    "option_event_queue": ("The queue it uses.", "使うキュー"),
    "option_event_tutor": ("A tutor's account; may be repeated.", "チューターのアカウント。複数指定可"),
    "option_event_dry": ("Show everything and write nothing.", "内容だけ表示し、何も書かない"),
    "option_event_script": (
        "Write the administrator's commands to FILE as a script.",
        "管理者用のコマンドをスクリプトとして FILE に保存",
    ),
    "event_check_short": ("Name every problem of an event before it begins.", "イベントの問題を事前にすべて確認"),
    "event_check_help": (
        "Look at everything that this account can see: the schedule, clusters and queues, accounts and groups, teams "
        "without tutor, directories that tutors can not read or others can write, the board, budgets; and how far each "
        "team is with `hackathon ready`. Every problem comes with its place and what to do.\n\n"
        "Ends with 1 when there is an error; warnings and remarks alone end with 0. Run it on a login node of the "
        "cluster, where the accounts are.\n\n"
        "\b\n"
        "hackathon event check\n"
        "hackathon event check my-event --live",
        "このアカウントから見えるものをすべて確認します。日程、クラスタとキュー、アカウントとグループ、チューターのいない"
        "チーム、チューターが読めないフォルダやほかの人が書けるフォルダ、掲示板、割り当て、各チームの hackathon ready の状況です。"
        "問題ごとに場所と対処を示します。\n\n"
        "エラーがあれば 1、警告と注意だけなら 0 で終わります。アカウントのあるクラスタのログインノードで実行してください。\n\n"
        "\b\n"
        "hackathon event check\n"
        "hackathon event check my-event --live",
    ),
    "option_event_live": ("Ask the scheduler about queues too.", "スケジューラにもキューを確認する"),
    "event_show_short": ("Show an event: schedule, teams, tutors.", "イベントの日程・チーム・チューターを表示"),
    "event_show_help": (
        "Show an event at a glance: title, days, place, hosts, schedule, teams with kinds of members, tutors and what "
        "to ask them; what is on now and what comes next while it runs.\n\n"
        "\b\n"
        "hackathon event show\n"
        "hackathon event show --knows NCCL",
        "イベントの概要を表示します。名称、開催日、会場、主催、日程、チームと参加者の区分、チューターと聞けること、"
        "開催中なら今と次の予定です。\n\n"
        "\b\n"
        "hackathon event show\n"
        "hackathon event show --knows NCCL",
    ),
    "option_event_knows": ("Only tutors who know about WORD.", "WORD に詳しいチューターだけを表示"),
    "event_report_short": ("Write the report on the event: Markdown and HTML.", "開催報告を Markdown と HTML で作成"),
    "event_report_help": (
        "Write the report on an event: who took part, schedule, results of each team, resources, questionnaire, "
        "lessons. It is made from hackathon.yaml and the records; what is missing is told and never invented. "
        "Names of people, machines and folders are left out as `publish` in hackathon.yaml says.\n\n"
        "DIR: the event's folder (default: here). It writes report.md, report.ja.md, report.html and report.ja.html; "
        "the HTML is one file that works from a disk, prints on A4 and can be put on a website.\n\n"
        "\b\n"
        "hackathon event report\n"
        "hackathon event report ../hackathon-2026 --to report --lang ja",
        "イベントの開催報告を作成します。参加状況、日程、各チームの成果、利用資源、アンケート、今後への課題をまとめます。"
        "内容は hackathon.yaml と記録だけから作られ、足りないものは補わずにお知らせします。個人名・計算機名・フォルダは "
        "hackathon.yaml の `publish` に従って伏せます。\n\n"
        "DIR はイベントのフォルダ（省略時は現在のフォルダ）です。report.md、report.ja.md、report.html、report.ja.html "
        "を書き出します。HTML は 1 ファイルで、そのまま開け、A4 に印刷でき、Web サイトにも掲載できます。\n\n"
        "\b\n"
        "hackathon event report\n"
        "hackathon event report ../hackathon-2026 --to report --lang ja",
    ),
    "option_report_to": ("Write into DIR (default: the event's folder).", "書き出し先（既定: イベントのフォルダ）"),
    "option_report_title": ("Another title than the event's.", "イベント名とは別の題名"),
    "option_report_force": ("Overwrite files that somebody has changed.", "変更されたファイルも上書きする"),
    "event_usage_short": ("Node-hours, GPU-hours and tokens by team and day.", "チーム・日別の使用量"),
    "event_usage_help": (
        "Show what the teams of an event used of its clusters, against the budgets of hackathon.yaml: node-hours, "
        "GPU-hours and the site's tokens. All runs count, also those that were adopted, cancelled or lost, and every "
        "life of a job that was requeued. Jobs that ran over midnight are divided by day. The scheduler's own account "
        "is asked in one call where it can be (sacct, qstat); else the runs' own records count, and `by` says so.\n\n"
        "DIR: the event's folder (default: the event that the current folder is in). Days are those of this machine's "
        "time zone; TZ=Asia/Tokyo before the command chooses another.\n\n"
        "\b\n"
        "hackathon event usage\n"
        "hackathon event usage --by team,day --csv usage.csv\n"
        "hackathon event usage --since 2019-01-24 --until 2019-01-25 --json",
        "イベントの各チームがクラスタをどれだけ使ったかを、hackathon.yaml の割り当てと並べて表示します。ノード時間・GPU 時間・"
        "サイトのトークンを数えます。取り込んだ（adopt）ジョブ、取り消したジョブ、見失ったジョブも含み、再キューされたジョブは"
        "各回を数えます。日付をまたいだジョブは日ごとに分けます。可能ならスケジューラの課金記録（sacct、qstat）を一度に"
        "問い合わせ、得られなければ実行自身の記録で数えます。どちらかは「根拠」の欄に出ます。\n\n"
        "DIR はイベントのフォルダ（省略時は現在のフォルダが属するイベント）です。日付はこのマシンのタイムゾーンです。"
        "コマンドの前に TZ=Asia/Tokyo と書くと変えられます。\n\n"
        "\b\n"
        "hackathon event usage\n"
        "hackathon event usage --by team,day --csv usage.csv\n"
        "hackathon event usage --since 2019-01-24 --until 2019-01-25 --json",
    ),
    "option_usage_by": ("What is told apart, beside clusters.", "クラスタのほかに何で分けるか"),
    "option_usage_since": ("Only from this date or time on.", "この日付・時刻以降だけを数える"),
    "option_usage_until": ("Only until this date (with it) or time.", "この日付（当日を含む）・時刻までを数える"),
    "option_usage_csv": (
        "Write CSV (UTF-8; a file begins with a mark that spreadsheets know).",
        "CSV を書き出す（UTF-8。ファイルには表計算ソフト用の BOM 付き）",
    ),
    "option_usage_ask": (
        "Ask the scheduler for its own account, or count by the runs' records alone.",
        "スケジューラの課金記録を問い合わせるか、実行の記録だけで数えるか",
    ),
    "slides_short": ("Make a team's slides from its records.", "チームの発表スライドを記録から作成"),
    "slides_help": (
        "Make a deck of slides for a team from its records: starting point, changes, speed-up with its plot, what was "
        "hard. What only the team can tell is left as marked blanks. It is Markdown for Marp, to be edited; an edited "
        "deck is never overwritten without --force.\n\n"
        "TEAM: the team's name (default: the team of this account).\n\n"
        "\b\n"
        "hackathon slides\n"
        "hackathon slides aurora --to talk.md --lang ja",
        "チームの発表スライドを記録から作成します。出発点、変更したこと、速度向上の図、苦労した点を載せ、チームにしか"
        "書けないところは記入欄として残します。Marp 用の Markdown なので自由に編集できます。編集済みのスライドは --force "
        "なしでは上書きしません。\n\n"
        "TEAM はチーム名です（省略時はこのアカウントのチーム）。\n\n"
        "\b\n"
        "hackathon slides\n"
        "hackathon slides aurora --to talk.md --lang ja",
    ),
    "option_slides_to": ("Write this file (default: slides-TEAM.md here).", "書き出すファイル（既定: slides-TEAM.md）"),
    "option_slides_force": ("Overwrite a deck that somebody has edited.", "編集済みのスライドも上書きする"),
}
