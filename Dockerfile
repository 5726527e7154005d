# syntax=docker/dockerfile:1

# Debian 12, whose Python the tests run on: from a registry, or as debootstrap makes it (`make image`).
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS python
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

FROM python AS builder
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ python3-dev python3-venv
RUN python3 -m venv /opt/build && python3 -m venv /opt/zenserve
ENV PATH=/opt/zenserve/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# `production,gpu` for an image that also proves on a GPU: CUDA's compiler comes from PyPI and the driver from
# the host (NVIDIA Container Toolkit), so no CUDA image is needed beneath.
ARG EXTRAS=production
WORKDIR /source
# Dependencies change less often than the code, and take longer. Each is the locked version, by its hashes.
COPY requirements requirements
RUN /opt/build/bin/pip install --require-hashes --requirement requirements/build.txt \
 && pip install --require-hashes $(for extra in $(echo $EXTRAS | tr , ' '); do echo --requirement requirements/$extra.txt; done)
COPY . .
# Kernels for every x86-64; which of them the processor can run is found out when they are loaded.
RUN PATH=/opt/build/bin:$PATH pip wheel --no-deps --no-build-isolation --wheel-dir /opt/build/wheels ./packages/client . \
 && pip install --no-deps /opt/build/wheels/*.whl \
 && pip check \
 && pip uninstall --yes pip setuptools

FROM python
LABEL org.opencontainers.image.title=ZenServe \
      org.opencontainers.image.licenses=Apache-2.0
# Not a name of the host's, and the same in all images: volumes are its own.
RUN useradd --system --uid 10001 --home-dir /var/lib/zenserve --create-home --shell /usr/sbin/nologin zenserve
COPY --from=builder /opt/zenserve /opt/zenserve
ENV PATH=/opt/zenserve/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ZENSERVE_DATA_DIR=/var/lib/zenserve/data \
    ZENSERVE_CACHE=/var/lib/zenserve/cache
USER 10001
WORKDIR /var/lib/zenserve
VOLUME /var/lib/zenserve
EXPOSE 8000
STOPSIGNAL SIGTERM
# Of the API, and of it alone: /readyz tells of the others, too. Those have no address to ask; a worker's signs
# of life are in the database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["zenserve"]
CMD ["api"]
