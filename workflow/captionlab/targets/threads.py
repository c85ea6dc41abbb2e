"""BLAS threads from the spec: their number decides the bits of a sum."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


def blas_threads(count: int) -> AbstractContextManager[object]:
    """A context in which numpy's matrix products and decompositions use `count` threads, whatever the machine has."""
    return threadpool_limits(limits=count, user_api="blas")  # type: ignore[no-any-return]
