"""The tokens of a C++ file, without comments and preprocessor directives, and the brackets among them."""

import bisect
import re

TOKEN = re.compile(
    r"""(?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
      | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)+'
      | \.?\d(?:[eEpP][+-]|['\w.])* | \w+ | :: | -> | && | \|\| | \.\.\. | <=> | [<>=!]= | .""",
    re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"\s*#\s*(\w*)")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def without_directives(text):
    """The text with empty lines instead of preprocessor directives and of all branches behind an #else or #elif."""
    lines, is_skipped, continued = [], [], False
    for line in text.split("\n"):
        directive = None if continued else DIRECTIVE.match(line)
        if directive:
            enter_branch(directive.group(1), is_skipped)
        if directive or continued or any(is_skipped):
            lines.append("")
        else:
            lines.append(line)
        continued = bool(directive or continued) and line.endswith("\\")
    return "\n".join(lines)


def enter_branch(directive, is_skipped):
    """Keeps in `is_skipped`, for each #if around the next line, whether its branch is left out."""
    if directive.startswith("if"):
        is_skipped.append(False)
    elif directive.startswith("el") and is_skipped:
        is_skipped[-1] = True
    elif directive == "endif" and is_skipped:
        is_skipped.pop()


def tokens_of(text):
    """(token, line number) for each token."""
    text = without_directives(text)
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    return [(match.group(), bisect.bisect_right(starts, match.start()))
            for match in TOKEN.finditer(text) if match.group("space") is None]


def brackets_of(tokens):
    """The index of each closing bracket, by the index of the opening one."""
    pairs, unclosed = {}, []
    for index, token in enumerate(tokens):
        if token in CLOSING:
            unclosed.append(index)
        elif unclosed and token == CLOSING[tokens[unclosed[-1]]]:
            pairs[unclosed.pop()] = index
    return pairs
