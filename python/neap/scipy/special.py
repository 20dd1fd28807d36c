"""Special functions: jax.scipy.special."""

from .._neap import betaln, digamma, entr, erf, erfc, erfinv, expit, kl_div, logit, logsumexp, ndtr, rel_entr, xlog1py, xlogy
from .._neap.nn import log_softmax, softmax
from .._neap.special import (
    beta, betainc, exp1, expi, expn, factorial, gamma, gammainc, gammaincc, gammaln, gammasgn, i0, i0e, i1, i1e, log_ndtr,
    multigammaln, ndtri, poch, polygamma, spence, zeta,
)  # fmt: skip

__all__ = [
    "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "exp1", "expi", "expit", "expn", "factorial",
    "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "rel_entr", "softmax", "spence", "xlog1py",
    "xlogy", "zeta",
]  # fmt: skip
