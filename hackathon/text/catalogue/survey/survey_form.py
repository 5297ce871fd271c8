"""Messages of the form, of its offline page and its slips, and of `survey serve`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the form
    "required": ("required", "必須"),
    "none": ("No answer", "回答しない"),
    "several": ("Select all that apply.", "いくつでも選べます。"),
    "longest": ("At most {count} characters.", "{count} 文字まで。"),
    "between": ("A number from {least} to {most}.", "{least}～{most} の数"),
    "at_least": ("A number, {least} or more.", "{least} 以上の数。"),
    "at_most": ("A number, {most} or less.", "{most} 以下の数。"),
    "send": ("Send", "送信する"),
    "once": (
        "One answer per link. It cannot be changed after it is sent.",
        "回答は1リンクにつき1回です。送信後は変更できません。",
    ),
    "wrong_title": ("Please correct – {title}", "要修正 – {title}"),
    "wrong": ("Not sent yet: please correct the following", "まだ送信されていません。次の項目を直してください"),
    "anew": (
        "The questions have been changed: please check them again.",
        "質問が修正されました。もう一度確認してください。",
    ),
    "not_stored": ("Not sent: your answer could not be saved", "送信できませんでした。回答を保存できません"),
    "not_stored_lead": (
        "Your input is still below. Try again in a minute; if it fails again, tell the organisers.",
        "入力した内容は下に残っています。少し待ってもう一度送信してください。続く場合は主催者に知らせてください。",
    ),
    # answers in words
    "done": ("Thank you", "ありがとうございました"),
    "done_lead": (
        "Your answer is counted. You can close this page.",
        "回答を受け付けました。このページは閉じて構いません。",
    ),
    "again": ("Thank you, your answer is already counted", "ありがとうございました。受付済みです"),
    "again_lead": (
        "This answer was already received and is counted only once. You can close this page.",
        "この回答はすでに受け付けています。二重には数えません。このページは閉じて構いません。",
    ),
    "spent": ("This link has been used", "このリンクは使用済みです"),
    "spent_lead": (
        "If you have already answered, you are done. If not, ask the organisers for another link.",
        "すでに回答済みの方は、これで完了です。まだ回答していない場合は、主催者に新しいリンクをもらってください。",
    ),
    "closed": ("The survey is closed", "受付は終了しました"),
    "closed_lead": ("Answers are no longer accepted.", "回答の受付は終了しています。"),
    "code": ("Your code", "回答コード"),
    "code_lead": (
        "Open the link that you received, or enter the code on your slip.",
        "配布されたリンクを開くか、用紙のコードを入力してください。",
    ),
    "code_field": ("Code", "コード"),
    "code_go": ("Continue to the questions", "質問へ進む"),
    "unknown": (
        "This code is not known. Compare it with your slip, letter by letter.",
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
        "The form cannot be shown at the moment. Try again in a minute, and tell the organisers.",
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
        "This page works offline and sends nothing: submit the saved file as instructed by the organisers.",
        "このページはネットワークなしで使えます。送信はしません。保存したファイルを、主催者の案内に従って提出してください。",
    ),
    "saved": ("Saved: {name}. Submit this file.", "{name} に保存しました。このファイルを提出してください。"),
    "code_wanted": ("Enter the code on your slip.", "用紙のコードを入力してください。"),
    "missing": ("Please answer this question.", "この質問に回答してください。"),
    "too_long": ("{count} {count:character|characters} too many.", "{count} 文字超過しています。"),
    "no_script": (
        "This page needs JavaScript to save your answer. Use the link to the form instead.",
        "回答の保存には JavaScript が必要です。フォームのリンクを使ってください。",
    ),
    # the slips
    "slips": ("Slips: cut, shuffle, and hand out one each", "用紙: 切り分けて混ぜ、1人に1枚配布"),
    "slip_code": ("Enter this code on the survey page.", "アンケートのページでこのコードを入力してください。"),
    "slip": (
        "Scan the code, or open the address and enter the code.",
        "QRコードを読み取るか、アドレスを開いてコードを入力してください。",
    ),
    "slip_plain": ("Open the address and enter the code.", "アドレスを開いてコードを入力してください。"),
    "slip_once": ("Valid for one answer.", "1回だけ使えます。"),
    # the command
    "open": ("The form of {title} is available at", "「{title}」の回答フォームを開きました。"),
    "tunnel": (
        "This address works only on this machine: set up a tunnel or a reverse proxy, and give its public address with "
        "--url https://…",
        "このアドレスにはこのマシンからしか接続できません。トンネルかリバースプロキシを用意し、その公開アドレスを --url https://… で"
        "指定してください",
    ),
    "behind": (
        "It listens on {address}: point the tunnel or the reverse proxy there.",
        "待ち受けアドレスは {address} です。トンネルやリバースプロキシの転送先にしてください。",
    ),
    "links": (
        "{count} links, one per person. Each can be used for one answer:",
        "リンクは {count} 件です。1人に1件配ってください。それぞれ1回だけ回答できます。",
    ),
    "until": ("Press Ctrl-C to stop; answers are kept.", "Ctrl-C で終了します。回答は保存されています。"),
    "ended": (
        "The form has stopped. Answers so far: {answered}.",
        "フォームを終了しました。これまでの回答: {answered} 件",
    ),
    "written": ("created {path}", "{path} を作成しました。"),
    "page_how": (
        "Participants open it, save a file, and submit that file. To import: hackathon survey import FILE…",
        "参加者はこれを開いてファイルを保存し、提出します。取り込み: hackathon survey import FILE…",
    ),
    "sheet_secret": (
        "Each slip can be used for one answer: do not share the file.",
        "各用紙で1回ずつ回答できます。ファイルは他人に見せないでください。",
    ),
    "no_qr": (
        "the slips have no QR codes: the package segno is not installed (pip install segno)",
        "segno がないため、用紙に QR コードはありません（pip install segno）",
    ),
    "plain_http": (
        "{url} is not encrypted: others on the network can read answers and links",
        "{url} は暗号化されません。途中の誰でも回答とリンクを読めます",
    ),
    "no_web": (
        "the form needs packages that are not installed: {what}",
        "フォームに必要なパッケージがありません: {what}",
    ),
    "no_web_hint": ("pip install starlette uvicorn", "pip install starlette uvicorn を実行してください"),
    "no_port": ("cannot listen on {where}: {reason}", "{where} で待ち受けできません: {reason}"),
    "no_port_hint": (
        "choose another port with --port N, or use --port 0 for a free one",
        "--port N で別のポートを指定するか、--port 0 で空いているポートを使ってください",
    ),
    "bad_url": ("{url} cannot be used as the start of links", "{url} はリンクの先頭に使えるアドレスではありません"),
    "bad_url_hint": (
        "use for example https://survey.example.org/ or http://login1:8017/, without ? and #",
        "https://survey.example.org/ や http://login1:8017/ の形で、? と # なしで指定してください",
    ),
    "draft": ("survey {name} is not open yet", "アンケート {name} はまだ公開されていません"),
    "draft_hint": (
        "hackathon survey serve {name!q} --tokens N opens it for N people; after that, its questions cannot be changed",
        "hackathon survey serve {name!q} --tokens N で N 人向けに公開します。公開後は質問を変更できません",
    ),
    "is_closed": (
        "survey {name} is closed and accepts no more answers",
        "アンケート {name} は締め切り済みで、回答は受け付けません",
    ),
    "no_tokens": ("slips are created for new links", "用紙は新しいリンクについて作ります"),
    "no_tokens_hint": ("give their number: --tokens N", "--tokens N で枚数を指定してください"),
    "no_file": ("{path} cannot be written: {reason}", "{path} に書けません: {reason}"),
}
