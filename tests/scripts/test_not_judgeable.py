"""Outputs whose tolerance lets 0 pass: shown as not judgeable, and a row of such outputs alone is no pass."""

import pathlib
import tempfile
import unittest

from program import call, rows_of

from analysis import rows as r
from analysis.report.checks import accuracy_cell


class NotJudgeable(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def row(self, case, variant):
        out = self.folder / "rows.jsonl"
        self.told = call("run", case, "--variants", variant, "--verify-only", "--out", out)
        return rows_of(out)[0]

    def test_one_output_of_many(self):
        row = self.row("moments rows=1e5 cols=4 dtype=f32 input=offset1e6", "cpu_two_pass")
        self.assertEqual(row["verdict"], "pass")
        left_out = [name for name, e in row["errors"].items() if not e["judgeable"]]
        self.assertIn("skewness", left_out)
        self.assertNotIn("min", left_out)
        self.assertGreater(row["errors"]["skewness"]["vacuous"], 0.5)
        self.assertIn(f"not judgeable: {', '.join(left_out)}", self.told.stderr)
        self.assertEqual(r.unjudged(row), left_out)
        self.assertEqual(r.verdict_words(row), f"pass (not judgeable: {', '.join(left_out)})")
        others = {**row, "errors": {name: e for name, e in row["errors"].items() if name not in left_out}}
        self.assertEqual(r.worst_ratio(row), r.worst_ratio(others))
        self.assertIn("(not judgeable: ", accuracy_cell([row]))
        older = {
            **row,
            "errors": {
                name: {k: v for k, v in e.items() if k not in ("judgeable", "vacuous")}
                for name, e in row["errors"].items()
            },
        }
        self.assertEqual(r.verdict_words(older), "pass")

    def test_no_output_at_all(self):
        row = self.row("rolling n=1e4 window=3000 agg=var dtype=f32 input=offset1e8", "cpu_naive")
        self.assertEqual((row["verdict"], row["timing"], row["reverified"]), ("skip", None, None))
        self.assertIn("y: not judgeable (the tolerance is no less than the value in", row["reason"])
        self.assertIs(row["errors"]["y"]["judgeable"], False)
        self.assertIsNone(r.worst_ratio(row))
        self.assertIn("0 passed, 0 failed, 0 errors, 1 skipped", self.told.stdout)

    def test_what_fails_fails(self):
        row = self.row("moments rows=1e5 cols=4 dtype=f32 input=offset1e6", "cpu_power_sums_row_order")
        self.assertEqual(row["verdict"], "fail")


if __name__ == "__main__":
    unittest.main()
