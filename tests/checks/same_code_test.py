#!/usr/bin/env python3
"""scripts/same_code: what it takes for the same machine code.

usage: same_code_test.py PATH-OF-SCRIPTS/SAME_CODE COMPILER [unittest arguments]
"""

import os
import subprocess
import sys
import tempfile
import unittest

SAME_CODE = os.path.abspath(sys.argv.pop(1))
COMPILER = sys.argv.pop(1)

SOURCE = """
#include <stdexcept>
#include <string_view>
namespace a {
struct inbox {
  int value;
  int times(int factor) const;
};
void refuse(std::string_view why);
int inbox::times(int factor) const {
  if (factor < 0) refuse("inbox::times: negative");
  return value * factor;
}
int guarded(int value) {
  if (value < 0) refuse("guarded: negative");
  return value * 11;
}
struct pair { int first, second; };
int second_of(const pair& of) { return of.second; }
extern int table[8];
int third() { return table[3]; }
__attribute__((noinline)) static int one(int value) { return value ^ 1; }
__attribute__((noinline)) static int two(int value) { return value ^ 2; }
using function = int (*)(int);
void call(function);
void pass() { call(one); }
void pass_other() { call(two); }
double sum(const double* from, int count, const inbox& of) {
  double result = 1.5;
  for (int i = 0; i < count; ++i) result += from[i] * of.times(3);
  return result;
}
}
"""


class SameCode(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="amity-same-code-")
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.old = self.compile("old", SOURCE)

    def compile(self, name, source):
        folder = os.path.join(self.root, name)
        os.makedirs(folder)
        subprocess.run([COMPILER, "-x", "c++", "-std=c++20", "-O2", "-c", "-", "-o", f"{folder}/code.o"], input=source,
                       text=True, check=True)
        return folder

    def outcome(self, new, *options):
        result = subprocess.run([sys.executable, SAME_CODE, *options, self.old, new], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def renames(self):
        file = os.path.join(self.root, "renames.tsv")
        with open(file, "w") as opened:
            opened.write("# old\tnew\ninbox\tpacket_queue\ttype\n")
        return "--renames", file

    def test_equal(self):
        self.assertEqual(self.outcome(self.old), (0, "equal: 9\n"))

    def test_renamed(self):
        # Also in the text of the error, which becomes longer.
        new = self.compile("new", SOURCE.replace("inbox", "packet_queue"))
        status, output = self.outcome(new)
        self.assertEqual(status, 1, output)
        self.assertIn("only in NEW: a::packet_queue::times(int) const\n", output)
        status, output = self.outcome(new, *self.renames())
        self.assertEqual(status, 0, output)
        self.assertIn("only loaded numbers differ: a::packet_queue::times(int) const\n", output)

    def test_changed(self):
        for old, new, name in (("value * factor", "value + factor", "a::inbox::times(int) const"),
                               ("result = 1.5", "result = 2.5", "a::sum(double const*, int, a::inbox const&)"),
                               ("value * 11", "value * 13", "a::guarded(int)"),
                               ("of.second", "of.first", "a::second_of(a::pair const&)"),
                               ("table[3]", "table[4]", "a::third()"),
                               ("{ call(one); }", "{ call(two); }", "a::pass()"),
                               ("of.times(3)", "of.times(4)", "a::sum(double const*, int, a::inbox const&)")):
            with self.subTest(new):
                status, output = self.outcome(self.compile(new, SOURCE.replace(old, new)))
                self.assertEqual(status, 1, output)
                self.assertIn(f"differs: {name}", output)

    def test_names_that_change_places(self):
        new = self.compile("new", SOURCE.replace("one", "@").replace("two", "one").replace("@", "two"))
        file = os.path.join(self.root, "renames.tsv")
        with open(file, "w") as opened:
            opened.write("one\ttwo\ntwo\tone\n")
        self.assertEqual(self.outcome(new, "--renames", file)[0], 0)
        self.assertEqual(self.outcome(new)[0], 1)

    def test_hot_functions_alone(self):
        new = self.compile("new", SOURCE.replace("value * factor", "value + factor"))
        self.assertEqual(self.outcome(new, "--hot", "inbox::times")[0], 1)
        self.assertEqual(self.outcome(new, "--hot", "no_such_function"), (2, "scripts/same_code: no function has such a name\n"))

    def test_nothing_to_compare(self):
        empty = os.path.join(self.root, "empty")
        os.makedirs(empty)
        status, output = self.outcome(empty)
        self.assertEqual(status, 1)
        self.assertIn("has no object files; build first", output)


if __name__ == "__main__":
    unittest.main()
