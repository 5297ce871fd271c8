"""Messages of surveys, their collection and their closing: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "promise_named": (
        "Not anonymous: the organisers and the tutors read your answers together with your team, to prepare the event. "
        "Nothing of them is published.",
        "匿名ではありません。主催者とチューターが、準備のために、回答をチーム名とあわせて読みます。公開はしません。",
    ),
    "promise": (
        "Anonymous in everything that is published: results of small groups are not shown separately, and free-text "
        "answers are published only after review. Not anonymous to the organisers who collect it: until the survey is "
        "closed, files show who wrote them and when.",
        "公開されるものはすべて匿名です。少人数のグループを区別できる形では公開せず、自由記述は主催者が目を通してから"
        "公開します。ただし、回答を集める主催者に対しては匿名ではありません。締め切るまでは、誰がいつ書いたファイルかが"
        "主催者に分かります。",
    ),
    # values
    "no_question": ("there is no question {question}", "質問 {question} はありません"),
    "required": ("please answer this question", "この質問には必ず答えてください"),
    "nothing_answered": ("no question has an answer", "どの質問にも答えていません"),
    "no_values": ("the values are not readable", "値を読み取れません"),
    "one_only": ("only one answer is allowed, not {count}", "答えは 1 つだけです（{count} 個あります）"),
    "no_level": ("{value} is not a level from 1 to {levels}", "{value} は段階として読めません（1〜{levels}）"),
    "no_option": ("{value} is not one of the options: {known}", "{value} は選択肢にありません: {known}"),
    "no_number": ("{value} is not a number", "{value} は数として読めません"),
    "number_small": ("{value} is less than {least}", "{value} は下限 {least} より小さい値です"),
    "number_large": ("{value} is more than {most}", "{value} は上限 {most} より大きい値です"),
    "text_long": ("{count} characters; the limit is {limit}", "{count} 文字あります（{limit} 文字まで）"),
    # which survey
    "bad_name": (
        "{name} is not a valid name for a survey: letters, digits, - and _, at most 40",
        "{name} はアンケートの名前にできません（英数字と -・_、40 文字まで）",
    ),
    "no_event": ("{folder} is not in an event", "{folder} はイベントのフォルダの中ではありません"),
    "no_event_hint": (
        "go to the folder of hackathon.yaml, or create an event with `hackathon event init`",
        "hackathon.yaml のあるフォルダに移るか、`hackathon event init` で作ってください",
    ),
    "not_yours": (
        "only the organisers can access the surveys in {folder}",
        "{folder} のアンケートを扱えるのは主催者だけです",
    ),
    "not_yours_hint": ("to answer: `hackathon survey answer`", "回答するには `hackathon survey answer`"),
    "none": ("the event has no surveys yet", "このイベントにはまだアンケートがありません"),
    "none_hint": ("create one: `hackathon survey new NAME`", "`hackathon survey new 名前` で作れます"),
    "which": ("there are several surveys: {names}", "アンケートが複数あります: {names}"),
    "which_hint": ("name one of them", "どれかの名前を指定してください"),
    "unknown": ("there is no survey {name}; there are: {known}", "アンケート {name} はありません。あるもの: {known}"),
    "unknown_near": (
        "there is no survey {name}; did you mean `{near}`?",
        "アンケート {name} はありません。「{near}」のことですか？",
    ),
    "no_template": (
        "there is no questionnaire {name}; shipped: {known}",
        "アンケートのひな形 {name} はありません。あるもの: {known}",
    ),
    "no_template_hint": (
        "--template {near}; to use your own file: --from FILE",
        "--template {near} のように指定します。自分のファイルは --from FILE で指定します",
    ),
    "template_or_file": (
        "use either --template or --from, not both",
        "--template と --from はどちらか一方だけ指定してください",
    ),
    "there_already": ("{folder} already exists", "{folder} はすでにあります"),
    "there_already_hint": (
        "choose another name; nothing was changed",
        "別の名前にしてください。何も変更していません",
    ),
    "can_not_make": ("cannot create {folder}: {what}", "{folder} を作れません: {what}"),
    "made": (
        "created {file}: edit it, then run `hackathon survey check {name!q}` and `hackathon survey open {name!q}`",
        "{file} を作りました。自由に編集し、`hackathon survey check {name!q}`、`hackathon survey open {name!q}` と進めてください",
    ),
    # looking
    "changed_early": (
        "survey.yaml of {name} was changed after opening; there are no answers yet",
        "{name} の survey.yaml が開始時と異なっています（回答はまだありません）",
    ),
    "changed_early_hint": (
        "open it again with `hackathon survey open {name!q}`; offline pages created before can no longer be used",
        "`hackathon survey open {name!q}` で開始し直せます。以前に書き出したオフラインのページは使えなくなります",
    ),
    "no_answers": ("there were no answers to {name}", "{name} には回答がありませんでした"),
    "not_private": (
        "{folder} is not private to this account",
        "{folder} がこのアカウントだけのものになっていません",
    ),
    "not_private_hint": ("chmod 700 {folder!q}", "chmod 700 {folder!q} を実行してください"),
    "more_than_invited": (
        "{answered} answers from {invited} invited people: somebody answered twice, or is not in hackathon.yaml",
        "対象 {invited} 人に対し回答が {answered} 件あります。二重の回答か、hackathon.yaml にいない人の回答があります",
    ),
    "nobody_invited": (
        "hackathon.yaml lists no {audience}, so the response rate is unknown",
        "hackathon.yaml に {audience} がいないため、回答率を出せません",
    ),
    "no_box": (
        "hackathon.yaml has no `shared` directory: `survey answer` is not available; use the form, files, or CSV",
        "hackathon.yaml に shared がないため、`survey answer` は使えません（フォーム・ファイル・CSV は使えます）",
    ),
    "no_way": (
        "{name} cannot be answered: there are no tokens and no drop box",
        "{name} に回答する手段がありません（トークンも回答箱もなし）",
    ),
    "no_way_hint": (
        "`hackathon survey open {name!q} --tokens N`, or import a CSV",
        "`hackathon survey open {name!q} --tokens N` を実行するか、CSV を取り込んでください",
    ),
    "few_tokens": (
        "{tokens} tokens for {invited} people",
        "対象 {invited} 人に対し、トークンは {tokens} 個です",
    ),
    "few_tokens_hint": (
        "create the missing ones with `hackathon survey open {name!q} --tokens {more!q}`",
        "`hackathon survey open {name!q} --tokens {more!q}` で残りを作れます",
    ),
    "will_be_left_out": (
        "the answer of {account} does not count: {why}",
        "{account} の回答は数えられません: {why}",
    ),
    "unread": ("{file} cannot be read and does not count: {why}", "{file} は読めないため数えられません: {why}"),
    "box_gone": ("the drop box {folder} does not exist", "回答箱 {folder} がありません"),
    "box_gone_hint": (
        "create it again with `hackathon survey open {name!q}`",
        "`hackathon survey open {name!q}` で作り直せます",
    ),
    "box_closed_to": ("{users} cannot read {folder}", "{users} は {folder} を読めません"),
    "box_closed_to_hint": (
        "run chmod o+rx {folder!q}, or give their group access; until then, they cannot use `survey answer`",
        "chmod o+rx {folder!q} を実行するか、グループの権限を与えてください。それまで `survey answer` は使えません",
    ),
    "state_draft": ("not open yet", "未開始"),
    "state_open": ("open", "回答受付中"),
    "state_closed": ("closed", "締め切り済み"),
    "look_line": (
        "{name}: {state}, {questions} questions; answers: {answered}, invited: {invited}",
        "{name}: {state}、質問 {questions} 個、対象 {invited} 人中 {answered} 件の回答",
    ),
    "look_channels": (
        "form {form}, drop box {box}, files {files}; {spent} of {tokens} tokens used",
        "フォーム {form} 件、回答箱 {box} 件、ファイル {files} 件、トークン {tokens} 個中 {spent} 個使用",
    ),
    "look_good": ("no problems found", "問題はありません"),
    "opened": ("{name} is open", "{name} を開始しました"),
    "opened_tokens": (
        "{count} new tokens, one per person; they are shown only now and are not stored",
        "新しいトークンは {count} 個です。1 人に 1 個ずつ渡してください（表示は今回だけで、保存されません）",
    ),
    "opened_box": (
        "people can answer from their own accounts with `hackathon survey answer {name!q}`",
        "自分のアカウントからは `hackathon survey answer {name!q}` で回答できます",
    ),
    "opened_next": (
        "`hackathon survey check {name!q}` shows the number of answers; `hackathon survey close {name!q}` closes the survey",
        "回答数は `hackathon survey check {name!q}` で確認し、`hackathon survey close {name!q}` で締め切ります",
    ),
    "closed_now": (
        "{name} is closed; answers: {answered}, not counted: {left_out}, unreadable files: {unread}",
        "{name} を締め切りました。回答 {answered} 件、対象外 {left_out} 件、読めなかったファイル {unread} 件",
    ),
    "closed_kept": (
        "answers that do not count and unreadable files are kept in {folder}",
        "対象外の回答と読めなかったファイルは {folder} に残っています",
    ),
    "closed_summary": (
        "next: `hackathon survey summary {name!q}`",
        "集計は `hackathon survey summary {name!q}` で行います",
    ),
    "close_ask": (
        "Close {name} with {answered} answers? After that, no answers are accepted, and the survey cannot be reopened.",
        "{name} を回答 {answered} 件で締め切りますか。以後は受け付けられず、再開もできません。",
    ),
    # opening
    "not_open": ("survey {name} is not open yet", "アンケート {name} はまだ開始されていません"),
    "not_open_hint": ("open it: `hackathon survey open {name!q}`", "`hackathon survey open {name!q}` で開始します"),
    "closed": ("survey {name} is closed", "アンケート {name} は締め切られました"),
    "closing": (
        "survey {name} is being closed, or closing it was interrupted",
        "アンケート {name} は締め切り処理中か、その処理が中断されています",
    ),
    "closing_hint": ("finish it: `hackathon survey close {name!q}`", "`hackathon survey close {name!q}` で完了します"),
    "changed": (
        "survey.yaml of {name} was changed after answers had arrived",
        "{name} の survey.yaml が、回答が届いたあとで変更されています",
    ),
    "changed_hint": (
        "undo the change: cp {folder}/opened.yaml {folder}/survey.yaml; to change questions, create a new survey",
        "変更を元に戻してください: cp {folder}/opened.yaml {folder}/survey.yaml（質問を変えるときは新しいアンケートを作ります）",
    ),
    "no_event_options": (
        "question {question}: hackathon.yaml has none of its options ({what})",
        "質問 {question}: 選択肢となる {what} が hackathon.yaml にありません",
    ),
    "no_event_options_hint": (
        "add {what} to hackathon.yaml (kinds: of the members; days: `dates`), or write `options` yourself",
        "hackathon.yaml の {what} を書くか（kinds はメンバーの kind、days は dates）、options を直接書いてください",
    ),
    "tokens_many": (
        "cannot create {count} tokens: choose from 0 to {limit}",
        "トークン {count} 個は作れません（0〜{limit}）",
    ),
    "can_not_open": ("cannot open survey {name}: {what}", "アンケート {name} を開始できません: {what}"),
    "no_locks": (
        "the file system of {folder} does not support locks, so a token could be counted twice",
        "{folder} のファイルシステムではロックが使えず、トークンが二重に数えられるおそれがあります",
    ),
    "no_locks_hint": (
        "move the event's folder to your home or to a local disk; only `shared` must be on the shared file system",
        "イベントのフォルダをホームかローカルディスクに置いてください。共有が必要なのは shared だけです",
    ),
    "newer": ("{file} was created by a newer version of hackathon", "{file} は新しい版の hackathon で作られています"),
    "damaged": ("{file} is damaged", "{file} が壊れています"),
    "damaged_hint": (
        "restore it from a backup; without it, the questions are unknown",
        "バックアップから戻してください。これがないと、何を尋ねたのか分からなくなります",
    ),
    "damaged_closed": ("{file} is damaged", "{file} が壊れています"),
    "damaged_closed_hint": (
        "restore it from a backup; the answers are not stored anywhere else",
        "バックアップから戻してください。回答はほかのどこにもありません",
    ),
    # the drop box
    "no_shared": (
        "the event's shared directory {folder} does not exist",
        "イベントの共有ディレクトリ {folder} がありません",
    ),
    "no_shared_hint": ("create it: `hackathon event init`", "`hackathon event init` で作ってください"),
    "box_of_other": ("{folder} belongs to another user", "{folder} は別のユーザーのものです"),
    "box_of_other_hint": (
        "it must belong to the account that collects the answers; ask its owner to delete it, or choose another name",
        "回答を集めるアカウントの所有でなければなりません。所有者に消してもらうか、別の名前にしてください",
    ),
    "box_mode": ("the mode of {folder} is not 1733", "{folder} のモードが 1733 ではありません"),
    "box_mode_hint": (
        "run chmod 1733 {folder!q}; if the file system refuses, use the form and tokens instead",
        "chmod 1733 {folder!q} を実行してください。できないファイルシステムでは、フォームとトークンで集めてください",
    ),
    "can_not_make_box": ("cannot create the drop box {folder}: {what}", "回答箱 {folder} を作れません: {what}"),
    "can_not_read": ("{file} cannot be read: {what}", "{file} を読めません: {what}"),
    "not_there": ("no survey is open in {folder}", "{folder} で開始されているアンケートはありません"),
    "not_there_hint": ("ask the organisers whether it is open", "開始されているか、主催者に確認してください"),
    "out_of_reach": ("cannot access {folder}: {what}", "{folder} にアクセスできません: {what}"),
    "out_of_reach_hint": (
        "tell the organisers; `hackathon survey check` shows them the missing permissions",
        "主催者に知らせてください。`hackathon survey check` で、足りない権限が分かります",
    ),
    "not_trusted": (
        "anyone could have put {folder} there, so nothing is written to it",
        "{folder} は誰でも置き換えられる状態なので、書き込みません",
    ),
    "not_trusted_hint": (
        "tell the organisers: it must belong to them, and nobody else may write to it",
        "主催者に知らせてください。主催者の所有で、他の人が書き込めない設定でなければなりません",
    ),
    "unread_garbage": (
        "not an answer to this survey, or an incomplete one",
        "このアンケートの回答ではないか、途中で切れています",
    ),
    "unread_other": (
        "an answer to another version of the questionnaire",
        "質問内容が異なる版のアンケートへの回答です",
    ),
    "unread_values": ("a value does not match its question", "質問に合わない値があります"),
    "unread_special": ("not a regular file of a single owner", "本人だけが書ける通常のファイルではありません"),
    "left_account": ("the account is not in hackathon.yaml", "hackathon.yaml にないアカウントです"),
    "left_token_unknown": ("the token was never issued", "配布されていないトークンです"),
    "left_token_spent": ("the token was already used", "使用済みのトークンです"),
    # answering
    "dropped": (
        "your answer is saved; to correct it, answer again before the survey is closed: the newest answer counts",
        "回答を保存しました。締め切りまでは、もう一度答えると置き換わります（最新の回答が数えられます）",
    ),
    "no_terminal": ("no terminal to ask the questions", "質問を表示する端末がありません"),
    "no_terminal_hint": (
        "pass the answers: --set ID=VALUE, once per question",
        "--set ID=値 を質問ごとに付けて回答してください",
    ),
    "answer_wrong": ("the answer was not accepted:\n{problems}", "この回答は受け付けられません:\n{problems}"),
    "how_to_answer": (
        "Leave a line empty to skip a question; press Ctrl-C to quit without answering.",
        "空行で質問を飛ばし、Ctrl-C で回答せずに終わります。",
    ),
    "token_ask": ("Your token", "トークン"),
    "several": (
        "several: numbers separated by commas, for example 1,3",
        "複数選べます。番号をカンマで区切ってください（例: 1,3）",
    ),
    "lines": ("several lines are allowed; an empty line ends the answer", "複数行書けます。空行で終わります"),
    "send_ask": ("Send this?", "この内容で送りますか"),
    "again_ask": (
        "Go through the questions again? An empty line keeps your answer.",
        "もう一度質問に答えますか（空行なら前の答えを残します）",
    ),
    "opened_anew": (
        "the questions of {name} were changed since they were shown",
        "表示されたあとで {name} の質問が変更されました",
    ),
    "opened_anew_hint": (
        "nothing was saved; load them again",
        "回答は受け付けられていません。もう一度読み込んでください",
    ),
    "token_unknown": ("this token was never issued", "このトークンは配布されていません"),
    "token_unknown_hint": (
        "copy it again from the organisers' message: 16 letters and digits",
        "主催者から届いた 16 文字の英数字を、もう一度そのまま写してください",
    ),
    "token_spent": (
        "this token was already used, and its answer is counted",
        "このトークンは使用済みです。回答はすでに受け付けられています",
    ),
    "can_not_take": ("could not save the answer: {what}", "回答を保存できませんでした: {what}"),
    "can_not_take_hint": (
        "nothing was saved; try again in a moment",
        "回答は受け付けられていません。少し待ってからもう一度送ってください",
    ),
    "can_not_close": (
        "could not close survey {name}: {what}",
        "アンケート {name} を締め切れませんでした: {what}",
    ),
    "can_not_close_hint": (
        "nothing is lost: fix the problem, then run `hackathon survey close {name!q}` again",
        "回答は失われていません。原因を直して `hackathon survey close {name!q}` をもう一度実行してください",
    ),
}
