"""Messages of `hackathon.diagnosis` and of `hackathon diagnose`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "missing": (
        "; rank {missing} did not come ({operation})",
        "。ランク {missing} が来ていません({operation})",
    ),
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
