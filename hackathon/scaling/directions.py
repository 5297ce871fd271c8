"""Whether more of a metric is better, as far as its check, its unit or its name tells."""

import re
from collections.abc import Mapping
from typing import Any

from hackathon.scaling.table import lower_is_better

_LESS = re.compile(r"(?i)(^|_|\b)(loss|losses|error|err|perplexity|ppl|rmse|mse|mae|wer|cer|fid|nll)(\b|_|$)")
_MORE = re.compile(
    r"(?i)(^|_|\b)(accuracy|acc|top[15]|f1|precision|recall|auc|auroc|bleu|rouge|iou|dice|psnr|ssim|throughput|speedup)"
    r"(\b|_|$)|_per_s(ec)?\Z"
)
_RATE = re.compile(r"(?i).+/\s*(s|sec|second|min|h|day)(/(gpu|process|rank))?\Z")


def known_direction(metric: str, check: Mapping[str, Any] | None, unit: str = "") -> bool | None:
    """Return whether more of a metric is better: by the check, else by its unit, else by its name; None: not known."""
    if check is not None and check.get("metric") == metric:
        if check.get("at_least") is not None and check.get("at_most") is None:
            return True
        if check.get("at_most") is not None and check.get("at_least") is None:
            return False
    if lower_is_better(unit) or _LESS.search(metric):
        return False
    return True if _RATE.match(unit.strip()) or _MORE.search(metric) else None
