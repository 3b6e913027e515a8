"""What tests of backends share."""

from __future__ import annotations

from llama import llama

__all__ = ("llama",)
