"""The page of an inspection: one HTML file with charts, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from simonides.data.results import Inspection

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto }}
table {{ border-collapse: collapse; width: 100% }}
th {{ text-align: left; font-weight: 400; width: 12rem; vertical-align: top }}
td {{ overflow-wrap: anywhere }} td.n {{ text-align: right; width: 5rem }}
rect {{ fill: #3b6ea5 }} svg {{ width: 100%; height: 1rem; display: block }}
</style></head><body>"""


def page_of(found: Inspection, name: str) -> str:
    """Return the page of an inspection.

    Args:
        found: What was found.
        name: Of the file.
    """
    title = escape(f"{name}: {found.entries:,} entries ({found.format})")
    charts = {"Findings": found.found, "Why it is junk": found.junk, "Said in": found.months}
    parts = [_HEAD.format(title=title), f"<h1>{title}</h1>"]
    parts += [_chart(heading, values) for heading, values in charts.items() if values]
    parts += [_examples(finding, texts) for finding, texts in found.examples.items() if texts]
    return "\n".join([*parts, "</body></html>\n"])


def _chart(heading: str, values: Mapping[str, int]) -> str:
    most = max(*values.values(), 1)
    rows = (
        f'<tr><th scope="row">{escape(name.replace("_", " "))}</th><td class="n">{count:,}</td><td>'
        f'<svg aria-hidden="true"><rect width="{100 * count / most:.1f}%" height="100%"/></svg>'
        "</td></tr>"
        for name, count in values.items()
    )
    return f"<h2>{escape(heading)}</h2><table>{''.join(rows)}</table>"


def _examples(finding: str, texts: tuple[tuple[str, str], ...]) -> str:
    rows = (
        f'<tr><th scope="row">{escape(place)}</th><td>{escape(text)}</td></tr>'
        for place, text in texts
    )
    heading = escape(finding.replace("_", " ").capitalize())
    return f"<h2>{heading}: examples</h2><table>{''.join(rows)}</table>"
