"""The tables of the papers that ZenServe builds on, with counts from its own compiler (docs/papers.md).

figures      what the papers report
counts       what the compiler makes of the same networks, counted without laying circuits out
zen, zeno    both side by side
render       as text, Markdown, CSV and JSON
tables       all of them by name
"""
