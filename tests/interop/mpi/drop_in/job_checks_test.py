"""job_test.py finds processes and files that a job leaves.

usage: job_checks_test.py JOB_TEST
"""

import subprocess
import sys
import tempfile
import unittest

JOB_TEST = sys.argv.pop(1)


class JobChecks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def run_job(self, command, *checks):
        job = subprocess.run(
            [sys.executable, JOB_TEST, *checks, "--shared-memory", self.directory.name, "--end-seconds", "0.3", "--",
             "sh", "-c", command],
            cwd=self.directory.name, capture_output=True, text=True, timeout=60, check=False)
        return job.returncode, job.stdout

    def test_job_that_leaves_nothing_passes(self):
        command = "touch file; rm file; touch vader_segment.host.0; echo done"
        self.assertEqual(self.run_job(command, "--mentions", "done")[0], 0)

    def test_file_that_is_left_fails(self):
        status, output = self.run_job("touch some_segment")
        self.assertEqual(status, 1)
        self.assertIn("files are left: {'some_segment'}", output)

    def test_file_that_another_job_uses_passes(self):
        command = "touch file; env -u AMITY_TEST_JOB_MARK sleep 5 < file > /dev/null 2>&1 &"
        self.assertEqual(self.run_job(command)[0], 0)

    def test_process_that_is_left_fails(self):
        status, output = self.run_job("sleep 50 > out 2>&1 & rm -f out")
        self.assertEqual(status, 1)
        self.assertIn("1 processes are left", output)

    def test_status_and_output_are_checked(self):
        self.assertEqual(self.run_job("exit 3")[0], 1)
        self.assertEqual(self.run_job("exit 3", "--fails")[0], 0)
        self.assertEqual(self.run_job("exit 3", "--ends")[0], 0)
        self.assertEqual(self.run_job("true", "--fails")[0], 1)
        self.assertEqual(self.run_job("echo two two", "--prints", "2", "two")[0], 0)
        self.assertEqual(self.run_job("echo two", "--prints", "2", "two")[0], 1)
        self.assertEqual(self.run_job("echo two", "--mentions", "three")[0], 1)
        self.assertEqual(self.run_job("echo two", "--silent", "two")[0], 1)


if __name__ == "__main__":
    unittest.main()
