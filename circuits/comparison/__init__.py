"""Answers of a model, of its file, of the float network and of the integers, compared before a proof."""
