"""Discounted sums as matrix products in PyTorch, differentiable. Idea: rows are cut in chunks of 128; a chunk times the triangular matrix
of the powers of gamma gives its sums, and what a chunk hands to the next is the same problem again, 128 times shorter, with
gamma^128. Traffic: each of the ceil(log128 n) levels reads and writes its sums twice; rows whose length is no multiple of 128 are
copied first. Rounding: powers in double, then the case's precision; products without TF32, PyTorch's default.
Limits: one gamma. The matrix has zeros, and a zero times infinity is NaN: an infinity or NaN spoils its whole chunk."""

from peer import Skip

CHUNK = 128


def published_sums(case):
    """The function of the package torch-discounted-cumsum for the direction."""
    try:
        import torch_discounted_cumsum as package
    except ImportError:
        raise
    except Exception as error:  # where its installation did not compile it, its first import does, and says in many ways that it cannot
        raise Skip(f"torch-discounted-cumsum could not be compiled: {type(error).__name__}: {error}"[:240]) from error
    return getattr(package, f"discounted_cumsum_{case['params']['direction']}")


def level_count(n):
    levels, reach = 1, CHUNK
    while reach < n:
        levels, reach = levels + 1, reach * CHUNK
    return levels


def powers(torch, gamma, n, right, dtype):
    """Per level (matrix, carried): matrix[j, i] is the weight of x[j] in y[i], carried[i] that of what comes into the chunk."""
    steps = torch.arange(CHUNK, device=gamma.device)
    ahead = steps[None, :] - steps[:, None] if not right else steps[:, None] - steps[None, :]
    inside = (ahead >= 0).to(torch.float64)
    ahead = ahead.clamp(min=0).to(torch.float64)
    distance = (steps + 1 if not right else CHUNK - steps).to(torch.float64)
    base, levels = gamma.to(torch.float64), []
    for _ in range(level_count(n)):
        levels.append(((torch.pow(base, ahead) * inside).to(dtype), torch.pow(base, distance).to(dtype)))
        base = torch.pow(base, CHUNK)
    return levels


def scan(torch, x, levels, right):
    """The discounted sums of the rows of x [rows, n]."""
    rows, n = x.shape
    matrix, carried = levels[0]
    if n <= CHUNK:
        return x @ matrix[:n, :n]
    chunks = (n + CHUNK - 1) // CHUNK
    padded = torch.nn.functional.pad(x, (0, chunks * CHUNK - n)) if n % CHUNK else x
    sums = padded.reshape(rows, chunks, CHUNK) @ matrix
    totals = scan(torch, sums[:, :, 0 if right else -1], levels[1:], right)
    into = torch.nn.functional.pad(totals[:, 1:], (0, 1)) if right else torch.nn.functional.pad(totals[:, :-1], (1, 0))
    return torch.addcmul(sums, into[:, :, None], carried).reshape(rows, chunks * CHUNK)[:, :n]
