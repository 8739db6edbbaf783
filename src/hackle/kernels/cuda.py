"""Kernels in CUDA C++: compiled at run time by NVRTC and launched on PyTorch's current stream, also into a CUDA graph.

Both libraries are used through ctypes: NVRTC comes with a PyTorch for CUDA, libcuda with the driver. No compiler is needed on
the machine, and nothing is compiled when hackle is installed.

A kernel is `extern "C" __global__` and takes structures by value, as `ctypes.Structure` spells them:

    struct Sum { float* out; const float* a; const float* b; int count; };
    extern "C" __global__ void add(Sum sum) { … }

    class Sum(ctypes.Structure):
        _fields_ = [("out", c_void_p), ("a", c_void_p), ("b", c_void_p), ("count", c_int)]

    add = module(Path("add.cu"), {"WIDTH": 4}).kernel("add")
    add((blocks, 1, 1), 256, Sum(out.data_ptr(), a.data_ptr(), b.data_ptr(), out.numel()))

The driver copies them during the call; a graph repeats its launches with the addresses that it was captured with.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import torch

from hackle.core.errors import HackleError
from hackle.core.files import replacing


class CudaError(HackleError):
    """A CUDA kernel could not be compiled, loaded or launched."""


# The compiler.

_LIBRARY = re.compile(r"libnvrtc(?:-[0-9a-f]+)?\.so\.(\d+)[.\d]*")
"""Its file names, such as libnvrtc.so.12 or, in a wheel of PyTorch, libnvrtc-672ee683.so.11.2; not libnvrtc-builtins."""
_MAJORS = ("13", "12", "11")


@cache
def find_nvrtc() -> ctypes.CDLL | None:
    """NVRTC, or None where there is none: the one that this process has loaded, else of PyTorch's CUDA version, else the
    newest; beside PyTorch, in NVIDIA's wheels, of the environment, on the loader's path or in CUDA's own folder."""
    if not sys.platform.startswith("linux"):
        return None
    built_for = (torch.version.cuda or "").split(".")[0]
    # By its name alone the loader finds what is loaded already, wherever that lies; by a path it would load a second copy.
    loaded = [(f"libnvrtc.so.{major}", os.RTLD_NOLOAD | os.RTLD_NOW) for major in (built_for, *_MAJORS) if major]
    found = [(name, ctypes.DEFAULT_MODE) for name in _by_preference(_folders(), built_for)]
    for name, mode in [*loaded, *found]:
        with suppress(OSError):
            return ctypes.CDLL(name, mode=mode)
    return None


def _folders() -> Iterator[Path]:
    """Where NVRTC may lie, the likeliest first."""
    yield Path(torch.__file__).parent / "lib"
    for packages in dict.fromkeys([Path(torch.__file__).parents[1], *map(Path, sys.path)]):
        yield from sorted((packages / "nvidia").glob("*/lib"))
    yield Path(sys.prefix) / "lib"
    for root in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        yield Path(root) / "lib64"


def _by_preference(folders: Iterable[Path], built_for: str) -> list[str]:
    """Names to load NVRTC by: of the major version that PyTorch is built for before the others, which come newest first,
    and of one version in the order of the folders, then on the loader's path."""
    paths: list[str] = []
    for folder in folders:
        with suppress(OSError):
            paths += sorted(str(file) for file in folder.iterdir() if _LIBRARY.fullmatch(file.name))
    names = [*paths, *(f"libnvrtc.so.{major}" for major in dict.fromkeys((built_for, *_MAJORS)) if major)]

    def rank(name: str) -> tuple[bool, int]:
        match = _LIBRARY.fullmatch(Path(name).name)
        major = match.group(1) if match else "0"
        return major != built_for, -int(major)

    return sorted(dict.fromkeys(names), key=rank)


def _nvrtc() -> ctypes.CDLL:
    library = find_nvrtc()
    if library is None:
        raise CudaError(
            "kernels in CUDA C++ need NVRTC, libnvrtc.so, which comes with a PyTorch for CUDA; none was found: install it "
            "with `pip install nvidia-cuda-nvrtc` (for CUDA 12, `nvidia-cuda-nvrtc-cu12`)"
        )
    return library


def _compiler_version() -> str:
    major, minor = c_int(), c_int()
    _compiled_well(_nvrtc().nvrtcVersion(byref(major), byref(minor)), "its version is unknown")
    return f"{major.value}.{minor.value}"


def _compiled_well(code: int, what: str) -> None:
    if code:
        words = _nvrtc().nvrtcGetErrorString
        words.restype = c_char_p
        raise CudaError(f"NVRTC: {what}: {words(c_int(code)).decode()}")


def _options(defines: Mapping[str, int | str], architecture: str) -> list[str]:
    values = {name: int(value) if isinstance(value, bool) else value for name, value in defines.items()}
    return [
        f"--gpu-architecture={architecture}",
        "--std=c++17",
        *(f"-D{name}={values[name]}" for name in sorted(values)),
    ]


def _compile(source: str, options: list[str]) -> tuple[bytes, str]:
    """The cubin and the compiler's log."""
    nvrtc, program = _nvrtc(), c_void_p()
    text = c_char_p(source.encode())
    _compiled_well(
        nvrtc.nvrtcCreateProgram(byref(program), text, c_char_p(b"kernel.cu"), c_int(0), None, None),
        "no program could be made",
    )
    try:
        words = (c_char_p * len(options))(*(option.encode() for option in options))
        code = nvrtc.nvrtcCompileProgram(program, c_int(len(options)), words)
        log = _of_program(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        _compiled_well(code, f"a kernel was not compiled with {' '.join(options)}:\n{log}\n")
        return _of_program(program, "CUBIN"), log
    finally:
        nvrtc.nvrtcDestroyProgram(byref(program))


def _of_program(program: c_void_p, what: str) -> bytes:
    nvrtc, size = _nvrtc(), c_size_t()
    _compiled_well(getattr(nvrtc, f"nvrtcGet{what}Size")(program, byref(size)), f"{what} has no size")
    content = ctypes.create_string_buffer(max(size.value, 1))
    _compiled_well(getattr(nvrtc, f"nvrtcGet{what}")(program, content), f"{what} could not be read")
    return content.raw[: size.value]


def compile_source(source: str, defines: Mapping[str, int | str], architecture: str) -> bytes:
    """The cubin of a source in CUDA C++17 for one architecture, such as "sm_90"; no GPU is needed for it.

    defines: constants that the preprocessor replaces, by name.
    """
    return _compile(source, _options(defines, architecture))[0]


def resources(source: str, defines: Mapping[str, int | str], architecture: str) -> str:
    """What the assembler says of each kernel: its registers, what it spills, and its static shared memory."""
    return _compile(source, [*_options(defines, architecture), "--ptxas-options=-v"])[1]


# Compiled kernels on disk.


def cache_folder() -> Path | None:
    """Where cubins are kept: beside Triton's where $TRITON_CACHE_DIR says, else hackle/cuda in the user's cache folder."""
    if chosen := os.environ.get("TRITON_CACHE_DIR"):
        return Path(chosen) / "hackle-cuda"
    try:
        users = os.environ.get("XDG_CACHE_HOME")
        return (Path(users) if users else Path.home() / ".cache") / "hackle" / "cuda"
    except RuntimeError:
        # The user has no home.
        return None


def cubin(source: str, defines: Mapping[str, int | str], architecture: str) -> bytes:
    """What `compile_source` gives, read from disk where the same NVRTC has compiled the same before."""
    named_by = "\0".join([_compiler_version(), *_options(defines, architecture), source])
    folder = cache_folder()
    path = folder / f"{sha256(named_by.encode()).hexdigest()}.cubin" if folder else None
    if path and (kept := _read(path)):
        return kept
    compiled = compile_source(source, defines, architecture)
    if path:
        _write(path, compiled)
    return compiled


def _read(path: Path) -> bytes | None:
    """The content after its checksum; None where there is no file or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:32], content[32:]
    return content if sha256(content).digest() == checksum else None


def _write(path: Path, content: bytes) -> None:
    # Where nothing can be written each process compiles anew.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, f"{token_hex(8)}.partial") as partial:
            partial.write_bytes(sha256(content).digest() + content)


# The driver.

_HANDLE = POINTER(c_void_p)
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDevicePrimaryCtxRetain": (_HANDLE, c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_HANDLE,),
    "cuThreadExchangeStreamCaptureMode": (POINTER(c_int),),
    "cuModuleLoadData": (_HANDLE, c_char_p),
    "cuModuleGetFunction": (_HANDLE, c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    # Since CUDA 12.4.
    "cuFuncGetParamInfo": (c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_size_t)),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, _HANDLE, _HANDLE),
}
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h."""
_CAPTURE_MODE_RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED of cuda.h."""


@cache
def _driver() -> Any:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaError(
            f"kernels in CUDA C++ need NVIDIA's driver, libcuda.so.1, which does not load: {error}"
        ) from error
    for name, types in _SIGNATURES.items():
        with suppress(AttributeError):
            getattr(library, name).argtypes = types
    _check(library, library.cuInit(0), "the driver does not start")
    return library


def _check(driver: Any, code: int, what: str) -> None:
    if not code:
        return
    name, words = c_char_p(), c_char_p()
    driver.cuGetErrorName(code, byref(name))
    driver.cuGetErrorString(code, byref(words))
    said = ": ".join(text.value.decode() for text in (name, words) if text.value)
    raise CudaError(f"{what}: {said or f'CUDA error {code}'}")


def architecture(device: torch.device | int | None = None) -> str:
    """The architecture of a CUDA device, that of a compute capability (9, 0) being "sm_90"."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


class Module:
    """The kernels of a cubin on PyTorch's current device. They stay loaded as long as the process lives, since captured
    graphs may launch them."""

    def __init__(self, cubin: bytes) -> None:
        torch.cuda.init()
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.driver = _driver()
        self._functions: dict[str, int] = {}
        self._shared_bytes: dict[str, int] = {}
        number, context, handle = c_int(), c_void_p(), c_void_p()
        self._check(self.driver.cuDeviceGet(byref(number), self.device.index), "the device is unknown to the driver")
        # The primary context is the one that PyTorch's tensors and streams are in.
        self._check(self.driver.cuDevicePrimaryCtxRetain(byref(context), number.value), "the device has no context")
        self.context = context.value
        with self._loading():
            self._check(self.driver.cuModuleLoadData(byref(handle), cubin), "compiled kernels could not be loaded")
        self._handle = handle.value

    def kernel(self, name: str, shared_bytes: int = 0) -> Kernel:
        """A kernel by its name, to be called. Ask once and keep it.

        shared_bytes: of dynamic shared memory at each launch; may be all that the device gives a block.
        """
        with self._loading():
            function = self._functions.get(name) or self._function(name)
            # The limit is the function's, whoever launches it: another kernel of the name may need the larger one.
            if shared_bytes > self._shared_bytes[name]:
                self._check(
                    self.driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
                    f"{shared_bytes} bytes of dynamic shared memory for kernel {name}, more than the device gives a block?",
                )
                self._shared_bytes[name] = shared_bytes
            return Kernel(self, name, function, shared_bytes)

    def _function(self, name: str) -> int:
        handle = c_void_p()
        self._check(
            self.driver.cuModuleGetFunction(byref(handle), self._handle, name.encode()),
            f'there is no kernel {name}; is it declared extern "C" __global__?',
        )
        self._shared_bytes[name] = 0
        self._functions[name] = function = handle.value or 0
        return function

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """This device's context, and leave to load and allocate while this thread captures a graph."""
        with self.current():
            mode = c_int(_CAPTURE_MODE_RELAXED)
            self._check(self.driver.cuThreadExchangeStreamCaptureMode(byref(mode)), "loading is not allowed")
            try:
                yield
            finally:
                self._check(self.driver.cuThreadExchangeStreamCaptureMode(byref(mode)), "loading does not end")

    @contextmanager
    def current(self) -> Iterator[None]:
        """This device's context, whichever the thread has: one that has computed nothing yet has none."""
        self._check(self.driver.cuCtxPushCurrent_v2(self.context), "the device's context could not be entered")
        try:
            yield
        finally:
            self._check(self.driver.cuCtxPopCurrent_v2(byref(c_void_p())), "the device's context could not be left")

    def _check(self, code: int, what: str) -> None:
        _check(self.driver, code, f"{self.device}: {what}")


class Kernel:
    """Called with the grid, the threads of a block and the kernel's arguments, it is launched on PyTorch's current stream
    of its module's device."""

    def __init__(self, module: Module, name: str, function: int, shared_bytes: int) -> None:
        self.name = name
        self.shared_bytes = shared_bytes
        self._module = module
        self._function = function
        self._sizes = self._sizes_of_parameters()

    def __call__(self, grid: tuple[int, int, int], threads: int, *arguments: ctypes.Structure) -> None:
        """Launch it.

        arguments: one structure for each of the kernel's parameters, passed by value; the tensors whose addresses they
            hold are on the module's device.
        """
        sizes = [ctypes.sizeof(argument) for argument in arguments]
        if self._sizes is not None and sizes != self._sizes:
            raise CudaError(
                f"kernel {self.name} was given arguments of {sizes} bytes and takes {self._sizes}: the fields of each "
                "structure must be those of the source, in order and type"
            )
        addresses = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        driver, stream = self._module.driver, torch.cuda.current_stream(self._module.device).cuda_stream
        with self._module.current():
            code = driver.cuLaunchKernel(
                self._function, *grid, threads, 1, 1, self.shared_bytes, stream, addresses, None
            )
        if code:
            size = f"{grid} blocks of {threads} threads with {self.shared_bytes} bytes of shared memory"
            _check(driver, code, f"{self._module.device}: kernel {self.name} was not launched, {size}")

    def _sizes_of_parameters(self) -> list[int] | None:
        """The bytes of each parameter, which the driver reads at a launch whatever it is given; None where the driver does
        not tell."""
        if not hasattr(self._module.driver, "cuFuncGetParamInfo"):
            return None
        sizes: list[int] = []
        offset, size = c_size_t(), c_size_t()
        # There is no count: the first number that is no parameter's is an error.
        while not self._module.driver.cuFuncGetParamInfo(self._function, len(sizes), byref(offset), byref(size)):
            sizes.append(size.value)
        return sizes or None


def module(path_or_source: Path | str, defines: Mapping[str, int | str]) -> Module:
    """The kernels of a source on the current device, loaded once per process, and compiled once per machine.

    path_or_source: a `Path` is read, a string is the source itself.
    defines: constants that the preprocessor replaces, by name.
    """
    return _module(path_or_source, tuple(sorted(defines.items())), torch.cuda.current_device())


@cache
def _module(path_or_source: Path | str, defines: tuple[tuple[str, int | str], ...], device: int) -> Module:
    source = path_or_source.read_text("utf-8") if isinstance(path_or_source, Path) else path_or_source
    return Module(cubin(source, dict(defines), architecture(device)))
