"""The network's weights as certificates read them: turned round, absolute, or each for itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.norms import Rooting, no_smaller, roots
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Convolution, MatMul, Parameter, Square, Tabulated, Tensor, Term, Total


class View(NamedTuple):
    """A parameter on the wires of another: ``places`` says which of these each entry is; None are zeros."""

    of: Parameter | None
    places: IntArray


class Parameters:
    """``views``: parameters on the wires of others, which no relation makes."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.views: dict[Parameter, View] = {}
        self._absolutes: dict[Parameter, Parameter] = {}

    def absolute(self, weight: Parameter) -> Parameter:
        if weight not in self._absolutes:
            low, high = weight.bound.interval
            values = np.abs(weight.values)
            made = replace(
                weight,
                name=f"{weight.name}/absolute",
                values=values,
                bound=Bound(np.zeros_like(weight.bound.low), weight.bound.reach),
            )
            if weight.privacy != "public":
                function = Tabulation(np.abs(np.arange(low, high + 1)), low)
                self.draft.relations.append(Tabulated(made.name, made, weight, function))
            self._absolutes[weight] = made
        return self._absolutes[weight]

    def doubled_norms(self, weight: Parameter, repeated: int) -> Parameter:
        """[outputs, 1]: twice the Euclidean norm of each output's weights, or a little more, were each of
        them there so often."""
        outputs, taps = len(weight.values), math.prod(weight.shape[1:])
        places = np.arange(weight.values.size).reshape(outputs, taps).T
        rule = Rooting((1, taps, outputs), 4 * repeated)
        most = int(rule.factor * taps * top_of(weight) ** 2)
        require_fit(f"{weight.name}/norms", (0, most))
        columns = self.view(f"{weight.name}/columns", weight, places)
        norms = Parameter(
            f"{weight.name}/norms",
            (outputs, 1),
            Bound.of(0, (1 << int(roots(np.array(most))).bit_length()) - 1),
            values=rule.choose(columns.values)[:, np.newaxis],
            privacy=weight.privacy,
        )
        if weight.privacy == "public":
            return public(norms.name, norms.values)
        squares = Tensor(f"{columns.name}/squares", places.shape, Bound.of(0, top_of(weight) ** 2))
        total = Tensor(f"{norms.name}/squares", (outputs,), Bound.of(0, most))
        self.draft.relations += [Square(squares.name, squares, columns), Total(total.name, total, squares)]
        self.draft.choose(norms, (columns,), rule)
        self.draft.within(f"{norms.name}/range", norms.shape, norms.bound.bits, Term(norms))
        no_smaller(self.draft, norms, Term(total, rule.factor))
        return norms

    def view(self, name: str, of: Parameter, places: IntArray) -> Parameter:
        proof = "relation" if of.bound.proof == "range" else of.bound.proof
        low, high = of.bound.interval
        made = Parameter(
            name,
            places.shape,
            Bound.of(low, high, proof),
            values=of.values.ravel()[places],
            privacy=of.privacy,
        )
        self.views[made] = View(of, places)
        return made

    def zeros(self, name: str, shape: tuple[int, ...], beside: Parameter) -> Parameter:
        made = Parameter(
            name, shape, Bound.of(0, 0), values=np.zeros(shape, np.int64), privacy=beside.privacy
        )
        self.views[made] = View(None, np.zeros(shape, np.int64))
        return made

    def doubled_bias(self, relation: MatMul | Convolution) -> tuple[Parameter, list[Term]]:
        """As a bias where it is public; else as a term beside sums without any."""
        bias = relation.bias
        if bias.privacy == "public":
            return public(f"{relation.name}/centre/bias", 2 * bias.values), []
        zeros = self.zeros(f"{relation.name}/centre/bias", bias.shape, bias)
        channels = np.arange(bias.values.size).reshape(-1, *(1 for _ in relation.out.shape[2:]))
        places = np.broadcast_to(channels, relation.out.shape)
        return zeros, [Term(self.view(f"{relation.name}/bias/each", bias, places), 2)]


def public(name: str, values: IntArray) -> Parameter:
    """Constants."""
    return Parameter(
        name, values.shape, Bound.of(int(values.min()), int(values.max())), values=values, privacy="public"
    )


def most(weight: Parameter, reach: int) -> int:
    """Return an upper bound of the absolute sum of an output's products, for values within ``reach``."""
    if weight.privacy == "public":
        return int(np.abs(weight.values).reshape(len(weight.values), -1).sum(axis=1).max()) * reach
    return math.prod(weight.shape[1:]) * top_of(weight) * reach


def top_of(tensor: Tensor) -> int:
    """The largest absolute value."""
    return int(tensor.bound.reach.max())
