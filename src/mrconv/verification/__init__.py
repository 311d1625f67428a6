"""Proof by experiment that all forms of a layer or model compute the same."""

from .api import verify
from .proof import Proof, Row

__all__ = ["Proof", "Row", "verify"]
