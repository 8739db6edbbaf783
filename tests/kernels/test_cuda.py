"""Kernels in CUDA C++: what NVRTC makes of them, what is kept on disk, and what the driver is told.

NVRTC needs no GPU, but must be there: it comes with a PyTorch for CUDA, or by `pip install nvidia-cuda-nvrtc`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import c_char_p, c_float, c_int, c_void_p
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hackle.kernels import cuda

ADD = """
struct Sum { float* out; const float* a; const float* b; int count; };

extern "C" __global__ void add(Sum sum) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < sum.count) sum.out[index] = sum.a[index] + SCALE * sum.b[index];
}

struct Turned { float* out; const float* in; };

extern "C" __global__ void turned(Turned given) {
    extern __shared__ float held[];
    for (int index = threadIdx.x; index < COUNT; index += blockDim.x) held[index] = given.in[index];
    __syncthreads();
    for (int index = threadIdx.x; index < COUNT; index += blockDim.x) given.out[index] = held[COUNT - 1 - index];
}
"""
COUNT = 16_000
"""Numbers of 4 bytes, of which 48 KiB hold fewer: more shared memory than is given unasked."""
DEFINES = {"SCALE": "2.0f", "COUNT": COUNT}


class Sum(ctypes.Structure):
    _fields_ = [("out", c_void_p), ("a", c_void_p), ("b", c_void_p), ("count", c_int)]


class Turned(ctypes.Structure):
    _fields_ = [("out", c_void_p), ("given", c_void_p)]


@pytest.fixture
def nvrtc() -> None:
    if cuda.find_nvrtc() is None:
        pytest.skip("needs NVRTC; there is none here: `pip install nvidia-cuda-nvrtc`")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hackle" / "cuda"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Notes the constants of what is compiled."""
    noted, compile_source = [], cuda.compile_source

    def noting(source: str, defines: dict[str, Any], architecture: str) -> bytes:
        noted.append(defines)
        return compile_source(source, defines, architecture)

    monkeypatch.setattr(cuda, "compile_source", noting)
    return noted


# The compiler.


def test_a_source_becomes_a_cubin_with_its_kernels(nvrtc: None) -> None:
    cubin = cuda.compile_source(ADD, DEFINES, "sm_90")
    assert cubin.startswith(b"\x7fELF")
    assert b"add\0" in cubin
    assert b"turned\0" in cubin


def test_constants_and_architecture_are_the_compilers(nvrtc: None) -> None:
    source = """
        #if !FLAG || SIZE != 3
        #error the constants are others
        #endif
        extern "C" __global__ void empty(int* out) {
            static_assert(__cplusplus == 201703L && WORD == 5);
        #ifdef __CUDA_ARCH__
            static_assert(__CUDA_ARCH__ == 800);
        #endif
        }
    """
    cuda.compile_source(source, {"FLAG": True, "SIZE": 3, "WORD": "2 + 3"}, "sm_80")
    with pytest.raises(cuda.CudaError, match="the constants are others"):
        cuda.compile_source(source, {"FLAG": False, "SIZE": 3, "WORD": "2 + 3"}, "sm_80")


def test_an_error_has_the_compilers_log(nvrtc: None) -> None:
    with pytest.raises(cuda.CudaError, match=r'(?s)sm_90.*kernel\.cu\(6\): error: identifier "SCALE" is undefined'):
        cuda.compile_source(ADD, {"COUNT": COUNT}, "sm_90")


def test_an_architecture_that_is_none_is_named(nvrtc: None) -> None:
    with pytest.raises(cuda.CudaError, match="sm_1 "):
        cuda.compile_source(ADD, DEFINES, "sm_1")


def test_resources_are_those_of_each_kernel(nvrtc: None) -> None:
    source = ADD.replace("extern __shared__ float held[];", "__shared__ float held[COUNT];")
    said = cuda.resources(source, {**DEFINES, "COUNT": 100}, "sm_90")
    assert "entry function 'add'" in said
    assert "entry function 'turned'" in said
    assert said.count(" registers") == 2
    assert said.count("0 bytes spill stores") == 2
    assert "400 bytes smem" in said


def test_without_nvrtc_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "find_nvrtc", lambda: None)
    with pytest.raises(cuda.CudaError, match="pip install nvidia-cuda-nvrtc"):
        cuda.compile_source(ADD, DEFINES, "sm_90")


def test_nvrtc_of_pytorchs_cuda_is_preferred_then_the_newest(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "missing", "second")]
    for folder, names in zip(
        folders,
        (
            ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc.alt.so.12", "libnvrtc.so"),
            (),
            ("libnvrtc-672ee683.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"),
        ),
        strict=True,
    ):
        for name in names:
            folder.mkdir(exist_ok=True)
            (folder / name).touch()
    of_12 = [str(folders[2] / "libnvrtc.so.12"), "libnvrtc.so.12"]
    of_13 = [str(folders[0] / "libnvrtc.so.13"), str(folders[2] / "libnvrtc.so.13"), "libnvrtc.so.13"]
    of_11 = [str(folders[2] / "libnvrtc-672ee683.so.11.2"), "libnvrtc.so.11"]
    assert cuda._by_preference(folders, "12") == [*of_12, *of_13, *of_11]
    assert cuda._by_preference(folders, "11") == [*of_11, *of_13, *of_12]
    assert cuda._by_preference(folders, "") == [*of_13, *of_12, *of_11]


def test_an_architecture_is_that_of_the_capability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0) if device == 0 else (12, 1))
    assert (cuda.architecture(0), cuda.architecture(1)) == ("sm_90", "sm_121")


# Compiled kernels on disk.


def test_what_was_compiled_is_read_from_disk(nvrtc: None, folder: Path, compiled: list[dict[str, Any]]) -> None:
    first = cuda.cubin(ADD, DEFINES, "sm_90")
    assert cuda.cubin(ADD, dict(reversed(DEFINES.items())), "sm_90") == first
    assert len(compiled) == 1
    assert [path.suffix for path in folder.iterdir()] == [".cubin"]


def test_another_source_constant_architecture_or_compiler_is_compiled(
    nvrtc: None, folder: Path, compiled: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda.cubin(ADD, DEFINES, "sm_90")
    cuda.cubin(f"{ADD}\n", DEFINES, "sm_90")
    cuda.cubin(ADD, {**DEFINES, "COUNT": 1}, "sm_90")
    cuda.cubin(ADD, DEFINES, "sm_80")
    monkeypatch.setattr(cuda, "_compiler_version", lambda: "0.0")
    cuda.cubin(ADD, DEFINES, "sm_90")
    assert len(compiled) == len(list(folder.iterdir())) == 5


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: b"", lambda content: content[:500] + b"?" + content[501:]]
)
def test_a_damaged_file_is_compiled_again(
    nvrtc: None, folder: Path, compiled: list[dict[str, Any]], damage: Callable[[bytes], bytes]
) -> None:
    first = cuda.cubin(ADD, DEFINES, "sm_90")
    (path,) = folder.iterdir()
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert cuda.cubin(ADD, DEFINES, "sm_90") == first
    assert len(compiled) == 2
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_error(nvrtc: None, folder: Path, compiled: list[dict[str, Any]]) -> None:
    folder.parent.write_text("a file where the folder would be")
    assert cuda.cubin(ADD, DEFINES, "sm_90") == cuda.cubin(ADD, DEFINES, "sm_90")
    assert len(compiled) == 2


def test_cubins_lie_where_triton_was_told_to_keep_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cuda.cache_folder() == folder
    monkeypatch.setenv("TRITON_CACHE_DIR", "/scratch/triton")
    assert cuda.cache_folder() == Path("/scratch/triton/hackle-cuda")


# The driver.


class StandIn:
    """Functions of C with the driver's signatures, so that arguments cross ctypes as they do for libcuda."""

    FUNCTION, CONTEXT, MODULE, STREAM = (
        0x7F00_1234_5678_9AB0,
        0x7F00_0000_0000_0010,
        0x7F00_0000_0000_0020,
        0x7F01_0000_0000,
    )
    SIZES = (ctypes.sizeof(Sum), ctypes.sizeof(c_float))

    def __init__(self) -> None:
        self.called: list[str] = []
        self.shared: list[int] = []
        self.contexts: list[int] = []
        self.launches: list[tuple[Any, ...]] = []
        self.failing = ""
        self.mode = 0

    def library(self, without: str = "") -> SimpleNamespace:
        known = {name: types for name, types in cuda._SIGNATURES.items() if name != without}
        return SimpleNamespace(
            **{name: ctypes.CFUNCTYPE(c_int, *types)(self._named(name)) for name, types in known.items()}
        )

    def _named(self, name: str) -> Callable[..., int]:
        does = getattr(self, name.removesuffix("_v2"))

        def function(*arguments: Any) -> int:
            self.called.append(name)
            return 1 if name == self.failing else does(*arguments) or 0

        return function

    def cuInit(self, flags: int) -> None:
        assert flags == 0

    def cuGetErrorName(self, code: int, name: Any) -> None:
        name[0] = c_char_p(b"CUDA_ERROR_INVALID_VALUE")

    def cuGetErrorString(self, code: int, words: Any) -> None:
        words[0] = c_char_p(b"invalid argument")

    def cuDeviceGet(self, device: Any, number: int) -> None:
        device[0] = number

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> None:
        assert device == 1
        context[0] = self.CONTEXT

    def cuCtxPushCurrent(self, context: int) -> None:
        self.contexts.append(context)

    def cuCtxPopCurrent(self, context: Any) -> None:
        context[0] = self.contexts.pop()

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> None:
        self.mode, mode[0] = mode[0], self.mode

    def cuModuleLoadData(self, module: Any, cubin: bytes) -> None:
        assert cubin == b"\x7fELF"
        assert self.contexts == [self.CONTEXT]
        assert self.mode == cuda._CAPTURE_MODE_RELAXED
        module[0] = self.MODULE

    def cuModuleGetFunction(self, function: Any, module: int, name: bytes) -> int:
        assert module == self.MODULE
        function[0] = self.FUNCTION
        return int(name != b"add")

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> int:
        assert (function, attribute) == (self.FUNCTION, 8)
        self.shared.append(value)
        return int(value > 232_448)

    def cuFuncGetParamInfo(self, function: int, number: int, offset: Any, size: Any) -> int:
        assert function == self.FUNCTION
        if number == len(self.SIZES):
            return 1
        offset[0], size[0] = sum(self.SIZES[:number]), self.SIZES[number]
        return 0

    def cuLaunchKernel(self, function: int, *rest: Any) -> int:
        *sizes, shared, stream, parameters, extra = rest
        assert (function, stream, bool(extra)) == (self.FUNCTION, self.STREAM, False)
        assert self.contexts == [self.CONTEXT]
        # As the driver does: so many bytes as the kernel takes, from each address.
        contents = [ctypes.string_at(parameters[number], size) for number, size in enumerate(self.SIZES)]
        self.launches.append((tuple(sizes), shared, *contents))
        return int(sizes[3] > 1024)


class Number(ctypes.Structure):
    _fields_ = [("value", c_float)]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Stands in for the driver and for PyTorch's current device, the second of two."""
    stand_in = StandIn()
    library = stand_in.library()
    monkeypatch.setattr(cuda, "_driver", lambda: library)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=StandIn.STREAM))
    cuda._module.cache_clear()
    yield stand_in
    cuda._module.cache_clear()
    assert (stand_in.contexts, stand_in.mode) == ([], 0)


def test_a_launch_passes_structures_by_value(driver: StandIn) -> None:
    add = cuda.Module(b"\x7fELF").kernel("add", 1000)
    driver.called.clear()
    given = Sum(0x7FFF_0000_0001, 0x7FFF_0000_0002, None, -5)
    add((3, 2, 1), 128, given, Number(0.5))
    given.count = 7
    add((2**31 - 1, 1, 1), 32, given, Number(2.0))
    assert driver.called == ["cuCtxPushCurrent_v2", "cuLaunchKernel", "cuCtxPopCurrent_v2"] * 2
    (first, shared, *contents), (second, _, later, _) = driver.launches
    assert (first, shared) == ((3, 2, 1, 128, 1, 1), 1000)
    assert second == (2**31 - 1, 1, 1, 32, 1, 1)
    read = Sum.from_buffer_copy(contents[0])
    assert (read.out, read.a, read.b, read.count) == (0x7FFF_0000_0001, 0x7FFF_0000_0002, None, -5)
    assert c_float.from_buffer_copy(contents[1]).value == 0.5
    assert Sum.from_buffer_copy(later).count == 7


def test_structures_of_other_sizes_than_the_kernels_are_refused(driver: StandIn) -> None:
    add = cuda.Module(b"\x7fELF").kernel("add")
    for arguments in ([], [Sum()], [Number(), Sum()], [Sum(), Number(), Number()]):
        with pytest.raises(cuda.CudaError, match=r"takes \[32, 4\]"):
            add((1, 1, 1), 32, *arguments)
    assert driver.launches == []


def test_a_driver_that_does_not_know_the_sizes_launches(driver: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    library = driver.library(without="cuFuncGetParamInfo")
    monkeypatch.setattr(cuda, "_driver", lambda: library)
    cuda.Module(b"\x7fELF").kernel("add")((1, 1, 1), 32, Sum(), Number())
    assert len(driver.launches) == 1


def test_the_limit_of_shared_memory_is_raised_once_and_never_lowered(driver: StandIn) -> None:
    loaded = cuda.Module(b"\x7fELF")
    for shared_bytes in (0, 100_000, 50_000, 100_000, 200_000):
        assert loaded.kernel("add", shared_bytes).shared_bytes == shared_bytes
    assert driver.shared == [100_000, 200_000]
    with pytest.raises(cuda.CudaError, match="300000 bytes of dynamic shared memory for kernel add"):
        loaded.kernel("add", 300_000)
    assert driver.called.count("cuModuleGetFunction") == 1


def test_what_the_driver_refuses_is_an_error_in_its_words(driver: StandIn) -> None:
    loaded = cuda.Module(b"\x7fELF")
    with pytest.raises(
        cuda.CudaError, match=r"cuda:1: there is no kernel sub.*CUDA_ERROR_INVALID_VALUE: invalid argument"
    ):
        loaded.kernel("sub")
    with pytest.raises(cuda.CudaError, match=r"\(1, 1, 1\) blocks of 2048 threads.*invalid argument"):
        loaded.kernel("add")((1, 1, 1), 2048, Sum(), Number())


@pytest.mark.parametrize("name", ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleLoadData"])
def test_a_module_that_is_not_loaded_is_an_error(name: str, driver: StandIn) -> None:
    driver.failing = name
    with pytest.raises(cuda.CudaError, match=r"cuda:1: .*invalid argument"):
        cuda.Module(b"\x7fELF")


def test_a_module_is_loaded_once(driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(cuda, "architecture", lambda device: "sm_90")
    monkeypatch.setattr(cuda, "cubin", lambda *arguments: asked.append(arguments) or b"\x7fELF")
    path = tmp_path / "add.cu"
    path.write_text(ADD)
    assert cuda.module(path, {"A": 1, "B": 2}) is cuda.module(path, {"B": 2, "A": 1})
    assert cuda.module(path, {"A": 1, "B": 3}) is not cuda.module(path, {"B": 2, "A": 1})
    cuda.module("source", {})
    assert asked == [
        (ADD, {"A": 1, "B": 2}, "sm_90"),
        (ADD, {"A": 1, "B": 3}, "sm_90"),
        ("source", {}, "sm_90"),
    ]


# A device.


def sum_of(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Sum:
    return Sum(out.data_ptr(), a.data_ptr(), b.data_ptr(), out.numel())


@pytest.mark.gpu
def test_two_vectors_are_added_also_on_another_stream_and_in_a_graph(nvrtc: None, folder: Path) -> None:
    add = cuda.module(ADD, DEFINES).kernel("add")
    a, b = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    out = torch.zeros(1000, device="cuda")
    add((8, 1, 1), 128, sum_of(out, a, b))
    assert torch.equal(out, a + 2 * b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        b.fill_(5)
        add((8, 1, 1), 128, sum_of(out, a, b))
        out += 1
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(out, a + 11)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = a * 2
        add((8, 1, 1), 128, sum_of(out, doubled, b))
        tripled = out * 3
    for value in (1.0, 2.0):
        b.fill_(value)
        out.zero_()
        graph.replay()
        assert torch.equal(tripled, 3 * (2 * a + 2 * value))


@pytest.mark.gpu
def test_a_kernel_has_more_shared_memory_than_is_given_unasked_and_may_be_loaded_while_a_graph_is_captured(
    nvrtc: None, folder: Path
) -> None:
    given = torch.arange(float(COUNT), device="cuda")
    out = torch.zeros_like(given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        turned = cuda.module(f"{ADD}// loaded by no other test\n", DEFINES).kernel("turned", 4 * COUNT)
        turned((1, 1, 1), 256, Turned(out.data_ptr(), given.data_ptr()))
    assert not out.any()
    graph.replay()
    assert torch.equal(out, given.flip(0))


@pytest.mark.gpu
def test_a_wrong_structure_and_too_much_shared_memory_are_refused(nvrtc: None, folder: Path) -> None:
    loaded = cuda.module(ADD, DEFINES)
    out = torch.zeros(4, device="cuda")
    if hasattr(loaded.driver, "cuFuncGetParamInfo"):
        with pytest.raises(cuda.CudaError, match=r"takes \[32\]"):
            loaded.kernel("add")((1, 1, 1), 32, Turned(out.data_ptr(), out.data_ptr()))
    with pytest.raises(cuda.CudaError, match="shared memory"):
        loaded.kernel("turned", 2**24)
    torch.cuda.synchronize()
