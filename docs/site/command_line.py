"""The reference of the command line: what ``headway … --help`` says, a page for each command."""

import re
import subprocess
from pathlib import Path


def pages(program: Path) -> dict[str, str]:
    """Return the pages of a program and its commands."""
    overview = help_of(program)
    listed = commands(overview)
    if not listed:
        raise SystemExit(f"{program} --help names no commands")
    text = f"# {program.name}\n\n```text\n{overview}```\n\n## Commands\n\n"
    made = {"cli/index.md": text + "".join(f"* [`{program.name} {name}`]({name}.md)\n" for name in listed)}
    for name in listed:
        made[f"cli/{name}.md"] = "\n".join(sections(program, [name]))
    return made


def sections(program: Path, words: list[str]) -> list[str]:
    """Return the help of a command and of those within it."""
    said = help_of(program, *words)
    told = [f"{'#' * len(words)} {program.name} {' '.join(words)}\n\n```text\n{said}```\n"]
    for name in commands(said):
        told += sections(program, [*words, name])
    return told


def help_of(program: Path, *words: str) -> str:
    """Return what a command says of itself."""
    said = subprocess.run([program, *words, "--help"], check=True, stdout=subprocess.PIPE, text=True, env={"COLUMNS": "100"}).stdout
    return said if said.endswith("\n") else said + "\n"


def commands(said: str) -> list[str]:
    """Return the commands that a help lists."""
    block = re.search(r"^Commands:\n((?: .*\n|\n)+)", said, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", block[1], re.MULTILINE) if block else []
    return [name for name in names if name != "help"]
