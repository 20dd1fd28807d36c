"""A hook of mkdocs: the pages link to sources and to READMEs of folders, as files of the repository. On the site each of those is a
page, source/..., so that the same link works in both places."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".def": "cpp", ".inc": "cpp", ".py": "python", ".txt": "cmake", "": "bash", ".json": "json"}


def page_of(target):
    """Where the site has a file or folder of the repository, or None."""
    path = ROOT / target
    if target.startswith("docs/") and path.is_file():
        return target.removeprefix("docs/")
    if path.is_dir():
        target = "docs/README.md" if target == "docs" else f"{target}/README.md"
        return page_of(target) if (ROOT / target).is_file() else f"source/{path.relative_to(ROOT)}/index.md"
    if path.is_file():
        return f"source/{target}" + ("" if path.suffix == ".md" else ".md")
    return None


def resolved(link, folder):
    return posixpath.normpath(posixpath.join(folder, link))


def with_links(text, folder, own):
    """The text with its links as the site has them; `folder`: of the repository, to which they are relative; `own`: the page."""
    def link(m):
        target = page_of(resolved(m[1], folder))
        return m[0] if target is None else posixpath.relpath(target, posixpath.dirname(own)) + (m[2] or "")

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, LINK.sub(link, text[last:])])


def linked(text, folder):
    """What the text links to, outside docs/."""
    targets = {resolved(m[1], folder) for m in LINK.finditer(FENCE.sub("", text))}
    return {t for t in targets if (page_of(t) or "").startswith("source/")}


def source_page(target):
    """(the page's text, the folder of its links)."""
    path = ROOT / target
    hidden = "---\nsearch:\n  exclude: true\n---\n\n"
    if path.is_dir() and not (path / "README.md").is_file():
        return hidden + f"# {target}/\n\n" + "".join(f"- `{p.name}`\n" for p in sorted(path.iterdir())), target
    if path.is_dir():
        path, target = path / "README.md", f"{target}/README.md"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return hidden + text, posixpath.dirname(target)
    return hidden + f"# {target}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````\n", posixpath.dirname(target)


def on_files(files, config):
    wanted = set()
    for file in files.documentation_pages():
        wanted |= linked(file.content_string, posixpath.dirname("docs/" + file.src_uri))
    done = set()
    while wanted - done:
        target = min(wanted - done)
        done.add(target)
        own = page_of(target)
        if files.get_file_from_path(own):
            continue
        text, folder = source_page(target)
        if own.endswith(("README.md", "index.md")):
            wanted |= linked(text, folder)
        files.append(File.generated(config, own, content=with_links(text, folder, own)))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    return markdown if uri.startswith("source/") else with_links(markdown, posixpath.dirname("docs/" + uri), uri)
