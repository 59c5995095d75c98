#!/usr/bin/env python3
"""Tests make/prose: the project follows its rules, faults of each kind are found, and code is not mistaken for
prose."""

import pathlib
import subprocess
import unittest

from script import load

MAKE = pathlib.Path(__file__).resolve().parent
prose = load(MAKE / "prose")

RULES = prose.Rules("""
# A comment.
phrase: \\bgoes on\\b -> write "continues"
not yet, docs: docs/reference
not yet, comments: parsers
""")
GOES_ON = '"goes on": write "continues"'


class Project(unittest.TestCase):
    def test_it_follows_the_rules(self):
        run = subprocess.run([MAKE / "prose"], capture_output=True, text=True, check=False)
        self.assertEqual("", run.stdout + run.stderr)
        self.assertEqual(0, run.returncode)

    def test_every_rule_gives_advice(self):
        for pattern, advice in prose.Rules((MAKE / "prose.txt").read_text()).phrases:
            self.assertTrue(advice, pattern.pattern)


class Faults(unittest.TestCase):
    def faults(self, path, text):
        return prose.check(RULES, {path: text})[0]

    def assert_found(self, path, text, line, fault=GOES_ON):
        self.assertEqual([f"{path}:{line}: {fault}"], self.faults(path, text))

    def test_phrase_in_each_kind_of_file(self):
        self.assert_found("README.md", "# A\n\nThe query goes on.\n", 3)
        self.assert_found("a/a.cc", 'char a[] = "//";\nint b;  // It goes on.\n', 2)
        self.assert_found("a/A.java", "class A {\n  /** A.\n   *\n   * It goes on. */\n}\n", 4)
        self.assert_found("a/a.ts", "const a = 1;\n/* It goes on. */\n", 2)
        self.assert_found("a/a.py", "a = 1\n# It goes on.\n", 2)
        self.assert_found("a/a.py", 'def f():\n    """A.\n\n    It goes on.\n    """\n', 4)
        self.assert_found("a/a.sh", "#!/bin/sh\n\n# It goes on.\n", 3)
        self.assert_found("a/start", "#!/bin/bash\n# It goes on.\n", 2)
        self.assert_found("a/run", "#!/usr/bin/env python3\n# It goes on.\n", 2)

    def test_phrase_across_lines(self):
        self.assert_found("README.md", "The query\ngoes\non.\n", 2)
        self.assert_found("a/a.h", "// The query goes\n// on.\n", 1)

    def test_phrase_in_a_heading_a_list_and_a_table(self):
        self.assert_found("README.md", "## It goes on\n", 1)
        self.assert_found("README.md", "- a\n  - It goes on\n", 2)
        self.assert_found("README.md", "| a | b |\n|---|---|\n| c | It goes on |\n", 3)

    def test_phrase_in_a_string(self):
        self.assert_found("a/a.cc", 'int a;\nauto b = "It goes on";\n', 2)
        self.assert_found("a/A.java", 'String a =\n  """\n  It goes on\n  """;\n', 3)
        self.assert_found("a/a.ts", "const a = `${b} goes on`;\n", 1)
        self.assert_found("a/a.py", 'a = f"{b} goes on"\n', 1)
        self.assert_found("a/a.py", 'a = ("it goes"\n     " on")\n', 1)

    def test_phrase_across_strings(self):
        self.assert_found("a/a.cc", 'auto a =\n  "it goes "\n  "on";\n', 2)
        self.assert_found("a/A.java", 'String a = "it goes"\n  + " on";\n', 1)
        self.assertEqual([], self.faults("a/a.cc", 'f("it goes", "on");\n'))

    def test_a_word_in_a_string_is_not_prose(self):
        rules = prose.Rules('phrase: \\bnobody\\b -> name who\n')
        self.assertEqual([], prose.check(rules, {"a/a.py": 'user = "nobody"\n'})[0])
        self.assertEqual(['a/a.py:1: "nobody": name who'], prose.check(rules, {"a/a.py": 'a = "nobody came"\n'})[0])

    def test_a_string_need_not_be_a_sentence(self):
        self.assertEqual([], self.faults("a/a.cc", 'auto a = "Whether the monitor runs";\n'))

    def test_dangling_sentence(self):
        for word in ("What", "Whether", "Of", "Where", "Who"):
            fault = f'a sentence begins with a dangling "{word}": give it a subject'
            self.assert_found("a/a.h", f"// {word} the monitor sees.\n", 1, fault)
            self.assert_found("README.md", f"A sentence.\n{word} the monitor sees.\n", 2, fault)

    def test_long_line(self):
        self.assert_found("README.md", "a " * 61 + "\n", 1, "has 122 columns, 120 at most")

    def test_row_of_a_table_that_spans_two_lines(self):
        fault = "breaks a row of a table, which must be one line that ends with |"
        self.assert_found("README.md", "| Field | Meaning |\n|---|---|\n| bytes | on the\nwire |\n", 3, fault)

    def test_nothing_wrong(self):
        for text in ("What does it see?", "Where roles share a server, names decide.", "Of three brokers, two continue."):
            self.assertEqual([], self.faults("README.md", text + "\n"), text)
            self.assertEqual([], self.faults("a/a.h", f"// {text}\n"), text)

    def test_code_is_not_prose(self):
        for text in ("    It goes on.", "```console\nIt goes on.\n```", "`It goes on.`", "[It](goes on)", "<!-- It goes on. -->",
                     "<!-- begin bench -->\nIt goes on.\n<!-- end bench -->", "1. a\n\n       It goes on.\n", "| " + "a" * 130 + " |"):
            self.assertEqual([], self.faults("README.md", text + "\n"), text)
        self.assertEqual([], self.faults("a/a.cc", "goes(on); char goes = 'g'; on();\n"))
        self.assertEqual([], self.faults("a/a.py", "goes.on(1)\n"))
        self.assertEqual([], self.faults("a/data.txt", "It goes on.\n"))

    def test_postponed(self):
        strings = prose.Rules('phrase: \\bgoes on\\b -> write "continues"\nnot yet, strings: parsers\n')
        both = {"parsers/a.h": '// It goes on.\nauto a = "It goes on.";\n'}
        faults, hidden = prose.check(strings, both)
        self.assertEqual([f"parsers/a.h:1: {GOES_ON}"], faults)
        self.assertEqual({("strings", "parsers"): [f"parsers/a.h:2: {GOES_ON}"]}, dict(hidden))

        files = {"docs/reference/a.md": "It goes on.\n", "parsers/a.h": "// It goes on.\n", "parsers_too.md": "It goes on.\n"}
        faults, hidden = prose.check(RULES, files)
        self.assertEqual([f"parsers_too.md:1: {GOES_ON}"], faults)
        self.assertEqual({("docs", "docs/reference"): [f"docs/reference/a.md:1: {GOES_ON}"],
                          ("comments", "parsers"): [f"parsers/a.h:1: {GOES_ON}"]}, dict(hidden))


if __name__ == "__main__":
    unittest.main()
