"""What the source promises as a whole: light imports, one direction, documented public names.

``python tests/test_architecture.py --write`` renews api_surface.json.
"""

import ast
import builtins
import doctest
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "mrconv"
SURFACE = Path(__file__).parent / "api_surface.json"
FILES = sorted(SOURCE.rglob("*.py"))
PUBLIC = ("", "kernels", "nn", "streaming", "data", "errors", "testing")

# Packages that extras bring; a module that needs one is skipped where it is missing.
EXTRAS = {
    "lightning",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "sklearn",
    "soundfile",
    "timm",
    "torchmetrics",
    "torchvision",
    "yaml",
}

# A module imports from lower levels and from its own package only.
LEVELS = [
    {"errors", "_version"},
    {"_checks"},
    {"convolution", "kernels"},
    {"branch_statistics"},
    {"nn"},
    {"merging", "distillation", "streaming"},
    {"verification", "models"},
    {"train", "export"},
    {"bench", "estimators"},
    {"experiments"},  # tables are kept and timed as benches are
    {"cli", "testing"},
    {"__main__"},
]
CORE = {name for names in LEVELS[:6] for name in names}
# These stand on the ground.
GROUND = {"data", "report", "recipes"}
GROUND_IMPORTS = {"errors", "_checks", "_version"}
# What stands above all that mrconv itself names may use those names.
ABOVE_THE_NAMES = {"bench", "experiments", "cli"}


def ids(files):
    return [file.relative_to(SOURCE).as_posix() for file in files]


each_file = pytest.mark.parametrize("file", FILES, ids=ids(FILES))


def module_name(file):
    parts = ["mrconv", *file.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# -------------------------------------------------------------------------------- light imports


@pytest.mark.parametrize("module", ["mrconv", "mrconv.cli"])
def test_importing_takes_the_standard_library_only(module):
    if not (SOURCE / "cli" / "__init__.py").exists() and module == "mrconv.cli":
        pytest.skip("there is no command line yet")
    code = (
        f"import sys; before = set(sys.modules); import {module}; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert set(result.stdout.split()) - sys.stdlib_module_names == {"mrconv"}


def test_every_lazy_name_and_module_is_listed_once():
    import mrconv

    assert sorted(mrconv.__all__) == mrconv.__all__
    assert set(mrconv._NAMES) <= set(mrconv.__all__)
    assert set(mrconv.__all__) <= set(dir(mrconv))
    with pytest.raises(AttributeError, match=r"^module 'mrconv' has no attribute 'Mrconv'$"):
        mrconv.Mrconv  # noqa: B018


# ---------------------------------------------------------------------------- import direction


def imported_parts(file):
    """First component below mrconv of everything that a file imports from mrconv."""
    package = module_name(file).split(".")
    if file.name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*stem, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top == "mrconv":
                yield rest[0] if rest else ""


@each_file
def test_imports_run_downward(file):
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return  # the public names: it imports all, on first use
    level_of = {name: level for level, names in enumerate(LEVELS) for name in names}
    assert own in level_of or own in GROUND, f"{own} has no level in this test"
    used = set(imported_parts(file)) - {own}
    if own in GROUND:
        assert used <= GROUND_IMPORTS
        return
    used -= {""} if own in ABOVE_THE_NAMES else set()
    for name in used - GROUND:
        assert level_of[name] < level_of[own], f"{own} imports {name or 'mrconv'}"
    if own in CORE:
        assert not used & GROUND


# -------------------------------------------------------------------------------------- raises


def raised_for_users(file):
    """Every raise of a class of mrconv.errors or of Python's own: line, class, call or None."""
    from mrconv import errors

    silent = {"KeyboardInterrupt", "SystemExit"}
    spoken = {*errors.__all__, *vars(builtins)} - silent
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Raise) and node.exc is not None:
            call = node.exc if isinstance(node.exc, ast.Call) else None
            name = call.func if call else node.exc
            if isinstance(name, ast.Name) and name.id in spoken:
                yield node.lineno, name.id, call


@each_file
def test_every_raise_has_one_sentence(file):
    for line, name, call in raised_for_users(file):
        where = f"{file.name}:{line}: {name}"
        assert call is not None, f"{where} without a sentence"
        assert len(call.args) == 1, f"{where} with {len(call.args)} arguments"
        assert not call.keywords, f"{where} with keywords"
        assert not isinstance(call.args[0], (ast.Tuple, ast.Starred)), f"{where} with a tuple"


@each_file
def test_raising_again_happens_where_something_was_caught(file):
    tree = ast.parse(file.read_text())
    caught = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is None:
            assert id(node) in caught, f"{file.name}:{node.lineno}"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"{file.name}:{node.lineno} catches everything"


@each_file
def test_asserts_are_for_tests_only(file):
    if file.parent.name == "testing":
        return
    asserts = [n.lineno for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Assert)]
    assert not asserts


# -------------------------------------------------------------------- docstrings, annotations


def public_definitions(body, prefix=""):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name.startswith("_") and node.name not in {"__init__", "__call__"}:
                continue
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{prefix}{node.name}.")


@each_file
def test_every_public_name_has_a_docstring(file):
    tree = ast.parse(file.read_text())
    assert ast.get_docstring(tree), "the module has no docstring"
    bare = [
        name
        for name, node in public_definitions(tree.body)
        if not name.endswith("__init__") and not ast.get_docstring(node)
    ]
    assert not bare


@each_file
def test_every_public_name_is_annotated(file):
    bare = []
    for name, node in public_definitions(ast.parse(file.read_text()).body):
        if isinstance(node, ast.ClassDef):
            continue
        a = node.args
        arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        unbound = [x.arg for x in arguments if not x.annotation and x.arg not in ("self", "cls")]
        if unbound or node.returns is None:
            bare.append(name)
    assert not bare


# ----------------------------------------------------------------------------------- doctests


def imported(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = (getattr(error, "name", None) or "").partition(".")[0]
        if missing in EXTRAS or type(error).__name__ == "MissingExtraError":
            pytest.skip(f"needs {missing}")
        raise


WITH_EXAMPLES = [file for file in FILES if ">>>" in file.read_text()]


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=ids(WITH_EXAMPLES))
def test_examples_in_docstrings_run(file, tmp_path, monkeypatch):
    module = imported(module_name(file))
    monkeypatch.chdir(tmp_path)  # examples may write files
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


# ------------------------------------------------------------------------------- api surface


def signature(thing):
    """Names, kinds and defaults of the arguments; annotations differ between Python versions."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return str(inspect.Signature(plain))


def described(thing):
    """A text for a function or value, a dict of signatures for a class."""
    if not inspect.isclass(thing):
        return signature(thing) if callable(thing) else type(thing).__name__
    made_here = [base for base in thing.__mro__ if base.__module__.startswith("mrconv")]
    members = {}
    for base in reversed(made_here):
        for name, member in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                members[name] = "property"
            elif callable(inspect.unwrap(getattr(member, "__func__", member))):
                members[name] = signature(getattr(thing, name))
    return {"()": signature(thing), **dict(sorted(members.items()))}


def surface():
    """Every public name and its signature, by module."""
    found = {}
    for part in PUBLIC:
        module = importlib.import_module(f"mrconv.{part}".rstrip("."))
        names = sorted(set(module.__all__))
        found[module.__name__] = {
            name: "module" if inspect.ismodule(thing := getattr(module, name)) else described(thing)
            for name in names
        }
    return found


def test_the_public_names_and_signatures_are_those_written_down():
    found, written = surface(), json.loads(SURFACE.read_text())
    hint = "run python tests/test_architecture.py --write if the change is meant"
    assert found.keys() == written.keys(), hint
    for module, names in written.items():
        assert found[module] == names, f"{module}: {hint}"


if __name__ == "__main__" and "--write" in sys.argv:
    SURFACE.write_text(json.dumps(surface(), indent=1, sort_keys=True) + "\n")
