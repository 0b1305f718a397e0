"""What other programs need for the same fits; run by their own Python, prints JSON.

``python regression_peers.py`` with statsmodels, scikit-learn, scipy and KDEpy; one that is missing is left out.
Data: x uniform on [0, 10], sorted, y = sin x + 0.3 noise; bandwidth 0.2; queries equally spaced.
"""

import json
import sys
import time

import numpy as np

H = 0.2


def data(n):
    rng = np.random.default_rng(n)
    x = np.sort(rng.uniform(0, 10, n))
    return x, np.sin(x) + 0.3 * rng.standard_normal(n)


def best(run, most=5, enough=1.0):
    """Least time of a few runs, and the last result."""
    times, begin = [], time.perf_counter()
    while len(times) < most and (not times or time.perf_counter() - begin < enough):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), found


def statsmodels_fit(x, y, q):
    from statsmodels.nonparametric.kernel_regression import KernelReg

    model = KernelReg(y, x, "c", reg_type="lc", bw=[H])
    return lambda: model.fit(q)[0]


def statsmodels_loo(x, y, hs):
    from statsmodels.nonparametric.kernel_regression import KernelReg

    model = KernelReg(y, x, "c", reg_type="lc", bw=[H])
    return lambda: [model.cv_loo(np.asarray([h]), model._est_loc_constant) for h in hs]


def sklearn_fit(x, y, q):
    from sklearn.metrics.pairwise import rbf_kernel

    def run():
        K = rbf_kernel(q[:, None], x[:, None], gamma=0.5 / H**2)
        return K @ y / K.sum(axis=1)

    return run


def scipy_fit(x, y, q):
    """Binning and a Gaussian filter, as one would write it with scipy."""
    from scipy.ndimage import gaussian_filter1d

    def run():
        edges = np.linspace(-2, 12, 1401)
        width = edges[1] - edges[0]
        at = ((x + 2) / width).astype(np.intp)
        counts, sums = np.bincount(at, minlength=1400), np.bincount(at, y, minlength=1400)
        den, num = (gaussian_filter1d(v.astype(float), H / width, truncate=8, mode="constant") for v in (counts, sums))
        return np.interp(q, edges[:-1] + width / 2, num / np.maximum(den, 1e-300))

    return run


def kdepy_fit(x, y, q):
    """KDEpy's linear binning and a convolution, for numerator and denominator."""
    from KDEpy.binning import linear_binning
    from scipy.signal import fftconvolve

    def run():
        grid = np.linspace(-2, 12, 2**14)
        step = grid[1] - grid[0]
        reach = int(8 * H / step)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / H) ** 2)
        den = linear_binning(x[:, None], grid[:, None])
        num = linear_binning(x[:, None], grid[:, None], weights=y - y.min() + 1)
        scale = float(np.sum(y - y.min() + 1)) / x.size
        f = scale * fftconvolve(num, kernel, mode="same") / np.maximum(fftconvolve(den, kernel, mode="same"), 1e-300)
        return np.interp(q, grid, f + y.min() - 1)

    return run


def main():
    found = {}
    q = np.linspace(0, 10, 1000)
    plan = [
        ("statsmodels", statsmodels_fit, (1_000, 10_000, 100_000, 1_000_000)),
        ("scikit-learn", sklearn_fit, (1_000, 10_000, 100_000)),
        ("scipy", scipy_fit, (1_000, 100_000, 1_000_000)),
        ("KDEpy", kdepy_fit, (1_000, 100_000, 1_000_000)),
    ]
    for name, maker, sizes in plan:
        for n in sizes:
            try:
                run = maker(*data(n), q)
                seconds, f = best(run)
            except ImportError:
                break
            found[f"{name} fit {n}"] = {"seconds": seconds, "f": np.asarray(f).tolist()}
            print(name, n, f"{seconds:.4f} s", file=sys.stderr)
    for n, n_h in ((1_000, 4), (10_000, 1)):
        try:
            hs = np.geomspace(0.1, 1, n_h) if n_h > 1 else [H]
            seconds, errors = best(statsmodels_loo(*data(n), hs), most=1)
        except ImportError:
            break
        found[f"statsmodels loo {n}"] = {
            "seconds": 50 * seconds / n_h,
            "h": list(hs),
            "errors": np.ravel(errors).tolist(),
        }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
