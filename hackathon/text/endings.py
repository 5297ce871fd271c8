"""Convert Japanese sentences from です・ます to である, for reports in the plain style."""

import re

_ENDINGS = (
    ("ありませんでした", "なかった"), ("いませんでした", "いなかった"), ("ませんでした", "なかった"),
    ("ではありません", "ではない"), ("ありません", "ない"), ("いません", "いない"), ("示しません", "示さない"),
    ("すぎません", "すぎない"), ("すぎます", "すぎる"),
    ("かりません", "からない"), ("されません", "されない"), ("きません", "きない"), ("りません", "らない"),
    ("ご報告します", "報告する"), ("いたします", "する"), ("挙げます", "挙げる"), ("されます", "される"),
    ("います", "いる"), ("あります", "ある"), ("かります", "かる"), ("なります", "なる"), ("します", "する"),
    ("きます", "きる"), ("えます", "える"), ("れます", "れる"), ("べます", "べる"), ("ります", "る"),
    ("しましたが", "したが"), ("なりました", "なった"), ("ありました", "あった"), ("りました", "った"),
    ("しました", "した"), ("いました", "いた"), ("れました", "れた"), ("べました", "べた"),
    ("でしょう", "だろう"), ("でした", "であった"), ("です", "である"),
)  # fmt: skip
"""(polite, plain), the longer one first; they precede a full stop, a bracket or the end."""
_FOLLOWED = r"(?=[。（）」]|\Z)"
_ANY = re.compile("|".join(re.escape(polite) + ("" if polite.endswith("が") else _FOLLOWED) for polite, _ in _ENDINGS))
_PLAIN = dict(_ENDINGS)
POLITE = re.compile(rf"(?:です|ます|ました|でした|ません|でしょう){_FOLLOWED}")
"""Matches an ending that a text in the plain style must not have."""


def plain_style(text: str) -> str:
    """Return a text with its sentence endings in the である style; the rest is unchanged."""
    return _ANY.sub(lambda match: _PLAIN[match[0]], text)
