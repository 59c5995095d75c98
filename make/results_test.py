#!/usr/bin/env python3
"""Tests results.py with reports in the formats of ctest, Surefire and vitest."""

import os
import pathlib
import tempfile
import unittest

import results

CTEST = """<testsuite name="(empty)" tests="4" failures="1" skipped="1">
<testcase name="lane_test" classname="lane_test" time="1.5" status="run"><system-out>[ RUN      ] Lane.Runs
[  SKIPPED ] Lane.ReadsCaptures (0 ms)
[  PASSED  ] 3 tests.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Lane.ReadsCaptures
[  SKIPPED ] Parsers/Lane.Reads/http_get, where GetParam() = "http_get"
</system-out></testcase>
<testcase name="corpus_test" classname="corpus_test" time="0.1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>[ RUN      ] Corpus.Reads
corpus_test.cc:38: Skipped
no captures under "/nowhere"; set TAPLINE_CAPTURES
[  SKIPPED ] Corpus.Reads (0 ms)
</system-out></testcase>
<testcase name="truth_test" classname="truth_test" time="0.5" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>SKIPPED: no reference captures in /nowhere (set TAPLINE_CAPTURES)</system-out></testcase>
<testcase name="process_test" classname="process_test" time="2.25" status="run"><system-out>...s
----------------------------------------------------------------------
Ran 5 tests in 2.2s

OK (skipped=2)
</system-out></testcase>
<testcase name="broken_test" classname="broken_test" time="0.1" status="fail"><failure message=""/></testcase>
</testsuite>"""

SUREFIRE = """<testsuite name="io.tapline.e2e.DemoTest">
<testcase name="rows" classname="io.tapline.e2e.DemoTest" time="1,003.5"/>
<testcase name="ranking" classname="io.tapline.e2e.RankTest" time="0"><skipped message="SKIPPED: no capture a.pcap" type="x"/></testcase>
</testsuite>"""


class ResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, text, **arguments):
        (self.folder / "report.xml").write_text(text)
        return results.read([self.folder], **arguments)

    def test_ctest(self):
        read = self.read(CTEST)
        self.assertEqual((read.passed, read.failed), (2, ["broken_test"]))
        self.assertEqual(read.skipped, [
            ("lane_test: Lane.ReadsCaptures", ""),
            ("lane_test: Parsers/Lane.Reads/http_get", ""),
            ("corpus_test", 'no captures under "/nowhere"; set TAPLINE_CAPTURES'),
            ("truth_test", "no reference captures in /nowhere (set TAPLINE_CAPTURES)"),
            ("process_test", "2 of its 5 tests")])

    def test_surefire(self):
        read = self.read(SUREFIRE)
        self.assertEqual((read.passed, read.failed), (1, []))
        self.assertEqual(read.skipped, [("RankTest: ranking", "no capture a.pcap")])
        self.assertEqual(results.slowest(read)[0], "  1003.5 s  DemoTest: rows")

    def test_a_report_of_an_earlier_run_does_not_count(self):
        self.read(CTEST)
        os.utime(self.folder / "report.xml", (1, 1))
        self.assertEqual(results.read([self.folder], since=2).passed, 0)

    def test_ten_slowest_are_listed(self):
        all_results = results.Results(seconds={str(number): number for number in range(30)})
        self.assertEqual([line.split()[-1] for line in results.slowest(all_results)], [str(number) for number in range(29, 19, -1)])


if __name__ == "__main__":
    unittest.main()
