"""The prover's kernels on NVIDIA GPUs: the formulas of zenserve/kernels/include/zen, compiled when first
used.

What any prover takes from a card; nothing here knows what a proof is. All of it takes a ``Device`` or what
was made with one. Arrays live on the device: uint64 words in Montgomery form, as ``kernels`` has them on the
host. Everything runs on the thread's current stream there, and waits for it only where it says so. The
rooms: ``device`` (memory and transfers) and ``modules`` (compilation and launches) are all that knows CuPy;
``elementwise``, ``ntt``, ``msm``, ``fixed_base``, ``sparse``, ``negacyclic``, ``hashing``, ``rows`` and
``sumcheck`` have sources in source/.
docs/gpu.md says how they work and how far from the card's limits they are.
"""
