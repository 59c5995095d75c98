"""MkDocs hooks: the version in the header, pages from outside docs/, rewritten links, and the order of the sections."""

import pathlib
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages

SECTIONS = ("Documentation", "Tutorials", "How to", "Reference", "Explanation", "Repository")


def on_config(config):
    config.site_name = f"Tapline {pages.version()}"
    return config


def on_files(files, config):
    for path in pages.reachable():
        files.append(File.generated(config, pages.site_path(path), abs_src_path=str(pages.ROOT / path)))
    files.append(File.generated(config, "site.css", abs_src_path=str(pages.ROOT / "make" / "site" / "site.css")))
    return files


def on_page_markdown(markdown, page, config, files):
    path = pages.repository_path(page.file.src_uri)
    return pages.rewrite(path, (pages.ROOT / path).read_text(encoding="utf-8"))


def on_nav(nav, config, files):
    """Orders the sections as the landing page does."""
    nav.items.sort(key=lambda item: SECTIONS.index(item.title) if item.title in SECTIONS else 0)
    return nav
