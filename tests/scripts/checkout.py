"""The checkout that is tested; its Python packages, analysis and plots, can be imported once this is."""

import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE))
