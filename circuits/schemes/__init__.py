"""What is proven of a network: one inference, an accuracy, a recognition, the registration of its weights."""
