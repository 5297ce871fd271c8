"""What `--help` shows of `plan`; a part of `help`."""

PLAN: dict[str, tuple[str, str]] = {
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
    "option_plan_seconds": ("Time limit of the search.", "探索時間の上限（秒）"),
    "option_plan_exact": (
        "Search without a time limit until the plan is proven.",
        "時間制限なしで、証明できるまで探索する",
    ),
    "option_plan_output": ("Write plan.json to a file.", "plan.json をファイルに書く"),
    "option_plan_svg": ("Write a picture of the step and the memory.", "ステップとメモリの図を書く"),
    "plan_short": ("Cut a model over several devices.", "モデルを複数のデバイスに分割"),
    "plan_help": (
        "Decide how a model that is too big or too slow for one device is cut into the stages of a pipeline: which operators, "
        "how many replicas, where to recompute or to offload. The plan comes with a lower bound: no other plan of the same "
        "cost model is faster. `step` is proven for small graphs; larger ones get the best plan found within --seconds and "
        "its gap. Nothing is run. Needs numpy. Exit code 1: no plan fits in memory.\n"
        "\n"
        "\b\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --gpus 4 --memory 16GB\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --recompute auto -o plan.json",
        "1 台のデバイスには大きすぎる、または遅すぎるモデルを、パイプラインのステージに分割する計画を作ります。"
        "オペレータの割り当て、レプリカ数、再計算とオフロードを使うステージを決めます。計画には下界が付きます。"
        "同じコストモデルのどの計画も、下界より速くなりません。`step` は小さいグラフでは最良であることを証明し、"
        "大きいグラフでは --seconds 以内に見つかった最良の計画と、下界との差を示します。"
        "何も実行しません。numpy が必要です。終了コード 1 は、メモリに収まる計画がないことを表します。\n"
        "\n"
        "\b\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --gpus 4 --memory 16GB\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --recompute auto -o plan.json",
    ),
}
