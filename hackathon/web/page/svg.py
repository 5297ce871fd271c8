"""Make the engine's drawing small and harmless: only shapes and texts that a page needs, in few bytes.

Removed are roles (the page has a description), styles, fonts (the style sheet sets them), metadata, links, pictures,
empty groups, and all but one decimal of the coordinates. Attributes that neighbours share move to a group around them,
the most frequent font size to the drawing; straight lines, bars and dots of equal style become one path. Only the
elements and attributes listed here pass, so that a specification can add nothing but text to a page.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from xml.etree import ElementTree

_ELEMENTS = frozenset(
    {"svg", "g", "path", "line", "text", "tspan", "rect", "circle", "defs", "clipPath", "linearGradient", "stop"}
)
_ATTRIBUTES = frozenset(
    {
        "id", "d", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "r", "cx", "cy", "width", "height", "viewBox",
        "transform", "clip-path", "offset", "stop-color", "stop-opacity", "gradientUnits",
        "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
        "stroke-linejoin", "opacity", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline",
    }
)  # fmt: skip
_INHERITED = (
    "fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "text-anchor", "fill-opacity",
    "stroke-opacity", "stroke-linecap", "stroke-linejoin",
)  # fmt: skip
_DEFAULTS = {
    "opacity": "1", "stroke-width": "1", "fill-opacity": "1", "stroke-opacity": "1", "transform": "translate(0,0)",
    "font-weight": "400", "text-anchor": "start", "stroke-dasharray": "", "font-style": "normal",
}  # fmt: skip
_LETTERS = frozenset({"text", "tspan"})
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_TRANSLATE = re.compile(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)\Z")
_BAR = re.compile(r"M[-\d.]+,[-\d.]+h[\d.]+v[\d.]+h-[\d.]+Z\Z")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0\Z")
_URL = re.compile(r"url\(#([^)]*)\)\Z")
_PLACE = frozenset({"cx", "cy", "d"})
_TOUCHED = frozenset({"stroke", "opacity", "fill-opacity", "transform", "clip-path"})
"""A dot with one of these is not drawn as the round end of a line."""
_DEEPEST = 60
_WORTH = 3
"""The least number of neighbours with equal style for a group."""


class _Node:
    __slots__ = ("attributes", "children", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], children: "list[_Node]", text: str = "") -> None:
        self.tag, self.attributes, self.children, self.text = tag, attributes, children, text


def slim(svg: str) -> str:
    """Return a drawing as an `svg` element for HTML. Raises ValueError for anything but a drawing."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"no SVG: {error}") from None
    nodes = _nodes(root, 0)
    if len(nodes) != 1 or nodes[0].tag != "svg":
        raise ValueError("no SVG")
    top = nodes[0]
    _once(top)
    size = _commonest_size(top)
    top.children = list(_gathered(_merged(top.children)))
    box = top.attributes.get("viewBox", "0 0 1 1")
    # a fixed width, so that a wider page does not enlarge the text
    top.attributes = {"viewBox": box, "width": box.split(" ")[2] if box.count(" ") == 3 else "1"}
    top.attributes |= {"font-size": size} if size else {}
    return "".join(_written(top))


def _nodes(element: ElementTree.Element, depth: int) -> list[_Node]:
    """Return the remains of an element: one node, none, or its children if it was only a wrapper."""
    tag = element.tag.rpartition("}")[2]
    attributes = {name: _rounded(name, value) for name, value in element.attrib.items() if name in _ATTRIBUTES}
    attributes = {name: value for name, value in attributes.items() if _DEFAULTS.get(name) != value}
    if "stroke" not in attributes:
        attributes.pop("stroke-width", None)
    if depth > _DEEPEST or element.attrib.get("display") == "none" or attributes.get("opacity") == "0":
        return []
    if tag in _LETTERS:
        _place(attributes, "x", "y")
        attributes |= {name: str(round(float(attributes[name]))) for name in ("x", "y") if _is_number(attributes, name)}
        nodes = [node for child in element for node in _nodes(child, depth + 1) if node.tag == "tspan"]
        text = element.text or ""
        return [_Node(tag, attributes, nodes, text)] if text.strip() or nodes else []
    children = [node for child in element for node in _nodes(child, depth + 1)]
    if tag not in _ELEMENTS:
        return children if tag == "a" else []
    if tag in ("g", "defs"):
        children = list(_joined(children))
        if not children:
            return []
        if tag == "g" and not attributes:
            return children
        if tag == "g" and len(children) == 1 and set(attributes) == {"transform"} and children[0].tag == "g":
            return [_moved(attributes["transform"], children[0])]
        return [_Node(tag, attributes, children)]
    if tag == "path":
        return _path(attributes, element.attrib.get("class", ""))
    return [_Node(tag, attributes, children)]


def _is_number(attributes: dict[str, str], name: str) -> bool:
    return _NUMBER.fullmatch(attributes.get(name, "")) is not None


def _path(attributes: dict[str, str], role: str) -> list[_Node]:
    visible = attributes.get("fill", "none") not in ("none", "transparent") or "stroke" in attributes
    if not attributes.get("d") or (role in ("background", "foreground") and not visible):
        return []
    circle = _CIRCLE.match(attributes["d"])
    if circle and _TRANSLATE.match(attributes.get("transform", "translate(0,0)")):
        _place(attributes, "cx", "cy")
        drawn = attributes.keys() & {"fill", "stroke"} - {name for name in ("fill",) if attributes.get(name) == "none"}
        if "opacity" in attributes and len(drawn) == 1:  # moved to the drawn shape, so that neighbours can share it
            attributes[f"{drawn.pop()}-opacity"] = attributes.pop("opacity")
        return [_Node("circle", {**{k: v for k, v in attributes.items() if k != "d"}, "r": circle[1]}, [])]
    return [_Node("path", attributes, [])]


def _place(attributes: dict[str, str], x: str, y: str) -> None:
    """Replace a translation by coordinates."""
    match = _TRANSLATE.match(attributes.get("transform", ""))
    if match and x not in attributes and y not in attributes:
        del attributes["transform"]
        attributes[x], attributes[y] = match[1], match[2]


def _moved(transform: str, node: _Node) -> _Node:
    """Return a group inside a group that only translates it as one group."""
    inner = node.attributes.get("transform")
    first, second = _TRANSLATE.match(transform), _TRANSLATE.match(inner or "translate(0,0)")
    if first and second and "clip-path" not in node.attributes:
        x, y = float(first[1]) + float(second[1]), float(first[2]) + float(second[2])
        node.attributes["transform"] = f"translate({_short(x)},{_short(y)})"
        return node
    return _Node("g", {"transform": transform}, [node])


def _joined(nodes: Iterable[_Node]) -> Iterator[_Node]:
    """Yield nodes, with consecutive straight lines of equal style as one path."""

    def look(node: _Node) -> tuple[object, ...]:
        if node.tag != "line" or not _TRANSLATE.match(node.attributes.get("transform", "translate(0,0)")):
            return (id(node),)
        return tuple(sorted((k, v) for k, v in node.attributes.items() if k not in ("transform", "x2", "y2")))

    for _, same in groupby(nodes, look):
        lines = list(same)
        if lines[0].tag != "line" or look(lines[0]) == (id(lines[0]),):
            yield from lines
            continue
        parts = []
        for line in lines:
            start = _TRANSLATE.match(line.attributes.pop("transform", "translate(0,0)"))
            across, down = line.attributes.pop("x2", "0"), line.attributes.pop("y2", "0")
            if start:
                step = f"v{down}" if across == "0" else f"h{across}" if down == "0" else f"l{across},{down}"
                parts.append(f"M{start[1]},{start[2]}{step}")
        yield _Node("path", {**lines[0].attributes, "d": "".join(parts)}, [])


def _once(top: _Node) -> None:
    """Merge equal clip regions."""
    instead: dict[str, str] = {}
    for node in _all(top):
        ids: dict[tuple[str, ...], str] = {}
        for child in node.children if node.tag == "defs" else ():
            look = ("".join(_written(_Node(child.tag, {}, child.children))),)
            if child.tag == "clipPath" and "id" in child.attributes:
                instead[child.attributes["id"]] = ids.setdefault(look, child.attributes["id"])
        if node.tag == "defs":
            node.children = [
                child for child in node.children if instead.get(name := child.attributes.get("id", ""), name) == name
            ]
    for node in _all(top):
        named = _URL.match(node.attributes.get("clip-path", ""))
        if named:
            node.attributes["clip-path"] = f"url(#{instead.get(named[1], named[1])})"


def _commonest_size(top: _Node) -> str:
    """Remove the most frequent font size from the texts, and return it; empty if there are no texts."""
    sizes = Counter(size for node in _all(top) if (size := node.attributes.get("font-size")))
    ((size, _),) = sizes.most_common(1) or (("", 0),)
    for node in _all(top) if size else ():
        if node.attributes.get("font-size") == size:
            del node.attributes["font-size"]
    return size


def _all(node: _Node) -> Iterator[_Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _merged(nodes: Iterable[_Node]) -> Iterator[_Node]:
    """Yield nodes, with consecutive dots, bars and groups of equal style as one."""

    def kind(node: _Node) -> tuple[object, ...]:
        look = tuple(sorted((name, value) for name, value in node.attributes.items() if name not in _PLACE))
        if node.tag == "circle" and "fill" in node.attributes and not _TOUCHED & node.attributes.keys():
            return ("dot", *look)
        if node.tag == "path" and _BAR.match(node.attributes["d"]) and {name for name, _ in look} == {"fill"}:
            return ("bar", *look)
        if node.tag == "g" and node.attributes.keys() == {"clip-path"}:
            return ("cut", *look)
        return (id(node),)

    for (shape, *_), same in groupby(nodes, kind):
        alike = list(same)
        for node in alike:
            node.children = node.children if node.tag in _LETTERS else list(_merged(node.children))
        first = alike[0].attributes
        if shape == "dot":
            spots = "".join(f"M{node.attributes['cx']},{node.attributes['cy']}h0" for node in alike)
            width = _short(2 * float(first["r"]))
            round_ = {"stroke": first["fill"], "stroke-width": width, "stroke-linecap": "round"}
            yield _Node("path", {**round_, "d": spots}, [])
        elif shape == "bar":
            yield _Node("path", {**first, "d": "".join(node.attributes["d"] for node in alike)}, [])
        elif shape == "cut":
            yield _Node("g", first, [child for node in alike for child in node.children])
        else:
            yield from alike


def _gathered(nodes: Iterable[_Node]) -> Iterator[_Node]:
    """Yield nodes, with neighbours of equal style inside one group."""

    def look(node: _Node) -> tuple[tuple[str, str], ...]:
        return tuple((name, node.attributes[name]) for name in _INHERITED if name in node.attributes)

    for shared, same in groupby(nodes, look):
        alike = list(same)
        for node in alike:
            node.children = node.children if node.tag in _LETTERS else list(_gathered(node.children))
        if len(alike) < _WORTH or not shared:
            yield from alike
            continue
        for node in alike:
            for name, _ in shared:
                del node.attributes[name]
        yield _Node("g", dict(shared), alike)


def _rounded(name: str, value: str) -> str:
    if name in ("d", "transform", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "dx", "dy"):
        return _NUMBER.sub(lambda match: _short(float(match[0])), value)
    return value.removesuffix("px") if name == "font-size" else value


def _path_text(path: str) -> str:
    """Return the data of a path without superfluous separators."""
    return re.sub(r"(?<![\d.])0\.(?=\d)", ".", path.replace(",-", "-"))


def _short(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _written(node: _Node) -> Iterator[str]:
    attributes = {name: _path_text(value) if name == "d" else value for name, value in node.attributes.items()}
    words = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    if not node.children and not node.text:
        yield f"<{node.tag}{words}/>"
        return
    yield f"<{node.tag}{words}>{escape(node.text, quote=False)}"
    for child in node.children:
        yield from _written(child)
    yield f"</{node.tag}>"
