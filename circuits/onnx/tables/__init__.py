"""Models of tables, read off what their libraries hold and written as ONNX: boosted trees, their
categories, and the function that is taken of their scores. Exporters leave parts of that out.

``ensemble.py`` has the trees and writes them; one file for each library reads its models: ``xgboost.py``,
``lightgbm.py``, ``catboost.py`` and ``hist_gradient.py``.
"""
