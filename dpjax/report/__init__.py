"""Reports for sharing, as self-contained HTML files or as Markdown files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.report._files import check_report_path as check_report_path
    from dpjax.report._files import render as render
    from dpjax.report._notebook import notebook_html as notebook_html
    from dpjax.report._page import Figure as Figure
    from dpjax.report._page import Page as Page
    from dpjax.report._page import Section as Section
    from dpjax.report._page import Table as Table
    from dpjax.report._page import Verdict as Verdict
    from dpjax.report._page import result_of_page as result_of_page
    from dpjax.report._page import result_text as result_text
    from dpjax.report._page import written as written
    from dpjax.report._shown import Glance as Glance
    from dpjax.report._shown import Shown as Shown
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
