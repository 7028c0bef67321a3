"""Discounted sums by jax.lax.associative_scan over maps (a, b): y -> a y + b. A set mask makes a zero of the factor, so that what comes
into a segment is multiplied by 0: an infinity or NaN gets through as NaN. Compiled in the first call."""


def shape_factors(gamma, per):
    """[1], [batch] or [batch, n] as something that broadcasts to [batch, n]."""
    return {"all": lambda: gamma.reshape(1, 1), "row": lambda: gamma.reshape(-1, 1), "element": lambda: gamma}[per]()


def make_sums(jax, case):
    """A function (x, gamma, reset) -> y for the case's direction and shapes."""
    numpy, p = jax.numpy, case["params"]
    right = p["direction"] == "right"

    def combine(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    def sums(x, gamma, reset):
        factors = numpy.broadcast_to(shape_factors(gamma, p["gamma_per"]), x.shape)
        if p["reset"] == "mask":
            factors = numpy.where(reset != 0, 0, factors)
        if x.size == 0:
            return x
        wide = numpy.promote_types(x.dtype, "float32")  # sums of f16 and bf16 are float32
        maps = (factors.astype(wide), x.astype(wide))
        return jax.lax.associative_scan(combine, maps, reverse=right, axis=1)[1].astype(x.dtype)

    return sums
