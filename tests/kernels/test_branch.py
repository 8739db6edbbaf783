"""Work on a second stream: complete when the block ends, whatever the first stream does meanwhile."""

from __future__ import annotations

import pytest
import torch

from hackle.kernels.branch import Branch


def test_on_a_cpu_functions_are_called_at_once() -> None:
    called: list[int] = []
    with Branch(torch.zeros(1)) as beside:
        assert beside(lambda number: called.append(number) or number, 3) == 3
        assert called == [3]


@pytest.mark.gpu
def test_a_branch_that_is_given_nothing_can_be_captured() -> None:
    value = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), Branch(value):
        doubled = value * 2
    graph.replay()
    assert doubled.tolist() == [2.0] * 3


@pytest.mark.gpu
def test_results_are_complete_after_the_block_and_memory_is_not_used_again_before() -> None:
    """Both as written and as a graph: a long product beside the overwriting of what would be its freed input."""
    stack = torch.randn(16, 1024, 1024, device="cuda")

    def work() -> torch.Tensor:
        found = []
        with Branch(stack) as beside:
            for matrix in stack:
                given = matrix * 2
                found.append(beside(lambda value: value @ value @ value, given))
                del given
                torch.full_like(matrix, float("nan")).mul_(2)
        return torch.stack(found)

    expected = torch.stack([8 * (matrix @ matrix @ matrix) for matrix in stack])
    torch.testing.assert_close(work(), expected, rtol=1e-3, atol=1e-1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = work()
    for _ in range(3):
        captured.zero_()
        graph.replay()
        torch.testing.assert_close(captured, expected, rtol=1e-3, atol=1e-1)
