"""Run in an environment of its own: pip install statsmodels==0.15.0; python make_statsmodels_reference.py OUT.npz"""

import sys

import numpy as np
import statsmodels
from statsmodels.nonparametric.kernel_regression import KernelReg

rng = np.random.default_rng(20260101)
out = {"version": np.array(statsmodels.__version__)}
for name, n, offset in (("sine", 60, 0.0), ("offset", 40, 1000.0)):
    x = np.sort(rng.uniform(0, 10, n)) + offset
    y = np.sin(x) + 0.3 * rng.standard_normal(n)
    x_query = np.linspace(0, 10, 51) + offset
    out[f"{name}_x"], out[f"{name}_y"], out[f"{name}_x_query"] = x, y, x_query
    bandwidths = np.array([0.2, 0.45, 1.0, 3.0])
    out[f"{name}_h"] = bandwidths
    fits, scores = [], []
    for h in bandwidths:
        model = KernelReg(y, x, var_type="c", reg_type="lc", bw=[h])
        fits.append(model.fit(x_query)[0])
        scores.append(float(np.squeeze(model.cv_loo(np.array([h]), model.est["lc"]))))
    out[f"{name}_fit"] = np.array(fits)
    out[f"{name}_loo"] = np.array(scores)
    model = KernelReg(y, x, var_type="c", reg_type="ll", bw=[0.45])
    out[f"{name}_local_linear"] = model.fit(x_query)[0]
np.savez_compressed(sys.argv[1], **out)
