"""Messages about rules for failures: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # a rule file
    "id_signs": (
        "{id} is no id: small letters, digits and `-` between words",
        "{id} は id にできません。英小文字・数字を「-」でつないでください",
    ),
    "id_twice": ("{id} stands twice in this file", "{id} がこのファイルに 2 回あります"),
    "id_elsewhere": ("{id} also stands in {other}, which counts", "{id} は {other} にもあり、そちらが使われます"),
    "nothing_to_find": (
        "the rule {id} has neither `patterns` nor `fact`; give one of them",
        "ルール {id} に patterns も fact もありません。どちらか 1 つを書いてください",
    ),
    "fact_and_patterns": (
        "the rule has both `patterns` and `fact`; make two rules of it",
        "patterns と fact の両方があります。2 つのルールに分けてください",
    ),
    "fact_name": (
        "{name} is no name of a check; write e.g. state:TIMEOUT or silent:same-data",
        "{name} は確認の名前ではありません。state:TIMEOUT、silent:same-data のように書いてください",
    ),
    "text_or_regex": (
        "a pattern has either `text` or `regex`",
        "パターンには `text` か `regex` のどちらか一方を書いてください",
    ),
    "regex_wrong": (
        "{pattern} is not a regular expression: {reason}",
        "{pattern} は正規表現として読めません: {reason}",
    ),
    "regex_construct": (
        "{pattern} uses {construct}, which is not allowed here; use `unless` for what must not be there, and leave "
        "anchors out, because launchers put text before and after a line",
        "{pattern} の {construct} は使えません。あってはならない語は `unless` に書いてください。行頭・行末の指定は、"
        "ランチャーが前後に文字を足すため使えません",
    ),
    "pattern_short": (
        "{pattern} needs at least {least} letters that stand in every match, in one piece; write more of the message "
        "out",
        "{pattern} には、必ず現れる連続した文字が {least} 文字以上必要です。メッセージをもっと長く書いてください",
    ),
}
