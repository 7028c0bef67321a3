"""The interactive page: one file that needs no network, with the rows, compressed, and Bokeh's scripts inside."""

import base64
import gzip
import importlib.util
import json
import pathlib

from analysis.output import MACHINE, End, write_whole

FOLDER = pathlib.Path(__file__).with_name("page_html")
SCRIPTS = ("state.js", "charts.js", "tables.js", "claims.js", "main.js")
LIBRARY = ("bokeh.min.js", "bokeh-api.min.js")
MOST_BYTES = 5_000_000
SAMPLES = (400, 100, 40, 12, 0)  # kept of a row and mode: the first that fits


class NoLibrary(End):
    """A package that the page needs is not installed."""

    code = MACHINE


def found(package):
    spec = importlib.util.find_spec(package)
    if not spec:
        raise NoLibrary(f"--html: the Python package {package} is missing (./rungs installs it)")
    return spec


def library():
    folder = pathlib.Path(found("bokeh").origin).parent / "server/static/js"
    return "\n".join((folder / name).read_text(encoding="utf-8").split("//# sourceMappingURL")[0] for name in LIBRARY)


def inline(script):
    """As it may stand in a script element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def page(results, paths, repository):
    scripts = library()
    found("ruptures")  # for the history's changes
    from analysis.report import html_data

    template = (FOLDER / "page.html").read_text(encoding="utf-8")
    parts = {
        "STYLE": (FOLDER / "page.css").read_text(encoding="utf-8"),
        "LIBRARY": inline(scripts),
        "SCRIPT": inline("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
    }
    text = ""
    for most in SAMPLES:
        data = json.dumps(html_data.build(results, paths, most, repository), separators=(",", ":"), allow_nan=False)
        parts["DATA"] = base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
        text = template
        for name in ("STYLE", "DATA", "SCRIPT", "LIBRARY"):
            text = text.replace(f"@{name}@", parts[name], 1)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def write(results, paths, out, repository):
    """repository: the folder of the project, whose git orders commits."""
    write_whole(out, page(results, paths, repository), folders=True)
