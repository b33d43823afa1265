"""The import law: a module imports only from lines above its own.

What is in a lower layer can then be understood, tested and replaced without what stands on it, and there is
no cycle. The imports are read from the source, so lazy ones and those under TYPE_CHECKING count too, and so do
the `cimport`s of a `.pxd`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "stream_bayes"

# Top to bottom: each may import from what stands above it. The modules under a `*` may import one another.
LAYERS = """
_build
errors
suggestions
by_name
imported
core.values
core.inputs
core.event
core.stream_time
core.payloads
core._ahead
core._cells
core._rows
core._vocabulary
core._binning
core._encoding
core._bag_encoding
core._words
core._plain_cells
core._tallying
core._histogram
core._gaussians
core._layout
core._value_counts
core._pair_counts
core._triple_counts
core._configurations
core._family_counts
core._family_columns
core._window
core._tables
core._gathering
core._kernels
core._value_kernels
core._bag_kernels
core._event_cells
core._pair_kernels
core._dependence_kernels
core._generalities
core._terms
core._network_kernels
core._weighed_rows
core._average_kernels
core._triple_kernels
core._super_parent_kernels
core._choice_kernels
core._sliding_kernels
core._answers
core._evidence
core._information
core._search
core.packing
core._conditionals
core._clique_cells
core._inference
core._sampling
core._blanket
core.counts_state
core.window
core.families
core.tables_state
core.merging
core.moving
core.naming
core.cutting
core.numeric
core.room
core.counts
core.graphs
core.equivalence
core.dot
core.structure_input
core.structure
core.network
core.bulk
core.family_table
core.family_counts
core.counted_network
core.labelled_counts
core.labelled_network
core.scores
core.sample
core.numbering
core.family_tables
core.family_scores
core.search
core.search_result
core.hill_climbing
core.order_search
core.pair_tables
core.tree_search
core.patterns
core.constraints
core.elimination
core.junction_tree
core.coded_network
core.exact
core.posterior
core.sampling
core.coded_inference
core.inference
core.em
core.deriving
core.derived_parents
core.readings
core.dependences
core.needed_part
core.class_of_network
core.label_codes
core.ranking
core.calibration
core.tally
core.blocks
core.fading
core.recent
core.measures
core.losses_state
core.losses
core.actions
core.admission
core.pending_state
core.pending
frame_columns
frames
features
columns
schema
structures
learners.arguments
learners.absent
learners.explanation
learners.intervals
learners.saving
learners.batches
learners.keeping
learners.telling
learners.base
learners.taking
learners.named_features
learners.naive_bayes
learners.text
learners.pairs
learners.one_dependence
learners.trees
learners.dependence
learners.conditional_table
learners.network_encoding
learners.network_answers
learners.one_by_one
learners.bayes_net
learners.bayes_net_classifier
learners.live_choice
learners.parameters
learners.catalogue
learners.sliding_window
learners.half_life_choice
learners.drift_log
learners.watching
learners.families
learners.recent_events
learners.candidates
learners.trial
learners.present_model
learners.succession
learners.adaptive
learners.decision
learners.deciding
formats.bif_tokens
formats.bif_tables
formats.bif
mail.*
archive
sections
snapshot
river_state.place
river_state.kinds
river_state.natives
river_state.parameters
river_state.registry
river_state.statistics
river_state.composing
river_state.transformers
river_state.metrics
river_state.detectors
river_state.drifting
river_state.drift_logs
river_state.pipelines
river_state.catalogue
streams.file_system
streams.source
streams.order
streams.progress
streams.changes
streams.incidents
streams.sink
streams.journal
streams.evaluation.checkpoints
streams.evaluation.steps
streams.evaluation.contestants
streams.evaluation.result
streams.evaluation.comparing
plots
streams.files
streams.bad_records
streams.fields
streams.decoder
streams.json_decoder
streams.framed_decoder
streams.decode
streams.mail_decoder
streams.iterables
streams.replay
streams.byte_file
streams.following
streams.file_source
streams.csv_rows
streams.csv_cells
streams.csv_columns
streams.csv_source
streams.csv_types
streams.json_lines
streams.file_sink
streams.json_sink
streams.csv_sink
streams.other_sinks
streams.mailbox
streams.config_parts
streams.config_model
streams.config_errors
streams.kafka.connection
streams.kafka.transport
streams.kafka.bounded
streams.kafka.python_client
streams.kafka.confluent_client
streams.kafka.clients
streams.kafka.cluster
streams.kafka.lasting
streams.kafka.hanging
streams.kafka.slices
streams.kafka.entries
streams.kafka.delivery
streams.kafka.transactions
streams.kafka.config
streams.kafka.sink
streams.kafka.produce
streams.kafka.source
streams.kafka.start
streams.kafka.journal
streams.store
streams.spam_home
streams.spam_server
streams.saving
streams.background
streams.answers
streams.correcting
streams.served_filter
streams.served_river
streams.served
streams.step
streams.signals
streams.engine
streams.ops
streams.logs
streams.config
streams.kafka.assembly
streams.pipeline
testing.*
testing
cli.*
""".split()

# These gather or start what the others hold; nothing may import them.
TOP = ("", "*__init__", "*__main__", "demo")

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

# Only these touch files, sockets, clocks and threads.
OUTSIDE = ("streams.*", "formats.*", "plots", "cli.*", "testing", "testing.*", "_build", *TOP)
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
    for node in ast.walk(ast.parse(source)):
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


def layer_of(module: str) -> int | None:
    """Return the line a module stands on; None when no line is for it."""
    return next((line for line, pattern in enumerate(LAYERS) if fnmatch(module, pattern)), None)


def is_top(module: str) -> bool:
    return any(fnmatch(module, pattern) for pattern in TOP)


def target_of(imported: Import) -> str | None:
    """Return the module of this package that an import means; None when it is another package's."""
    if imported.origin.partition(".")[0] != "stream_bayes":
        return None
    origin = imported.origin.partition(".")[2]
    inside = ".".join(filter(None, [origin, imported.name]))
    return inside if layer_of(origin) is None and layer_of(inside) is not None else origin


def offence(module: str, imported: Import) -> str | None:
    """Say how one import breaks the law; None when it does not."""
    target = target_of(imported)
    if target is None:
        return offence_against_purity(module, imported)
    if is_top(module) or target == module:
        return None
    own, other = layer_of(module), layer_of(target)
    if other is None:
        return (
            f"imports stream_bayes{'.' * bool(target)}{target}, which is a package's own front or is on no line "
            "of LAYERS; import the module that defines the name"
        )
    if own is not None and (other > own or (other == own and "*" not in LAYERS[own])):
        return f"imports stream_bayes.{target}, which stands below it"
    return None


def offence_against_purity(module: str, imported: Import) -> str | None:
    origin = imported.origin
    root = origin.partition(".")[0]
    if root == "stream_bayes":
        return None
    if module == "core" or module.startswith("core."):
        if root in CORE_IMPORTS or any(origin == c or origin.startswith(f"{c}.") for c in CORE_C_IMPORTS):
            return None
        if root in ("libc", "posix"):
            return f"imports {origin} from C; core only computes"
        return f"imports {origin}; core is pure: no files, sockets, clocks, threads, logging or randomness"
    if root in EFFECTS and origin not in PURE and not any(fnmatch(module, pattern) for pattern in OUTSIDE):
        return f"imports {origin}; only streams, formats, plots and cli touch files, sockets and clocks"
    return None


def impure_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield what needs no import to be impure: a builtin that reads or writes, numpy's global generator."""
    for node in ast.walk(ast.parse(source)):
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


def offences(source: str, module: str, *, is_package: bool = False, is_pxd: bool = False) -> list[str]:
    """Check one file's text; return what is wrong with it, a line each."""
    if not is_top(module) and not is_package and layer_of(module) is None:
        return [f"stream_bayes.{module} is on no line of LAYERS: decide what it may import, and add it there"]
    found = list(cimports_of(source)) if is_pxd else list(imports_of(source, module, is_package=is_package))
    # A package's front gathers from its own modules, so it is checked for purity only.
    judge = offence_against_purity if is_package else offence
    told = {(i.line, complaint) for i in found if (complaint := judge(module, i))}
    if module.startswith("core") and not is_pxd:
        told.update(impure_names(source))
    return [f"stream_bayes.{module}, line {line}: {complaint}" for line, complaint in sorted(told)]


def files_of_the_package() -> list[Path]:
    return sorted(path for suffix in ("py", "pxd") for path in PACKAGE.rglob(f"*.{suffix}"))


@pytest.mark.parametrize("path", files_of_the_package(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_lines_above_its_own(path: Path) -> None:
    is_package = path.stem == "__init__"
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    found = offences(
        path.read_text(encoding="utf-8"),
        ".".join(parts[:-1] if is_package else parts),
        is_package=is_package,
        is_pxd=path.suffix == ".pxd",
    )
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("core.values", "from stream_bayes.core.counts import CountStore", "core.counts, which stands below"),
        ("core.values", "from stream_bayes.core import counts", "core.counts, which stands below"),
        ("core.values", "import stream_bayes.core.counts as counts", "core.counts, which stands below"),
        ("core.values", "from .counts import CountStore", "core.counts, which stands below"),
        ("core.values", "from . import counts", "core.counts, which stands below"),
        ("core.values", "from ..learners.base import BayesClassifier", "learners.base, which stands below"),
        ("core.values", "def f():\n    import stream_bayes.schema", "line 2: imports stream_bayes.schema"),
        (
            "core.values",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from stream_bayes import schema",
            "line 3: imports stream_bayes.schema",
        ),
        (
            "core._encoding",
            "from cython.cimports.stream_bayes.core._kernels import add",
            "core._kernels, which stands below",
        ),
        ("schema", "import stream_bayes", "front"),
        ("schema", "from stream_bayes import compiled", "front"),
        ("schema", "from stream_bayes.learners import NaiveBayes", "front"),
        ("schema", "from stream_bayes import demo", "front"),
        ("learners.no_such", "x = 1", "on no line of LAYERS"),
        ("helpers", "x = 1", "on no line of LAYERS"),
        ("core.counts", "import os.path", "imports os.path; core is pure"),
        ("core.counts", "def f():\n    from time import time", "imports time; core is pure"),
        ("core.counts", "import logging", "imports logging; core is pure"),
        ("core.counts", "import river", "imports river; core is pure"),
        ("core.counts", "x = open('y')", "uses open()"),
        ("core.counts", "import numpy as np\nx = np.random.rand()", "numpy.random.rand"),
        ("core._kernels", "from cython.cimports.libc.stdio import printf", "imports libc.stdio from C"),
        ("learners.base", "import threading", "only streams"),
        ("snapshot", "from pathlib import Path", "only streams"),
    ],
)
def test_the_law_finds_an_import_that_breaks_it(module: str, source: str, complaint: str) -> None:
    found = offences(source, module)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("from stream_bayes.core._kernels cimport add", "core._kernels, which stands below"),
        ("from stream_bayes.core cimport _kernels", "core._kernels, which stands below"),
        ("cimport stream_bayes.core._kernels as k  # why", "core._kernels, which stands below"),
        ("from stream_bayes.core cimport (_kernels,  # why\n)", "core._kernels, which stands below"),
        ("from libc.stdio cimport printf", "imports libc.stdio from C"),
    ],
)
def test_the_law_finds_a_cimport_that_breaks_it(source: str, complaint: str) -> None:
    found = offences(f"cimport cython\n{source}\n", "core._encoding", is_pxd=True)
    assert len(found) == 1
    assert complaint in found[0]
    assert f"line {source.count(chr(10)) + 2}" in found[0]


def test_the_front_of_core_is_pure_too() -> None:
    assert offences("import socket", "core", is_package=True)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.counts", "from stream_bayes.core import _kernels\nfrom stream_bayes.errors import BadState"),
        ("core._kernels", "import cython\nfrom cython.cimports.libc.math import log"),
        ("core._kernels", "from cython.cimports.stream_bayes.core._encoding import Codes"),
        ("core.search", "import numpy as np\ndef f(rng: np.random.Generator): ..."),
        ("learners.text", "from stream_bayes.learners.base import BayesClassifier\nimport river"),
        ("mail.filter", "from stream_bayes.mail.tokens import tokens"),
        ("streams.file_source", "import os, time\nfrom stream_bayes.streams.source import Source"),
        ("demo", "import time\nfrom stream_bayes import NaiveBayes"),
        ("snapshot", "from stream_bayes._build import VERSION"),
    ],
)
def test_the_law_lets_honest_imports_pass(module: str, source: str) -> None:
    assert offences(source, module) == []


def test_the_front_of_a_package_may_gather_from_it() -> None:
    assert offences("from stream_bayes.learners.text import MultinomialNB", "learners", is_package=True) == []


def test_no_line_of_the_layers_hides_another() -> None:
    assert [module for line, module in enumerate(LAYERS) if layer_of(module) != line] == []
