"""PyTorch's architectures as suites of ONNX files, by each of its exporters (bench/suite.py).

    pip install torch onnxscript
    python -m bench.architectures DIR      makes DIR/pytorch-export and DIR/pytorch-torchscript

What people build with torch.nn, in sizes that a test affords: as published but for widths, depths and images.
Weights are PyTorch's own beginnings, with the statistics of batch norms drawn as well, by a seed for each
architecture, and so are the inputs beside each file.
"""

from __future__ import annotations

import argparse
import io
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from onnx import load
from torch import Tensor, nn
from torch.nn import functional

from bench.suite import entries

Part: TypeAlias = nn.Module
Inputs: TypeAlias = Sequence[Callable[[], Tensor]]

ARCHITECTURES: Final[dict[str, tuple[Callable[[], Part], Inputs]]] = {}


def architecture(*inputs: Callable[[], Tensor]) -> Callable[[Callable[[], Part]], Callable[[], Part]]:
    """Of these inputs."""

    def listed(make: Callable[[], Part]) -> Callable[[], Part]:
        ARCHITECTURES[make.__name__] = make, inputs
        return make

    return listed


def uniform(*shape: int) -> Callable[[], Tensor]:
    """From 0 to 1, as pixels are."""
    return lambda: torch.rand(1, *shape)


def normal(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(1, *shape)


def tokens(length: int, words: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(words, (1, length))


class Of(nn.Module):
    """``make`` of the inputs, given this module with its ``parts``."""

    def __init__(self, make: Callable[..., Any], **parts: Part | Tensor) -> None:
        super().__init__()
        self.make = make
        for name, part in parts.items():
            if isinstance(part, nn.Module | nn.Parameter):
                setattr(self, name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, *x: Tensor) -> Any:
        return self.make(self, *x)


def chain(*parts: Part | Iterable[Part]) -> Part:
    flat = [[part] if isinstance(part, nn.Module) else list(part) for part in parts]
    return nn.Sequential(*(part for each in flat for part in each))


def function(make: Callable[..., Any]) -> Part:
    return Of(lambda _, *x: make(*x))


def residual(body: Part, shortcut: Part | None = None, after: Part | None = None) -> Part:
    made = Of(lambda m, x: m.body(x) + m.shortcut(x), body=body, shortcut=shortcut or nn.Identity())
    return chain(made, after) if after else made


def beside(*branches: Part) -> Part:
    """All of them, joined along the channels."""
    return Of(lambda m, x: torch.cat([each(x) for each in m.all], dim=1), all=nn.ModuleList(branches))


def conv(
    before: int, after: int, size: int = 3, stride: int = 1, act: Part | None = None, **more: Any
) -> Part:
    """With batch norm, padded so that only ``stride`` shrinks; ReLU unless ``act`` is given."""
    plain = nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False, **more)
    return chain(plain, nn.BatchNorm2d(after), act or nn.ReLU())


def pooled(features: int, classes: int = 10) -> list[Part]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes)]


def mlp(*widths: int, act: Callable[[], Part] = nn.ReLU) -> Part:
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1])


# Dense networks and regressions


@architecture(normal(8))
def linear_regression() -> Part:
    return nn.Linear(8, 1)


@architecture(normal(8))
def logistic_regression() -> Part:
    return chain(nn.Linear(8, 1), nn.Sigmoid())


@architecture(normal(16))
def softmax_regression() -> Part:
    return chain(nn.Linear(16, 5), nn.Softmax(dim=-1))


@architecture(normal(16))
def mlp_relu() -> Part:
    return mlp(16, 32, 32, 4)


@architecture(normal(16))
def mlp_tanh_regression() -> Part:
    return mlp(16, 32, 1, act=nn.Tanh)


@architecture(normal(16))
def mlp_batchnorm_dropout() -> Part:
    return chain(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 4))


@architecture(normal(16))
def mlp_layernorm_gelu() -> Part:
    return chain(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))


@architecture(normal(16))
def mlp_selu() -> Part:
    return chain(mlp(16, 32, 32, 4, act=nn.SELU), nn.LogSoftmax(dim=1))


@architecture(normal(16))
def mlp_elu_prelu_silu() -> Part:
    acts = [nn.ELU(), nn.PReLU(), nn.SiLU(), nn.LeakyReLU(0.1), nn.Softplus(), nn.Hardtanh()]
    return chain(*([nn.Linear(16, 16), act] for act in acts), nn.Linear(16, 4))


@architecture(normal(16))
def highway() -> Part:
    layers = [
        Of(
            lambda m, x: (gate := torch.sigmoid(m.gate(x))) * torch.relu(m.body(x)) + (1 - gate) * x,
            gate=nn.Linear(16, 16),
            body=nn.Linear(16, 16),
        )
        for _ in range(2)
    ]
    return chain(*layers, nn.Linear(16, 4))


@architecture(normal(16))
def maxout() -> Part:
    layer = Of(lambda m, x: m.linear(x).view(-1, 12, 3).max(dim=2).values, linear=nn.Linear(16, 36))
    return chain(layer, nn.Linear(12, 4))


@architecture(normal(16))
def gated_linear_units() -> Part:
    return chain(nn.Linear(16, 32), nn.GLU(), nn.Linear(16, 32), nn.GLU(), nn.Linear(16, 4))


@architecture(normal(2))
def siren() -> Part:
    sine = function(lambda x: torch.sin(30 * x))
    return chain(nn.Linear(2, 16), sine, nn.Linear(16, 16), function(torch.sin), nn.Linear(16, 3))


@architecture(normal(4))
def kan() -> Part:
    """Sums of learned functions of each coordinate, here of Gaussian bumps."""
    centres = torch.linspace(-2, 2, 6)
    layers = [
        Of(
            lambda m, x: (
                m.mix(torch.exp(-((x.unsqueeze(-1) - m.centres) ** 2)).flatten(1))
                + m.base(functional.silu(x))
            ),
            centres=centres,
            mix=nn.Linear(a * 6, b),
            base=nn.Linear(a, b),
        )
        for a, b in ((4, 5), (5, 1))
    ]
    return chain(*layers)


@architecture(normal(8))
def radial_basis_functions() -> Part:
    return Of(
        lambda m, x: m.out(torch.exp(-(x.unsqueeze(1) - m.centres).pow(2).sum(-1))),
        centres=torch.randn(1, 10, 8),
        out=nn.Linear(10, 3),
    )


@architecture(normal(16))
def mixture_density() -> Part:
    return Of(
        lambda m, x: (
            torch.softmax(m.weight(h := torch.tanh(m.body(x))), -1),
            m.mean(h),
            torch.exp(m.scale(h)),
        ),
        body=nn.Linear(16, 24),
        weight=nn.Linear(24, 3),
        mean=nn.Linear(24, 3),
        scale=nn.Linear(24, 3),
    )


@architecture(normal(4))
def neural_ode() -> Part:
    """Four steps of Euler's."""

    def steps(m: Any, x: Tensor) -> Tensor:
        for _ in range(4):
            x = x + 0.25 * m.field(x)
        return x

    return Of(steps, field=mlp(4, 16, 4, act=nn.Tanh))


@architecture(normal(6))
def physics_informed() -> Part:
    return mlp(6, 20, 20, 20, 1, act=nn.Tanh)


# Autoencoders and generators


@architecture(uniform(64))
def autoencoder() -> Part:
    return chain(mlp(64, 32, 8, 32, 64), nn.Sigmoid())


@architecture(uniform(64))
def variational_autoencoder() -> Part:
    """As it runs: the mean is decoded."""
    return Of(
        lambda m, x: (m.decode(mean := m.mean(h := torch.relu(m.body(x)))), mean, m.deviation(h)),
        body=nn.Linear(64, 32),
        mean=nn.Linear(32, 4),
        deviation=nn.Linear(32, 4),
        decode=chain(mlp(4, 32, 64), nn.Sigmoid()),
    )


@architecture(uniform(1, 16, 16))
def convolutional_autoencoder() -> Part:
    return chain(
        [nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 3, 2, 1), nn.ReLU()],
        [nn.ConvTranspose2d(4, 8, 2, 2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, 2), nn.Sigmoid()],
    )


@architecture(normal(16, 1, 1))
def dcgan_generator() -> Part:
    return chain(
        [nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU()],
        [nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()],
        [nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh()],
    )


@architecture(uniform(3, 16, 16))
def dcgan_discriminator() -> Part:
    return chain(
        [nn.Conv2d(3, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)],
        [nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2)],
        [nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten()],
    )


@architecture(uniform(1, 12, 12))
def espcn() -> Part:
    """Super-resolution by shuffling pixels."""
    return chain(
        nn.Conv2d(1, 8, 5, 1, 2), nn.Tanh(), nn.Conv2d(8, 4, 3, 1, 1), nn.PixelShuffle(2), nn.Sigmoid()
    )


@architecture(uniform(1, 12, 12))
def srcnn() -> Part:
    grown = nn.Upsample(scale_factor=2, mode="bilinear")
    return chain(grown, nn.Conv2d(1, 8, 5, 1, 2), nn.ReLU(), nn.Conv2d(8, 1, 3, 1, 1))


@architecture(uniform(3, 12, 12))
def style_transfer() -> Part:
    """Instance norms, residual blocks and an upsampling by neighbours."""
    block = chain(nn.Conv2d(8, 8, 3, 1, 1), nn.InstanceNorm2d(8, affine=True), nn.ReLU())
    return chain(
        [nn.ReflectionPad2d(2), nn.Conv2d(3, 8, 5), nn.InstanceNorm2d(8, affine=True), nn.ReLU()],
        [residual(block), nn.Upsample(scale_factor=2), nn.Conv2d(8, 3, 3, 1, 1)],
    )


@architecture(uniform(1, 16, 16))
def dncnn() -> Part:
    noise = chain(nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), conv(8, 8), nn.Conv2d(8, 1, 3, 1, 1))
    return Of(lambda m, x: x - m.noise(x), noise=noise)


# Images to classes


@architecture(uniform(1, 28, 28))
def lenet() -> Part:
    return chain(
        [nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)],
        [nn.Flatten(), mlp(256, 120, 84, 10)],
    )


@architecture(uniform(3, 32, 32))
def alexnet() -> Part:
    return chain(
        [
            nn.Conv2d(3, 12, 5, 2, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(12, 16, 5, padding=2),
            nn.ReLU(),
        ],
        [nn.MaxPool2d(3, 2), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3)],
        [nn.Flatten(), nn.Dropout(), nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 10)],
    )


def vgg(plan: str, norm: bool) -> Part:
    """``plan``: a digit for each convolution, of 4 channels as many; M for a pool."""
    parts: list[Part] = []
    before = 3
    for step in plan:
        if step == "M":
            parts.append(nn.MaxPool2d(2))
            continue
        after = 4 * int(step)
        parts += [
            nn.Conv2d(before, after, 3, padding=1),
            *([nn.BatchNorm2d(after)] if norm else []),
            nn.ReLU(),
        ]
        before = after
    return chain(parts, nn.Flatten(), mlp(before, 32, 10))


@architecture(uniform(3, 32, 32))
def vgg11() -> Part:
    return vgg("1M2M33M44M44M", norm=False)


@architecture(uniform(3, 32, 32))
def vgg16_batchnorm() -> Part:
    return vgg("11M22M333M444M444M", norm=True)


def basic(before: int, after: int, stride: int = 1) -> Part:
    body = chain(conv(before, after, stride=stride), conv(after, after, act=nn.Identity()))
    same = stride == 1 and before == after
    return residual(body, None if same else conv(before, after, 1, stride, nn.Identity()), nn.ReLU())


def bottleneck(before: int, after: int, stride: int = 1, groups: int = 1) -> Part:
    inner = after // 2
    body = chain(
        conv(before, inner, 1),
        conv(inner, inner, 3, stride, groups=groups),
        conv(inner, after, 1, 1, nn.Identity()),
    )
    same = stride == 1 and before == after
    return residual(body, None if same else conv(before, after, 1, stride, nn.Identity()), nn.ReLU())


def resnet(blocks: Sequence[int], block: Callable[..., Part], width: int = 4, **more: Any) -> Part:
    parts, before = [conv(3, width, 3)], width
    for stage, count in enumerate(blocks):
        for index in range(count):
            stride = 2 if stage and not index else 1
            parts.append(block(before, width << stage, stride, **more))
            before = width << stage
    return chain(parts, pooled(before))


@architecture(uniform(3, 16, 16))
def resnet18() -> Part:
    return resnet((2, 2, 2, 2), basic)


@architecture(uniform(3, 16, 16))
def resnet34() -> Part:
    return resnet((3, 4, 6, 3), basic)


@architecture(uniform(3, 16, 16))
def resnet50() -> Part:
    return resnet((3, 4, 6, 3), bottleneck)


@architecture(uniform(3, 16, 16))
def wide_resnet() -> Part:
    return resnet((1, 1, 1), basic, width=12)


@architecture(uniform(3, 16, 16))
def resnext() -> Part:
    return resnet((1, 1, 1), bottleneck, width=8, groups=4)


@architecture(uniform(3, 16, 16))
def preactivation_resnet() -> Part:
    blocks = [
        residual(chain(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, bias=False)))
        for _ in range(3)
    ]
    return chain(nn.Conv2d(3, 8, 3, padding=1), blocks, nn.BatchNorm2d(8), nn.ReLU(), pooled(8))


@architecture(uniform(3, 16, 16))
def densenet() -> Part:
    layers = [
        beside(nn.Identity(), chain(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, 4, 3, padding=1, bias=False)))
        for n in (8, 12, 16)
    ]
    between = [nn.BatchNorm2d(20), nn.ReLU(), nn.Conv2d(20, 10, 1, bias=False), nn.AvgPool2d(2)]
    return chain(nn.Conv2d(3, 8, 3, padding=1), layers, between, nn.ReLU(), pooled(10))


@architecture(uniform(3, 16, 16))
def squeezenet() -> Part:
    def fire(before: int, squeezed: int, after: int) -> Part:
        branches = [chain(nn.Conv2d(squeezed, after, size, padding=size // 2), nn.ReLU()) for size in (1, 3)]
        return chain(nn.Conv2d(before, squeezed, 1), nn.ReLU(), beside(*branches))

    return chain(
        [nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), fire(8, 4, 8), fire(16, 4, 8)],
        [nn.Dropout(), nn.Conv2d(16, 10, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()],
    )


def separable(before: int, after: int, stride: int = 1, act: Callable[[], Part] = nn.ReLU) -> Part:
    return chain(conv(before, before, 3, stride, act(), groups=before), conv(before, after, 1, 1, act()))


@architecture(uniform(3, 16, 16))
def mobilenet_v1() -> Part:
    return chain(conv(3, 8, 3, 2), separable(8, 16), separable(16, 16, 2), separable(16, 32), pooled(32))


def squeeze(channels: int, gate: Callable[[], Part] = nn.Sigmoid) -> Part:
    """Squeeze and excite: each channel times what its mean says."""
    inner = max(2, channels // 4)
    weigh = chain(
        [
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, inner, 1),
            nn.ReLU(),
            nn.Conv2d(inner, channels, 1),
            gate(),
        ]
    )
    return Of(lambda m, x: x * m.weigh(x), weigh=weigh)


def inverted(
    before: int, after: int, stride: int, act: Callable[[], Part], excite: Part | None = None
) -> Part:
    inner = 3 * before
    body = chain(
        [conv(before, inner, 1, 1, act()), conv(inner, inner, 3, stride, act(), groups=inner)],
        [excite] if excite else [],
        conv(inner, after, 1, 1, nn.Identity()),
    )
    return residual(body) if stride == 1 and before == after else body


@architecture(uniform(3, 16, 16))
def mobilenet_v2() -> Part:
    blocks = [inverted(8, 8, 1, nn.ReLU6), inverted(8, 12, 2, nn.ReLU6), inverted(12, 12, 1, nn.ReLU6)]
    return chain(conv(3, 8, 3, 2, nn.ReLU6()), blocks, conv(12, 32, 1, 1, nn.ReLU6()), pooled(32))


@architecture(uniform(3, 16, 16))
def mobilenet_v3() -> Part:
    blocks = [
        inverted(8, 8, 1, nn.ReLU, squeeze(24, nn.Hardsigmoid)),
        inverted(8, 12, 2, nn.Hardswish),
        inverted(12, 12, 1, nn.Hardswish, squeeze(36, nn.Hardsigmoid)),
    ]
    return chain(conv(3, 8, 3, 2, nn.Hardswish()), blocks, conv(12, 32, 1, 1, nn.Hardswish()), pooled(32))


@architecture(uniform(3, 16, 16))
def efficientnet() -> Part:
    blocks = [inverted(8, 8, 1, nn.SiLU, squeeze(24)), inverted(8, 12, 2, nn.SiLU, squeeze(24))]
    return chain(conv(3, 8, 3, 2, nn.SiLU()), blocks, conv(12, 24, 1, 1, nn.SiLU()), pooled(24))


@architecture(uniform(3, 16, 16))
def shufflenet() -> Part:
    def shuffled(x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(x.shape)

    def unit(m: Any, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, dim=1)
        return shuffled(torch.cat([kept, m.body(changed)], dim=1))

    units = [
        Of(unit, body=chain(conv(8, 8, 1), conv(8, 8, 3, 1, nn.Identity(), groups=8), conv(8, 8, 1)))
        for _ in range(2)
    ]
    return chain(conv(3, 16, 3, 2), units, pooled(16))


@architecture(uniform(3, 16, 16))
def inception() -> Part:
    branches = [
        conv(8, 4, 1),
        chain(conv(8, 4, 1), conv(4, 8, 3)),
        chain(conv(8, 2, 1), conv(2, 4, 5)),
        chain(nn.MaxPool2d(3, 1, 1), conv(8, 4, 1)),
    ]
    return chain(conv(3, 8, 3, 2), beside(*branches), pooled(20))


@architecture(uniform(3, 16, 16))
def xception() -> Part:
    body = chain(nn.ReLU(), separable(8, 12), separable(12, 12), nn.MaxPool2d(3, 2, 1))
    return chain(conv(3, 8, 3), residual(body, conv(8, 12, 1, 2, nn.Identity())), nn.ReLU(), pooled(12))


@architecture(uniform(3, 16, 16))
def network_in_network() -> Part:
    return chain(
        conv(3, 12, 5), conv(12, 8, 1), nn.MaxPool2d(2), conv(8, 10, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )


@architecture(uniform(3, 16, 16))
def squeeze_excite_resnet() -> Part:
    body = chain(conv(8, 8), conv(8, 8, act=nn.Identity()), squeeze(8))
    return chain(conv(3, 8), residual(body, after=nn.ReLU()), pooled(8))


@architecture(uniform(3, 16, 16))
def convnext() -> Part:
    def block(m: Any, x: Tensor) -> Tensor:
        y = m.norm(m.depthwise(x).permute(0, 2, 3, 1))
        return x + (m.gamma * m.shrink(functional.gelu(m.grow(y)))).permute(0, 3, 1, 2)

    made = Of(
        block,
        depthwise=nn.Conv2d(8, 8, 7, padding=3, groups=8),
        norm=nn.LayerNorm(8),
        grow=nn.Linear(8, 32),
        shrink=nn.Linear(32, 8),
        gamma=nn.Parameter(torch.full((8,), 0.5)),
    )
    return chain(nn.Conv2d(3, 8, 4, 4), made, pooled(8))


@architecture(uniform(3, 16, 16))
def groupnorm_network() -> Part:
    return chain(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.GroupNorm(2, 8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, 1, 1),
        nn.ReLU(),
        pooled(8),
    )


@architecture(uniform(1, 20, 20))
def spatial_transformer() -> Part:
    def warped(m: Any, x: Tensor) -> Tensor:
        theta = m.localise(x).view(-1, 2, 3)
        grid = functional.affine_grid(theta, [1, 1, 20, 20], align_corners=False)
        return m.classify(functional.grid_sample(x, grid, align_corners=False))

    localise = chain(
        nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 6)
    )
    return Of(warped, localise=localise, classify=chain(nn.Conv2d(1, 4, 5, 2), nn.ReLU(), pooled(4)))


@architecture(uniform(1, 16, 16))
def capsules() -> Part:
    """Primary capsules, squashed, and the lengths of those that they predict."""

    def squashed(x: Tensor) -> Tensor:
        square = (x * x).sum(-1, keepdim=True)
        return square / (1 + square) * x / torch.sqrt(square + 1e-6)

    def lengths(m: Any, x: Tensor) -> Tensor:
        primary = squashed(m.primary(x).reshape(1, -1, 4))
        return squashed(m.predict(primary.flatten(1)).view(1, 10, 4)).norm(dim=-1)

    return Of(lengths, primary=nn.Conv2d(1, 8, 5, 4), predict=nn.Linear(72, 40))


@architecture(uniform(3, 16, 16))
def multi_task() -> Part:
    return Of(
        lambda m, x: (m.age(h := m.body(x)), m.person(h)),
        body=chain(conv(3, 8, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        age=nn.Linear(8, 1),
        person=nn.Linear(8, 4),
    )


# Segmentation, detection, video, points


@architecture(uniform(1, 16, 16))
def unet() -> Part:
    def joined(m: Any, x: Tensor) -> Tensor:
        first = m.down1(x)
        second = m.down2(functional.max_pool2d(first, 2))
        below = m.below(functional.max_pool2d(second, 2))
        second = m.up2(torch.cat([m.grow2(below), second], dim=1))
        return m.out(m.up1(torch.cat([m.grow1(second), first], dim=1)))

    return Of(
        joined,
        down1=conv(1, 4),
        down2=conv(4, 8),
        below=conv(8, 16),
        grow2=nn.ConvTranspose2d(16, 8, 2, 2),
        up2=conv(16, 8),
        grow1=nn.ConvTranspose2d(8, 4, 2, 2),
        up1=conv(8, 4),
        out=nn.Conv2d(4, 2, 1),
    )


@architecture(uniform(3, 16, 16))
def fully_convolutional() -> Part:
    return Of(
        lambda m, x: functional.interpolate(m.body(x), size=(16, 16), mode="bilinear", align_corners=False),
        body=chain(conv(3, 8, 3, 2), conv(8, 8, 3, 2), nn.Conv2d(8, 3, 1)),
    )


@architecture(uniform(3, 16, 16))
def atrous_pyramid() -> Part:
    """Dilated convolutions side by side, with the whole image's mean."""

    def joined(m: Any, x: Tensor) -> Tensor:
        x = m.body(x)
        mean = functional.interpolate(m.mean(x), size=x.shape[2:], mode="nearest")
        return m.out(torch.cat([*(each(x) for each in m.rates), mean], dim=1))

    return Of(
        joined,
        body=conv(3, 8, 3, 2),
        rates=nn.ModuleList(nn.Conv2d(8, 4, 3, padding=rate, dilation=rate) for rate in (1, 2, 3)),
        mean=chain(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1)),
        out=nn.Conv2d(16, 3, 1),
    )


@architecture(uniform(3, 16, 16))
def yolo_head() -> Part:
    """Of each cell offsets by sigmoids, sizes by exponentials, and classes."""

    def boxes(m: Any, x: Tensor) -> Tensor:
        raw = m.head(m.body(x)).permute(0, 2, 3, 1).reshape(1, 16, 8)
        centre, size = (torch.sigmoid(raw[..., :2]) + m.cells) / 4, torch.exp(raw[..., 2:4])
        return torch.cat([centre, size, torch.sigmoid(raw[..., 4:])], dim=-1)

    cells = torch.stack(torch.meshgrid(torch.arange(4.0), torch.arange(4.0), indexing="ij"), -1).view(
        1, 16, 2
    )
    return Of(boxes, body=chain(conv(3, 8, 3, 2), conv(8, 8, 3, 2)), head=nn.Conv2d(8, 8, 1), cells=cells)


@architecture(uniform(1, 8, 12, 12))
def video() -> Part:
    return chain(
        [nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2)],
        [nn.Conv3d(4, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 5)],
    )


@architecture(normal(3, 32))
def pointnet() -> Part:
    shared = chain(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1), nn.ReLU())
    return Of(lambda m, x: m.out(m.shared(x).max(dim=2).values), shared=shared, out=mlp(32, 16, 5))


@architecture(normal(10, 4))
def deep_sets() -> Part:
    return Of(lambda m, x: m.out(m.each(x).sum(dim=1)), each=mlp(4, 16, 16), out=mlp(16, 16, 1))


# Sequences


def last(layer: Part, features: int, classes: int = 3) -> Part:
    """A class by what a recurrent layer says last."""
    return Of(lambda m, x: m.out(m.layer(x)[0][:, -1]), layer=layer, out=nn.Linear(features, classes))


@architecture(normal(8, 4))
def rnn_classifier() -> Part:
    return last(nn.RNN(4, 8, batch_first=True), 8)


@architecture(normal(8, 4))
def lstm_classifier() -> Part:
    return last(nn.LSTM(4, 8, batch_first=True), 8)


@architecture(normal(8, 4))
def gru_classifier() -> Part:
    return last(nn.GRU(4, 8, batch_first=True), 8)


@architecture(normal(8, 4))
def bidirectional_lstm() -> Part:
    return last(nn.LSTM(4, 6, num_layers=2, batch_first=True, bidirectional=True), 12)


@architecture(normal(12, 1))
def gru_forecaster() -> Part:
    return Of(
        lambda m, x: m.out(m.layer(x)[1][-1]), layer=nn.GRU(1, 8, batch_first=True), out=nn.Linear(8, 4)
    )


@architecture(normal(4), normal(8))
def lstm_cell() -> Part:
    return Of(lambda m, x, h: m.out(m.cell(x, (h, h))[0]), cell=nn.LSTMCell(4, 8), out=nn.Linear(8, 2))


@architecture(normal(2, 32))
def convolutions_1d() -> Part:
    return chain(
        [
            nn.Conv1d(2, 8, 5),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(8, 8, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        ],
        [nn.Flatten(), nn.Linear(8, 4)],
    )


@architecture(normal(1, 48))
def resnet_1d() -> Part:
    block = chain(nn.Conv1d(8, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1))
    return chain(
        [nn.Conv1d(1, 8, 7, 2, 3), nn.ReLU(), residual(block, after=nn.ReLU()), nn.AdaptiveAvgPool1d(1)],
        [nn.Flatten(), nn.Linear(8, 5)],
    )


def causal(before: int, after: int, dilation: int) -> Part:
    return chain(nn.ConstantPad1d((dilation, 0), 0.0), nn.Conv1d(before, after, 2, dilation=dilation))


@architecture(normal(4, 24))
def temporal_convolutions() -> Part:
    blocks = [
        residual(chain(causal(8, 8, rate), nn.ReLU(), causal(8, 8, rate), nn.ReLU())) for rate in (1, 2, 4)
    ]
    return Of(
        lambda m, x: m.out(m.body(x)[:, :, -1]), body=chain(nn.Conv1d(4, 8, 1), blocks), out=nn.Linear(8, 3)
    )


@architecture(normal(1, 24))
def wavenet() -> Part:
    def stacked(m: Any, x: Tensor) -> Tensor:
        x, skipped = m.first(x), 0
        for filtered, gate, mix in zip(m.filters, m.gates, m.mixes, strict=True):
            y = mix(torch.tanh(filtered(x)) * torch.sigmoid(gate(x)))
            x, skipped = x + y, skipped + y
        return m.out(torch.relu(skipped))

    return Of(
        stacked,
        first=nn.Conv1d(1, 4, 1),
        filters=nn.ModuleList(causal(4, 4, rate) for rate in (1, 2, 4)),
        gates=nn.ModuleList(causal(4, 4, rate) for rate in (1, 2, 4)),
        mixes=nn.ModuleList(nn.Conv1d(4, 4, 1) for _ in range(3)),
        out=nn.Conv1d(4, 1, 1),
    )


@architecture(normal(24, 3))
def dlinear() -> Part:
    """The trend, a moving average, and the rest, each by one layer."""

    def forecast(m: Any, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        trend = functional.avg_pool1d(functional.pad(x, (2, 2), mode="replicate"), 5, 1)
        return (m.trend(trend) + m.season(x - trend)).transpose(1, 2)

    return Of(forecast, trend=nn.Linear(24, 6), season=nn.Linear(24, 6))


@architecture(normal(24))
def nbeats() -> Part:
    def doubly_residual(m: Any, x: Tensor) -> Tensor:
        forecast = 0
        for body, back, ahead in zip(m.bodies, m.backs, m.aheads, strict=True):
            h = body(x)
            x, forecast = x - back(h), forecast + ahead(h)
        return forecast

    return Of(
        doubly_residual,
        bodies=nn.ModuleList(chain(mlp(24, 16, 16), nn.ReLU()) for _ in range(2)),
        backs=nn.ModuleList(nn.Linear(16, 24) for _ in range(2)),
        aheads=nn.ModuleList(nn.Linear(16, 6) for _ in range(2)),
    )


@architecture(uniform(1, 8, 24))
def crnn() -> Part:
    """Columns of an image, read as a sequence."""
    columns = chain(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    return Of(
        lambda m, x: m.out(m.rnn(m.columns(x).permute(0, 3, 1, 2).flatten(2))[0]),
        columns=columns,
        rnn=nn.GRU(16, 8, batch_first=True, bidirectional=True),
        out=nn.Linear(16, 6),
    )


# Attention and text


def attention(features: int, heads: int, length: int, causally: bool = False) -> Part:
    def attend(m: Any, x: Tensor) -> Tensor:
        parts = m.qkv(x).reshape(1, length, 3, heads, features // heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        scores = query @ key.transpose(-2, -1) / math.sqrt(features // heads)
        if causally:
            scores = scores.masked_fill(m.hidden, -1e4)
        mixed = torch.softmax(scores, dim=-1) @ value
        return m.out(mixed.transpose(1, 2).reshape(1, length, features))

    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    return Of(attend, qkv=nn.Linear(features, 3 * features), out=nn.Linear(features, features), hidden=hidden)


def transformer(features: int, heads: int, length: int, causally: bool = False) -> Part:
    """A block that normalises first."""
    return chain(
        residual(chain(nn.LayerNorm(features), attention(features, heads, length, causally))),
        residual(chain(nn.LayerNorm(features), mlp(features, 2 * features, features, act=nn.GELU))),
    )


@architecture(uniform(3, 16, 16))
def vision_transformer() -> Part:
    def embedded(m: Any, x: Tensor) -> Tensor:
        patches = m.patches(x).flatten(2).transpose(1, 2)
        return torch.cat([m.token, patches], dim=1) + m.places

    start = Of(
        embedded,
        patches=nn.Conv2d(3, 16, 4, 4),
        token=nn.Parameter(torch.randn(1, 1, 16)),
        places=nn.Parameter(torch.randn(1, 17, 16)),
    )
    head = Of(lambda m, x: m.head(m.norm(x)[:, 0]), norm=nn.LayerNorm(16), head=nn.Linear(16, 10))
    return chain(start, transformer(16, 2, 17), transformer(16, 2, 17), head)


@architecture(uniform(3, 16, 16))
def mlp_mixer() -> Part:
    def mixed(m: Any, x: Tensor) -> Tensor:
        x = x + m.tokens(m.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + m.channels(m.norm2(x))

    block = Of(
        mixed,
        norm1=nn.LayerNorm(12),
        tokens=mlp(16, 24, 16, act=nn.GELU),
        norm2=nn.LayerNorm(12),
        channels=mlp(12, 24, 12, act=nn.GELU),
    )
    patches = Of(lambda m, x: m.cut(x).flatten(2).transpose(1, 2), cut=nn.Conv2d(3, 12, 4, 4))
    return chain(patches, block, function(lambda x: x.mean(dim=1)), nn.Linear(12, 10))


@architecture(uniform(3, 16, 16))
def window_attention() -> Part:
    """Swin's: within windows of an image, that are moved before the second block."""

    def block(m: Any, x: Tensor) -> Tensor:
        if m.shift:
            x = torch.roll(x, (-2, -2), dims=(1, 2))
        cut = x.view(1, 2, 4, 2, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, 8)
        scores = m.query(cut) @ m.key(cut).transpose(1, 2) / math.sqrt(8)
        mixed = torch.softmax(scores, dim=-1) @ m.value(cut)
        mixed = mixed.view(1, 2, 2, 4, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(1, 8, 8, 8)
        x = x + mixed
        return torch.roll(x, (2, 2), dims=(1, 2)) if m.shift else x

    def made(shift: bool) -> Part:
        part = Of(block, query=nn.Linear(8, 8), key=nn.Linear(8, 8), value=nn.Linear(8, 8))
        part.shift = shift
        return part

    start = Of(lambda m, x: m.cut(x).permute(0, 2, 3, 1), cut=nn.Conv2d(3, 8, 2, 2))
    return chain(start, made(False), made(True), function(lambda x: x.mean(dim=(1, 2))), nn.Linear(8, 10))


@architecture(tokens(8, 50))
def bert() -> Part:
    start = Of(
        lambda m, ids: m.norm(m.words(ids) + m.places),
        words=nn.Embedding(50, 16),
        places=torch.randn(8, 16),
        norm=nn.LayerNorm(16),
    )
    layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)
    return chain(start, layer, function(lambda x: x[:, 0]), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))


@architecture(tokens(8, 50))
def gpt() -> Part:
    start = Of(lambda m, ids: m.words(ids) + m.places, words=nn.Embedding(50, 16), places=torch.randn(8, 16))
    block = transformer(16, 2, 8, causally=True)
    return chain(start, block, nn.LayerNorm(16), nn.Linear(16, 50, bias=False))


@architecture(normal(6, 16))
def transformer_encoder() -> Part:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return chain(layer, function(lambda x: x.mean(dim=1)), nn.Linear(16, 3))


@architecture(normal(6, 16), normal(4, 16))
def cross_attention() -> Part:
    attend = nn.MultiheadAttention(16, 2, batch_first=True)
    return Of(lambda m, x, y: m.norm(x + m.attend(x, y, y)[0]), attend=attend, norm=nn.LayerNorm(16))


@architecture(normal(8, 16))
def llama_block() -> Part:
    """Norms by root mean squares, rotated places, gated layers."""

    def rms(x: Tensor, weight: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    def rotated(m: Any, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=-1)
        return x * m.cosines + torch.cat([-right, left], dim=-1) * m.sines

    def block(m: Any, x: Tensor) -> Tensor:
        h = rms(x, m.norm1)
        query, key = rotated(m, m.query(h)), rotated(m, m.key(h))
        scores = (query @ key.transpose(1, 2) / 4).masked_fill(m.hidden, -1e4)
        x = x + m.out(torch.softmax(scores, dim=-1) @ m.value(h))
        h = rms(x, m.norm2)
        return x + m.shrink(functional.silu(m.gate(h)) * m.grow(h))

    angles = torch.arange(8.0)[:, None] * 100.0 ** (-torch.arange(8.0) / 8)[None]
    angles = torch.cat([angles, angles], dim=-1)
    layers = {name: nn.Linear(16, 16, bias=False) for name in ("query", "key", "value", "out")}
    gated = {"gate": nn.Linear(16, 32, bias=False), "grow": nn.Linear(16, 32, bias=False)}
    return Of(
        block,
        **layers,
        **gated,
        shrink=nn.Linear(32, 16, bias=False),
        norm1=nn.Parameter(torch.rand(16) + 0.5),
        norm2=nn.Parameter(torch.rand(16) + 0.5),
        cosines=angles.cos(),
        sines=angles.sin(),
        hidden=torch.ones(8, 8, dtype=torch.bool).triu(1),
    )


@architecture(normal(10, 8))
def attention_pooling() -> Part:
    return Of(
        lambda m, x: m.out((torch.softmax(m.score(torch.tanh(m.body(x))), dim=1) * x).sum(dim=1)),
        body=nn.Linear(8, 8),
        score=nn.Linear(8, 1),
        out=nn.Linear(8, 3),
    )


@architecture(tokens(12, 50))
def text_cnn() -> Part:
    def joined(m: Any, ids: Tensor) -> Tensor:
        x = m.words(ids).transpose(1, 2)
        return m.out(torch.cat([torch.relu(each(x)).max(dim=2).values for each in m.sizes], dim=1))

    sizes = nn.ModuleList(nn.Conv1d(8, 4, size) for size in (2, 3, 4))
    return Of(joined, words=nn.Embedding(50, 8), sizes=sizes, out=nn.Linear(12, 2))


@architecture(tokens(12, 50))
def fast_text() -> Part:
    return Of(lambda m, ids: m.out(m.words(ids).mean(dim=1)), words=nn.Embedding(50, 8), out=nn.Linear(8, 3))


@architecture(tokens(8, 50))
def lstm_language_model() -> Part:
    return Of(
        lambda m, ids: m.out(m.layer(m.words(ids))[0]),
        words=nn.Embedding(50, 8),
        layer=nn.LSTM(8, 8, batch_first=True),
        out=nn.Linear(8, 50),
    )


# Recommenders, graphs, agents


@architecture(tokens(1, 20), tokens(1, 30))
def matrix_factorisation() -> Part:
    return Of(
        lambda m, user, item: (m.users(user) * m.items(item)).sum(dim=-1),
        users=nn.Embedding(20, 8),
        items=nn.Embedding(30, 8),
    )


@architecture(tokens(1, 20), tokens(1, 30))
def neural_collaborative_filtering() -> Part:
    def score(m: Any, user: Tensor, item: Tensor) -> Tensor:
        product = m.users(user)[:, 0] * m.items(item)[:, 0]
        deep = m.deep(torch.cat([m.deep_users(user)[:, 0], m.deep_items(item)[:, 0]], dim=1))
        return torch.sigmoid(m.out(torch.cat([product, deep], dim=1)))

    return Of(
        score,
        users=nn.Embedding(20, 8),
        items=nn.Embedding(30, 8),
        deep_users=nn.Embedding(20, 8),
        deep_items=nn.Embedding(30, 8),
        deep=mlp(16, 16, 8),
        out=nn.Linear(16, 1),
    )


@architecture(normal(6), tokens(3, 40))
def wide_and_deep() -> Part:
    return Of(
        lambda m, x, ids: torch.sigmoid(m.wide(x) + m.deep(torch.cat([x, m.words(ids).flatten(1)], dim=1))),
        wide=nn.Linear(6, 1),
        words=nn.Embedding(40, 4),
        deep=mlp(18, 16, 1),
    )


@architecture(normal(6), tokens(3, 40))
def dlrm() -> Part:
    def score(m: Any, x: Tensor, ids: Tensor) -> Tensor:
        dense = torch.relu(m.bottom(x))
        all_ = torch.cat([dense.unsqueeze(1), m.words(ids)], dim=1)
        products = torch.bmm(all_, all_.transpose(1, 2)).flatten(1)[:, m.pairs]
        return torch.sigmoid(m.top(torch.cat([dense, products], dim=1)))

    pairs = torch.tensor([row * 4 + column for row in range(4) for column in range(row)])
    return Of(score, bottom=mlp(6, 16, 8), words=nn.Embedding(40, 8), top=mlp(14, 16, 1), pairs=pairs)


@architecture(normal(10))
def factorisation_machine() -> Part:
    return Of(
        lambda m, x: (
            m.linear(x) + 0.5 * ((x @ m.factors) ** 2 - (x**2) @ (m.factors**2)).sum(1, keepdim=True)
        ),
        linear=nn.Linear(10, 1),
        factors=nn.Parameter(torch.randn(10, 4)),
    )


@architecture(uniform(1, 12, 12), uniform(1, 12, 12))
def siamese() -> Part:
    body = chain(conv(1, 4, 3, 2), nn.Flatten(), nn.Linear(144, 8))
    return Of(
        lambda m, x, y: torch.sigmoid(m.out(torch.abs(m.body(x) - m.body(y)))), body=body, out=nn.Linear(8, 1)
    )


@architecture(normal(16), normal(16))
def two_towers() -> Part:
    return Of(
        lambda m, x, y: functional.cosine_similarity(m.left(x), m.right(y)),
        left=mlp(16, 16, 8),
        right=mlp(16, 16, 8),
    )


def neighbours(count: int) -> Tensor:
    """A graph's adjacency, normalised."""
    links = (torch.rand(count, count) < 0.3).float()
    links = ((links + links.T + torch.eye(count)) > 0).float()
    scale = links.sum(1).rsqrt()
    return scale[:, None] * links * scale[None]


@architecture(normal(12, 8))
def graph_convolutions() -> Part:
    return Of(
        lambda m, x: m.second(m.links @ torch.relu(m.first(m.links @ x))),
        links=neighbours(12),
        first=nn.Linear(8, 16),
        second=nn.Linear(16, 4),
    )


@architecture(normal(12, 8), lambda: neighbours(12)[None])
def graph_convolutions_any_graph() -> Part:
    return Of(
        lambda m, x, links: m.second(torch.bmm(links, torch.relu(m.first(torch.bmm(links, x))))).mean(dim=1),
        first=nn.Linear(8, 16),
        second=nn.Linear(16, 4),
    )


@architecture(normal(12, 8))
def graph_attention() -> Part:
    def attend(m: Any, x: Tensor) -> Tensor:
        h = m.body(x)
        scores = functional.leaky_relu(m.source(h) + m.target(h).transpose(1, 2), 0.2)
        return m.out(functional.elu(torch.softmax(scores.masked_fill(m.links == 0, -1e4), dim=-1) @ h))

    return Of(
        attend,
        links=neighbours(12),
        body=nn.Linear(8, 8),
        source=nn.Linear(8, 1),
        target=nn.Linear(8, 1),
        out=nn.Linear(8, 4),
    )


@architecture(normal(8))
def dueling_dqn() -> Part:
    def values(m: Any, x: Tensor) -> Tensor:
        h = m.body(x)
        advantage = m.advantage(h)
        return m.value(h) + advantage - advantage.mean(dim=1, keepdim=True)

    body = chain(nn.Linear(8, 32), nn.ReLU())
    return Of(values, body=body, value=nn.Linear(32, 1), advantage=nn.Linear(32, 4))


@architecture(normal(8))
def actor_critic() -> Part:
    return Of(
        lambda m, x: (torch.tanh(m.actor(h := m.body(x))), m.critic(h)),
        body=chain(mlp(8, 32, 32, act=nn.Tanh), nn.Tanh()),
        actor=nn.Linear(32, 2),
        critic=nn.Linear(32, 1),
    )


def made(name: str) -> tuple[Part, tuple[Tensor, ...]]:
    """The architecture as it begins, and its inputs."""
    torch.manual_seed(0)
    make, inputs = ARCHITECTURES[name]
    module = make().eval()
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            nn.init.normal_(part.running_mean, std=0.1)
            nn.init.uniform_(part.running_var, 0.5, 1.5)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, std=0.1)
    return module, tuple(one() for one in inputs)


EXPORTERS: Final = {"pytorch-export": True, "pytorch-torchscript": False}


def write(name: str, suite: Path) -> None:
    """The network and its inputs, into a folder of its own in the suite."""
    module, inputs = made(name)
    folder = suite / name
    folder.mkdir(parents=True, exist_ok=True)
    file, dynamo = folder / "network.onnx", EXPORTERS[suite.name]
    options = {"external_data": False} if dynamo else {}
    said = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, file, dynamo=dynamo, **options)
    names = entries(load(file).graph)
    np.savez(folder / "input.npz", **{each: x.numpy() for each, x in zip(names, inputs, strict=True)})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the suites go")
    parser.add_argument(
        "--only", nargs="+", choices=ARCHITECTURES, metavar="NAME", help="these architectures"
    )
    options = parser.parse_args()
    for exporter in EXPORTERS:
        for name in options.only or ARCHITECTURES:
            write(name, options.folder / exporter)


if __name__ == "__main__":
    main()
