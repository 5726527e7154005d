"""Float networks, from ONNX files and by hand."""
