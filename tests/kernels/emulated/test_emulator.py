"""The emulator of GPUs: its collectives against numpy and the layouts of the PTX manual, and what it must find wrong."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kernels.emulated.build import NO_COMPILER, available, library

pytestmark = pytest.mark.skipif(not available(), reason=NO_COMPILER)

KERNELS = """
#include "emulator.hpp"

struct Arguments {
    const uint32_t* in;
    uint32_t* out;
    int mode;
};

// Operands as they lie in registers: a[32][4], b[32][2] and c[32][4] one after another.
__global__ void __launch_bounds__(32) multiply(const Arguments args) {
    const int lane = threadIdx.x;
    uint32_t a[4];
    float c[4];
    for (int i = 0; i < 4; ++i) a[i] = args.in[lane * 4 + i];
    const uint32_t* b = args.in + 128 + lane * 2;
    for (int i = 0; i < 4; ++i) c[i] = __uint_as_float(args.in[192 + lane * 4 + i]);
    mma(c, a, b[0], b[1]);
    for (int i = 0; i < 4; ++i) args.out[lane * 4 + i] = __float_as_uint(c[i]);
}

// 16 x 16 times 16 x 8, both in rows of shared memory, which ldmatrix turns into fragments.
__global__ void multiply_rows(const Arguments args) {
    SHARED(memory);
    const int lane = threadIdx.x;
    uint32_t* words = reinterpret_cast<uint32_t*>(memory);
    for (int i = lane; i < 192; i += 32) words[i] = args.in[i];
    __syncwarp();
    uint32_t a[4], b[2];
    float c[4] = {};
    ldmatrix4(a, memory + lane % 16 * 32 + lane / 16 * 16);
    ldmatrix2t(b, memory + 512 + lane % 16 * 16);
    mma(c, a, b[0], b[1]);
    for (int i = 0; i < 4; ++i)
        args.out[(lane / 4 + i / 2 * 8) * 8 + 2 * (lane % 4) + i % 2] = __float_as_uint(c[i]);
}

// in: 64 rows of 16 bytes, then the row of each lane.
__global__ void load_matrices(const Arguments args) {
    SHARED(memory);
    const int lane = threadIdx.x;
    for (int i = lane; i < 64; i += 32)
        reinterpret_cast<uint4*>(memory)[i] = reinterpret_cast<const uint4*>(args.in)[i];
    __syncthreads();
    const void* row = memory + args.in[256 + lane] * 16;
    uint32_t four[4] = {}, two[2] = {};
    if (args.mode == 0) ldmatrix4(four, row);
    if (args.mode == 1) ldmatrix4t(four, row);
    if (args.mode == 2) ldmatrix2(two, row);
    if (args.mode == 3) ldmatrix2t(two, row);
    for (int i = 0; i < 4; ++i) args.out[lane * 4 + i] = args.mode < 2 ? four[i] : i < 2 ? two[i] : 0;
}

// Two groups of two warps pass a number on, each by its own barrier: 3 and 5 rounds; or one, without barriers.
__global__ void pass_on(const Arguments args) {
    SHARED(memory);
    uint32_t* words = reinterpret_cast<uint32_t*>(memory);
    const int thread = threadIdx.x, group = thread / 64, rounds = args.mode ? 1 : group ? 5 : 3;
    uint32_t value = thread;
    for (int i = 0; i < rounds; ++i) {
        words[thread] = value;
        if (args.mode == 0) barrier(1 + group, 64);
        value = words[group * 64 + (thread + 33) % 64];
        if (args.mode == 0) barrier(1 + group, 64);
    }
    args.out[thread] = value;
}

// Rows of out: what a lane's three copies have brought at once, after wait<1>, after wait<0>, and after a further group.
__global__ void copies(const Arguments args) {
    SHARED(memory);
    const int lane = threadIdx.x;
    uint32_t* own = reinterpret_cast<uint32_t*>(memory + lane * 48);
    for (int i = 0; i < 12; ++i) own[i] = 7;
    const auto look = [&](int row) {
        for (int i = 0; i < 3; ++i) args.out[(row * 3 + i) * 32 + lane] = own[i * 4 + 1];
    };
    const uint32_t* from = args.in + lane * 12;
    copy16(own, from);
    commit();
    copy16(own + 4, from + 4);
    commit();
    copy16(own + 8, from + 8);
    look(0);
    wait<1>();
    look(1);
    wait<0>();
    look(2);
    commit();
    wait<0>();
    look(3);
}

__global__ void conflicts(const Arguments args) {
    SHARED(memory);
    const int lane = threadIdx.x;
    for (int i = lane; i < 1024; i += 32) reinterpret_cast<uint32_t*>(memory)[i] = i;
    __syncwarp();
    uint32_t r[4], sum = 0;
    unsigned char* row = memory + lane * 128;
    ldmatrix4(r, row);                            // LINE straight
    ldmatrix4(r, row + lane % 8 * 16);            // LINE swizzled
    ldmatrix4(r, memory + lane * 16 % 64);        // LINE repeated
    for (int i = 0; i < 3; ++i) sum += shared_load(memory + lane * 4 + i * 512);  // LINE neighbours
    for (int i = 0; i < 2; ++i) sum += shared_load(memory + lane * 8);            // LINE pairs
    sum += shared_load(memory + 256);                                             // LINE same
    if (lane % 2) sum += shared_load(memory + lane * 128);                        // LINE half
    shared_store(memory + lane * 16, sum);                                        // LINE quads
    args.out[lane] = sum + r[0];
}

__global__ void packs(const Arguments args) {
    const float* in = reinterpret_cast<const float*>(args.in);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    args.out[i] = pack(in[2 * i], in[2 * i + 1]);
}

__global__ void shuffles(const Arguments args) {
    const int lane = threadIdx.x % 32;
    float sum = float(lane);
    for (int i = 16; i; i /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, i);
    const int place = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    args.out[place] = __shfl_sync(0xffffffffu, lane * 10, (lane + 1) % 32) + 1000 * int(sum) + 1000000 * (threadIdx.x / 32);
}

__global__ void wrong(const Arguments args) {
    SHARED(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t r[4] = {};
    float c[4] = {};
    if (args.mode == 0) ldmatrix4(r, memory + lane * 16 + 8);        // LINE crooked
    if (args.mode == 1) ldmatrix4(r, memory + lane * 16 + 1024);     // LINE outside
    if (args.mode == 2 && (warp == 0 || lane != 5)) mma(c, r, 0, 0); // LINE absent
    if (args.mode == 3 && warp == 1) barrier(3, 64);                 // LINE alone
    if (args.mode == 4) {
        if (lane < 16) __syncwarp();                                 // LINE low
        else mma(c, r, 0, 0);                                        // LINE high
    }
    if (args.mode == 5) copy16(memory, reinterpret_cast<const char*>(args.in) + 4);  // LINE odd
    args.out[0] = r[0];
}
"""

NAMES = ["multiply", "multiply_rows", "load_matrices", "pass_on", "copies", "conflicts", "packs", "shuffles", "wrong"]

WRAPPERS = (
    'extern "C" const char* report() { return emulator::report(); }\n'
    'extern "C" void seed(int value) { emulator::seed = value; }\n'
) + "".join(
    f'extern "C" void run_{name}(const uint32_t* in, uint32_t* out, int mode, int x, int y, int threads, int bytes) '
    f"{{ emulator::launch({name}, Arguments{{in, out, mode}}, x, y, threads, bytes); }}\n"
    for name in NAMES
)

Run = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "kernels.cu"
    path.write_text(KERNELS)
    return path


@pytest.fixture(scope="module")
def kernels(source: Path) -> ctypes.CDLL:
    built = library(source, WRAPPERS, {})
    built.report.restype = ctypes.c_char_p
    return built


def runner(kernels: ctypes.CDLL) -> Run:
    def run(name: str, given: Any, results: int, mode: int = 0, seed: int = 0, **size: int) -> np.ndarray:
        # 16-byte aligned, as memory of a GPU is
        room = np.zeros(given.nbytes + 16, np.uint8)
        start = -room.ctypes.data % 16
        room[start : start + given.nbytes] = np.ascontiguousarray(given).view(np.uint8).ravel()
        out = np.zeros(results, np.uint32)
        shape = [size.get(key, usual) for key, usual in (("x", 1), ("y", 1), ("threads", 32), ("bytes", 4096))]
        kernels.seed(seed)
        places = ctypes.c_void_p(room.ctypes.data + start), ctypes.c_void_p(out.ctypes.data)
        kernels[f"run_{name}"](*places, mode, *shape)
        return out

    return run


@pytest.fixture(scope="module")
def run(kernels: ctypes.CDLL) -> Run:
    return runner(kernels)


def line_of(mark: str) -> int:
    return next(i for i, line in enumerate(KERNELS.splitlines(), 1) if f"LINE {mark}" in line)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The bits of values that bfloat16 holds exactly."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def small(*shape: int) -> np.ndarray:
    """Random values with 8 bits: sums of their products are exact in float, whatever the order."""
    return (np.random.default_rng(0).integers(-128, 128, shape) / 64).astype(np.float32)


def fragments(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The registers of a warp, by the formulas of the PTX manual for mma.m16n8k16 (row = groupID + ...)."""
    registers = np.zeros((32, 4, 2), np.uint16), np.zeros((32, 2, 2), np.uint16), np.zeros((32, 4), np.float32)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for i in range(8):
            row = group if i in (0, 1, 4, 5) else group + 8
            column = place * 2 + (i & 1) + (0 if i < 4 else 8)
            registers[0][lane, i // 2, i % 2] = bfloat16(a[row, column])
        for i in range(4):
            registers[1][lane, i // 2, i % 2] = bfloat16(b[place * 2 + (i & 1) + (0 if i < 2 else 8), group])
            registers[2][lane, i] = c[group if i < 2 else group + 8, place * 2 + (i & 1)]
    return np.concatenate([part.view(np.uint32).ravel() for part in registers])


def check_mma(run: Run, seed: int) -> None:
    a, b, c = small(16, 16), small(16, 8) + 1 / 64, small(16, 8)
    found = run("multiply", fragments(a, b, c), 128, seed=seed)
    expected = fragments(a, b, c + a @ b)[192:]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", [0, 1])
def test_mma_multiplies_fragments_laid_out_as_in_the_manual(run: Run, seed: int) -> None:
    check_mma(run, seed)


def test_fibers_by_ucontext_give_the_same(source: Path) -> None:
    check_mma(runner(library(source, WRAPPERS, {"EMULATOR_UCONTEXT": 1})), 0)


def test_ldmatrix_gives_the_fragments_that_mma_takes(run: Run) -> None:
    a, b = small(16, 16), small(16, 8)
    found = run("multiply_rows", np.concatenate([bfloat16(a).ravel(), bfloat16(b).ravel()]), 128)
    np.testing.assert_array_equal(found.view(np.float32).reshape(16, 8), a @ b)


@pytest.mark.parametrize("mode", range(4), ids=["x4", "x4.trans", "x2", "x2.trans"])
def test_ldmatrix_loads_8_by_8_matrices(run: Run, mode: int) -> None:
    rows = np.arange(64 * 8, dtype=np.uint16).reshape(64, 8)
    asked = np.random.default_rng(mode).permutation(64)[:32].astype(np.uint32)
    count = 4 if mode < 2 else 2
    if count == 2:
        asked[16:] = 10_000  # nobody reads what the upper lanes of x2 ask for
    matrices = rows[asked[: 8 * count]].reshape(count, 8, 8)
    if mode % 2:
        matrices = matrices.transpose(0, 2, 1)
    found = run("load_matrices", np.concatenate([rows.view(np.uint32).ravel(), asked]), 128, mode)
    found = found.view(np.uint16).reshape(32, 4, 2)[:, :count]
    # Lane t has elements 2 (t mod 4) and the next of row t / 4, in each matrix.
    np.testing.assert_array_equal(found.transpose(1, 0, 2).reshape(count, 8, 8), matrices)


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_warps_wait_at_barriers_of_their_own(run: Run, seed: int) -> None:
    threads = np.arange(128)
    rounds = np.where(threads < 64, 3, 5)
    found = run("pass_on", np.zeros(1), 128, seed=seed, threads=128)
    np.testing.assert_array_equal(found, threads // 64 * 64 + (threads + 33 * rounds) % 64)


@pytest.mark.parametrize("seed", range(6))
def test_without_barriers_a_warp_reads_what_nobody_wrote(run: Run, seed: int) -> None:
    found = run("pass_on", np.zeros(1), 128, mode=1, seed=seed, threads=128)
    assert np.any(found == 0xFFFFFFFF)


def test_seeds_choose_other_orders_of_warps_and_the_same_again(run: Run) -> None:
    found = [run("pass_on", np.zeros(1), 128, mode=1, seed=seed, threads=128) for seed in range(8)]
    assert len({tuple(values) for values in found}) > 1
    np.testing.assert_array_equal(found[5], run("pass_on", np.zeros(1), 128, mode=1, seed=5, threads=128))


def test_copies_arrive_when_their_thread_waits_and_not_before(run: Run) -> None:
    given = np.arange(32 * 12, dtype=np.uint32)
    there = np.full((3, 32), 0xFFFFFFFF, np.uint32)  # neither the 7 that was there nor what comes
    found = run("copies", given, 12 * 32).reshape(4, 3, 32)
    for row, arrived in enumerate([0, 1, 2, 3]):
        there[:arrived] = given.reshape(32, 3, 4)[:, :arrived, 1].T
        np.testing.assert_array_equal(found[row], there)


def test_conflicts_of_banks_are_counted_by_line(run: Run, kernels: ctypes.CDLL) -> None:
    run("conflicts", np.zeros(1), 32)
    found = {}
    for row in kernels.report().decode().splitlines():
        line, kind, calls, extra = row.split()
        found[int(line)] = kind, int(calls), int(extra)
    assert found == {
        line_of("straight"): ("ldmatrix4", 1, 4 * 7),  # 8 rows in the same 4 banks
        line_of("swizzled"): ("ldmatrix4", 1, 0),
        line_of("repeated"): ("ldmatrix4", 1, 0),  # each row is asked for twice
        line_of("neighbours"): ("shared_load", 3, 0),
        line_of("pairs"): ("shared_load", 2, 2),
        line_of("same"): ("shared_load", 1, 0),
        line_of("half"): ("shared_load", 1, 15),
        line_of("quads"): ("shared_store", 1, 3),
    }


def test_pack_rounds_as_pytorch_does(run: Run) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 4096, dtype=np.uint32)
    bits[:64] = bits[:64] & 0xFFFF0000 | 0x8000  # ties
    # 0, -0, the infinities, the largest and the least
    bits[64:70] = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 1]
    values = bits.view(np.float32)
    values[np.isnan(values)] = 1.0  # whose bits are another matter
    expected = torch.from_numpy(values).bfloat16().view(torch.int16).numpy()
    found = run("packs", values, 2048, x=16, threads=128)
    np.testing.assert_array_equal(found.view(np.int16), expected)


def test_shuffles_and_indices(run: Run) -> None:
    lane = np.arange(32)
    warp = (lane + 1) % 32 * 10 + 1000 * lane.sum()
    expected = np.tile(np.concatenate([warp, warp + 1_000_000]), 6)
    np.testing.assert_array_equal(run("shuffles", np.zeros(1), 6 * 64, x=3, y=2, threads=64), expected)


@pytest.mark.parametrize(
    ("mode", "mark", "message"),
    [
        (0, "crooked", "line {line}: ldmatrix4 at byte 8, which is no multiple of 16"),
        (1, "outside", "line {line}: ldmatrix4 at byte 1024 of a shared memory of 1024 bytes"),
        (2, "absent", "deadlock: warp 1 waits at line {line} (mma): 31 lanes have arrived, 1 have ended"),
        (3, "alone", "deadlock: warp 1 waits at line {line} (barrier 3: 32 of 64 threads have arrived)"),
        (4, "low", "lanes of warp 0 part: 16 wait at line {line} (syncwarp), lane 16 is at line"),
        (5, "odd", "line {line}: copy16 from"),
    ],
)
def test_mistakes_end_the_process_with_their_line(kernels: ctypes.CDLL, mode: int, mark: str, message: str) -> None:
    code = (
        "import ctypes\n"
        "room = (ctypes.c_char * 256)()\n"
        "start = ctypes.c_void_p(ctypes.addressof(room) + -ctypes.addressof(room) % 16)\n"
        f"ctypes.CDLL({kernels._name!r}).run_wrong(start, start, {mode}, 1, 1, 64, 1024)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert message.format(line=line_of(mark)) in done.stderr


def test_errors_of_the_compiler_are_told(tmp_path: Path) -> None:
    path = tmp_path / "faulty.cu"
    path.write_text('#include "emulator.hpp"\n__global__ void f(int) { missing(); }\n')
    with pytest.raises(RuntimeError, match=r"(?s)faulty\.cu.*missing"):
        library(path, "", {})


def test_a_library_is_compiled_once(source: Path, kernels: ctypes.CDLL) -> None:
    assert library(source, WRAPPERS, {}) is kernels
