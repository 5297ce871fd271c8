"""What `--help` shows of the commands that collect and sum up answers; a part of `help`."""

SURVEY: dict[str, tuple[str, str]] = {
    "survey_short": ("Ask everybody, anonymously: form, answers, summary.", "匿名アンケート: フォーム・回答・集計"),
    "survey_help": (
        "Questionnaires of an event: make one, collect answers by form, file, terminal or CSV, sum them up.",
        "イベントのアンケートです。作成し、フォーム・ファイル・端末・CSV で回答を集め、集計します。",
    ),
    "survey_serve_short": ("Serve the form to browsers and phones.", "回答フォームをブラウザ・スマートフォンに公開"),
    "survey_serve_help": (
        "Serve the form of a survey on a port of this machine until Ctrl-C. Participants come by a link of their own, which "
        "counts once; a tunnel or reverse proxy leads to the port. Answers are anonymous in everything that is "
        "published.\n\n\b\n"
        "  hackathon survey serve --tokens 30                        open it, and print 30 links\n"
        "  hackathon survey serve --tokens 30 --url https://survey.example.org/ --sheet slips.html\n"
        "  ssh -R 8080:127.0.0.1:8017 web.example.org                a tunnel, from the login node\n"
        "  hackathon survey serve --page form.html                   a file that works without a network",
        "アンケートの回答フォームを、このマシンのポートで Ctrl-C まで公開します。参加者は1人1件のリンク(1回だけ有効)から、"
        "トンネルやリバースプロキシ経由で回答します。公開される内容はすべて匿名です。\n\n\b\n"
        "  hackathon survey serve --tokens 30                        公開し、リンクを30件表示\n"
        "  hackathon survey serve --tokens 30 --url https://survey.example.org/ --sheet slips.html\n"
        "  ssh -R 8080:127.0.0.1:8017 web.example.org                ログインノードからのトンネル\n"
        "  hackathon survey serve --page form.html                   ネットワークなしで使えるファイル",
    ),
    "option_serve_tokens": (
        "Make N new links, one for each person; opens the survey when it is not open.",
        "新しいリンクを N 件作る(1人1件)。未公開のアンケートは公開される",
    ),
    "option_form_bind": (
        "Address to listen on. Default: 127.0.0.1, which only this machine reaches.",
        "待ち受けるアドレス。既定は 127.0.0.1(このマシンからのみ接続可)",
    ),
    "option_url": (
        "The address by which participants reach the form: links begin with it.",
        "参加者がフォームに接続する公開アドレス。リンクの先頭になる",
    ),
    "option_form_port": ("Port (0: a free one). Default: 8017.", "ポート(0: 空いているポート)。既定は 8017"),
    "option_sheet": (
        "Write the new links as slips with QR codes to print, instead of printing them.",
        "新しいリンクを表示する代わりに、QR コード付きの印刷用の用紙として書き出す",
    ),
    "option_offline_page": (
        "Write the form as one HTML file that saves answers as files, and serve nothing.",
        "公開せず、回答をファイルに保存する1つの HTML として書き出す",
    ),
}
