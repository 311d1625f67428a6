"""The error classes: what each can be caught as."""

import pytest

from mrconv import errors

BUILT_IN = {
    "ArgumentError": ValueError,
    "DtypeError": TypeError,
    "FileError": ValueError,
    "MergeError": ValueError,
    "MissingExtraError": ImportError,
    "MrconvError": Exception,
    "RecipeError": ValueError,
    "ShapeError": ValueError,
}


def test_all_classes_are_listed():
    assert set(BUILT_IN) == set(errors.__all__)


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_caught_as_its_own_as_ours_and_as_the_built_in(name, built_in):
    error = getattr(errors, name)
    for caught_as in (error, errors.MrconvError, built_in):
        with pytest.raises(caught_as, match=r"^a sentence$"):
            raise error("a sentence")
