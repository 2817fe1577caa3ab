"""What a C++ file declares: its classes with their counts, and the names of each scope.

The parser reads a file as it is written. It includes nothing, expands no macro, and skips the bodies of functions.
COUNTING says what counts.
"""

import dataclasses
import re

from checks.tokens import CLOSING, brackets_of, tokens_of

NAME = re.compile(r"[A-Za-z_]\w*$")
# A call of a macro in place of a declaration, which may lack its semicolon.
MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+$")
CLASS_KEYS = ("class", "struct", "union")
ACCESS = ("public", "protected", "private")
SPECIFIERS = ("typedef", "static", "constexpr", "inline", "mutable", "const", "extern", "virtual", "explicit")
# Declarations that count as nothing.
UNCOUNTED = ("using", "static_assert", "concept", "asm", "template")
# The parentheses after these are not parameters.
BEFORE_PARENTHESES = ("alignas", "decltype", "noexcept", "explicit", "__attribute__")

FIGURES = ("public_functions", "private_functions", "data_members", "friends")
COUNTING = """\
Each class with a body counts, also nested classes, specializations of templates, and classes in source files; classes in
functions do not count. The figures of a class are those of its own declarations, without its bases and nested
classes:
  public functions   member functions, static ones and function templates, each overload, and constructors, destructors
                     and operators; functions that are defaulted or deleted do not count
  private functions  the same for private and protected functions, overrides included
  data members       one per object and name; static members do not count
  friends            friend declarations, of classes and functions; defaulted operators do not count
"""


@dataclasses.dataclass
class Class:
    """A class with a body."""

    name: str  # with its namespaces, and its template arguments if it is a specialization
    file: str
    line: int
    bases: list  # their last names
    public_functions: int = 0
    private_functions: int = 0
    data_members: int = 0
    friends: int = 0

    @property
    def short_name(self):
        return self.name.removeprefix("amity::")

    def figures(self):
        return {figure: getattr(self, figure) for figure in FIGURES}


@dataclasses.dataclass
class Scope:
    """A namespace, or a class (`owner`) with the access that its next members have."""

    name: str
    owner: Class = None
    access: str = "public"

    def nested(self, name):
        return "::".join(part for part in (self.name, name) if part)


class Declarations:
    """The declarations of one file: `classes`, and `names`, which has the names declared in each scope.

    Functions that skip or read a part take the index of its first token and return the index of the token after it.
    """

    def __init__(self, file, text):
        numbered = tokens_of(text)
        self.file = file
        self.tokens = [token for token, _ in numbered] + [";"] * 4  # the parser looks ahead by at most 4
        self.lines = [line for _, line in numbered]
        self.brackets = brackets_of(self.tokens)
        self.classes = []
        self.names = {}
        self.read_scope(0, len(numbered), Scope(""))

    # --- Parts of declarations ---

    def skip_group(self, at):
        """Skips a pair of brackets with what is in it, or one other token."""
        return self.brackets.get(at, at) + 1

    def skip_angles(self, at):
        """Skips template arguments, and nothing if the `<` compares."""
        index, depth = at, 0
        while self.tokens[index] not in (";", "}", ")", "]"):
            depth += {"<": 1, ">": -1}.get(self.tokens[index], 0)
            index = self.skip_group(index)
            if depth == 0:
                return index
        return at

    def skip_name(self, at):
        """Skips a qualified name and its template arguments."""
        while self.tokens[at] == "::" or NAME.match(self.tokens[at]):
            at += 1
            if self.tokens[at] == "<":
                at = self.skip_angles(at)
            if "::" not in self.tokens[at - 1:at + 1]:
                break
        return at

    def skip_attributes(self, at):
        while True:
            if self.tokens[at] == self.tokens[at + 1] == "[":
                at = self.skip_group(at)
            elif self.tokens[at] in BEFORE_PARENTHESES and self.tokens[at + 1] == "(":
                at = self.skip_group(at + 1)
            else:
                return at

    def skip_specifiers(self, at):
        at = self.skip_attributes(at)
        while self.tokens[at] in SPECIFIERS:
            at = self.skip_attributes(at + 1)
        return at

    def skip_template(self, at):
        """Skips `template <...> requires ...`."""
        while self.tokens[at] == "template" and self.tokens[at + 1] == "<":
            at = self.skip_angles(at + 1)
            if self.tokens[at] == "requires":
                at = self.skip_constraint(at + 1)
        return at

    def skip_constraint(self, at):
        """Skips the operands of a requires clause, which && and || join."""
        while True:
            if self.tokens[at] == "requires":
                at = self.skip_group(at + 1) if self.tokens[at + 1] == "(" else at + 1
            at = self.skip_group(at) if self.tokens[at] in CLOSING else self.skip_name(at)
            if self.tokens[at] not in ("&&", "||"):
                return at
            at += 1

    def skip_initializer(self, at):
        """Skips the value of a member, up to the comma or the semicolon."""
        while self.tokens[at] not in (",", ";", "}"):
            at = self.skip_angles(at) if self.opens_angles(at) else self.skip_group(at)
        return at

    def opens_angles(self, at):
        return self.tokens[at] == "<" and self.skip_angles(at) > at

    def skip_statement(self, at):
        while self.tokens[at] not in (";", "}"):
            at = self.skip_group(at)
        return at + 1

    # --- Scopes ---

    def declare(self, scope, name):
        self.names.setdefault(scope.name, set()).add(name)

    def read_scope(self, at, end, scope):
        while at < end:
            at = max(self.read_declaration(at, scope), at + 1)

    def read_declaration(self, at, scope):
        token, following = self.tokens[at:at + 2]
        if token in ACCESS and following == ":":
            scope.access = token
            return at + 2
        if MACRO.match(token) and following == "(":
            return self.skip_group(at + 1)
        if token == "extern" and following.startswith('"'):
            return at + 3 if self.tokens[at + 2] == "{" else at + 2
        if "namespace" in (token, following):
            return self.read_namespace(self.tokens.index("namespace", at) + 1, scope)
        at = self.skip_template(at)
        return self.read_friend(at, scope) if self.tokens[at] == "friend" else self.read_type(at, scope)

    def read_namespace(self, at, scope):
        body = self.skip_name(at)
        if self.tokens[body] != "{":  # an alias, or a directive
            return self.skip_statement(body)
        name = "".join(self.tokens[at:body])
        self.declare(scope, name)
        self.read_scope(body + 1, self.brackets[body], Scope(scope.nested(name)))
        return self.skip_group(body)

    def read_friend(self, at, scope):
        end = at
        while self.tokens[end] not in (";", "{"):
            end = self.skip_group(end)
        if self.tokens[end - 2:end] != ["=", "default"]:
            scope.owner.friends += 1
        return self.skip_group(end)

    # --- Types ---

    def read_type(self, at, scope):
        """Reads a declaration that may define a type, and the members or function that it declares with this type."""
        first, at = at, self.skip_specifiers(at)
        if self.tokens[at] in UNCOUNTED:
            return self.read_uncounted(at, scope)
        if self.tokens[at] in CLASS_KEYS + ("enum",):
            body = self.type_body(at)
            if body is None and self.tokens[self.skip_name(at + 1)] == ";":  # declared, and defined elsewhere
                return self.read_uncounted(at, scope)
            if body is not None:
                read = self.read_enumeration if self.tokens[at] == "enum" else self.read_class
                first = read(at, body, scope)
        if self.tokens[at - 1] == "typedef" and self.tokens[first] != ";":
            return self.read_uncounted(first, scope)
        return self.read_members(first, scope)

    def read_uncounted(self, at, scope):
        end = self.skip_statement(at)
        self.declare(scope, self.tokens[at + 1] if self.tokens[at + 2] == "=" else self.tokens[end - 2])
        return end

    def name_of_type(self, at):
        """The indexes of the first token of a type's name, and of the token after the name."""
        if self.tokens[at] == "enum" and self.tokens[at + 1] in CLASS_KEYS:
            at += 1
        begin = self.skip_attributes(at + 1)
        return begin, self.skip_name(begin)

    def type_body(self, at):
        """The index of the brace that opens the body of a class or enumeration; None if it is only named."""
        _, at = self.name_of_type(at)
        at += self.tokens[at] == "final"
        if self.tokens[at] == ":":
            at = self.skip_bases(at)
        return at if self.tokens[at] == "{" else None

    def skip_bases(self, at, found=None):
        """Skips the bases of a class, and adds their last names to `found`."""
        while self.tokens[at] not in ("{", ";", "}"):
            begin, at = at, max(self.skip_name(at), at + 1)
            if found is not None and self.tokens[at] in (",", "{", "..."):
                words = [token for token in self.tokens[begin:at] if token != "::"]
                found.append(words[words.index("<") - 1 if "<" in words else -1])
        return at

    def read_class(self, at, body, scope):
        begin, after = self.name_of_type(at)
        name, end = "".join(self.tokens[begin:after]), self.skip_group(body)
        if not name and self.tokens[end] == ";":  # its members are those of the scope
            self.read_scope(body + 1, end - 1, scope)
            return end
        name = name or self.tokens[end]
        self.declare(scope, name)
        found = Class(scope.nested(name), self.file, self.lines[at], [])
        self.skip_bases(after, found.bases)
        self.classes.append(found)
        access = "private" if self.tokens[at] == "class" else "public"
        self.read_scope(body + 1, end - 1, Scope(found.name, found, access))
        return end

    def read_enumeration(self, at, body, scope):
        name = "".join(self.tokens[slice(*self.name_of_type(at))])
        self.declare(scope, name)
        is_scoped = self.tokens[at + 1] in CLASS_KEYS
        for index in range(body + 1, self.brackets[body]):
            if self.tokens[index - 1] in ("{", ","):
                self.declare(Scope(scope.nested(name)), self.tokens[index])
                if not is_scoped:
                    self.declare(scope, self.tokens[index])
        return self.skip_group(body)

    # --- Functions and members ---

    def read_members(self, at, scope):
        """Reads one function, or members that are declared together."""
        name, is_static = None, False
        while self.tokens[at] not in (";", "}"):
            token = self.tokens[at]
            is_static |= token == "static"
            if token == "operator":
                return self.read_function(self.tokens.index("(", at), scope)
            if token == "(" and self.is_parameter_list(at):
                return self.read_function(at, scope)
            if token == ",":
                self.count_member(name, is_static, scope)
            name, at = self.name_at(at) or name, self.skip_declarator(at)
        self.count_member(name, is_static, scope)
        return at + 1

    def is_parameter_list(self, at):
        """False for the parentheses of a pointer to a function, and of its parameters."""
        before = self.tokens[at - 1]
        is_named = before == ">" or (NAME.match(before) and before not in BEFORE_PARENTHESES)
        return is_named and self.tokens[at + 1] not in ("*", "&") and self.tokens[at + 2:at + 4] != ["::", "*"]

    def name_at(self, at):
        """The name that a declarator declares, as far as the token tells; a pointer to a function has it in a group."""
        if self.tokens[at] == "(" and self.tokens[at + 1] == "*":
            return self.tokens[at + 2]
        return self.tokens[at] if NAME.match(self.tokens[at]) else None

    def skip_declarator(self, at):
        """Skips one token of a declarator with its template arguments, brackets or initializer."""
        if self.tokens[at] == "=":
            return self.skip_initializer(at)
        return self.skip_angles(at) if self.opens_angles(at) else self.skip_group(at)

    def count_member(self, name, is_static, scope):
        if name is None:
            return
        self.declare(scope, name)
        if scope.owner and not is_static:
            scope.owner.data_members += 1

    def read_function(self, at, scope):
        """Reads a function from its parameters on."""
        if self.tokens[at - 2] != "::":  # a member that is defined outside of its class
            self.declare(scope, self.tokens[at - 1])
        end = self.skip_group(at)
        while self.tokens[end] not in (";", "{", "=", ":", "}"):
            end = self.skip_constraint(end + 1) if self.tokens[end] == "requires" else self.skip_group(end)
        if scope.owner and self.tokens[end + 1] not in ("default", "delete"):
            self.count_function(scope)
        while self.tokens[end] in (":", ","):  # initializers of members
            end = self.skip_group(self.skip_name(end + 1))
            end += self.tokens[end] == "..."
        end = self.skip_group(end) if self.tokens[end] == "{" else self.skip_statement(end)
        while self.tokens[end] == "catch":
            end = self.skip_group(self.skip_group(end + 1))
        return end

    def count_function(self, scope):
        if scope.access == "public":
            scope.owner.public_functions += 1
        else:
            scope.owner.private_functions += 1


def classes_in(tree, *folders):
    """The classes of the C++ files in these folders, which end in a slash."""
    return [found for file in tree.headers + tree.sources if file.startswith(folders)
            for found in Declarations(file, tree.text(file)).classes]
