"""The schemes that prove claims about a network: one inference, an accuracy, a recognition, and the
registration of its weights."""
