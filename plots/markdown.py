"""Markdown tables and marked sections."""
import re

MARKER = re.compile(r"<!-- rungs:(begin|end) ([a-z_]+) -->")


class BadMarkers(Exception):
    """The markers of a document do not pair up; the message names the line."""


def cell(text):
    """A reason or a formula must neither end a cell nor begin a tag."""
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def table(header, rows):
    """Left-aligned first column, the others to the right where the header begins with '>'."""
    names = [h.lstrip(">") for h in header]
    rules = ["---:" if h.startswith(">") else "---" for h in header]
    lines = [names, rules, *[[cell(c) for c in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def without_empty(header, lines):
    """Columns that hold nothing are left out."""
    kept = [k for k in range(len(header)) if k == 0 or any(line[k] != "-" for line in lines)]
    return [header[k] for k in kept], [[line[k] for k in kept] for line in lines]


def details(summary, body):
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


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
        raise BadMarkers(f"{path}: holds no '<!-- rungs:begin NAME -->' markers; it is left as it is. Name another file, or move it away")
    for name, (start, end) in sorted(places.items(), key=lambda item: -item[1][0]):
        if name in contents:
            text = text[:start] + "\n" + contents[name].strip() + "\n" + text[end:]
    return text, [name for name in contents if name not in places]
