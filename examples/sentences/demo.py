"""Sentences in which words may be exchanged for synonyms: what is made of all of them at once.

    python -m examples.sentences.demo ["SENTENCE" ...] [--reader FILE] [--synonyms FILE]

The reader, of one layer, says whether a sentence praises or blames. It is certain to say the same of every
choice of synonyms where bounds have a margin; else choices are looked for of which it says otherwise. Words
are between blanks, and those that it does not know are none. Synonyms are words in one line of a file.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from examples.sentences.network import READER, Reader
from zenserve import bounds
from zenserve.bounds import Synonyms, attack

SETS: Final = Path(__file__).parent / "synonyms.txt"
SAYS: Final = "blames", "praises"
SENTENCES: Final = (
    "a funny and touching story with a great cast",
    "the director tells a boring tale",
    "a good film",
)


def sets(file: Path) -> dict[str, list[str]]:
    """Of each word in ``file`` all words of its line, itself first."""
    lines = [line.split() for line in file.read_text().splitlines()]
    return {word: [word, *(each for each in line if each != word)] for line in lines for word in line}


class Answer(NamedTuple):
    """Of a sentence. ``choices``: how many there are of what its words may be exchanged for; ``margin``: by
    how much the ``label`` is ahead at least, whichever it is; ``other``: one with another label, if found."""

    label: int
    choices: int
    margin: float
    other: str | None


def asked(reader: Reader, sentence: str, synonyms: Mapping[str, Sequence[str]]) -> Answer:
    own = reader.known(sentence)
    words = [[each for each in synonyms.get(word, [word]) if each in reader.words] for word in own]
    network, region = bounds.read(reader.by_word(len(words))), Synonyms(reader.choices(words)[np.newaxis])
    label = network.run(region.choices[:, :, 0]).argmax(axis=1)
    margin = float(bounds.certify(network, region, label).least[0])
    found = attack.projected(network, region, label, np.random.default_rng(0))
    other = None
    if attack.margins(network, found, label)[0] < 0:
        chosen = np.abs(region.choices[0] - found[0, :, np.newaxis]).max(axis=-1).argmin(axis=1).tolist()
        other = " ".join(some[at] for some, at in zip(words, chosen, strict=True))
    return Answer(int(label[0]), math.prod(map(len, words)), margin, other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sentences", metavar="SENTENCE", nargs="*", default=SENTENCES)
    parser.add_argument("--reader", type=Path, default=READER)
    parser.add_argument("--synonyms", type=Path, default=SETS)
    options = parser.parse_args()
    reader, synonyms = Reader.load(options.reader), sets(options.synonyms)
    for sentence in options.sentences:
        if not reader.known(sentence):
            parser.error(f"of {sentence!r} the reader knows no word")
        label, choices, margin, other = asked(reader, sentence, synonyms)
        print(f'"{" ".join(reader.known(sentence))}" {SAYS[label]}.', end=" ")
        if margin > 0:
            print(f"So do all {choices:,} choices of synonyms, by {margin:.3f} at least.")
        elif other:
            print(f'Of {choices:,} choices not all do: "{other}" {SAYS[1 - label]}.')
        else:
            print(f"That of {choices:,} choices all do is not certain, and none was found that does not.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
