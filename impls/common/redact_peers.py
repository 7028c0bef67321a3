"""What the peers of redact share."""


def supports(case, tunables):
    return None if case["facts"]["utf8"] else "the case has bytes that are no UTF-8, which this library's strings are"
