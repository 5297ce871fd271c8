"""Messages of the pages' looks and of the scaling results of all teams: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # figures
    "data": ("Data", "数値"),
    "zoom": (
        "drag to move, Shift + wheel to zoom, double-click to go back",
        "ドラッグで移動、Shift + ホイールで拡大、ダブルクリックで元に戻ります",
    ),
    "no_bundle": (
        "plots stay still pictures: Vega could not be made ready: {reason}",
        "図は静止画のままです: Vega を用意できませんでした: {reason}",
    ),
    "no_bundle_hint": (
        "the pages are whole without it",
        "ページはこのままで問題なく使えます",
    ),
}
