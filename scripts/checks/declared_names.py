"""The names that the code of amity declares."""

import re

from checks.declarations import Declarations

TEMPLATE_ARGUMENTS = re.compile(r"<.*>")


class DeclaredNames:
    """The names that the C++ files of amity declare, by namespace and class."""

    def __init__(self, tree):
        self.names, self.bases = {}, {}
        for file in tree.headers + tree.sources:
            if file.startswith("amity/"):
                self.add(Declarations(file, tree.text(file)))

    def add(self, declarations):
        for scope, names in declarations.names.items():
            self.names.setdefault(TEMPLATE_ARGUMENTS.sub("", scope), set()).update(names)
        for found in declarations.classes:
            self.bases.setdefault(TEMPLATE_ARGUMENTS.sub("", found.name), set()).update(found.bases)

    def scopes_of(self, name):
        """The scopes that declare `name`."""
        return sorted(scope for scope, names in self.names.items() if name in names)

    def has_member(self, owner, name, derived=()):
        """Whether a scope whose name ends with `owner`, or a base of such a class, declares `name`."""
        for scope in self.names.keys() | self.bases.keys():
            if f"::{scope}".endswith(f"::{owner}"):
                if name in self.names.get(scope, ()):
                    return True
                bases = self.bases.get(scope, set()).difference(derived)
                if any(self.has_member(base, name, derived + (base,)) for base in bases):
                    return True
        return False
