"""What a message for tutors is about, in a few topics, to choose among the causes of several runs."""

import re

TOPICS = {
    "hang": (
        r"\bhangs?\b|\bhung\b|stuck|freez|still|no progress|nothing happens"
        r"|固ま|止ま|停止|進ま|進行|動かな|ハング|応答"
    ),
    "memory": r"memory|\boom\b|メモリ",
    "data": r"data ?sets?\b|\bdata\b|\bfiles?\b|not found|no such file|データ|ファイル|見つか",
    "module": r"modules?\b|\bimport|packages?\b|install|モジュール|パッケージ|インストール",
    "number": r"\bnan\b|\binf\b|diverge|発散|非数",
    "network": r"\bnccl\b|network|connection|infiniband|\bports?\b|communicat|通信|接続|ネットワーク",
    "time": r"walltime|time limit|ウォールタイム|時間切れ|制限時間",
    "shape": r"shapes?\b|mismatch|dimension|形状|次元|サイズ",
    "key": r"key ?error|\bkeys?\b|\bentry\b|キー|項目",
    "permission": r"permission|denied|quota|権限|容量",
}
"""Topic → words of messages and of causes, in English and Japanese."""
_TOPICS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in TOPICS.items()}
_SIZE = re.compile(r"(\d{1,6}) ?(?:process(?:es)?|ranks?|gpus?|プロセス|ランク|並列|枚)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][\w./-]{4,}")
LONGEST = 4000
"""Characters of a message that are read."""


def topics_of(text: str) -> frozenset[str]:
    """Return the names of the topics whose words a text contains."""
    return frozenset(name for name, pattern in _TOPICS.items() if pattern.search(text[:LONGEST]))


def likeness(text: str, cause: str, processes: int) -> int:
    """Return how much a message has in common with a run: topics of its cause, its size, names in its cause.

    `cause`: all texts of the cause; `processes`: the run's size. 0: nothing.
    """
    said = text[:LONGEST]
    shared = len(topics_of(said) & topics_of(cause))
    sizes = {int(match[1]) for match in _SIZE.finditer(said)}
    names = {name for name in _NAME.findall(said) if re.search(r"[_./A-Z0-9]", name[1:])}
    return 2 * shared + (processes in sizes) + sum(name in cause for name in names)
