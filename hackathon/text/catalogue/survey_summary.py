"""The summary of a survey: tables, pictures, and the file of free answers for review."""

MESSAGES = {
    "not_closed": (
        "the survey {name} is not closed: a summary that changes from day to day would give single answers away",
        "アンケート {name} はまだ締め切られていません(途中の集計を比べると個々の回答が分かってしまいます)",
    ),
    "not_closed_hint": (
        "`hackathon survey close {name}` first; for your own eyes only: `hackathon survey summary {name} --all`",
        "先に `hackathon survey close {name}` を実行してください。主催者だけが見るなら `hackathon survey summary {name} --all`",
    ),
    # texts.yaml
    "texts_header": (
        "Free answers, cut into sentences, in random order. Read them before they go out:\n"
        "- delete sentences, or words in them, by which somebody can be recognised or hurt;\n"
        "- correct the tags ({tags}); a sentence may have several, or none;\n"
        "- then write `reviewed: true`. Nothing of this file is published before.\n"
        "The file is written once; what you change stays.",
        "自由記述の回答です。文ごとに分け、順序を無作為に入れ替えてあります。公開前に必ず読んでください。\n"
        "- 個人が特定される、または傷つく人がいる文や語は削除する\n"
        "- タグ({tags})を直す。複数付けても、付けなくてもよい\n"
        "- 終わったら `reviewed: true` と書く。それまでこのファイルの内容は公開されない\n"
        "このファイルは一度だけ作られ、編集した内容は上書きされません。",
    ),
    "texts_no_mapping": ("must be keys with values", "「キー: 値」の形でなければなりません"),
    "texts_unknown_key": (
        "the key {word} is not known here; sentences have `text` and `tags`, the file `reviewed` and `questions`",
        "キー {word} は使えません(文は `text` と `tags`、ファイルは `reviewed` と `questions`)",
    ),
    "texts_reviewed": ("{value} is neither true nor false", "{value} ではなく true か false と書いてください"),
    "texts_no_question": (
        "the questionnaire has no free-text question {id}; it has: {known}",
        "自由記述の設問 {id} はありません(あるもの: {known})",
    ),
    "texts_no_list": (
        "must be a list of sentences, each line beginning with `- `",
        "文の一覧(各行 `- ` で始める)を書いてください",
    ),
    "texts_tags": (
        "{value} is no list of tags; write e.g. [thanks, request]",
        "{value} はタグの一覧ではありません(例: [thanks, request])",
    ),
    "texts_text": (
        "{value} is no text; put the sentence in quotes",
        "{value} は文字列ではありません。文を引用符で囲んでください",
    ),
    # picture
    "nothing_to_draw": (
        "the survey {name} has no ratings to draw",
        "アンケート {name} には描画できる評定項目がありません",
    ),
    "question": ("question", "設問"),
    "level": ("level", "段階"),
    "count": ("answers", "回答数"),
    "low_end": ("low end", "低い端"),
    "high_end": ("high end", "高い端"),
    "answered": ("{n} answers", "回答 {n} 件"),
    "private": ("NOT FOR PUBLICATION", "公開禁止"),
    "means_best": ("on target", "理想的"),
    "means_good": ("good", "良い"),
    "means_between": ("in between", "どちらでもない"),
    "means_off": ("off", "やや外れ"),
    "means_far": ("far off", "大きく外れ"),
    "means_neutral": ("no target", "目標なし"),
    "alt": ("Answers per level of {count} question(s).", "{count} 問の段階別回答数。"),
    "alt_middle": (
        "{question}: {on} of {n} in the middle, {too_low} towards {low}, {too_high} towards {high}.",
        "{question}: {n} 件中、中央 {on}、「{low}」寄り {too_low}、「{high}」寄り {too_high}。",
    ),
    "alt_ends": (
        "{question}: {top} of {n} towards {high}, {bottom} towards {low}.",
        "{question}: {n} 件中、「{high}」寄り {top}、「{low}」寄り {bottom}。",
    ),
}
