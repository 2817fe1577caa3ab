"""Classes stay small: few public functions, no friends, and never more than their ceilings.

scripts/checks/classes.json holds the ceilings of each class that exceeds the limits. A count may fall and must not rise.
After a class has become smaller, run `scripts/check classes --lower`. `scripts/counts` prints the counts of all classes.
"""

from checks.declarations import FIGURES, classes_in

FOLDERS = ("amity/",)
LIMITS = {"public_functions": 14, "friends": 0}
CEILINGS = "scripts/checks/classes.json"


def is_small(figures):
    return all(figures[figure] <= limit for figure, limit in LIMITS.items())


def lower(tree):
    """Writes the counts of today where they are smaller, without the classes that keep the limits."""
    old, today = tree.read_json(CEILINGS), {}
    for found in classes_in(tree, *FOLDERS):
        if found.short_name in old and not is_small(found.figures()):
            today.setdefault(found.short_name, []).append(found.figures())
    new = {name: {figure: min(old[name][figure], max(each[figure] for each in same_name)) for figure in FIGURES}
           for name, same_name in sorted(today.items())}
    tree.write_json(CEILINGS, new)
    return f"the ceilings of {sum(old[name] != new.get(name) for name in old)} classes fell"


def check(tree):
    ceilings = tree.read_json(CEILINGS)
    for found in classes_in(tree, *FOLDERS):
        for figure, ceiling in ceilings.get(found.short_name, LIMITS).items():
            if getattr(found, figure) > ceiling:
                yield (f"{found.file}:{found.line}: {found.short_name} has {getattr(found, figure)} "
                       f"{figure.replace('_', ' ')}, and {ceiling} are permitted; {REMEDIES[figure]}")


REMEDIES = {
    "public_functions": "move functions to a class of their own, or out of the class",
    "private_functions": "move functions to a class of their own",
    "data_members": "move members to a class of their own",
    "friends": "give the friend an interface",
}
