"""Checks of the exercises, made of chapters/text by the builder: edit that."""

from d2l_local.answers import (
    async_computation,
    auto_parallelism,
    bottleneck,
    combining_cuts,
    gpt,
    hardware,
    hybridize,
    kernels,
    multiple_gpus,
    multiple_gpus_concise,
    parallel_strategies,
    parameterserver,
    precision,
    serving,
    sharding,
)

SECTIONS = (
    async_computation,
    auto_parallelism,
    bottleneck,
    combining_cuts,
    gpt,
    hardware,
    hybridize,
    kernels,
    multiple_gpus,
    multiple_gpus_concise,
    parallel_strategies,
    parameterserver,
    precision,
    serving,
    sharding,
)
