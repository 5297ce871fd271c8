"""Messages of `hackathon.diagnosis` and of `hackathon diagnose`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "missing": ("; rank {missing} did not come", "。ランク {missing} が来ていません"),
    "missing_in": (
        "; rank {missing} did not come ({operation})",
        "。ランク {missing} が来ていません({operation})",
    ),
    "memory_seen": (" (in use on a node: up to {memory})", "(ノードでの使用量: 最大 {memory})"),
    # what is shown
    "cause": ("Cause: {part}", "原因: {part}"),
    "likely": ("May also matter: {part}", "関係があるかもしれません: {part}"),
    "secondary": ("A consequence: {part}", "二次的な症状: {part}"),
    "where": ("where", "場所"),
    "why": ("why", "考えられる理由"),
    "todo": ("what to do", "対処"),
    "check": ("check", "確認"),
    "read_on": ("read on", "参考"),
    "rank": ("rank {rank}", "ランク {rank}"),
    "ranks": ("ranks {ranks}", "ランク {ranks}"),
    "times": ("{count} times", "{count} 回"),
    "harmless": ("Looks bad and is harmless: {text}", "害のない警告です: {text}"),
    "only_consequences": (
        "These messages follow from a failure elsewhere; what failed first is not in these logs.",
        "これらは別の場所の失敗による二次的なメッセージです。最初に失敗した原因はこのログにはありません。",
    ),
    "nothing": ("No rule recognises a failure.", "既知の失敗は見つかりませんでした。"),
    "unknown": (
        "No rule knows this failure. The rarest lines before it:",
        "既知の失敗ではありません。失敗の前にある珍しい行:",
    ),
    "bundle": (
        "For a tutor: hackathon diagnose {target} --bundle FILE.tar.gz",
        "チューターに見せるには: hackathon diagnose {target} --bundle FILE.tar.gz",
    ),
    "bundled": (
        "{path} ({size}, {count} files) for a tutor",
        "チューター用に {path} を作りました({size}、{count} ファイル)",
    ),
    "bundle_scrubbed": (
        "Secrets, home folders and user names are replaced; host names and the logs' words are not. Look into it before "
        "you send it: tar -tzf {path}",
        "秘密情報・ホームディレクトリ・ユーザー名は置き換えましたが、ホスト名とログの文言はそのままです。"
        "送る前に確認してください: tar -tzf {path}",
    ),
    "bundle_left_out": ("left out:", "含めなかったもの:"),
    "bundle_one": (
        "a bundle is for one run or for files, and these are {count}",
        "--bundle は 1 つの実行かファイルに対して使います(対象が {count} 件あります)",
    ),
    "bundle_one_hint": (
        "name the run: hackathon diagnose RUN --bundle",
        "実行を 1 つ指定してください: hackathon diagnose RUN --bundle",
    ),
    "bundle_name": ("{name!r} is no name for a bundle", "{name!r} はファイル名にできません"),
    "bundle_name_hint": (
        "let it end in .tar.gz; a run comes before the option: hackathon diagnose RUN --bundle",
        ".tar.gz で終わる名前にしてください。実行はオプションの前に書きます: hackathon diagnose RUN --bundle",
    ),
    "bundle_not_written": ("{path} can not be written: {what}", "{path} に書き込めません: {what}"),
    "bundle_not_written_hint": (
        "name another place: hackathon diagnose RUN --bundle /tmp/NAME.tar.gz",
        "別の場所を指定してください: hackathon diagnose RUN --bundle /tmp/NAME.tar.gz",
    ),
    "left_many": ("{count} more files", "ほか {count} ファイル"),
    "left_program": ("the program itself", "プログラム本体"),
    "left_folder": ("no record of the run", "実行の記録ではないため"),
    "left_full": ("the bundle is full", "容量の上限に達したため"),
    "left_binary": ("not text", "テキストではないため"),
    "left_beginning": ("only the last {kept} of {size}", "{size} のうち最後の {kept} だけ"),
    "more": ("everything: hackathon diagnose {run}", "詳しくは: hackathon diagnose {run}"),
    "more_runs": (
        "{count} more failed run(s) are not shown; name one to see it",
        "ほかに失敗した実行が {count} 件あります。個別に指定すると表示します",
    ),
    "all_well": ("None of these runs failed.", "失敗した実行はありません。"),
    "bad_rules": ("rules that can not be read: {problem}", "読み込めないルールがあります: {problem}"),
    # parts
    "part_gpu": ("GPU", "GPU"),
    "part_cuda": ("CUDA", "CUDA"),
    "part_nccl": ("NCCL", "NCCL"),
    "part_rendezvous": ("rendezvous (how the ranks find each other)", "ランデブー(ランク同士の待ち合わせ)"),
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
