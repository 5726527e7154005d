"""The verifier: all that a third party needs to judge a proof, in pure Python, without the prover or a
service.

``documents`` (the files' contents), ``keys`` and ``receipts`` (files checked against their own ids and
signatures), ``words`` (the claim in words), ``judging`` (the verdict on a document), ``datasets``,
``command`` (zenserve-verify). These modules call proof systems (``system``), which ``registry`` lists by id:
for example ``groth16``, the equations, over ``points``, ``curve``, ``document`` and ``preamble``.
"""
