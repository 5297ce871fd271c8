"""Findings about the commands of a job script; a part of `lint`."""

COMMANDS: dict[str, tuple[str, str]] = {
    "ranks_differ": (
        "{ranks} ranks are started, but the header asks for {processes}.",
        "起動するランクは {ranks} 個ですが、ヘッダーの要求は {processes} 個です。",
    ),
    "ranks_idle": (
        "{ranks} ranks are started, but the header asks for {processes}: {idle} {idle:node has|nodes have} nothing to do.",
        "起動するランクは {ranks} 個ですが、ヘッダーの要求は {processes} 個で、{idle} ノードが使われません。",
    ),
    "threads_over": (
        "{processes} processes of {threads} threads for each node are more than its {cores} cores.",
        "1 ノードあたり {processes} プロセス × {threads} スレッドは、コア数 {cores} を超えています。",
    ),
    "not_in_folder": (
        "{scheduler} starts the job in your home folder, and this command names a file by a relative path. Put `{better}` before it.",
        "{scheduler} のジョブはホームディレクトリで始まりますが、このコマンドは相対パスのファイルを使っています。その前に `{better}` を入れてください。",
    ),
    "folder_too_late": (
        "{scheduler} opens the output file before the script runs: `mkdir {folder}` in the script comes too late. Create the folder before you submit.",
        "{scheduler} はスクリプトの実行前に出力ファイルを開くため、スクリプト内の `mkdir {folder}` では間に合いません。投入前に作成してください。",
    ),
    "environment_passed": (
        "`{option}` passes your whole login environment to the job, and modules are loaded on top of it: the job depends on what was loaded when you submitted. Remove it, or begin with `module purge`.",
        "`{option}` はログイン時の環境をすべてジョブに渡し、その上にモジュールが読み込まれます。結果が投入時の環境に左右されるため、削除するか `module purge` から始めてください。",
    ),
    "modules_unknown": (
        "the shell of a job does not know `module` here. Put `{better}` before it.",
        "ここではジョブのシェルが `module` を認識しません。その前に `{better}` を入れてください。",
    ),
    "mpi_options_missing": (
        "mpirun does not know the nodes of the job here: give it `{better}`.",
        "ここでは mpirun がジョブのノードを認識しません。`{better}` を指定してください。",
    ),
    "hosts_given": (
        "mpirun knows the nodes of a {scheduler} job by itself; the host file of {scheduler} has a format of its own.",
        "mpirun は {scheduler} のジョブのノードを自動で認識します。{scheduler} のホストファイルは書式が異なります。",
    ),
    "not_waited": (
        "this command runs in the background, and the script does not wait for it: the job ends at once and stops it. Put `wait` at the end.",
        "このコマンドはバックグラウンドで動きますが、スクリプトが待たないため、ジョブがすぐに終了して止められます。最後に `wait` を入れてください。",
    ),
    "exit_code": ("`exit {code}`: {what}.", "`exit {code}`: {what}。"),
    "exit_again": ("Grid Engine runs the job again, without end", "Grid Engine がジョブを際限なく再実行します"),
    "exit_stuck": (
        "Grid Engine keeps the job in the error state (Eqw)",
        "Grid Engine でジョブがエラー状態（Eqw）のまま残ります",
    ),
    "strict_environment": (
        "`{command}` stands before `module load`: module scripts often fail under it, and the job ends. Put it behind the modules.",
        "`{command}` が `module load` より前にあります。モジュールのスクリプトはこの設定では失敗しやすく、ジョブが終了します。モジュールの後に移してください。",
    ),
    "id_with_colon": (
        "`{variable}` has a colon in {scheduler} (`0:1.nqsv`), which breaks many programs in a path. Write `${{{variable}#*:}}`.",
        "{scheduler} の `{variable}` にはコロンが含まれ（`0:1.nqsv`）、パスに使うと多くのプログラムが失敗します。`${{{variable}#*:}}` と書いてください。",
    ),
    "devices_set": (
        "CUDA_VISIBLE_DEVICES is set to `{value}`, but the job has {gpus} {gpus:GPU|GPUs}. Leave the variable as {scheduler} sets it.",
        "CUDA_VISIBLE_DEVICES を `{value}` にしていますが、ジョブの GPU は {gpus} 基です。{scheduler} が設定した値のままにしてください。",
    ),
    "tmp_forbidden": (
        "/tmp must not be used on {site}: write to `{scratch}`.",
        "{site} では /tmp を使えません。`{scratch}` に書いてください。",
    ),
    "no_internet": (
        "`{command}` needs the Internet, which the compute nodes of {site} do not reach. Do it on the login node.",
        "`{command}` にはインターネット接続が必要ですが、{site} の計算ノードからは接続できません。ログインノードで実行してください。",
    ),
    "submits_in_job": (
        "a compute node of {scheduler} is normally not a submit host: `{command}` fails inside a job.",
        "{scheduler} の計算ノードからは通常ジョブを投入できず、ジョブ内の `{command}` は失敗します。",
    ),
    "not_in_sh": (
        "the first line says sh, but `{what}` belongs to bash. Write `#!/bin/bash`.",
        "1 行目は sh ですが、`{what}` は bash の構文です。`#!/bin/bash` にしてください。",
    ),
    "activate_without_hook": (
        "`source activate` works only where conda is set up in the shell. Run `source PATH_OF_CONDA/etc/profile.d/conda.sh` and `conda activate NAME`.",
        "`source activate` は、シェルで conda が設定済みのときしか動きません。`source conda の場所/etc/profile.d/conda.sh` と `conda activate 名前` を実行してください。",
    ),
    "no_such_launcher": (
        "`{command}` belongs to Slurm and is not available in a job of {scheduler}. Use mpirun.",
        "`{command}` は Slurm のコマンドで、{scheduler} のジョブでは使えません。mpirun を使ってください。",
    ),
    "hides_failures": (
        "`{command}` always ends with 0: a program that fails on a node goes unnoticed.",
        "`{command}` は常に 0 で終わるため、ノード上のプログラムの失敗に気づけません。",
    ),
    "foreign_variable": (
        "`{variable}` is set by {other}; in a job of {scheduler} it is empty.",
        "`{variable}` は {other} が設定する変数で、{scheduler} のジョブでは空になります。",
    ),
}
