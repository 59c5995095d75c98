#!/usr/bin/env python3
"""Tests captures-from with a clone created by the test."""

import contextlib
import gzip
import hashlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LOADER = importlib.machinery.SourceFileLoader("captures_from", str(HERE / "captures-from"))
captures_from = importlib.util.module_from_spec(importlib.util.spec_from_loader("captures_from", LOADER))
LOADER.exec_module(captures_from)

DUMP = """2009-04-12 11:00:13.107039 IP 127.0.0.1.57890 > 10.10.10.14.mysql: tcp 0
\t0x0000:  4500 003c 283b 4000 4006 147f 7f00 0001
\t0x0010:  7f00 00
2009-04-12 11:00:14.000001 IP 10.10.10.14.mysql > 127.0.0.1.57890: tcp 0
"""
DUMPED = bytes.fromhex("d4c3b2a1020004000000000000000000000004006500000"
                       "0bdc9e1491fa20100130000003c0000004500003c283b40004006147f7f0000017f0000")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class CapturesFromTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.clone = self.scratch / "sources" / "someone" / "project"
        self.into = self.scratch / "captures"
        self.clone.mkdir(parents=True)
        self.git("init", "--quiet")
        self.write("old.pcap", b"first")
        self.write("packed.pcap.gz", gzip.compress(b"packed"))
        self.write("dump.txt", DUMP.encode())
        self.git("add", ".")
        self.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "captures")
        self.commit = self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.clone, *arguments], check=True, capture_output=True, text=True).stdout

    def write(self, path, content):
        (self.clone / path).write_bytes(content)

    def assemble(self, path, file, content):
        captures = [captures_from.Capture("someone/project", self.commit, path, file, sha256(content))]
        clones = list(captures_from.folders([self.scratch / "sources"]))
        return captures_from.assemble(captures, clones, self.into)

    def assert_copied(self, path, content):
        files, copied, missing = self.assemble(path, "http/a.pcap", content)
        self.assertEqual((files.total(), copied.total(), len(missing)), (0, 1, 0))
        self.assertEqual((self.into / "http" / "a.pcap").read_bytes(), content)

    def test_a_file_of_the_work_tree(self):
        self.assert_copied("old.pcap", b"first")

    def test_a_changed_file_comes_from_its_commit(self):
        self.write("old.pcap", b"second")
        self.assert_copied("old.pcap", b"first")

    def test_a_gzipped_file_is_unpacked(self):
        self.assert_copied("packed.pcap.gz", b"packed")

    def test_text_packets_become_a_capture(self):
        self.assert_copied("dump.txt", DUMPED)

    def test_a_different_file_of_that_name_is_missing(self):
        files, copied, missing = self.assemble("old.pcap", "http/a.pcap", b"third")
        self.assertEqual((files.total(), copied.total(), list(missing)), (0, 0, ["someone/project"]))
        self.assertFalse((self.into / "http" / "a.pcap").exists())

    def test_existing_files_are_kept_and_damaged_ones_replaced(self):
        self.assert_copied("old.pcap", b"first")
        self.assertEqual(self.assemble("old.pcap", "http/a.pcap", b"first")[0].total(), 1)
        (self.into / "http" / "a.pcap").write_bytes(b"damaged")
        self.assert_copied("old.pcap", b"first")

    def test_the_report_names_missing_files(self):
        captures = [captures_from.Capture("a/b", "0123", "x/y.pcap", "f.pcap", "0" * 64)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            captures_from.report(captures, *captures_from.assemble(captures, [], self.into))
        self.assertIn("     0      0       1  a/b, for example x/y.pcap of commit 0123", printed.getvalue())

    def test_the_list_is_complete(self):
        captures = captures_from.read_list(captures_from.LIST.read_text().splitlines())
        files = [capture.file for capture in captures]
        self.assertEqual(len(files), len(set(files)))
        self.assertGreater(len(files), 1000)
        for capture in captures:
            self.assertRegex(capture.repository, r"^[\w.-]+/[\w.-]+$")
            self.assertRegex(capture.commit, r"^[0-9a-f]{12}$")
            self.assertFalse(set(pathlib.Path(capture.file).parts) & {"..", "/"})


if __name__ == "__main__":
    unittest.main()
