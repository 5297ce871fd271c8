"""Messages of the published site's first page and of `hackathon publish`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # the first page
    "lead": (
        "What the teams built, how far their training scales, and how to run it again.",
        "各チームの成果と学習のスケーリング、そして再実行に必要なすべてをまとめました。",
    ),
    "at_a_glance": ("At a glance", "概要"),
    "teams": ("Teams", "チーム"),
    "teams_note": ("{count} with measurements", "うち測定あり {count}"),
    "people_and_survey": ("Participants and questionnaire", "参加者とアンケート"),
    "people": ("Participants", "参加者"),
    "people_note": ("{teams} of {chosen} selected teams", "採択 {chosen} チーム中 {teams} チーム"),
    "answers": ("Questionnaire answered", "アンケートの回答"),
    "answers_note": ("{n} of {invited} people", "{invited} 人中 {n} 人"),
    "answers_people": ("people", "人"),
    "runs": ("Runs", "実行"),
    "runs_note": ("{good} succeeded", "成功 {good}"),
    "best": ("Largest speed-up", "最大の速度向上率"),
    "best_note": ("{team}, {processes}", "{team}、{processes}"),
    "gpu_hours": ("GPU-hours", "GPU 時間"),
    "node_hours": ("Node-hours", "ノード時間"),
    "tokens": ("Tokens", "トークン"),
    "curves": ("Scaling of all teams", "全チームのスケーリング"),
    "curves_more": ("All results, and published ones for comparison", "全結果と公表値との比較"),
    "hosted": ("Hosted by {hosts}", "主催: {hosts}"),
    "hosted_with": ("Hosted by {host}; co-hosts: {others}", "主催: {host}、共催: {others}"),
    "report": ("Report", "開催報告"),
    "lectures": ("Lecture material", "講習会資料"),
    "elsewhere": ("More about the event", "関連ページ"),
    "tutors": ("Tutors", "チューター"),
    "teams_apart": ("{count} only on an own computer", "手元のコンピュータでのみ測定 {count}"),
    "not_compared": (
        "Measured on the team’s own computer, not compared: {speedup} × with {processes}.",
        "手元のコンピュータでの測定のため比較していません: {speedup} ×（{processes}）。",
    ),
    "no_result": ("No scaling result is published.", "公開されている測定結果はありません。"),
    "picture_outside": (
        "{file} is not a path below the event's folder",
        "{file} はイベントのフォルダより下のパスではありません",
    ),
    "picture_outside_hint": (
        "copy the picture into the event's folder and write its name relative to hackathon.yaml",
        "画像をイベントのフォルダにコピーし、hackathon.yaml からの相対パスを書いてください",
    ),
    "picture_unreadable": (
        "picture {file} does not exist in the event's folder, is a link, or cannot be read",
        "画像 {file} がイベントのフォルダにないか、リンクであるか、読めません",
    ),
    "picture_large": (
        "picture {file} is too large (limit {limit})",
        "画像 {file} が大きすぎます（上限 {limit}）",
    ),
    "picture_large_hint": ("scale it down", "縮小してください"),
    "picture_kind": (
        "{file} is neither a whole PNG nor a whole JPEG",
        "{file} は完全な PNG・JPEG ではありません",
    ),
    "picture_kind_hint": ("convert it to PNG or JPEG", "PNG か JPEG に変換してください"),
    "no_teams": ("No team has measurements yet.", "まだどのチームも測定していません。"),
    "all_results": ("All results in one table:", "全結果をまとめた表:"),
    # publishing
    "foreign_site": (
        "{path} was not created by hackathon publish",
        "{path} は hackathon publish が作成したものではありません",
    ),
    "foreign_site_hint": (
        "choose another folder with --to, or move that folder away",
        "--to で別のフォルダを指定するか、そのフォルダを移動してください",
    ),
    "worker_failed": (
        "the site could not be created: {reason}",
        "公開ページを作成できませんでした（{reason}）",
    ),
    "page_left_out": ("{page} is not in the site: {reason}", "{page} は公開ページに含まれません: {reason}"),
    "no_scripts": (
        "plots are static images and cannot be zoomed: {reason}",
        "図の拡大表示は使えません（静止画のみ）: {reason}",
    ),
    "no_folder": ("no output folder given: --to DIR", "書き出し先がありません: --to DIR"),
    "no_folder_hint": (
        "`--check` alone shows what would be published",
        "`--check` だけを付けると、公開される内容を確認できます",
    ),
    "holds_runs": (
        "{path} contains the event or its runs; anyone who copies the site would copy them too",
        "{path} にはイベントや実行が入っています。サイトのコピーにそれらまで含まれてしまいます",
    ),
    "holds_runs_hint": ("choose a separate folder: --to site", "専用のフォルダを指定してください: --to site"),
    "made": (
        "{count} files, {size}; {made} of them new or changed",
        "ファイル {count} 個、{size}（うち新規・変更 {made}）",
    ),
    "take_home": ("To copy it, run on your own computer:", "手元のコンピュータにコピーするには:"),
    # what would go out
    "would_go_out": ("Would be published: {count} files, {size}", "公開される内容: ファイル {count} 個、{size}"),
    "of_team": (
        "  {team}: pages {pages}, studies {studies}, runs with a page {runs}, RO-Crates {crates}",
        "  {team}: ページ {pages}、測定 {studies}、ページのある実行 {runs}、RO-Crate {crates}",
    ),
    "masked": (
        "Removed (the original values are shown only here):",
        "取り除いたもの（元の値はここにだけ表示されます）:",
    ),
    "nothing": ("nothing", "なし"),
    "suspicious": (
        "{count} {count:place|places} may still contain private data:",
        "公開してはならない可能性のある箇所が {count} か所残っています:",
    ),
    "clean": (
        "Nothing in it looks like private data.",
        "秘密情報らしきものは見つかりませんでした。",
    ),
    "kind_secret": ("secrets", "秘密情報"),
    "kind_e_mail": ("e-mail addresses", "メールアドレス"),
    "kind_address": ("network addresses", "ネットワークアドレス"),
    "kind_path": ("paths", "パス"),
    "kind_host": ("hosts", "ホスト"),
    "kind_group": ("groups", "グループ"),
    "kind_user": ("people", "利用者"),
    "kind_team": ("teams", "チーム"),
    "kind_random": ("looks like a key", "鍵のような文字列"),
}
