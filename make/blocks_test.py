#!/usr/bin/env python3
"""Tests make/blocks: all console blocks of the project are marked, and faults in marks, commands and outputs are found."""

import pathlib
import subprocess
import tempfile
import unittest

from script import load

MAKE = pathlib.Path(__file__).resolve().parent
module = load(MAKE / "blocks")


class Project(unittest.TestCase):
    def test_every_block_is_marked(self):
        run = subprocess.run([MAKE / "blocks", "--list"], capture_output=True, text=True, check=False)
        self.assertEqual("", run.stdout + run.stderr)
        self.assertEqual(0, run.returncode)

    def test_tutorials_and_tests_are_known(self):
        tests, tutorials = module.tests_and_tutorials(MAKE.parent)
        self.assertIn("DocumentedOutputTest", tests)
        self.assertLessEqual({"write-a-parser.md", "from-a-ranking-to-packets.md"}, tutorials)


class Faults(unittest.TestCase):
    def faults(self, text, tutorials=()):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.md").write_text(text)
            return module.check(pathlib.Path(folder), ["page.md"], {"ATest"}, tutorials, execute=True)

    def assert_found(self, mark, block, fault):
        faults = self.faults(f"# P\n\n{mark}\n```console\n{block}\n```\n")
        self.assertEqual(1, len(faults), faults)
        self.assertTrue(faults[0].startswith("page.md:4: "), faults[0])
        self.assertIn(fault, faults[0])

    def assert_right(self, mark, block):
        self.assertEqual([], self.faults(f"# P\n\n{mark}\n```console\n{block}\n```\n"))

    def test_marks(self):
        self.assert_found("", "$ true", "is not marked")
        self.assert_found("<!-- not run: later -->", "$ true", "no reason or no date")
        self.assert_found("<!-- not run, 2026-11-29 -->", "$ true", "no reason or no date")
        self.assert_found("<!-- run by BTest -->", "$ true", "there is no test BTest")
        self.assert_found("<!-- run, twice -->", "$ true", "unknown mark")
        self.assert_found("<!-- start -->", "$ true", "no test starts this program")

    def test_indented_block(self):
        self.assertIn("page.md:3: the console block is not marked", self.faults("# P\n\n    $ true\n")[0])
        self.assertEqual([], self.faults("# P\n\n    true\n"))

    def test_command(self):
        self.assert_found("<!-- run -->", "$ echo a >&2; false", "failed with exit code 1: echo a >&2; false\na")
        self.assert_found("<!-- run -->", "$ false | true", "exit code 1")

    def test_output(self):
        self.assert_found("<!-- run -->", "$ echo a\nb", "the page shows 'b', the command printed 'a'")
        self.assert_found("<!-- run -->", "$ echo a\na\nb", "the page shows 'b', the command printed 'nothing more'")
        self.assert_found("<!-- run -->", "$ seq 2\n1", "also printed '2'")
        self.assert_found("<!-- run -->", "$ seq 3\n…\n2", "also printed '3'")
        self.assert_found("<!-- run, numbers within 10 % -->", "$ echo a 100\na 80", "the page shows 'a 80'")
        self.assert_found("<!-- run, numbers within 10 % -->", "$ echo a 100\nb 100", "the page shows 'b 100'")

    def test_valid_blocks(self):
        self.assert_right("<!-- run -->", "$ echo a\na\n$ echo \\\n  b\nb")
        self.assert_right("<!-- run -->", "$ seq 9\n1\n…\n5\n…")
        self.assert_right("<!-- run, numbers within 10 % -->", "$ echo 'a  1,050 b'\na 1,000 b")
        self.assert_right("<!-- run by ATest -->", "$ false")
        self.assert_right("<!-- not run: it needs a cluster, 2026-11-29 -->", "$ false")

    def test_page_that_a_test_runs(self):
        text = "<!-- run -->\n```console\n$ false\n```\n"
        self.assertEqual(1, len(self.faults(text)))
        self.assertEqual([], self.faults(text, {"page.md"}))


if __name__ == "__main__":
    unittest.main()
