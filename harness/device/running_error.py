"""running_error.py - how far a result may be from the reference: each operation of reference() carries the largest error, to first order and in
units of u, that a variant makes which does the same operations in its own precision, sums in any order.

An array of these behaves as one of NumPy; an operation without a rule is refused by name.
"""

import numpy

SURE = 8  # Higham and Mary: a sum of k independent roundings exceeds this many times sqrt(k) u in 2 exp(-32) of all cases, 2.5e-14
FAST_EXP = 4, 2.4  # exp(x) by the fast instruction: 4 + 2.4 |x| of u


class Settings:
    """Of the case at hand."""

    def __init__(self, u, least, independent):
        self.u, self.least = u, least  # of the variant's type: unit round-off, smallest normal number
        self.independent = independent  # are the inputs' signs and mantissas?

    def terms(self, k):
        """What a sum of k terms errs by, in u of the sum of magnitudes."""
        return min(float(k), SURE * k**0.5) if self.independent else float(k)


def values(item):
    return item.value if isinstance(item, Running) else item


class Running(numpy.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value, error, settings, whole=False):
        """whole: without an error, and of integers."""
        self.value, self.error, self.settings, self.whole = numpy.asarray(value), error, settings, whole

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype)
    T = property(lambda self: self.each(numpy.transpose))

    def __len__(self):
        return len(self.value)

    def each(self, function, *words, **named):
        """Of functions that move elements only."""
        error = numpy.broadcast_to(self.error, self.value.shape)
        return Running(
            function(self.value, *words, **named), function(error, *words, **named), self.settings, self.whole
        )

    def __getitem__(self, at):
        return self.each(lambda array: array[at])

    def reshape(self, *shape):
        return self.each(lambda array: array.reshape(*shape))

    def sum(self, axis=None, keepdims=False):
        return summed(self, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        return mean(self, axis, keepdims)

    def var(self, axis=None, keepdims=False):
        return mean(numpy.square(self - mean(self, axis, True)), axis, keepdims)

    def max(self, axis=None, keepdims=False):
        return extreme(numpy.max, self, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        return extreme(numpy.min, self, axis, keepdims)

    def __array_ufunc__(self, ufunc, method, *inputs, **named):
        name = ufunc.__name__
        if method == "__call__" and name in COMPARE:
            return ufunc(*map(values, inputs))
        if method != "__call__" or name not in RULES or named:
            raise TypeError(f"numpy.{name} has no rule for its error: write it otherwise, or BOUND = 'own' and bound()")
        a = [item if isinstance(item, Running) else constant(item, self.settings) for item in inputs]
        value = ufunc(*(item.value for item in a))
        error, whole = RULES[name](self.settings, abs(value), *a)
        return Running(value, error, self.settings, whole)

    def __array_function__(self, function, types, args, named):
        if function not in FUNCTIONS:
            raise TypeError(
                f"numpy.{function.__name__} has no rule for its error: write it otherwise, or BOUND = 'own' and bound()"
            )
        return FUNCTIONS[function](*args, **named)


def constant(value, settings):
    value = numpy.asarray(value)
    return Running(value, 0.0, settings, bool(numpy.all(value == numpy.rint(value))))


def exact(settings, magnitudes, *operands):
    """Sums and products of integers that the type holds."""
    return all(item.whole for item in operands) and bool(numpy.all(magnitudes * settings.u <= 1))


def summed(a, axis=None, keepdims=False):
    value, size = a.value.sum(axis=axis, keepdims=keepdims), abs(a.value).sum(axis=axis, keepdims=keepdims)
    if exact(a.settings, size, a):
        return Running(value, 0.0, a.settings, True)
    carried = numpy.broadcast_to(a.error, a.shape).sum(axis=axis, keepdims=keepdims)
    return Running(value, carried + a.settings.terms(a.size / max(value.size, 1)) * size, a.settings)


def mean(a, axis=None, keepdims=False):
    total = summed(a, axis, keepdims)
    return total / (a.size / max(total.size, 1))


def extreme(function, a, axis=None, keepdims=False):
    error = numpy.broadcast_to(a.error, a.shape)
    return Running(
        function(a.value, axis=axis, keepdims=keepdims), error.max(axis=axis, keepdims=keepdims), a.settings, a.whole
    )


def chosen(condition, a, b):
    settings = next(item.settings for item in (condition, a, b) if isinstance(item, Running))
    a, b = (item if isinstance(item, Running) else constant(item, settings) for item in (a, b))
    condition = values(condition)
    return Running(
        numpy.where(condition, a.value, b.value),
        numpy.where(condition, a.error, b.error),
        settings,
        a.whole and b.whole,
    )


# ---- Rules: (error, whole) of a result of magnitude r.


def add(s, r, a, b):
    whole = exact(s, r, a, b)
    return (0.0 if whole else a.error + b.error + r), whole


def multiply(s, r, a, b):
    whole = exact(s, r, a, b)
    return (0.0 if whole else abs(a.value) * b.error + abs(b.value) * a.error + r), whole


def divide(s, r, a, b):
    return (a.error + r * b.error) / abs(b.value) + 2 * r, False


def matmul(s, r, a, b):
    size = abs(a.value) @ abs(b.value)
    if exact(s, size, a, b):
        return 0.0, True
    error = s.terms(a.shape[-1]) * size + size
    for item, other, order in ((a, b, 1), (b, a, -1)):
        if numpy.any(item.error):
            pair = (numpy.broadcast_to(item.error, item.shape), abs(other.value))[::order]
            error = error + pair[0] @ pair[1]
    return error, False


def root(s, r, a):
    return numpy.where(r > 0, a.error / (2 * numpy.where(r > 0, r, 1)), numpy.sqrt(a.error / s.u)) + r, False


def power(s, r, a, b):
    return abs(b.value) * r / abs(a.value) * a.error + abs(numpy.log(abs(a.value))) * r * b.error + 16 * r, False


def exponential(s, r, a):
    return r * (a.error + FAST_EXP[0] + FAST_EXP[1] * abs(a.value)) + s.least / s.u, False


def logarithm(s, r, a):
    return a.error / abs(a.value) + 2 * r + 1, False


RULES = {
    "add": add,
    "subtract": add,
    "multiply": multiply,
    "divide": divide,
    "matmul": matmul,
    "square": lambda s, r, a: multiply(s, r, a, a),
    "sqrt": root,
    "power": power,
    "exp": exponential,
    "log": logarithm,
    "tanh": lambda s, r, a: ((1 - r * r) * a.error + 8 * r, False),
    "maximum": lambda s, r, a, b: (numpy.maximum(a.error, b.error), a.whole and b.whole),
    "minimum": lambda s, r, a, b: (numpy.maximum(a.error, b.error), a.whole and b.whole),
    "negative": lambda s, r, a: (a.error, a.whole),
    "absolute": lambda s, r, a: (a.error, a.whole),
}
COMPARE = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan", "isfinite")
FUNCTIONS = {
    numpy.sum: summed,
    numpy.mean: mean,
    numpy.var: lambda a, **named: a.var(**named),
    numpy.max: lambda a, **named: extreme(numpy.max, a, **named),
    numpy.min: lambda a, **named: extreme(numpy.min, a, **named),
    numpy.where: chosen,
    numpy.dot: lambda a, b: a @ b,
    **{
        function: lambda a, *words, function=function, **named: a.each(function, *words, **named)
        for function in (
            numpy.transpose,
            numpy.reshape,
            numpy.expand_dims,
            numpy.squeeze,
            numpy.swapaxes,
            numpy.broadcast_to,
            numpy.roll,
        )
    },
}
