"""Reports that can be handed on: one self-contained HTML file, or Markdown."""

from dpjax.report._files import check_report_path as check_report_path
from dpjax.report._report import render_report as render_report
from dpjax.report._report import write_report as write_report
