"""Parts of a page that scripts write: between `<!-- rungs:begin NAME -->` and `<!-- rungs:end NAME -->`."""

import re
import sys


def part(text, name):
    """(start, end) of what lies between the markers."""
    found = re.search(f"(?s)<!-- rungs:begin {name} -->(.*?)<!-- rungs:end {name} -->", text)
    return found.span(1) if found else sys.exit(f"the page has no markers '{name}'; it is left as it is")


def fill(path, contents):
    """contents: name -> text."""
    text = path.read_text()
    for name, content in contents.items():
        start, end = part(text, name)
        text = f"{text[:start]}\n{content.strip()}\n{text[end:]}"
    path.write_text(text)
