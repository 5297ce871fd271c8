"""Messages of `hackathon.logs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "bad_pattern": (
        "the pattern of metric {name} is not a regular expression: {error}: {pattern}",
        "指標 {name} のパターンが正規表現として正しくありません: {error}: {pattern}",
    ),
    "bad_pattern_hint": (
        "write one group around the number, e.g. 'throughput: ([0-9.]+)', in single quotes in YAML",
        "数値を 1 つの括弧で囲み、YAML では単一引用符で書いてください（例: 'throughput: ([0-9.]+)'）",
    ),
}
