"""Messages of `hackathon.diagnosis` and of `hackathon diagnose`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "missing": ("; rank {missing} never joined", "。ランク {missing} が来ていません"),
    "missing_in": (
        "; rank {missing} never joined ({operation})",
        "。ランク {missing} が来ていません（{operation}）",
    ),
    "stood_still": (
        "; it stood still for {span} before that",
        "（打ち切りまでの {span} は進んでいません）",
    ),
    "stood_still_step": (
        "; it stood still since step {step} for {span} before that",
        "（打ち切りまでの {span} はステップ {step} から進んでいません）",
    ),
    "memory_seen": (" (in use on a node: up to {memory})", "（ノードでの使用量: 最大 {memory}）"),
    "at_step": (" at step {step}", "ステップ {step} で"),
    "last_good": (" (before: {value})", "（直前の値: {value}）"),
    # what is shown
    "cause": ("Cause: {part}", "原因: {part}"),
    "likely": ("Possibly related: {part}", "関係があるかもしれません: {part}"),
    "secondary": ("Follow-on error: {part}", "二次的な症状: {part}"),
    "where": ("where", "場所"),
    "program": ("in your program", "プログラムの行"),
    "why": ("why", "考えられる理由"),
    "todo": ("fix", "対処"),
    "check": ("check", "確認"),
    "read_on": ("read on", "参考"),
    "rank": ("rank {rank}", "ランク {rank}"),
    "ranks": ("ranks {ranks}", "ランク {ranks}"),
    "times": ("{count} times", "{count} 回"),
    "harmless": ("Harmless warning: {text}", "害のない警告です: {text}"),
    "only_consequences": (
        "These errors follow from a failure elsewhere; the first failure is not in these logs.",
        "これらは別の場所の失敗による二次的なメッセージです。最初に失敗した原因はこのログにはありません。",
    ),
    "nothing": ("No known failure was found.", "既知の障害は見つかりませんでした。"),
    "stacks_now": (
        "To see where each rank is now: hackathon logs {run!q} --stacks",
        "各ランクが今どこにいるか: hackathon logs {run!q} --stacks",
    ),
    "stacks_then": (
        "To see where each rank was when the job was ended: hackathon logs {run!q} --stacks",
        "ジョブが終了させられた時点の各ランクの位置: hackathon logs {run!q} --stacks",
    ),
    "unknown": (
        "This failure is not known. The rarest lines before it:",
        "既知の障害ではありません。失敗の前にある珍しい行:",
    ),
    "bundle": (
        "For a tutor: hackathon diagnose {target!q} --bundle FILE.tar.gz",
        "チューターに見せるには: hackathon diagnose {target!q} --bundle FILE.tar.gz",
    ),
    "bundled": (
        "created {path} ({size}, {count} files) for a tutor",
        "チューター用に {path} を作りました（{size}、{count} ファイル）",
    ),
    "bundle_scrubbed": (
        "Secrets, home folders, and user names are replaced; host names and the text of the logs are not. Check it "
        "before you send it: tar -tzf {path}",
        "秘密情報・ホームディレクトリ・ユーザー名は置き換えましたが、ホスト名とログの文言はそのままです。"
        "送る前に確認してください: tar -tzf {path}",
    ),
    "bundle_left_out": ("left out:", "含めなかったもの:"),
    "bundle_one": (
        "a bundle holds one run, or files; {count} were given",
        "--bundle は 1 つの実行かファイルに対して使います（対象が {count} 件あります）",
    ),
    "bundle_one_hint": (
        "name one run: hackathon diagnose RUN --bundle",
        "実行を 1 つ指定してください: hackathon diagnose RUN --bundle",
    ),
    "bundle_name": ("{name!r} is not a valid name for a bundle", "{name!r} はファイル名にできません"),
    "bundle_name_hint": (
        "the name must end in .tar.gz; the run comes before the option: hackathon diagnose RUN --bundle",
        ".tar.gz で終わる名前にしてください。実行はオプションの前に書きます: hackathon diagnose RUN --bundle",
    ),
    "bundle_not_written": ("{path} cannot be written: {what}", "{path} に書き込めません: {what}"),
    "bundle_not_written_hint": (
        "choose another place: hackathon diagnose RUN --bundle /tmp/NAME.tar.gz",
        "別の場所を指定してください: hackathon diagnose RUN --bundle /tmp/NAME.tar.gz",
    ),
    "left_many": ("{count} more files", "ほか {count} ファイル"),
    "left_program": ("the program itself", "プログラム本体"),
    "left_folder": ("not a record of the run", "実行の記録ではないため"),
    "left_full": ("the bundle is full", "容量の上限に達したため"),
    "left_binary": ("not text", "テキストではないため"),
    "left_beginning": ("only the last {kept} of {size}", "{size} のうち最後の {kept} だけ"),
    "more": ("Full diagnosis: hackathon diagnose {run!q}", "詳しくは: hackathon diagnose {run!q}"),
    "more_unknown": (
        "no known cause; see the most telling lines: hackathon diagnose {run!q}",
        "既知の原因には当てはまりません。手がかりになる行を見るには: hackathon diagnose {run!q}",
    ),
    "more_runs": (
        "{count} more failed {count:run is|runs are} not shown; name one to see it",
        "ほかに失敗した実行が {count} 件あります。個別に指定すると表示します",
    ),
    "no_file": ("file {path} does not exist", "ファイル {path} がありません"),
    "no_file_hint": (
        "runs and studies are named by their ids; list them with `hackathon status`",
        "実行や測定は ID で指定します。一覧は `hackathon status` で表示できます",
    ),
    "empty_input": ("standard input was empty", "標準入力は空でした"),
    "empty_file": ("{path} is empty", "{path} は空です"),
    "empty_folder": ("folder {path} contains no logs", "フォルダ {path} にログがありません"),
    "unreadable": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "not_open": ("{path} cannot be read: {what}", "{path} を読めません: {what}"),
    "not_open_hint": (
        "ask its owner for a bundle: hackathon diagnose RUN --bundle",
        "所有者に `hackathon diagnose RUN --bundle` でファイルを作ってもらってください",
    ),
    "closed": (
        "you may not read {count} {count:log|logs} of this run: {path}",
        "この実行のログ {count} 件を読む権限がありません: {path}",
    ),
    "all_well": ("None of these runs failed.", "失敗した実行はありません。"),
    "unread": (
        "{run}: some files cannot be read at the moment, so the cause may be another one. Try again: {files}",
        "{run}: 今読み込めないファイルがあるため、原因が異なる可能性があります。後でもう一度実行してください: {files}",
    ),
    "slow_rule": (
        "rule {rule} in {path} took too long on these logs and was left out",
        "{path} のルール {rule} は、このログでは時間がかかりすぎるため使いませんでした",
    ),
    "bad_rules": ("rules that cannot be read: {problem}", "読み込めないルールがあります: {problem}"),
    # parts
    "part_gpu": ("GPU", "GPU"),
    "part_cuda": ("CUDA", "CUDA"),
    "part_nccl": ("NCCL", "NCCL"),
    "part_rendezvous": ("rendezvous (how the ranks find each other)", "ランデブー（ランク同士の待ち合わせ）"),
    "part_gloo": ("gloo", "gloo"),
    "part_mpi": ("MPI", "MPI"),
    "part_horovod": ("Horovod", "Horovod"),
    "part_chainermn": ("ChainerMN", "ChainerMN"),
    "part_tensorflow": ("TensorFlow", "TensorFlow"),
    "part_framework": ("framework or program", "フレームワークまたはプログラム"),
    "part_data": ("data", "データ"),
    "part_numerics": ("numerics", "数値計算"),
    "part_filesystem": ("file system", "ファイルシステム"),
    "part_hardware": ("hardware", "ハードウェア"),
    "part_env": ("environment", "環境"),
    "part_scheduler": ("scheduler", "スケジューラ"),
    "part_silent": ("silent failure", "見えない失敗"),
}
