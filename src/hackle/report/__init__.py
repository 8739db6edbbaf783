"""Self-contained HTML pages: everything inside one file that opens offline."""

from hackle.report.run_page import write_run_page

__all__ = ["write_run_page"]
