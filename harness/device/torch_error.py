"""torch_error.py - how far the outputs of a PyTorch model may be from those in float64. derived(): as running_error.py has it of NumPy, each of Model's
operations carries the largest error of one that does the same in the case's type, sums in any order; an operation without a rule raises Unknown.
estimated(): the spread of Model itself over orders of its sums and random roundings."""

import functools
import math

import torch
from running_error import FAST_EXP, SURE
from torch.utils._python_dispatch import TorchDispatchMode

EXP, EXP_SLOPE = FAST_EXP
RUNS, SPREADS = 8, 8  # of Model, and how many times their spread passes
NARROW = {"f16": 2.0**-11, "bf16": 2.0**-8}  # what each operation's result is rounded by, where sums are f32
MOVES = (
    "view", "_unsafe_view", "reshape", "t", "transpose", "permute", "unsqueeze", "squeeze", "expand",
    "alias", "clone", "slice", "select", "flip", "cat", "triu", "tril", "lift_fresh", "lift_fresh_copy", "detach",
)  # fmt: skip


class Unknown(Exception):
    """Model has an operation without a rule."""


class Carried:
    """Values, and the largest error of each in units of u; whole: integers without an error."""

    def __init__(self, value, error=None, whole=False):
        self.value, self.whole = value, whole
        self.error = torch.zeros_like(value) if error is None and isinstance(value, torch.Tensor) else error


def each(function, given):
    """Of arguments as an operation gets them."""
    if isinstance(given, (tuple, list)):
        return type(given)(each(function, item) for item in given)
    return function(given) if isinstance(given, Carried) else given


values = functools.partial(each, lambda item: item.value)
errors = functools.partial(each, lambda item: item.error)


def size(item):
    value = item.value if isinstance(item, Carried) else item
    return abs(value.double() if isinstance(value, torch.Tensor) else value)


def carried_by(item):
    return item.error if isinstance(item, Carried) else 0.0


class Settings:
    def __init__(self, u, dtype, independent):
        """independent: are the inputs' signs or mantissas? Then sums of k terms err by SURE sqrt(k)."""
        self.u, self.independent, self.narrow = u, independent, NARROW.get(dtype, 0) / u

    def terms(self, count):
        count = torch.as_tensor(count, dtype=torch.float64)
        return torch.minimum(count, SURE * count.sqrt()) if self.independent else count

    def exact(self, magnitudes, *operands):
        whole = all(item.whole for item in operands) and not self.narrow
        return whole and bool((magnitudes * self.u <= 1).all())


# ---- Rules: the error of a result r, whose arguments are Carried where they depend on inputs or parameters.


def product(s, r, function, a, b):
    """A sum of products, in which only those count that are not zero."""
    magnitudes = function(size(a), size(b))
    if s.exact(magnitudes, a, b):
        return Carried(r, None, True)
    count = function((a.value != 0).double(), (b.value != 0).double())
    own = (s.terms(count) + 1) * magnitudes
    return Carried(r, own + function(a.error, size(b)) + function(size(a), b.error))


def multiplied(s, r, f, a, b):
    return product(s, r, f, a, b)


def added_product(s, r, f, bias, a, b, **scales):
    if scales:
        raise Unknown("addmm with beta or alpha")
    inner = product(s, r - bias.value, torch.mm, a, b)
    return Carried(r, inner.error + bias.error + abs(r))


def convolution(s, r, f, x, w, bias, *how):
    inner = product(s, r, lambda a, b: f(a, b, None, *how), x, w)
    return inner if bias is None else Carried(r, inner.error + per_channel(bias.error, r) + abs(r))


def per_channel(item, like):
    return item.reshape(1, -1, *[1] * (like.ndim - 2))


def added(s, r, f, a, b, alpha=1):
    operands = [item if isinstance(item, Carried) else Carried(torch.as_tensor(float(item))) for item in (a, b)]
    whole = all(item.whole for item in operands) and s.exact(abs(r), *operands)
    return Carried(r, None if whole else carried_by(a) + abs(alpha) * carried_by(b) + abs(r), whole)


def times(s, r, f, a, b):
    return Carried(r, size(a) * carried_by(b) + size(b) * carried_by(a) + abs(r))


def divided(s, r, f, a, b, **rounding):
    if rounding:
        raise Unknown("div with rounding_mode")
    return Carried(r, (carried_by(a) + abs(r) * carried_by(b)) / size(b) + 2 * abs(r))


def power(s, r, f, x, p):
    if isinstance(p, Carried):
        raise Unknown("pow by a tensor")
    return Carried(r, abs(p) * size(x) ** (p - 1) * x.error + (abs(p) if p in (1, 2, 3) else 16) * abs(r))


def extremes(s, r, f, a, b):
    return Carried(r, torch.maximum(a.error, b.error), a.whole and b.whole)


def extreme(s, r, f, x, dim=None, keep=False):
    if isinstance(dim, Carried):
        return extremes(s, r, f, x, dim)
    error = x.error.amax() if dim is None else x.error.amax(dim, keep)
    return [Carried(r[0], error), Carried(r[1])] if isinstance(r, tuple) else Carried(r, error)


def counted(x, dim, keep=False):
    """Terms of a sum, those that are 0 not counted."""
    return (x != 0).double().sum(dim, keep)


def total(s, r, f, x, dim=None, keep=False, **_):
    magnitudes = size(x).sum(dim, keep)
    if s.exact(magnitudes, x):
        return Carried(r, None, True)
    return Carried(r, x.error.sum(dim, keep) + s.terms(counted(x.value, dim, keep)) * magnitudes)


def mean(s, r, f, x, dim=None, keep=False, **_):
    terms = s.terms(counted(x.value, dim, keep))
    return Carried(r, x.error.mean(dim, keep) + terms * size(x).mean(dim, keep) + abs(r))


def cumulative(s, r, f, x, dim):
    count = (x.value != 0).double().cumsum(dim)
    return Carried(r, x.error.cumsum(dim) + s.terms(count) * size(x).cumsum(dim))


def norm(s, r, f, x, p=2, dim=None, keep=False, **_):
    if p not in (1, 2):
        raise Unknown(f"a norm of order {p}")
    magnitudes = x.error.sum(dim, keep) if p == 1 else (x.error**2).sum(dim, keep).sqrt()
    return Carried(r, magnitudes + (s.terms(counted(x.value, dim, keep)) / p + 2) * r)


def weights_of(x, dim):
    """softmax, and what exp() of each term errs by."""
    below = x.value - x.value.amax(dim, True)
    p = below.softmax(dim) if isinstance(dim, int) else below.exp() / below.exp().sum(dim, True)
    return p, EXP + (EXP_SLOPE + 1) * abs(below) + x.error


def softmax(s, r, f, x, dim, _):
    p, own = weights_of(x, dim)
    return Carried(r, r * (own + (p * own).sum(dim, True) + s.terms(x.value.shape[dim]) + 3))


def log_softmax(s, r, f, x, dim, _):
    p, own = weights_of(x, dim)
    below = abs(x.value - x.value.amax(dim, True))
    inner = s.terms(x.value.shape[dim]) + 2 * abs(r) + below + s.narrow * abs(x.value - r) + 2
    return Carried(r, x.error + (p * own).sum(dim, True) + inner)


def logsumexp(s, r, f, x, dim, keep=False):
    p, own = weights_of(x, dim)
    most = size(x).amax(dim, keep)
    return Carried(r, (p * own).sum(dim, keep) + s.terms(x.value.numel() / max(r.numel(), 1)) + 2 * abs(r) + 2 + most)


def scaled(s, y, error, weight, bias):
    """y * weight + bias, where y is normalised."""
    for item in (weight, bias):
        if item is weight and item is not None:
            error, y = error * size(item) + abs(y) * item.error + abs(y * item.value), y * item.value
        elif item is not None:
            y, error = y + item.value, error + item.error
            error = error + abs(y)
    return error


def normalised(s, x, e, dims, eps, weight, bias, narrow=0):
    """(x - mean) / sqrt(var + eps), by two passes or Welford's method. narrow: what mean and deviation are rounded by."""
    terms, m = s.terms(math.prod(x.shape[d] for d in dims)), x.mean(dims, True)
    e_mean = e.mean(dims, True) + terms * abs(x).mean(dims, True) + (1 + narrow) * abs(m)
    d = x - m
    e_d = e + e_mean + abs(d)
    v = (d * d).mean(dims, True)
    e_v = (2 * abs(d) * e_d + s.u * e_d * e_d).mean(dims, True) + (terms + 2) * v
    i = (v + eps).rsqrt()
    e_i = i * (e_v / (v + eps) / 2 + 3 + narrow)
    kept = narrow * (abs(x) + abs(m)) * i  # x i - (mean i), both factors rounded
    return scaled(s, d * i, e_d * i + abs(d) * e_i + abs(d * i) + kept, weight, bias)


def reshaped(item, shape):
    return item and Carried(item.value.reshape(shape), item.error.reshape(shape))


def batch_norm(s, r, f, x, weight, bias, m, v, training, _, eps):
    like = [1, -1, *[1] * (x.value.ndim - 2)]
    weight, bias, m, v = (reshaped(item, like) for item in (weight, bias, m, v))
    if training:
        dims = [d for d in range(x.value.ndim) if d != 1]  # of f16 and bf16 PyTorch keeps the statistics in that type
        error = normalised(s, x.value, x.error, dims, eps, weight, bias, s.narrow)
    else:
        d, i = x.value - m.value, (v.value + eps).rsqrt()
        error = scaled(s, d * i, (x.error + abs(d)) * i + 4 * abs(d * i), weight, bias)
    return [Carried(r[0], error), Carried(r[1]), Carried(r[2])]


def group_norm(s, r, f, x, weight, bias, n, channels, _, groups, eps):
    shape, like = (n, groups, channels // groups, -1), (1, groups, channels // groups, 1)
    weight, bias = reshaped(weight, like), reshaped(bias, like)
    error = normalised(s, x.value.reshape(shape), x.error.reshape(shape), [2, 3], eps, weight, bias)
    return [Carried(r[0], error.reshape(r[0].shape)), Carried(r[1]), Carried(r[2])]


def layer_norm(s, r, f, x, shape, weight, bias, eps):
    dims = list(range(x.value.ndim - len(shape), x.value.ndim))
    return [Carried(r[0], normalised(s, x.value, x.error, dims, eps, weight, bias)), Carried(r[1]), Carried(r[2])]


def max_pool(s, r, f, x, *how):
    return [Carried(r[0], f(x.error, *how)[0]), Carried(r[1])]


def avg_pool(s, r, f, x, kernel, *how):
    return Carried(r, f(x.error, kernel, *how) + s.terms(math.prod(kernel)) * f(size(x), kernel, *how) + abs(r))


def moved(s, r, f, *args, **named):
    error = f(*errors(args), **named)
    if isinstance(r, (tuple, list)):
        return [Carried(a, b) for a, b in zip(r, error)]
    first = args[0] if isinstance(args[0], (tuple, list)) else args[:1]
    return Carried(r, error, all(item.whole for item in first))


def root(s, r, f, x):
    return Carried(r, torch.where(r > 0, x.error / (2 * torch.where(r > 0, r, 1.0)), (x.error / s.u).sqrt()) + r)


def elu(s, r, f, x, alpha=1, scale=1, *_):
    return Carried(r, scale * max(1, alpha) * x.error + abs(r) + 6 * scale * alpha * (x.value < 0))


def slopes(slope, own, whole=False):
    """A function of one element: the slope at its result, or the largest; what it errs by itself."""

    def rule(s, r, f, x, *args, **_):
        steep = slope(x.value, r, *args) if callable(slope) else slope
        return Carried(r, steep * x.error + own(x.value, abs(r)), whole and x.whole)

    return rule


EXACT = slopes(1, lambda x, r: 0 * r)
RULES = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot"), multiplied),
    **dict.fromkeys(("relu", "hardtanh", "clamp", "clamp_min", "clamp_max"), EXACT),
    **dict.fromkeys(("abs", "neg"), slopes(1, lambda x, r: 0 * r, True)),
    **dict.fromkeys(("max", "min", "amax", "amin"), extreme),
    **dict.fromkeys(("maximum", "minimum"), extremes),
    **dict.fromkeys(("linalg_vector_norm", "norm"), norm),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), max_pool),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d"), avg_pool),
    **dict.fromkeys(MOVES, moved),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like"), lambda s, r, *_, **__: Carried(r)),
    **dict.fromkeys(("add", "sub"), added),
    "addmm": added_product,
    "convolution": convolution,
    "mul": times,
    "div": divided,
    "pow": power,
    "sum": total,
    "mean": mean,
    "cumsum": cumulative,
    "_softmax": softmax,
    "_log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "native_batch_norm": batch_norm,
    "native_group_norm": group_norm,
    "native_layer_norm": layer_norm,
    "sqrt": root,
    "rsqrt": slopes(lambda x, r: r / (2 * abs(x)), lambda x, r: 2 * r),
    "reciprocal": slopes(lambda x, r: r * r, lambda x, r: r),
    "exp": slopes(lambda x, r: r, lambda x, r: r * (EXP + EXP_SLOPE * abs(x))),
    "log": slopes(lambda x, r: 1 / abs(x), lambda x, r: 2 * r + 1),
    "elu": elu,
    "leaky_relu": slopes(lambda x, r, slope=0.01: max(1, abs(slope)), lambda x, r: r),
    "sigmoid": slopes(lambda x, r: r * (1 - r), lambda x, r: r * (3 + (1 - r) * (EXP + EXP_SLOPE * abs(x)))),
    "tanh": slopes(lambda x, r: 1 - r * r, lambda x, r: 8 * r),
    "silu": slopes(1.1, lambda x, r: r * (4 + (EXP + EXP_SLOPE * abs(x)) * (-x).sigmoid())),
    "gelu": slopes(1.13, lambda x, r: 2 * r + 4 * abs(x)),
    "mish": slopes(1.09, lambda x, r: 8 * r + 2 * abs(x)),
    "softplus": slopes(1, lambda x, r: 8 * r + EXP_SLOPE * abs(x) * x.sigmoid() + 2),
    "hardswish": slopes(1.5, lambda x, r: 4 * abs(x)),
    "hardsigmoid": slopes(1 / 6, lambda x, r: 2 + 0 * r),
}


class Running(TorchDispatchMode):
    """Carries errors beside Model's own tensors, operation by operation."""

    def __init__(self, s):
        super().__init__()
        self.s, self.known = s, {}  # by id: the tensor, which keeps its id, and what it carries

    def carried(self, item):
        if not isinstance(item, torch.Tensor):
            return item
        if id(item) not in self.known:
            whole = item.is_floating_point() and bool((item == item.round()).all())
            self.known[id(item)] = item, Carried(item, None, whole)
        return self.known[id(item)][1]

    def of(self, args):
        return [self.of(arg) if isinstance(arg, (tuple, list)) else self.carried(arg) for arg in args]

    def keep(self, tensor, carried):
        if tensor.is_floating_point():
            self.known[id(tensor)] = tensor, carried

    def expect_alone(self, tensor):
        """Views of a tensor that is written to would keep its old errors."""
        at = tensor.untyped_storage().data_ptr()
        if sum(item.untyped_storage().data_ptr() == at for item, _ in self.known.values()) > 1:
            raise Unknown("an operation writes to a tensor that has views")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, kwargs = function._schema.name.split("::")[1], kwargs or {}
        if not any(isinstance(item, torch.Tensor) and item.is_floating_point() for item in flat(args)):
            return function(*args, **kwargs)
        given, in_place = self.of(args), name.endswith("_")
        if in_place:
            self.expect_alone(args[0])
            given = [Carried(args[0].clone(), given[0].error, given[0].whole), *given[1:]]
            function, name = getattr(torch.ops.aten, name[:-1]), name[:-1]
        if name not in RULES:
            raise Unknown(f"{name} has no rule for its error")
        r = function(*values(given), **kwargs)
        result = RULES[name](self.s, r, function, *given, **{key: self.carried(item) for key, item in kwargs.items()})
        if in_place:
            args[0].copy_(r)
            r, result.value = args[0], args[0]
        if self.s.narrow and name not in MOVES:
            first = result[0] if isinstance(result, list) else result
            first.error = first.error + self.s.narrow * abs(first.value)
        for tensor, item in zip(r, result) if isinstance(r, (tuple, list)) else [(r, result)]:
            self.keep(tensor, item)
        return r


def flat(args):
    return [item for arg in args for item in (flat(arg) if isinstance(arg, (tuple, list)) else [arg])]


def derived(call, s):
    """Errors of the outputs of call(), in units of u; it runs Model in float64."""
    with Running(s) as running:
        outputs = call()
    return [running.carried(item).error for item in outputs]


class Orders(TorchDispatchMode):
    """Sums in another order, and each result off by a rounding of the type, at random."""

    def __init__(self, u, seed):
        super().__init__()
        self.u, self.random = u, torch.Generator().manual_seed(seed)

    def order(self, k):
        return torch.randperm(k, generator=self.random)

    def shuffled(self, name, args):
        if name in ("mm", "bmm", "addmm"):
            *first, a, b = args
            order = self.order(a.shape[-1])
            return (*first, a[..., order], b[..., order, :])
        if name in ("sum", "mean") and len(args) > 1 and args[1] is not None:
            x, dims = args[0], args[1]
            for dim in dims:
                x = x.index_select(dim, self.order(x.shape[dim]))
            return (x, *args[1:])
        if name == "convolution" and args[8] == 1 and not args[6]:
            order = self.order(args[0].shape[1])
            return (args[0][:, order], args[1][:, order], *args[2:])
        return args

    def rounded(self, result):
        if isinstance(result, (tuple, list)):
            return type(result)(map(self.rounded, result))
        if not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return result
        noise = torch.rand(result.shape, generator=self.random) * 2 - 1
        return result * (1 + self.u * noise)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.split("::")[1]
        result = function(*self.shuffled(name, args), **(kwargs or {}))
        moved = name in MOVES or name.endswith("_") or function.is_view
        return result if moved else self.rounded(result)


def estimated(call, reference, u, narrow):
    """call(narrow) -> the outputs of Model, in f32 or in the narrow type itself; reference: the values. Tolerances."""
    spread = [torch.zeros_like(value) for value in reference]
    for seed in range(RUNS):
        own = narrow and seed % 4 == 0
        with Orders(0 if own else u, seed):
            outputs = call(own)
        for most, given, value in zip(spread, outputs, reference):
            torch.maximum(most, abs(given.double() - value), out=most)
    return [SPREADS * smooth(most, abs(value)) + 4 * u * abs(value) for most, value in zip(spread, reference)]


def smooth(spread, size):
    """Few runs show little of it in some elements: there that of 9 in 10 others of the row, relative to their size."""
    if not spread.ndim or spread.shape[-1] < 2:
        return spread
    relative = (spread / size).nan_to_num(0, 0, 0).kthvalue(math.ceil(0.9 * spread.shape[-1]), -1, True).values
    return torch.maximum(spread, torch.minimum(relative * size, spread.amax(-1, True)))
