"""Folders never have more lines, nor the library more installed headers, than their ceilings.

scripts/checks/lines.json holds the ceilings: of amity/, apps/, bench/, tests/ and tools/, and of the folders in them, with
all that is below. A count may fall and must not rise. After a folder has become smaller, run `scripts/check lines --lower`.
"""

import collections

from checks.tree import CODE_DIRECTORIES

CEILINGS = "scripts/checks/lines.json"
REMEDY = "delete as much as you add, or say in the commit why the ceiling has to rise"


def counts_in(tree):
    """{what: count}: each folder with its lines, and the installed headers."""
    counts = collections.Counter()
    for file in tree.files:
        if not file.startswith(CODE_DIRECTORIES):
            continue
        parts = file.split("/")
        lines = tree.text(file).count("\n")
        counts[parts[0]] += lines
        if len(parts) > 2:
            counts["/".join(parts[:2])] += lines
    return {"installed headers": len(tree.public_headers), **dict(sorted(counts.items()))}


def lower(tree):
    """Writes the counts of today where they are smaller, and those of new folders."""
    old = tree.read_json(CEILINGS)
    new = {what: min(count, old.get(what, count)) for what, count in counts_in(tree).items()}
    tree.write_json(CEILINGS, new)
    return f"{sum(new.get(what) != ceiling for what, ceiling in old.items())} ceilings fell"


def check(tree):
    ceilings = tree.read_json(CEILINGS)
    for what, count in counts_in(tree).items():
        unit = "" if what == "installed headers" else " lines"
        if what not in ceilings:
            yield f"{CEILINGS}:1: {what} has no ceiling; run `scripts/check lines --lower`, which writes {count}"
        elif count > ceilings[what]:
            yield f"{CEILINGS}:1: {what}: {count}{unit}, and {ceilings[what]} are permitted; {REMEDY}"
