"""`hackathon port` with Lightning, Trainer, Accelerate, Chainer and Keras."""

MESSAGES: dict[str, tuple[str, str]] = {
    "for_keras": (
        "--to chooses what a Keras program becomes; this program does not use Keras",
        "--to は Keras のプログラムの変換先を選ぶオプションです。このプログラムは Keras を使っていません",
    ),
    "needs_no_change": (
        "{path}: nothing needs to be changed",
        "{path}: 変更は不要です",
    ),
    "how_to_run_mpirun": (
        "To try it with two processes: mpirun -np 2 python {target!q}",
        "2 プロセスで試すには: mpirun -np 2 python {target!q}",
    ),
    "how_to_run_horovod": (
        "To try it with two processes: horovodrun -np 2 python {target!q}",
        "2 プロセスで試すには: horovodrun -np 2 python {target!q}",
    ),
    # ---- done
    "do_launcher": (
        "the program reads from its launcher how many processes there are; without a launcher there is one",
        "プロセス数はランチャから受け取ります。ランチャなしでは 1 プロセスです",
    ),
    "do_trainer": (
        "Trainer uses the processes of the job, and one device without a launcher",
        "Trainer はジョブのプロセスを使います。ランチャなしでは元の設定で動きます",
    ),
    "do_sync": (
        "`{call}`: the value is averaged over the processes",
        "`{call}`: 値をプロセス間で平均します",
    ),
    "do_data_first": (
        "one process of each node prepares the data; the others read its cache",
        "各ノードの 1 プロセスがデータを準備し、他のプロセスはそのキャッシュを読みます",
    ),
    "do_backward": (
        "Accelerate runs the backward pass",
        "backward は Accelerate が実行します",
    ),
    "do_prepare": (
        "{what} goes through prepare() too: each process gets its share",
        "{what} も prepare() に渡し、各プロセスが一部を受け持ちます",
    ),
    "do_communicator": (
        "the communicator `{name}` joins the processes, and each takes its own GPU",
        "コミュニケータ `{name}` で全プロセスが通信し、それぞれ自分の GPU を使います",
    ),
    "do_optimizer": (
        "{what}: gradients are averaged over the processes",
        "{what}: 勾配をプロセス間で平均します",
    ),
    "do_scatter": (
        "rank 0 gives each process its share of {data}",
        "ランク 0 が {data} を各プロセスに分けます",
    ),
    "do_evaluator": (
        "{what}: its results are averaged over the processes",
        "{what}: 結果をプロセス間で平均します",
    ),
    "do_report": (
        "only rank 0 reports on the training",
        "学習の記録や表示はランク 0 だけが行います",
    ),
    "do_horovod": (
        "the processes join through Horovod, and each takes its own GPU",
        "全プロセスが Horovod で通信し、それぞれ自分の GPU を使います",
    ),
    "do_steps": (
        "the steps of an epoch are shared among the processes",
        "1 エポックのステップをプロセスで分担します",
    ),
    "do_callbacks": (
        "all processes start with the weights of rank 0 and average their metrics; rank 0 alone writes",
        "全プロセスがランク 0 の重みで始め、評価値を平均します。書き込みはランク 0 だけが行います",
    ),
    "do_tape": (
        "Horovod's tape averages gradients over the processes",
        "Horovod のテープが勾配をプロセス間で平均します",
    ),
    "do_alike": (
        "after the first step all processes get the weights of rank 0",
        "最初のステップの後で、全プロセスがランク 0 の重みを受け取ります",
    ),
    "do_workers": (
        "the processes join through MultiWorkerMirroredStrategy; without a launcher nothing changes",
        "全プロセスが MultiWorkerMirroredStrategy で通信します。ランチャなしの実行では何も変わりません",
    ),
    "do_workers_scope": (
        "{model} is made and compiled in the strategy's scope",
        "{model} を strategy のスコープ内で作成し、compile します",
    ),
    "do_workers_batch": (
        "the batch is now that of all processes; the strategy divides it",
        "バッチは全プロセスを合わせたものになり、strategy が分割します",
    ),
    # ---- notes
    "note_trainer_batch": (
        "per_device_train_batch_size is that of one process: N processes make a batch N times as large and N times fewer updates. Often the learning rate is raised with it.",
        "per_device_train_batch_size は 1 プロセスあたりの値です。N プロセスではバッチ全体が N 倍、更新回数は N 分の 1 になります。学習率もそれに合わせて上げることがよくあります。",
    ),
    "note_trainer_data": (
        "Every process prepares these data. To let one do it: make the TrainingArguments first, and put this line below `with args.main_process_first():`.",
        "全プロセスがこのデータを準備します。1 プロセスだけにするには、TrainingArguments を先に作成し、この行を `with args.main_process_first():` の中に置いてください。",
    ),
    "note_accelerate_launch": (
        "In a job, leave `accelerate launch` out of `command:`; the job starts the processes. The batch size of a DataLoader is that of one process.",
        "ジョブでは `command:` に `accelerate launch` を書きません。プロセスはジョブが起動します。DataLoader のバッチサイズは 1 プロセスあたりの値です。",
    ),
    "note_chainer": (
        "Start the program with mpirun; the recipe chainermn-mnist is a whole program. The batch size is that of one process: N processes make a batch N times as large. The first update only sends rank 0's weights to the others.",
        "mpirun で起動してください。レシピ chainermn-mnist に完全なプログラムがあります。バッチサイズは 1 プロセスあたりの値で、N プロセスでは全体が N 倍になります。最初の更新では、ランク 0 の重みを他のプロセスに送るだけです。",
    ),
    "note_horovod": (
        "Horovod 0.28 works with TensorFlow up to 2.15 and Keras 2. Start the program with horovodrun or mpirun; the recipe horovod-keras is a whole program. If the data do not divide evenly, each epoch leaves out the last samples, fewer than there are processes.",
        "Horovod 0.28 は TensorFlow 2.15 までと Keras 2 で動作します。horovodrun または mpirun で起動してください。レシピ horovod-keras に完全なプログラムがあります。データ数がプロセス数で割り切れない場合、末尾のサンプル（プロセス数未満）は使いません。",
    ),
    "note_workers": (
        "fit() over several workers needs Keras 2: with TensorFlow 2.16 or newer, install tf-keras and set TF_USE_LEGACY_KERAS=1. The program needs hackathon_runtime.py beside it, which hackathon init puts there. The batch of one process stays as it was; that of all is N times as large, and there are N times fewer updates.",
        "複数ワーカーの fit() には Keras 2 が必要です。TensorFlow 2.16 以降では tf-keras をインストールし、TF_USE_LEGACY_KERAS=1 を設定してください。hackathon_runtime.py をプログラムと同じフォルダに置きます（hackathon init が作成します）。1 プロセスのバッチは元のままで、全体では N 倍、更新回数は N 分の 1 になります。",
    ),
    # ---- questions
    "ask_library_cli": (
        "LightningCLI takes its Trainer from options: does the command give --trainer.devices, --trainer.num_nodes and --trainer.strategy ddp as the job has them?",
        "LightningCLI は Trainer の設定をオプションから受け取ります。コマンドで --trainer.devices、--trainer.num_nodes、--trainer.strategy ddp をジョブに合わせて指定しますか。",
    ),
    "ask_library_options": (
        "are devices, num_nodes and strategy among these options? They should be what the job has.",
        "これらのオプションに devices、num_nodes、strategy が含まれますか。ジョブに合わせる必要があります。",
    ),
    "ask_library_log": (
        "`{call}`: average it over the processes with sync_dist=True?",
        "`{call}`: sync_dist=True でプロセス間の平均にしますか。",
    ),
    "ask_save": (
        "this line does not know the processes: should it run only `if {guard}`?",
        "この行からはプロセスの番号を参照できません。`if {guard}` の場合だけ実行しますか。",
    ),
    "ask_split_seed": (
        "`{call}` without a seed: should all processes divide the data in the same way (seed=0)?",
        "`{call}` に seed がありません。全プロセスで同じ分割にしますか（seed=0）。",
    ),
    "ask_accelerator": (
        "where is the one Accelerator made? Everything else depends on it.",
        "Accelerator はどこで作成しますか。1 つの名前に代入されていないため、他の変更ができません。",
    ),
    "ask_prepare": (
        "{data} does not go through accelerator.prepare(): should each process get its own share of it?",
        "{data} が accelerator.prepare() に渡されていません。各プロセスに一部だけを割り当てますか。",
    ),
    "ask_gather": (
        "each process sees its share of these data: gather the results with {name}.gather_for_metrics(…)?",
        "各プロセスはこのデータの一部だけを処理します。結果を {name}.gather_for_metrics(…) で集めますか。",
    ),
    "ask_chainer_device": (
        "{text}: which GPU is that? Each process should use number {name}.intra_rank.",
        "{text} はどの GPU ですか。各プロセスは {name}.intra_rank 番の GPU を使う必要があります。",
    ),
    "ask_chainer_comm": (
        "this line does not know the communicator: pass `{name}` to it?",
        "この行からはコミュニケータを参照できません。`{name}` を渡しますか。",
    ),
    "ask_chainer_iterator": (
        "no iterator of chainer.iterators was found: how does each process get its own share of the data?",
        "chainer.iterators のイテレータが見つかりません。各プロセスはどのように自分の分のデータを受け取りますか。",
    ),
    "ask_chainer_data": (
        "{data}: how does each process get its own share of it (chainermn.scatter_dataset)?",
        "{data}: 各プロセスはどのように自分の分を受け取りますか（chainermn.scatter_dataset）。",
    ),
    "ask_multiprocess": (
        "MultiprocessIterator forks after MPI has started, which may break MPI: start its processes before, as the recipe chainermn-mnist does, or use MultithreadIterator?",
        "MultiprocessIterator は MPI の開始後に fork するため、MPI が壊れることがあります。レシピ chainermn-mnist のように先にプロセスを起動するか、MultithreadIterator にしますか。",
    ),
    "ask_chainer_share": (
        "{data} is now the share of one process: is that meant here?",
        "{data} は 1 プロセスの担当分になりました。ここでもその値でよいですか。",
    ),
    "ask_parallel_updater": (
        "{call} uses several GPUs from one process: use StandardUpdater, since each process now has one GPU?",
        "{call} は 1 プロセスで複数の GPU を使います。各プロセスが GPU を 1 枚使うため、StandardUpdater にしますか。",
    ),
    "ask_autoload": (
        "only rank 0 writes snapshots: how do the other processes load it when they start again?",
        "スナップショットはランク 0 だけが書きます。再開時に他のプロセスはどのように読み込みますか。",
    ),
    "ask_extension": (
        "{what}: do all processes need this extension, or rank 0 only?",
        "{what}: このエクステンションは全プロセスに必要ですか。それともランク 0 だけですか。",
    ),
    "ask_mirrored": (
        "{call} uses the GPUs of one machine from one process: remove it, since each process now has one GPU?",
        "{call} は 1 プロセスで 1 台のマシンの GPU を使います。各プロセスが GPU を 1 枚使うため、削除しますか。",
    ),
    "ask_keras_3": (
        "{what} belongs to Keras 3, which Horovod 0.28 and fit() over several workers do not work with: does the program also run with Keras 2?",
        "{what} は Keras 3 のものです。Horovod 0.28 と複数ワーカーの fit() は Keras 3 では動作しません。このプログラムは Keras 2 でも動きますか。",
    ),
    "ask_train_on_batch": (
        "which batches does each process take here? All processes need the same number of them, and the weights of rank 0 before the first.",
        "ここで各プロセスはどのバッチを使いますか。全プロセスでバッチ数を同じにし、最初のバッチの前にランク 0 の重みを全プロセスに送る必要があります。",
    ),
    "ask_keras_data": (
        "{data}: how does each process get its own share, with the same number of batches for all?",
        "{data}: 各プロセスはどのように自分の分を受け取りますか。バッチ数は全プロセスで同じにしてください。",
    ),
    "ask_keras_optimizer": (
        "{what}: where is this optimizer made? Put hvd.DistributedOptimizer(…) around it there.",
        "{what}: このオプティマイザはどこで作成しますか。そこで hvd.DistributedOptimizer(…) で包んでください。",
    ),
    "ask_fit": (
        "the arguments of fit() are not sure: which data, steps and callbacks does each process get?",
        "fit() の引数は確実に判断できません。各プロセスのデータ、ステップ数、コールバックはどうしますか。",
    ),
    "ask_callbacks": (
        "{what}: which callbacks are these? All processes need Horovod's callbacks first; those that write belong to rank 0.",
        "{what}: どのコールバックですか。全プロセスで Horovod のコールバックを先頭に置き、書き込むものはランク 0 だけにします。",
    ),
    "ask_callback": (
        "{what}: does every process need this callback? One that stops the training must do so in all processes at once.",
        "{what}: このコールバックは全プロセスに必要ですか。学習を止めるものは、全プロセスで同時に止める必要があります。",
    ),
    "ask_compile": (
        "where is the model compiled, and with which optimizer? Put hvd.DistributedOptimizer(…) around it there.",
        "モデルはどこで、どのオプティマイザで compile しますか。そこで hvd.DistributedOptimizer(…) で包んでください。",
    ),
    "ask_tape": (
        "gradients of this tape: which ones are for an update? Put hvd.DistributedGradientTape(…) around the tape, or Horovod's optimizer, not both.",
        "このテープの勾配のうち、更新に使うのはどれですか。hvd.DistributedGradientTape(…) でテープを包むか、Horovod のオプティマイザを使います（両方は使いません）。",
    ),
    "ask_alike": (
        "when have all variables been made? There, once: hvd.broadcast_variables(model.variables, root_rank=0), and the optimizer's too.",
        "すべての変数がそろうのはいつですか。そこで 1 回、hvd.broadcast_variables(model.variables, root_rank=0) を呼びます。オプティマイザの変数にも必要です。",
    ),
    "ask_tape_workers": (
        "a loop of one's own needs strategy.run and all_reduce, as in the recipe tensorflow-multiworker: or change it to Horovod (--to horovod)?",
        "独自の学習ループには、レシピ tensorflow-multiworker のように strategy.run と all_reduce が必要です。Horovod（--to horovod）にしますか。",
    ),
    "ask_workers_scope": (
        "where is {model} made? Make and compile it below `with {strategy}.scope():`.",
        "{model} はどこで作成しますか。`with {strategy}.scope():` の中で作成し、compile してください。",
    ),
    "ask_workers_save": (
        "`{call}`: all workers must save, each to its own path; keep only that of the first?",
        "`{call}`: 全ワーカーが、それぞれ別の場所に保存する必要があります。先頭のワーカーのものだけを残しますか。",
    ),
    # ---- not known
    "no_optimizer_chainer": (
        "not known: no optimizer of chainer.optimizers is made in this file. Give the program that trains.",
        "不明: このファイルでは chainer.optimizers のオプティマイザを作成していません。学習するプログラムを指定してください。",
    ),
    "no_loop_keras": (
        "not known: this file neither fits a Keras model nor has a loop with tf.GradientTape. Give the program that trains.",
        "不明: このファイルには Keras モデルの fit() も tf.GradientTape のループもありません。学習するプログラムを指定してください。",
    ),
}
