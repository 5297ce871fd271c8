"""Messages of `hackathon.schedulers`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # registry
    "unknown": (
        "Scheduler {name!r} does not exist. Known: {known}.",
        "スケジューラ {name!r} はありません。使えるもの: {known}。",
    ),
    "unknown_near": (
        "Scheduler {name!r} does not exist. Did you mean {near}? Known: {known}.",
        "スケジューラ {name!r} はありません。{near} のことですか？使えるもの: {known}。",
    ),
    # runner
    "command_missing": (
        "`{command}` was not found on this machine",
        "このマシンに `{command}` が見つかりません",
    ),
    "command_missing_hint": (
        "Run it on a login node of the cluster. You may have to load a module first.",
        "クラスタのログインノードで実行してください。先に module load が必要な場合もあります。",
    ),
    "command_unusable": (
        "Cannot start {command}: {reason}",
        "コマンド {command} を起動できません: {reason}",
    ),
    "timeout": (
        "{command} did not answer within {seconds} s.",
        "{command} が {seconds} 秒以内に応答しませんでした。",
    ),
    "timeout_hint": (
        "The scheduler is busy or down. Try again later, or allow more time: HACKATHON_SCHEDULER_TIMEOUT=120.",
        "スケジューラが混雑または停止しています。後でもう一度試すか、HACKATHON_SCHEDULER_TIMEOUT=120 で待ち時間を延ばしてください。",
    ),
    "bad_timeout": (
        "HACKATHON_SCHEDULER_TIMEOUT must be from 0.1 to 3600 seconds, not {value!r}.",
        "HACKATHON_SCHEDULER_TIMEOUT は 0.1 から 3600 までの秒数で指定してください（現在 {value!r}）。",
    ),
    "too_much_output": (
        "{command} printed more than {limit} bytes and was stopped.",
        "{command} の出力が {limit} バイトを超えたため中断しました。",
    ),
    "not_an_id": (
        "{job_id!r} is not a job ID of the scheduler {scheduler}, so no command is run with it.",
        "{job_id!r} はスケジューラ {scheduler} のジョブ ID ではないため、コマンドには渡しません。",
    ),
    "not_an_id_hint": (
        "The ID was read from the run's files (claim/job_id or client/*.json). Check it, or see the queue for the job.",
        "この ID は実行のファイル（claim/job_id または client/*.json）から読みました。内容を確認するか、キューで該当ジョブを探してください。",
    ),
    # answers of any scheduler
    "failed": (
        "{command} failed (exit {code}): {words}",
        "{command} が失敗しました（終了コード {code}）: {words}",
    ),
    "refused": (
        "The scheduler refused the job (exit {code}): {words}",
        "スケジューラがジョブを拒否しました（終了コード {code}）: {words}",
    ),
    "garbage": (
        "Cannot interpret the output of {command}: {words}",
        "{command} の出力を解釈できません: {words}",
    ),
    "failed_hint": (
        "Run the command by hand. If it fails too, contact the support of the computing centre.",
        "同じコマンドを手動で実行してみてください。それでも失敗する場合はセンターに問い合わせてください。",
    ),
    "refused_hint": (
        "`hackathon render` shows what was submitted; `hackathon submit --again RUN` submits the same run again.",
        "`hackathon render` で投入内容を確認できます。`hackathon submit --again RUN` で同じ実行を再投入できます。",
    ),
    "garbage_hint": (
        "Run the command by hand. A proxy or a wrapper of the site may have answered instead. Try again later.",
        "同じコマンドを手動で実行してみてください。プロキシやサイト独自のラッパが応答している可能性があります。"
        "後でもう一度試してください。",
    ),
    "command_unusable_hint": (
        "Run the command by hand. You may have to load a module first.",
        "同じコマンドを手動で実行してみてください。先に module load が必要な場合もあります。",
    ),
    "server_down": (
        "The server of the scheduler does not answer: {words}",
        "スケジューラのサーバが応答しません: {words}",
    ),
    "server_down_hint": ("Try again in a few minutes.", "数分後にもう一度試してください。"),
    "no_ports": (
        "This login node has no free port for the connection to the server: {words}",
        "このログインノードには、サーバへの接続に使える空きポートがありません: {words}",
    ),
    "no_ports_hint": (
        "Many commands of the scheduler ran here in the last minute. Try again in a minute.",
        "直前の 1 分間にスケジューラのコマンドが多数実行されました。1 分後にもう一度試してください。",
    ),
    "no_identity": (
        "The server of the scheduler could not verify who you are: {words}",
        "スケジューラのサーバが利用者を認証できませんでした: {words}",
    ),
    "no_identity_hint": (
        "Try again in a few minutes. If it fails again, contact the support of the computing centre: the installation"
        " on this login node may be incomplete.",
        "数分後にもう一度試してください。繰り返し失敗する場合は、このログインノードの設定に不備がある可能性があります。"
        "センターに問い合わせてください。",
    ),
    "other_qstat": (
        "`{command}` does not accept this option here; the cluster needs `dialect.history: {history}`: {words}",
        "ここの `{command}` はこのオプションを受け付けません。`dialect.history: {history}` が必要です: {words}",
    ),
    "other_qstat_hint": (
        "Set `dialect.history: {history}` in the cluster profile.",
        "クラスタ定義で `dialect.history: {history}` と設定してください。",
    ),
    "node_down": (
        "The job cannot be cancelled now because its node does not answer: {words}",
        "ノードが応答しないため、今はジョブを取り消せません: {words}",
    ),
    "node_down_hint": (
        "The job is cancelled when the node returns. If it is not, contact the support of the computing centre.",
        "ノードが復帰すれば取り消されます。取り消されない場合はセンターに問い合わせてください。",
    ),
    "unknown_queue": (
        "The scheduler does not know this queue: {words}",
        "スケジューラにそのキューはありません: {words}",
    ),
    "unknown_queue_hint": (
        "`hackathon clusters NAME` lists the queues; so does `qstat -Q` or `sinfo`.",
        "`hackathon clusters NAME` または `qstat -Q`、`sinfo` でキューの一覧を確認できます。",
    ),
    "queue_disabled": (
        "The queue does not accept jobs now: {words}",
        "キューは現在ジョブを受け付けていません: {words}",
    ),
    "queue_disabled_hint": ("Choose another queue or try later.", "別のキューを選ぶか、後で試してください。"),
    "not_set_up": (
        "The scheduler's commands are installed here, but no cluster is configured on this machine: {words}",
        "スケジューラのコマンドはありますが、このマシンにはクラスタの設定がありません: {words}",
    ),
    "not_set_up_hint": (
        "To run on this machine, add `--cluster laptop`. On a login node, load the module that the centre names, or set SLURM_CONF.",
        "このマシンで実行するには `--cluster laptop` を付けてください。ログインノードでは、センターの案内にあるモジュールを読み込むか、"
        "SLURM_CONF を設定してください。",
    ),
    "over_limit": (
        "The request exceeds a limit of the queue or the server: {words}",
        "要求がキューまたはサーバの制限を超えています: {words}",
    ),
    "over_limit_hint": (
        "Use fewer nodes or a shorter walltime, or another queue.",
        "ノード数や経過時間を減らすか、別のキューを指定してください。",
    ),
    "unknown_type": (
        "The scheduler does not know a resource that the header asks for: {words}",
        "ヘッダで要求した資源をスケジューラが認識しません: {words}",
    ),
    "unknown_type_hint": (
        "If the queues of the cluster profile are queues and not resource types, set `dialect.queue: name` there. Check"
        " `directives` in the profile, too.",
        "クラスタ定義の queues が資源タイプではなくキューの場合は、`dialect.queue: name` と設定してください。`directives` も確認してください。",
    ),
    "unknown_pe": (
        "The scheduler does not know this parallel environment: {words}",
        "スケジューラにその並列環境はありません: {words}",
    ),
    "unknown_pe_hint": (
        "`qconf -spl` lists them. Set `dialect.pe` in the cluster profile to one with a number as `allocation_rule`.",
        "`qconf -spl` で一覧を確認し、`allocation_rule` が数値のものをクラスタ定義の `dialect.pe` に設定してください。",
    ),
    "no_group_option": (
        "`{command}` has no option `-g` here; the cluster needs `dialect.group: project` or `none`: {words}",
        "ここの `{command}` にはオプション `-g` がありません。`dialect.group: project` または `none` が必要です: {words}",
    ),
    "no_group_option_hint": (
        "Set `dialect.group: project` in the cluster profile if jobs are charged to a project, else `dialect.group: none`.",
        "クラスタ定義で、プロジェクトに課金する場合は `dialect.group: project`、それ以外は `dialect.group: none` と設定してください。",
    ),
    "other_scheduler": (
        "`{command}` belongs to another scheduler here; the cluster needs `scheduler: {scheduler}`: {words}",
        "ここの `{command}` は別のスケジューラのものです。`scheduler: {scheduler}` が必要です: {words}",
    ),
    "other_scheduler_hint": (
        "Set `scheduler: {scheduler}` in the cluster profile.",
        "クラスタ定義で `scheduler: {scheduler}` と設定してください。",
    ),
    "silent_host": (
        "host {host} does not answer; an administrator can remove the job with `qdel -f`",
        "ホスト {host} が応答しません。ジョブは管理者が `qdel -f` で削除できます",
    ),
    "slots_note": ("{used} of {total} slots in use", "{total} スロット中 {used} 使用中"),
    "unknown_resource": (
        "The scheduler does not know a resource in the header: {words}",
        "ヘッダの資源をスケジューラが認識しません: {words}",
    ),
    "unknown_resource_hint": (
        "The dialect in the cluster profile may not match this site (`gpu_request`, `cpu_request`).",
        "クラスタ定義の dialect（`gpu_request`、`cpu_request`）が合っていない可能性があります。",
    ),
    "bad_value": ("A value of the header is not accepted: {words}", "ヘッダの値が受け付けられません: {words}"),
    "bad_value_hint": (
        "`hackathon render` shows the header that was submitted.",
        "`hackathon render` で投入したヘッダを確認できます。",
    ),
    "bad_group": (
        "The group or account is not accepted: {words}",
        "グループまたはアカウントが受け付けられません: {words}",
    ),
    "bad_group_hint": (
        "`--group` must be a group that you belong to and that may use this queue; `id` lists yours.",
        "`--group` には自分が所属し、このキューを使えるグループを指定してください。`id` で確認できます。",
    ),
    "bad_user": ("This user may not submit jobs here: {words}", "このユーザはここからジョブを投入できません: {words}"),
    "bad_user_hint": (
        "Submit as yourself, not as root, from a login node.",
        "root ではなく自分のアカウントで、ログインノードから投入してください。",
    ),
    "not_authorised": ("The scheduler does not allow this: {words}", "スケジューラが許可していません: {words}"),
    "not_authorised_hint": (
        "The queue may be reserved for other groups, or the job belongs to somebody else.",
        "キューが他のグループ専用か、ジョブが他の人のものかもしれません。",
    ),
    "user_limit": (
        "You have as many jobs in the queue as the site allows: {words}",
        "キューに入れられるジョブ数の上限に達しています: {words}",
    ),
    "user_limit_hint": (
        "Wait until a job ends; `scale --max-queued N` keeps to such a limit.",
        "ジョブが終わるまで待ってください。`scale --max-queued N` で上限を守れます。",
    ),
    "bad_script": (
        "The scheduler does not accept the script: {words}",
        "スケジューラがスクリプトを受け付けません: {words}",
    ),
    "bad_script_hint": (
        "A directive has a comment behind it, an unknown option, or the file has Windows line ends.",
        "指示行の末尾のコメント、未知のオプション、または Windows の改行が原因です。",
    ),
    "bad_options": (
        "The scheduler does not accept the options: {words}",
        "スケジューラがオプションを受け付けません: {words}",
    ),
    "bad_reservation": ("The reservation is not accepted: {words}", "予約が受け付けられません: {words}"),
    "bad_reservation_hint": (
        "It may have ended, or your group is not in it.",
        "予約が終了したか、あなたのグループが含まれていません。",
    ),
    "no_such_nodes": (
        "No node of this cluster can give what was asked for: {words}",
        "要求を満たすノードがこのクラスタにありません: {words}",
    ),
    "no_such_nodes_hint": (
        "Check nodes, GPUs a node and memory against `hackathon clusters NAME`.",
        "ノード数、ノードあたりの GPU 数、メモリを `hackathon clusters NAME` で確認してください。",
    ),
    # answers of PJM
    "other_table": (
        "`{command}` prints another table here; the cluster needs `dialect.table: {table}`: {words}",
        "ここの `{command}` は別の形式の表を出力します。`dialect.table: {table}` が必要です: {words}",
    ),
    "other_table_hint": (
        "Set `dialect.table: {table}` in the cluster profile.",
        "クラスタ定義で `dialect.table: {table}` と設定してください。",
    ),
    "no_data_area": (
        "The scheduler takes no jobs from this directory: {words}",
        "スケジューラはこのディレクトリからのジョブを受け付けません: {words}",
    ),
    "no_data_area_hint": (
        "Submit from your group's data area, or set `dialect.no_check_directory: true` in the cluster profile.",
        "グループのデータ領域から投入するか、クラスタ定義で `dialect.no_check_directory: true` と設定してください。",
    ),
    "group_needed": (
        "The group to charge is missing or not accepted: {words}",
        "課金先のグループがないか、受け付けられません: {words}",
    ),
    "group_needed_hint": (
        "`--group` must be a group of yours that may use this queue; where the site has `pjsub -g`, the cluster profile"
        " needs `dialect.group: g`.",
        "`--group` には、このキューを使える自分のグループを指定してください。`pjsub -g` があるサイトでは、クラスタ定義に"
        " `dialect.group: g` が必要です。",
    ),
    "queues_not_read": (
        "The output of `{command}` cannot be read: no record of it was available.",
        "`{command}` の出力は読み取れません（出力例が公開されていません）。",
    ),
    "queues_not_read_hint": (
        "Run `{command}` by hand; `hackathon clusters NAME` shows what the profile knows.",
        "`{command}` を手動で実行してください。クラスタ定義の内容は `hackathon clusters NAME` で確認できます。",
    ),
    # NQSV
    "nqsv_topology": (
        "The cluster profile does not say which MPI `-T` asks for. Without `-T`, NQSV runs the script on every node.",
        "クラスタ定義に `-T` で指定する MPI の種類がありません。`-T` がないと、NQSV はスクリプトを全ノードで実行します。",
    ),
    "nqsv_topology_hint": (
        "Set `dialect.topology` in the cluster profile to openmpi, intmpi or necmpi.",
        "クラスタ定義で `dialect.topology` を openmpi、intmpi、necmpi のいずれかに設定してください。",
    ),
    "nqsv_reservation": (
        "Reservations are not supported on NQSV.",
        "NQSV では予約を指定できません。",
    ),
    "nqsv_reservation_hint": (
        "If your site has an option for it, add it under `directives:` in the cluster profile.",
        "サイトに予約用のオプションがある場合は、クラスタ定義の `directives:` に書いてください。",
    ),
    "nqsv_interactive": (
        "The queue is of another type than the job: {words}",
        "キューの種類がジョブと合いません: {words}",
    ),
    "nqsv_interactive_hint": (
        "Batch jobs and interactive jobs (`hackathon shell`) have queues of their own; choose another one with --queue.",
        "バッチジョブと対話ジョブ（`hackathon shell`）ではキューが異なります。--queue で別のキューを指定してください。",
    ),
    "unknown_job": ("The scheduler does not know this job: {words}", "スケジューラにそのジョブはありません: {words}"),
}
