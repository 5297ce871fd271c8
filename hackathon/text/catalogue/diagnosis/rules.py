"""Messages about rules for failures: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # a rule file
    "id_signs": (
        "{id} is not a valid id: use lower-case letters, digits, and `-` between words",
        "{id} は id にできません。英小文字・数字を「-」でつないでください",
    ),
    "id_twice": ("{id} appears twice in this file", "{id} がこのファイルに 2 回あります"),
    "id_elsewhere": ("{id} is also in {other}, which is used", "{id} は {other} にもあり、そちらが使われます"),
    "nothing_to_find": (
        "rule {id} has neither `patterns` nor `fact`; add one of them",
        "ルール {id} に patterns も fact もありません。どちらか 1 つを書いてください",
    ),
    "fact_and_patterns": (
        "the rule has both `patterns` and `fact`; split it into two rules",
        "patterns と fact の両方があります。2 つのルールに分けてください",
    ),
    "fact_name": (
        "{name} is not the name of a check; write for example state:TIMEOUT or silent:same-data",
        "{name} は確認の名前ではありません。state:TIMEOUT、silent:same-data のように書いてください",
    ),
    "text_or_regex": (
        "a pattern needs either `text` or `regex`",
        "パターンには `text` か `regex` のどちらか一方を書いてください",
    ),
    "regex_wrong": (
        "{pattern} is not a regular expression: {reason}",
        "{pattern} は正規表現として読めません: {reason}",
    ),
    "regex_construct": (
        "{pattern} uses {construct}, which is not allowed; put text that must not appear under `unless`, and omit "
        "anchors, because launchers add text before and after a line",
        "{pattern} の {construct} は使えません。あってはならない語は `unless` に書いてください。行頭・行末の指定は、"
        "ランチャーが前後に文字を足すため使えません",
    ),
    "pattern_short": (
        "{pattern} needs at least {least} consecutive characters that occur in every match; write out more of the "
        "message",
        "{pattern} には、必ず現れる連続した文字が {least} 文字以上必要です。メッセージをもっと長く書いてください",
    ),
    # rules check
    "not_recognised": (
        "rule {id} does not match this example; the pattern must occur in it as in the log",
        "ルール {id} はこの例を検出しません。例の中の語とパターンを一致させてください",
    ),
    "harmless_is_found": (
        "the example of the harmless rule {id} is matched as a failure by: {others}",
        "無害なルール {id} の例が、次のルールで障害とみなされます: {others}",
    ),
    "placeholder": (
        "{{{name}}} has no value: no group in a pattern of {id} has this name, and it is not one of {known}",
        "{{{name}}} に入る値がありません。{id} のパターンにこの名前のグループがなく、次のどれでもありません: {known}",
    ),
    "check_word": (
        "the check of {id} would run what stands in a log: write {{{name}}} as a word of its own behind a command, "
        "without quotes and outside $(…); the toolkit quotes it",
        "{id} の check は、ログの文字列を実行するおそれがあります。{{{name}}} は引用符で囲まず、$(…) の外に、コマンドの引数として単独で"
        "書いてください（引用はツールが行います）",
    ),
    "no_rule_to_follow": (
        "{id} follows {name}, but no other rule has this id",
        "{id} の follows にある {name} というルールはありません",
    ),
    "no_fact": (
        "{id} uses the check {name}, which does not exist; known: {known}",
        "{id} の確認 {name} はありません。あるもの: {known}",
    ),
    "one_language": (
        "{id} needs this text in both languages: {{en: …, ja: …}}",
        "{id} のこの文は英語と日本語の両方が必要です: {{en: …, ja: …}}",
    ),
    "no_sample": ("{id} has no `sample`", "{id} に sample がありません"),
    "no_variant": ("{id} has no `variants`", "{id} に variants がありません"),
    "no_source": (
        "the sample of {id} has no `source`; say where it was observed",
        "{id} の sample に source がありません。どこで見たものかを書いてください",
    ),
    "check_good": (
        "{count} rules in {files} files are valid.",
        "{files} 個のファイルのルール {count} 件に問題はありません。",
    ),
    "check_none": ("No rule files were found.", "ルールのファイルがありません。"),
    "check_bad": ("{count} {count:problem|problems} in rules", "ルールに {count} 件の問題があります"),
    # rules list, rules show
    "id": ("id", "id"),
    "part": ("part", "部分"),
    "level": ("level", "程度"),
    "title": ("title", "説明"),
    "no_part": ("there is no part {name}; known: {known}", "部分 {name} はありません。あるもの: {known}"),
    "no_rule": ("there is no rule {name}", "ルール {name} はありません"),
    "no_rule_hint": ("list them with `hackathon rules list`", "`hackathon rules list` で一覧できます。"),
    "no_rule_near": (
        "there is no rule {name}; did you mean `{near}`?",
        "ルール {name} はありません。「{near}」のことですか？",
    ),
    "show_from": ("from", "ファイル"),
    "show_patterns": ("patterns", "パターン"),
    "show_unless": ("unless", "除外"),
    "show_fact": ("fact", "記録の確認"),
    "show_thresholds": ("thresholds", "しきい値"),
    "show_where": ("where", "探す場所"),
    "show_causes": ("causes", "原因"),
    "show_advice": ("advice", "対処"),
    "show_follows": ("follows", "先に起きる障害"),
    "show_references": ("references", "参考"),
    "show_sample": ("sample", "例"),
    "show_variants": ("variants", "別の表現"),
    "show_ignore_case": ("case-insensitive", "大文字・小文字を区別しない"),
    # rules add
    "added": ("added {id} to {path}:", "{id} を {path} に追加しました:"),
    "added_places": ("found {count} {count:time|times} in {log}", "{log} に {count} か所あります"),
    "added_untried": (
        "Not tested on a healthy log. With --healthy FILE, a rule that matches that log is refused.",
        "正常なログでは試していません。--healthy FILE を付けると、それに反応するルールは作られません。",
    ),
    "add_origin": ("{origin!r} is not FILE:LINE", "{origin!r} は FILE:LINE の形ではありません"),
    "add_origin_hint": (
        "for example --from logs/rank-1.log:812, as printed by `hackathon diagnose`",
        "`hackathon diagnose` の表示のとおりに、例えば --from logs/rank-1.log:812 と書いてください",
    ),
    "add_unreadable": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "add_no_file": ("no such file", "ファイルがありません"),
    "add_no_line": (
        "line {line} of {path} is empty or does not exist ({count} lines)",
        "{path} の {line} 行目は空か、存在しません（全 {count} 行）",
    ),
    "add_too_general": ("a rule for this line would match far too much: {text}", "この行のルールは広すぎます: {text}"),
    "add_too_general_hint": (
        "choose a line with words specific to this failure, for example the last line of a traceback",
        "その障害に特有の語がある行を選んでください（例: Traceback の最後の行）",
    ),
    "add_known": ("rule {id} already has this pattern", "同じパターンのルール {id} がすでにあります"),
    "add_known_hint": (
        "see `hackathon rules show {id!q}`; a rule with the same id in the event's file replaces it",
        "`hackathon rules show {id!q}` で内容を確認できます。同じ id のルールを書けば置き換えられます",
    ),
    "add_misses": ("the pattern does not match its own line: {pattern}", "パターンが元の行に一致しません: {pattern}"),
    "add_misses_hint": (
        "write the rule by hand, and test it with `hackathon rules check FILE`",
        "手動でルールを書き、`hackathon rules check FILE` で確認してください",
    ),
    "add_healthy": (
        "it matches the healthy log {path}:{line}: {text}",
        "正常なログ {path}:{line} に一致します: {text}",
    ),
    "add_healthy_hint": ("choose another line of the failure", "障害のログの別の行を選んでください"),
    "add_often": (
        "it matches {count} of {lines} lines of its own log, so it is regular output",
        "元のログの {lines} 行のうち {count} 行に一致します。普段の出力と思われます",
    ),
    "add_often_hint": ("choose another line of the failure", "障害のログの別の行を選んでください"),
    "add_not_written": ("cannot write a rule to {folder}: {what}", "{folder} にルールを書けません: {what}"),
    "add_not_written_hint": (
        "use --here project or --here user to write it elsewhere",
        "--here project か --here user で別の場所に書けます",
    ),
    "add_broken": ("{path} would become invalid: {problem}", "{path} が正しい形になりません: {problem}"),
    "add_broken_hint": (
        "repair the file (`hackathon rules check`) and try again",
        "ファイルを直してから（`hackathon rules check`）やり直してください",
    ),
    "add_no_event": (
        "this folder is not in an event (hackathon.yaml)",
        "イベント（hackathon.yaml）のフォルダの中ではありません",
    ),
    "add_no_event_hint": (
        "go there, or write the rule with --here project or --here user",
        "イベントのフォルダに移るか、--here project または --here user を付けてください",
    ),
    "add_no_project": ("this folder is not in a project", "プロジェクトのフォルダの中ではありません"),
    "add_no_project_hint": ("go there, or use --here user", "プロジェクトに移るか、--here user を付けてください"),
}
