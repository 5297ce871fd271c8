"""What `hackathon check` and `hackathon init` say of a team's own training program."""

MESSAGES: dict[str, tuple[str, str]] = {
    "summary": (
        "program: {errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}",
        "プログラム: エラー {errors} 件、警告 {warnings} 件",
    ),
    "has_warnings": (
        "program: {warnings} {warnings:warning|warnings}; `hackathon check` shows {warnings:it|them}",
        "プログラム: 警告 {warnings} 件（`hackathon check` で表示）",
    ),
    "refused": (
        "not submitted: the program has {errors} {errors:error|errors}",
        "プログラムにエラーが {errors} 件あるため、投入しません",
    ),
    "refused_hint": (
        "Correct what is listed above, or submit all the same with --force.",
        "修正するか、--force を付けて投入してください。",
    ),
    # ---- the command
    "launcher_in_command": (
        "the command starts `{launcher}`. The toolkit starts the ranks itself, so each rank would start `{launcher}` again. "
        "Remove it and its options; to choose how the ranks start, write `launcher: {key}`.",
        "コマンドが `{launcher}` を起動しています。ランクはツールキットが起動するため、ランクごとに `{launcher}` がもう一度起動されます。"
        "`{launcher}` とそのオプションを削除し、起動方法は `launcher: {key}` で指定してください。",
    ),
    "file_missing": (
        "the command names {file}, which does not exist in {folder}",
        "コマンドが指定する {file} が {folder} にありません",
    ),
    "not_executable": (
        "{file} is not executable. Run `chmod +x` on it, or write `{program} {file}` in the command.",
        "{file} に実行権限がありません。`chmod +x` を実行するか、コマンドに `{program} {file}` と書いてください。",
    ),
    # ---- the program
    "unreadable": (
        "the rest of the file was not checked: it cannot be parsed as Python 3 ({reason})",
        "Python 3 として解析できないため、このファイルは確認していません（{reason}）",
    ),
    "no_process_group": (
        "the program never joins a process group (read: {files}). With several processes, each one trains the same model on "
        "all data by itself, and the scaling result would be false. Call `torch.distributed.init_process_group`, wrap the model "
        "in DistributedDataParallel, and divide the data with DistributedSampler.{port}",
        "プログラムがプロセスグループに参加していません（確認したファイル: {files}）。複数プロセスで実行すると、各プロセスが全データで同じ学習を別々に行い、"
        "スケーリングの結果は誤ったものになります。`torch.distributed.init_process_group` を呼び、モデルを DistributedDataParallel で包み、"
        "データを DistributedSampler で分割してください。{port}",
    ),
    "joins_nothing": (
        "not known whether the processes work together: nothing in the program's own files joins a process group. Unless "
        "`{unknown}` does it, each one trains the same model by itself. `hackathon try` shows it.{port}",
        "プロセスが連携するかどうかは不明です。プログラム自身のファイルは、プロセスグループに参加しません。`{unknown}` が参加しなければ、各プロセスが同じ"
        "モデルを別々に学習します。`hackathon try` で確認できます。{port}",
    ),
    "joins_with_option": (
        "the process group is joined only with an option ({options}) that the command does not have. Without it, each process "
        "trains by itself. Add it to `command:`; `hackathon try` shows whether the processes work together.",
        "プロセスグループに参加するのは、コマンドにないオプション（{options}）を指定したときだけです。指定しなければ、各プロセスが別々に学習します。"
        "`command:` に加えてください。連携しているかどうかは `hackathon try` で確認できます。",
    ),
    "port_shows": (
        " `hackathon port {file!q}` shows the changes for this program.",
        "このプログラムに必要な変更は `hackathon port {file!q}` で確認できます。",
    ),
    "fixed_world": (
        "`world_size=1` makes each rank a group of its own: with several processes, each one trains by itself, and the scaling "
        "result would be false. Leave `rank` and `world_size` out: the launcher sets them.",
        "`world_size=1` のため、各ランクが 1 プロセスだけのグループになります。複数プロセスで実行すると別々に学習し、スケーリングの結果は"
        "誤ったものになります。`rank` と `world_size` は省いてください（起動ツールが設定します）。",
    ),
    "not_averaged": (
        "the ranks join a process group, and nothing in the program exchanges gradients or weights: each one trains by itself, "
        "and the scaling result would be false. Wrap the model in DistributedDataParallel.",
        "プロセスグループには参加していますが、勾配も重みも交換していません。各ランクが別々に学習し、スケーリングの結果は誤ったものになります。"
        "モデルを DistributedDataParallel で包んでください。",
    ),
    "same_data": (
        "this DataLoader has no sampler and the seed is the same on every rank, so all ranks train with the same batches: more "
        "processes do the same work again. Divide the data with DistributedSampler.",
        "この DataLoader にはサンプラーがなく、乱数のシードも全ランクで同じなので、全ランクが同じバッチで学習します。プロセスを増やしても"
        "同じ計算を繰り返すだけです。DistributedSampler でデータを分割してください。",
    ),
    "around_wrapper": (
        "`{name}.module(…)` goes around DistributedDataParallel, which averages gradients only after its own forward: each rank "
        "trains by itself, and the scaling result would be false. Call `{name}(…)`.",
        "`{name}.module(…)` は DistributedDataParallel を通りません。勾配が平均されるのは `{name}(…)` を呼び出したときだけなので、各ランクが"
        "別々に学習し、スケーリングの結果は誤ったものになります。`{name}(…)` を呼び出してください。",
    ),
    "same_stream": (
        "`{name}` yields the same samples on every rank: an IterableDataset is not divided by a sampler, and more processes do the "
        "same work again. Let each rank take its own share, for example every `world_size`-th sample from `rank` on.",
        "`{name}` は全ランクで同じサンプルを返します。IterableDataset はサンプラーでは分割されず、プロセスを増やしても同じ計算を"
        "繰り返すだけです。`rank` 番目から `world_size` 個おきに取るなど、ランクごとに分けてください。",
    ),
    "divided_batch": (
        "`{text}`: the program divides the batch by the number of processes itself, so the total stays the same. That is strong "
        "scaling: put `scaling: {{strong: {{by_program: true}}}}` into project.yaml and use --mode strong.",
        "`{text}`: プログラム自身がバッチをプロセス数で割るため、全体のバッチは変わりません。これは強スケーリングです。"
        "project.yaml に `scaling: {{strong: {{by_program: true}}}}` と書き、--mode strong で測ってください。",
    ),
    "starts_own_ranks": (
        "`{function}` starts ranks of its own, but the toolkit has already started one process for each rank. Call the function "
        "directly, and take the rank from RANK, the number of ranks from WORLD_SIZE and the GPU from LOCAL_RANK.",
        "`{function}` が自分でランクを起動しますが、ランクごとのプロセスはすでにツールキットが起動しています。"
        "関数を直接呼び出し、ランクは RANK、ランク数は WORLD_SIZE、GPU の番号は LOCAL_RANK から取得してください。",
    ),
    "swallowed_exception": (
        "An exception during training is caught here, and the program goes on. When only one rank fails, all other ranks wait "
        "for it without end. Let the exception end the program (`raise`), or have all ranks skip the same step.",
        "学習中の例外をここで捕まえて、プログラムを続けています。1 つのランクだけが失敗すると、ほかのランクはそのランクを待ち続けます。"
        "`raise` で終了させるか、全ランクで同じステップを飛ばしてください。",
    ),
    "own_address": (
        "{name} is always set to `{value}`. This replaces the value that the launcher gave to this rank, so the ranks cannot find "
        "each other, or another job uses the same port.",
        "{name} を常に `{value}` にしています。ランチャーがこのランクに渡した値が上書きされ、ランク同士が接続できないか、"
        "ほかのジョブとポートが衝突します。",
    ),
    "devices_in_program": (
        "CUDA_VISIBLE_DEVICES is always set to `{value}`. Ranks outside this list have no GPU or share one. Remove the line, and "
        "choose the GPU by LOCAL_RANK.",
        "CUDA_VISIBLE_DEVICES を常に `{value}` にしています。この番号にないランクは GPU を使えないか、同じ GPU を共有します。"
        "この行を削除し、GPU は LOCAL_RANK で選んでください。",
    ),
    "one_gpu": (
        "every rank of a node uses GPU 0 (`{text}`), and nothing in the program reads LOCAL_RANK. Choose the GPU by LOCAL_RANK.",
        "ノード内の全ランクが GPU 0 を使います（`{text}`）。プログラムは LOCAL_RANK を参照していません。GPU は LOCAL_RANK で選んでください。",
    ),
    "global_rank_as_gpu": (
        "`{text}` is the rank in the whole job, not on its node: from the second node on there is no such GPU. Use LOCAL_RANK.",
        "`{text}` はノード内ではなくジョブ全体でのランクです。2 台目以降のノードにその番号の GPU はありません。LOCAL_RANK を使ってください。",
    ),
    "no_sampler": (
        "this DataLoader has no sampler, so every rank reads all data: an epoch does not become shorter with more processes. "
        "Divide the data with DistributedSampler.",
        "この DataLoader にはサンプラーがないため、全ランクが全データを読みます。プロセスを増やしても 1 エポックは短くなりません。"
        "DistributedSampler でデータを分割してください。",
    ),
    "no_set_epoch": (
        "DistributedSampler shuffles in the same order in every epoch unless `{sampler}.set_epoch({epoch})` is called at the "
        "beginning of each",
        "各エポックの最初に `{sampler}.set_epoch({epoch})` を呼ばないと、DistributedSampler のシャッフル順は毎エポック同じになります",
    ),
    "save_on_every_rank": (
        "every rank writes this file at the same time, which can damage it. Save on rank 0 only.",
        "全ランクが同時にこのファイルへ書き込むため、壊れることがあります。ランク 0 だけで保存してください。",
    ),
    # ---- the machine
    "path_not_visible": (
        "the nodes of {cluster} do not see {path}; they see {visible}",
        "{cluster} の計算ノードから {path} は見えません（見えるフォルダ: {visible}）",
    ),
    "package_missing": (
        "`{name}` is not installed in {environment}, the Python environment that the job will use. Install it there before you "
        "submit ({pip}), or choose another environment.",
        "ジョブが使う Python 環境 {environment} に `{name}` がありません。投入する前にインストールするか（{pip}）、別の環境を選んでください。",
    ),
    "download_in_job": (
        "`{what}` downloads inside the job unless the data are already there, and the nodes of {cluster} have no Internet access. "
        "List the data under `data:` and run `hackathon data fetch` on the login node.",
        "データがまだない場合、`{what}` はジョブ内でダウンロードしますが、{cluster} の計算ノードはインターネットに接続できません。"
        "データを `data:` に書き、ログインノードで `hackathon data fetch` を実行してください。",
    ),
    # ---- a shell script
    "launcher_in_script": (
        "the script starts `{launcher}`, but it already runs once for each rank. Remove `{launcher}` and its options; to choose "
        "how the ranks start, write `launcher: {key}` in project.yaml.",
        "スクリプトが `{launcher}` を起動していますが、スクリプト自体がランクごとに 1 回実行されます。"
        "`{launcher}` とそのオプションを削除し、起動方法は project.yaml の `launcher: {key}` で指定してください。",
    ),
    "address_in_script": (
        "{name} is always set to `{value}`. This replaces the value that the launcher gave to this rank.",
        "{name} を常に `{value}` にしています。ランチャーがこのランクに渡した値が上書きされます。",
    ),
    "devices_in_script": (
        "CUDA_VISIBLE_DEVICES is always set to `{value}`. Ranks outside this list have no GPU or share one. Remove the line.",
        "CUDA_VISIBLE_DEVICES を常に `{value}` にしています。この番号にないランクは GPU を使えないか、同じ GPU を共有します。"
        "この行を削除してください。",
    ),
    "folder_in_script": (
        "`cd {folder!q}` leaves the copy of the source that the run was made with: later changes there change the run. Use paths "
        "relative to the script.",
        "`cd {folder!q}` により、実行用に保存したソースのコピーから離れます。その後の変更が実行結果に影響します。"
        "スクリプトからの相対パスを使ってください。",
    ),
}
