"""Enough of Triton, in NumPy, to run the kernels' own source where there is no GPU, one program after another."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch


class Block(np.ndarray):
    """A Triton value: an array of one type that never mixes signed with unsigned."""

    def to(self, dtype, bitcast=False):
        assert not bitcast or np.dtype(dtype).itemsize == self.itemsize
        return self.astype(dtype)

    def __iadd__(self, other):  # Triton's values do not change: a sum is a new one
        return self + other

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        kinds = {value.dtype.kind for value in inputs if isinstance(value, np.ndarray)} - {"b"}
        assert len(kinds) <= 1, f"{ufunc.__name__} of {[getattr(value, 'dtype', value) for value in inputs]}"
        plain = [value.view(np.ndarray) if isinstance(value, Block) else value for value in inputs]
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Block)


class Pointer:
    def __init__(self, memory, offset=None):
        self.memory = memory
        self.offset = np.zeros(1, np.int32).view(Block) if offset is None else offset

    def __add__(self, other):
        return Pointer(self.memory, self.offset + other)

    def place(self):
        offset = self.offset.view(np.ndarray)
        assert offset.min() >= 0
        assert offset.max() < len(self.memory)
        return offset


class Language:
    """As much of triton.language as the kernels use. Scalars are arrays of one element, which wrap around silently."""

    uint8, int32, int64, uint32 = np.uint8, np.int32, np.int64, np.uint32
    static_range = range
    program: tuple[int, ...] = ()

    def program_id(self, axis):
        return np.array([self.program[axis]], np.int32).view(Block)

    def arange(self, start, end):
        assert (end - start) & (end - start - 1) == 0
        return np.arange(start, end, dtype=np.int32).view(Block)

    def load(self, pointer):
        return pointer.memory[pointer.place()].view(Block)

    def store(self, pointer, value):
        assert value.dtype == pointer.memory.dtype
        pointer.memory[pointer.place()] = value

    def where(self, condition, one, other):
        return np.where(condition, one, other).view(Block)

    def umulhi(self, one, other):
        assert one.dtype == np.uint32
        return ((one.astype(np.uint64) * np.uint64(other)) >> np.uint64(32)).astype(np.uint32)

    def interleave(self, one, other):
        return np.stack([one, other], axis=-1).reshape(-1).view(Block)


class Launcher:
    """Runs a kernel's Python source for every program of the grid."""

    def __init__(self, kernel, language):
        self.kernel: Any = getattr(kernel, "fn", kernel)
        self.language = language

    def __getitem__(self, grid):
        def launch(*arguments, **constants) -> None:
            for self.language.program in itertools.product(*map(range, grid)):
                self.kernel(*map(self.convert, arguments), **constants)

        return launch

    @staticmethod
    def convert(argument):
        if isinstance(argument, torch.Tensor):
            return Pointer(argument.view(-1).numpy())
        if isinstance(argument, int):
            return np.array([argument], np.int32 if -(2**31) <= argument < 2**31 else np.int64).view(Block)
        return argument


def emulate(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """For one test: functions of these modules run in NumPy, and those called …_kernel can be launched."""
    language = Language()
    for module in modules:
        monkeypatch.setattr(module, "tl", language)
        for name, function in list(vars(module).items()):
            if name.endswith("_kernel"):
                monkeypatch.setattr(module, name, Launcher(function, language))
            elif hasattr(function, "fn"):
                monkeypatch.setattr(module, name, function.fn)
