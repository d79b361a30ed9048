"""Arrays, equations, graphs and statistics."""

from __future__ import annotations


def numpy() -> None:
    import numpy as np

    a = np.arange(90_000.0).reshape(300, 300)
    assert np.allclose(np.linalg.inv(a + np.eye(300)) @ (a + np.eye(300)), np.eye(300), atol=1e-4)
    assert np.abs(np.fft.ifft(np.fft.fft(a[0])) - a[0]).max() < 1e-9
    np.save("a.npy", a)
    assert np.load("a.npy", mmap_mode="r")[299, 299] == 89_999
    assert np.random.default_rng(7).normal(size=1000).std() < 2


def numpy_draws() -> list[float]:
    import random

    import numpy as np

    return [random.random(), np.random.rand(), np.random.default_rng().random()]


def scipy() -> None:
    import numpy as np
    from scipy import integrate, linalg, optimize, signal, sparse, stats

    assert abs(optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(4)).x - 3).max() < 1e-4
    assert abs(integrate.quad(np.sin, 0, np.pi)[0] - 2) < 1e-9
    assert sparse.linalg.norm(sparse.eye(50, format="csr")) ** 2 > 49
    assert stats.ttest_ind(np.arange(50), np.arange(50) + 40).pvalue < 0.01
    assert linalg.svdvals(np.eye(80)).sum() == 80
    assert signal.find_peaks(np.sin(np.linspace(0, 20, 500)))[0].size == 3


def networkx() -> None:
    import networkx as nx

    graph = nx.grid_2d_graph(20, 20)
    assert nx.shortest_path_length(graph, (0, 0), (19, 19)) == 38
    assert nx.is_connected(graph) and len(nx.minimum_spanning_tree(graph).edges) == 399


def sympy() -> None:
    from sympy import Symbol, integrate, oo, pi, sin, solve

    x = Symbol("x")
    assert integrate(sin(x) / x, (x, 0, oo)) == pi / 2
    assert solve(x**2 - 2, x)[1] ** 2 == 2


def statsmodels() -> None:
    import numpy as np
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    x = np.linspace(0, 10, 200)
    assert abs(sm.OLS(3 * x + 1, sm.add_constant(x)).fit().params - [1, 3]).max() < 1e-8
    assert smf.ols("y ~ x", {"x": x, "y": 2 * x}).fit().rsquared > 0.99


def numba() -> None:
    import numba
    import numpy as np

    @numba.njit(cache=False)
    def total(values: object) -> float:
        sum_ = 0.0
        for value in values:
            sum_ += value
        return sum_

    @numba.njit(parallel=True)
    def doubled(values: object) -> object:
        out = np.empty_like(values)
        for n in numba.prange(len(values)):
            out[n] = values[n] * 2
        return out

    assert total(np.arange(1000.0)) == 499_500
    assert doubled(np.arange(1000.0)).sum() == 999_000
