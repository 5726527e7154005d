"""What a stream of frames asks of a bank of models, recomputed by whoever verifies: integers, no floats."""
