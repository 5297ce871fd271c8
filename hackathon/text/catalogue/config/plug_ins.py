"""Messages of `hackathon.config.plug_ins` and `hackathon plugins`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "broken": (
        "The package {package} cannot be used: entry point {group}: {name} = {target}: {reason}",
        "パッケージ {package} を使えません。エントリーポイント {group}: {name} = {target}: {reason}",
    ),
    "broken_hint": (
        "Install a version of {distribution} that fits this toolkit, or remove it: "
        "python -m pip uninstall {distribution!q}. Everything else works without it.",
        "このツールに合う {distribution} を入れるか、python -m pip uninstall {distribution!q} で削除してください。"
        "ほかの機能はそのまま使えます。",
    ),
    "twice": (
        "{name} ({group}) is in several packages: {packages}",
        "{name}（{group}）が複数のパッケージにあります: {packages}",
    ),
    "twice_hint": (
        "Remove all but one of them: python -m pip uninstall NAME",
        "python -m pip uninstall 名前 で 1 つだけ残してください。",
    ),
    "hidden": (
        "{name} ({group}) of the package {package} is not used: the toolkit has its own.",
        "パッケージ {package} の {name}（{group}）は使われません。ツール自身に同じ名前があります。",
    ),
    "rule_hidden": (
        "the rule {id} of the package {package} is not used: {other} has one of this name",
        "パッケージ {package} のルール {id} は使われません。同じ名前のルールが {other} にあります",
    ),
    "bad_name": (
        "a name must not be empty, begin with a dot or contain a slash",
        "名前は空にせず、先頭のドットやスラッシュを含めないでください",
    ),
    "no_folder_name": (
        "the value must be a folder of a package, such as package.folder",
        "値は package.folder のような、パッケージ内のフォルダにしてください",
    ),
    "no_folder": ("the folder {folder} does not exist", "フォルダ {folder} がありません"),
    "no_file": ("the file {file} does not exist", "ファイル {file} がありません"),
    "no_command": ("it is not a click command but {type}", "click のコマンドではなく {type} です"),
    "no_templates": (
        "Cluster {cluster} takes its job templates from {name}, which no installed package has.",
        "クラスタ {cluster} が使うジョブのテンプレート {name} は、どのパッケージにもありません。",
    ),
    "no_templates_hint": (
        "Install the package that brings them, or take `templates:` out of the profile. `hackathon plugins` lists what "
        "is installed.",
        "テンプレートを含むパッケージを入れるか、プロファイルから templates: を削除してください。"
        "hackathon plugins でインストール済みのものを確認できます。",
    ),
    "gone": (
        "The run took the cluster {cluster} from the package {package}, which is not installed here.",
        "この実行のクラスタ {cluster} はパッケージ {package} のものですが、ここにはインストールされていません。",
    ),
    "gone_hint": (
        "Install the package, or choose another cluster: --cluster NAME",
        "パッケージをインストールするか、--cluster 名前 で別のクラスタを選んでください。",
    ),
    "none": (
        "No installed package adds anything to the toolkit.",
        "ツールに機能を追加するパッケージはありません。",
    ),
    "section": ("From installed packages (hackathon plugins)", "追加パッケージのコマンド（hackathon plugins）"),
    "kind": ("kind", "種類"),
    "package": ("package", "パッケージ"),
    "state": ("state", "状態"),
    "good": ("usable", "使用可"),
    "bad": ("broken", "使用不可"),
    "unused": ("not used", "不使用"),
    "some_bad": (
        "{count} {count:entry point|entry points} cannot be used.",
        "使えないエントリーポイントが {count} 個あります。",
    ),
}
