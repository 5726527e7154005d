"""A report on quantisation as a page of its own: one file of HTML that asks nothing of anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from zenserve.circuits import svg
from zenserve.circuits.quantisation.reporting import sentences

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2321; --paper: #faf9f6; --line: #dedbd2; --bad: #a02c23; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7ebe8; --paper: #121615; --line: #2f3835; --bad: #f19d92; }
}
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
figure { display: inline-block; margin: 0 1.5rem 0 0; vertical-align: top; width: 26rem; max-width: 100%; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.plot { width: 15rem; } td.plot svg { display: block; width: 15rem; }
.warning { color: var(--bad); } .note { opacity: .75; }
"""
NOTE: Final = (
    "Bars are the values in floats, the line what the integers stand for, as logarithms of counts; red are "
    "values beyond the integers' ends, which are cut off there."
)


def html(title: str, report: Mapping[str, Any]) -> str:
    """``report``: as ``Report.to_json`` has it."""
    warning = report["warning"]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}.</p>" for sentence in sentences(report)),
        *([f'<p class="warning">{escape(warning[:1].upper() + warning[1:])}.</p>'] if warning else []),
        *(part for output in report["outputs"] for part in _output(output)),
        "<h2>Tensors</h2>",
        _table(report["tensors"]),
        f'<p class="note">{NOTE}</p>',
    ]
    head = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
    ]
    return "\n".join([*head, *parts, "</body></html>\n"])


def plots(output: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Charts of an output, each with what it is."""
    if output["confusion"]:
        yield "Classes in floats and in integers", svg.matrix("floats", "integers", output["confusion"])
    if output["points"]:
        yield "Values in floats and in integers", svg.scatter("floats", "integers", output["points"])


def histogram(tensor: Mapping[str, Any]) -> str:
    """Of one tensor's values."""
    counted = tensor["histogram"]
    ends = (tensor["least"], tensor["greatest"])
    return svg.histograms(counted["start"], counted["width"], counted["floats"], counted["integers"], ends)


def _output(output: Mapping[str, Any]) -> Iterator[str]:
    drawn = list(plots(output))
    if drawn:
        yield f"<h2>Output {escape(output['name'])}</h2>"
    for what, chart in drawn:
        yield f"<figure>{chart}<figcaption>{what}</figcaption></figure>"


def _table(tensors: Sequence[Mapping[str, Any]]) -> str:
    numbers = ("bits", "SNR, dB", "worst, steps", "cut off", "reached", "integers")
    heads = "".join(f'<th class="n">{head}</th>' for head in numbers)
    rows = [f"<tr><th>tensor</th><th>operator</th>{heads}<th>values</th></tr>"]
    for tensor in tensors:
        cells = [
            f"<td>{escape(tensor['name'])}</td><td>{escape(tensor['operator'])}</td>",
            *(
                f'<td class="n">{text}</td>'
                for text in (
                    tensor["bits"],
                    f"{tensor['snr']:.1f}",
                    f"{tensor['worst']:.1f}",
                    f"{tensor['saturated']:.2%}",
                    f"{tensor['low']:.4g} to {tensor['high']:.4g}",
                    f"{tensor['least']:.4g} to {tensor['greatest']:.4g}",
                )
            ),
            f'<td class="plot">{histogram(tensor)}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"
