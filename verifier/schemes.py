"""The schemes, what they are about and what they may show: one name for each, for all who speak of them."""

from __future__ import annotations

from typing import Literal

Scheme = Literal["inference", "recognition", "accuracy"]
"""What a proof that somebody asks for claims."""
AnyScheme = Literal["registration", Scheme]
"""What any proof does, that of a registration too."""
Privacy = Literal["public", "private", "committed"]
"""Of what a circuit takes. What is committed is private, and the same in every proof that links to the
commitment.
"""
PublicOrPrivate = Literal["public", "private"]
PublicOrCommitted = Literal["public", "committed"]
CommitmentKind = Literal["input", "reference"]
Reveal = Literal["label", "logits", "top", "values"]
"""What an inference shows of its output: the label, beside it all logits, a few labels in order, or all
values, which need not be of classes.
"""
