"""Nothing half-built, no paths of one machine, and plain English: banned words, and wordings that must become rarer.

scripts/checks/wordings.json holds, for each discouraged wording and each area of the tree, the largest permitted number of
lines. A number may fall and must not rise. After rewriting text, run `scripts/check words --lower`, which writes the
numbers of today where they are smaller. A wording that no line uses in an area is an error there.
"""

import re

# Written so that no pattern matches itself.
BANNED = [
    (re.compile(r"\b(TO[D]O|FI[X]ME|X[X]X)\b"), "finish it, or open an issue"),
    (re.compile(r"\b[Ff]or [n]ow\b"), "say what holds, and until when"),
    (re.compile(r"(?<![\w.\-/])/(wor[k]|roo[t])/[\w.]"), "a path of one machine"),
    (re.compile(r"\b(pypi\.|files\.pythonhosted\.|registry\.npmjs\.|crates\.|index\.crates\.|repo\.maven\.|"
                r"proxy\.golang\.|rubygems\.|conda\.anaconda\.|deb\.debian\.|archive\.ubuntu\.|snapshot\.debian\.)"
                r"(org|io|com)\b"), "a host of a package registry; the machine's own sources decide"),
]
# In pages, which no script fills in.
PLACEHOLDER = (re.compile(r"@[A-Z][A-Z_]*@"), "a placeholder that nothing has replaced; write what belongs there")

STRING = re.compile(r'R"\((?:[^)]|\)(?!"))*\)"|"(?:[^"\\]|\\.)*"')
CODE_ENDINGS = (".hpp", ".h", ".cpp", ".c", ".hpp.in", ".h.in")

# Name, pattern, what to write instead, and whether only string literals count. No pattern matches its own line.
DISCOURAGED = [
    ("clause_as_subject", r"(^|[.;:] |/// |// )(Wh[o]|Wh[o]ever|Wh[o]se) [a-z]", "name the rank, the thread or the caller", False),
    ("indefinite_person", r"\b([Nn]o|[Ss]ome|[Aa]ny|[Ee]very)b[o]dy\b|\b[Ww]h[o]ever\b",
     "name the object: no rank, the caller, all ranks", False),
    ("clause_as_object", r"\b(one|ones|those|that) (who|that|which) (is|are|has|have|was|waits?|sends?)\b",
     "repeat the noun", False),
    ("condition_with_where", r"(^|[.;] |/// )Where [a-z]+ (is|are|has|have|it|no|cannot)\b", "start the sentence with If", False),
    ("tell", r"\b(tells?|told) (of|whether|how|when|what)\b|\b(is|are|be) t[o]ld\b", "reports, returns, is notified", False),
    ("continue", r"\b(go(es)?|g[o]ing|went) o[n]\b", "continue", False),
    ("come", r"\b(has|have|had) c[o]me\b|\bcomes? (late|early|by|along|back)\b", "has arrived, has ended, returns", False),
    ("archaic_adverb", r"\bin v[a]in\b|\ban[e]w\b|\bevery so (often|many)\b|\bfor (good|ever)\b",
     "without success, again, periodically, forever", False),
    ("sameness", r"\b(k[i]n|l[i]kewise|al[i]ke|mean[w]hile)\b", "repeat the words; the same on all ranks; during ...", False),
    ("no_longer", r"\bany m[o]re\b", "no longer", False),
    ("place_of_order", r"\b(in fr[o]nt of|bes[i]de)\b|\bbarrier beh[i]nd", "before, after, next to, in addition to", False),
    ("missing_possessor", r"\b(the|an) o[w]n\b", "its own, the local", False),
    ("elliptic_comment", r"^ *(///|//|/\*) ?(Of|The same|As above|Likewise|That of|Those|As of|Whose)\b",
     "a sentence with subject and verb", False),
    ("for_humans", r"\bfor (a p[e]rson|pe[o]ple)\b", "human-readable", False),
    ("estimate", r"\bsome ([0-9]|h[u]ndred|thous[a]nd)", "about", False),
    ("rate", r"\b(bytes|ns|packets?|slots|messages?|threads?|ranks|lines?) an? (message|rank|peer|packet|vertex|edge|hop|node|"
             r"thread)\b", "per", False),
    ("layer_or_path", r"\bfl[o]ors?\b($|[^(_])|\b(short|usual|same) r[o]ad\b", "layer, path", False),
    ("space", r"\b(no|finds?|found|have|has|makes?) r[o]om\b|\br[o]om (for|there|is)\b", "no credit, no free slot, space", False),
    ("phrasal_get", r"\bget(s|ting)? (on|along|by|up)\b|\bhangs? t[o]gether\b|\bwithout a w[o]rd\b",
     "progress, connected, without notice", False),
    ("failed_process", r"\b(is|are|was|has) (gone|missed|vanished)\b|\bg[o]odbyes?\b", "failed, disconnected, shutdown packet",
     False),
    ("is_no", r"\b(is|are) no ([a-km-z]|l[^o])", "X is not a ..., X not found", True),
    ("oblique_failure", r"\b(is n[o]ne of|were to b[e]|cannot be h[a]d|takes no m[o]re)\b", "state the failed check", True),
    ("may_and_not", r"\bmay n[o]t\b", "must not, might not", False),
    ("say_so", r"\b(say|says|said|tell|tells) s[o]\b", "report the error", False),
    ("test_name_as_sentence",
     r"^TEST[A-Z_]*\(\w+, (an?|the|is|are|has|of|that|what|may|must|says|tells|takes|lets|do|no)_",
     "TEST(object, case_result), at most six words, no article", False),
]
COMPILED = [(name, re.compile(pattern), remedy, only_strings) for name, pattern, remedy, only_strings in DISCOURAGED]

CEILINGS = "scripts/checks/wordings.json"
LISTED_MAX = 10  # more lines than this are not printed one by one
AREAS = ("docs", "readme", "public headers", "strings", "other")


def area_of(tree, file, line, position):
    """Returns the area of AREAS that a match belongs to."""
    if file == "README.md":
        return "readme"
    if file.endswith(".md"):
        return "docs"
    if file.endswith(CODE_ENDINGS) and in_string(line, position):
        return "strings"
    return "public headers" if file in tree.public_headers else "other"


def in_string(line, position):
    return any(literal.start() < position < literal.end() for literal in STRING.finditer(line))


def discouraged(tree):
    """{(wording, area): [FILE:LINE, ...]}, each line once for each wording."""
    found = {}
    for file in tree.files:
        if file == CEILINGS:
            continue
        for number, line in tree.lines(file):
            for name, pattern, _, only_strings in COMPILED:
                areas = {area_of(tree, file, line, match.start()) for match in pattern.finditer(line)
                         if not only_strings or in_string(line, match.start())}
                for area in areas:
                    found.setdefault((name, area), []).append(f"{file}:{number}")
    return found


def read_ceilings(tree):
    return {(name, area): lines for name, areas in tree.read_json(CEILINGS).items() for area, lines in areas.items()}


def lower(tree):
    """Writes today's numbers where they are smaller than the ceilings. Returns a sentence about the change."""
    old, today = read_ceilings(tree), discouraged(tree)
    new = {key: min(ceiling, len(today.get(key, []))) for key, ceiling in old.items()}
    written = {}
    for name, area in sorted(new):
        if new[name, area]:
            written.setdefault(name, {})[area] = new[name, area]
    tree.write_json(CEILINGS, written)
    return f"the ceilings fell by {sum(old.values()) - sum(new.values())} lines"


def check(tree):
    for file in tree.files:
        for number, line in tree.lines(file):
            for pattern, remedy in BANNED + ([PLACEHOLDER] if file.endswith(".md") else []):
                match = pattern.search(line)
                if match:
                    yield f"{file}:{number}: has '{match.group(0)}': {remedy}"

    found = discouraged(tree)
    ceilings = read_ceilings(tree)
    for name, pattern, remedy, _ in DISCOURAGED:
        for area in AREAS:
            lines, ceiling = found.get((name, area), []), ceilings.get((name, area), 0)
            if len(lines) <= ceiling:
                continue
            excess = f"has the wording '{name}' ({len(lines)} lines of {area} have it, and {ceiling} are permitted)"
            if len(lines) <= LISTED_MAX:
                yield from (f"{line}: {excess}; write instead: {remedy}" for line in lines)
            else:
                yield f"{area}: {excess}; write instead: {remedy}; your lines are among: git diff | grep -P '{pattern}'"
