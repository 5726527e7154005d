"""Train a 64-32-10 network on scikit-learn's digits and write everything the example needs beside it.

    python -m examples.digits.train

Writes digits.onnx (the float network), calibration.npy (training images that set the quantiser's ranges),
held_out.npz (images and labels the network has never seen) and report.json (accuracies). Deterministic.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from zenserve.circuits import load_onnx, quantise

HERE = Path(__file__).parent
SEED = 7
CALIBRATION_IMAGES = 200


def train(images: np.ndarray, labels: np.ndarray) -> MLPClassifier:
    network = MLPClassifier(hidden_layer_sizes=(32,), alpha=0.05, max_iter=400, random_state=SEED)
    return network.fit(images, labels)


def to_onnx(network: MLPClassifier) -> ModelProto:
    """Flatten, Gemm, Relu, Gemm: images [batch, 8, 8] to logits [batch, 10]."""
    weights = {}
    for index, (matrix, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True), start=1):
        weights[f"fc{index}.weight"] = matrix.T.astype(np.float32)
        weights[f"fc{index}.bias"] = bias.astype(np.float32)
    nodes = [
        helper.make_node("Flatten", ["image"], ["pixels"], name="flatten"),
        helper.make_node("Gemm", ["pixels", "fc1.weight", "fc1.bias"], ["sum1"], name="fc1", transB=1),
        helper.make_node("Relu", ["sum1"], ["hidden"], name="relu1"),
        helper.make_node("Gemm", ["hidden", "fc2.weight", "fc2.bias"], ["logits"], name="fc2", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="zenserve"
    )


def main() -> None:
    digits = load_digits()
    images = digits.images.astype(np.float32)
    seen, held_out, seen_labels, labels = train_test_split(
        images, digits.target, test_size=0.25, random_state=SEED, stratify=digits.target
    )
    network = train(seen.reshape(len(seen), -1), seen_labels)
    model = to_onnx(network).SerializeToString()
    calibration = seen[:CALIBRATION_IMAGES]

    graph = load_onnx(model)
    qgraph = quantise(graph, calibration)
    float_labels = graph.run(held_out.astype(np.float64)).argmax(axis=1)
    pixels = qgraph.input.type.quantise(held_out.astype(np.float64))
    quantised_labels = np.array([qgraph.execute(image).label for image in pixels])
    report = {
        "held_out_images": len(labels),
        "float_accuracy": round(float(np.mean(float_labels == labels)), 4),
        "quantised_accuracy": round(float(np.mean(quantised_labels == labels)), 4),
        "bits": qgraph.input.type.bits,
    }

    (HERE / "digits.onnx").write_bytes(model)
    np.save(HERE / "calibration.npy", calibration.astype(np.uint8))
    np.savez_compressed(
        HERE / "held_out.npz", images=held_out.astype(np.uint8), labels=labels.astype(np.uint8)
    )
    (HERE / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
