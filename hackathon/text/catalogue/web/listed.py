"""Messages of tables that can be sorted, filtered and turned over: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "filter": ("Filter", "絞り込み"),
    "filter_of": ("Filter: {name}", "絞り込み: {name}"),
    "rows": ("{count} of {all}", "{all} 件中 {count} 件"),
    "pages_of": ("Pages: {name}", "ページ: {name}"),
}
