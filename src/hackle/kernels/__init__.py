"""The stacked convolution operator: its contract and its implementations."""

from hackle.kernels.convolution import down, taps, up

__all__ = ["down", "taps", "up"]
