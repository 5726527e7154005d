"""Callers' submissions, over HTTP or in the dashboard: checked, made rows, queued.

This package depends on neither interface.
"""
