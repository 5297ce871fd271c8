"""Detect whether pictures drawn on this machine can contain Japanese."""

import os
import re
import subprocess
from pathlib import Path

_JAPANESE = re.compile(
    r"cjk|noto(sans|serif)jp|ipa(ex)?[gm]|takao|vl-?(p)?gothic|hiragino|ヒラギノ|yugoth|yumin|meiryo|ms(p)?gothic"
    r"|sourcehan|bizud|mplus|migu|sazanami|kochi|umefont|jiskan|hanazono|droidsansjapanese|droidsansfallback",
    re.IGNORECASE,
)
_SUFFIXES = frozenset({".ttf", ".ttc", ".otf", ".otc"})
# Characters that Latin fonts lack: CJK punctuation, kana, ideographs, full-width forms.
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def user_folders() -> list[Path]:
    """Return the existing folders of the user's fonts: `$HACKATHON_FONTS` (separated by `:`), then the usual two."""
    own = [Path(part) for part in os.environ.get("HACKATHON_FONTS", "").split(os.pathsep) if part]
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return [folder for folder in (*own, data / "fonts", Path.home() / ".fonts") if folder.is_dir()]


def needs_japanese(text: str) -> bool:
    """Return True when a text has characters that a Latin font lacks."""
    return bool(_WIDE.search(text))


def has_japanese() -> bool:
    """Return True when a Japanese font is installed, according to fontconfig or else to file names."""
    if any(_scan(folder) for folder in user_folders()):
        return True
    try:
        answer = subprocess.run(
            ["fc-list", ":lang=ja", "file"], capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
        if answer.returncode == 0:
            return bool(answer.stdout.strip())
    except (OSError, subprocess.TimeoutExpired):
        pass
    system = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts")
    return any(_scan(Path(folder)) for folder in system)


def _scan(folder: Path) -> bool:
    for _, _, names in os.walk(folder):
        if any(Path(name).suffix.lower() in _SUFFIXES and _JAPANESE.search(name) for name in names):
            return True
    return False
