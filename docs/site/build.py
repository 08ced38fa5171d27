"""Builds the documentation site of the whole project: ``python docs/site/build.py HEADWAY [FOLDER]``.

HEADWAY is the program, whose help becomes the reference of the command line; the site goes to FOLDER, by default ``target/site``. Needs
``pip install 'mkdocs-material>=9.5,<10'`` and nothing of the network. A link that leads nowhere is an error, within a page, too.

    *.md of the repository, where they are ─┐
    headway … --help ───────────────────────┼─► target/site-source ─► mkdocs ─► FOLDER
    docstrings of bindings/python ──────────┘

Pages keep their places, so that their links hold here as in the repository. What they link to besides pages is copied, and a
folder becomes a list of its files (docs/decisions/0067).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import command_line
import python_api

TOP = Path(__file__).resolve().parents[2]
SOURCE = TOP / "target" / "site-source"


def main() -> int:
    """Build the site; return the status of mkdocs."""
    if len(sys.argv) not in (2, 3):
        print("usage: python docs/site/build.py HEADWAY [FOLDER]", file=sys.stderr)
        return 2
    program = Path(sys.argv[1]).resolve()
    site = Path(sys.argv[2] if len(sys.argv) == 3 else TOP / "target" / "site").resolve()
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = Pages()
    for path in pages.tracked:
        if path.endswith(".md"):
            pages.write(path, pages.linked(path, as_in_books((TOP / path).read_text("utf-8"))))
    for path, text in (command_line.pages(program) | python_api.pages(TOP / "bindings" / "python" / "python")).items():
        pages.write(path, text)
    config = SOURCE.with_name("site.yml")
    # JSON is YAML.
    config.write_text(json.dumps(configuration(pages, site)), "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    # The theme tells at each start how long it will be maintained: docs/decisions/0067 says so, once.
    return subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False).returncode


class Pages:
    """What the site is made from."""

    def __init__(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.tracked = [path for path in listed.split("\0") if (TOP / path).is_file()]
        self.folders = {str(folder) for path in self.tracked for folder in PurePosixPath(path).parents}
        self.written: list[str] = []

    def write(self, path: str, text: str) -> None:
        """Write a page."""
        place = SOURCE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        self.written.append(path)

    def linked(self, path: str, text: str) -> str:
        """Return a page whose links to folders lead to pages about them; what it links to is copied."""

        def replaced(match: re.Match[str]) -> str:
            target, hash, anchor = match[1].partition("#")
            if not target or ":" in target:
                return match[0]
            place = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if place in self.folders:
                page = os.path.relpath(self._folder(place), os.path.dirname(path) or ".")
                return f"]({page}{hash}{anchor})"
            if place in self.tracked and not place.endswith(".md"):
                self._copy(place)
            return match[0]

        return outside_code(text, lambda prose: LINK.sub(replaced, prose))

    def _folder(self, folder: str) -> str:
        """Return the page about a folder: its own, or a list of what is in it."""
        own, listing = f"{folder}/README.md", f"{folder}/index.md"
        if own in self.tracked:
            return own
        if listing not in self.written:
            within = [path for path in self.tracked if path.startswith(f"{folder}/")]
            for path in within:
                if not path.endswith(".md"):
                    self._copy(path)
            names = [os.path.relpath(path, folder) for path in within]
            self.write(listing, f"# {folder}\n\n" + "".join(f"* [{title(folder, name)}]({name})\n" for name in names))
        return listing

    @staticmethod
    def _copy(path: str) -> None:
        place = SOURCE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TOP / path, place)


def title(folder: str, name: str) -> str:
    """Return the first heading of a page, or else its name."""
    if not name.endswith(".md"):
        return name
    heading = re.search(r"^# (.+)$", (TOP / folder / name).read_text("utf-8"), re.MULTILINE)
    return heading[1] if heading else name


def outside_code(text: str, change) -> str:
    """Return a page with a change to everything that is not in a fenced block or a code span."""
    return "".join(part if number % 2 else change(part) for number, part in enumerate(CODE.split(text)))


def as_in_books(text: str) -> str:
    """Return a page whose blocks of Rust look as rustdoc shows them: without hidden lines, and no attribute but the language."""

    def shown(match: re.Match[str]) -> str:
        lines = [line for line in match[2].splitlines(keepends=True) if not re.match(r"\s*#(\s|$)", line)]
        return f"```rust\n{''.join(lines)}```"

    return re.sub(r"^```rust([^\n]*)\n(.*?)^```", shown, text, flags=re.MULTILINE | re.DOTALL)


def configuration(pages: Pages, site: Path) -> dict:
    """Return what mkdocs goes by."""
    return {
        "site_name": "Headway",
        "site_description": "Signalling transport without head-of-line blocking",
        "docs_dir": str(SOURCE),
        "site_dir": str(site),
        # Links work from files, too, without a server.
        "use_directory_urls": False,
        "exclude_docs": "!.ci\n!.github\n",
        "theme": {"name": "material", "font": False, "features": ["navigation.indexes", "navigation.top", "search.highlight"]},
        "plugins": ["search"],
        "markdown_extensions": [
            "tables",
            "sane_lists",
            {"toc": {"permalink": True}},
            "pymdownx.superfences",
            {"pymdownx.highlight": {"use_pygments": True}},
        ],
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"},
        },
        "nav": navigation(pages),
    }


def navigation(pages: Pages) -> list:
    """Return all pages by what a reader is after; a page that has no place here is an error of mkdocs."""
    left = dict.fromkeys(pages.written)

    def taken(*wanted: str) -> list[str]:
        found = [path for path in left if any(re.fullmatch(pattern, path) for pattern in wanted)]
        found.sort(key=lambda path: next(number for number, pattern in enumerate(wanted) if re.fullmatch(pattern, path)))
        for path in found:
            del left[path]
        return found

    guide = taken(r"docs/guide/src/SUMMARY\.md")
    for chapter in LINK.findall((TOP / guide[0]).read_text("utf-8")):
        guide += taken(re.escape(f"docs/guide/src/{chapter}"))
    return [
        *taken(r"README\.md"),
        {"Guide to SCTP": guide},
        {"Command line": taken(r"cli/index\.md", r"cli/.*")},
        {"Python": taken(r"bindings/python/README\.md", r"docs/campaigns\.md", r"docs/scale\.md", r"python/.*")},
        {"Laboratory": taken(*(rf"docs/{name}\.md" for name in ("plans", "studies", "models", "startup", "tcp", "fairness", "events")))},
        {"Applications": taken(*(rf"docs/{name}\.md" for name in ("simco", "sip", "handover")))},
        {"The stack": taken(*(rf"docs/{name}\.md" for name in ("recovery", "performance", "robustness", "conformance", "interop")), r"docs/[^/]*", r"crates/.*README\.md")},
        {"The project": taken(r"ARCHITECTURE\.md", r"CONTRIBUTING\.md", r"CHANGELOG\.md", r"SECURITY\.md", r".*README\.md")},
        {"Decisions": taken(r"docs/decisions/index\.md", r"docs/decisions/.*")},
        {"Files": taken(r".*")},
    ]


LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```|^~~~.*?^~~~|`[^`\n]+`)", re.MULTILINE | re.DOTALL)

if __name__ == "__main__":
    sys.exit(main())
