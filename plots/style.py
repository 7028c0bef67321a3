"""How all figures look: colours, footer, labels that do not overlap, and where they are written."""

import io
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.transforms import ScaledTranslation
from scipy.optimize import isotonic_regression

from analysis import rows as r
from analysis.output import write_whole

# Okabe and Ito's colours, told apart by colour-blind readers.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B8860B", "#000000", "#7A5195"]
OURS, MUTED, FAILED = "#0072B2", "#6B6B6B", "#D55E00"

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 160,
        "savefig.facecolor": "white",
        "savefig.transparent": False,
        "svg.hashsalt": "rungs",
        "svg.fonttype": "path",
        "text.parse_math": False,
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#555555",
        "axes.labelcolor": "#222222",
        "xtick.color": "#444444",
        "ytick.color": "#444444",
        "axes.grid": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": 0.7,
        "axes.axisbelow": True,
        "lines.linewidth": 1.5,
        "lines.markersize": 5,
        "legend.frameon": False,
    }
)


def footer_text(results, rows):
    """Machine, driver, commits and last day of the runs that the rows come from; a line for each machine and driver, the last two."""
    commits = {}
    for run in sorted(
        {row.get("run") for row in rows},
        key=lambda run: ((results.environments.get(run) or {}).get("date") or "", str(run)),
    ):
        e = results.environments.get(run) or {}
        words = [r.machine_name(e)]
        if (e.get("gpu") or {}).get("driver"):
            words.append(f"driver {e['gpu']['driver']}")
        commit = f"{(e.get('commit') or 'unknown')[:7]}{' + changes' if e.get('dirty') else ''}"
        found, _ = commits.get(tuple(words), ({}, None))
        commits[tuple(words)] = {**found, commit: None}, (e.get("date") or "unknown date")[:10]
    lines = [
        "  ·  ".join([*words, f"commit{'s' if len(found) > 1 else ''} {', '.join(found)}", day])
        for words, (found, day) in commits.items()
    ]
    return "\n".join(lines[-2:])


def lay_out(figure, footer_lines=2):
    height = figure.get_size_inches()[1]
    figure.tight_layout(
        rect=(0, (0.12 + 0.16 * footer_lines) / height, 1, 1 - getattr(figure, "rungs_room", 0) / height)
    )


def finish(figure, results, rows, out, name, layout=True):
    """Footer and file; returns its path."""
    text = footer_text(results, rows)
    height = figure.get_size_inches()[1]
    if layout:
        lay_out(figure, text.count("\n") + 1)
    figure.text(0.008, 0.06 / height, text, fontsize=7, color=MUTED, ha="left", va="bottom")
    return save(figure, pathlib.Path(out) / f"{name}.svg")


def save(figure, path):
    """Without anything that would differ next time."""
    picture = io.BytesIO()
    figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    write_whole(path, picture.getvalue(), folders=True)
    plt.close(figure)
    return path


def width_of(text):
    return text.get_window_extent(text.figure.canvas.get_renderer()).width


def broken(figure, words, fontsize):
    """The words as lines that fit into the figure."""
    probe = figure.text(0, 0, "", fontsize=fontsize)
    lines = [""]
    for word in words.split(" "):
        probe.set_text(f"{lines[-1]} {word}".strip())
        if lines[-1] and width_of(probe) > 0.98 * figure.bbox.width:
            lines.append(word)
        else:
            lines[-1] = probe.get_text()
    probe.remove()
    return lines


def from_top(figure, inches):
    """Figure coordinates that much lower, whatever the figure's height becomes."""
    return figure.transFigure + ScaledTranslation(0, -inches, figure.dpi_scale_trans)


def write_title(figure, title):
    """What the figure shows, in bold; the case it shows it for, after the colon, goes below if both are too long. Returns the inches used."""
    heading = figure.text(
        0.008, 1, title, ha="left", va="top", weight="bold", fontsize=11, transform=from_top(figure, 0.08)
    )
    if ": " not in title or width_of(heading) <= 0.98 * figure.bbox.width:
        return 0.27
    what, case = title.split(": ", 1)
    heading.set_text(what)
    lines = broken(figure, case, 8.5)
    figure.text(
        0.008, 1, "\n".join(lines), ha="left", va="top", fontsize=8.5, color="#222222", transform=from_top(figure, 0.28)
    )
    return 0.29 + 0.14 * len(lines)


def head(figure, title, handles=()):
    """A title and, below it, the legend in as few rows as fit; the layout leaves that room at the top (see finish), and each row after the first makes the figure higher."""
    used = write_title(figure, title)
    room = used + 0.03
    if handles:
        for columns in range(len(handles), 0, -1):
            legend = figure.legend(
                handles=handles,
                loc="upper left",
                bbox_to_anchor=(0, 1),
                bbox_transform=from_top(figure, used),
                ncols=columns,
                fontsize=8.5,
                handletextpad=0.4,
                columnspacing=1.4,
                handlelength=1.3,
            )
            if columns == 1 or width_of(legend) <= figure.bbox.width:
                break
            legend.remove()
        more = 0.18 * (-(-len(handles) // columns) - 1)
        room = used + 0.28 + more
        figure.set_size_inches(figure.get_size_inches() + (0, more))
    figure.rungs_room = room


def beside(axes, y, text, x=1.015, **how):
    """A text at the height of a line; x: of the axes' width."""
    how = {"va": "center", "annotation_clip": False, **how}
    axes.annotate(text, (x, y), xycoords=("axes fraction", "data"), **how)


def key(label, **how):
    """An entry of a legend."""
    return plt.Line2D([], [], **{"marker": "o", "ls": "", **how, "label": label})


def log_ticks(low, high):
    """Powers of ten between two numbers; twice and five times them, too, as long as that is not too many."""
    return [
        step * 10.0**k
        for k in range(-4, 7)
        for step in ((1,) if high / low > 200 else (1, 2, 5))
        if low <= step * 10.0**k <= high
    ]


def spread(positions, gap):
    """Moves sorted-by-value label positions apart to at least `gap`, as little as possible and without changing their order."""
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    placed = np.empty(len(order))
    placed[order] = isotonic_regression(np.asarray(positions)[order] - steps).x + steps
    return placed.tolist()
