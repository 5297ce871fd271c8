"""What `--help` shows of the commands that collect and sum up answers; a part of `help`."""

SURVEY: dict[str, tuple[str, str]] = {
    "survey_short": ("Anonymous surveys: form, answers, summary.", "匿名アンケート: フォーム・回答・集計"),
    "survey_help": (
        "Questionnaires of an event: make one, collect answers by form, file, terminal or CSV, sum them up.\n\n\b\n"
        "  hackathon survey new after\n"
        "  hackathon survey serve after --tokens 30\n"
        "  hackathon survey close after\n"
        "  hackathon survey summary after",
        "イベントのアンケートです。作成し、フォーム・ファイル・端末・CSV で回答を集め、集計します。\n\n\b\n"
        "  hackathon survey new after\n"
        "  hackathon survey serve after --tokens 30\n"
        "  hackathon survey close after\n"
        "  hackathon survey summary after",
    ),
    "survey_new_short": ("Make a questionnaire to begin with.", "アンケートのひな形を作る"),
    "survey_new_help": (
        "Make surveys/NAME/survey.yaml beside hackathon.yaml from a shipped questionnaire (hackathon, before, tutors) or "
        "from a file. Nobody is asked anything before `survey open`.\n\n\b\n"
        "  hackathon survey new after                        the 2019 event's four ratings and free words\n"
        "  hackathon survey new before --template before     for before the event\n"
        "  hackathon survey new helpers --template tutors    for the tutors\n"
        "  hackathon survey new after --from last-year/survey.yaml",
        "hackathon.yaml の隣に surveys/名前/survey.yaml を作ります。付属のひな形（hackathon・before・tutors）か"
        "自分のファイルから作れます。`survey open` までは誰にも公開されません。\n\n\b\n"
        "  hackathon survey new after                        2019 年の 4 項目と自由記述\n"
        "  hackathon survey new before --template before     事前アンケート\n"
        "  hackathon survey new helpers --template tutors    チューター用\n"
        "  hackathon survey new after --from last-year/survey.yaml",
    ),
    "option_survey_template": (
        "A shipped questionnaire: hackathon (default), before, tutors.",
        "付属のひな形: hackathon（既定）・before・tutors",
    ),
    "option_survey_from": ("A questionnaire of your own to copy.", "コピーする自分のアンケートのファイル"),
    "survey_check_short": (
        "Show problems of a survey and the number of answers.",
        "アンケートの問題点と回答数を表示",
    ),
    "survey_check_help": (
        "Look at a survey from the organiser's account: the questionnaire, permissions, the drop box, tokens, answers "
        "that do not count or cannot be read, and whether survey.yaml was changed after answers came.\n"
        "\n"
        "\b\n"
        "  hackathon survey check\n"
        "  hackathon survey check after --json",
        "主催者のアカウントから見て、質問・権限・回答箱・トークン・数えられない回答・回答後の survey.yaml の変更を"
        "調べます。\n\n\b\n"
        "  hackathon survey check\n"
        "  hackathon survey check after --json",
    ),
    "survey_open_short": ("Freeze the questionnaire and start to collect answers.", "質問を確定し、回答の受付を始める"),
    "survey_open_help": (
        "Freeze the questionnaire (teams, kinds, and days are taken from hackathon.yaml now), create the drop box for "
        "`survey answer`, and print one-time tokens, one per person. Run it again with --tokens to get more. Tokens are "
        "printed once; only their digests are stored.\n"
        "\n"
        "\b\n"
        "  hackathon survey open after                          answers from people's own accounts\n"
        "  hackathon survey open after --tokens 30 > tokens.txt",
        "質問を確定し（チーム・区分・日程はこの時点の hackathon.yaml から取ります）、`survey answer` 用の回答箱を作り、"
        "1 人 1 個のトークンを表示します。--tokens 付きで再実行すると追加できます。トークンの表示は 1 回だけで、"
        "保存されるのはダイジェストだけです。\n\n\b\n"
        "  hackathon survey open after                          各自のアカウントから回答\n"
        "  hackathon survey open after --tokens 30 > tokens.txt",
    ),
    "option_survey_tokens": ("Print N new one-time tokens.", "新しいトークンを N 個表示する"),
    "survey_serve_short": ("Serve the form to browsers and phones.", "回答フォームをブラウザ・スマートフォンに公開"),
    "survey_serve_help": (
        "Serve the form of a survey on a port of this machine until Ctrl-C. Participants come by a link of their own, which "
        "counts once; a tunnel or reverse proxy leads to the port. Answers are anonymous in everything that is "
        "published.\n\n\b\n"
        "  hackathon survey serve --tokens 30                        open it, and print 30 links\n"
        "  hackathon survey serve --tokens 30 --url https://survey.example.org/ --sheet slips.html\n"
        "  ssh -R 8080:127.0.0.1:8017 web.example.org                a tunnel, from the login node\n"
        "  hackathon survey serve --page form.html                   a file that works without a network",
        "アンケートの回答フォームを、このマシンのポートで Ctrl-C まで公開します。参加者は1人1件のリンク（1回だけ有効）から、"
        "トンネルやリバースプロキシ経由で回答します。公開される内容はすべて匿名です。\n\n\b\n"
        "  hackathon survey serve --tokens 30                        公開し、リンクを30件表示\n"
        "  hackathon survey serve --tokens 30 --url https://survey.example.org/ --sheet slips.html\n"
        "  ssh -R 8080:127.0.0.1:8017 web.example.org                ログインノードからのトンネル\n"
        "  hackathon survey serve --page form.html                   ネットワークなしで使えるファイル",
    ),
    "option_serve_tokens": (
        "Create N new links, one per person; opens the survey if it is not open.",
        "新しいリンクを N 件作る（1人1件）。未公開のアンケートは公開される",
    ),
    "option_form_bind": (
        "Address to listen on (default: 127.0.0.1, reachable only from this machine).",
        "待ち受けるアドレス。既定は 127.0.0.1（このマシンからのみ接続可）",
    ),
    "option_url": (
        "Public address of the form, with which links start.",
        "参加者がフォームに接続する公開アドレス。リンクの先頭になる",
    ),
    "option_form_port": ("Port; 0: any free port (default: 8017).", "ポート（0: 空いているポート）。既定は 8017"),
    "option_sheet": (
        "Write the new links as printable slips with QR codes.",
        "新しいリンクを表示する代わりに、QR コード付きの印刷用の用紙として書き出す",
    ),
    "option_offline_page": (
        "Write the form as one HTML file that saves answers as files, instead of serving it.",
        "公開せず、回答をファイルに保存する1つの HTML として書き出す",
    ),
    "survey_answer_short": ("Answer in the terminal, from your own account.", "自分のアカウントから端末で回答"),
    "survey_answer_help": (
        "Answer the event's survey in the terminal. Published results are anonymous. The organisers, however, can see "
        "who answered: your answer is a file of your account, which only they can find and read, and which is deleted "
        "when the survey is closed. To correct your answer, answer again: the newest one counts.\n"
        "\n"
        "\b\n"
        "  hackathon survey answer\n"
        "  hackathon survey answer after --lang ja\n"
        "  hackathon survey answer after --set length=3 --set satisfaction=5 --set comments='thank you'",
        "イベントのアンケートに端末で答えます。公開されるものは匿名ですが、主催者に対しては匿名ではありません。回答は"
        "あなたのアカウントのファイルになり、主催者だけが見つけて読むことができ、締め切り時に消されます。もう一度答えると"
        "置き換わります。\n\n\b\n"
        "  hackathon survey answer\n"
        "  hackathon survey answer after --lang ja\n"
        "  hackathon survey answer after --set length=3 --set satisfaction=5 --set comments='よかった'",
    ),
    "option_survey_token": (
        "Ask for your token, if you got one; it can be used once, here or in the form. Without a terminal: the first "
        "line of standard input, because others can read command lines.",
        "配布されたトークンを尋ねる（フォームと合わせて 1 回だけ有効）。端末がなければ標準入力の 1 行目。コマンドラインは他人にも見える",
    ),
    "option_survey_set": (
        "Give an answer instead of being asked; repeat it for several choices. Others on the machine can read command "
        "lines.",
        "質問の代わりに回答を直接指定（繰り返し可）。コマンドラインは同じマシンの他人にも見える",
    ),
    "survey_import_short": ("Import answers from CSV files and saved pages.", "CSV や保存済みの回答ファイルを取り込む"),
    "survey_import_help": (
        "Take answers from CSV files of Google Forms and LimeSurvey, and from files that the offline page saved. Columns "
        "are matched by id or question text; times, mail addresses and names are never stored. The same export counts "
        "once: a keyed digest of each row is kept until the survey is closed. All files, or nothing: every problem is "
        "reported with file, line and column.\n\n\b\n"
        "  hackathon survey import answers.csv --dry-run        which column is which question\n"
        "  hackathon survey import answers.csv after\n"
        "  hackathon survey import answers.csv --encoding cp932 --map 'Q7=length' --map '#9=-'\n"
        "  hackathon survey import answer-*.json                from the offline page",
        "Google フォームや LimeSurvey の CSV、オフラインのページで保存したファイルから回答を取り込みます。列は id か質問文で"
        "対応付け、時刻・メールアドレス・氏名は保存しません。同じ書き出しを 2 回取り込んでも 1 回だけ数えます（締め切るまで、"
        "行の鍵付きダイジェストを残します）。問題があれば何も取り込まず、ファイル・行・列をすべて示します。\n\n\b\n"
        "  hackathon survey import answers.csv --dry-run        列と質問の対応を確認\n"
        "  hackathon survey import answers.csv after\n"
        "  hackathon survey import answers.csv --encoding cp932 --map 'Q7=length' --map '#9=-'\n"
        "  hackathon survey import answer-*.json                オフラインのページから",
    ),
    "option_survey_name": (
        "Name of the survey (instead of after the files).",
        "アンケートの名前（ファイルの後に書く代わり）",
    ),
    "option_survey_encoding": (
        "utf-8, cp932, euc_jp, utf-16 … (default: detected).",
        "utf-8・cp932・euc_jp・utf-16 など。既定は自動判別",
    ),
    "option_survey_map": (
        "Question of a column (heading or #number); `-` for none.",
        "列（見出しか #番号）がどの質問か。`-` はなし",
    ),
    "option_survey_dry_run": (
        "Show the question of each column and all problems, without saving anything.",
        "列と質問の対応と問題点だけを表示し、保存しない",
    ),
    "option_survey_incomplete": (
        "Take rows of people who did not send the form, too.",
        "送信されていない行も取り込む",
    ),
    "option_survey_skip_bad": (
        "Skip rows with a problem.",
        "問題のある行を除いて取り込む",
    ),
    "survey_close_short": (
        "Close a survey, and remove who gave which answer.",
        "締め切り、誰の回答か分からない形にする",
    ),
    "survey_close_help": (
        "Close a survey. All answers are written to shuffled files without times, tokens, and accounts. After that, no "
        "answers are accepted, and the survey cannot be reopened. If it is interrupted, run it again; nothing is lost. "
        "Answers that do not count or cannot be read are listed and kept.\n"
        "\n"
        "\b\n"
        "  hackathon survey close after\n"
        "  hackathon survey close after --yes",
        "アンケートを締め切ります。回答は時刻・トークン・アカウントのない、順序を混ぜたファイルにまとめられます。以後は"
        "受け付けられず、再開もできません。中断されたら再実行してください（回答は失われません）。数えられない回答や"
        "読めない回答は表示され、残されます。\n\n\b\n"
        "  hackathon survey close after\n"
        "  hackathon survey close after --yes",
    ),
    "survey_summary_short": (
        "Summarise a closed survey without revealing who answered what.",
        "締め切ったアンケートを、個人が分からない形で集計",
    ),
    "survey_summary_help": (
        "Counts, medians, shares with intervals, free answers. Groups are shown only if no small group can be derived "
        "from the published numbers. Free answers go out once somebody has read surveys/NAME/texts.yaml and set "
        "`reviewed: true`.\n\n\b\n"
        "  hackathon survey summary after\n"
        "  hackathon survey summary after --format markdown --to summary.md --plot summary.svg\n"
        "  hackathon survey summary after --format json --to after.json\n"
        "  hackathon survey summary after --compare ../last-year/after.json",
        "件数、中央値、割合と信頼区間、自由記述を集計します。区分別の結果は、公表する数値から少人数の区分を割り出せない範囲で"
        "示します。自由記述は surveys/NAME/texts.yaml を確認し `reviewed: true` とした後に公開されます。\n\n\b\n"
        "  hackathon survey summary after\n"
        "  hackathon survey summary after --format markdown --to summary.md --plot summary.svg\n"
        "  hackathon survey summary after --format json --to after.json\n"
        "  hackathon survey summary after --compare ../last-year/after.json",
    ),
    "option_survey_format": ("Output format; json can be passed to --compare.", "表示形式。json は --compare に渡せる"),
    "option_survey_plot": ("Also plot the ratings: .svg or .png.", "評価の図も描く（.svg か .png）"),
    "option_survey_compare": (
        "Compare with the folder of another event or a summary in JSON.",
        "別のイベントのフォルダ、または JSON の集計と並べて比較",
    ),
    "option_survey_to": ("Output file.", "このファイルに書き込む"),
    "option_survey_by": ("Show only the breakdown by this question.", "この質問による区分だけを表示"),
    "option_survey_answers": (
        "Print each answer as a line of CSV; only surveys that are not anonymous.",
        "回答を 1 件ずつ CSV の行で表示（匿名でないアンケートのみ）",
    ),
    "option_survey_all": (
        "For organisers only: include open surveys and small groups. Not for publication.",
        "主催者の確認用: 受付中でも、少人数の区分も表示。公開禁止",
    ),
}
