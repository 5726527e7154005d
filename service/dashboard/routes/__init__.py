"""The pages, by room."""
