# The chapter and all that it needs, on CPU cores. JupyterLab prints the address to open:
#
#   docker build -t d2l-local .
#   docker run --rm -p 127.0.0.1:8888:8888 d2l-local
#
# For x86-64 and for ARM (Apple's processors, Graviton, Raspberry Pi): the digest is that of the
# image's index, which has both, and on ARM MXNet takes its BLAS and LAPACK from the two lib….
FROM debian:12-slim@sha256:60eac759739651111db372c07be67863818726f754804b8707c90979bda511df AS system
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates make python3-venv \
        libopenblas0-serial liblapacke \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader

# For .devcontainer: the reader's checkout is mounted there, and is what `make setup` sets up.
FROM system AS checkout
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
USER reader

FROM system
USER reader
WORKDIR /home/reader/chapter
COPY --chown=reader . .
# An index near you: docker build --build-arg PIP_INDEX_URL=https://...
ARG PIP_INDEX_URL
RUN make setup
EXPOSE 8888
CMD [".venv/bin/python", "-m", "d2l_local", "lab", "--ip=0.0.0.0", "--no-browser"]
