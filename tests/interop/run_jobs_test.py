"""Tests tests/support/run_jobs.py, whose path is the argument: jobs that fail must not pass."""

import os
import subprocess
import sys
import tempfile

TABLE = """
way one: A_VALUE=1
[good]
sh one 1,2 -c 'test $A_VALUE$B_VALUE$AMITY_RANKS -gt 0'
sh one 1 B_VALUE=2 -c 'echo $A_VALUE$B_VALUE; exit 3'  | fails 12
sh one 1 -c 'exit 3'                                   | status 3
long sh one 1 -c 'exit 3'
[status]
sh one 1 -c 'exit 3'
[no_failure]
sh one 1 -c 'echo yes'  | fails yes
[text]
sh one 1 -c 'echo yes'  | prints no
[check]
sh one 1 -c 'echo "x does not hold"'
[time]
sh one 1 -c 'sleep 100'
"""


def status_of(table, section, *options, **environment):
    command = [sys.executable, sys.argv[1], table, section, "--programs", "/bin/", "--seconds", "2", *options]
    usual = {name: value for name, value in os.environ.items() if name != "LONG_TESTS"}
    return subprocess.run(command, env={**usual, **environment}, check=False).returncode


with tempfile.NamedTemporaryFile("w", encoding="utf-8") as table:
    table.write(TABLE)
    table.flush()
    assert status_of(table.name, "good") == 0
    assert status_of(table.name, "good", LONG_TESTS="1") == 1
    assert status_of(table.name, "good", "--ways", "two") == 77
    for section in ("status", "no_failure", "text", "check", "time", "missing"):
        assert status_of(table.name, section) == 1, section
