"""Gives the reference page the parts of mrconv's docstrings as parts: examples, cost, source."""

import re
from typing import Any

import griffe

#: Words that start a paragraph of their own at the end of a docstring.
REMARK = re.compile(r"^(Cost|Source|Differs):[ ]+", re.MULTILINE)
EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Turns ``Example:`` into the section that griffe knows, remarks into paragraphs."""
        if obj.docstring is not None:
            text = EXAMPLE.sub("Examples:", obj.docstring.value)
            obj.docstring.value = REMARK.sub(r"\n**\1.** ", text)
