"""Markdown tables and marked sections."""

import re

from analysis.format import details

MARKER = re.compile(r"<!-- rungs:(begin|end) ([a-z_]+) -->")


class BadMarkers(Exception):
    """The markers of a document do not pair up; the message names the line."""


def pictures_of(pictures, *beginnings):
    """Those whose file begins with one of the words, as links [(link, text)]; what is about single precision folded."""
    found = [(link, text) for word in beginnings for link, text in pictures if link.rsplit("/", 1)[-1].startswith(word)]
    shown = [f"![{text}]({link})" for link, text in found if "_f32" not in link]
    folded = [f"![{text}]({link})" for link, text in found if "_f32" in link]
    return "\n\n".join(shown + ([details("figures in single precision", "\n\n".join(folded))] if folded else []))


def sections(text, path):
    """name -> (start, end) of what lies between its markers."""
    found, opened = {}, None
    for match in MARKER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        kind, name = match.groups()
        if kind == "begin":
            if opened:
                raise BadMarkers(f"{path}:{line}: '{name}' begins before '{opened[0]}' has ended")
            if name in found:
                raise BadMarkers(f"{path}:{line}: '{name}' begins a second time")
            opened = name, match.end()
        else:
            if not opened or opened[0] != name:
                raise BadMarkers(f"{path}:{line}: '{name}' ends but has not begun")
            found[name] = opened[1], match.start()
            opened = None
    if opened:
        raise BadMarkers(f"{path}: '{opened[0]}' begins but never ends")
    return found


def fill(text, contents, path):
    """Replaces what lies between markers; returns the text and the names of contents that have no markers."""
    places = sections(text, path)
    if not places:
        raise BadMarkers(
            f"{path}: holds no '<!-- rungs:begin NAME -->' markers; it is left as it is. Name another file, or move it away"
        )
    for name, (start, end) in sorted(places.items(), key=lambda item: -item[1][0]):
        if name in contents:
            text = text[:start] + "\n" + contents[name].strip() + "\n" + text[end:]
    return text, [name for name in contents if name not in places]
