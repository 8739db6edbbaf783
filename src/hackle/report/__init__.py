"""Self-contained HTML pages: everything inside one file that opens offline."""

from hackle.report.kept_pictures import with_pictures
from hackle.report.run_page import write_run_page
from hackle.report.study_page import ReportError, write_study_page

__all__ = ["ReportError", "with_pictures", "write_run_page", "write_study_page"]
