"""Settings that every test shares."""

import contextlib
import re
from collections.abc import Callable

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile(
    "quick", max_examples=25, deadline=None, derandomize=True, database=None
)
hypothesis.settings.load_profile("quick")
torch.set_num_threads(1)  # the tensors are small: threads cost more than they give


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def exact_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs go through the textbook statistics elsewhere; here the exact ones are tested."""
    monkeypatch.setattr("mrconv.branch_statistics.dispatch.SMALL", 0)


@pytest.fixture
def says() -> Callable[..., contextlib.AbstractContextManager[object]]:
    """Expects an error of exactly one class with exactly one sentence."""

    @contextlib.contextmanager
    def expect(error: type[Exception], sentence: str):
        with pytest.raises(error, match=f"^{re.escape(sentence)}$") as caught:
            yield
        assert caught.type is error

    return expect
