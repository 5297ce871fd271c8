"""Messages of surveys, their collection and their closing: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "promise": (
        "Anonymous in everything that is published: small groups are not told apart, and free answers go out only "
        "after somebody has read them. Not anonymous to the organisers who collect it: until the survey is closed, "
        "files show whose they are and when they came.",
        "公開されるものはすべて匿名です。少人数のグループを区別できる形では公開せず、自由記述は主催者が目を通してから"
        "公開します。ただし、回答を集める主催者に対しては匿名ではありません。締め切るまでは、誰がいつ書いたファイルかが"
        "主催者に分かります。",
    ),
    # values
    "no_question": ("there is no question {question}", "質問 {question} はありません"),
    "required": ("please answer this question", "この質問には必ず答えてください"),
    "nothing_answered": ("no question is answered", "どの質問にも答えていません"),
    "no_values": ("the values can not be read", "値を読み取れません"),
    "one_only": ("one answer only, not {count}", "答えは 1 つだけです（{count} 個あります）"),
    "no_level": ("{value} is no level: 1 to {levels}", "{value} は段階として読めません（1〜{levels}）"),
    "no_option": ("{value} is none of the options: {known}", "{value} は選択肢にありません: {known}"),
    "no_number": ("{value} is no number", "{value} は数として読めません"),
    "number_small": ("{value} is less than {least}", "{value} は下限 {least} より小さい値です"),
    "number_large": ("{value} is more than {most}", "{value} は上限 {most} より大きい値です"),
    "text_long": ("{count} letters; at most {limit}", "{count} 文字あります（{limit} 文字まで）"),
    # which survey
    "bad_name": (
        "{name} is no name for a survey: letters, digits, - and _, at most 40",
        "{name} はアンケートの名前にできません（英数字と -・_、40 文字まで）",
    ),
    "no_event": ("{folder} belongs to no event", "{folder} はイベントのフォルダの中ではありません"),
    "no_event_hint": (
        "go to the folder of hackathon.yaml, or make one with `hackathon event init`",
        "hackathon.yaml のあるフォルダに移るか、`hackathon event init` で作ってください",
    ),
    "not_yours": (
        "only the organisers can work with the surveys in {folder}",
        "{folder} のアンケートを扱えるのは主催者だけです",
    ),
    "not_yours_hint": ("to answer: `hackathon survey answer`", "回答するには `hackathon survey answer`"),
    "none": ("the event has no survey yet", "このイベントにはまだアンケートがありません"),
    "none_hint": ("make one: `hackathon survey new NAME`", "`hackathon survey new 名前` で作れます"),
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
        "--template {near}; a file of your own: --from FILE",
        "--template {near} のように指定します。自分のファイルは --from FILE で指定します",
    ),
    "template_or_file": (
        "either --template or --from, not both",
        "--template と --from はどちらか一方だけ指定してください",
    ),
    "there_already": ("{folder} is there already", "{folder} はすでにあります"),
    "there_already_hint": (
        "choose another name; nothing was changed",
        "別の名前にしてください。何も変更していません",
    ),
    "can_not_make": ("{folder} can not be made: {what}", "{folder} を作れません: {what}"),
    "made": (
        "{file} is made: change it as you like, then `hackathon survey check {name}` and `hackathon survey open {name}`",
        "{file} を作りました。自由に編集し、`hackathon survey check {name}`、`hackathon survey open {name}` と進めてください",
    ),
    # looking
    "changed_early": (
        "survey.yaml of {name} differs from what was opened; no answer has come yet",
        "{name} の survey.yaml が開始時と異なっています（回答はまだありません）",
    ),
    "changed_early_hint": (
        "`hackathon survey open {name}` opens it anew; offline pages made before do not fit any more",
        "`hackathon survey open {name}` で開始し直せます。以前に書き出したオフラインのページは使えなくなります",
    ),
    "no_answers": ("nobody answered {name}", "{name} には回答がありませんでした"),
    "not_private": (
        "{folder} does not belong to this account alone",
        "{folder} がこのアカウントだけのものになっていません",
    ),
    "not_private_hint": ("chmod 700 {folder}", "chmod 700 {folder} を実行してください"),
    "more_than_invited": (
        "{answered} answers of {invited} people asked: somebody answered twice, or somebody is not in hackathon.yaml",
        "対象 {invited} 人に対し回答が {answered} 件あります。二重の回答か、hackathon.yaml にいない人の回答があります",
    ),
    "nobody_invited": (
        "hackathon.yaml names no {audience}: no response rate can be told",
        "hackathon.yaml に {audience} がいないため、回答率を出せません",
    ),
    "no_box": (
        "hackathon.yaml has no `shared` directory: answers come by form, files and CSV, and not by `survey answer`",
        "hackathon.yaml に shared がないため、`survey answer` は使えません（フォーム・ファイル・CSV は使えます）",
    ),
    "no_way": (
        "nobody can answer {name}: no tokens, no drop box",
        "{name} に回答する手段がありません（トークンも回答箱もなし）",
    ),
    "no_way_hint": (
        "`hackathon survey open {name} --tokens N`, or import a CSV",
        "`hackathon survey open {name} --tokens N` を実行するか、CSV を取り込んでください",
    ),
    "few_tokens": (
        "{tokens} tokens for {invited} people",
        "対象 {invited} 人に対し、トークンは {tokens} 個です",
    ),
    "few_tokens_hint": (
        "`hackathon survey open {name} --tokens {more}` makes the others",
        "`hackathon survey open {name} --tokens {more}` で残りを作れます",
    ),
    "will_be_left_out": (
        "an answer of {account} does not count: {why}",
        "{account} の回答は数えられません: {why}",
    ),
    "unread": ("{file} can not be read and does not count: {why}", "{file} は読めないため数えられません: {why}"),
    "box_gone": ("the drop box {folder} is gone", "回答箱 {folder} がありません"),
    "box_gone_hint": ("`hackathon survey open {name}` makes it again", "`hackathon survey open {name}` で作り直せます"),
    "box_closed_to": ("{folder} is closed to {users}", "{users} は {folder} を読めません"),
    "box_closed_to_hint": (
        "chmod o+rx {folder}, or let their group in; until then they can not answer with `survey answer`",
        "chmod o+rx {folder} を実行するか、グループの権限を与えてください。それまで `survey answer` は使えません",
    ),
    "state_draft": ("not open yet", "未開始"),
    "state_open": ("open", "回答受付中"),
    "state_closed": ("closed", "締め切り済み"),
    "look_line": (
        "{name}: {state}, {questions} questions; answers: {answered}, people asked: {invited}",
        "{name}: {state}、質問 {questions} 個、対象 {invited} 人中 {answered} 件の回答",
    ),
    "look_channels": (
        "form {form}, drop box {box}, files {files}; tokens {spent} used of {tokens}",
        "フォーム {form} 件、回答箱 {box} 件、ファイル {files} 件、トークン {tokens} 個中 {spent} 個使用",
    ),
    "look_good": ("nothing is wrong", "問題はありません"),
    "opened": ("{name} is open", "{name} を開始しました"),
    "opened_tokens": (
        "{count} new tokens, one for each person: they are shown now and kept nowhere",
        "新しいトークンは {count} 個です。1 人に 1 個ずつ渡してください（表示は今回だけで、保存されません）",
    ),
    "opened_box": (
        "in their own accounts people answer with `hackathon survey answer {name}`",
        "自分のアカウントからは `hackathon survey answer {name}` で回答できます",
    ),
    "opened_next": (
        "`hackathon survey check {name}` tells how many answered; `hackathon survey close {name}` ends it",
        "回答数は `hackathon survey check {name}` で確認し、`hackathon survey close {name}` で締め切ります",
    ),
    "closed_now": (
        "{name} is closed; answers: {answered}, left out: {left_out}, files not read: {unread}",
        "{name} を締め切りました。回答 {answered} 件、対象外 {left_out} 件、読めなかったファイル {unread} 件",
    ),
    "closed_kept": (
        "what was left out or not read is kept in {folder}",
        "対象外の回答と読めなかったファイルは {folder} に残っています",
    ),
    "closed_summary": ("now: `hackathon survey summary {name}`", "集計は `hackathon survey summary {name}` で行います"),
    "close_ask": (
        "Close {name} with {answered} answers? Nothing is accepted afterwards, and it can not be opened again.",
        "{name} を回答 {answered} 件で締め切りますか。以後は受け付けられず、再開もできません。",
    ),
    # opening
    "not_open": ("the survey {name} is not open yet", "アンケート {name} はまだ開始されていません"),
    "not_open_hint": ("open it: `hackathon survey open {name}`", "`hackathon survey open {name}` で開始します"),
    "closed": ("the survey {name} is closed", "アンケート {name} は締め切られました"),
    "closing": (
        "the survey {name} is being closed, or that was interrupted",
        "アンケート {name} は締め切り処理中か、その処理が中断されています",
    ),
    "closing_hint": ("finish it: `hackathon survey close {name}`", "`hackathon survey close {name}` で完了します"),
    "changed": (
        "survey.yaml of {name} was changed after answers had come",
        "{name} の survey.yaml が、回答が届いたあとで変更されています",
    ),
    "changed_hint": (
        "take the change back: cp {folder}/opened.yaml {folder}/survey.yaml; new questions need a new survey",
        "変更を元に戻してください: cp {folder}/opened.yaml {folder}/survey.yaml（質問を変えるときは新しいアンケートを作ります）",
    ),
    "no_event_options": (
        "question {question}: hackathon.yaml has none of its options ({what})",
        "質問 {question}: 選択肢となる {what} が hackathon.yaml にありません",
    ),
    "no_event_options_hint": (
        "fill in {what} in hackathon.yaml (kinds: of the members; days: `dates`), or write `options` yourself",
        "hackathon.yaml の {what} を書くか（kinds はメンバーの kind、days は dates）、options を直接書いてください",
    ),
    "tokens_many": ("{count} tokens: from 0 to {limit} can be made", "トークン {count} 個は作れません（0〜{limit}）"),
    "can_not_open": ("the survey {name} can not be opened: {what}", "アンケート {name} を開始できません: {what}"),
    "no_locks": (
        "the file system of {folder} has no locks, so that a token could count twice",
        "{folder} のファイルシステムではロックが使えず、トークンが二重に数えられるおそれがあります",
    ),
    "no_locks_hint": (
        "put the event's folder into your home or on a local disk; only `shared` need lie on the shared file system",
        "イベントのフォルダをホームかローカルディスクに置いてください。共有が必要なのは shared だけです",
    ),
    "newer": ("{file} was made by a later version of hackathon", "{file} は新しい版の hackathon で作られています"),
    "damaged": ("{file} is damaged", "{file} が壊れています"),
    "damaged_hint": (
        "put it back from a backup: without it nobody can tell what was asked",
        "バックアップから戻してください。これがないと、何を尋ねたのか分からなくなります",
    ),
    "damaged_closed": ("{file} is damaged", "{file} が壊れています"),
    "damaged_closed_hint": (
        "put it back from a backup: the answers are nowhere else",
        "バックアップから戻してください。回答はほかのどこにもありません",
    ),
    # the drop box
    "no_shared": (
        "the event's shared directory {folder} is not there",
        "イベントの共有ディレクトリ {folder} がありません",
    ),
    "no_shared_hint": ("make it: `hackathon event init`", "`hackathon event init` で作ってください"),
    "box_of_other": ("{folder} belongs to somebody else", "{folder} は別のユーザーのものです"),
    "box_of_other_hint": (
        "only the account that collects the answers may own it; ask its owner to remove it, or choose another name",
        "回答を集めるアカウントの所有でなければなりません。所有者に消してもらうか、別の名前にしてください",
    ),
    "box_mode": ("{folder} has not the mode 1733", "{folder} のモードが 1733 ではありません"),
    "box_mode_hint": (
        "chmod 1733 {folder}; where the file system refuses that, collect by form and tokens instead",
        "chmod 1733 {folder} を実行してください。できないファイルシステムでは、フォームとトークンで集めてください",
    ),
    "can_not_make_box": ("the drop box {folder} can not be made: {what}", "回答箱 {folder} を作れません: {what}"),
    "can_not_read": ("{file} can not be read: {what}", "{file} を読めません: {what}"),
    "not_there": ("no survey is open in {folder}", "{folder} で開始されているアンケートはありません"),
    "not_there_hint": ("ask the organisers whether it is open", "開始されているか、主催者に確認してください"),
    "out_of_reach": ("{folder} can not be reached: {what}", "{folder} に届きません: {what}"),
    "out_of_reach_hint": (
        "tell the organisers; `hackathon survey check` shows them what to open",
        "主催者に知らせてください。`hackathon survey check` で、どこを開ければよいか分かります",
    ),
    "not_trusted": (
        "{folder} could have been put there by anybody: nothing is written into it",
        "{folder} は誰でも置き換えられる状態なので、書き込みません",
    ),
    "not_trusted_hint": (
        "tell the organisers: it must belong to them and be writable by nobody else",
        "主催者に知らせてください。主催者の所有で、他の人が書き込めない設定でなければなりません",
    ),
    "unread_garbage": (
        "no answer of this survey, or only half of one",
        "このアンケートの回答ではないか、途中で切れています",
    ),
    "unread_other": (
        "an answer to another version of the questionnaire",
        "質問内容が異なる版のアンケートへの回答です",
    ),
    "unread_values": ("a value does not fit its question", "質問に合わない値があります"),
    "unread_special": ("not a plain file of one owner", "本人だけが書ける通常のファイルではありません"),
    "left_account": ("the account is not in hackathon.yaml", "hackathon.yaml にないアカウントです"),
    "left_token_unknown": ("the token was never handed out", "配布されていないトークンです"),
    "left_token_spent": ("the token was used before", "使用済みのトークンです"),
    # answering
    "dropped": (
        "your answer is stored; answer again to correct it, until the survey is closed: the newest counts",
        "回答を保存しました。締め切りまでは、もう一度答えると置き換わります（最新の回答が数えられます）",
    ),
    "no_terminal": ("there is no terminal to ask on", "質問を表示する端末がありません"),
    "no_terminal_hint": (
        "give the answers: --set ID=VALUE, once for each question",
        "--set ID=値 を質問ごとに付けて回答してください",
    ),
    "answer_wrong": ("the answer can not be taken:\n{problems}", "この回答は受け付けられません:\n{problems}"),
    "how_to_answer": (
        "An empty line leaves a question out; Ctrl-C leaves without answering.",
        "空行で質問を飛ばし、Ctrl-C で回答せずに終わります。",
    ),
    "token_ask": ("Your token", "トークン"),
    "several": ("several: numbers with commas, e.g. 1,3", "複数選べます。番号をカンマで区切ってください（例: 1,3）"),
    "lines": ("several lines if you like; an empty line ends", "複数行書けます。空行で終わります"),
    "send_ask": ("Send this?", "この内容で送りますか"),
    "again_ask": (
        "Go through the questions again? An empty line keeps what you said.",
        "もう一度質問に答えますか（空行なら前の答えを残します）",
    ),
    "opened_anew": (
        "the questionnaire of {name} was changed since it was shown",
        "表示されたあとで {name} の質問が変更されました",
    ),
    "opened_anew_hint": (
        "nothing was taken; load it again",
        "回答は受け付けられていません。もう一度読み込んでください",
    ),
    "token_unknown": ("this token was never handed out", "このトークンは配布されていません"),
    "token_unknown_hint": (
        "copy it once more from the organisers' message: 16 letters and digits",
        "主催者から届いた 16 文字の英数字を、もう一度そのまま写してください",
    ),
    "token_spent": (
        "this token has been used: an answer with it is counted",
        "このトークンは使用済みです。回答はすでに受け付けられています",
    ),
    "can_not_take": ("the answer could not be stored: {what}", "回答を保存できませんでした: {what}"),
    "can_not_take_hint": (
        "nothing was taken; try again in a moment",
        "回答は受け付けられていません。少し待ってからもう一度送ってください",
    ),
    "can_not_close": (
        "the survey {name} could not be closed: {what}",
        "アンケート {name} を締め切れませんでした: {what}",
    ),
    "can_not_close_hint": (
        "nothing is lost: mend that and run `hackathon survey close {name}` again",
        "回答は失われていません。原因を直して `hackathon survey close {name}` をもう一度実行してください",
    ),
}
