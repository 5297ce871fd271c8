"""Messages of `hackathon.logs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "bad_pattern": (
        "the pattern of metric {name} is not a regular expression: {error}: {pattern}",
        "指標 {name} のパターンが正規表現として正しくありません: {error}: {pattern}",
    ),
    "bad_pattern_hint": (
        "put one group around the number, for example 'throughput: ([0-9.]+)', in single quotes in YAML",
        "数値を 1 つの括弧で囲み、YAML では単一引用符で書いてください（例: 'throughput: ([0-9.]+)'）",
    ),
    "endless_pattern": (
        "the pattern of metric {name} may take forever on a line that almost matches: {pattern}",
        "指標 {name} のパターンは、ほぼ一致する行で検索が終わらないおそれがあります: {pattern}",
    ),
    "endless_pattern_hint": (
        "do not repeat a repetition or a choice: 'a+' instead of '(a+)+'",
        "繰り返しや選択を、さらに繰り返さないでください（例: '(a+)+' ではなく 'a+'）",
    ),
    "slow_pattern": (
        "the search for the metric patterns of project {project} took too long and was stopped ({names}, run {run})",
        "プロジェクト {project} の指標のパターンは検索に時間がかかりすぎるため、検索を中止しました"
        "（{names}、実行 {run}）",
    ),
    "slow_pattern_hint": (
        "in the metrics of project.yaml, write the words around the number, and only one repetition: "
        "'throughput: ([0-9.]+)'",
        "project.yaml の指標では、数値の前後の語をそのまま書き、繰り返しは 1 つにしてください"
        "（例: 'throughput: ([0-9.]+)'）",
    ),
    "bad_ranks": (
        "{value!r} is not a rank such as 3, 0-3, or 0,4-7",
        "{value!r} はランクの指定ではありません（例: 3、0-3、0,4-7）",
    ),
    "bad_since": (
        "{value!r} is not a time such as 10m, 2h, 14:30, or 2026-11-21 14:30",
        "{value!r} は時刻として読めません（例: 10m、2h、14:30、2026-11-21 14:30）",
    ),
    "bad_grep": (
        "{pattern!r} is not a regular expression: {error}",
        "{pattern!r} は正規表現として正しくありません: {error}",
    ),
    "bad_grep_hint": (
        "put a backslash before ( ) [ ] . * + ? to search for the character itself",
        "( ) [ ] . * + ? の文字そのものを探すには、前にバックスラッシュを付けてください",
    ),
    "raw_alone": (
        "--raw shows files unchanged and cannot be combined with --follow, --grep, or --since",
        "--raw はファイルをそのまま表示します。--follow、--grep、--since とは併用できません",
    ),
    "raw_alone_hint": ("omit --raw or the other option", "--raw か他方のオプションを外してください"),
    "no_rank": (
        "no output from rank {ranks}; ranks with a log: {known}",
        "ランク {ranks} の出力はありません。ログがあるのはランク {known} です",
    ),
    "stacks_alone": ("--stacks goes with --rank only", "--stacks と併用できるのは --rank だけです"),
    "stacks_alone_hint": ("omit the other options", "ほかのオプションを外してください"),
    "stacks_asked": (
        "asking the ranks where they are; they answer within {seconds} s",
        "各ランクに現在位置を問い合わせています（{seconds} 秒以内に答えます）",
    ),
    "stacks_not_asked": (
        "the ranks cannot be asked, for {folder} cannot be written: {what}",
        "{folder} に書き込めないため、各ランクに問い合わせできません: {what}",
    ),
    "stacks_silent": (
        "no answer from ranks {ranks} within {seconds} s: they have not begun, are over, or do not run Python",
        "ランク {ranks} は {seconds} 秒以内に答えませんでした。まだ始まっていない、終わった、または Python ではありません",
    ),
    "no_stacks": (
        "no rank left a stack: Python writes one when somebody asks, shortly before the walltime ends, and when the job "
        "is cancelled",
        "スタックを残したランクはありません。Python は、終了を指示されたとき、実行時間の上限の直前、問い合わせを受けたときにスタックを書きます",
    ),
    "stack_waits": ("waits in {function}", "{function} で待っています"),
    "none_match": ("no line matches", "該当する行はありません"),
}
