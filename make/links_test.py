#!/usr/bin/env python3
"""Tests make/links: the project's links are valid, faults of each kind are found, and code is not mistaken for links."""

import pathlib
import subprocess
import tempfile
import unittest

from script import load

MAKE = pathlib.Path(__file__).resolve().parent
links = load(MAKE / "links")


class Project(unittest.TestCase):
    def test_every_link_is_valid(self):
        run = subprocess.run([MAKE / "links"], capture_output=True, text=True, check=False)
        self.assertEqual("", run.stdout + run.stderr)
        self.assertEqual(0, run.returncode)


class Faults(unittest.TestCase):
    def faults(self, text, **others):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"docs/page.md": text, "docs/other.md": "# Other\n\n## A heading\n", "a/README.md": "# A\n", "a/a.cc": "//\n", **others}
            for path, content in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            return links.check(root, frozenset(files))[0]

    def assert_found(self, text, line, fault):
        faults = self.faults(text)
        self.assertEqual(1, len(faults), faults)
        self.assertTrue(faults[0].startswith(f"docs/page.md:{line}: the link "), faults[0])
        self.assertIn(fault, faults[0])

    def test_missing_file(self):
        self.assert_found("# P\n\n[a](none.md)\n", 3, "docs/none.md, which does not exist")
        self.assert_found("\n![a](none.png)\n", 2, "docs/none.png, which does not exist")
        self.assert_found("[![a](none.png)](other.md)\n", 1, "docs/none.png, which does not exist")
        self.assert_found("[a](../a/b.cc)\n", 1, "a/b.cc, which does not exist")
        self.assert_found('<img src="none.svg">\n', 1, "docs/none.svg, which does not exist")
        self.assert_found("[a][b]\n\n[b]: none.md\n", 3, "docs/none.md, which does not exist")

    def test_missing_file_in_a_list_a_table_and_across_lines(self):
        self.assert_found("- a\n\n    [a](none.md)\n", 3, "does not exist")
        self.assert_found("| a |\n|---|\n| [`a`](none.md) |\n", 3, "does not exist")
        self.assert_found("See [some\ntext](none.md).\n", 2, "does not exist")

    def test_missing_anchor(self):
        self.assert_found("# P\n\n[a](#q)\n", 3, "#q, but docs/page.md has no such heading")
        self.assert_found("[a](other.md#heading)\n", 1, "correct the anchor (#a-heading?)")
        self.assert_found("```\n# P\n```\n[a](#p)\n", 4, "no such heading")
        self.assert_found("# P\n\n# P\n\n[a](#p-2)\n", 5, "no such heading")

    def test_link_that_no_reader_can_follow(self):
        self.assert_found("[a](../../x.md)\n", 1, "leaves the repository")
        self.assert_found("[a](/docs/other.md)\n", 1, "is absolute")
        self.assert_found("[a](../a/a.cc#L1)\n", 1, "remove #L1")

    def test_external_link(self):
        self.assert_found("[a](https://)\n", 1, "no valid host")
        self.assert_found("[a](https://a_b/)\n", 1, "no valid host")
        self.assert_found("[a](https://a:b/)\n", 1, "is not a URL")
        self.assert_found("[a](htp://a/)\n", 1, "has the scheme htp")
        self.assert_found("[a](mailto:a)\n", 1, "is not an e-mail address")

    def test_valid_links(self):
        for text in ("[a](other.md) [b](other.md#a-heading) [c](../a) [d](../a#a) [e](../a/a.cc)", "# P & _Q_ `r(s)`\n\n[a](#p--_q_-rs)",
                     "# P\n\n# P\n\n[a](#p-1)", '<a id="x"></a>[a](#x)', "[a](https://example.org/b_(c)?d=e#f) [g](mailto:a@example.org)"):
            self.assertEqual([], self.faults(text + "\n"), text)

    def test_code_and_comments_have_no_links(self):
        for text in ("```\n[a](none.md)\n```", "`[a](none.md)`", "text\n\n    [a](none.md)", "<!-- [a](none.md) -->"):
            self.assertEqual([], self.faults(text + "\n"), text)

    def test_links_in_readmes_of_other_folders(self):
        self.assertEqual(["a/README.md:1: the link ../docs/none.md leads to docs/none.md, which does not exist or is not in git: "
                          "correct the path, or add the file"], self.faults("# P\n", **{"a/README.md": "[a](../docs/none.md)\n"}))


if __name__ == "__main__":
    unittest.main()
