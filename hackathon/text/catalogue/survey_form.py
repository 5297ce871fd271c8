"""Messages of the form, of its offline page and its slips, and of `survey serve`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the form
    "required": ("required", "必須"),
    "none": ("No answer", "回答しない"),
    "several": ("Choose as many as you like.", "いくつでも選べます。"),
    "longest": ("{count} letters at most.", "{count} 文字まで。"),
    "between": ("A number from {least} to {most}.", "{least} から {most} までの数。"),
    "at_least": ("A number, {least} or more.", "{least} 以上の数。"),
    "at_most": ("A number, {most} or less.", "{most} 以下の数。"),
    "send": ("Send", "送信する"),
    "once": (
        "One answer per link. It cannot be changed after it is sent.",
        "回答は1リンクにつき1回です。送信後は変更できません。",
    ),
    "wrong_title": ("To correct – {title}", "要修正 – {title}"),
    "wrong": ("Not sent yet: please correct this", "まだ送信されていません。次の項目を直してください"),
    "anew": (
        "The questions have been corrected meanwhile: look at them again.",
        "質問が修正されました。もう一度確認してください。",
    ),
    "not_stored": ("Not sent: your answer could not be stored", "送信できませんでした。回答を保存できません"),
    "not_stored_lead": (
        "What you wrote is still below. Try again in a minute; tell the organisers if it happens again.",
        "入力した内容は下に残っています。少し待ってもう一度送信してください。続く場合は主催者に知らせてください。",
    ),
    # answers in words
    "done": ("Thank you", "ありがとうございました"),
    "done_lead": (
        "Your answer is counted. You can close this page.",
        "回答を受け付けました。このページは閉じて構いません。",
    ),
    "again": ("Thank you, all is well", "ありがとうございました。受付済みです"),
    "again_lead": (
        "This answer is counted already, and only once. You can close this page.",
        "この回答はすでに受け付けています。二重には数えません。このページは閉じて構いません。",
    ),
    "spent": ("This link has been used", "このリンクは使用済みです"),
    "spent_lead": (
        "An answer with it is counted. If that was yours, nothing more is to be done. If you have not answered, ask the "
        "organisers for another link.",
        "このリンクからの回答は受付済みです。ご自身の回答であれば、これで終わりです。まだ回答していない場合は、主催者に新しい"
        "リンクをもらってください。",
    ),
    "closed": ("The survey is closed", "受付は終了しました"),
    "closed_lead": ("No more answers are taken.", "回答の受付は終了しています。"),
    "code": ("Your code", "回答コード"),
    "code_lead": (
        "Open the link that you were given, or type the code of your slip.",
        "配布されたリンクを開くか、用紙のコードを入力してください。",
    ),
    "code_field": ("Code", "コード"),
    "code_go": ("To the questions", "質問へ進む"),
    "unknown": (
        "This code is not known. Compare it with your slip letter by letter.",
        "このコードは登録されていません。用紙と1文字ずつ見比べてください。",
    ),
    "busy": ("Too many attempts", "試行が多すぎます"),
    "busy_lead": ("Wait a minute, then try again.", "1分ほど待ってから、もう一度試してください。"),
    "large": ("Your answer is too long", "回答が長すぎます"),
    "large_lead": (
        "Nothing was sent. Go back in the browser and shorten your texts.",
        "送信されていません。ブラウザの「戻る」で戻り、文章を短くしてください。",
    ),
    "broken": ("This is not an answer to the form", "フォームの回答として読み取れません"),
    "broken_lead": (
        "Nothing was sent. Open your link again and answer there.",
        "送信されていません。リンクをもう一度開いて回答してください。",
    ),
    "broken_form": (
        "The form can not be shown at the moment. Try again in a minute, and tell the organisers.",
        "現在フォームを表示できません。少し待って開き直し、主催者に知らせてください。",
    ),
    "slow": ("Your answer did not arrive in time", "回答が時間内に届きませんでした"),
    "slow_lead": (
        "Nothing was sent. Go back in the browser and send it again.",
        "送信されていません。ブラウザの「戻る」で戻り、もう一度送信してください。",
    ),
    # the offline page
    "save": ("Save the answer as a file", "回答をファイルに保存する"),
    "save_lead": (
        "This page works without a network. It sends nothing: hand the saved file in as the organisers told you.",
        "このページはネットワークなしで使えます。送信はしません。保存したファイルを、主催者の案内に従って提出してください。",
    ),
    "saved": ("Saved: {name}. Hand this file in.", "{name} に保存しました。このファイルを提出してください。"),
    "code_wanted": ("Type the code of your slip.", "用紙のコードを入力してください。"),
    "missing": ("Please answer this question.", "この質問に回答してください。"),
    "too_long": ("{count} letters too many.", "{count} 文字超過しています。"),
    "no_script": (
        "This page needs JavaScript to save your answer. Use the link to the form instead.",
        "回答の保存には JavaScript が必要です。フォームのリンクを使ってください。",
    ),
    # the slips
    "slips": ("Slips: cut, mix, hand out one each", "用紙: 切り分けて混ぜ、1人に1枚配布"),
    "slip_code": ("Type this code on the page of the survey.", "アンケートのページでこのコードを入力してください。"),
    "slip": (
        "Scan, or open the address and type the code.",
        "QRコードを読み取るか、アドレスを開いてコードを入力してください。",
    ),
    "slip_plain": ("Open the address and type the code.", "アドレスを開いてコードを入力してください。"),
    "slip_once": ("Valid for one answer.", "1回だけ使えます。"),
    # the command
    "title": ("Survey", "アンケート"),
    "open": ("{title} can be answered at", "「{title}」の回答フォームを開きました。"),
    "tunnel": (
        "Only this machine reaches that address: lead participants there by a tunnel or a reverse proxy, and give its "
        "address with --url https://…",
        "このアドレスにはこのマシンからしか接続できません。トンネルかリバースプロキシを用意し、その公開アドレスを --url https://… で"
        "指定してください",
    ),
    "behind": (
        "It listens on {address}: the tunnel or the reverse proxy has to lead there.",
        "待ち受けアドレスは {address} です。トンネルやリバースプロキシの転送先にしてください。",
    ),
    "links": (
        "{count} links, one for each person. Whoever has one can answer once:",
        "リンクは {count} 件です。1人に1件配ってください。それぞれ1回だけ回答できます。",
    ),
    "until": ("Ctrl-C ends it; answers are kept.", "Ctrl-C で終了します。回答は保存されています。"),
    "ended": (
        "The form is closed for now. Answers so far: {answered}.",
        "フォームを終了しました。これまでの回答: {answered} 件",
    ),
    "written": ("{path} is written.", "{path} を作成しました。"),
    "page_how": (
        "Participants open it, save a file and hand that in: hackathon survey import FILE…",
        "参加者はこれを開いてファイルを保存し、提出します。取り込み: hackathon survey import FILE…",
    ),
    "sheet_secret": (
        "Each slip is good for one answer: keep the file to yourself.",
        "各用紙で1回ずつ回答できます。ファイルは他人に見せないでください。",
    ),
    "no_qr": (
        "the slips have no QR codes: the package segno is not installed (pip install segno)",
        "segno がないため、用紙に QR コードはありません（pip install segno）",
    ),
    "plain_http": (
        "{url} is not encrypted: everybody on the way can read answers and links",
        "{url} は暗号化されません。途中の誰でも回答とリンクを読めます",
    ),
    "no_web": (
        "the form needs packages that are not installed: {what}",
        "フォームに必要なパッケージがありません: {what}",
    ),
    "no_web_hint": ("pip install starlette uvicorn", "pip install starlette uvicorn を実行してください"),
    "no_port": ("can not listen on {where}: {reason}", "{where} で待ち受けできません: {reason}"),
    "no_port_hint": (
        "take another port with --port N, or --port 0 for a free one",
        "--port N で別のポートを指定するか、--port 0 で空いているポートを使ってください",
    ),
    "bad_url": ("{url} is no address that links can begin with", "{url} はリンクの先頭に使えるアドレスではありません"),
    "bad_url_hint": (
        "like https://survey.example.org/ or http://login1:8017/, without ? and #",
        "https://survey.example.org/ や http://login1:8017/ の形で、? と # なしで指定してください",
    ),
    "draft": ("the survey {name} is not open yet", "アンケート {name} はまだ公開されていません"),
    "draft_hint": (
        "hackathon survey serve {name} --tokens N opens it for N people; its questions can not be changed then",
        "hackathon survey serve {name} --tokens N で N 人向けに公開します。公開後は質問を変更できません",
    ),
    "is_closed": (
        "the survey {name} is closed: no more answers are taken",
        "アンケート {name} は締め切り済みで、回答は受け付けません",
    ),
    "no_tokens": ("a sheet of slips is made for new links", "用紙は新しいリンクについて作ります"),
    "no_tokens_hint": ("say how many: --tokens N", "--tokens N で枚数を指定してください"),
    "no_file": ("{path} can not be written: {reason}", "{path} に書けません: {reason}"),
}
