"""Every benchmark, one after another: `python -m benchmarks`, or some: `python -m benchmarks training dsprites`.

Modules that need to be told what to do, or that others import, are not among them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType


def runs_by_itself(module: ModuleType) -> bool:
    """Whether it has a `main` that needs no arguments."""
    main = getattr(module, "main", None)
    return main is not None and all(one.default is not one.empty for one in signature(main).parameters.values())


if __name__ == "__main__":
    every = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    modules = {name: import_module(f"benchmarks.{name}") for name in sys.argv[1:] or every}
    sys.argv[1:] = []
    for name, module in modules.items():
        if runs_by_itself(module):
            print(f"== {name}")
            module.main()
