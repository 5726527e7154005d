"""What a third party needs to judge a proof: pure Python, alone, without the prover and without a service.

``documents`` (what files hold), ``keys`` and ``receipts`` (files that are what they say), ``words`` (what was
claimed, in words), ``judging`` (the verdict on a document), ``datasets``, ``command`` (zenserve-verify).
They ask proof systems (``system``), each of which ``registry`` knows by its id: ``groth16``, the equations,
over ``points``, ``curve``, ``document`` and ``preamble``.
"""
