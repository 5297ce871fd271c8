"""Messages of taking answers from files: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "unreadable": ("the file cannot be read: {what}", "ファイルを読めません: {what}"),
    "large": ("the file is larger than {limit} MiB", "ファイルが {limit} MiB を超えています"),
    "all_large": (
        "together, the files contain more than {limit} MiB of answers",
        "ファイルの回答は合わせて {limit} MiB を超えています",
    ),
    "all_large_hint": ("import them one after another", "1 つずつ取り込んでください"),
    "empty": ("the file is empty", "ファイルが空です"),
    "many": ("more than {rows} rows or {columns} columns", "{rows} 行または {columns} 列を超えています"),
    "no_encoding": ("there is no encoding {encoding}", "文字コード {encoding} はありません"),
    "no_encoding_hint": (
        "utf-8, cp932 (Excel in Japanese), euc_jp, utf-16",
        "utf-8・cp932（日本語版 Excel）・euc_jp・utf-16 などを指定してください",
    ),
    "encoding": (
        "line {line} is not valid {encoding}",
        "{line} 行目が {encoding} として読めません",
    ),
    "encoding_hint": (
        "set the encoding: --encoding cp932, utf-8, euc_jp, utf-16",
        "文字コードを指定してください: --encoding cp932・utf-8・euc_jp・utf-16",
    ),
    "nul": ("line {line} contains a NUL character", "{line} 行目に NUL 文字があります"),
    "nul_hint": (
        "for UTF-16 without a byte order mark use --encoding utf-16-le; if it is a spreadsheet, export it as CSV",
        "BOM のない UTF-16 なら --encoding utf-16-le を付けてください。表計算のファイルなら CSV で書き出してください",
    ),
    "torn": (
        "the cell that starts in line {line} is not closed ({what}): the file may be incomplete",
        "{line} 行目から始まるセルが閉じていません（{what}）。ファイルが途中で切れている可能性があります",
    ),
    "torn_hint": ("download or export it again", "もう一度ダウンロードまたは書き出してください"),
    "torn_json": (
        "incomplete answer: the file is not valid JSON",
        "回答が途中で切れています（JSON として読めません）",
    ),
    "torn_json_hint": (
        "ask for the file again, unchanged, as the offline page saved it",
        "オフラインのページで保存したファイルを、そのまま送り直してもらってください",
    ),
    "no_answer": ("the file is not an answer", "回答のファイルではありません"),
    "other_survey": (
        "an answer to another survey than {name}, or to an earlier version of {name}",
        "{name} とは別のアンケートか、変更前の {name} への回答です",
    ),
    "other_survey_hint": (
        "give the survey that it belongs to: `hackathon survey import FILE NAME`",
        "`hackathon survey import ファイル 名前` で対応するアンケートを指定してください",
    ),
    "no_column": (
        "this column does not match a question (column {number}; read as {encoding})",
        "質問に対応しない列です（{number} 列目、文字コード {encoding}）",
    ),
    "no_column_hint": (
        "assign it with --map '#{number}=ID', or skip it with --map '#{number}=-'",
        "対応する質問を --map '#{number}=ID' で、不要なら --map '#{number}=-' で指定してください",
    ),
    "no_heading": ("no column has this heading", "この見出しの列はありません"),
    "no_heading_hint": (
        "write the heading as in the file, or use the column number: --map '#3=ID'",
        "ファイルの見出しのとおりに書くか、列番号で指定してください: --map '#3=ID'",
    ),
    "missing_column": ("no column matches question {question}", "質問 {question} の列がありません"),
    "missing_column_hint": (
        "assign a column with --map 'HEADING={question}'; if it was not asked, use --map '-={question}'",
        "列を --map '見出し={question}' で指定してください。尋ねていないなら --map '-={question}' としてください",
    ),
    "column_twice": (
        "several columns match {question}: {numbers}",
        "質問 {question} の列が複数あります: {numbers}",
    ),
    "column_twice_hint": (
        "skip all but one: --map '#{number}=-'",
        "1 つを残して --map '#{number}=-' のように除いてください",
    ),
    "tokens_twice": ("there are two columns of tokens", "トークンの列が 2 つあります"),
    "cells": (
        "{cells} cells, but there are {columns} columns",
        "セルが {cells} 個です（列は {columns} 個）",
    ),
    "cells_hint": (
        "the file may be incomplete, or text that contains the delimiter is not quoted: export it again",
        "ファイルが途中で切れているか、区切り文字を含む文が引用符で囲まれていません。書き出し直してください",
    ),
    "no_yes": (
        "{value} does not say whether the option was chosen: use Y or leave it empty",
        "{value} では選択されたか分かりません（Y か空欄）",
    ),
    "done": (
        "{name}: {counted} {counted:answer|answers} imported",
        "{name} に回答 {counted} 件を取り込みました",
    ),
    "would": (
        "{name}: {counted} {counted:answer|answers} would be imported; nothing was saved",
        "{name} に回答 {counted} 件を取り込めます（まだ何も保存していません）",
    ),
    "nothing": (
        "nothing was imported: fix the file, or skip such rows with --skip-bad",
        "何も取り込んでいません。ファイルを直すか、--skip-bad で問題のある行を除いてください",
    ),
    "nothing_at_all": ("nothing was imported", "何も取り込んでいません"),
    "known": ("{count} {count:row|rows} had been imported already", "{count} 行は取り込み済みです"),
    "spent": (
        "{count} {count:answer does|answers do} not count: the token was already used",
        "{count} 件はトークンが使用済みのため数えません",
    ),
    "blank": ("{count} {count:row has|rows have} no answers", "{count} 行はどの質問にも答えていません"),
    "incomplete": (
        "{count} {count:row|rows} left out: the form was not sent (--incomplete takes them)",
        "送信されていない {count} 行を除きました（--incomplete で取り込めます）",
    ),
    "skipped": ("{count} {count:row|rows} skipped", "{count} 行を除きました"),
    "column_of": ("column", "列"),
    "is_question": ("question", "質問"),
    "role_token": ("(token)", "（トークン）"),
    "role_identity": ("(person and time: not stored)", "（本人・時刻: 保存しません）"),
    "role_ignored": ("(skipped)", "（使いません）"),
}
