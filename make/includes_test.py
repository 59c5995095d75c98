#!/usr/bin/env python3
"""Tests make/includes: the code follows the table, and faults of each kind are found."""

import pathlib
import subprocess
import unittest

from script import load

MAKE = pathlib.Path(__file__).resolve().parent
includes = load(MAKE / "includes")

TABLE = includes.Table("""
# A comment.
tests: *_test.cc */testing/*
everywhere: parsers/api
parsers/api:
parsers/*:
parsers/engine:
monitors/lane: parsers/engine
monitors: monitors/lane parsers/*
""")
RIGHT = {
    "parsers/api/packet.h": "",
    "parsers/icmp/icmp.cc": '#include "parsers/api/packet.h"\n#include "parsers/icmp/icmp.h"\n',
    "parsers/engine/engine.h": "",
    "monitors/lane/lane.h": '#include <vector>\n\n#include "parsers/engine/engine.h"\n',
    "monitors/lane/lane_test.cc": '#include "monitors/testing/frames.h"\n#include "parsers/icmp/icmp.h"\n',
    "monitors/main.cc": '#include "monitors/lane/lane.h"\n#include "parsers/icmp/icmp.h"\n',
}


class Code(unittest.TestCase):
    def test_sources_follow_the_table(self):
        run = subprocess.run([MAKE / "includes"], capture_output=True, text=True, check=False)
        self.assertEqual("", run.stdout + run.stderr)
        self.assertEqual(0, run.returncode)


class Faults(unittest.TestCase):
    def faults(self, **changed):
        files = dict(RIGHT)
        files.update({path: files.get(path, "") + text for path, text in changed.get("files", {}).items()})
        return includes.check(changed.get("table", TABLE), files)

    def test_an_allowed_tree_has_no_faults(self):
        self.assertEqual([], self.faults())

    def test_an_include_that_is_not_allowed(self):
        self.assertEqual(["monitors/lane/lane.h:4: monitors/lane may not include parsers/icmp (make/includes.txt)"],
                         self.faults(files={"monitors/lane/lane.h": '#include "parsers/icmp/icmp.h"\n'}))

    def test_a_parser_that_includes_another(self):
        self.assertEqual(["parsers/icmp/icmp.cc:3: parsers/icmp may not include parsers/dns (make/includes.txt)"],
                         self.faults(files={"parsers/icmp/icmp.cc": '#include "parsers/dns/dns.h"\n'}))

    def test_a_folder_without_a_line(self):
        self.assertEqual(["multilog/node/node.cc: make/includes.txt has no line for multilog/node"],
                         self.faults(files={"multilog/node/node.cc": ""}))

    def test_include_that_is_only_for_tests(self):
        self.assertEqual(["monitors/lane/lane.h:4: includes monitors/testing/frames.h, which is for tests"],
                         self.faults(files={"monitors/lane/lane.h": '#include "monitors/testing/frames.h"\n'}))

    def test_an_unnecessary_line_of_the_table(self):
        files = {path: text for path, text in RIGHT.items() if path != "monitors/lane/lane.h"}
        self.assertEqual(["make/includes.txt: monitors/lane may include parsers/engine, but does not"],
                         includes.check(TABLE, files))

    def test_a_cycle(self):
        table = includes.Table("a/x: a/y\na/y: a/x\n")
        files = {"a/x/x.h": '#include "a/y/y.h"\n', "a/y/y.h": '#include "a/x/x.h"\n'}
        (fault,) = includes.check(table, files)
        self.assertRegex(fault, "^folders include each other: a/[xy] <- a/[xy] <- a/[xy]$")


class Drawing(unittest.TestCase):
    def uses(self, cpp, java=""):
        tables = {"C++": includes.Table(cpp), "Java": includes.Table(java)}
        return includes.components.uses({language: (table.rules, table.everywhere) for language, table in tables.items()})

    def test_folders_and_packages_belong_to_components(self):
        uses = self.uses("everywhere: parsers/api\nparsers/api:\nparsers/icmp: schema\n", "control.rest: compiler.text control\n")
        self.assertEqual({("", "schema"): set(), ("C++", "parsers/api"): set(), ("C++", "parsers"): {("C++", "parsers/api"), ("", "schema")},
                          ("Java", "control-plane"): {("Java", "query-compiler")}}, uses)

    def test_an_arrow_that_follows_from_others_is_left_out(self):
        arrows = includes.components.arrows(self.uses("a: b c\nb: c\nc:\n"))
        self.assertEqual([(("C++", "a"), ("C++", "b")), (("C++", "b"), ("C++", "c"))], arrows)

    def test_components_that_use_each_other_are_a_fault(self):
        with self.assertRaises(includes.graphlib.CycleError):
            includes.components.arrows(self.uses("a/x: b\nb: a/y\na/y:\n"))

    def test_a_component_without_a_place_is_a_fault(self):
        faults = includes.components.faults(self.uses("newcomer:\n"))
        self.assertEqual("make/components.py: PLACES has no line for newcomer (C++)", faults[0])

    def test_a_place_without_a_component_is_a_fault(self):
        faults = includes.components.faults(self.uses("monitors:\n"))
        self.assertIn("make/components.py: PLACES has a line for multilog (C++), which no table names", faults)


if __name__ == "__main__":
    unittest.main()
