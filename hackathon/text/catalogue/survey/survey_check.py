"""What is wrong in a questionnaire: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "languages": ("list each language of the form once: ja, en", "フォームの言語（ja・en）を 1 回ずつ書いてください"),
    "no_questions": ("there are no questions", "質問がありません"),
    "many_questions": ("{count} questions; the limit is {limit}", "質問が {count} 個あります（{limit} 個まで）"),
    "id_signs": (
        "{id} is not a valid id: letters, digits, and _, starting with a letter, at most 40",
        "{id} は id にできません（英字で始まる英数字と _、40 文字まで）",
    ),
    "id_reserved": (
        "the form uses the id {id}; choose another one",
        "id {id} はフォームが使います。別の id にしてください",
    ),
    "id_twice": ("another question has the id {id}", "id {id} の質問が 2 つあります"),
    "other_kind": (
        "`{key}` is for {kinds} questions, and this is a {kind} question",
        "「{key}」は {kinds} の質問だけで使えます（この質問は {kind} です）",
    ),
    "no_target": (
        "set `target` of {id} to the levels that are good: middle (short–long), high, or low",
        "{id} のどの段階がよいかを target に書いてください: middle（短い〜長いなど）・high・low",
    ),
    "levels": ("a rating has 2 to {limit} levels", "評価の段階は 2〜{limit} です"),
    "no_end": (
        "set `{key}`: the meaning of that end of {id}",
        "{id} のその端が何を意味するかを {key} に書いてください",
    ),
    "same_ends": ("both ends are called {name}", "両端のラベルがどちらも {name} です"),
    "options_both": (
        "either `options` or `options_from`, not both",
        "options と options_from はどちらか一方だけ書いてください",
    ),
    "no_options": (
        "{id} needs at least two `options`, or `options_from`: teams, kinds or days",
        "{id} には options が 2 つ以上、または options_from（teams・kinds・days）が必要です",
    ),
    "many_options": ("at most {limit} options", "選択肢は {limit} 個までです"),
    "option_signs": (
        "{name} is not a valid value of an option: 1 to {limit} characters, no spaces around them, no control "
        "characters",
        "{name} は選択肢の値にできません（1〜{limit} 文字、前後の空白と制御文字なし）",
    ),
    "option_twice": (
        "{name} also stands for option {other}: answers would be ambiguous",
        "{name} はすでに選択肢 {other} を表しています。どちらの回答か区別できません",
    ),
    "no_breakdown": (
        "there is no question {name}; choice questions: {known}",
        "質問 {name} はありません。choice の質問: {known}",
    ),
    "no_breakdown_near": (
        "there is no question {name}; did you mean `{near}`?",
        "質問 {name} はありません。「{near}」のことですか？",
    ),
    "breakdown_kind": (
        "breakdowns are possible only by `choice` questions; {id} is a {kind} question",
        "内訳に使えるのは choice の質問だけです（{id} は {kind} です）",
    ),
    "breakdown_twice": ("{id} appears twice in the breakdowns", "breakdowns に {id} が 2 回書かれています"),
    "smallest_group": (
        "a group of one identifies a person: `smallest_group` must be at least 2; 5 or more is recommended",
        "1 人のグループは個人そのものです。smallest_group は 2 以上（5 以上を推奨）にしてください",
    ),
    "tag": ("a tag needs a name and words that are not empty", "タグには名前と、空でない語が必要です"),
    "no_words": ("the text is empty", "文が空です"),
}
