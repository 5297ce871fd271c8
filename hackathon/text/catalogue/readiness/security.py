"""Messages of `hackathon doctor --security`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option": (
        "Check instead what other users could read or change in this account.",
        "代わりに、このアカウントについて他の利用者が読めるもの・変更できるものを調べる",
    ),
    "umask": ("umask", "umask"),
    "home": ("home", "ホーム"),
    "secrets": ("keys and passwords", "鍵とパスワード"),
    "folder": ("toolkit's folder", "ツールのフォルダ"),
    "node": ("folder on this node", "このノードのフォルダ"),
    "project": ("project", "プロジェクト"),
    "runs": ("runs", "実行"),
    "board": ("board", "掲示板"),
    "surveys": ("surveys", "アンケート"),
    "search": ("search paths", "検索パス"),
    "everybody": ("every user of this machine", "このマシンの全利用者"),
    "group": ("members of the group {name}", "グループ {name} のメンバー"),
    "only_you": ("only you can change {path}", "{path} を変更できるのは自分だけです"),
    "change": (
        "{who} can change {path} (see the mode of {place})",
        "{who}が {path} を変更できます（{place} のモードによる）",
    ),
    "team_changes": (
        "{who} can change {path}, as intended for a team's folder",
        "{who}が {path} を変更できます（チームのフォルダなので意図どおりです）",
    ),
    "umask_good": ("{mask}: others cannot change your new files", "{mask}: 新しいファイルを他の利用者は変更できません"),
    "umask_open": (
        "{mask}: every user of this machine can change your new files",
        "{mask}: 新しいファイルをこのマシンの全利用者が変更できます",
    ),
    "umask_group": (
        "{mask}: members of the group {group} can change your new files",
        "{mask}: 新しいファイルをグループ {group} のメンバーが変更できます",
    ),
    "secrets_closed": (
        "{count} known {count:file|files} found, readable only by you",
        "既知のファイルが {count} 個あり、読めるのは自分だけです",
    ),
    "secret_open": ("{who} can read {path}", "{who}が {path} を読めます"),
    "node_foreign": (
        "{path} belongs to {user}; the toolkit does not use it",
        "{path} は {user} のものです。このツールは使いません",
    ),
    "node_foreign_remedy": (
        "ask the support of the computing centre to remove it",
        "計算センターのサポートに削除を依頼してください",
    ),
    "node_open": ("{path} is open to others (mode {mode})", "{path} に他の利用者が入れます（モード {mode}）"),
    "runs_good": (
        "only you can change the {count} {count:run|runs} of yours in {path}",
        "{path} にある自分の実行 {count} 件を変更できるのは自分だけです",
    ),
    "runs_open": (
        "{who} can change {count} of your runs, for example {path}",
        "{who}が自分の実行 {count} 件を変更できます（例: {path}）",
    ),
    "runs_read": (
        "{who} can read logs, results, and sources in {path}; this is usual, and tutors need it",
        "{who}が {path} のログ・結果・ソースを読めます（通常の設定です。チューターにも必要です）",
    ),
    "board_good": (
        "nobody can change or delete another's posts in {path}",
        "{path} で他人の投稿を変更・削除できる人はいません",
    ),
    "board_remedy": (
        "tell the organiser: `hackathon event check` shows what to do",
        "主催者に連絡してください。`hackathon event check` が対処を示します",
    ),
    "surveys_open": ("{path} is open to others (mode {mode})", "{path} に他の利用者が入れます（モード {mode}）"),
    "search_good": (
        "no folder in PATH, PYTHONPATH, or LD_LIBRARY_PATH is writable by every user",
        "PATH・PYTHONPATH・LD_LIBRARY_PATH に、全利用者が書き込めるフォルダはありません",
    ),
    "search_open": (
        "{path} in {variable}: every user can put programs there (see the mode of {place})",
        "{variable} の {path}: 全利用者がプログラムを置けます（{place} のモードによる）",
    ),
    "search_relative": (
        "{text} in {variable} means the current folder, which may be somebody else's",
        "{variable} の {text} は現在のフォルダを指します。他人のフォルダかもしれません",
    ),
    "search_remedy": ("remove it from the variable", "変数から外してください"),
}
