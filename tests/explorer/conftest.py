"""The fixtures of these tests, where the web server and the browser's driver are installed; else nothing is collected."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob: list[str] = []
if all(find_spec(name) is not None for name in ("fastapi", "uvicorn", "httpx", "playwright")):
    from browser_pages import elsewhere, page, unused, windows
    from explorer_fixtures import address, client, ids, served, visit

    __all__ = ["address", "client", "elsewhere", "ids", "page", "served", "unused", "visit", "windows"]
else:
    collect_ignore_glob = ["*.py"]
