"""Messages of the page of a run of `hackathon speedup`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "title_options": ("Speed-ups on one device", "1 デバイスでの高速化"),
    "title_batches": ("Largest batch that fits", "メモリに入る最大のバッチ"),
    "lead_options": (
        "Each option is measured against the program as it is, in pairs of starts in the same round.",
        "各オプションを、同じ回に起動した現状のプログラムと組にして比較しました。",
    ),
    "lead_batches": (
        "Each start is a fresh process with another value of {parameter}.",
        "{parameter} を変えながら、毎回新しいプロセスで起動しました。",
    ),
    "heading_options": ("Options", "オプション"),
    "heading_batches": ("Starts", "起動"),
    "not_tried": ("Not tried", "未測定のオプション"),
    "use": ("What to use", "推奨する設定"),
    "use_lead": (
        "The same command writes these settings into project.yaml after showing the change:",
        "次のコマンドで、変更内容を確認してから project.yaml に書き込めます:",
    ),
    "tile_best": ("Fastest settings", "最も速い設定"),
    "tile_faster": ("Options to use", "有効なオプション"),
    "tile_faster_note": ("faster, and the loss stays the same", "速くなり、損失が変わらないもの"),
    "tile_share": ("Largest part of a step", "ステップ中で最大の部分"),
    "tile_largest": ("Largest batch", "最大のバッチ"),
    "tile_recommended": ("Recommended batch", "推奨するバッチ"),
    "tile_confirmed": ("confirmed by a longer start", "長めの起動で確認済み"),
    "tile_not_confirmed": ("not confirmed", "未確認"),
    "tile_first": ("Batch as it is", "現状のバッチ"),
    "tile_limit": ("Limit of memory", "メモリの上限"),
    "tile_noise": ("Gradient noise scale", "勾配のノイズスケール"),
    "samples": ("samples", "サンプル"),
    "of_addresses": ("address space of a process", "プロセスのアドレス空間"),
    "of_device": ("memory of the GPU", "GPU のメモリ"),
    # ---- lists
    "list": ("Speed-ups on one device", "1 デバイスでの高速化"),
    "list_caption": (
        "What `hackathon speedup` measured with one process, the newest first.",
        "`hackathon speedup` が 1 プロセスで測定した結果（新しい順）",
    ),
    "column_run": ("Measurement", "測定"),
    "column_result": ("Result", "結果"),
    "faster": ("{ratio} × with {settings}", "{settings} で {ratio} 倍"),
    "batch": (
        "largest batch {largest}, recommended {recommended}",
        "最大のバッチ {largest}、推奨 {recommended}",
    ),
    "no_batch": ("the largest batch is not known", "最大のバッチは不明"),
}
