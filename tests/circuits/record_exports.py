"""Record what PyTorch's two exporters write for small networks: the files beside this one in onnx_files/.

    python tests/circuits/record_exports.py       with torch and onnxscript installed

``*_ts.onnx`` come from the TorchScript exporter, ``*_ts_raw.onnx`` without its constant folding, and
``*_dyn.onnx`` with ``*_dyn.onnx.data`` from torch.export (dynamo). Recorded with PyTorch 2.15.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

FILES = Path(__file__).parent / "onnx_files"


class LeNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2, self.pool = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 8, 5), nn.AvgPool2d(2)
        self.fc1, self.fc2 = nn.Linear(200, 12), nn.Linear(12, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.fc1(x.view(x.size(0), -1)))
        return torch.log_softmax(self.fc2(x), dim=1)


class Vgg(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        first = [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2, 2)]
        second = [nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(True), nn.MaxPool2d(2, 2)]
        self.features, self.pool = nn.Sequential(*first, *second), nn.AdaptiveAvgPool2d((4, 4))
        self.classifier = nn.Sequential(nn.Linear(128, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 10))

    def forward(self, x: Any) -> Any:
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Any) -> Any:
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        y += self.shortcut(x)
        return torch.relu(y)


class ResNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4)
        self.stem_pool, self.pool = nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d((1, 1))
        self.blocks, self.fc = nn.Sequential(Block(4, 4, 1), Block(4, 8, 2)), nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.stem_pool(torch.relu(self.norm(self.conv(x)))))
        return self.fc(torch.flatten(self.pool(x), 1))


class Odd(nn.Module):  # type: ignore[misc]
    """Habits: input scaling, pad, same padding, hardtanh, depthwise, cat, mean, a sliced weight, reshape."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.depthwise = nn.Conv2d(3, 4, 3, padding="same"), nn.Conv2d(4, 4, 3, groups=4)
        self.pointwise, self.weight = nn.Conv2d(4, 3, 1), nn.Parameter(torch.randn(7, 12))
        self.register_buffer("mean", torch.tensor([0.4, 0.5, 0.6]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.2, 0.3, 0.4]).view(1, 3, 1, 1))

    def forward(self, x: Any) -> Any:
        x = functional.pad((x - self.mean) / self.std, (1, 0, 1, 2))
        y = functional.hardtanh(self.conv(x), -1, 2)
        a, b = self.depthwise(y), functional.max_pool2d(y, 3, 1)
        z = torch.cat([a, b, self.pointwise(a)], 1).mean([2, 3])
        z = torch.cat([z.unsqueeze(2).squeeze(2)], 1)
        return (z @ self.weight.t()[:11]).reshape(z.shape[0], -1) * 2 + 1


def record(name: str, module: nn.Module, example: Any) -> None:
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias)
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    module.eval()
    names = {"input_names": ["x"], "output_names": ["y"]}
    for suffix, folding in (("ts", True), ("ts_raw", False)):
        torch.onnx.export(
            module,
            (example,),
            str(FILES / f"{name}_{suffix}.onnx"),
            dynamo=False,
            do_constant_folding=folding,
            dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
            **names,
        )
    batch = ({0: torch.export.Dim("batch")},)
    path = FILES / f"{name}_dyn.onnx"
    torch.onnx.export(
        module, (example,), str(path), dynamo=True, dynamic_shapes=batch, verbose=False, **names
    )


def main() -> None:
    torch.manual_seed(0)
    FILES.mkdir(exist_ok=True)
    record("lenet", LeNet(), torch.randn(1, 3, 32, 32))
    record("vgg", Vgg(), torch.randn(1, 3, 16, 16))
    record("resnet", ResNet(), torch.randn(1, 3, 32, 32))
    record("odd", Odd(), torch.randn(1, 3, 10, 10))


if __name__ == "__main__":
    main()
