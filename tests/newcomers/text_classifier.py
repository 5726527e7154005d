"""A PyTorch classifier of sentences: what it makes of a secret sentence is proven."""

import re

import numpy as np
import torch
from torch import nn

import zenserve

GOOD, BAD = ("good", "great", "lovely", "fine"), ("bad", "awful", "dull", "poor")
OTHERS = ("the", "film", "was", "a", "very", "play", "actors", "were", "story", "and")
PLACES = {word: place + 1 for place, word in enumerate((*GOOD, *BAD, *OTHERS))}
LENGTH = 8


def places(sentence: str) -> list[int]:
    found = [PLACES.get(word, 0) for word in re.findall(r"[a-z]+", sentence.lower())][:LENGTH]
    return found + [0] * (LENGTH - len(found))


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(len(PLACES) + 1, 8)
        self.rest = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.rest(self.words(tokens).mean(dim=1))


torch.manual_seed(3)
draw = np.random.default_rng(3)
labels = draw.integers(0, 2, 400)
sentences = [" ".join([*draw.choice(OTHERS, 5), str(draw.choice((BAD, GOOD)[label]))]) for label in labels]
tokens = torch.tensor([places(each) for each in sentences])
model = Classifier()
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(60):
    optimiser.zero_grad()
    nn.functional.cross_entropy(model(tokens), torch.tensor(labels)).backward()
    optimiser.step()
model.eval()

secret = torch.tensor([places("The story was lovely and the actors were great")])
proof = zenserve.prove(model, secret, calibration=tokens[:200], ranges={"tokens": (0, len(PLACES))})
print(proof.shown["label"], int(model(secret).argmax()))
assert proof.shown["label"] == int(model(secret).argmax())
proof.save("proof")
