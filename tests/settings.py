"""What the tests and the benchmark remove from the environment of the processes that they start."""

# Settings that another test, or the machine, may have left there: a stock reader has none of them.
NOTHING_SET = dict.fromkeys(
    (
        "LD_PRELOAD",
        "MXNET_CPU_PARALLEL_RAND_COPY",
        "MXNET_CPU_TEMP_COPY",
        "MXNET_CPU_WORKER_NTHREADS",
        "MXNET_ENGINE_TYPE",
        "MXNET_OMP_MAX_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_CORETYPE",
        "OPENBLAS_L2_SIZE",
        "OPENBLAS_NUM_THREADS",
    )
)
