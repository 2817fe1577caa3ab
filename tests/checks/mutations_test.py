#!/usr/bin/env python3
"""scripts/mutations: how it rewrites sources, and how it judges programs that fail, hang or pass.

usage: mutations_test.py PATH-OF-SCRIPTS/MUTATIONS [unittest arguments]
"""

import importlib.machinery
import importlib.util
import os
import stat
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("mutations", os.path.abspath(sys.argv.pop(1)))
mutations = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutations", LOADER))
LOADER.exec_module(mutations)
lists = mutations.mutation_lists


def mutation(before, after, scope=None, tests=("a_test",), name="a/b/c"):
    return lists.Mutation(
        name=name, list="a.toml", file="a.cpp", scope=scope, before=before, after=after, breaks="It breaks.",
        tests=[lists.Test(test, "*") for test in tests], build="release")


class Rewrite(unittest.TestCase):
    def rewritten(self, text, *chosen):
        return lists.rewrite(text, [(*lists.locate(text, each), each) for each in chosen])

    def test_expression(self):
        self.assertEqual(self.rewritten("return a < b;", mutation("a < b", "a > b")),
                         'return (::amity_mutation("a/b/c") ? (a > b) : (a < b));')

    def test_statement(self):
        self.assertEqual(self.rewritten("f(); g();", mutation("f();", "")),
                         '{ if (::amity_mutation("a/b/c")) {  } else { f(); } } g();')

    def test_two_mutations_of_one_text(self):
        self.assertEqual(
            self.rewritten("return a;", mutation("a", "b", name="x"), mutation("a", "c", name="y")),
            'return (::amity_mutation("x") ? (b) : ((::amity_mutation("y") ? (c) : (a))));')

    def test_mutation_within_another(self):
        self.assertEqual(
            self.rewritten("f(a);", mutation("a", "b", name="x"), mutation("f(a);", "", name="y")),
            '{ if (::amity_mutation("y")) {  } else { f((::amity_mutation("x") ? (b) : (a))); } }')

    def test_block_begins_at_its_first_line_and_ends_at_its_brace(self):
        text = "void f() {\n  h();\n}\nvoid g(int a,\n       int b) {\n  if (a) {\n    h();\n  }\n}\nvoid k() { h(); }\nh();\n"
        for scope, line in (("void f() {", 2), ("void g(int a,", 7), ("void k()", 10)):
            begin, _ = lists.locate(text, mutation("h();", "", scope))
            self.assertEqual(text.count("\n", 0, begin) + 1, line, scope)


class Verdicts(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="amity-mutations-")
        self.addCleanup(directory.cleanup)
        self.build, mutations.BUILD = mutations.BUILD, directory.name
        self.addCleanup(setattr, mutations, "BUILD", self.build)
        self.programs = mutations.Programs()

    def write_program(self, script, name="a_test"):
        path = os.path.join(mutations.BUILD, "release", "tests", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as opened:
            opened.write("#!/bin/sh\n" + script)
        os.chmod(path, stat.S_IRWXU)

    def verdict(self, seconds_max=60, **record):
        chosen = mutation("a", "b", **record)
        return mutations.run_mutation(
            self.programs, chosen, {("release", test): seconds_max for test in chosen.tests})

    def test_failure_is_named(self):
        for script, sentence in (
                ('echo "[  FAILED  ] a.b (0 ms)"; exit 1\n', "caught by a_test: a.b in "),
                ("kill -SEGV $$\n", r"caught by a_test: a.b \(exit status -11\) in "),
                ("sleep 1000 & wait\n", r"caught by a_test: a.b \(hang\) in ")):
            with self.subTest(script):
                self.write_program('echo "[ RUN      ] a.b"; ' + script)
                text, caught = self.verdict(seconds_max=0.2 if "sleep" in script else 60)
                self.assertRegex(text, sentence)
                self.assertTrue(caught)
                self.assertEqual(self.programs.running, set())

    def test_second_program_catches(self):
        self.write_program("exit 0\n")
        self.write_program('echo "[  FAILED  ] b.c (0 ms)"; exit 1\n', "b_test")
        self.assertRegex(self.verdict(tests=("a_test", "b_test"))[0], "caught by b_test: b.c in ")

    def test_survivor_gets_the_name_of_the_mutation_and_is_reported(self):
        self.write_program('[ "$MUTATION" = a/b/c ]\n')
        text, caught = self.verdict()
        self.assertRegex(text, "^SURVIVED")
        self.assertFalse(caught)

    def test_filter_without_tests_fails(self):
        self.write_program('echo "[==========] Running 0 tests from 0 test suites."\n')
        outcome = self.programs.run("release", lists.Test("a_test", "*"))
        self.assertEqual((outcome.passed, outcome.failure), (False, "the filter matches no test"))


if __name__ == "__main__":
    unittest.main()
