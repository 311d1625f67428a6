"""What tests of data sets share."""

import io
import tarfile
from collections.abc import Callable

import pytest


@pytest.fixture
def tar_of() -> Callable[..., bytes]:
    """Makes a tar of {path: content}; further names set attributes of every member."""

    def make(files: dict[str, bytes], **change) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                for key, value in change.items():
                    setattr(member, key, value)
                archive.addfile(member, io.BytesIO(content))
        return stream.getvalue()

    return make
