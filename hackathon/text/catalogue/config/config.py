"""Messages of `hackathon.config`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "wrong_file": ("{file} has {count} {count:problem|problems}:", "{file} に {count} 件の問題があります:"),
    "more_problems": (
        "{count} more {count:problem is|problems are} not listed; fix these first",
        "ほかに {count} 件の問題があります。先にここまでを直してください",
    ),
    # reading
    "file_missing": ("the file does not exist", "ファイルがありません"),
    "file_unreadable": ("the file cannot be read: {reason}", "ファイルを読めません: {reason}"),
    "file_too_large": ("the file is larger than {limit}", "ファイルが {limit} を超えています"),
    "not_utf8": (
        "the file is not UTF-8 text (byte {byte}); save it as UTF-8",
        "UTF-8 のテキストではありません（バイト {byte}）。UTF-8 で保存してください",
    ),
    "not_mapping": (
        "the file must consist of `key: value` lines",
        "ファイルは「キー: 値」の行で書いてください",
    ),
    "yaml_character": (
        "the file contains a control character that YAML does not allow",
        "YAML で使えない制御文字が含まれています",
    ),
    "yaml_tab": ("use spaces instead of tabs for indentation", "タブが使われています。空白で字下げしてください"),
    "yaml_colon": (
        "a second `: ` in one line; put the text in quotes",
        "1 行に「: 」が 2 つあります。値を引用符で囲んでください",
    ),
    "yaml_wide_colon": (
        "the colon and the space after a key must be half-width: write `{key}: `",
        "キーの後のコロンと空白は半角にしてください:「{key}: 」",
    ),
    "yaml_surrogate": (
        "a \\ud800 to \\udfff escape is only half of a character; write the character itself",
        "サロゲートペアの片方（\\ud800〜\\udfff）だけがあります。エスケープせず、文字をそのまま書いてください",
    ),
    "yaml_start": (
        "text cannot begin with {character}; put it in quotes",
        "値を {character} で始めることはできません。引用符で囲んでください",
    ),
    "yaml_syntax": (
        "not valid YAML (column {column}): {detail}",
        "YAML として読めません（{column} 文字目）: {detail}",
    ),
    "yaml_documents": (
        "a file may contain only one document; delete the second `---`",
        "1 つのファイルに書ける文書は 1 つです。2 つ目の --- を消してください",
    ),
    "yaml_duplicate": (
        "this key is already in line {first}",
        "このキーは {first} 行目にもあります",
    ),
    "yaml_key": (
        "a key must be a plain word",
        "キーには単純な文字列だけを使えます",
    ),
    "yaml_merge": (
        "merge keys (`<<`) are not supported; write out the keys",
        "マージキー（<<）は使えません。キーを書き並べてください",
    ),
    "yaml_tag": (
        "the tag {tag} is not allowed; write plain values",
        "タグ {tag} は使えません。値だけを書いてください",
    ),
    "yaml_tag_value": ("{value} is not a {tag}", "{value} は {tag} の値ではありません"),
    "yaml_depth": (
        "nested deeper than {limit} levels",
        "入れ子が {limit} 段を超えています",
    ),
    "yaml_values": (
        "more than {limit} values (aliases count each time they are used)",
        "値が {limit} 個を超えています（エイリアスは使うたびに数えます）",
    ),
    "yaml_alias_unknown": (
        "*{name} has no anchor &{name} before it; if it is text, put it in quotes",
        "*{name} に対応する &{name} が前にありません。文字列なら引用符で囲んでください",
    ),
    "yaml_alias_loop": ("*{name} contains itself", "*{name} が自分自身を含んでいます"),
    # kinds of values
    "missing": ("is missing", "がありません"),
    "unknown_key": (
        "hackathon {version} does not know this key (the file may be for a newer version); known keys: {known}",
        "hackathon {version} にこのキーはありません（新しい版のファイルかもしれません）。使えるキー: {known}",
    ),
    "unknown_key_near": ("unknown key; did you mean `{near}`?", "このキーはありません。「{near}」のことですか？"),
    "wrong_kind": ("{value} is not {expected}", "{value} ではなく、{expected}を書いてください"),
    "quoted_number": (
        "{value} is text because it is quoted; write {expected} without quotes",
        "{value} は引用符のため文字列になっています。引用符を外して{expected}を書いてください",
    ),
    "odd_number": (
        "a number has half-width digits and no leading zeros; instead of {value}, write {plain}",
        "数は半角数字で、先頭に 0 を付けずに書いてください。{value} は {plain} と書きます",
    ),
    "wrong_value": ("{value} is not allowed here ({kind})", "{value} はここに書けません（{kind}）"),
    "not_bool": (
        "{value} is text in YAML 1.2; write true or false",
        "{value} は YAML 1.2 では文字列です。true か false と書いてください",
    ),
    "not_finite": ("must be a finite number", "有限の数を書いてください"),
    "or": (" or ", "または"),
    "kind_text": ("text", "文字列"),
    "kind_int": ("a whole number", "整数"),
    "kind_number": ("a number", "数"),
    "kind_bool": ("true or false", "true または false "),
    "kind_list": ("a list", "リスト"),
    "kind_mapping": ("a mapping (key: value)", "マッピング（キー: 値）"),
    "choice": ("{value} is not one of: {choices}", "{value} は選べません。選べる値: {choices}"),
    "choice_near": (
        "{value} is not one of: {choices}; did you mean `{near}`?",
        "{value} は選べません。選べる値: {choices}。「{near}」のことですか？",
    ),
    "too_small": ("must be at least {limit}", "{limit} 以上にしてください"),
    "too_large": ("must be at most {limit}", "{limit} 以下にしてください"),
    "bad_walltime": (
        "{value} is not a walltime such as 00:30:00, 90m or 2h",
        "{value} は実行時間として読めません。00:30:00、90m、2h のように書いてください",
    ),
    "bad_size": (
        "{value} is not a size such as 256 GB or 16 GiB",
        "{value} は容量として読めません。256 GB、16 GiB のように書いてください",
    ),
    "size_unit": (
        "{value} without a unit would be bytes; write a unit, e.g. {meant}",
        "単位のない {value} はバイト数になります。{meant} のように単位を付けてください",
    ),
    # names
    "name_empty": ("the name is empty", "名前が空です"),
    "name_long": ("the name is longer than {limit} characters", "名前が {limit} 文字を超えています"),
    "name_signs": (
        "a name must not contain `/` or control characters, nor start with a dot, nor start or end with a space",
        "名前に「/」や制御文字は使えません。先頭の点、前後の空白も使えません",
    ),
    "name_is_verb": (
        "`{name}` is a sub-verb of `hackathon clusters`; give the file and `name` another name, e.g. {name}-1",
        "「{name}」は `hackathon clusters` の下位コマンドの名前です。ファイルと `name` を {name}-1 などに変えてください",
    ),
    "name_differs": (
        "{name} must be the same as the file's or folder's name {expected}",
        "{name} はファイル（フォルダ）の名前 {expected} と同じにしてください",
    ),
    "no_cluster": ("there is no cluster {name}; known: {known}", "クラスタ {name} はありません。あるもの: {known}"),
    "no_cluster_near": (
        "there is no cluster {name}; did you mean `{near}`?",
        "クラスタ {name} はありません。「{near}」のことですか？",
    ),
    "no_recipe": ("there is no recipe {name}; known: {known}", "レシピ {name} はありません。あるもの: {known}"),
    "no_recipe_near": (
        "there is no recipe {name}; did you mean `{near}`?",
        "レシピ {name} はありません。「{near}」のことですか？",
    ),
    "no_queue": ("there is no queue {name}; known: {known}", "キュー {name} はありません。あるもの: {known}"),
    "no_queue_near": (
        "there is no queue {name}; did you mean `{near}`?",
        "キュー {name} はありません。「{near}」のことですか？",
    ),
    "no_pattern": (
        "{name} is not a field of the header; known: {known}",
        "{name} はヘッダの項目ではありません。使えるもの: {known}",
    ),
    "no_pattern_near": (
        "{name} is not a field of the header; did you mean `{near}`?",
        "{name} はヘッダの項目ではありません。「{near}」のことですか？",
    ),
    "no_metric": ("there is no metric {name}; known: {known}", "指標 {name} はありません。あるもの: {known}"),
    "no_metric_near": (
        "there is no metric {name}; did you mean `{near}`?",
        "指標 {name} はありません。「{near}」のことですか？",
    ),
    "divided_twice": (
        "with `divide` the toolkit divides the batch, with `by_program` the program does: give one of them",
        "`divide` ではツールが、`by_program` ではプログラムがバッチを割ります。どちらか一方だけを指定してください",
    ),
    "no_parameter": (
        "there is no parameter {name}; known: {known}",
        "パラメータ {name} はありません。あるもの: {known}",
    ),
    "no_parameter_near": (
        "there is no parameter {name}; did you mean `{near}`?",
        "パラメータ {name} はありません。「{near}」のことですか？",
    ),
    "no_tutor": ("there is no tutor {name}; known: {known}", "チューター {name} はいません。いる人: {known}"),
    "no_tutor_near": (
        "there is no tutor {name}; did you mean `{near}`?",
        "チューター {name} はいません。「{near}」のことですか？",
    ),
    # clusters
    "queue_nodes": (
        "at least {least} nodes, but at most {most}",
        "ノード数の下限 {least} が上限 {most} を超えています",
    ),
    "queue_pattern": (
        "the queue's name does not match patterns.queue: {pattern}",
        "キューの名前が patterns.queue の {pattern} に合いません",
    ),
    "larger_jobs": ("{walltime} from {nodes} nodes", "{nodes} ノード以上は {walltime}"),
    "unverified": ("the file has no value {name}", "このファイルに値 {name} はありません"),
    "source_date": (
        "{text} is not a day; write YYYY-MM-DD or YYYY-MM",
        "{text} は日付ではありません。YYYY-MM-DD か YYYY-MM で書いてください",
    ),
    "no_source": (
        "there is no source {name}; known: {known}",
        "出典 {name} は sources にありません。あるもの: {known}",
    ),
    "no_source_near": (
        "there is no source {name}; did you mean `{near}`?",
        "出典 {name} は sources にありません。「{near}」のことですか？",
    ),
    "not_absolute": ("{name} must begin with /", "{name} は / で始めてください"),
    # recipes and projects
    "install_one_of": (
        "a step names either `requirements` or `packages`",
        "手順には `requirements` か `packages` のどちらか一方を書いてください",
    ),
    "install_package": ("{name} is not a package", "{name} はパッケージ名ではありません"),
    "shared_name": (
        "{name} is not a file name: `shared` lists names without folders, such as data.py",
        "{name} はファイル名ではありません。`shared` には data.py のように、フォルダを付けない名前を書いてください",
    ),
    "no_shared": (
        "there is no shared file {name}; known: {known}",
        "共有ファイル {name} はありません。あるもの: {known}",
    ),
    "no_shared_near": (
        "there is no shared file {name}; did you mean `{near}`?",
        "共有ファイル {name} はありません。「{near}」のことですか？",
    ),
    "entry_outside": (
        "{name} must be inside the recipe's folder",
        "{name} はレシピのフォルダの中に置いてください",
    ),
    "entry_missing": ("{name} does not exist in the recipe's folder", "レシピのフォルダに {name} がありません"),
    "recipe_or_command": (
        "the project has neither `recipe` nor `command`; set one of them",
        "recipe も command もありません。どちらか 1 つを書いてください",
    ),
    "recipe_and_command": (
        "the project has both `recipe` and `command`; set only one of them",
        "recipe と command の両方があります。どちらか 1 つにしてください",
    ),
    "team_twice": ("another team is already called {name}", "{name} という名前のチームが 2 つあります"),
    "user_name": (
        "{name} is not an account name; it must not contain spaces, `/`, `:` or `,`",
        "{name} はアカウント名ではありません。空白・「/」「:」「,」は使えません",
    ),
    "member_twice": ("{name} appears twice in this team", "{name} がこのチームに 2 回書かれています"),
    "member_elsewhere": (
        "{name} is already in team {team}; delete one of the two",
        "{name} はすでにチーム {team} にいます。どちらか一方を消してください",
    ),
    "tutor_twice": ("{name} appears twice among the tutors", "チューターに {name} が 2 回書かれています"),
    "no_kind": (
        "there is no kind {name}; known: {known}; add more under `kinds`",
        "区分 {name} はありません。あるもの: {known}。ほかの区分は kinds に書きます",
    ),
    "no_kind_near": (
        "there is no kind {name}; did you mean `{near}`?",
        "区分 {name} はありません。「{near}」のことですか？",
    ),
    "bad_address": (
        "{value} is not a web address; it must start with https:// and contain no spaces",
        "{value} は Web のアドレスではありません。https:// で始まり、空白を含まないものを書いてください",
    ),
    "bad_date": (
        "{value} is not a date; write it as 2019-01-24",
        "{value} は日付として読めません。2019-01-24 のように書いてください",
    ),
    "date_twice": ("{value} appears twice in the dates", "dates に {value} が 2 回書かれています"),
    "day_outside": (
        "{day} is not one of the event's dates: {dates}",
        "{day} は dates にありません: {dates}",
    ),
    "bad_time": (
        "{value} is not a time; write it as 09:30, after midnight as 26:00",
        "{value} は時刻として読めません。09:30 のように、深夜 0 時以降は 26:00 のように書いてください",
    ),
    "end_alone": (
        "`end` without `start`; add `start`",
        "start がないのに end があります。start も書いてください",
    ),
    "end_at_start": (
        "the end is the same as the start, {time}; delete `end` if it is open",
        "終了が開始と同じ {time} です。終了が決まっていなければ end を消してください",
    ),
    "end_before_start": (
        "the end {end} is before the start {start}; after midnight write {after}",
        "終了 {end} が開始 {start} より前です。翌日にかかるなら {after} と書いてください",
    ),
    "end_earlier": (
        "the end {end} is before the start {start}",
        "終了 {end} が開始 {start} より前です",
    ),
    "chosen_few": (
        "{chosen} teams were selected, but {came} took part; add `took_part: false` to teams that did not take part",
        "採択は {chosen} チームなのに、参加が {came} チームあります。参加しなかったチームには took_part: false "
        "と書きます",
    ),
    "applied_few": (
        "{applied} teams applied, but {chosen} were selected",
        "応募が {applied} チームなのに、採択が {chosen} チームあります",
    ),
    "parameter_name": (
        "a parameter name starts with a letter and contains only letters, digits, - and _",
        "パラメータの名前は文字で始め、文字・数字・- ・_ だけを使ってください",
    ),
    "parameter_type": ("{value} is not of type {type}", "{value} は型 {type} の値ではありません"),
    "parameter_limits": (
        "min and max are only for numbers; this is of type {type}",
        "min と max は数のためのものですが、型が {type} です",
    ),
    "parameter_range": (
        "min {least} is greater than max {most}",
        "最小値 {least} が最大値 {most} を超えています",
    ),
    "no_choices": ("the list of choices is empty", "選択肢が空です"),
    "check_empty": ("set at_least or at_most", "at_least か at_most を書いてください"),
    "pattern": (
        "{pattern} is not a regular expression: {reason}",
        "{pattern} は正規表現として読めません: {reason}",
    ),
    "pattern_groups": (
        "the pattern needs exactly one group (…) around the number; it has {count}",
        "数値を囲むグループ `(…)` がちょうど 1 つ必要です（今は {count} 個）",
    ),
    "variable_name": (
        "a variable name contains only letters, digits, and _, and does not start with a digit",
        "変数名には英数字と _ だけを使ってください。数字では始められません",
    ),
    "shell_text": (
        'the script puts this text between double quotes; write \\" for a quote, and no line breaks',
        '値はスクリプトで "…" の中に置かれます。引用符は \\" と書き、改行は使わないでください',
    ),
    # command
    "command_shell": (
        "`{operator}` needs a shell, but a command is not run by a shell; put it into run.sh and write `command: bash "
        "run.sh`",
        "「{operator}」はシェルの機能で、command には書けません。run.sh に書き、command: bash run.sh としてください",
    ),
    "command_quote": (
        "a quote is not closed in {command}",
        "{command} の引用符が閉じていません",
    ),
    "command_empty": ("the command is empty", "コマンドが空です"),
    "command_nul": ("the command contains a NUL character", "コマンドに NUL 文字が含まれています"),
    "command_brace": (
        "{text} is not the name of a parameter; write {{{{ and }}}} for braces",
        "{text} はパラメータ名ではありません。波括弧そのものは {{{{ と }}}} で書きます",
    ),
    "command_placeholder": (
        "`{{{name}}}` is not declared under parameters",
        "「{{{name}}}」が parameters にありません",
    ),
    "command_placeholder_near": (
        "`{{{name}}}` is not declared under parameters; did you mean `{{{near}}}`?",
        "「{{{name}}}」が parameters にありません。「{{{near}}}」のことですか？",
    ),
    "command_no_value": ("the parameter {name} has no value", "パラメータ {name} に値がありません"),
    "data_name": (
        "{name} is not a valid name for data: letters, digits, '.', '-' and '_', at most 100",
        "{name} はデータの名前にできません（英数字と '.'・'-'・'_'、100 文字まで）",
    ),
    "data_twice": ("{name} appears twice in the data", "データ {name} が 2 回書かれています"),
    "data_url": (
        "{url} is not a URL: https://…, http://… or file:///…",
        "{url} は URL ではありません（https://…、http://…、file:///…）",
    ),
    "data_sha256": ("a SHA-256 has 64 hexadecimal digits", "SHA-256 は 16 進数 64 桁です"),
}
