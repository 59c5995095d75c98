"""Finds the pages of the site in the repository, and rewrites their links.

The site consists of docs/ and of the pages elsewhere in the repository to which docs/ links, such as a component's
README.md. These appear under "Repository". A link to a source file, which is not a page, is replaced by its text and
the file's path."""

import importlib.machinery
import importlib.util
import pathlib
import posixpath
import re
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = "docs/"
ELSEWHERE = "repository/"
PICTURES = (".png", ".svg", ".jpg")

loader = importlib.machinery.SourceFileLoader("links", str(ROOT / "make" / "links"))
links = importlib.util.module_from_spec(importlib.util.spec_from_loader("links", loader))
loader.exec_module(links)

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)")


def version():
    """Returns the version in pom.xml, which is also the build's."""
    pom = xml.etree.ElementTree.parse(ROOT / "pom.xml").getroot()
    return pom.find("{*}version").text


def site_path(path):
    """Returns the site path of a page or picture in the repository."""
    return path.removeprefix(DOCS) if path.startswith(DOCS) else ELSEWHERE + path


def shown(path):
    """Returns True for files that are on the site if a page links to them."""
    return path.startswith(DOCS) or path.endswith((".md", *PICTURES))


def target_of(page, target):
    """Returns the file in the repository to which a relative link leads, and the anchor. A link to a folder leads to the folder's README.md, if there
    is one."""
    path, anchor = links.resolve(page, target)
    readme = posixpath.normpath(path + "/README.md")
    if (ROOT / path).is_dir() and (ROOT / readme).is_file():
        path = readme
    return path, anchor


def reachable():
    """Returns the files outside docs/ that are on the site, found by following links from the pages in docs/."""
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / DOCS).rglob("*.md"))]
    reached = set(waiting)
    while waiting:
        page = waiting.pop()
        for link in links.links((ROOT / page).read_text(encoding="utf-8")):
            path = "" if links.SCHEME.match(link.target) else target_of(page, link.target)[0]
            if path and path not in reached and shown(path) and (ROOT / path).is_file():
                reached.add(path)
                if path.endswith(".md"):
                    waiting.append(path)
    return sorted(path for path in reached if not path.startswith(DOCS))


def rewrite(page, text):
    """Returns the page's text with its relative links changed to lead to their targets on the site."""
    masked = links.without_code(text)
    out, end = [], 0
    for match in LINK.finditer(text):
        # An image inside a link is part of the link's text, and is rewritten with it.
        if not masked[match.start("target"):match.end("target")].strip() or links.SCHEME.match(match["target"]):
            continue
        out += [text[end:match.start()], site_link(page, match)]
        end = match.end()
    return "".join(out) + text[end:]


def site_link(page, match):
    path, anchor = target_of(page, match["target"])
    label = LINK.sub(lambda inner: site_link(page, inner), match["text"]) if "](" in match["text"] else match["text"]
    if not shown(path) or not (ROOT / path).is_file():
        code = f"`{path}`"
        return code if label.strip("`") in (path, posixpath.basename(path)) else f"{label} ({code})"
    relative = posixpath.relpath(site_path(path), posixpath.dirname(site_path(page)) or ".")
    return f"{match['picture']}[{label}]({relative}{'#' + anchor if anchor else ''})"


def repository_path(path):
    """Returns the repository path of a page on the site; the inverse of site_path."""
    return path.removeprefix(ELSEWHERE) if path.startswith(ELSEWHERE) else DOCS + path
