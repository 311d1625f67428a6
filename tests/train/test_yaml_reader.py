import pytest

from mrconv.errors import RecipeError
from mrconv.train.yaml_reader import dump, parse


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = (
        "[6e-3, 1E2, .5, 1., -.inf, 010, 0x1F, 0o17, +3, true, False, null, ~, yes, no, off, 1:30]"
    )
    expected = [6e-3, 100.0, 0.5, 1.0, float("-inf"), 10, 31, 15, 3, True, False, None, None]
    values = parse(text, "recipe")
    assert values == [*expected, "yes", "no", "off", "1:30"]
    assert [type(value) for value in values[:3]] == [float, float, float]
    assert parse("[2024-01-01, 1_000, '1', .nan]", "recipe")[:3] == ["2024-01-01", "1_000", "1"]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: 1\nb: 2\na: 3", "a mistake at line 3, column 1: found the key 'a' twice"),
        ("a: {b: 1, b: 2}", "a mistake at line 1, column 11: found the key 'b' twice"),
        ("a: &x [1]\nb: *x", "a mistake at line 2, column 4: found an alias"),
        ("1: 2", "a mistake at line 1, column 1: found the key 1, which is no text"),
        (
            "a: !!python/object/apply:os.system [ls]",
            "a mistake at line 1, column 4: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object/apply:os.system'",
        ),
        (
            "a: [",
            "a mistake at line 1, column 5: expected the node content, but found '<stream end>'",
        ),
    ],
)
def test_mistakes_name_the_line(says, text: str, mistake: str) -> None:
    with says(RecipeError, f"toy: must be plain YAML; got {mistake}. Correct that line."):
        parse(text, "toy")


def test_what_is_no_text_is_refused(says) -> None:
    with says(
        RecipeError,
        "toy: must be plain YAML; got too many levels. Remove nested brackets.",
    ):
        parse("[" * 1200, "toy")
    with says(
        RecipeError,
        "toy: must be plain YAML; got unacceptable character #x0000: special characters are not "
        "allowed. Remove what is not plain text.",
    ):
        parse("a: \x00", "toy")
    with says(
        RecipeError,
        "toy: must be plain YAML; got invalid literal for int() with base 10: 'six'. "
        "Remove what is not plain text.",
    ):
        parse("a: !!int six", "toy")


def test_dump_is_read_back_as_the_same_values() -> None:
    shared = [1, 2]
    values = {
        "numbers": [1e-5, 6e-3, 1e20, 1.0, 3, True, None, float("inf")],
        "texts": ["no", "1e3", "010", "~", "0x1F", " a", "true", "", "x: y"],
        "first": shared,
        "second": shared,
    }
    assert parse(dump(values), "toy") == values
