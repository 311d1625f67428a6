"""Error classes of mrconv: each message is one sentence on the fact and one on the remedy."""

__all__ = [
    "ArgumentError",
    "DtypeError",
    "FileError",
    "MergeError",
    "MissingExtraError",
    "MrconvError",
    "RecipeError",
    "ShapeError",
]


class MrconvError(Exception):
    """Base of every error that mrconv raises on purpose."""


class ArgumentError(MrconvError, ValueError):
    """An argument has the right type and a value that cannot work."""


class ShapeError(MrconvError, ValueError):
    """A tensor has the wrong number of dimensions or sizes."""


class DtypeError(MrconvError, TypeError):
    """A value or a tensor is of the wrong type."""


class MergeError(MrconvError, ValueError):
    """A layer or model cannot be converted to another form as asked."""


class FileError(MrconvError, ValueError):
    """A file or folder is missing, damaged, or not what it should be."""


class RecipeError(MrconvError, ValueError):
    """A recipe has mistakes; the message lists every one of them."""


class MissingExtraError(MrconvError, ImportError):
    """An optional dependency is not installed; the message gives the pip line."""
