"""The summary of a survey: tables, pictures, and the file of free answers for review."""

MESSAGES = {
    "not_closed": (
        "survey {name} is not closed: comparing summaries from different days would reveal single answers",
        "アンケート {name} はまだ締め切られていません（途中の集計を比べると個々の回答が分かってしまいます）",
    ),
    "not_closed_hint": (
        "run `hackathon survey close {name!q}` first; for organisers only: `hackathon survey summary {name!q} --all`",
        "先に `hackathon survey close {name!q}` を実行してください。主催者だけが見るなら `hackathon survey summary {name!q} --all`",
    ),
    "too_like": (
        "the summary of survey {name} is withheld: nearly all of its answers are also in survey {other}, so the difference of the two summaries would reveal single answers",
        "アンケート {name} の集計は公開できません。回答の大部分が {other} と同じで、両方の集計の差から個人の回答が分かってしまいます",
    ),
    "too_like_hint": (
        "publish one of the two; for organisers only: `hackathon survey summary {name!q} --all`",
        "どちらか一方だけを公開してください。主催者だけが見るなら `hackathon survey summary {name!q} --all`",
    ),
    # texts.yaml
    "texts_header": (
        "Free answers, cut into sentences, in random order. Read them before they go out:\n"
        "- delete sentences, or words in them, by which somebody can be recognised or hurt;\n"
        "- correct the tags ({tags}); a sentence may have several, or none;\n"
        "- look twice at what is marked with `check:`;\n"
        "- then write `reviewed: true`. Nothing of this file is published before.\n"
        "The file is written once; what you change stays.",
        "自由記述の回答です。文ごとに分け、順序を無作為に入れ替えてあります。公開前に必ず読んでください。\n"
        "- 個人が特定される、または傷つく人がいる文や語は削除する\n"
        "- タグ（{tags}）を直す。複数付けても、付けなくてもよい\n"
        "- 「要確認:」の印がある文は特に注意する\n"
        "- 終わったら `reviewed: true` と書く。それまでこのファイルの内容は公開されない\n"
        "このファイルは一度だけ作られ、編集した内容は上書きされません。",
    ),
    "not_anonymous": (
        "survey {name} is not anonymous, so it has no summary to publish",
        "アンケート {name} は匿名ではないため、公開できる集計はありません",
    ),
    "not_anonymous_hint": (
        "for organisers: hackathon survey summary {name!q} --all, and --answers for each answer",
        "主催者の確認用: hackathon survey summary {name!q} --all、回答ごとの表は --answers",
    ),
    "answers_anonymous": (
        "survey {name} is anonymous, so single answers are not shown",
        "アンケート {name} は匿名なので、個々の回答は表示しません",
    ),
    "answers_anonymous_hint": (
        "its summary: hackathon survey summary {name!q}",
        "集計の表示: hackathon survey summary {name!q}",
    ),
    "texts_check": ("check: {what}", "要確認: {what}"),
    "mention_name": ("name {word}", "氏名 {word}"),
    "mention_account": ("account {word}", "アカウント {word}"),
    "mention_team": ("team {word}", "チーム {word}"),
    "mention_telephone": ("telephone number {word}", "電話番号 {word}"),
    "mention_mail": ("e-mail address {word}", "メールアドレス {word}"),
    "texts_mentions": (
        "sentences with a name, a team, a telephone number or an address: {count}; they are marked in {file}",
        "氏名・チーム名・電話番号・アドレスを含む文: {count} 件（{file} に印があります）",
    ),
    "texts_still": (
        "reviewed sentences still contain a name, a team, a telephone number or an address: {count} ({file}): {what}",
        "確認済みの文に、氏名・チーム名・電話番号・アドレスが残っています: {count} 件（{file}）: {what}",
    ),
    "texts_no_mapping": ("must be `key: value` lines", "「キー: 値」の形でなければなりません"),
    "texts_unknown_key": (
        "unknown key {word}; sentences have `text` and `tags`, the file has `reviewed` and `questions`",
        "キー {word} は使えません（文は `text` と `tags`、ファイルは `reviewed` と `questions`）",
    ),
    "texts_reviewed": ("{value} is neither true nor false", "{value} ではなく true か false と書いてください"),
    "texts_no_question": (
        "the questionnaire has no free-text question {id}; it has: {known}",
        "自由記述の質問 {id} はありません（あるもの: {known}）",
    ),
    "texts_no_list": (
        "must be a list of sentences, each line starting with `- `",
        "文の一覧（各行 `- ` で始める）を書いてください",
    ),
    "texts_tags": (
        "{value} is not a list of tags; write for example [thanks, request]",
        "{value} はタグの一覧ではありません（例: [thanks, request]）",
    ),
    "texts_text": (
        "{value} is not text; put the sentence in quotes",
        "{value} は文字列ではありません。文を引用符で囲んでください",
    ),
    # picture
    "nothing_to_draw": (
        "the survey {name} has no ratings to draw",
        "アンケート {name} には描画できる評価項目がありません",
    ),
    "question": ("question", "質問"),
    "level": ("level", "段階"),
    "count": ("answers", "回答数"),
    "low_end": ("low end", "低い端"),
    "high_end": ("high end", "高い端"),
    "answered": ("{n} answers", "回答 {n} 件"),
    "private": ("NOT FOR PUBLICATION", "公開禁止"),
    "means_best": ("on target", "目標の段階"),
    "means_good": ("good", "良い"),
    "means_between": ("in between", "どちらでもない"),
    "means_off": ("off", "目標から 1 段階"),
    "means_far": ("far off", "大きく外れ"),
    "means_neutral": ("no target", "目標なし"),
    "alt": ("Answers per level of {count} {count:question|questions}.", "{count} 問の段階別回答数。"),
    "alt_middle": (
        "{question}: {on} of {n} in the middle, {too_low} towards {low}, {too_high} towards {high}.",
        "{question}: {n} 件中、中央 {on}、「{low}」寄り {too_low}、「{high}」寄り {too_high}。",
    ),
    "alt_ends": (
        "{question}: {top} of {n} towards {high}, {bottom} towards {low}.",
        "{question}: {n} 件中、「{high}」寄り {top}、「{low}」寄り {bottom}。",
    ),
    # tables
    "answered_more": (
        "{n} answers; invited according to the event: {invited}",
        "回答 {n} 件（イベントの記載による対象者は {invited} 人）",
    ),
    "answered_of": ("{n} of {invited} answered ({rate} %)", "{invited} 人中 {n} 人が回答（{rate} %）"),
    "private_note": (
        "NOT FOR PUBLICATION: includes small groups and sentences that were not reviewed.",
        "公開禁止: 少人数の集団や確認前の自由記述も含みます。",
    ),
    "open_note": ("The survey is still open.", "アンケートはまだ受付中です。"),
    "too_few": (
        "Fewer than {k} answers: not shown.",
        "回答が {k} 件未満のため、内容は公表しません。",
    ),
    "group": ("group", "区分"),
    "option": ("option", "選択肢"),
    "share": ("share", "割合"),
    "n": ("n", "回答数"),
    "missing": ("missing", "無回答"),
    "median": ("median", "中央値"),
    "quartiles": ("quartiles", "四分位"),
    "mean": ("mean", "平均"),
    "ratings": ("Ratings", "評価"),
    "ratings_note": (
        "Quartiles: linear interpolation (type 7 of Hyndman and Fan). The mean assumes that levels are equally far "
        "apart; read the counts first. No mean is given over several questions.",
        "四分位は隣り合う値の線形補間（Hyndman–Fan の 7 型）。平均は各段階が等間隔と仮定した値なので、まず件数を見てください。"
        "質問をまたぐ平均は出しません。",
    ),
    "shares": ("Shares", "割合"),
    "on_target": ("on target", "目標"),
    "too_low": ("below", "下側"),
    "too_high": ("above", "上側"),
    "bottom": ("bottom 2", "下位 2"),
    "top": ("top 2", "上位 2"),
    "shares_note": (
        "In brackets: 95 % interval in % (Wilson 1927). For a question between two ends, the target is the middle.",
        "目標 = 望ましい段階に入った回答（両端のある質問では中央）。括弧内は 95 % 信頼区間（%、Wilson 1927）。",
    ),
    "few_levels_note": (
        "With fewer than four levels, top and bottom are one level each.",
        "3 段階以下の質問では、上位・下位はそれぞれ 1 段階です。",
    ),
    "of": ("n = {n}, missing {missing}", "回答数 {n}、無回答 {missing}"),
    "choices_note": (
        "Several answers were possible: shares are of respondents and may add up to more than 100 %.",
        "複数回答のため、割合（回答者に対する比）の合計は 100 % を超えることがあります。",
    ),
    "numbers": ("Numbers", "数値"),
    "by": ("By: {question}", "{question} 別"),
    "withheld": (
        "Some groups are not shown, to protect the identity of people.",
        "個人が特定されないよう、一部の区分は表示していません。",
    ),
    "untold": ("Not shown", "非公表"),
    "untold_note": (
        "Too few answers, or groups so small that people could be identified.",
        "回答が少ないか、個人が特定されうる小さな区分があるためです。",
    ),
    "no_answer": ("no answer", "無回答"),
    "wrote": ("{n} wrote text.", "{n} 人が記入。"),
    "unreviewed": (
        "The sentences have not been reviewed yet: texts.yaml.",
        "自由記述はまだ確認されていません（texts.yaml）。",
    ),
    "tag_thanks": ("thanks", "感謝"),
    "tag_request": ("request", "要望"),
    "tag_difficulty": ("difficulty", "困った点"),
    # files and comparison
    "no_summary": ("{file} is not a summary of a survey", "{file} はアンケートの集計ファイルではありません"),
    "no_summary_hint": (
        "give the folder of another event, or the output of `hackathon survey summary --format json`",
        "別のイベントのフォルダか、`hackathon survey summary --format json` の出力を指定してください",
    ),
    "other_version": (
        "{file} is a summary of version {version}, which this program does not support",
        "{file} は版 {version} の集計ファイルで、このプログラムでは読めません",
    ),
    "bad_summary": ("{file} is damaged: {reason}", "{file} が壊れています: {reason}"),
    "no_breakdown": (
        "the survey {name} has no breakdown by {by}; it has: {known}",
        "アンケート {name} に {by} 別の集計はありません（あるもの: {known}）",
    ),
    "no_breakdown_hint": (
        "define breakdowns in the questionnaire before opening it",
        "区分は受付開始前にアンケートの breakdowns に書きます",
    ),
    "cannot_write": ("{file} cannot be written: {reason}", "{file} に書き込めません: {reason}"),
    "written": ("written: {file}", "書き込みました: {file}"),
    "texts_written": (
        "Review the free-text answers, then set `reviewed: true`: {file}",
        "自由記述を確認し、`reviewed: true` にしてください: {file}",
    ),
    "compare_form": ("a comparison cannot be combined with --plot or --by", "比較では --plot と --by は使えません"),
    "comparison": ("Comparison", "比較"),
    "old": ("old", "前回"),
    "new": ("new", "今回"),
    "difference": ("difference", "差"),
    "difference_note": (
        "Difference of the shares on target in percentage points, with its 95 % interval (Newcombe 1998). If the "
        "interval contains 0, no difference between the events was shown.",
        "差は目標の割合の差（ポイント）と 95 % 信頼区間（Newcombe 1998）。区間が 0 を含むときは差があるとは言えません。",
    ),
    "others_note": (
        "Different people answered, so a difference may have other causes than the event. With many questions, about "
        "one interval in twenty misses by chance. Means of so few answers get no interval.",
        "回答者が異なるため、差が催しによるとは限りません。質問が多いと 20 に 1 つほどの区間は偶然外れます。"
        "少人数の平均には区間を付けません。",
    ),
    "reworded_note": ("* worded differently in the two surveys", "* 前回と文言が異なる質問"),
    "not_compared": ("Not compared", "比較しない質問"),
    "why_only_old": ("only in the old one", "前回のみ"),
    "why_only_new": ("only in the new one", "今回のみ"),
    "why_kind": ("another kind of question", "質問の種類が異なる"),
    "why_levels": ("another number of levels", "段階の数が異なる"),
    "why_target": ("another target", "目標が異なる"),
    "why_unit": ("another unit", "単位が異なる"),
    "why_untold": ("not shown in one of them", "一方で非公表"),
}
