"""YAML as plain data: the core schema of YAML 1.2, no duplicate keys, no aliases, no tags."""

import re
from typing import Any

import yaml

from ..errors import RecipeError

__all__ = ["dump", "parse"]

_TAGS = ("null", "bool", "int", "float", "str", "seq", "map")


class _Loader(yaml.SafeLoader):
    """Safe loading with the scalars of YAML 1.2: 6e-3 is a number, yes and 010 are what they say.

    Args:
        stream: Text.
    """

    # Empty on purpose: the inherited resolvers are those of YAML 1.1.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors = {  # noqa: RUF012
        tag: make
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _TAGS
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuses aliases, which let a short file grow without bound."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="found an alias", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A dict; a key that is no text or stands twice is refused."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            problem = None
            if not isinstance(key, str):
                problem = f"found the key {key!r}, which is no text"
            elif key in seen:
                problem = f"found the key {key!r} twice"
            if problem:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=True)


class _Dumper(yaml.SafeDumper):
    """Writes what ``_Loader`` reads back as the same values.

    Args:
        stream: Where the text goes.
    """

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        """Writes shared values out in full."""
        return True


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _number(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(
        loader.construct_scalar(node).lower().replace(".inf", "inf").replace(".nan", "nan")
    )


def _truth(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() == "true"


_INTEGER = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_SPECIAL = r"[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN"
# The first pattern that fits decides.
for _tag, _pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": _INTEGER,
    "float": f"{_FLOAT}|{_SPECIAL}",
}.items():
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None
    )
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)
_Loader.add_constructor("tag:yaml.org,2002:bool", _truth)


def parse(text: str, owner: str) -> Any:
    """Plain values of one YAML document: None, bool, int, float, str, list and dict.

    Args:
        text: The document.
        owner: First words of the message.

    Raises:
        RecipeError: If the text is no YAML, or has a duplicate key, an alias or a tag; gives the
            line.

    Example:
        >>> parse("{lr: 6e-3, permuted: true, name: no}", "recipe")
        {'lr': 0.006, 'permuted': True, 'name': 'no'}
    """
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = (error.problem or "a mistake").split("\n")[0]
        raise RecipeError(
            f"{owner}: must be plain YAML; got a mistake{where}: {problem}. Correct that line."
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error).split("\n")[0]
        raise RecipeError(
            f"{owner}: must be plain YAML; got {problem}. Remove what is not plain text."
        ) from None
    except RecursionError:
        raise RecipeError(
            f"{owner}: must be plain YAML; got too many levels. Remove nested brackets."
        ) from None


def dump(values: Any) -> str:
    """Plain values as YAML text that ``parse`` reads back, keys in their order.

    Args:
        values: None, bool, int, float, str, list and dict.

    Example:
        >>> print(dump({"lr": 0.006, "name": "1e3"}), end="")
        lr: 0.006
        name: '1e3'
    """
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
