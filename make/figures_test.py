#!/usr/bin/env python3
"""Tests make/figures: the list covers all committed figures, faults of each kind are found, and commands are run and compared."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

MAKE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("figures", str(MAKE / "figures"))
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
sys.modules["figures"] = figures
loader.exec_module(figures)

CURVE = """# A comment.
figure curve
file docs/curve.csv from out.csv
run cp data.csv {out}/out.csv
spread 10 %
takes 2 min
"""
TABLE = """figure table
file docs/page.md#bench/table
run ./rewrite
takes 1 s
"""
PAGE = "# Page\n<!-- begin bench/table -->\n| 10 |\n<!-- end bench/table -->\nThe end.\n"


class List(unittest.TestCase):
    def test_it_covers_all_committed_figures(self):
        run = subprocess.run([MAKE / "figures", "--check"], capture_output=True, text=True, check=False)
        self.assertEqual("", run.stdout + run.stderr)
        self.assertEqual(0, run.returncode)

    def test_a_figure_is_read(self):
        (curve,) = figures.parse(CURVE)
        self.assertEqual(("curve", [("docs/curve.csv", "out.csv")], 0.1, 120), (curve.name, curve.files, curve.spread, curve.seconds))

    def test_an_unknown_line_is_a_fault(self):
        with self.assertRaisesRegex(ValueError, "^2: 'spread wide'"):
            figures.parse("figure a\nspread wide\n")

    def test_only_short_figures_without_needs_are_quick(self):
        quick, long, root, drawn = figures.parse("figure a\nrun x\ntakes 3 min\nfigure b\nrun x\ntakes 4 min\nfigure c\nrun x\ntakes 1 s\nneeds root\n"
                                                 "figure d\ndrawn\n")
        self.assertEqual([True, False, False, False], [figure.quick() for figure in (quick, long, root, drawn)])


class Clone(unittest.TestCase):
    """A repository with a figure and a table."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        self.put("docs/curve.csv", "x,y\n1,100\n")
        self.put("docs/page.md", PAGE)
        self.put("data.csv", "x,y\n1,100\n")
        self.put("rewrite", "#!/bin/bash\nsed -i 's/| 10 |/| 12 |/' docs/page.md\n")
        (self.root / "rewrite").chmod(0o755)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def put(self, path, text):
        (self.root / path).write_text(text, encoding="utf-8")

    def get(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def check(self, text):
        return figures.check(self.root, figures.parse(text), figures.committed_figures(self.root))

    def regenerate(self, text, write=False):
        printed = io.StringIO()
        (figure,) = figures.parse(text)
        with contextlib.redirect_stdout(printed):
            within = figures.regenerate(self.root, figure, write)
        return within, printed.getvalue()

    def test_a_complete_list_has_no_fault(self):
        self.assertEqual([], self.check(CURVE + TABLE))

    def test_a_figure_without_a_command_is_a_fault(self):
        self.assertEqual(["docs/page.md#bench/table has no command: add it to make/figures.txt"], self.check(CURVE))

    def test_a_file_that_does_not_exist_is_a_fault(self):
        self.assertIn("there is no docs/other.svg", self.check(CURVE + TABLE + "file docs/other.svg\n")[0])

    def test_a_missing_program_is_a_fault(self):
        self.assertIn("make/figures.txt:7: table: there is no program ./missing", self.check(CURVE + TABLE.replace("./rewrite", "./missing"))[0])

    def test_a_figure_of_two_commands_is_a_fault(self):
        self.assertIn("docs/curve.csv is also a file of curve", self.check(CURVE + CURVE + TABLE)[0])

    def test_numbers_within_the_spread_are_equal(self):
        self.put("data.csv", "x,y\n1,91\n")
        self.assertTrue(self.regenerate(CURVE)[0])

    def test_numbers_beyond_the_spread_differ(self):
        self.put("data.csv", "x,y\n1,80\n")
        within, printed = self.regenerate(CURVE)
        self.assertFalse(within)
        self.assertIn("docs/curve.csv: 1 numbers differ by more than 10 %, the most by 20 %: 100 is now 80", printed)

    def test_commas_group_digits_in_tables_only(self):
        self.assertIsNone(figures.difference("| 1,000 |", "| 999 |", 0.1, table=True))
        self.assertIsNotNone(figures.difference("1,000", "1,100", 0.1))

    def test_lines_with_a_date_are_not_compared(self):
        self.assertIsNone(figures.difference("bench/x, 2026-11-27, load 1\n| 1 |", "bench/x, 2026-11-29, load 9\n| 1 |", 0))

    def test_another_number_of_lines_differs(self):
        self.put("data.csv", "x,y\n")
        self.assertIn("has 1 lines instead of 2", self.regenerate(CURVE)[1])

    def test_committed_files_stay_as_they_are(self):
        within, printed = self.regenerate(TABLE)
        self.assertFalse(within, printed)
        self.assertEqual(PAGE, self.get("docs/page.md"))

    def test_write_replaces_only_the_table(self):
        self.regenerate(TABLE, write=True)
        self.assertEqual(PAGE.replace("10", "12"), self.get("docs/page.md"))

    def test_a_command_that_fails_is_reported(self):
        self.assertIn("FAILED: exit code 3, see build/figures/curve/log", self.regenerate(CURVE.replace("cp data.csv {out}/out.csv", "bash -c 'exit 3' {out}"))[1])

    def test_a_command_that_writes_nothing_is_reported(self):
        self.assertIn("it wrote no build/figures/curve/out.csv", self.regenerate(CURVE.replace("cp data.csv {out}/out.csv", "test -d {out}"))[1])

    def test_a_program_that_is_not_built_is_reported(self):
        self.assertIn("there is no program build/bin/x", self.regenerate(CURVE.replace("cp data.csv", "build/bin/x"))[1])

    def test_a_curve_to_look_at_does_not_fail(self):
        self.put("data.csv", "x,y\n1,80\n")
        within, printed = self.regenerate(CURVE.replace("10 %", "look"))
        self.assertTrue(within)
        self.assertIn("compare with build/figures/curve/docs_curve.csv", printed)


if __name__ == "__main__":
    unittest.main()
