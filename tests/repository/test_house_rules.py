"""The laws of the house: who may import whom, and what may touch the world outside.

Each folder is a room. A file imports from the rooms listed above its own and from its own room, where no cycle is
allowed. So each room can be understood, tested and replaced without the rooms built on it. The imports are read from
the source: lazy ones, those under TYPE_CHECKING and the `cimport`s of a `.pxd` count too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from mypy.options import Options

from tests.mypy_kernels import KernelOptions

PACKAGE = Path(__file__).parents[2] / "stream_bayes"

# Top to bottom: each room imports from the rooms above it. A room is a folder, or a file beside the folders.
ROOMS = """
_build
lazy_imports
secret_masking
errors
error_origin
checked_names
decompression
private_files
registry
core.values
core.pictures
core.encoding
core.counts
core.structures
core.readings
core.draws
core.regression
core.measures
core.networks
core.inference
core.live_networks
core.search
core.evidence
core.mixtures
core.events
data
learners.catalogue
learners.base
learners.classifiers
learners.regressors
learners.sequences
learners.wrappers
learners.adaptive
networks.files
networks
learners.factory
drift
door
saving.snapshots
saving.river
saving
sklearn
streams.contracts
streams.records
streams.byte_files
streams.files
streams.sources
streams.served_models
streams.engine
streams.pipelines
streams.service
streams
evaluation
plots
testing
serve
cli
cli.comparison
cli.commands
kafka.clients
kafka
kafka.pipeline
kafka.commands
workers
workers.pipeline
workers.commands
mail.start
mail.text
mail.filter
mail.store
mail.streams
mail.server
mail.commands
mail
""".split()

# These gather or start what the others hold; nothing may import them.
FRONTS = ("", "__main__", "demo", "serve.__main__", "testing.__main__")

# What `core` may import: things that compute, and cannot touch a file, a socket, a clock or a thread.
CORE_IMPORTS = {
    *(
        "__future__",
        "abc",
        "array",
        "base64",
        "binascii",
        "bisect",
        "cmath",
        "collections",
        "contextlib",
        "copy",
    ),
    *(
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "html",  # escapes texts, and opens nothing
        "itertools",
        "json",
        "math",
    ),
    *("numbers", "operator", "re", "statistics", "string", "struct", "types", "typing", "typing_extensions"),
    *("unicodedata", "weakref", "zlib"),
    *("cython", "msgspec", "numpy", "scipy"),
    "networkx",  # graphs in memory, where a caller asks for one; nothing else of it is used
}
CORE_C_IMPORTS = {"libc.float", "libc.math", "libc.stdint", "libc.stdlib", "libc.string", "cython", "cpython"}
CORE_BUILTINS = {"open", "print", "input", "exec", "eval", "__import__"}

# Only these rooms touch files, sockets, clocks and threads.
OUTSIDE = """
_build secret_masking private_files registry door networks.files saving.model_files saving.prior_files
saving.snapshots.single_file saving.snapshots.file_system saving.snapshots.store
streams evaluation plots testing serve cli kafka workers
mail.store mail.streams mail.server mail.commands mail.start demo
""".split()
EFFECTS = {
    *(
        "asyncio",
        "concurrent",
        "fcntl",
        "glob",
        "http",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
    ),
    *(
        "random",
        "sched",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
    ),
    *("threading", "time", "urllib"),
}

PURE = ("urllib.parse",)  # takes texts apart, and opens nothing

CIMPORT = re.compile(
    r"^\s*(?:from\s+(?P<origin>[\w.]+)\s+)?cimport\s+(?:\((?P<listed>[^)]*)\)|(?P<names>[^(\n].*))$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Import:
    """`import origin`, or `from origin import name`."""

    line: int
    origin: str
    name: str = ""


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[Import]:
    """Yield every import in a module's text, wherever it stands; relative ones made absolute."""
    here = ["stream_bayes", *filter(None, module.split("."))]
    package = here if is_package else here[:-1]
    for node in nodes_of(parsed(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, without_cimports(alias.name))
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, *filter(None, [node.module])])
            for alias in node.names:
                yield Import(node.lineno, without_cimports(origin), alias.name)


def cimports_of(source: str) -> Iterator[Import]:
    """Yield every cimport of a `.pxd`, which is not Python and so has no syntax tree."""
    for match in CIMPORT.finditer(source):
        line = source.count("\n", 0, match.end()) + 1
        names = re.sub(r"#.*", "", match["listed"] or match["names"]).split(",")
        for name in filter(None, (name.split(" as ")[0].strip() for name in names)):
            yield Import(line, match["origin"], name) if match["origin"] else Import(line, name)


def without_cimports(origin: str) -> str:
    """Name what pure Python mode imports from C as a `.pxd` would name it."""
    return origin.removeprefix("cython.cimports.")


def room_of(module: str) -> str | None:
    """Return the room of a module: its folder, or the module itself where a file is a room; None for a front."""
    if module in FRONTS:
        return None
    room = module if module in ROOMS else module.rpartition(".")[0]
    return room if room in ROOMS else None


def is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split(".")) if name else PACKAGE
    return path.is_dir() or any(path.with_suffix(suffix).exists() for suffix in (".py", ".pxd"))


def target_of(imported: Import) -> str | None:
    """Return the module of this package that an import means; None when it is another package's."""
    if imported.origin.partition(".")[0] != "stream_bayes":
        return None
    origin = imported.origin.partition(".")[2]
    inside = ".".join(filter(None, [origin, imported.name]))
    return inside if is_module(inside) else origin


def offence(module: str, imported: Import) -> str | None:
    """Say how one import breaks the law; None when it does not."""
    target = target_of(imported)
    if target is None:
        return offence_against_purity(module, imported)
    own, other = room_of(module), room_of(target)
    if own is None or target == module:  # a front gathers from everywhere
        return None
    if other is None or (PACKAGE.joinpath(*target.split(".")).is_dir() and target != module):
        return (
            f"imports stream_bayes{'.' * bool(target)}{target}, a front or no module; "
            "import the module that defines the name"
        )
    if ROOMS.index(other) > ROOMS.index(own):
        return f"imports stream_bayes.{target} from the room {other}, which is built on {own}"
    return None


def offence_against_purity(module: str, imported: Import) -> str | None:
    origin = imported.origin
    root = origin.partition(".")[0]
    if module.partition(".")[0] == "core":
        if root in CORE_IMPORTS or any(origin == c or origin.startswith(f"{c}.") for c in CORE_C_IMPORTS):
            return None
        if root in ("libc", "posix"):
            return f"imports {origin} from C; core only computes"
        return f"imports {origin}; core is pure: no files, sockets, clocks, threads, logging or randomness"
    if root in EFFECTS and origin not in PURE and not may_touch_the_world(module):
        return f"imports {origin}; only {', '.join(OUTSIDE)} touch files, sockets and clocks"
    return None


def may_touch_the_world(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in OUTSIDE)


def impure_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield what needs no import to be impure: a builtin that reads or writes, numpy's global generator."""
    for node in nodes_of(parsed(source)):
        if isinstance(node, ast.Name) and node.id in CORE_BUILTINS:
            yield node.lineno, f"uses {node.id}()"
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "random"
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id in ("np", "numpy")
            and node.attr not in ("Generator", "BitGenerator")  # as types; the caller passes `rng`
        ):
            yield node.lineno, f"uses numpy.random.{node.attr}; the caller passes rng"


def imports_in(path: Path) -> list[Import]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".pxd":
        return list(cimports_of(source))
    return list(imports_of(source, name_of(path), is_package=path.stem == "__init__"))


def tree_of(path: Path) -> ast.Module:
    return parsed(path.read_text(encoding="utf-8"))


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def nodes_of(tree: ast.Module) -> Sequence[ast.AST]:
    """Return all nodes of a tree. Most of the rules look at all, and to find them takes longer than to look."""
    return list(ast.walk(tree))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if path.stem == "__init__" else parts)


def offences(source: str, module: str, *, is_package: bool = False, is_pxd: bool = False) -> list[str]:
    """Check one file's text; return what is wrong with it, a line each."""
    if not is_package and module not in FRONTS and room_of(module) is None:
        return [f"stream_bayes.{module} is in no room: move it, or give its folder a line in ROOMS"]
    found = list(cimports_of(source)) if is_pxd else list(imports_of(source, module, is_package=is_package))
    # A package's front gathers from its own modules, so it is checked for purity only.
    check = offence_against_purity if is_package else offence
    complaints = {(i.line, complaint) for i in found if (complaint := check(module, i))}
    if module.partition(".")[0] == "core" and not is_pxd:
        complaints.update(impure_names(source))
    return [f"stream_bayes.{module}, line {line}: {complaint}" for line, complaint in sorted(complaints)]


def cycle_in(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a cycle; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def files_of_the_package() -> list[Path]:
    return sorted(path for suffix in ("py", "pxd") for path in PACKAGE.rglob(f"*.{suffix}"))


def test_a_module_imports_only_from_its_own_room_and_those_above() -> None:
    found = [
        offence
        for path in files_of_the_package()
        for offence in offences(
            path.read_text(encoding="utf-8"),
            name_of(path),
            is_package=path.stem == "__init__",
            is_pxd=path.suffix == ".pxd",
        )
    ]
    assert not found, "\n".join(found)


def test_every_room_exists() -> None:
    assert [room for room in ROOMS if not is_module(room)] == []


def test_no_room_holds_a_cycle() -> None:
    graph: dict[str, set[str]] = {}
    for path in files_of_the_package():
        module = name_of(path)
        room = room_of(module)
        if path.stem != "__init__" and room is not None:
            targets = {target_of(imported) for imported in imports_in(path)}
            graph.setdefault(module, set()).update(
                target for target in targets if target and target != module and room_of(target) == room
            )
    assert cycle_in(graph) == []


def test_a_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(f"{name_of(path)}, line {node.lineno}")
    twice = [f"{name}: {', '.join(where)}" for name, where in homes.items() if len(where) > 1]
    assert not twice, "rename all but one of:\n" + "\n".join(twice)


def type_aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the meaning of each type that a module gives a name to."""
    for node in tree.body:
        match node:
            case ast.AnnAssign(ast.Name(name), annotation, ast.expr() as value) if "TypeAlias" in ast.unparse(
                annotation
            ):
                yield name, ast.unparse(value).replace("npt.", "")
            case ast.Assign([ast.Name(name)], ast.Subscript() | ast.BinOp(op=ast.BitOr()) as value):
                if name.istitle() or not (name.isupper() or name.islower()):
                    yield name, ast.unparse(value)


def ambiguous(trees: Mapping[str, ast.Module]) -> list[str]:
    """Return the names of types with two meanings, or of which one is a class."""
    meanings: dict[str, set[str]] = {}
    for tree in trees.values():
        for name, meaning in type_aliases(tree):
            meanings.setdefault(name, set()).add(meaning)
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef):
                meanings.setdefault(node.name, set()).add("a class")
    return [f"{name}: {', '.join(sorted(several))}" for name, several in meanings.items() if len(several) > 1]


def test_a_name_of_a_type_has_one_meaning() -> None:
    twice = ambiguous({name_of(path): tree_of(path) for path in PACKAGE.rglob("*.py")})
    assert not twice, "rename all but one of:\n" + "\n".join(twice)


def test_a_name_with_two_meanings_is_found() -> None:
    texts = {
        "a": "Row = tuple[int, ...]\nX: TypeAlias = int",
        "b": "class Row: ...",
        "c": "X: TypeAlias = int",
    }
    assert ambiguous({name: ast.parse(text) for name, text in texts.items()}) == [
        "Row: a class, tuple[int, ...]"
    ]
    assert ambiguous({"a": ast.parse("Key = int | str"), "b": ast.parse("Key = dict[str, int]")})
    assert not ambiguous({"a": ast.parse("first = rows[0]\nMOST = LIMITS[0]")})


QUOTED = re.compile(r"`(_?[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)`")  # a module as a docstring names it


def test_the_docstring_of_a_room_names_its_modules_and_no_others() -> None:
    """Fronts, whose docstrings are for users, and rooms of commands, which the program lists, may leave modules out."""
    wrong = []
    for path in PACKAGE.rglob("__init__.py"):
        inside, tree = name_of(path), tree_of(path)
        if any(
            isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" for node in tree.body
        ):
            continue
        named = set(QUOTED.findall(ast.get_docstring(tree) or ""))
        modules = {file.stem for file in path.parent.glob("*.py") if not file.stem.startswith("_")}
        wrong += [
            f"{inside}: no {name}"
            for name in named
            if not is_module(f"{inside}.{name}") and not is_module(name)
        ]
        if path.parent.name != "commands":
            wrong += [f"{inside}: does not name `{name}`" for name in modules - named]
    assert not wrong, (
        "a short phrase for each file in the docstring of its folder's __init__.py:\n" + "\n".join(wrong)
    )


# They would fit any variable of a file: a place is an index, a path or a partition.
VAGUE = {"found", "held", "known", "place", "places"}
# In these rooms what is their own is said, too.
WITHOUT_OWN = ("cli", "kafka", "mail", "serve", "streams", "workers")
NAMED_IN_STATES = {("learners.adaptive.adaptive_bayes", "_known")}


def test_a_variable_is_named_after_what_it_is() -> None:
    vague = []
    for path in PACKAGE.rglob("*.py"):
        module = name_of(path)
        refused = VAGUE | {"own"} if module.startswith(WITHOUT_OWN) else VAGUE
        vague += [
            f"{module}, line {line}: {name}"
            for line, name in bound_names(path)
            if name.removeprefix("_") in refused and (module, name) not in NAMED_IN_STATES
        ]
    assert not vague, "name these after what they are:\n" + "\n".join(vague)


def bound_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the variables, arguments and attributes that a file binds, and their lines."""
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_a_cycle_is_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})


STORE = "core.counts.store from the room core.counts, which is built on core.values"


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("core.values.values", "from stream_bayes.core.counts.store import CountStore", STORE),
        ("core.values.values", "from stream_bayes.core.counts import store", STORE),
        ("core.values.values", "import stream_bayes.core.counts.store as store", STORE),
        ("core.values.values", "from ..counts.store import CountStore", STORE),
        ("core.values.values", "from ..counts import store", STORE),
        (
            "core.values.values",
            "from ...learners.classifiers.text import MultinomialNB",
            "imports stream_bayes.learners.classifiers.text",
        ),
        (
            "core.values.values",
            "def f():\n    import stream_bayes.data.schema",
            "line 2: imports stream_bayes.data.schema",
        ),
        (
            "core.values.values",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from stream_bayes.data import schema",
            "line 3: imports stream_bayes.data.schema",
        ),
        (
            "core.encoding._features",
            "from cython.cimports.stream_bayes.core.readings._reading import Reading",
            "core.readings._reading from the room core.readings",
        ),
        ("data.schema", "import stream_bayes", "front"),
        ("data.schema", "from stream_bayes import compiled", "front"),
        ("data.schema", "from stream_bayes.learners import NaiveBayes", "front"),
        ("data.schema", "from stream_bayes import demo", "front"),
        ("learners.no_such_room.file", "x = 1", "in no room"),
        ("helpers", "x = 1", "in no room"),
        ("core.counts.store", "import os.path", "imports os.path; core is pure"),
        ("core.counts.store", "def f():\n    from time import time", "imports time; core is pure"),
        ("core.counts.store", "import logging", "imports logging; core is pure"),
        ("core.counts.store", "import river", "imports river; core is pure"),
        ("core.counts.store", "x = open('y')", "uses open()"),
        ("core.counts.store", "import numpy as np\nx = np.random.rand()", "numpy.random.rand"),
        (
            "core.readings._reading",
            "from cython.cimports.libc.stdio import printf",
            "imports libc.stdio from C",
        ),
        ("learners.classifiers.text", "import threading", "touch files, sockets"),
        ("saving.snapshots.snapshot", "from pathlib import Path", "touch files, sockets"),
    ],
)
def test_the_law_finds_an_import_that_breaks_it(module: str, source: str, complaint: str) -> None:
    found = offences(source, module)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("from stream_bayes.core.readings._reading cimport Reading", "core.readings._reading from the room"),
        ("from stream_bayes.core.readings cimport _reading", "core.readings._reading from the room"),
        ("cimport stream_bayes.core.readings._reading as k  # why", "core.readings._reading from the room"),
        (
            "from stream_bayes.core.readings cimport (_reading,  # why\n)",
            "core.readings._reading from the room",
        ),
        ("from libc.stdio cimport printf", "imports libc.stdio from C"),
    ],
)
def test_the_law_finds_a_cimport_that_breaks_it(source: str, complaint: str) -> None:
    found = offences(f"cimport cython\n{source}\n", "core.encoding._features", is_pxd=True)
    assert len(found) == 1
    assert complaint in found[0]
    assert f"line {source.count(chr(10)) + 2}" in found[0]


def test_the_front_of_core_is_pure_too() -> None:
    assert offences("import socket", "core", is_package=True)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "core.counts.store",
            "from stream_bayes.core.encoding import _rows\nfrom stream_bayes.errors import BadState",
        ),
        ("core.readings._reading", "import cython\nfrom cython.cimports.libc.math import log"),
        ("core.readings._aode", "from cython.cimports.stream_bayes.core.readings._reading import Reading"),
        ("core.search.sample", "import numpy as np\ndef f(rng: np.random.Generator): ..."),
        (
            "learners.classifiers.text",
            "from stream_bayes.learners.base.base import BayesClassifier\nimport river",
        ),
        ("mail.filter.filter", "from stream_bayes.mail.text.tokens import tokens"),
        ("streams.files.source", "import os, time\nfrom stream_bayes.streams.contracts.source import Source"),
        ("demo", "import time\nfrom stream_bayes import NaiveBayes"),
        ("saving.snapshots.snapshot", "from stream_bayes._build import VERSION"),
    ],
)
def test_the_law_lets_honest_imports_pass(module: str, source: str) -> None:
    assert offences(source, module) == []


def test_the_front_of_a_package_may_gather_from_it() -> None:
    assert (
        offences(
            "from stream_bayes.learners.classifiers.text import MultinomialNB", "learners", is_package=True
        )
        == []
    )


# --- words: docstrings of functions and methods begin with a verb ---

# First words that are no verb. Names of things and numbers are caught by their form: see `no_verb_first`.
NO_VERBS = frozenset(
    """
    A After All Also An Another Any As At Be Before Between Both But By Each Either Every Everything For From How If In
    Into It Its Many Near Never No None Nothing Of On One Only Other Past Several So Some Somebody That The Their There
    These Those Through Two What When Where Whether Which While Who Whole Whose Why With Without
    """.split()
)
PROPERTIES = ("property", "cached_property", "setter")


def no_verb_first(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the first word of each function's docstring that does not begin with a verb."""
    for node in nodes_of(parsed(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        text = ast.get_docstring(node)
        if text and decorators.isdisjoint(PROPERTIES):
            word = text.split(maxsplit=1)[0].rstrip(".,:;")
            if word in NO_VERBS or not re.fullmatch(r"[A-Z][a-z]+", word):
                yield node.lineno, word


def place_of(path: Path) -> str:
    """Return a file's folder, with dots: `stream_bayes.core.counts`."""
    return ".".join(path.parent.relative_to(PACKAGE.parent).parts)


# A class or a module is a thing: its docstring begins with a noun phrase, not with a question.
QUESTIONS = frozenset("What How Whether Where Which When Who Whom Whose Why If That It".split())


def no_noun_first(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the first word of each docstring of a module or class that begins as a question."""
    tree = parsed(source)
    documented: list[ast.Module | ast.ClassDef] = [tree]
    documented += [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef)]
    for node in documented:
        text = ast.get_docstring(node)
        word = text.split(maxsplit=1)[0].rstrip(".,:;") if text else ""
        if word in QUESTIONS:
            yield getattr(node, "lineno", 1), word


PLACES = sorted({place_of(path) for path in PACKAGE.rglob("*.py")})


def first_words(place: str, find: Callable[[str], Iterator[tuple[int, str]]]) -> list[str]:
    """Return the first words that `find` yields for the files of a folder, each with its file and line."""
    return [
        f"{place}, {path.name}, line {line}: {word!r}"
        for path in sorted(PACKAGE.parent.joinpath(*place.split(".")).glob("*.py"))
        for line, word in find(path.read_text(encoding="utf-8"))
    ]


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    found = [word for place in PLACES for word in first_words(place, no_verb_first)]
    assert not found, "begin with a verb, such as Return or Write:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f():\n    '''Return x.'''", []),
        ("def f():\n    '''What x is.'''", ["What"]),
        ("class A:\n    '''A thing.'''\n    def f(self):\n        '''The x.'''", ["The"]),
        ("class A:\n    @property\n    def x(self):\n        '''The x.'''", []),
        ("class A:\n    @functools.cached_property\n    def x(self):\n        '''The x.'''", []),
        ("def f():\n    '''64 bits of x.'''", ["64"]),
        ("async def f():\n    '''`x` or y.'''", ["`x`"]),
        ("def f(): ...", []),
    ],
)
def test_a_docstring_without_a_verb_is_found(source: str, words: list[str]) -> None:
    assert [word for _, word in no_verb_first(source)] == words


def test_docstrings_of_classes_and_modules_begin_with_a_noun() -> None:
    found = [word for place in PLACES for word in first_words(place, no_noun_first)]
    assert not found, "begin with a noun, not with a question:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("'''Things.'''", []),
        ("'''What things are.'''", ["What"]),
        ("class A:\n    '''How many.'''", ["How"]),
        ("class A:\n    class B:\n        '''Where: a place.'''", ["Where"]),
        ("class A:\n    '''A thing.'''\n    def f(self):\n        '''Which.'''", []),
    ],
)
def test_a_docstring_without_a_noun_is_found(source: str, words: list[str]) -> None:
    assert [word for _, word in no_noun_first(source)] == words


# --- parameters: a section of their own only where the reference shows it ---


def value_of(path: Path, name: str) -> list[str]:
    """Return the texts that a module assigns to a name at its top level."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return list(ast.literal_eval(node.value))
    raise LookupError(f"{path} has no {name}")


def public_names() -> set[str]:
    """Return the names of all pages of the reference."""
    names = set()
    for front in value_of(PACKAGE.parent / "docs" / "site_hooks.py", "FRONTS"):
        folder = PACKAGE if front == "stream_bayes" else PACKAGE / front
        names.update(
            value_of(folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py"), "__all__")
        )
    return names


def with_bases(public: set[str], trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the names of public classes and of all their bases: the reference shows inherited methods."""
    bases = {
        node.name: {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        for tree in trees.values()
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
    }
    names, waiting = set[str](), public & bases.keys()
    while waiting:
        names |= waiting
        waiting = set[str]().union(*(bases[name] for name in waiting)) & bases.keys() - names
    return names


def hidden_sections(trees: Mapping[str, ast.Module], public: set[str]) -> list[str]:
    """Return the classes and functions with a section of parameters that no page of the reference shows."""
    shown_classes = with_bases(public, trees)

    def hidden_in(node: ast.AST, place: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if isinstance(node, ast.ClassDef):
                    is_shown = node.name in shown_classes and not child.name.startswith("_")
                else:
                    is_shown = child.name in public
                name = f"{place}.{child.name}"
                if not is_shown and re.search(
                    r"^Parameters\n---", ast.get_docstring(child) or "", re.MULTILINE
                ):
                    yield name
                yield from hidden_in(child, name)
            else:
                yield from hidden_in(child, place)

    return [name for module, tree in trees.items() for name in hidden_in(tree, module)]


def test_only_the_reference_lists_parameters() -> None:
    trees = {name_of(path): tree_of(path) for path in sorted(PACKAGE.rglob("*.py"))}
    hidden = hidden_sections(trees, public_names())
    assert not hidden, (
        "say what a name and its type do not say in a sentence of the docstring, or at the field:\n"
        + "\n".join(hidden)
    )


def test_a_hidden_section_of_parameters_is_found() -> None:
    section = '"""X.\n\n    Parameters\n    ----------\n    x\n        The x.\n    """'
    source = f"""
class Base:
    {section}
    def inherited(self, x):
        {section.replace("    ", "        ")}
    def _inner(self, x):
        {section.replace("    ", "        ")}
class Shown(Base[int]):
    {section}
class Hidden:
    {section}
def shown(x):
    {section}
def hidden(x):
    {section}
"""
    found = hidden_sections({"m": ast.parse(source)}, {"Shown", "shown"})
    assert found == ["m.Base", "m.Base._inner", "m.Hidden", "m.hidden"]


# --- kernels: their options of mypy, and constants ---


def test_kernels_and_no_other_files_have_the_options_of_kernels() -> None:
    options = Options()
    KernelOptions(options)
    kernels = {f"stream_bayes.{name_of(path)}" for path in PACKAGE.glob("*/**/_[!_]*.py")}
    assert len(kernels) > 50 and set(options.per_module_options) == kernels
    assert not options.clone_for_module(min(kernels)).strict_optional
    assert options.clone_for_module("stream_bayes.core.counts.store").strict_optional


def test_no_file_has_options_of_its_own_for_mypy() -> None:
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    assert [path for path, text in texts.items() if re.search("^# mypy:", text, re.MULTILINE)] == []


def names_assigned(tree: ast.Module) -> list[str]:
    """Return the names that a module assigns one at a time at its top level, in their order."""
    targets = [
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def names_read(tree: ast.Module) -> set[str]:
    """Return the names that a module reads, imports, or takes from something; and strings, as in `__all__`."""
    read: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            read.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            read.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            read.add(node.value)
    return read


def idle_names(modules: Mapping[str, ast.Module]) -> list[str]:
    """Return the top-level constants that no module reads, and those that one module sets twice."""
    read = set[str]().union(*map(names_read, modules.values()))
    idle = []
    for place, tree in modules.items():
        names = names_assigned(tree)
        for name in dict.fromkeys(names):
            if name not in read and not name.startswith("__"):
                idle.append(f"{place}: {name} is read nowhere")
            if names.count(name) > 1:
                idle.append(f"{place}: {name} is set {names.count(name)} times")
    return idle


def test_every_constant_is_read_somewhere_and_set_once() -> None:
    parsed = {str(path.relative_to(PACKAGE)): tree_of(path) for path in PACKAGE.rglob("*.py")}
    assert not idle_names(parsed)


def test_an_idle_constant_is_found() -> None:
    sources = {"one": "A = 1\nB = 2\nB = 3\nC = A\n", "two": "from one import B\nprint(B)\n"}
    found = idle_names({place: ast.parse(source) for place, source in sources.items()})
    assert found == ["one: B is set 2 times", "one: C is read nowhere"]


# These write files: one for its owner only, one through a file system that tests can make fail, one that imitates it.
WRITERS = ("private_files.py", "saving/snapshots/file_system.py", "testing/faults.py")


def writings(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that write a file with the permissions that the umask leaves."""
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args[:2], *(each.value for each in node.keywords if each.arg == "mode")]
        texts = [each.value for each in given if isinstance(each, ast.Constant)]
        modes = [text for text in texts if isinstance(text, str) and re.fullmatch("[rwaxbt+]+", text)]
        is_open = name in ("open", "ZipFile", "GzipFile", "TarFile") and any(
            set("wax+") & set(mode) for mode in modes
        )
        is_write = isinstance(node.func, ast.Attribute) and name in (
            "write_text",
            "write_bytes",
            "touch",
            "tofile",
        )
        is_raw = (
            name == "open"
            and isinstance(node.func, ast.Attribute)
            and getattr(node.func.value, "id", "") == "os"
        )
        creates = is_raw and "O_CREAT" in ast.unparse(node)
        if is_open or is_write or creates:
            yield node.lineno


def test_every_file_that_is_written_is_for_its_owner() -> None:
    bare = [
        f"{path.relative_to(PACKAGE)}:{line}: write it with private_files"
        for path in PACKAGE.rglob("*.py")
        if str(path.relative_to(PACKAGE)) not in WRITERS
        for line in writings(tree_of(path))
    ]
    assert not bare


def test_a_file_that_is_written_otherwise_is_found() -> None:
    lines = ["open(p, 'w')", "p.open(mode='ab')", "p.write_text('x')", "os.open(p, os.O_WRONLY | os.O_CREAT)"]
    lines += [
        "os.fdopen(open_private(p), 'w')",
        "open(p, 'rb')",
        "write_bytes(p, b'x')",
        "files.open(p, O_CREAT)",
    ]
    assert [*writings(ast.parse("\n".join(lines)))] == [1, 2, 3, 4]
