"""Names that the code has given up are used nowhere, and the message says what replaces them.

scripts/checks/gone.json maps each of these names, a regular expression that matches whole words, to its replacement. A
change that renames or removes something adds its name. Decisions and the change log may speak of the past.
"""

import re

NAMES = "scripts/checks/gone.json"
SEARCHED = ("amity/", "docs/", "apps/", "tools/", "bench/", "tests/")
HISTORY = ("docs/decisions/",)


def check(tree):
    replacements = tree.read_json(NAMES)
    patterns = {name: re.compile(rf"(?<!\w)(?:{name})(?!\w)") for name in replacements}
    for file in tree.files:
        if file.startswith(SEARCHED) and not file.startswith(HISTORY):
            yield from uses(tree, file, patterns, replacements)


def uses(tree, file, patterns, replacements):
    for number, line in tree.lines(file):
        for name, pattern in patterns.items():
            match = pattern.search(line)
            if match:
                yield f"{file}:{number}: has '{match.group()}', which no longer exists; use {replacements[name]}"
