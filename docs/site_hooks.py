"""Additions to the site: pages of the repository's root, the reference, and notebooks with their output.

The reference lists the public names of each front, so a new name needs no edit. Notebooks run while the site is built.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import nbclient
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
FRONTS = ("stream_bayes", "streams", "networks", "mail", "sklearn", "plots", "testing", "errors")
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
NOT_OBJECTS = {"__version__", "compiled", "errors"}  # a text, a bool and a module

# A link to a file that is no page of the site; its text stays.
SOURCE_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:tests|stream_bayes|examples)\b[^)]*\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    for front in FRONTS:
        files.append(File.generated(config, f"reference/{front}.md", content=reference(front)))
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        files.remove(files.src_uris[f"notebooks/{path.name}"])
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=executed(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links between docs/ and the root of the repository to the pages of the site."""
    markdown = SOURCE_LINK.sub(r"\1", markdown)
    if page.file.src_uri in PAGES:
        return re.sub(r"\]\((\.\./)?docs/", lambda match: f"]({match[1] or ''}", markdown)
    return re.sub(r"\]\(\.\./((?:\.\./)*)(?=benchmarks/|[A-Z]+\.md)", r"](\1", markdown)


def reference(front: str) -> str:
    """Return the page of a front: its own text, then each public name."""
    path = front if front == "stream_bayes" else f"stream_bayes.{front}"
    module = importlib.import_module(path)
    names = [name for name in module.__all__ if name not in NOT_OBJECTS]
    summary = (inspect.getdoc(module) or "").split("\n\n")[0]
    return "\n\n".join([f"# {path}", summary, *(f"::: {path}.{name}" for name in names)]) + "\n"


def executed(path: Path) -> str:
    """Return a notebook as Markdown, with the output of running it. A cell that fails ends the build."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        texts = [
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
        ]
        if shown := "".join(texts).strip():
            parts.append(f"```text\n{shown}\n```")
    return "\n\n".join(parts) + "\n"
