"""What `--help` shows of the commands that organise an event: event, ready, slides; a part of `help`."""

EVENT: dict[str, tuple[str, str]] = {
    "ready_short": ("Check with evidence that your team can start.", "開始できる状態かを証拠つきで確認"),
    "ready_help": (
        "Run this before the event, in your own account and in your team's project. It checks, with evidence: login, "
        "imports of the environment, data visible from a compute node, a job of under 60 s, the correctness check, the "
        "one-process baseline, and access for tutors. It submits one small job, waits for it, and posts the result on "
        "the event's board for the organisers. Exit code 0: everything is ready.\n"
        "\n"
        "\b\n"
        "hackathon ready                 the project here, on its cluster\n"
        "hackathon ready --no-job        check again without a job: the last result counts\n"
        "hackathon ready --no-post       do not post the result",
        "イベントの前に、自分のアカウントで、チームのプロジェクトの中で実行します。次の項目を証拠つきで確認します: "
        "ログイン、環境の import、計算ノードから見えるデータ、60 秒未満で終わるジョブ、精度条件、1 プロセスの基準値、"
        "チューターの閲覧。小さなジョブを 1 つ投入して待ち、結果を主催者が見られるようイベントの掲示板に載せます。"
        "すべて済んでいれば終了コード 0 です。\n"
        "\n"
        "\b\n"
        "hackathon ready                 ここのプロジェクトを、そのクラスタで\n"
        "hackathon ready --no-job        ジョブなしで再確認（前回のジョブの結果を使う）\n"
        "hackathon ready --no-post       掲示板に載せない",
    ),
    "trust_short": ("Trust an event of another account.", "他のアカウントのイベントを信頼する"),
    "trust_help": (
        "An event applies to your jobs only if its hackathon.yaml belongs to you or root, or if you trust it. This "
        "command trusts the event in PATH (default: the one around this folder). It is needed once for each event. In "
        "a trusted event, projects of your own team count as yours. If the file gets another owner, you are asked "
        "again. A project of another account can be trusted, too; without that, its commands run only with --trust.\n"
        "\n"
        "\b\n"
        "hackathon trust /lustre/event\n"
        "hackathon trust --ignore /scratch    pass over the event of a stranger\n"
        "hackathon trust --list",
        "イベントの設定が自分のジョブに適用されるのは、hackathon.yaml の所有者が自分か root の場合、またはイベントを信頼した"
        "場合だけです。PATH のイベント（省略時はこのフォルダを含むイベント）を信頼します。イベントごとに 1 回だけ必要です。"
        "信頼したイベントでは、自分のチームのプロジェクトも自分のものとして扱います。ファイルの所有者が変わると、もう一度"
        "確認します。他のアカウントのプロジェクトも信頼できます。信頼しない場合、そのコマンドは --trust を付けたときだけ"
        "実行します。\n"
        "\n"
        "\b\n"
        "hackathon trust /lustre/event\n"
        "hackathon trust --ignore /scratch    無関係なイベントを無視する\n"
        "hackathon trust --list",
    ),
    "option_no_job": ("Do not submit a job; use the last result.", "ジョブを投入せず、前回の結果を使う"),
    "option_no_post": ("Do not post the result on the board.", "掲示板に載せない"),
    "event_short": (
        "Set up an event, check it, show its usage, write its report.",
        "イベントの準備・確認・使用量・報告書",
    ),
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
        "Create hackathon.yaml and the shared directories.",
        "hackathon.yaml と共有フォルダを作成",
    ),
    "event_init_help": (
        "Set up an event: write a commented hackathon.yaml and create its directories: the board, a folder for each "
        "team (written by members, read by tutors), and a private folder for surveys. Without options, it asks "
        "questions in the terminal. Run it again after a change: it creates what is missing and repairs what is yours; "
        "it changes nothing that belongs to others.\n"
        "\n"
        "As root, it does everything. Any other account does what it can, and the commands for an administrator are "
        "printed.\n"
        "\n"
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
    "option_event_from": ("Use a complete hackathon.yaml from FILE.", "完成した hackathon.yaml を FILE から使う"),
    "option_event_teams": (
        "Read teams from a CSV: team, user, kind, name, tutors, project, group.",
        "CSV からチームを読む（team, user, kind, name, tutors, project, group）",
    ),
    "option_event_title": ("Title of the event.", "イベントの名称"),
    "option_event_date": ("Day, for example 2019-01-24; may be repeated.", "開催日（例: 2019-01-24）。複数指定可"),
    "option_event_place": ("Venue.", "会場"),
    "option_event_cluster": ("Cluster of the event.", "使うクラスタ"),
    "option_event_queue": ("Queue of the event.", "使うキュー"),
    "option_event_tutor": ("Account of a tutor; may be repeated.", "チューターのアカウント。複数指定可"),
    "option_event_dry": ("Show everything without writing anything.", "内容だけ表示し、何も書かない"),
    "option_event_script": (
        "Write the administrator's commands to FILE as a script.",
        "管理者用のコマンドをスクリプトとして FILE に保存",
    ),
    "event_check_short": ("Find all problems of an event before it starts.", "イベントの問題を事前にすべて確認"),
    "event_check_help": (
        "Check everything that this account can see: schedule, clusters and queues, accounts and groups, teams without "
        "a tutor, directories that tutors cannot read or others can write, the board, budgets, and how far each team is "
        "with `hackathon ready`. Each problem is shown with its place and how to fix it.\n"
        "\n"
        "Exit code 1: there is an error; 0: only warnings or notes. Run it on a login node of the cluster, where the "
        "accounts exist.\n"
        "\n"
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
    "option_event_live": ("Also ask the scheduler about queues.", "スケジューラにもキューを確認する"),
    "event_show_short": ("Show an event: schedule, teams, tutors.", "イベントの日程・チーム・チューターを表示"),
    "event_show_help": (
        "Show an event: title, days, place, hosts, schedule, teams with the kinds of their members, tutors and their "
        "topics, and during the event the current and the next item.\n"
        "\n"
        "\b\n"
        "hackathon event show\n"
        "hackathon event show --knows NCCL",
        "イベントの概要を表示します。名称、開催日、会場、主催、日程、チームと参加者の区分、チューターと聞けること、"
        "開催中なら今と次の予定です。\n\n"
        "\b\n"
        "hackathon event show\n"
        "hackathon event show --knows NCCL",
    ),
    "option_event_knows": ("Only tutors listed for WORD.", "WORD に詳しいチューターだけを表示"),
    "event_report_short": ("Write the report of the event as Markdown and HTML.", "開催報告を Markdown と HTML で作成"),
    "event_report_help": (
        "Write the report of an event: participants, schedule, results of each team, resources used, questionnaire, "
        "lessons. It uses only hackathon.yaml and the records; missing data is reported and never invented. Names of "
        "people, machines, and folders are omitted according to `publish` in hackathon.yaml.\n"
        "\n"
        "DIR: the event's folder (default: here). It writes report.md, report.ja.md, report.html, and report.ja.html; "
        "each HTML file is self-contained, prints on A4, and can be put on a website.\n"
        "\n"
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
    "option_report_to": ("Write to DIR (default: the event's folder).", "書き出し先（既定: イベントのフォルダ）"),
    "option_report_title": ("Title of the report (default: the event's).", "イベント名とは別の題名"),
    "option_report_force": ("Also overwrite files that were changed.", "変更されたファイルも上書きする"),
    "event_usage_short": ("Show node-hours, GPU-hours, and tokens by team and day.", "チーム・日別の使用量"),
    "event_usage_help": (
        "Show how much the teams of an event used its clusters, compared with the budgets of hackathon.yaml: "
        "node-hours, GPU-hours, and the site's tokens. All runs count, including adopted, cancelled, and lost ones, and "
        "every life of a requeued job. Jobs that ran over midnight are split by day. The scheduler's accounting is "
        "queried in one call where possible (sacct, qstat); otherwise, the runs' own records are used, as shown in the "
        "column `basis`.\n"
        "\n"
        "DIR: the event's folder (default: the event that contains the current folder). Days are in the time zone of "
        "this machine; to change it, put for example TZ=Asia/Tokyo before the command.\n"
        "\n"
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
    "option_usage_by": ("How to group usage, in addition to clusters.", "クラスタのほかに何で分けるか"),
    "option_usage_since": ("Count only from this date or time on.", "この日付・時刻以降だけを数える"),
    "option_usage_until": (
        "Count only until this date (inclusive) or time.",
        "この日付（当日を含む）・時刻までを数える",
    ),
    "option_usage_csv": (
        "Write CSV (UTF-8; files start with a byte order mark for spreadsheets).",
        "CSV を書き出す（UTF-8。ファイルには表計算ソフト用の BOM 付き）",
    ),
    "option_usage_ask": (
        "Use the scheduler's accounting, or only the runs' own records.",
        "スケジューラの課金記録を問い合わせるか、実行の記録だけで数えるか",
    ),
    "slides_short": ("Create a team's slides from its records.", "チームの発表スライドを記録から作成"),
    "slides_help": (
        "Create slides for a team from its records: starting point, changes, speed-up with its plot, difficulties. What "
        "only the team knows is left as marked blanks. The slides are one HTML page: fill in the blanks in a browser, save "
        "it, and print it as PDF. With --to NAME.md they are Markdown for Marp. Edited slides are not overwritten without "
        "--force.\n"
        "\n"
        "TEAM: the team's name (default: the team of this account).\n"
        "\n"
        "\b\n"
        "hackathon slides\n"
        "hackathon slides aurora --to talk.html --lang ja",
        "チームの発表スライドを記録から作成します。出発点、変更したこと、速度向上の図、苦労した点を載せ、チームにしか"
        "書けないところは記入欄として残します。1 つの HTML ページなので、ブラウザで記入欄を埋めて保存し、印刷で PDF にできます。"
        "--to に .md の名前を指定すると Marp 用の Markdown になります。編集済みのスライドは --force なしでは上書きしません。\n\n"
        "TEAM はチーム名です（省略時はこのアカウントのチーム）。\n\n"
        "\b\n"
        "hackathon slides\n"
        "hackathon slides aurora --to talk.html --lang ja",
    ),
    "option_slides_to": (
        "Output file, .html or .md (default: slides-TEAM.html here).",
        "書き出すファイル（.html か .md、既定: slides-TEAM.html）",
    ),
    "option_slides_force": ("Overwrite slides that were edited.", "編集済みのスライドも上書きする"),
}
