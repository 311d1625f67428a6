"""Every kernel form, every layer and every model keeps the stream contract."""

import pytest
import torch
from torch import nn

import mrconv
from mrconv.models.mixers import make_mixer
from mrconv.models.pooling import POOLINGS
from mrconv.nn import (
    Attention,
    ChannelNorm,
    KernelConv,
    MaskedBatchNorm,
    MRBranches,
    ResidualBlock,
)
from mrconv.testing import StreamContract, assert_close, settled


@torch.no_grad()
def trained(module):
    """In eval mode, with norms as training leaves them."""
    for part in module.modules():
        if isinstance(part, MRBranches):
            settled(part)
        elif isinstance(part, (MaskedBatchNorm, nn.BatchNorm1d)):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    return module.eval()


class _Layer(StreamContract):
    kernel = "dilated"
    length, kernel_size = 32, 4
    settings = {}  # noqa: RUF012
    reach = 32

    def make(self, dtype):
        return trained(
            mrconv.MRConv(
                self.channels,
                self.length,
                kernel_size=self.kernel_size,
                kernel=self.kernel,
                dtype=dtype,
                **self.settings,
            )
        )


class TestDilated(_Layer):
    kernel = "dilated"


class TestSparse(_Layer):
    kernel = "sparse"


class TestFourier(_Layer):
    kernel = "fourier"


class TestDense(_Layer):
    kernel = "dense"


class TestImplicit(_Layer):
    kernel = "implicit"


class TestModal(_Layer):
    kernel = "modal"


class TestMixture(_Layer):
    kernel = "fourier+sparse"


class TestOneTapKernels(_Layer):
    kernel, kernel_size = "fourier", 1


class TestOddKernels(_Layer):
    kernel, kernel_size, length, reach = "fourier", 5, 40, 40


class TestConcatenatedFourier(_Layer):
    kernel = "fourier"
    settings = {"combine": "concat"}  # noqa: RUF012


class TestConcatenatedDilated(_Layer):
    settings = {"combine": "concat", "norm": "none", "skip": False}  # noqa: RUF012


class TestConstantNorm(_Layer):
    settings = {"norm": "constant", "gains": "fixed"}  # noqa: RUF012


class _GatedBranches(_Layer):
    """Every kernel form of branches that are weighed by gates."""

    settings = {"num_heads": 3}  # noqa: RUF012

    def make(self, dtype):
        layer = mrconv.GatedMRConv(
            self.channels,
            self.length,
            kernel_size=self.kernel_size,
            kernel=self.kernel,
            dtype=dtype,
            **self.settings,
        )
        nn.init.normal_(layer.gate.weight)
        nn.init.normal_(layer.gate.bias)
        return trained(layer)


class TestGatedDilated(_GatedBranches):
    pass


class TestGatedFourier(_GatedBranches):
    kernel = "fourier"
    settings = {"skip": False}  # noqa: RUF012


class TestGatedModal(_GatedBranches):
    kernel = "modal"


class TestGatedMixture(_GatedBranches):
    kernel = "fourier+sparse"
    settings = {"norm": "constant"}  # noqa: RUF012


class _Long(_Layer):
    """Beyond the blocks of windows and the few taps of a gather."""

    length, kernel_size, reach = 600, 8, 512


class TestLongDilated(_Long):
    pass


class TestLongFourier(_Long):
    kernel = "fourier"


class TestLongDense(_Long):
    kernel = "dense"


class TestLongMixture(_Long):
    kernel = "dense+fourier+sparse"


class TestLongMixtureFlat(_Long):
    kernel, dense = "dense+fourier+sparse", "flat"


class TestLongGatedFourier(_GatedBranches):
    kernel = "fourier"
    length, kernel_size, reach = 600, 8, 512


class TestLongGatedDense(TestLongGatedFourier):
    kernel = "dense"


class TestLongConcatenated(_Long):
    kernel = "fourier+implicit"
    settings = {"combine": "concat"}  # noqa: RUF012


class _Taps(StreamContract):
    num_taps = reach = 500

    def make(self, dtype):
        layer = mrconv.LongConv(self.channels, self.num_taps, dtype=dtype).eval()
        nn.init.normal_(layer.bias)
        return layer


class TestTiled(_Taps):
    pass


class TestPartitioned(_Taps):
    dense = "partitioned"


class TestFlat(_Taps):
    dense = "flat"


class TestShortTaps(_Taps):
    num_taps = reach = 3


class TestRecurrence(_Layer):
    """Modal branches as their exact recurrence."""

    kernel = "modal"

    def make(self, dtype):
        return super().make(dtype).reparameterize(form="recurrence")


class TestMergedDilated(StreamContract):
    reach = 512

    def make(self, dtype):
        layer = mrconv.MRConv(self.channels, 512, kernel_size=4, kernel="dilated", dtype=dtype)
        return trained(layer).reparameterize()


class TestStateSpace(StreamContract):
    reach = 30

    def make(self, dtype):
        return KernelConv(self.channels, 30, kernel="s4d", dtype=dtype).eval()


class TestInterpolated(StreamContract):
    reach = 450

    def make(self, dtype):
        return KernelConv(self.channels, 450, kernel="sgconv", skip=False, dtype=dtype).eval()


class _Baseline(StreamContract):
    """Layers of other papers, from the settings of a mixer."""

    reach = 30
    mixer = {}  # noqa: RUF012

    def make(self, dtype):
        return make_mixer(self.mixer, self.channels, 30, dtype=dtype).eval()


class TestS4(_Baseline):
    mixer = {"name": "s4", "order": 6, "systems": 2}  # noqa: RUF012


class TestS5(_Baseline):
    mixer = {"name": "s5", "order": 8}  # noqa: RUF012


class TestMultires(_Baseline):
    mixer = {"name": "multires", "kernel_size": 3}  # noqa: RUF012


class TestCKConv(_Baseline):
    mixer = {"name": "ckconv", "skip": False}  # noqa: RUF012


class TestDilatedNet(_Baseline):
    mixer = {"name": "dilated", "kernel_size": 4, "dilation": 8}  # noqa: RUF012


class _Gated(StreamContract):
    """Hyena and MultiHyena, their filters in every form; each prompt length, then 50 steps."""

    channels, reach = 4, 20
    kind = mrconv.Hyena
    settings = {}  # noqa: RUF012

    def make(self, dtype):
        layer = self.kind(self.channels, 16, num_filters=2, dtype=dtype, **self.settings)
        return self.form(trained(layer))

    def form(self, layer):
        return layer

    def test_prompts_then_fifty_steps(self):
        taps = 16
        stream, x, expected = self._case(torch.float64, 2, taps + 51)
        for length in (0, 1, 2, 3, taps - 1, taps + 1):
            y, state = stream.chunk(x[..., :length], stream.init_state(2))
            rest, _ = self._steps(stream, state, x[..., length : length + 50])
            assert_close(torch.cat([y, rest], -1), expected[..., : length + 50], 1e-12)


class _Heads(_Gated):
    kind = mrconv.MultiHyena


class TestHyena(_Gated):
    pass


class TestMultiHyena(_Heads):
    pass


class TestHyenaPartitioned(_Gated):
    settings = {"kernel": "dense"}  # noqa: RUF012
    dense = "partitioned"


class TestMultiHyenaOfStateSpaces(_Heads):
    settings = {"kernel": "s4d"}  # noqa: RUF012
    dense = "flat"


class TestHyenaOfBranches(_Gated):
    settings = {"kernel": "fourier", "kernel_size": 4}  # noqa: RUF012


class TestMultiHyenaOfBranches(_Heads):
    settings = {"kernel": "dilated", "kernel_size": 2}  # noqa: RUF012


class TestMergedMultiHyena(_Heads):
    settings = {"kernel": "sparse", "kernel_size": 4}  # noqa: RUF012

    def form(self, layer):
        return mrconv.merge(layer)


class TestRecurrentHyena(_Gated):
    settings = {"kernel": "modal", "kernel_size": 4}  # noqa: RUF012

    def form(self, layer):
        return mrconv.merge(layer, form="recurrence")


class TestDistilledMultiHyena(_Heads):
    def form(self, layer):
        return mrconv.distill(layer, order=4, fir_head=2)[0]


class TestLongMultiHyena(_Heads):
    """Beyond the few taps of a gather."""

    reach = 600

    def make(self, dtype):
        return trained(self.kind(self.channels, 600, num_filters=2, dtype=dtype))

    def test_chunks_too_large_are_taken_in_pieces(self, monkeypatch):
        stream, x, expected = self._case(torch.float64, 3, 170)
        monkeypatch.setattr("mrconv.streaming.hyena.HANDED", 1)
        monkeypatch.setattr("mrconv.streaming.hyena.LEAST", 50)
        lengths = torch.tensor([170, 49, 0])
        y, _ = stream.chunk(x, stream.init_state(3), lengths)
        for row, n in enumerate(lengths):
            assert_close(y[row, :, :n], expected[row, :, :n], 1e-12)

    def test_no_rows(self):
        stream, x, _ = self._case(torch.float64, 3, 7)
        y, state = stream.chunk(x[:0], stream.init_state(0))
        assert (y.shape, state.num_rows) == ((0, self.channels, 7), 0)


class TestAttention(StreamContract):
    channels = 6

    def make(self, dtype):
        return Attention(6, 80, num_heads=2, dtype=dtype).eval()


class TestAttentionInBlocks(TestAttention):
    """Queries that share a mask are few, and features odd."""

    channels = 3

    @pytest.fixture(autouse=True)
    def few_queries(self, monkeypatch):
        monkeypatch.setattr("mrconv.streaming.attention.QUERIES", 3)

    def make(self, dtype):
        return Attention(3, 80, num_heads=1, dtype=dtype).eval()


class TestBlock(StreamContract):
    reach = 32
    tolerances = {torch.float32: 1e-5, torch.float64: 1e-12}  # noqa: RUF012

    def make(self, dtype):
        mixer = mrconv.MRConv(self.channels, 32, kernel_size=4, dtype=dtype)
        return trained(ResidualBlock(mixer, self.channels, dtype=dtype))


class TestTorchModules(StreamContract):
    reach = 12

    def make(self, dtype):
        taps = nn.Conv1d(self.channels, self.channels, 5, groups=self.channels, dtype=dtype)
        wide = {"dtype": dtype}
        module = nn.Sequential(
            nn.Conv1d(self.channels, 6, 1, **wide),
            nn.BatchNorm1d(6, **wide),
            nn.GELU(),
            nn.Dropout(0.5),
            mrconv.LongConv(6, 8, **wide),
            nn.Sequential(nn.Conv1d(6, self.channels, 1, **wide), nn.Identity()),
            ChannelNorm(self.channels, **wide),
            mrconv.LongConv.from_conv1d(taps),
        )
        return trained(module)


class TestDepthwiseConv1d(StreamContract):
    reach = 9

    def make(self, dtype):
        sizes = (self.channels, self.channels, 5)
        groups = self.channels
        return nn.Conv1d(*sizes, dilation=2, padding=8, groups=groups, dtype=dtype).eval()

    def expected(self, module, x):
        return module(x)[..., : x.shape[-1]]


class TestFeaturesLast(StreamContract):
    time_axis = 1

    def make(self, dtype):
        linear, norm = nn.Linear(self.channels, 5, dtype=dtype), nn.LayerNorm(5, dtype=dtype)
        return nn.Sequential(linear, nn.SiLU(), norm, nn.Linear(5, 2, dtype=dtype)).eval()

    def inputs(self, rows, length, dtype):
        return torch.randn(rows, length, self.channels, dtype=dtype)


class TestEmbedding(StreamContract):
    time_axis = 1

    def make(self, dtype):
        return nn.Embedding(11, 4, dtype=dtype).eval()

    def inputs(self, rows, length, dtype):
        return torch.randint(11, (rows, length))


# ------------------------------------------------------------------------------------------ models


class _Model(StreamContract):
    time_axis = 1
    features, reach, tokens = 2, 24, False
    tolerances = {torch.float32: 1e-4, torch.float64: 1e-12}  # noqa: RUF012
    mixer = {"kernel": "fourier", "kernel_size": 3}  # noqa: RUF012
    settings = {}  # noqa: RUF012

    def backbone(self, dtype):
        return mrconv.SequenceBackbone(
            7 if self.tokens else self.features,
            24,
            channels=6,
            depth=2,
            mixer=self.mixer,
            tokens=self.tokens,
            dtype=dtype,
            **self.settings,
        )

    def make(self, dtype):
        return trained(self.backbone(dtype))

    def inputs(self, rows, length, dtype):
        if self.tokens:
            return torch.randint(7, (rows, length))
        return torch.randn(rows, length, self.features, dtype=dtype)


class TestBackbone(_Model):
    pass


class TestPreNormBackboneOfTokens(_Model):
    tokens = True
    settings = {"pre_norm": True, "norm": "layer"}  # noqa: RUF012
    mixer = [{"name": "s4d", "order": 4}, {"kernel": "dilated", "kernel_size": 4}]  # noqa: RUF012


class TestLabeller(_Model):
    def make(self, dtype):
        return trained(mrconv.SequenceLabeller(self.backbone(dtype), 3, dtype=dtype))


class TestLanguageModel(_Model):
    tokens = True

    def make(self, dtype):
        return trained(mrconv.LanguageModel(self.backbone(dtype), 6, dtype=dtype))


class _Pooled(_Model):
    pooling = "mean"
    reach = 18

    def make(self, dtype):
        head = mrconv.SequenceClassifier
        return trained(head(self.backbone(dtype), 3, pooling=self.pooling, dtype=dtype))

    @torch.no_grad()
    def expected(self, module, x):
        """Row t: the head over the pooled last positions of x[:, :t+1]."""
        features, pool = module.backbone(x), POOLINGS[self.pooling]
        ends = range(1, x.shape[1] + 1)
        starts = [0 if self.window is None else max(0, end - self.window) for end in ends]
        pooled = [
            pool(features[:, start:end], None) for start, end in zip(starts, ends, strict=True)
        ]
        return module.head(torch.stack(pooled, 1))


class TestMeanClassifier(_Pooled):
    def test_each_answer_is_the_models_on_the_samples_so_far(self):
        module = self.make_seeded(torch.float64)
        x = self.inputs(2, 15, torch.float64)
        stream = mrconv.Streamer(module)
        y, _ = stream.chunk(x, stream.init_state(2))
        for t in range(15):
            torch.testing.assert_close(y[:, t], module(x[:, : t + 1]))


class TestLastClassifier(_Pooled):
    pooling = "last"


class TestMaxClassifier(_Pooled):
    pooling = "max"


class TestWindowedMean(_Pooled):
    window = 7


class TestWindowedMax(_Pooled):
    pooling, window = "max", 7


class TestWindowOfOne(_Pooled):
    pooling, window = "max", 1


class TestRegressor(_Pooled):
    pooling = "max"

    def make(self, dtype):
        head = mrconv.SequenceRegressor
        return trained(head(self.backbone(dtype), 2, pooling=self.pooling, dtype=dtype))


class TestForecaster(_Model):
    def make(self, dtype):
        return trained(mrconv.Forecaster(self.backbone(dtype), 4, features=2, dtype=dtype))

    @torch.no_grad()
    def expected(self, module, x):
        return module.head(module.backbone(x)).unflatten(-1, (4, 2))


class TestMergedModel(_Pooled):
    dense = "partitioned"

    def make(self, dtype):
        return mrconv.merge(super().make(dtype))
