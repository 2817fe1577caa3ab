"""Compares the page of functions with the functions that the library serves: functions_test.py WRAPPERS.PY PAGE."""

import importlib.util
import re
import sys
import unittest

WRAPPERS, PAGE = sys.argv[1:3]
sys.dont_write_bytecode = True
ROW = re.compile(r"^\| `MPI_(\w+)` \| (yes|no) \| \S.* \|$", re.MULTILINE)


def kinds():
    """The kind of each function, without its prefix."""
    spec = importlib.util.spec_from_file_location("wrappers", WRAPPERS)
    wrappers = importlib.util.module_from_spec(spec)
    sys.modules["wrappers"] = wrappers
    spec.loader.exec_module(wrappers)
    return wrappers.KIND_OF


def problems_of(page):
    """A sentence for each row that is missing, wrong or there twice, and for each row about another function."""
    expected = {name: "yes" if kind == "served" else "no" for name, kind in kinds().items()
                if kind in ("served", "own") or name.startswith("Win_")}
    rows = ROW.findall(page)
    names = [name for name, _ in rows]
    problems = [f"no row for MPI_{name}" for name in sorted(expected.keys() - names)]
    problems += [f"{names.count(name)} rows for MPI_{name}" for name in sorted(set(names)) if names.count(name) > 1]
    problems += [f"a row for MPI_{name}, which wrappers.py does not serve and does not leave to the MPI"
                 for name in sorted(set(names) - expected.keys())]
    problems += [f"MPI_{name}: '{answer}', and wrappers.py says '{expected[name]}'" for name, answer in rows
                 if expected.get(name, answer) != answer]
    return problems


class FunctionsTest(unittest.TestCase):
    def test_page(self):
        with open(PAGE, encoding="utf-8") as file:
            self.assertEqual(problems_of(file.read()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
