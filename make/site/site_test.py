#!/usr/bin/env python3
"""Tests the documentation site without building it: links must be rewritten to their targets on the site, and glossary terms that no
other page contains must be found."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

SITE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SITE))
import pages

loader = importlib.machinery.SourceFileLoader("build", str(SITE / "build"))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader("build", loader))
loader.exec_module(build)


class Links(unittest.TestCase):
    def assert_becomes(self, expected, text, page="docs/how-to/use-the-dashboard.md"):
        self.assertEqual(expected, pages.rewrite(page, text))

    def test_page_of_docs(self):
        self.assert_becomes("[a](../reference/rest.md#b)", "[a](../reference/rest.md#b)")
        self.assert_becomes("[a](use-the-dashboard.md#b)", "[a](#b)")

    def test_page_elsewhere(self):
        self.assert_becomes("[a](../repository/schema/README.md#b)", "[a](../../schema/README.md#b)")
        self.assert_becomes("[a](../repository/schema/README.md)", "[a](../../schema)")

    def test_link_from_elsewhere(self):
        self.assert_becomes("[a](../../reference/rest.md)", "[a](../docs/reference/rest.md)", "schema/README.md")
        self.assert_becomes("[a](../bench/README.md)", "[a](../bench/README.md)", "schema/README.md")

    def test_link_to_a_source_file_becomes_its_path(self):
        self.assert_becomes("see the targets (`Makefile`)", "see [the targets](../../Makefile)")
        self.assert_becomes("`make/links`", "[make/links](../../make/links)")

    def test_picture_in_a_link(self):
        self.assert_becomes("[![a](dashboard/query.png)](../repository/schema/README.md)", "[![a](dashboard/query.png)](../../schema/README.md)")

    def test_external_links_and_code_are_kept(self):
        for text in ("[a](https://example.org/)", "`[a](../../schema/README.md)`", "```\n[a](../../Makefile)\n```"):
            self.assert_becomes(text, text)

    def test_linked_pages_are_found_recursively(self):
        reached = pages.reachable()
        self.assertIn("schema/README.md", reached)
        self.assertFalse([path for path in reached if path.startswith("docs/")])
        for path in reached:
            self.assertEqual(path, pages.repository_path(pages.site_path(path)))


class Loaded(unittest.TestCase):
    def test_other_hosts(self):
        for html in ('<script src="https://a.example/b">', '<link rel="stylesheet" href="https://a.example/b">', '<img alt="" src="https://a.example/b">'):
            self.assertEqual(["https://a.example/b"], build.loaded(html), html)
        self.assertEqual([], build.loaded('<script src="b.js"></script><a href="https://a.example/b">b</a><img src="c.png">'))


class Terms(unittest.TestCase):
    INDEX = {"docs": [{"location": "reference/glossary.html", "title": "Glossary", "text": "lane, zone map"},
                      {"location": "a.html", "title": "A Lane", "text": "A zone\nmap."}]}

    def test_term_in_titles_and_texts(self):
        self.assertEqual([], build.missing_terms("- **lane**: a\n- **zone map**: b\n", self.INDEX))

    def test_missing_term(self):
        self.assertEqual(["zone chart"], build.missing_terms("- **lane**: a\n- **zone chart**: b\n", self.INDEX))

    def test_term_only_in_the_glossary(self):
        index = {"docs": self.INDEX["docs"][:1]}
        self.assertEqual(["lane"], build.missing_terms("- **lane**: a\n", index))


if __name__ == "__main__":
    unittest.main()
