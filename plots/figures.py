"""All figures of a report."""

import os
import pathlib
import re

from analysis.output import remove
from plots import figures_claims, figures_ladder, figures_sweep, figures_time

ALL = (figures_claims, figures_ladder, figures_sweep, figures_time)
KINDS = re.compile(r"(claims|time|(ladder|sweep|inputs|offset)_.+)\.svg")  # files that this module draws


def draw_all(results, out):
    """[(path, what it shows)]. Figures of these kinds that an earlier report drew there, and this one does not, are removed."""
    pictures = [picture for module in ALL for picture in module.draw(results, out)]
    drawn = {os.path.realpath(path) for path, _ in pictures}
    for path in pathlib.Path(out).glob("*.svg"):
        if KINDS.fullmatch(path.name) and os.path.realpath(path) not in drawn:
            remove(path)
    return pictures
