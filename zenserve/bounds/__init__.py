"""Robustness: which inputs near a given one are certain to keep its label (docs/robustness.md).

network = read(graph)                                     # a float network, or one of integers
region = Ball(images, np.full(len(images), 8 / 255), "inf", domain=(0, 1))
certify(network, region, labels, "crown").robust          # booleans [n]
"""

from zenserve.bounds.ball import Ball, Norm, Region, Synonyms
from zenserve.bounds.certify import METHODS, Certified, certify, furthest
from zenserve.bounds.network import Network
from zenserve.bounds.propagation import Bounds, Method
from zenserve.bounds.reading import read

__all__ = [
    "METHODS",
    "Ball",
    "Bounds",
    "Certified",
    "Method",
    "Network",
    "Norm",
    "Region",
    "Synonyms",
    "certify",
    "furthest",
    "read",
]
