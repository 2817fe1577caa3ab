#!/usr/bin/env python3
"""scripts/repeat counts how often each entry of a small build fails.

usage: repeat_test.py PATH-OF-SCRIPTS/REPEAT
"""

import os
import subprocess
import sys
import tempfile
import unittest

REPEAT = os.path.abspath(sys.argv.pop(1))
ENTRIES = """
add_test(good true)
add_test(bad sh -c "echo it went wrong; false")
add_test(second_time sh -c "test -e once || { touch once; false; }")
add_test(missing /nonexistent/program)
add_test(skips sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
"""


class RepeatTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="amity-repeat-test-")
        self.addCleanup(directory.cleanup)
        self.build = directory.name
        with open(os.path.join(self.build, "CTestTestfile.cmake"), "w") as opened:
            opened.write(ENTRIES)

    def repeat(self, *arguments):
        result = subprocess.run([sys.executable, REPEAT, *arguments, "--build", self.build], capture_output=True, text=True,
                                cwd=self.build)
        return result.returncode, result.stdout + result.stderr

    def test_entries_that_pass(self):
        status, output = self.repeat("2", "^(good|skips)$", "--load", "1")
        self.assertEqual(status, 0, output)
        self.assertIn("2 entries, 6 runs, 0 failures, 1 busy processes", output)

    def test_failures_are_counted(self):
        status, output = self.repeat("2", "bad|second_time|missing|good")
        self.assertEqual(status, 1, output)
        self.assertIn("bad: 3 of 3 runs failed", output)
        self.assertIn("it went wrong", output)
        self.assertIn("second_time: 1 of 3 runs failed", output)
        self.assertIn("missing: 3 of 3 runs failed", output)
        self.assertNotIn("good:", output)

    def test_no_entry(self):
        status, output = self.repeat("1", "nothing")
        self.assertEqual(status, 1)
        self.assertIn("no entry of", output)


if __name__ == "__main__":
    unittest.main()
