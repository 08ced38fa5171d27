"""The reference of the Python package: signatures and docstrings of what ``__all__`` names, read and not imported."""

import ast
import re
import textwrap
from pathlib import Path

MODULES = {"headway": "headway/__init__.py", "headway.campaign": "headway/campaign/__init__.py", "headway.plot": "headway/plot.py"}


def pages(package: Path) -> dict[str, str]:
    """Return a page for each module that users import."""
    trees = {name: ast.parse((package / file).read_text("utf-8")) for name, file in MODULES.items()}
    return {f"python/{name}.md": module(name, trees[name], package) for name in MODULES}


def module(name: str, tree: ast.Module, package: Path) -> str:
    """Return the page of a module."""
    parts = [f"# {name}\n\n{prose(ast.get_docstring(tree) or '')}"]
    for each in sorted(exported(tree)):
        node, text, home = found(each, name, tree, package)
        # A class and a function may differ in a capital letter alone, which anchors do not.
        heading = f"class {each}" if isinstance(node, ast.ClassDef) else each
        if home != name:
            parts.append(f"## {heading}\n\nSee [{home}.{each}]({home}.md#{heading.lower().replace(' ', '-')}).")
            continue
        parts.append(entry(f"## {heading}", f"{name}.{each}", node, text))
        if isinstance(node, ast.ClassDef):
            parts += [
                entry(f"### {each}.{method.name}", method.name, method, ast.get_docstring(method))
                for method in node.body
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
            ]
    return "\n\n".join(parts) + "\n"


def found(each: str, name: str, tree: ast.Module, package: Path) -> tuple[ast.stmt, str | None, str]:
    """Return what a name of a module stands for, its docstring, and the module whose page has it."""
    here = defined(tree)
    if each in here:
        return *here[each], name
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and each in {alias.name for alias in node.names}:
            other = f"{name}.{node.module}"
            stem = package.joinpath(*other.split("."))
            files = (stem.with_suffix(".py"), stem.with_suffix(".pyi"), stem / "__init__.py")
            read = ast.parse(next(file for file in files if file.exists()).read_text("utf-8"))
            statement, text, home = found(each, other, read, package)
            return statement, text, home if home in MODULES else name
    raise SystemExit(f"{name}.{each} is in __all__ and not to be found")


def exported(tree: ast.Module) -> list[str]:
    """Return the names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    return []


def defined(tree: ast.Module) -> dict[str, tuple[ast.stmt, str | None]]:
    """Return what a module defines, and the docstring of each."""
    found: dict[str, tuple[ast.stmt, str | None]] = {}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = (node, ast.get_docstring(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
            found[node.target.id] = (node, after.value.value if is_text else None)
    return found


def entry(heading: str, name: str, node: ast.stmt, text: str | None) -> str:
    """Return a name with its signature and what is said of it."""
    if isinstance(node, ast.FunctionDef):
        is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)
        signature = f"{name} -> {ast.unparse(node.returns).strip(QUOTE)}" if is_property and node.returns else function(name, node)
    elif isinstance(node, ast.ClassDef):
        begin = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        signature = f"class {name}({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases or not begin else f"class {function(name, begin)}"
    else:
        signature = ast.unparse(node)
    return f"{heading}\n\n```python\n{signature}\n```\n\n{prose(text or '')}".rstrip()


def function(name: str, node: ast.FunctionDef) -> str:
    """Return a signature, a line for each argument if it is long."""
    arguments = re.sub(r"^self(, |$)", "", ast.unparse(node.args))
    result = f" -> {ast.unparse(node.returns).strip(QUOTE)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({arguments}){result}"
    if len(line) <= 100:
        return line
    pieces = re.split(r", (?=\*?\w*(?::|$|,)|\*)", arguments)
    return f"{name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){result}"


def prose(text: str) -> str:
    """Return a docstring as Markdown: explanations of arguments as a list, sessions as blocks, roles as code."""
    lines: list[str] = []
    for paragraph in textwrap.dedent(text).split("\n\n"):
        if paragraph.lstrip().startswith((">>>", "    ")) or paragraph.startswith("    "):
            lines += ["```python", *textwrap.dedent(paragraph).splitlines(), "```", ""]
            continue
        paragraph = re.sub(r"^([a-z_]\w*(?:, \w+)*): ", r"* `\1`: ", paragraph, flags=re.MULTILINE)
        paragraph = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", paragraph)
        lines += [re.sub(r"``([^`]+)``", r"`\1`", paragraph), ""]
    return "\n".join(lines).rstrip()


QUOTE = "'"
