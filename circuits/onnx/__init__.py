"""ONNX files: to a :class:`~zenserve.circuits.graphs.graph.Graph`, and back.

The file is untrusted. Only the protobuf message is decoded; nothing in it is executed, sizes are checked
before anything is allocated for them, and no other file is opened but tensors beside a model that was
loaded from a path. What is not understood exactly is refused with a ``ModelError`` that names the node:

    model.not_onnx                the bytes are no ONNX model
    model.opset                   no operator set version, one too old, or one not known yet
    model.external_data           tensors in other files that are missing, out of reach, or not allowed
    model.unsupported_operator    a node whose operator has no circuit
    model.unsupported_attribute   an operator used in a way that has no circuit
    model.outputs                 no output that an input changes
    model.order                   a node reads what only a later node makes: a cycle, or not sorted
    model.dynamic_shape           a dimension other than the batch is not fixed
    model.shape                   shapes that do not fit together
    model.tensor_type             an element type that does not fit
    model.quantisation            scales and zero points that contradict one another
    model.missing_initialiser     a weight that the file does not hold
    model.duplicate_name          two tensors of one name
    model.bad_tensor              a tensor that cannot be decoded
    model.not_finite              NaN or infinity in a weight
    model.too_large               more weights, nodes or elements than a circuit could ever have

``message.py`` and ``decoding.py`` decode, ``constants.py`` holds the weights, ``reader.py`` walks the nodes
and has each operator (``zenserve.circuits.operators``) say in a ``step.py`` what it becomes. ``write.py``
goes the other way, and ``export.py`` has PyTorch write such a file. Operators need no protobuf: what runs
networks does not load it.
"""
