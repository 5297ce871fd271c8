"""Messages of `hackathon.config.trust` and of `hackathon trust`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "about": ("The event {file} belongs to {owner}.", "イベント {file} の所有者は {owner} です。"),
    "about_project": ("The project {file} belongs to {owner}.", "プロジェクト {file} の所有者は {owner} です。"),
    "also_written": ("{who} can change it, too.", "{who} も変更できます。"),
    "teams": ("It has {count} {count:team|teams}: {names}.", "チームは {count} 組です: {names}。"),
    "no_teams": ("It has no teams.", "チームはありません。"),
    "group": ("group {name}", "グループ {name}"),
    "everybody": ("everybody", "すべての利用者"),
    "means": (
        "If you trust it, its settings, templates and budget apply to your jobs, and your posts go to its board. If "
        "not, it is ignored. You are asked only once.",
        "信頼すると、イベントの設定・テンプレート・割り当てが自分のジョブに適用され、投稿はイベントの掲示板に載ります。"
        "信頼しなければ無視します。この確認は 1 回だけです。",
    ),
    "ask": ("Trust this event?", "このイベントを信頼しますか"),
    "event": ("{about} You have not trusted it yet.", "{about}まだ信頼されていません。"),
    "event_hint": (
        "if you take part in it, type: hackathon trust {folder!q}; otherwise: hackathon trust --ignore {folder!q}",
        "参加している場合は hackathon trust {folder!q} を、そうでない場合は hackathon trust --ignore {folder!q} を"
        "実行してください",
    ),
    "belongs": ("{path} belongs to {owner}", "{path} の所有者は {owner} です"),
    "written": ("{path} can be changed by {who}", "{path} は {who} が変更できます"),
    "foreign": (
        "{what}; commands, environments and templates of other accounts are not run",
        "{what}。他のアカウントのコマンド・環境・テンプレートは実行しません",
    ),
    "foreign_hint": (
        "check {place} first; --trust then runs it once, and `hackathon trust FOLDER` trusts a project from now on. If "
        "it is yours, you can also close it to others: chmod go-w",
        "先に {place} の内容を確認してください。--trust を付けると今回だけ実行し、hackathon trust フォルダ でそのプロジェクト"
        "を今後も信頼します。自分のものなら、chmod go-w で他の利用者の書き込みを禁止することもできます",
    ),
    "foreign_folder": (
        "{what}; nothing is written there, for others could replace it or put links and programs into it",
        "{what}。他の利用者が中身を置き換えたり、リンクやプログラムを置いたりできるため、書き込みません",
    ),
    "foreign_folder_hint": (
        "use a folder of your own, remove {folder} if it is not yours to keep, or close it: chmod go-w. --trust uses it "
        "this once; a project of your team counts after `hackathon trust`",
        "自分のフォルダを使うか、不要なら {folder} を削除するか、chmod go-w で他の利用者の書き込みを禁止してください。--trust "
        "を付けると今回だけ使います。チームのプロジェクトは hackathon trust で信頼すると書き込めます",
    ),
    "left_out": ("{what}; it is not used (--trust uses it)", "{what}。使用しません（使用するには --trust）"),
    "taken": ("event: {title} ({folder})", "イベント: {title}（{folder}）"),
    "trusted": ("trusted: {folder}", "信頼しました: {folder}"),
    "ignored": ("ignored from now on: {folder}", "今後は無視します: {folder}"),
    "not_needed": (
        "{folder} needs no trust: only you or root can change it",
        "{folder} は自分か root しか変更できないため、信頼の登録は不要です",
    ),
    "removed": ("removed: {folder}", "登録を削除しました: {folder}"),
    "no_entry": ("there is no decision about {folder}", "{folder} の登録はありません"),
    "no_entry_hint": ("list all: hackathon trust --list", "一覧: hackathon trust --list"),
    "nothing": (
        "{folder} has no hackathon.yaml and no project.yaml",
        "{folder} に hackathon.yaml も project.yaml もありません",
    ),
    "none": ("no decisions yet", "登録はまだありません"),
    "one_of": (
        "use only one of --list, --remove and --ignore; --list takes no path",
        "--list、--remove、--ignore は 1 つだけ指定してください。--list にパスは指定できません",
    ),
    "can_not_write": ("the decision cannot be saved: {what}", "登録を保存できません: {what}"),
    "can_not_write_hint": (
        "set XDG_CONFIG_HOME to a folder that you can write, or add --trust to the command",
        "XDG_CONFIG_HOME に書き込めるフォルダを指定するか、コマンドに --trust を付けてください",
    ),
    "not_kept": (
        "{file} was written, but it does not belong to this account or others can read it, so it is not used",
        "{file} に書き込みましたが、所有者がこのアカウントでないか、他の利用者が読めるため、使用しません",
    ),
    "not_kept_hint": (
        "set XDG_CONFIG_HOME to a folder on a file system that keeps owners and modes",
        "所有者とモードを保持するファイルシステム上のフォルダを XDG_CONFIG_HOME に指定してください",
    ),
    "head_answer": ("decision", "判断"),
    "head_owner": ("owner", "所有者"),
    "head_folder": ("folder", "フォルダ"),
    "answer_trust": ("trusted", "信頼"),
    "answer_ignore": ("ignored", "無視"),
    "option": (
        "Use commands, environments and templates of other accounts.",
        "他のアカウントのコマンド・環境・テンプレートを使う",
    ),
    "option_list": ("List your decisions.", "登録を一覧表示"),
    "option_remove": ("Remove the decision about PATH.", "PATH の登録を削除"),
    "option_ignore": (
        "Ignore the event from now on, as if its file did not exist.",
        "今後このイベントを、ファイルがないものとして無視する",
    ),
}
