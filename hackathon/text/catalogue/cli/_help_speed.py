"""What `--help` shows of the commands for speed and size; a part of `help`."""

SPEED: dict[str, tuple[str, str]] = {
    "speedup_short": ("Measure what makes one process faster.", "1 プロセスを速くする設定を測定"),
    "speedup_help": (
        "Measure, on one process, what makes the program faster: each known option alone against the program as it is, in "
        "rounds with a random order, then the ones that win together. For a recipe, options are its parameters; for your "
        "own program, parameters that you declared and environment variables. What would need lines in the program is "
        "listed with these lines. A claim is made only outside the noise, and the loss is compared over the same steps. "
        "Also as `tune-up`. After Ctrl-C the same command continues.\n"
        "\n"
        "\b\n"
        "  hackathon speedup\n"
        "  hackathon speedup torch-ddp-tuned --try workers=2,4 --try amp=bf16\n"
        "  hackathon speedup --apply\n"
        "  hackathon speedup --largest-batch --memory 8GB",
        "1 プロセスで、プログラムを速くする設定を測定します。既知のオプションを 1 つずつ、無作為な順序で現状と比べ、有効なものを"
        "まとめて測定します。レシピではパラメータ、自作プログラムでは宣言済みのパラメータと環境変数が対象です。プログラムに行の追加が"
        "必要なものは、その行を表示します。誤差の範囲を超えたときだけ速いと判定し、同じステップの損失も比べます。`tune-up` でも"
        "実行できます。Ctrl-C のあとは同じコマンドで続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon speedup\n"
        "  hackathon speedup torch-ddp-tuned --try workers=2,4 --try amp=bf16\n"
        "  hackathon speedup --apply\n"
        "  hackathon speedup --largest-batch --memory 8GB",
    ),
    "microbatch_short": ("Divide a batch so that it fits into memory.", "バッチを分割してメモリに収める"),
    "microbatch_help": (
        "Find the fastest micro-batches with which the program's batch fits into a limit of memory. The gradients are those "
        "of the whole batch. The program needs three lines, which the command shows; the recipes torch-ddp and "
        "torch-ddp-tuned have them. Starts in fresh processes measure what a sample needs, a longer start confirms the "
        "plan, and further starts compare its speed to that of more, smaller parts. After Ctrl-C the same command "
        "continues.\n"
        "\n"
        "\b\n"
        "  hackathon microbatch --copy\n"
        "  hackathon microbatch --memory 8GB --apply\n"
        "  hackathon microbatch torch-ddp -p batch_size=1024 --memory 4GB",
        "プログラムのバッチがメモリの上限に収まる、最も速いマイクロバッチ数を探します。勾配はバッチ全体のものと同じです。プログラムには 3 行の"
        "追加が必要です（コマンドが表示します。レシピ torch-ddp と torch-ddp-tuned は対応済みです）。新しいプロセスで起動して 1 サンプルに"
        "必要なメモリを測定し、長めの起動で計画を確認してから、より小さい部分と速度を比べます。Ctrl-C のあとは同じコマンドで続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon microbatch --copy\n"
        "  hackathon microbatch --memory 8GB --apply\n"
        "  hackathon microbatch torch-ddp -p batch_size=1024 --memory 4GB",
    ),
    "compress_short": ("Measure which precision of communication pays.", "通信の精度を下げる効果を測定"),
    "compress_help": (
        "Measure which compression of gradients pays with your processes: each hook of the program beside the uncompressed "
        "training, several times, each time with another seed and in a random order, in one job. The table shows what a "
        "process sends in a step, the speed, and the difference of the final metric. A hook pays only if it is faster "
        "outside the noise and the metric falls by at most what another seed changes. After Ctrl-C the same command continues.\n"
        "\n"
        "\b\n"
        "  hackathon compress torch-ddp --processes 4 --hooks fp16,topk\n"
        "  hackathon compress --processes 8 --seconds 300 --apply",
        "勾配の圧縮が、使うプロセス数で有効かどうかを測定します。プログラムの各フックを圧縮なしの学習と並べ、1 つのジョブの中で、乱数の種を変え、"
        "無作為な順序で何度も学習します。1 プロセスが 1 ステップで送る量、速度、最終的な指標の差を表にします。誤差の範囲を超えて速く、かつ指標の低下が種を"
        "変えたときの差以内の場合だけ、有効と判定します。Ctrl-C のあとは同じコマンドで続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon compress torch-ddp --processes 4 --hooks fp16,topk\n"
        "  hackathon compress --processes 8 --seconds 300 --apply",
    ),
    "profile_short": (
        "Record a few steps and show where their time goes.",
        "数ステップを記録し、時間の内訳を表示",
    ),
    "profile_help": (
        "Run a program (PyTorch, TensorFlow, Chainer) for a short time, without a change in it, and show where the time of a step goes "
        "on each rank: data, host, compute, communication, waiting. Also shows the operators and kernels that take the most "
        "time, gaps, memory, and what the recording itself cost. A run that has traces is shown again; another run is run "
        "once more and recorded. Nothing of it counts as a result. After Ctrl-C the same command continues.\n"
        "\n"
        "\b\n"
        "  hackathon profile --processes 2\n"
        "  hackathon profile torch-ddp --processes 4 --html profile.html\n"
        "  hackathon profile k3m9x2qa --trace merged.json.gz\n"
        "  hackathon profile --command 'python train.py --batch-size 256'\n"
        "  hackathon profile --from traces/rank-*.json.gz",
        "プログラム（PyTorch、TensorFlow、Chainer）を変更せずに短時間実行し、1 ステップの時間の内訳をランクごとに表示します（データ、ホスト、計算、"
        "通信、待ち）。時間のかかる演算とカーネル、空き、メモリ、記録自体のオーバーヘッドも表示します。トレースのある実行は再表示し、"
        "ない実行はもう一度実行して記録します。測定結果には数えません。Ctrl-C のあとは同じコマンドで続けられます。\n"
        "\n"
        "\b\n"
        "  hackathon profile --processes 2\n"
        "  hackathon profile torch-ddp --processes 4 --html profile.html\n"
        "  hackathon profile k3m9x2qa --trace merged.json.gz\n"
        "  hackathon profile --command 'python train.py --batch-size 256'\n"
        "  hackathon profile --from traces/rank-*.json.gz",
    ),
    "tune_short": ("Find the best parameters with trials as jobs.", "ジョブを並行実行して最適なパラメータを探索"),
    "tune_help": (
        "Run trials of a program as jobs, several at once, and find the parameters that give the best result. --space says "
        "what varies: log:a:b, lin:a:b, int:a:b, or a list of values. --objective is METRIC@DURATION (the value after that "
        "time), METRIC (the value at the end), or time-to:METRIC:VALUE (the time until it is reached). A trial whose "
        "predicted learning curve has little chance to become the best is cancelled, and the next one starts in its place. "
        "What it can cost is shown and confirmed first. After Ctrl-C the jobs go on; --resume continues, also from a second "
        "terminal.\n"
        "\n"
        "\b\n"
        "  hackathon tune torch-ddp --space lr=log:1e-3:1 --objective loss@5min --trials 20\n"
        "  hackathon tune --space lr=log:1e-4:1 --space batch_size=32,64,128 --objective accuracy@10min --tokens 20\n"
        "  hackathon tune --space lr=0.01,0.1,1 --objective time-to:accuracy:0.95 --sampler grid --concurrent 2\n"
        "  hackathon tune --resume",
        "プログラムの試行を複数のジョブとして並行に実行し、最もよい結果になるパラメータを探します。--space には変える範囲を "
        "log:a:b、lin:a:b、int:a:b、または値の列で指定します。--objective は METRIC@時間（その時間での値）、METRIC（終了時の値）、"
        "time-to:METRIC:値（その値に達するまでの時間）のいずれかです。学習曲線の予測から、最良になる見込みが小さい試行は"
        "取り消し、空いた枠で次の試行を始めます。最大コストを先に表示し、確認します。Ctrl-C のあともジョブは続きます。"
        "--resume で再開できます（別の端末からも可能）。\n"
        "\n"
        "\b\n"
        "  hackathon tune torch-ddp --space lr=log:1e-3:1 --objective loss@5min --trials 20\n"
        "  hackathon tune --space lr=log:1e-4:1 --space batch_size=32,64,128 --objective accuracy@10min --tokens 20\n"
        "  hackathon tune --space lr=0.01,0.1,1 --objective time-to:accuracy:0.95 --sampler grid --concurrent 2\n"
        "  hackathon tune --resume",
    ),
    "predict_short": ("Predict throughput at sizes that were not measured.", "測定していない規模の性能を予測する"),
    "predict_help": (
        "Predict value, interval and efficiency at process counts that were not measured. SOURCE is a study of this "
        "project (default: the newest), a CSV table with the columns processes,value and optionally "
        "nodes,repeat,mode,unit,series, or - for a table on standard input. Rows that contradict the others are reported. "
        "The last line names the run that would narrow the interval most. With --async, predict a parameter server's "
        "epoch sweep time, mini-batch and staleness from a run of one worker of the recipe async-sgd.\n"
        "\n"
        "\b\n"
        "  hackathon predict --processes 16,32\n"
        "  hackathon predict table.csv --processes 64 --processes-per-node 4\n"
        "  hackathon predict table.csv --processes 64 --history former.csv --json\n"
        "  hackathon predict --async --workers 8,16,64 --target-batch 256",
        "測定していないプロセス数での値、区間、効率を予測します。予測元には、このプロジェクトの測定（既定は最新）、列 "
        "processes,value（任意: nodes,repeat,mode,unit,series）の CSV 表、または標準入力の表を表す - を指定します。"
        "他と矛盾する行も表示します。最後の行は、区間を最も狭める次の測定です。--async では、レシピ async-sgd の 1 ワーカーの実行から、"
        "パラメータサーバーの 1 エポックの時間、ミニバッチ、遅延を予測します。\n"
        "\n"
        "\b\n"
        "  hackathon predict --processes 16,32\n"
        "  hackathon predict table.csv --processes 64 --processes-per-node 4\n"
        "  hackathon predict table.csv --processes 64 --history former.csv --json\n"
        "  hackathon predict --async --workers 8,16,64 --target-batch 256",
    ),
    "option_plan_batch": (
        "Samples of a step; without it a micro-batch is what FUNCTION returns.",
        "1 ステップのサンプル数。省略時は FUNCTION が返す入力を 1 マイクロバッチとする",
    ),
    "option_plan_bandwidth": (
        "Bytes per second between two devices: 25GB.",
        "2 デバイス間の帯域（バイト/秒）。25GB など",
    ),
    "option_plan_peak": (
        "TFLOP/s of a device that is not here; times then come from its peaks.",
        "手元にないデバイスの性能（TFLOP/s）。時間はこのピーク性能から見積もる",
    ),
    "option_plan_memory_bandwidth": (
        "Bytes per second of the memory of that device: 1.5TB.",
        "そのデバイスのメモリ帯域（バイト/秒）。1.5TB など",
    ),
    "option_plan_trust": (
        "Run a model file that belongs to another account.",
        "別のアカウントのモデルファイルを実行する",
    ),
    "option_plan_again": (
        "Capture and measure again, whatever the cache holds.",
        "キャッシュを使わず、キャプチャと測定をやり直す",
    ),
    "option_plan_graph": (
        "Operators of the model with their costs (graph.json).",
        "モデルのオペレータとコスト（graph.json）",
    ),
    "option_plan_devices": ("Devices and bandwidths (devices.json).", "デバイスと帯域（devices.json）"),
    "option_plan_micro_batches": ("Micro-batches in a step.", "1 ステップのマイクロバッチ数"),
    "option_plan_gpus": ("Number of devices, instead of that in the file.", "デバイス数（ファイルの値より優先）"),
    "option_plan_memory": (
        "Memory of a device, instead of that in the file: 16GB, 16GiB.",
        "1 デバイスのメモリ（ファイルの値より優先）。16GB、16GiB など",
    ),
    "option_plan_objective": (
        "What to minimise: step: the simulated time of a step; max-load: the load of the busiest stage; fill: the "
        "estimate of RaNNC.",
        "最小化するもの。step はシミュレーションのステップ時間、max-load は最も遅いステージの負荷、fill は RaNNC の見積もり",
    ),
    "option_plan_stages": ("Use exactly so many stages.", "ステージ数を固定する"),
    "option_plan_replicas": (
        "Replicas of each stage, or one number for all stages.",
        "各ステージのレプリカ数。数が 1 つなら全ステージに適用",
    ),
    "option_plan_recompute": (
        "Compute activations again in the backward pass: in no stage, where it helps, in all stages.",
        "backward で活性を再計算するステージ。never はなし、auto は有効な場合だけ、all はすべて",
    ),
    "option_plan_offload": (
        "Keep parameters in main memory: in no stage, where it helps, in all stages.",
        "パラメータをメインメモリに置くステージ。never はなし、auto は有効な場合だけ、all はすべて",
    ),
    "option_plan_seconds": (
        "Time limit of the search; of each choice of equal replicas if those are searched.",
        "探索時間の上限（秒）。等しいレプリカ数の組み合わせを探索する場合は、組み合わせごとの上限",
    ),
    "option_plan_exact": (
        "Search without a time limit until the plan is proven.",
        "時間制限なしで、証明できるまで探索する",
    ),
    "option_plan_output": ("Write plan.json to a file.", "plan.json をファイルに書く"),
    "option_plan_svg": ("Write a picture of the step and the memory.", "ステップとメモリの図を書く"),
    "option_plan_cluster": (
        "Take devices, memory and bandwidths from a cluster's profile and measurements; --devices overrides them.",
        "クラスターのプロファイルと測定結果から、デバイス数・メモリ・帯域を使う（--devices の値を優先）",
    ),
    "option_plan_page": (
        "Write the plan as a page that needs no other file, in both languages.",
        "計画を単独で開ける HTML ページとして日本語と英語で書く",
    ),
    "option_plan_apply": (
        "Write plan.json, nodes and processes into the project around the current folder.",
        "今のフォルダを含むプロジェクトに plan.json とノード数・プロセス数を書く",
    ),
    "option_plan_yes": (
        "With --apply: write project.yaml without asking.",
        "--apply で、確認せずに project.yaml に書き込む",
    ),
    "plan_short": ("Cut a model over several devices.", "モデルを複数のデバイスに分割"),
    "plan_help": (
        "Decide how a model that is too big or too slow for one device is cut into the stages of a pipeline: which operators, "
        "how many replicas, where to recompute or to offload. The plan comes with a lower bound: no other plan of the same "
        "cost model is faster. `step` is proven for small graphs; larger ones get the best plan found within --seconds and "
        "its gap. MODEL.py:FUNCTION is the user's own code: it runs in a process of the active Python environment, which captures the model that FUNCTION returns with torch.export; --graph runs nothing. Needs numpy. Exit code 1: no plan fits in memory.\n"
        "\n"
        "\b\n"
        "  hackathon plan model.py:build --gpus 8 --memory 16GB --batch 64\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --gpus 4 --memory 16GB\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --recompute auto -o plan.json\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --gpus 8 --micro-batches 16 --page plan.html\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --micro-batches 16 --apply",
        "1 台のデバイスには大きすぎる、または遅すぎるモデルを、パイプラインのステージに分割する計画を作ります。"
        "オペレータの割り当て、レプリカ数、再計算とオフロードを使うステージを決めます。計画には下界が付きます。"
        "同じコストモデルのどの計画も、下界より速くなりません。`step` は小さいグラフでは最良であることを証明し、"
        "大きいグラフでは --seconds 以内に見つかった最良の計画と、下界との差を示します。"
        "MODEL.py:FUNCTION を指定すると、有効な Python 環境の別プロセスでその関数を実行し、返されたモデルを torch.export でキャプチャします。"
        "--graph では何も実行しません。numpy が必要です。終了コード 1 は、メモリに収まる計画がないことを表します。\n"
        "\n"
        "\b\n"
        "  hackathon plan model.py:build --gpus 8 --memory 16GB --batch 64\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --gpus 4 --memory 16GB\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --recompute auto -o plan.json\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --gpus 8 --micro-batches 16 --page plan.html\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --micro-batches 16 --apply",
    ),
}
