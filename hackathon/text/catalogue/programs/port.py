"""`hackathon port`: what was changed in a training program, what is worth knowing, what is left to ask."""

from hackathon.text.catalogue.programs import _port_libraries

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- errors
    "needs_libcst": (
        "hackathon port needs the package libcst, which is not installed",
        "hackathon port には libcst が必要ですが、インストールされていません",
    ),
    "needs_libcst_hint": (
        "pip install libcst (or, in a clone of the toolkit: pip install '.[port]'). Without a network: on a machine with one, pip download libcst -d wheelhouse; copy the folder; pip install --no-index --find-links wheelhouse libcst",
        "pip install libcst（または clone したフォルダで pip install '.[port]'）を実行してください。ネットワークがない場合は、接続できるマシンで pip download libcst -d wheelhouse を実行し、フォルダをコピーして pip install --no-index --find-links wheelhouse libcst を実行してください",
    ),
    "no_file": (
        "no program given, and none is known here: {reason}",
        "プログラムが指定されておらず、ここでは特定できません: {reason}",
    ),
    "no_file_hint": ("hackathon port train.py", "hackathon port train.py のように指定してください"),
    "several": (
        "several Python programs in this folder: {names}",
        "このフォルダには Python プログラムが複数あります: {names}",
    ),
    "none_here": ("no Python program in this folder", "このフォルダに Python プログラムはありません"),
    "unreadable": ("{path}: cannot be read: {reason}", "{path}: 読めません: {reason}"),
    "too_long": ("{path}: longer than {limit} bytes", "{path}: {limit} バイトを超えています"),
    "too_deep": ("{path}: the code is nested too deeply to be read", "{path}: 入れ子が深すぎるため読めません"),
    "not_exact": (
        "{path}: this text cannot be reproduced byte for byte, so nothing is changed",
        "{path}: このテキストは 1 バイトも違わずに再現できないため、変更しません",
    ),
    "syntax": (
        "{path}, line {line}: not Python 3: {reason}",
        "{path}、{line} 行目: Python 3 のプログラムではありません: {reason}",
    ),
    "syntax_hint": (
        "Correct the line. Python 2: convert the program first (2to3). A notebook: export it with jupyter nbconvert --to script",
        "その行を直してください。Python 2 のプログラムは先に変換してください（2to3）。ノートブックは jupyter nbconvert --to script で書き出してください",
    ),
    "output_needs_write": (
        "-o names the file that --write creates: give both",
        "-o は --write が作成するファイルの名前です。両方指定してください",
    ),
    "write_needs_name": (
        "the program came from standard input: name the new file with -o",
        "プログラムは標準入力から読み込みました。新しいファイルの名前を -o で指定してください",
    ),
    # ---- report
    "title_done": ("Changes:", "変更:"),
    "title_note": ("Good to know:", "補足:"),
    "title_question": ("Questions (a comment stands at each place):", "確認が必要な点（各箇所にコメントがあります）:"),
    "title_unknown": ("Not changed:", "変更できなかった理由:"),
    "row": ("  line {line}: {text}", "  {line} 行目: {text}"),
    "row_whole": ("  {text}", "  {text}"),
    "written": ("created {path}", "{path} を作成しました"),
    "not_written": ("no file was created: there is nothing to change", "変更がないため、ファイルは作成していません"),
    "how_to_write": (
        "To create {target}: hackathon port {path!q} --write",
        "{target} を作成するには: hackathon port {path!q} --write",
    ),
    "how_to_run": (
        "To try it with two processes: torchrun --standalone --nproc-per-node 2 {target!q}",
        "2 プロセスで試すには: torchrun --standalone --nproc-per-node 2 {target!q}",
    ),
    "set_command": (
        "To run it: set `command: {command}` in project.yaml, then: hackathon try",
        "実行するには: project.yaml に `command: {command}` と書いてから: hackathon try",
    ),
    "ready": ("Ready: nothing is left to ask.", "確認が必要な点はありません。"),
    "asks": (
        "{count} {count:question is|questions are} left. Answer {count:it|them} before you trust a result.",
        "確認が必要な点が {count} 件あります。結果を信頼する前に対応してください。",
    ),
    # ---- done
    "do_start": (
        "the processes join one group, and each takes its own GPU; without a launcher nothing changes",
        "全プロセスが 1 つのグループに参加し、それぞれ自分の GPU を使います。ランチャなしの実行では何も変わりません",
    ),
    "do_end": ("the group ends with the program", "プログラムの最後にグループを終了します"),
    "do_device": ("{old} → {new}: each process uses its own GPU", "{old} → {new}: 各プロセスが自分の GPU を使います"),
    "do_wrap": (
        "DistributedDataParallel around {model}: gradients are averaged over the processes",
        "{model} を DistributedDataParallel で包み、勾配をプロセス間で平均します",
    ),
    "do_unwrap": ("{what}: of the model below the wrapper", "{what}: 包まれる前のモデルのものを使います"),
    "do_sampler": ("each process gets its share of {data}", "各プロセスが {data} の一部を受け持ちます"),
    "do_epoch": (
        "the sampler of {loader} learns the epoch: another order each time",
        "{loader} のサンプラーにエポックを伝え、毎回順序を変えます",
    ),
    "do_length": ("{old} → the samples of this process", "{old} → このプロセスのサンプル数"),
    "do_throughput": (
        "the throughput is that of all processes: only rank 0 prints it",
        "スループットを全プロセスの合計にします（表示するのはランク 0 だけです）",
    ),
    "do_print": ("only rank 0 prints", "ランク 0 だけが表示します"),
    "do_save": ("only rank 0 saves", "ランク 0 だけが保存します"),
    "do_barrier": ("all processes wait for the file of rank 0", "全プロセスがランク 0 のファイルを待ちます"),
    "do_progress": ("only rank 0 shows a progress bar", "ランク 0 だけが進捗バーを表示します"),
    "do_accumulate": (
        "gradients are exchanged only before an update (no_sync)",
        "勾配の交換は更新の直前だけ行います（no_sync）",
    ),
    # ---- notes
    "distributed": (
        "this program is distributed already ({framework})",
        "このプログラムはすでに分散化されています（{framework}）",
    ),
    "note_batch": (
        "The batch size is that of one process: N processes make a batch N times as large and N times fewer updates. Often the learning rate is raised with it (times N, with a warm-up). Printed training losses are those of rank 0's share.",
        "バッチサイズは 1 プロセスあたりの値です。N プロセスではバッチ全体が N 倍、更新回数は N 分の 1 になります。学習率もそれに合わせて上げることがよくあります（N 倍、ウォームアップ付き）。表示される学習損失は、ランク 0 の担当分の値です。",
    ),
    "note_evaluation": (
        "Every process evaluates all of these data: the result is right, but not faster.",
        "評価用データは全プロセスがすべて処理します。結果は正しいものの、速くはなりません。",
    ),
    "library_accelerate": (
        "Accelerate distributes what goes through accelerator.prepare(). Start the program with torchrun or accelerate launch.",
        "accelerator.prepare() に渡したものは Accelerate が分散化します。torchrun または accelerate launch で起動してください。",
    ),
    "library_lightning": (
        "Lightning distributes the model and the data itself: no sampler and no wrapper of your own is needed. The batch size is that of one process.",
        "モデルとデータの分散は Lightning が行います。独自のサンプラーやラッパーは不要です。バッチサイズは 1 プロセスあたりの値です。",
    ),
    "library_trainer": (
        "Trainer distributes the model and the data itself when the program is started with torchrun, or by a job of this toolkit.",
        "torchrun またはこのツールのジョブで起動すれば、モデルとデータの分散は Trainer が行います。",
    ),
    # ---- questions
    "ask_library_device": (
        "`{call}` puts everything on one GPU: remove it? The library chooses the device of each process.",
        "`{call}` はすべてを 1 枚の GPU に載せます。削除しますか。各プロセスのデバイスはライブラリが選びます。",
    ),
    "ask_library_devices": (
        "`{argument}`: should it be what the job has?",
        "`{argument}`: ジョブに合わせますか。",
    ),
    "ask_exit": (
        "the program ends here: where can `{end}` stand before it?",
        "プログラムはここで終わります。その前のどこに `{end}` を置けますか。",
    ),
    "ask_device": (
        '{text}: a fixed GPU. Should each process use its own one, "cuda"?',
        '{text} は固定の GPU です。各プロセスが自分の GPU（"cuda"）を使うようにしますか。',
    ),
    "ask_visible": (
        "CUDA_VISIBLE_DEVICES set here hides GPUs from the other processes: remove it?",
        "ここで CUDA_VISIBLE_DEVICES を設定すると、他のプロセスから GPU が見えなくなります。削除しますか。",
    ),
    "ask_no_optimizer": (
        "no optimizer of torch.optim was found: which model is trained? Wrap it with DistributedDataParallel.",
        "torch.optim のオプティマイザが見つかりません。学習するのはどのモデルですか。DistributedDataParallel で包んでください。",
    ),
    "ask_models": (
        "several models or optimizers ({names}): which are trained together? Wrap each one with DistributedDataParallel; check that each backward pass uses each of its parameters once.",
        "モデルまたはオプティマイザが複数あります（{names}）。一緒に学習するのはどれですか。それぞれを DistributedDataParallel で包み、各 backward で各パラメータが 1 回ずつ使われることを確認してください。",
    ),
    "ask_self_model": (
        "the module makes its own optimizer: where is the object made? Wrap it there with DistributedDataParallel.",
        "モジュール自身がオプティマイザを作成しています。オブジェクトはどこで作成しますか。そこで DistributedDataParallel で包んでください。",
    ),
    "ask_where_model": (
        "where is {model} made and on its device? Wrap it there with DistributedDataParallel.",
        "{model} はどこで作成され、デバイスに移りますか。そこで DistributedDataParallel で包んでください。",
    ),
    "ask_alias": (
        "this keeps {model} as it is before DistributedDataParallel: should it have the wrapped one?",
        "ここでは DistributedDataParallel で包む前の {model} を保持します。包んだ後のものにしますか。",
    ),
    "ask_method": (
        "{call}() goes around DistributedDataParallel, which averages gradients only after a call of the model itself: call the model instead?",
        "{call}() は DistributedDataParallel を通りません。勾配が平均されるのは、モデル自体を呼び出した場合だけです。モデルの呼び出しに変えますか。",
    ),
    "ask_no_loader": (
        "no loop over a DataLoader was found: how does each process get its own share of the data?",
        "DataLoader のループが見つかりません。各プロセスはどのように自分の分のデータを受け取りますか。",
    ),
    "ask_data": (
        "{data} is not a DataLoader made in this file: how does each process get its own share of the data?",
        "{data} は、このファイルで作成した DataLoader ではありません。各プロセスはどのように自分の分のデータを受け取りますか。",
    ),
    "ask_loader": (
        "the arguments of this DataLoader are not sure: give it sampler=DistributedSampler(…) and no shuffle?",
        "この DataLoader の引数は確実に判断できません。shuffle の代わりに sampler=DistributedSampler(…) を渡しますか。",
    ),
    "ask_sampler": (
        "this DataLoader has a sampler of its own: how does it divide the data among the processes?",
        "この DataLoader には独自のサンプラーがあります。データをプロセス間でどう分けますか。",
    ),
    "ask_iterable": (
        "an IterableDataset has no sampler: which samples does each rank (and each worker) yield? Now every process sees all of them.",
        "IterableDataset にはサンプラーを使えません。各ランク（と各ワーカー）はどのサンプルを返しますか。今のままでは全プロセスがすべてを読みます。",
    ),
    "ask_returned": (
        "{model} leaves this function wrapped: does its caller use attributes of the model? They are in `{model}.module` then.",
        "{model} は包まれた状態で返されます。呼び出し側でモデルの属性を使いますか。使う場合、属性は `{model}.module` にあります。",
    ),
    "ask_step": (
        "`{call}` decides by a value: is it the same in all processes? Otherwise their models drift apart.",
        "`{call}` は渡された値で動作を決めます。その値は全プロセスで同じですか。違うと、プロセスごとにモデルがずれていきます。",
    ),
    "ask_split": (
        "no seed is set: should all processes divide the data in the same way (generator=torch.Generator().manual_seed(0))?",
        "乱数シードが設定されていません。全プロセスで同じ分割にしますか（generator=torch.Generator().manual_seed(0)）。",
    ),
    "ask_share": (
        "this loop now sees the share of one process: should its result be reduced over the processes?",
        "このループは 1 プロセスの担当分だけを処理するようになりました。結果をプロセス間で集約しますか。",
    ),
    "ask_reload": (
        "rank 0 may still be writing this file: do all processes come here? Then call {barrier} before it.",
        "ランク 0 がこのファイルを書き終えていない可能性があります。全プロセスがここを通りますか。通るなら、その前で {barrier} を呼んでください。",
    ),
    "ask_endless": (
        "a DataLoader without a loop over epochs: when does its sampler get set_epoch()?",
        "エポックのループを使わない DataLoader です。サンプラーの set_epoch() はいつ呼びますか。",
    ),
    "ask_epoch": (
        "where does an epoch begin? There the DataLoader's sampler.set_epoch(epoch) belongs.",
        "エポックはどこで始まりますか。そこで DataLoader の sampler.set_epoch(epoch) を呼んでください。",
    ),
    "ask_throughput": (
        "only rank 0 prints this throughput: does it count the samples of one process? Then multiply it by {world}",
        "このスループットを表示するのはランク 0 だけです。1 プロセスのサンプル数で計算していますか。その場合は {world} を掛けてください。",
    ),
    "ask_length": (
        "{data} are the samples of all processes: is len({loader}.sampler), those of this one, meant?",
        "{data} は全プロセスのサンプルです。このプロセスの数 len({loader}.sampler) にしますか。",
    ),
    "ask_backward": (
        "a second backward pass in one step: DistributedDataParallel averages the gradients of one pass for each forward. Add the losses and call backward() once?",
        "1 ステップで 2 回目の backward です。DistributedDataParallel は forward 1 回につき backward 1 回の勾配だけを平均します。損失を足して backward() を 1 回にしますか。",
    ),
    "ask_accumulate": (
        "gradients are accumulated: which passes may run below `with model.no_sync():`? It is right without, only slower.",
        "勾配を累積しています。どの回を `with model.no_sync():` の中で実行できますか。使わなくても結果は正しく、遅くなるだけです。",
    ),
    "ask_rate": (
        "the learning rate is set by hand: should it follow the batch of all processes, and fewer updates for each epoch?",
        "学習率を手動で設定しています。全プロセスを合わせたバッチと、減ったエポックあたりの更新回数に合わせますか。",
    ),
    "ask_dataparallel": (
        "DataParallel uses several GPUs from one process: remove it, since each process now has one GPU?",
        "DataParallel は 1 プロセスで複数の GPU を使います。各プロセスが GPU を 1 枚使うため、削除しますか。",
    ),
    "ask_grad": (
        "torch.autograd.grad: DistributedDataParallel does not average these gradients. Are they for an update?",
        "torch.autograd.grad の勾配は DistributedDataParallel で平均されません。更新に使いますか。",
    ),
    "ask_break": (
        "do all processes leave the loop at the same time? Otherwise the others wait for ever.",
        "すべてのプロセスが同時にループを抜けますか。そうでないと、残りのプロセスが待ち続けます。",
    ),
    "ask_output": (
        "every process does this line, since `{call}` may need all of them: print or save its result on rank 0 only?",
        "`{call}` に全プロセスが必要かもしれないため、この行は全プロセスで実行されます。結果の表示・保存をランク 0 だけにしますか。",
    ),
    "ask_logger": (
        "`{call}` in every process: on rank 0 only, also where it is used?",
        "`{call}` は全プロセスで実行されます。使用箇所も含めて、ランク 0 だけにしますか。",
    ),
    "ask_download": (
        "every process downloads to the same place: download before the job? Nodes often have no internet.",
        "全プロセスが同じ場所にダウンロードします。ジョブの前に取得しますか。計算ノードはインターネットに接続できないことがよくあります。",
    ),
    "ask_file": (
        "every process writes this file: on rank 0 only, or a name with the rank?",
        "全プロセスがこのファイルに書きます。ランク 0 だけにするか、名前にランクを入れますか。",
    ),
    "ask_folder": (
        "several processes create this folder: os.makedirs(…, exist_ok=True)?",
        "複数のプロセスがこのフォルダを作成します。os.makedirs(…, exist_ok=True) にしますか。",
    ),
    "ask_notebook": (
        "this line works in a notebook only: remove it?",
        "この行はノートブックでしか動きません。削除しますか。",
    ),
    # ---- not known
    "no_loop": (
        "not known: there is no `.backward()` in this file. Is the loop in another file or in a library?",
        "不明: このファイルには `.backward()` がありません。ループは別のファイルまたはライブラリにありますか。",
    ),
    "not_started": (
        "not known: nothing in this file starts the training. Give the program that is started, with the training in it.",
        "不明: このファイルには学習を開始する処理がありません。学習を含み、起動されるプログラムを指定してください。",
    ),
    "no_framework": (
        "not known: no framework that hackathon port knows is imported",
        "不明: hackathon port が対応するフレームワークが import されていません",
    ),
    **_port_libraries.MESSAGES,
}
