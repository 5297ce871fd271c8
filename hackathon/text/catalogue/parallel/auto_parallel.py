"""`AutoParallel`: what it refuses, and what goes wrong while it runs."""

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- the plan
    "no_plan_made": (
        "rank 0 could not make a plan; the cause is in its output",
        "rank 0 で計画を作成できませんでした。原因は rank 0 の出力にあります",
    ),
    "no_plan_fits": (
        "no plan fits: operator {operator} alone needs {needed} GB, and a device has {memory} GB",
        "収まる計画がありません: オペレータ {operator} だけで {needed} GB 必要ですが、デバイスのメモリは {memory} GB です",
    ),
    "no_plan_fits_hint": (
        "Use more processes or micro-batches; plan_here also takes recompute=auto and offload=auto.",
        "プロセスやマイクロバッチを増やしてください。plan_here では、recompute=auto や offload=auto も指定できます。",
    ),
    "unused_processes": (
        "{count} processes cannot be divided into stages with the same number of replicas: the model has {parts} parts between which a cut is possible, and a step has {micro_batches} micro-batches",
        "プロセス {count} 個を、レプリカ数の等しいステージに分けられません。モデルの分割できる部分は {parts} 個、1 ステップのマイクロバッチは {micro_batches} 個です",
    ),
    "unused_processes_hint": (
        "Use another number of processes, more micro-batches, or a plan of your own (plan=).",
        "プロセス数を変えるか、マイクロバッチを増やすか、plan= で計画を指定してください。",
    ),
    "infeasible": ("{path}: the model does not fit by this plan", "{path}: この計画ではモデルがメモリに収まりません"),
    "idle_replicas": (
        "stage {stage} has {replicas} replicas, but a step has only {micro_batches} micro-batches",
        "ステージ {stage} にはレプリカが {replicas} 個ありますが、1 ステップのマイクロバッチは {micro_batches} 個です",
    ),
    "plan_missing": (
        "the plan was made for another model: it does not place operator {operator}",
        "計画が別のモデルのものです: オペレータ {operator} の配置がありません",
    ),
    "plan_missing_hint": (
        "Make the plan again with this model and this size of micro-batches.",
        "このモデルとこのマイクロバッチの大きさで、計画を作り直してください。",
    ),
    "plan_unknown": (
        "the plan was made for another model: this one has no operator {operator}",
        "計画が別のモデルのものです: このモデルにはオペレータ {operator} がありません",
    ),
    "plan_unknown_hint": (
        "Make the plan again with this model and this size of micro-batches.",
        "このモデルとこのマイクロバッチの大きさで、計画を作り直してください。",
    ),
    "plan_glued": (
        "the plan separates operators {operator} and {other}, which must run in one stage",
        "計画はオペレータ {operator} と {other} を分けていますが、この 2 つは同じステージで実行する必要があります",
    ),
    "plan_backwards": (
        "the plan runs operator {other} in an earlier stage than operator {operator}, whose result it reads",
        "計画では、オペレータ {operator} の結果を使う {other} が、それより前のステージにあります",
    ),
    "ranks": (
        "the plan needs {needed} processes (replicas per stage: {replicas}), but there are {given}",
        "計画に必要なプロセスは {needed} 個ですが（ステージごとのレプリカ数: {replicas}）、実際には {given} 個です",
    ),
    "offload": (
        "stage {stage} of the plan keeps its parameters in main memory, which does not work with {option}=",
        "計画のステージ {stage} はパラメータをメインメモリに置きます。{option}= とは併用できません",
    ),
    "shard": (
        "shard=True does not work with {option}, which stage {stage} uses: its replicas cannot divide its parameters",
        "shard=True は {option} と併用できません。ステージ {stage} で使われているため、レプリカ間でパラメータを分割できません",
    ),
    "shard_uneven": (
        "shard=True: the {micro_batches} micro-batches cannot be divided evenly over the {replicas} replicas of stage {stage}, which gather the parameters of each pass together",
        "shard=True: マイクロバッチ {micro_batches} 個を、ステージ {stage} のレプリカ {replicas} 個に均等に割り当てられません。レプリカは実行のたびに、そろってパラメータを集めます",
    ),
    "shard_optimizer": (
        "the optimizer has {option}, which cannot take both divided and whole parameters: with shard=True this stage has both, tied weights say",
        "オプティマイザの {option} は、分割したパラメータと分割しないパラメータを同時に扱えません。shard=True では、共有した重みなどがあるためこのステージに両方が含まれます",
    ),
    "interleaved_option": (
        "schedule {schedule} does not work with {option}",
        "スケジュール {schedule} は {option} と併用できません",
    ),
    "interleaved_replicas": (
        "schedule {schedule} needs the same number of replicas in all stages; the plan has {replicas}",
        "スケジュール {schedule} では、全ステージのレプリカ数が同じでなければなりません。この計画では {replicas} です",
    ),
    "interleaved_stages": (
        "schedule {schedule} runs two or more stages in each process, as many in each: {stages} stages with {replicas} replicas cannot be placed on {given} processes in this way",
        "スケジュール {schedule} では、各プロセスが同じ数（2 個以上）のステージを実行します。レプリカ数 {replicas} のステージ {stages} 個を、この形で {given} 個のプロセスに配置できません",
    ),
    "interleaved_micro_batches": (
        "schedule {schedule}: {micro_batches} micro-batches cannot be interleaved over {processes} processes with {replicas} replicas each; a multiple of both numbers' product always can",
        "スケジュール {schedule}: マイクロバッチ {micro_batches} 個を、プロセス {processes} 個（レプリカ数 {replicas}）でインターリーブできません。2 つの数の積の倍数にしてください",
    ),
    "interleaved_skip": (
        "on GPUs, an interleaved schedule cannot send a tensor past a stage: stage {reader} reads {operator} of stage {stage}",
        "GPU では、インターリーブのスケジュールでステージを飛び越してテンソルを送れません: ステージ {reader} はステージ {stage} の {operator} を使います",
    ),
    # ---- the model
    "wrapped": (
        "{module} is a {kind}: give AutoParallel the model itself",
        "{module} は {kind} です。AutoParallel には元のモデルを渡してください",
    ),
    "hooked": (
        "parameter {module} has hooks, which would not run in the stages",
        "パラメータ {module} のフックは、ステージの中では実行されません",
    ),
    "hooked_hint": (
        "Move what they do into forward(), or remove them.",
        "フックの処理を forward() に移すか、フックを外してください。",
    ),
    "sparse": (
        "{module} has sparse gradients, which cannot be summed over stages: use sparse=False",
        "{module} の勾配は疎です。ステージ間で合計できないため、sparse=False にしてください",
    ),
    "lazy": (
        "{name} has no shape yet: run the model once before you give it to AutoParallel",
        "{name} の形状が未定です。AutoParallel に渡す前に、モデルを 1 回実行してください",
    ),
    "trained_loss": (
        "the loss {name} has parameters of its own: make it part of the model",
        "損失 {name} がパラメータを持っています。モデルの一部にしてください",
    ),
    "no_loss": (
        "the model returns {kind}, which holds no loss: give loss=, or return a scalar named loss",
        "モデルの出力 {kind} に損失がありません。loss= を指定するか、loss という名前のスカラーを返してください",
    ),
    "not_copied": (
        "the model holds something that copy.deepcopy cannot copy: {words}",
        "モデルに copy.deepcopy でコピーできないものが含まれています: {words}",
    ),
    "not_initialised": (
        "{module} was built on the meta device, and neither reset_parameters() nor initialise= gives it all its numbers",
        "{module} は meta デバイスで作られていますが、reset_parameters() と initialise= では、すべての値が初期化されません",
    ),
    "partly_meta": (
        "{name} has values, but other tensors of the model are on the meta device: build all of the model there, or none of it",
        "{name} には値がありますが、モデルのほかのテンソルは meta デバイスにあります。モデル全体を meta デバイスで作るか、全体を通常どおり作ってください",
    ),
    # ---- plans that cut between modules
    "module_level": (
        "the plan cuts between modules, which does not work with {option}",
        "モジュールの間で分割する計画は、{option} とは併用できません",
    ),
    "module_inputs": (
        "a model that is run module by module takes one positional argument; here there are {count}, and the keywords {names}",
        "モジュール単位で実行するモデルの引数は位置引数 1 個です。いまは {count} 個で、キーワード引数は {names} です",
    ),
    "module_failed": (
        "{path}:{line}: module {module} failed with the example: {words}",
        "{path}:{line}: モジュール {module} が example の実行でエラーになりました: {words}",
    ),
    "handed_on": (
        "module {module} returns {kind}, which cannot go to another stage: only tensors can, alone or in tuples, lists and dictionaries",
        "モジュール {module} の戻り値に {kind} があります。別のステージに渡せるのは、テンソルと、テンソルだけからなるタプル、リスト、辞書です",
    ),
    "handed_on_hint": (
        "Make a plan that does not cut behind this module.",
        "このモジュールの直後で分割しない計画を作ってください。",
    ),
    "handed_changes": (
        "what module {module} returns has another structure, shape or type than for the example",
        "モジュール {module} の戻り値の構造、形状または型が、example のときと異なります",
    ),
    "shared_buffer": (
        "stage {stage} changes {name}, which another stage holds too: the modules that share it must be in one stage",
        "ステージ {stage} は {name} を変更しますが、別のステージにも同じものがあります。共有するモジュールは同じステージに置いてください",
    ),
    # ---- options
    "schedule": (
        "there is no schedule {name}; there are {names}",
        "スケジュール {name} はありません。使えるのは {names} です",
    ),
    "precision": (
        "there is no precision {name}; there are None and {names}",
        "精度 {name} はありません。使えるのは None と {names} です",
    ),
    "compiled_dropout": (
        "compiler= does not go with a model that draws random numbers in training, such as dropout: each of these operators is seeded, which a compiled stage cannot do",
        "dropout など、訓練中に乱数を使うモデルでは compiler= を使えません。乱数を使うオペレータごとにシードを設定しますが、コンパイルしたステージではこれができません",
    ),
    "optimizer": (
        "the optimizer {name} evaluates the whole model several times in a step, which stages cannot do",
        "オプティマイザ {name} は 1 ステップの間にモデル全体を何度も評価するため、ステージに分けた訓練では使えません",
    ),
    "no_optimizer": (
        "optimizer= returned {name}: it must return an optimizer, or an optimizer and a learning-rate schedule",
        "optimizer= の戻り値が {name} です。オプティマイザ、またはオプティマイザと学習率スケジューラの組を返してください",
    ),
    # ---- batches
    "no_target": (
        "with loss=, a batch is (inputs, target), or a mapping with exactly one of the keys {names}",
        "loss= を指定した場合、バッチは 入力と正解の組か、キー {names} のうち 1 つだけを含む辞書にしてください",
    ),
    "uneven_inputs": (
        "the tensors of a batch must have the samples as their first dimension; here the sizes are {sizes}",
        "バッチのテンソルは最初の次元をサンプルにしてください。いまの大きさは {sizes} です",
    ),
    "indivisible": (
        "{samples} samples cannot be divided into {micro_batches} micro-batches of one size",
        "{samples} サンプルを同じ大きさの {micro_batches} 個のマイクロバッチに分けられません",
    ),
    "indivisible_hint": (
        "Let the loader leave out the last incomplete batch (drop_last=True).",
        "データローダに drop_last=True を指定し、端数のバッチを除いてください。",
    ),
    "other_batch": (
        "this batch differs from the example in shape, type or constants",
        "このバッチは example と形状、型、または定数が異なります",
    ),
    "batches_differ": (
        "the processes were given different batches",
        "プロセスによって異なるバッチが渡されました",
    ),
    "batches_differ_hint": (
        "Give all of them the same: seed the loader alike, and use no DistributedSampler.",
        "全プロセスに同じバッチを渡してください。データローダのシードを揃え、DistributedSampler は使わないでください。",
    ),
    # ---- running
    "evaluating": (
        "step() in evaluation mode: call train() first",
        "評価モードで step() が呼ばれました。先に train() を呼んでください",
    ),
    "training": (
        "the model's output is given in evaluation mode only: call eval() first",
        "モデルの出力が得られるのは評価モードだけです。先に eval() を呼んでください",
    ),
    "evaluation_differs": (
        "in evaluation mode, stage {stage} would need {name}, which it does not hold in training",
        "評価モードではステージ {stage} に {name} が必要ですが、訓練時のこのステージにはありません",
    ),
    "output_without_samples": (
        "an output of shape {shape} cannot be joined from micro-batches: its first dimension is not the samples",
        "形状 {shape} の出力はマイクロバッチから連結できません。最初の次元がサンプルではありません",
    ),
    "statistics": (
        "Replicas of stages {stages}: statistics of normalisation are those of the first replica.",
        "ステージ {stages} のレプリカ: 正規化の統計量には最初のレプリカの値を使います。",
    ),
    "rank_lost": (
        "stage {stage}, replica {replica} (rank {rank}) does not answer: {reason}",
        "ステージ {stage} のレプリカ {replica}（rank {rank}）が応答しません: {reason}",
    ),
    "slow_stage": (
        "stage {stage}, replica {replica} (rank {rank}) has not gone on for more than {seconds} s; the slowest step so far took {slowest} s. Nothing is ended; others wait for up to {timeout} s.",
        "ステージ {stage} のレプリカ {replica}（rank {rank}）が {seconds} 秒以上進んでいません。これまでで最も遅いステップは {slowest} 秒でした。何も終了させません。ほかのプロセスは最大 {timeout} 秒待ちます。",
    ),
    "slow_circle": (
        "The stages have been waiting for one another for more than {seconds} s. Nothing is ended; they wait for up to {timeout} s.",
        "ステージが {seconds} 秒以上、互いに待ち合っています。何も終了させません。最大 {timeout} 秒待ちます。",
    ),
    "rank_lost_hint": (
        "The cause is in the output of that rank.",
        "原因はその rank の出力にあります。",
    ),
    # ---- state
    "state_missing": ("the state does not hold {name}", "状態に {name} がありません"),
    "state_unknown": ("the state holds {name}, which the model does not have", "状態の {name} はモデルにありません"),
    "other_shape": (
        "{name} has shape {given}, but the model's has {wanted}",
        "{name} の形状は {given} ですが、モデルでは {wanted} です",
    ),
    "no_checkpoint": (
        "{path}: no whole checkpoint: {reason}",
        "{path}: 完全なチェックポイントではありません: {reason}",
    ),
}
