#!/usr/bin/env python3
"""scripts/hot_lines counts exactly the lines that a small program touches, and the same lines of a rank each time.

usage: hot_lines_test.py PATH-OF-SCRIPTS/HOT_LINES BUILD-DIRECTORY [unittest arguments]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HOT_LINES, BUILD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
ROOT = os.path.dirname(os.path.dirname(HOT_LINES))

# Rank 2 is the last one that marks. Lines of `own` differ between the ranks; those of `common` do not.
PROGRAM = """
#include "tests/core/hot_lines.hpp"

alignas(64) static char memory[3][16 * 64];
static char* const common = memory[0];

static void packet_in(char* own, long index) {
  asm volatile("movb $1, (%0)\\n"                  // line 0
               "movq $1, 2*64-4(%0)\\n"            // lines 1 and 2
               "lea 3*64(%0), %%rax\\n"            // none
               "prefetcht0 4*64(%0)\\n"            // none
               "nopw 4*64(%0)\\n"                  // none
               "cmpl $1, 5*64(%0,%1,8)\\n"         // line 6, as the index is 8
               "addb $1, 3*64(%2)\\n"              // line 3 of `common`
               "movdqu 7*64+56(%0), %%xmm0\\n"     // lines 7 and 8
               "add $12*64, %%rax\\n"
               "movb $1, -64(%%rax)\\n"           // line 14
               "movq %%rax, -8(%%rsp)\\n"         // the stack
               :: "r"(own), "r"(index), "r"(common) : "rax", "xmm0", "memory", "cc");
}

static void packet_out(char* own) {
  asm volatile("movb $1, (%0)\\n"                  // line 0
               "lea 9*64+60(%0), %%rdi\\n"
               "mov $8, %%ecx\\n"
               "rep stosb\\n"                      // lines 9 and 10
               :: "r"(own) : "rdi", "rcx", "memory");
}

int main() {
  for (int rank = 1; rank <= 2; ++rank) {
    char* const own = memory[rank];
    const hot_lines_object objects[] = {{"first", own, 3 * 64}, {"second", own + 6 * 64, 64}};
    hot_lines_begin("packet in", rank, objects, 2);
    own[15 * 64] = 1;
    hot_lines_end(false);
    hot_lines_begin("packet in", rank, objects, 2);
    packet_in(own, 8);
    hot_lines_end(true);
    hot_lines_begin("packet out", rank, objects, 2);
    packet_out(own);
    hot_lines_end(true);
  }
}
"""


def can_trace():
    """Whether gdb exists and may control another process."""
    if shutil.which("gdb") is None:
        return False
    result = subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", shutil.which("true")], capture_output=True, text=True)
    return "exited normally" in result.stdout


class HotLines(unittest.TestCase):
    def run_hot_lines(self, build, *arguments):
        result = subprocess.run([sys.executable, HOT_LINES, "--build", build, *arguments], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def build(self, text):
        directory = tempfile.TemporaryDirectory(prefix="amity-hot-lines-test-")
        self.addCleanup(directory.cleanup)
        program = os.path.join(directory.name, "tests", "core", "hot_lines_ranks")
        os.makedirs(os.path.dirname(program))
        subprocess.run(["g++", "-std=c++20", "-O1", "-I" + ROOT, "-x", "c++", "-", os.path.join(ROOT, "tests/core/hot_lines.cpp"),
                        "-o", program], input=text, check=True, text=True)
        return directory.name

    @unittest.skipUnless(can_trace(), "gdb cannot trace processes here")
    def test_known_lines(self):
        build = self.build(PROGRAM)
        status, output = self.run_hot_lines(build, "--json")
        self.assertEqual(status, 0, output)
        found = json.loads(output)
        self.assertEqual(found["rank"], 2)
        self.assertEqual(found["object_lines"], {"first": 3, "second": 1})
        self.assertEqual(found["counts"], {
            "first": {"in": 3, "out": 1, "both": 3},
            "second": {"in": 1, "out": 0, "both": 1},
            "other memory": {"in": 3, "out": 2, "both": 5},
            "shared": {"in": 1, "out": 0, "both": 1},
            "all but shared": {"in": 7, "out": 3, "both": 9},
        })
        status, output = self.run_hot_lines(build, "--lines")
        self.assertEqual([line.split(":")[0] for line in output.splitlines() if line.startswith(("first", "second"))],
                         ["first +0", "first +64", "first +128", "second +0"], output)

    @unittest.skipUnless(can_trace(), "gdb cannot trace processes here")
    def test_program_without_marks(self):
        status, output = self.run_hot_lines(self.build('#include "tests/core/hot_lines.hpp"\nint main() {}\n'))
        self.assertEqual(status, 2)
        self.assertIn("hot_lines_ranks did not reach its marks", output)

    def test_missing_program(self):
        status, output = self.run_hot_lines("/nonexistent")
        self.assertEqual(status, 2)
        self.assertIn("scripts/hot_lines: ", output)

    @unittest.skipUnless(can_trace(), "gdb cannot trace processes here")
    def test_simulated_rank(self):
        status, output = self.run_hot_lines(BUILD, "-n", "16", "--json")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.run_hot_lines(BUILD, "-n", "16", "--json"), (0, output))
        found = json.loads(output)
        for name, lines in found["object_lines"].items():
            row = found["counts"][name]
            self.assertGreater(min(row["in"], row["out"]), 0, output)
            self.assertLessEqual(max(row["in"], row["out"]), row["both"], output)
            self.assertLessEqual(row["both"], min(lines, row["in"] + row["out"]), output)


if __name__ == "__main__":
    unittest.main()
