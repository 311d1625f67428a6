"""What a model expects of its input, kept with the model and applied by every verb."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._checks import check_choice, check_count, nearest
from ..errors import ArgumentError, DtypeError, ShapeError

__all__ = ["InputContract", "InputKind"]

InputKind = Literal["series", "audio", "image", "tokens"]


@dataclass(frozen=True)
class InputContract:
    """Kind, rate, channels, scaling and length of a model's input.

    ``prepare`` turns raw values into what the model takes: the tokens themselves, or for continuous
    input

        (c(values) - mean) / std,   c(v) = sign(v) log(1 + mu |v|) / log(1 + mu)

    where ``companding`` gives mu, and c(v) = v without it. Companding brings quiet and loud voices
    closer together, sample by sample, so that a stream may use it too. With a frame of n samples,
    n of them stand side by side as one step of the model: (L, F) becomes (L / n, n F), the last
    step filled up with 0. Sequences are n times shorter then, and training n times cheaper.

    Args:
        kind: "series", "audio", "image" (flattened) or "tokens".
        length: Length the model was trained at, in samples; no limit.
        channels: F, values a sample.
        sample_rate: In Hz; None where time has no unit.
        mean: Subtracted from every value; or one number a channel.
        std: Every value is divided by it; or one number a channel.
        companding: mu, such as 255, for values between -1 and 1; None leaves them as they are.
        vocabulary: Number of tokens, for kind "tokens".
        frame: n, samples a step of the model; 1 for tokens.

    Raises:
        ArgumentError: For an unknown kind, a size below 1, a std or companding that is not
            positive, other numbers of means or stds than of channels, or tokens without a
            vocabulary or with a frame.
        DtypeError: For a size that is not a whole number.

    Example:
        >>> import numpy as np
        >>> from mrconv.data import InputContract
        >>> InputContract("series", 4, mean=1.0, std=2.0).prepare(np.array([1.0, 3.0]))
        array([[0.],
               [1.]], dtype=float32)

    Source: companding is the mu-law of ITU-T G.711, as a formula and without its rounding.
    """

    kind: InputKind
    length: int
    channels: int = 1
    sample_rate: float | None = None
    mean: float | tuple[float, ...] = 0.0
    std: float | tuple[float, ...] = 1.0
    vocabulary: int | None = None
    companding: float | None = None
    frame: int = 1

    def __post_init__(self) -> None:
        check_choice("InputContract", "kind", self.kind, get_args(InputKind))
        check_count("InputContract", "length", self.length)
        check_count("InputContract", "channels", self.channels)
        check_count("InputContract", "frame", self.frame)
        for name in ("mean", "std"):
            values = getattr(self, name)
            if isinstance(values, tuple) and len(values) != self.channels:
                raise ArgumentError(
                    f"InputContract: {name} must be one number, or one for each of "
                    f"{self.channels} channels; got {len(values)}. Pass a tuple of "
                    f"{self.channels}."
                )
        if not np.all(np.asarray(self.std) > 0):
            raise ArgumentError(
                f"InputContract: std must be positive; got {self.std}. Use 1 for unscaled input."
            )
        if self.companding is not None and not self.companding > 0:
            raise ArgumentError(
                f"InputContract: companding must be positive; got {self.companding}. "
                "Use 255, or None for values as they are."
            )
        if self.kind == "tokens":
            if self.vocabulary is None:
                raise ArgumentError(
                    "InputContract: vocabulary must be given for tokens; got None. "
                    "Pass the number of tokens."
                )
            check_count("InputContract", "vocabulary", self.vocabulary)
            if self.frame != 1:
                raise ArgumentError(
                    f"InputContract: frame must be 1 for tokens; got {self.frame}. Leave it out."
                )

    @property
    def features(self) -> int:
        """Values a step of the model, n F."""
        return self.channels * self.frame

    def prepare(self, values: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """One sequence, or the next part of one, as the model takes it.

        Args:
            values: Raw values (L, F), or (L,) for one channel; tokens (L,).
            start: Samples of the sequence that came before, which messages count.

        Returns:
            float32 (L, F), with a frame (ceil(L / n), n F); or int64 tokens (L,).

        Raises:
            ShapeError: For another number of dimensions or channels.
            DtypeError: For values that are not numbers, or tokens that are not whole.
            ArgumentError: For tokens outside the vocabulary or values that are not finite.
        """
        values = np.asarray(values)
        if values.dtype.kind not in "iufb":
            raise DtypeError(
                f"input: values must be numbers; got {values.dtype}. Remove text columns."
            )
        if self.kind == "tokens":
            return self._tokens(values)
        return self.framed(self._continuous(values, start))

    def framed(self, scaled: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scaled samples as steps of the model, zeros behind the last one.

        Args:
            scaled: Values (L, F).

        Returns:
            Values (ceil(L / n), n F).

        Example:
            >>> import numpy as np
            >>> InputContract("series", 4, frame=2).framed(np.array([[1.0], [2.0], [3.0]]))
            array([[1., 2.],
                   [3., 0.]])
        """
        missing = -len(scaled) % self.frame
        if missing:
            scaled = np.pad(scaled, ((0, missing), (0, 0)))
        return scaled.reshape(-1, self.features)

    def scaled(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """(c(values) - mean) / std of continuous values of any shape, unchecked."""
        wide, mu = np.asarray(values, np.float64), self.companding
        if mu is not None:
            wide = np.sign(wide) * np.log1p(mu * np.abs(wide)) / np.log1p(mu)
        return (wide - self.mean) / self.std

    @property
    def silence(self) -> NDArray[np.float64]:
        """The value that ``scaled`` takes to 0; one for all channels, (), or one each, (F,)."""
        mu, mean = self.companding, np.asarray(self.mean, np.float64)
        return mean if mu is None else np.copysign(((1 + mu) ** np.abs(mean) - 1) / mu, mean)

    def _continuous(self, values: NDArray[Any], start: int) -> NDArray[np.float32]:
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[1] != self.channels:
            swapped = values.ndim == 2 and values.shape[0] == self.channels
            remedy = "Did you mean values.T?" if swapped else "One row a sample, one column each."
            raise ShapeError(
                f"input: values must be (length, {self.channels}); got {values.shape}. {remedy}"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # told as not finite
            scaled = self.scaled(values).astype(np.float32)
        if not np.isfinite(scaled).all():
            where = int(np.argwhere(~np.isfinite(scaled))[0, 0])
            raise ArgumentError(
                f"input: values must be finite; got {values[where].tolist()} at sample "
                f"{start + where}. "
                "Fill or remove missing values first."
            )
        return scaled

    def _tokens(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if values.ndim != 1:
            raise ShapeError(
                f"input: tokens must be (length,); got {values.shape}. Pass one sequence."
            )
        with np.errstate(invalid="ignore"):  # NaN and inf equal no whole number
            tokens = values.astype(np.int64)
        if (tokens != values).any():
            raise DtypeError("input: tokens must be whole numbers; got fractions. Round them.")
        vocabulary = self.vocabulary or 0
        if tokens.size and not (0 <= tokens.min() and tokens.max() < vocabulary):
            raise ArgumentError(
                f"input: tokens must lie between 0 and {vocabulary - 1}; "
                f"got {tokens.min()} to {tokens.max()}. Use the model's own vocabulary."
            )
        return tokens

    def refuse_other(self, what: str, given: "InputContract") -> None:
        """Raises where data are prepared otherwise than a model expects; lengths may differ.

        Args:
            what: First word of the message.
            given: Contract of the data.

        Raises:
            ArgumentError: With the first setting that differs.
        """
        for name in (field.name for field in fields(self) if field.name != "length"):
            wanted, got = getattr(self, name), getattr(given, name)
            if wanted != got:
                raise ArgumentError(
                    f"{what}: the data must be prepared as the model expects, {name}={wanted!r}; "
                    f"got {name}={got!r}. Use the recipe that the model was trained by."
                )

    def as_dict(self) -> dict[str, Any]:
        """The contract as plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "InputContract":
        """The contract back from ``as_dict``; unknown keys raise an ArgumentError."""
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ArgumentError(
                    f"InputContract: keys must be known; got {key!r}. {nearest(key, known)}"
                )
        # JSON knows no tuples
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**given)
