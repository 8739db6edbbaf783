"""The stacked convolution operator: its contract and its implementations."""

from hackle.kernels.convolution import down, down_layer, taps, tower, up, up_layer

__all__ = ["down", "down_layer", "taps", "tower", "up", "up_layer"]
