"""Reads the public headers: what they declare, and the comment on each declaration.

It knows their style (tools/make_op_index.py makes the pages of it), not C++: one declaration begins on each line, a comment stands
above it or behind it, and what nobody should use lies in namespace detail or below `// --- implementation`.
"""

import dataclasses
import re

LOC = re.compile(r",?\s*(?:std::source_location|Loc) \w+(?: = [\w:]+\(\))?(?=\))")
INTERNAL = re.compile(r"\bdetail::\w*Impl\b|\bdetail::Linear|\bImpl\b|\bPlanData\b|= delete|= default;$|^friend |^static_assert|"
                      r"^explicit |^~|^operator=|^constexpr operator|^template .*void operator[-+*/]?=")  # fmt: skip

TYPE = re.compile(r"(?:template <.*?>\s*)?(?:struct|class|enum class)\s+([\w:]+)(?:\s+:[^{;]*)?\s*\{(.*)\}(?:;|$)", re.S)


@dataclasses.dataclass
class Item:
    kind: str  # function, type, value, alias, macro
    namespace: str
    group: str
    name: str
    code: str  # the declaration, on one line, without its body
    doc: str
    members: list = dataclasses.field(default_factory=list)


def without_comment(line):
    """(code, trailing comment) of a line; "//" in a string is no comment."""
    quoted = False
    for i, c in enumerate(line):
        if c == '"' and line[i - 1 : i] != "\\":
            quoted = not quoted
        elif not quoted and line.startswith("//", i):
            return line[:i].rstrip(), line[i + 2 :].strip()
    return line.rstrip(), ""


def depth(code):
    """How many braces and parentheses stay open."""
    code = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', "", code)
    return sum(code.count(c) for c in "({") - sum(code.count(c) for c in ")}")


def parameters(code):
    """What a template must be told: <T> where no argument says what T is, <I> of an argument's number."""
    header = re.match(r"template <((?:[^<>]|<[^<>]*>)*)> ", code)
    if not header or "(" not in code:
        return ""
    if m := re.search(r"size_t(\.\.\.)? I\b", header[1]):
        return f"<I{m[1] or ''}>"
    if re.search(r"\bT$|\bT,", header[1]) and not re.search(r"\(.*\bT\b", code[header.end() :].split("{")[0]):
        return "<T>"
    return ""


def head(code):
    """The declaration without its body, initialisers of a constructor, template header and constraint."""
    told = parameters(code)
    level = 0
    for i, c in enumerate(code):
        if c == "{" and level == 0 and not code[:i].rstrip().endswith("="):
            code = code[:i]
            break
        level += (c in "({") - (c in ")}")
    code = re.split(r"\)\s+: ", code)[0] + (")" if re.search(r"\)\s+: ", code) else "")
    code = re.sub(r"^template <(?:[^<>]|<[^<>]*>)*> ", "", code)
    code = re.sub(r"^requires\s?(?:\(.*?\)|std::\w+<.*?>) (?=\w)", "", code)
    code = re.sub(r"\s+", " ", code).strip().rstrip(";").strip().replace("( ", "(")
    return re.sub(r"(\w)\(", rf"\1{told}(", code, count=1)


def tidy(declaration):
    """As a reader wants it: no line of the caller, no const and &, no std::."""
    declaration = LOC.sub("", declaration).replace("(std::source_location loc)", "()")
    declaration = re.sub(r"\bdetail::Jitted<[^ ]*> ", "auto ", declaration)
    declaration = re.sub(r"^(?:template <.*?> |\[\[noreturn\]\] |inline |constexpr |static )+", "", declaration)
    declaration = re.sub(r" = \*new .*", "", declaration).replace("const Operand& ", "").replace("const ", "")
    return re.sub(r"&&?(?= |\)|\.\.\.|$)", "", declaration).replace("std::", "")


def name_of(declaration):
    if m := re.search(r"(operator\S+?|[\w:~]+)(?:<[^<>()]*>)?\(", declaration.split(" = ")[0]):
        return m[1]
    return ", ".join(part.split()[-1] for part in re.sub(r"<.*>", "", re.sub(r" = [^,;]*", "", declaration)).split("[")[0].split(","))


def markdown(lines):
    """A comment of several paragraphs as Markdown: what is indented in it is code."""
    out = []
    for line in lines:
        kind = "" if not line else "code" if line.startswith("  ") else "prose"
        if kind == "prose" and out and out[-1][0] == "prose":
            out[-1][1] += " " + line
        elif kind:
            if out and (out[-1][0] != kind):
                out.append(["", ""])
            out.append([kind, "    " + line.removeprefix("    ") if kind == "code" else line])
        elif out and out[-1][0]:
            out.append(["", ""])
    return out


def opening(text):
    """The lines of a header's opening comment."""
    return [line[2:].removeprefix(" ") for line in text.split("#pragma once")[0].splitlines()]


def statements(text, within=()):
    """(namespace, group, comment, code, code with comments, trailing comments) of each declaration of a header's or a type's text."""
    namespace, group, comment, code, raw, trailing, access, hidden = [], "", [], "", "", [], "public", 0
    for line in text.splitlines():
        bare = line.strip()
        if not code:
            if hidden:
                hidden += depth(without_comment(line)[0])
                continue
            if m := re.match(r"namespace ([\w:]+) \{", bare):
                if m[1] in ("detail", "planner") and not within:
                    hidden = 0 if bare.endswith("}") else 1
                else:
                    namespace.append(m[1])
                comment = []
            elif re.match(r"\}\s*(// namespace|$)", bare):
                namespace[-1:] = []
                comment = []
            elif m := re.match(r"(public|private|protected):", bare):
                access, comment = m[1], []
            elif m := re.match(r"// --- (.*)", bare):
                group, comment = m[1], []
                if group.startswith("implementation"):
                    return
            elif m := re.match(r"//+ ?(.*)", bare):
                comment.append(m[1])
            elif m := re.match(r"#define (NEAP_\w+)(\(.*?\))?", bare):
                if comment:
                    yield "::".join(namespace), group, "\n".join(comment), "#define " + m[1] + (m[2] or ""), "", []
                comment = []
            elif not bare or bare.startswith("#") or line.startswith("  auto tree_members"):
                comment = []
            else:
                code = " "
        if code:
            part, behind = without_comment(line)
            code += part + "\n"
            raw += line + "\n"
            if behind:
                trailing.append(behind)
            if depth(code) == 0 and re.search(r"[;}]\s*$", code):
                if access == "public":
                    yield "::".join(namespace), group, " ".join(comment), code.strip(), raw.strip(), trailing
                code, raw, comment, trailing = "", "", [], []


def constants(body):
    """The constants of an enum: (name, comment)."""
    said, comment = [], []
    for line in body.splitlines():
        code, behind = without_comment(line)
        if not code.strip():
            comment.append(behind.lstrip("/ "))
            continue
        names = [n.split("=")[0].strip() for n in code.split(",")]
        said += [(n, " ".join(comment) or behind) for n in names if n]
        comment = []
    return said


def items(text, within=()):
    """The public declarations of a header's text, in order. An overload without a comment has that of the one before. `within`:
    those of namespace detail, too."""
    text = re.sub(r"\\\n", " ", text)
    before = ("", "")
    for namespace, group, comment, code, raw, trailing in statements(text, within):
        flat = re.sub(r"\s+", " ", code)
        trailing = [said for said in trailing if not said.startswith("NOLINT")]
        if m := TYPE.match(raw):
            kind = "enum" if code.startswith("enum") else "class" if re.match(r"(template <.*?>\s*)?class ", code) else "struct"
            members = []
            if kind == "enum":
                members = [Item("value", namespace, "", n, n, said) for n, said in constants(m[2])]
            else:
                body = ("private:" if kind == "class" else "") + m[2]
                members = [i for i in items(body) if i.name != m[1]]
            yield Item("type", namespace, group, m[1], kind + " " + m[1], comment or " ".join(trailing[:1] if not members else []), members)
            continue
        if re.match(r"(template <.*?>\s*)?(struct|class)\s+[\w:]+;", flat) or INTERNAL.search(head(flat)) or INTERNAL.search(flat.split("{")[0]):
            continue
        if code.startswith("#define"):
            name = re.match(r"#define (\w+)", code)[1]
            yield Item("macro", "", group, name, code[8:], comment)
            continue
        if m := re.match(r"(?:template <.*?> )?(?:using|concept) (\w+) = .*|template <.*?> concept (\w+) =.*", flat):
            if m[1] != "vector" and not flat.startswith("using vector::"):
                yield Item("alias", namespace, group, m[1] or m[2], flat.rstrip(";"), comment or " ".join(trailing))
            continue
        if flat.startswith("using "):
            continue
        declaration = head(flat)
        function = "(" in declaration.split(" = ")[0]
        name = name_of(declaration)
        said = comment or " ".join(trailing)
        if function and not said and before[0] == name:
            said = before[1]
        before = (name, said)
        yield Item("function" if function else "value", namespace, group, name, declaration, said)
