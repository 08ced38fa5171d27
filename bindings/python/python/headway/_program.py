"""What the program ``headway`` does for the package: real packets, and pages of studies.

Network namespaces are for processes of one thread, which a Python with NumPy is not, so that a program is needed for them anyway.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from ._result import Table, flat_rows, table_of

__all__ = ["Comparison", "Page", "ProgramError", "compare", "pages", "reproduce"]


class ProgramError(RuntimeError):
    """The program ``headway`` is not there, or ended with an error, which it says. ``status`` is its exit status, if it ran."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def compare(*, backend: str = "namespaces", program: str | os.PathLike[str] | None = None, **options: Any) -> "Comparison":
    """Send one workload over several transports at the same time and return their response times beside the models.

    backend: ``namespaces`` has real packets and the kernel's TCP and needs rights for network namespaces; ``simulator`` needs none.
    program: the program ``headway``. Default: that of the variable ``HEADWAY_PROGRAM``, or else of the PATH.
    options: those of ``headway compare`` by their names, ``_`` for ``-``: ``loss="2%"``, ``duration="5s"``, ``transport=["tcp", "sctp:6"]``;
        True for one without a value.

    An interrupt ends it. Raises ProgramError with what is missing where namespaces are refused, for options that make no sense, and if there is no program.
    """
    said = _run(program, "compare", ["--no-report", f"--backend={backend}", *_options(options)])
    return Comparison(said)


def reproduce(
    page: str,
    *,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
) -> "Page":
    """Make a page of a study, such as ``S1-fig4``: statements with verdicts, tables and curves, ours beside the published ones.

    page: one of :func:`pages`.
    quick: 3 seeds instead of 30, a tenth of the messages.
    jobs: runs at the same time. Default: one per processor.
    out: a folder in which pages are kept; one that is there with the same effort is not made again. Default: none.
    program: as for :func:`compare`.

    An interrupt ends it. Raises ProgramError for a page that is none, and if there is no program.
    """
    made = _run(program, "reproduce", [page, *_options({"quick": quick, "jobs": jobs, "out": out})])["pages"]
    if len(made) != 1:
        raise ProgramError(f"'{page}' is a study of {len(made)} pages; ask for one of them: {', '.join(each['id'] for each in made)}")
    return Page(made[0])


def pages(*, program: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of the pages that :func:`reproduce` can make."""
    names: list[str] = _run(program, "reproduce", ["--list"])
    return names


class Comparison(Table):
    """Response times of several transports. ``data`` is the JSON of ``headway compare``."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def reading(self) -> list[str]:
        """The result in plain words."""
        return list(self.data["reading"])

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each transport, with dotted names such as ``response_ms.mean``."""
        return flat_rows(self.data["runs"])

    def __repr__(self) -> str:
        return f"<headway.Comparison of {', '.join(run['id'] for run in self.data['runs'])}: {self.data['path']['backend']}>"


class Page:
    """A page of a study. ``data`` is the JSON of ``headway reproduce``."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def id(self) -> str:
        """The name of the page, such as ``S1-fig4``."""
        return str(self.data["id"])

    @property
    def title(self) -> str:
        """What the page shows."""
        return str(self.data["title"])

    @property
    def statements(self) -> list[dict[str, Any]]:
        """What the study says, each with ``text``, ``published``, ``ours``, ``ci95``, ``criterion``, ``verdict`` and ``because``."""
        return list(self.data["statements"])

    @property
    def verdicts(self) -> dict[str, int]:
        """How many statements have which verdict: ``reproduced``, ``explained``, ``not reproduced``, ``undecided``."""
        counted: dict[str, int] = {}
        for statement in self.statements:
            counted[statement["verdict"]] = counted.get(statement["verdict"], 0) + 1
        return counted

    def tables(self) -> dict[str, Any]:
        """Return the tables of the page by title, as pyarrow.Table of text as it is printed; needs ``pip install 'headway[arrow]'``."""
        return {
            table["title"]: table_of([dict(zip(table["head"], row, strict=True)) for row in table["rows"]], table["head"])
            for table in self.data["tables"]
        }

    def curves(self) -> Any:
        """Return all points of all figures as a pyarrow.Table: ``figure``, ``name``, ``mark``, ``x``, ``y``, ``low``, ``high``; needs pyarrow.

        ``mark`` says what a curve is: ``points`` of ours, ``model``, ``published`` and others; ``low`` and ``high`` are null without an interval.
        """
        rows = []
        for series in self.data["series"]:
            bounds = series.get("ci95") or [None] * len(series["points"])
            for point, interval in zip(series["points"], bounds, strict=True):
                low, high = interval or (None, None)
                rows.append({"figure": series["figure"], "name": series["name"], "mark": series["mark"], "x": point[0], "y": point[1], "low": low, "high": high})
        return table_of(rows, ["figure", "name", "mark", "x", "y", "low", "high"])

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return f"<headway.Page {self.id} '{self.title}': {told or 'no statements'}>"


def _options(options: Mapping[str, Any]) -> list[str]:
    """Return options as the command line has them."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            several = isinstance(value, Iterable) and not isinstance(value, str | os.PathLike)
            words.append(f"{option}={','.join(str(each) for each in value) if several else value}")
    return words


def _run(program: str | os.PathLike[str] | None, command: str, arguments: list[str]) -> Any:
    """Return what a command tells as JSON."""
    line = [_found(program), command, *arguments, "--quiet", "--json=-"]
    try:
        child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    except OSError as error:
        raise ProgramError(f"{line[0]} cannot be run: {error}") from error
    with child:
        try:
            told, said = child.communicate()
        except BaseException:
            # It ends its own processes, and the network it made.
            child.send_signal(signal.SIGINT)
            raise
    if child.returncode:
        # The rest is about --help.
        because = said.strip().removeprefix("error: ").partition("\n\n")[0]
        raise ProgramError(f"headway {command}: {because}", child.returncode)
    return json.loads(told)


def _found(program: str | os.PathLike[str] | None) -> str:
    named = program or os.environ.get("HEADWAY_PROGRAM") or shutil.which("headway")
    if not named:
        raise ProgramError(
            "this needs the program headway, which is not on the PATH: cargo install --locked --path apps/headway in the repository,"
            " or name it by program= or the variable HEADWAY_PROGRAM"
        )
    return os.fspath(named)
