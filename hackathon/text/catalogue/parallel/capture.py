"""`hackathon plan model.py:build`: how a model is captured, and why it may not be."""

MESSAGES: dict[str, tuple[str, str]] = {
    # ---- requests
    "both": (
        "--graph and {model} cannot be used together",
        "--graph と {model} は同時に指定できません",
    ),
    "only_with_model": (
        "{name} needs a model: hackathon plan model.py:build",
        "{name} はモデルと一緒に指定してください: hackathon plan model.py:build",
    ),
    "bandwidth_twice": (
        "--bandwidth cannot be used with --devices or --cluster, which give the bandwidth",
        "--devices と --cluster が帯域を示すため、--bandwidth は同時に指定できません",
    ),
    "needs_devices": ("{name} is missing", "{name} がありません"),
    "needs_devices_hint": (
        "Give --gpus and --memory, or --devices FILE, or --cluster NAME.",
        "--gpus と --memory、または --devices ファイル、または --cluster 名前 を指定してください。",
    ),
    "batch_not_divided": (
        "A batch of {batch} samples cannot be divided into {count} equal micro-batches",
        "{batch} サンプルのバッチは {count} 個の等しいマイクロバッチに分けられません",
    ),
    "half_peaks": (
        "{name} is missing: times need both --peak-tflops and --memory-bandwidth",
        "{name} がありません。時間の見積もりには --peak-tflops と --memory-bandwidth の両方が必要です",
    ),
    "model_target": (
        "{target}: must be a file and a function, for example model.py:build",
        "{target}: model.py:build のように、ファイルと関数を指定してください",
    ),
    "model_file": ("{path}: no such file", "{path}: ファイルがありません"),
    "foreign": (
        "{path} belongs to another account, and planning would run it",
        "{path} は別のアカウントのファイルで、計画を作ると実行されます",
    ),
    "foreign_hint": (
        "Read it first; --trust then runs it.",
        "先に内容を確認してください。--trust を付けると実行します。",
    ),
    "no_cache": (
        "The cache folder cannot be used: it belongs to another account, is open to others, or cannot be written",
        "キャッシュフォルダが使えません。別のアカウントのものか、他人に開放されているか、書き込めません",
    ),
    "no_cache_hint": (
        "Set XDG_CACHE_HOME to a folder of your own.",
        "XDG_CACHE_HOME に自分のフォルダを指定してください。",
    ),
    # ---- the child process
    "no_python": ("{python} cannot be started: {reason}", "{python} を起動できません: {reason}"),
    "old_python": (
        "{python} is Python {version}; capturing a model needs Python 3.11 or newer",
        "{python} は Python {version} です。モデルのキャプチャには Python 3.11 以降が必要です",
    ),
    "no_torch": ("{python} cannot import torch: {words}", "{python} で torch を import できません: {words}"),
    "no_torch_hint": (
        "Activate the environment in which your model runs, and try again.",
        "モデルを動かす環境を有効にして、もう一度実行してください。",
    ),
    "child_ended": (
        "The process that captures the model ended without an answer (exit code {code})",
        "モデルをキャプチャするプロセスが応答せずに終了しました（終了コード {code}）",
    ),
    "child_ended_hint": (
        "A negative code is a signal; -9 often means that the memory was used up. What the process printed stands above.",
        "負の値はシグナルです。-9 は多くの場合メモリ不足です。プロセスの出力は上に表示されています。",
    ),
    # ---- the user's function
    "no_python_file": ("{path}: not a Python file", "{path}: Python のファイルではありません"),
    "import_failed": (
        "{path}:{line}: the file cannot be imported: {words}",
        "{path}:{line}: ファイルを import できません: {words}",
    ),
    "no_function": ("{path} has no function {name}", "{path} に関数 {name} がありません"),
    "build_failed": (
        "{path}:{line}: the function failed: {words}",
        "{path}:{line}: 関数がエラーになりました: {words}",
    ),
    "build_failed_hint": (
        "It is called without arguments under torch.device('meta'): tensors have a shape and no values.",
        "関数は torch.device('meta') の下で引数なしで呼ばれます。テンソルには形だけがあり、値はありません。",
    ),
    "build_returns": (
        "{name} must return a dictionary with a torch module as `model` and its inputs as `args` or `kwargs`",
        "{name} は、`model`（torch のモジュール）と `args` または `kwargs`（入力）を含む辞書を返す必要があります",
    ),
    "build_key": (
        "{name} returns the unknown key {key}; known are {known}",
        "{name} が返す辞書に未知のキー {key} があります。使えるキー: {known}",
    ),
    "build_loss": ("`loss` of {name} cannot be called", "{name} の `loss` は呼び出せません"),
    "no_batch": (
        "--batch needs an input that is a tensor",
        "--batch には、テンソルの入力が必要です",
    ),
    "no_loss": (
        "The model returns {kind}: neither a scalar loss nor an output that contains one",
        "モデルの出力 {kind} は、スカラーの損失でも、損失を含む出力でもありません",
    ),
    "no_loss_hint": (
        "Add `loss` to the dictionary: a function of the output and the last of `args`. Or let the model return its loss.",
        "辞書に `loss`（出力と `args` の最後の要素を受け取る関数）を追加するか、モデルが損失を返すようにしてください。",
    ),
    # ---- models that cannot be captured
    "hook": (
        "{path}:{line}: module {module} has the hook {hook}, which would not run in a captured model",
        "{path}:{line}: モジュール {module} のフック {hook} は、キャプチャしたモデルでは実行されません",
    ),
    "hook_hint": (
        "Remove the hook, or do its work in `forward`. Children of a model that only calls them one after another, such as nn.Sequential, may have hooks.",
        "フックを外すか、同じ処理を `forward` に書いてください。nn.Sequential のように子モジュールを順に呼び出すだけのモデルなら、子モジュールにフックがあってもかまいません。",
    ),
    "not_captured": (
        "{path}:{line}: module {module} cannot be captured: {words}",
        "{path}:{line}: モジュール {module} はキャプチャできません: {words}",
    ),
    "not_captured_hint": (
        "Branches must not depend on values of tensors; torch.where or torch.cond can take their place. A model that only calls its children one after another, such as nn.Sequential, is planned by its children instead.",
        "分岐がテンソルの値に依存してはいけません。torch.where や torch.cond で置き換えてください。nn.Sequential のように子モジュールを順に呼び出すだけのモデルなら、子モジュール単位で計画します。",
    ),
    "left_out": (
        "{path}:{line}: module {module} uses {words}, which a captured graph would leave out",
        "{path}:{line}: モジュール {module} は {words} を使いますが、キャプチャしたグラフには含まれません",
    ),
    "left_out_hint": (
        "Do the same with operators in `forward`. A model that only calls its children one after another, such as nn.Sequential, is planned by its children instead, which run as they are.",
        "同じ処理を `forward` の中の演算で書いてください。nn.Sequential のように子モジュールを順に呼び出すだけのモデルなら、子モジュール単位で計画し、子モジュールをそのまま実行します。",
    ),
    "own_backward": (
        "{path}:{line}: module {module} uses {words}, whose arguments or results are not all tensors and numbers, so that its backward pass cannot be captured",
        "{path}:{line}: モジュール {module} は {words} を使いますが、引数か戻り値にテンソルと数値以外が含まれるか、入力が変更されるため、backward をキャプチャできません",
    ),
    "own_backward_hint": (
        "Give it tensors, numbers and strings only, let it return new tensors, and do not change its inputs.",
        "引数をテンソル、数値、文字列だけにし、新しいテンソルを返すようにして、入力は変更しないでください。",
    ),
    "checkpoint": (
        "{path}:{line}: module {module} uses {words}, without whose second forward pass no parameter before it would be trained",
        "{path}:{line}: モジュール {module} は {words} を使います。2 回目の forward がキャプチャされないため、パラメータが訓練されません",
    ),
    "checkpoint_hint": (
        "Leave checkpoints out, or use use_reentrant=False, and let stages recompute: hackathon plan --recompute auto.",
        "チェックポイントを外すか use_reentrant=False にして、ステージの再計算を使ってください: hackathon plan --recompute auto。",
    ),
    "gradient_checkpointing": (
        "{path}:{line}: module {module} has gradient checkpointing turned on (gradient_checkpointing_enable())",
        "{path}:{line}: モジュール {module} で gradient checkpointing が有効です（gradient_checkpointing_enable()）",
    ),
    "gradient_checkpointing_hint": (
        "Leave it off and let stages recompute instead: hackathon plan --recompute auto.",
        "無効のままにして、代わりにステージの再計算を使ってください: hackathon plan --recompute auto。",
    ),
    "decided_once": (
        "{path}:{line}: module {module} draws random numbers of {words}: a captured graph would have the same ones in each step",
        "{path}:{line}: モジュール {module} は {words} の乱数を使います。キャプチャしたグラフでは、どのステップでも同じ値になります",
    ),
    "decided_once_hint": (
        "Draw them with torch, without a branch on their values. A model that only calls its children one after another, such as nn.Sequential, is planned by its children instead, which run as they are.",
        "torch の乱数を使い、その値で分岐しないでください。nn.Sequential のように子モジュールを順に呼び出すだけのモデルなら、子モジュール単位で計画し、子モジュールをそのまま実行します。",
    ),
    "counted": (
        "{path}:{line}: module {module} changes its attribute {name} in each forward pass ({before}, then {after}): a captured graph would have one value in all steps",
        "{path}:{line}: モジュール {module} は forward のたびに属性 {name} を変更します（{before}、次に {after}）。キャプチャしたグラフでは、どのステップでも同じ値になります",
    ),
    "counted_hint": (
        "Make it a buffer (register_buffer) that is changed in place, or change it outside `forward`.",
        "バッファ（register_buffer）にしてインプレースで変更するか、`forward` の外で変更してください。",
    ),
    "other_graph": (
        "{path}:{line}: module {module}: a second capture of the same model differs at operator {operator}: something outside the graph decides what it does",
        "{path}:{line}: モジュール {module}: 同じモデルをもう一度キャプチャすると、オペレータ {operator} が異なります。グラフの外の何かが動作を決めています",
    ),
    "other_graph_hint": (
        "Counters, random numbers and time must not decide what `forward` does.",
        "カウンタ、乱数、時刻で `forward` の動作が変わらないようにしてください。",
    ),
    "other_gradient": (
        "{path}:{line}: module {module}: the self-check found another gradient of {name} in the captured graph ({captured}) than in the model ({plain})",
        "{path}:{line}: モジュール {module}: 自己検査で、{name} の勾配がキャプチャしたグラフ（{captured}）とモデル（{plain}）で異なりました",
    ),
    "other_gradient_hint": (
        "What the module does with gradients behind this line is not in the graph. A model that only calls its children one after another, such as nn.Sequential, is planned by its children instead, which run as they are.",
        "この行より後の勾配の処理がグラフに含まれていません。nn.Sequential のように子モジュールを順に呼び出すだけのモデルなら、子モジュール単位で計画し、子モジュールをそのまま実行します。",
    ),
    "other_loss": (
        "{path}:{line}: module {module}: the self-check found another loss in the captured graph ({captured}) than in the model ({plain})",
        "{path}:{line}: モジュール {module}: 自己検査で、損失がキャプチャしたグラフ（{captured}）とモデル（{plain}）で異なりました",
    ),
    "other_loss_hint": (
        "Code that behaves otherwise while it is captured (torch.compiler.is_compiling(), say) is a usual cause.",
        "キャプチャ中だけ動作が変わるコード（torch.compiler.is_compiling() など）がよくある原因です。",
    ),
    "other_state": (
        "{path}:{line}: module {module}: the self-check found another {name} after a pass of the captured graph ({captured}) than of the model ({plain})",
        "{path}:{line}: モジュール {module}: 自己検査で、実行後の {name} がキャプチャしたグラフ（{captured}）とモデル（{plain}）で異なりました",
    ),
    "other_state_hint": (
        "Change buffers in place by operators of torch, and parameters outside `forward`.",
        "バッファは torch の演算でインプレースに、パラメータは `forward` の外で変更してください。",
    ),
    "no_chain": (
        "The model cannot be captured, and its children cannot be run one after another",
        "モデルをキャプチャできず、子モジュールを順に実行することもできません",
    ),
    "chain_too_large": (
        "{path}:{line}: module {module} cannot be captured: {words}. Its children cannot be measured either: the model does not fit in the memory of this machine",
        "{path}:{line}: モジュール {module} はキャプチャできません: {words}。このマシンのメモリに収まらないため、子モジュール単位の測定もできません",
    ),
    # ---- what was captured
    "modules": (
        "The model cannot be captured ({path}:{line}, module {module}: {words}). Cuts are only made between its children, which run as they are. AutoParallel runs such a plan without offload only.",
        "モデルをキャプチャできません（{path}:{line}、モジュール {module}: {words}）。子モジュールの間だけで分割し、子モジュールはそのまま実行します。AutoParallel では、オフロードを使わない計画だけを実行できます。",
    ),
    "operators": (
        "Model: {count} operators; {micro_batches} micro-batches of {samples} samples",
        "モデル: {count} オペレータ、{samples} サンプルのマイクロバッチ {micro_batches} 個",
    ),
    "children": (
        "Model: {count} modules; {micro_batches} micro-batches of {samples} samples",
        "モデル: {count} モジュール、{samples} サンプルのマイクロバッチ {micro_batches} 個",
    ),
    "roofline": (
        "Times are estimated from FLOP and bytes for {peaks}, {memory} of memory bandwidth. Nothing was measured: real times are longer.",
        "時間は、{peaks}、メモリ帯域 {memory} として FLOP とバイト数から見積もりました。測定はしていません。実際の時間はこれより長くなります。",
    ),
    "measured": (
        "Times: {measured} of {count} kinds of operators measured on {device}, the others estimated from FLOP and bytes ({peaks}, {memory} of memory bandwidth, measured here).",
        "時間: {count} 種類のオペレータのうち {measured} 種類を {device} で測定し、残りは FLOP とバイト数から見積もりました（ここで測定した {peaks}、メモリ帯域 {memory}）。",
    ),
    "whole": (
        "The whole model took {seconds} s here, its operators one by one {sum} s; times are scaled to the former.",
        "モデル全体は {seconds} 秒、オペレータごとの合計は {sum} 秒でした。時間は前者に合わせてあります。",
    ),
    "checked": (
        "Self-check: the loss and {count} gradients of the captured graph are those of the model.",
        "自己検査: キャプチャしたグラフの損失と {count} 個の勾配は、モデルと一致しました。",
    ),
    "unchecked_memory": (
        "Warning: the self-check was not run. It needs {needed} GB, and {free} GB are free. Run it with a smaller configuration of the model.",
        "警告: 自己検査を実行していません。{needed} GB が必要ですが、空きは {free} GB です。モデルの小さい構成で実行してください。",
    ),
    "unchecked_time": (
        "Warning: the self-check was not run: it would take {seconds} s, more than {longest} s. Run it with a smaller configuration of the model.",
        "警告: 自己検査を実行していません。{seconds} 秒かかる見込みで、上限の {longest} 秒を超えます。モデルの小さい構成で実行してください。",
    ),
    "unchecked_meta": (
        "Warning: the self-check was not run: the model is on the meta device, without numbers. Run it with a smaller configuration that has some.",
        "警告: 自己検査を実行していません。モデルが meta デバイスにあり、値がありません。値を持つ小さい構成で実行してください。",
    ),
    "unchecked_failed": (
        "Warning: the self-check was not run: the model itself failed with the example: {words}",
        "警告: 自己検査を実行していません。モデル自体が example の実行でエラーになりました: {words}",
    ),
    "unchecked_off": (
        "Warning: the self-check was not run: it is turned off.",
        "警告: 自己検査を実行していません（無効に設定されています）。",
    ),
    "checkpoints": (
        "{count} {count:operator stands|operators stand} in torch.utils.checkpoint: the stages with them recompute.",
        "{count} 個のオペレータが torch.utils.checkpoint の中にあります。それらを含むステージは再計算します。",
    ),
    "unseen": (
        "Operators whose work is not known: {count}. They count with no time.",
        "処理量が分からないオペレータ: {count} 個（時間 0 として扱います）",
    ),
    "kept": (
        "From the cache: nothing has changed. --again captures again.",
        "変更がないためキャッシュを使いました。--again でやり直します。",
    ),
    "tried": (
        "Step by number of micro-batches: {found}. The best one is shown; --micro-batches fixes the number.",
        "マイクロバッチ数ごとのステップ時間: {found}。最良のものを表示します。数は --micro-batches で固定できます。",
    ),
    "assumed_bandwidth": (
        "No bandwidth between devices is given: {bandwidth}/s is assumed. --bandwidth, --devices or --cluster tell the real one.",
        "デバイス間の帯域が不明のため、{bandwidth}/s と仮定します。実際の値は --bandwidth、--devices、--cluster で指定できます。",
    ),
    "no_memory_bandwidth": (
        "The profile of {cluster} has no memory_gb_s, so times are measured on this machine. --memory-bandwidth adds it.",
        "{cluster} のプロファイルに memory_gb_s がないため、このマシンで時間を測定します。--memory-bandwidth で指定できます。",
    ),
}
