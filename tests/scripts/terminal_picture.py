"""A terminal as SVG: what a command printed, its words as text that can be searched and copied. The README's was made from the page's command:

(echo '$ COMMAND'; COMMAND 2>/dev/null) | cmake/python tests/scripts/terminal_picture.py >docs/figures/terminal.svg
"""

import re
import sys
from html import escape, unescape

ADVANCE, LINE, EDGE, BAR = 7.8, 18, 14, 26  # pixels: a letter's width, a line's height, the margin, the window's title


def picture(text):
    lines = text.rstrip("\n").split("\n")
    width, height = 2 * EDGE + ADVANCE * max(map(len, lines)), BAR + 2 * EDGE + LINE * len(lines)
    dots = "".join(
        f'<circle cx="{EDGE + 4 + 16 * k}" cy="15" r="5" fill="{colour}"/>'
        for k, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    drawn = ""
    for k, line in enumerate(lines):
        if line:
            fill = ' fill="#7ee787"' if line.startswith("$ ") else ""
            place = f'x="{EDGE}" y="{BAR + EDGE + LINE * (k + 0.7):.1f}" textLength="{ADVANCE * len(line):.1f}"'
            drawn += f'<text xml:space="preserve" {place}{fill}>{escape(line, quote=False)}</text>\n'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">
<title>{escape(lines[0].removeprefix("$ "), quote=False)}</title>
<style>text {{ white-space: pre }}</style>
<rect width="100%" height="100%" rx="8" fill="#15171a"/>
{dots}
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="#e6e6e6">
{drawn}</g>
</svg>
"""


def text_of(svg):
    """The lines of a picture, empty ones left out."""
    return [unescape(line) for line in re.findall(r"<text [^>]*>(.*)</text>", svg)]


if __name__ == "__main__":
    sys.stdout.write(picture(sys.stdin.read()))
