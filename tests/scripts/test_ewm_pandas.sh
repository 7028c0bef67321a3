#!/usr/bin/env bash
# Does the pandas that is installed still give what tests/golden/ewm_pandas.txt says? The truth of `ewm` is held to that file.
set -euo pipefail
python="$RUNGS_SOURCE/cmake/python"
"$python" -c "import pandas" 2>/dev/null || { echo "skip: pandas is not installed"; exit 77; }
"$python" "$RUNGS_SOURCE/tests/golden/make_ewm_pandas.py" --check
