"""peer_forms.py - the forms of libraries: what a peer gets its inputs as, and what it may give. The harness makes the inputs' forms and reads the
results, outside the clock, and inverts what it made. A result is known by its exact type, which is taken from the library before the peer's
file is imported: a future, a lazy object or a class of the peer's own is none. Strings are an Arrow column in between."""

import contextlib
import ctypes
import functools
import math
import random
import types

import numpy
from peer_libraries import Gpu, Host
from peer_protocol import Failure

PARTS = ("offsets", "chars", "validity")  # of a column of strings: NAME.offsets, ...
READ_PARTS, READ_LEAST = 16, 1024  # of a result; elements


def expect_type(value, *types):
    """What lies inside a library's object, too: an attribute can be set."""
    if type(value) not in types:
        kind = type(value)
        raise Failure(
            "check", f"run() gives a {kind.__module__}.{kind.__qualname__}, which is none of the library's own arrays"
        )
    return value


def from_arrow(arrow):
    """Numbers as NumPy's, NaN where they are null; strings as they are."""
    import pyarrow

    if arrow.type in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        return arrow
    if not pyarrow.types.is_primitive(arrow.type):
        raise Failure(
            "check", f"run() gives a column of {arrow.type}: expected numbers or strings, one for each element"
        )
    return arrow.to_numpy(**({} if type(arrow) is pyarrow.ChunkedArray else {"zero_copy_only": False}))


# Types that NumPy and PyTorch call the same, and that NumPy has from ml_dtypes, as ones of no kind that it knows.
OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_number(dtype):
    return dtype.kind in "biuf" or dtype.name in OF_ML_DTYPES


class Numpy:
    """give(array, held): the library's form of an array or a column of strings; in `held`, its form of others, where that can be written.
    memory(given): an array of the memory of an input, which says where it is by NumPy's or CUDA's array interface.
    result(value): likewise of a result; take(value): NumPy's array of it, or a column of strings. table(value): the columns of a table by name; None: it is none."""

    types = (numpy.ndarray,)
    holds = False

    def __init__(self, device=None, measure=None):
        del device, measure  # of PyTorch's tensors

    def classes(self):
        """Those of the library that are looked into."""
        values = (value if type(value) is tuple else (value,) for value in (self.types, *vars(self).values()))
        return {value for group in values for value in group if isinstance(value, type)}

    def alone(self):
        """A context in which the library calls no hook."""
        return contextlib.nullcontext()

    def give(self, array, held):
        return array

    def memory(self, given):
        return self.take(given)

    def result(self, value):
        return self.memory(value)

    def take(self, value):
        return value

    def table(self, value):
        return None


class OnGpu(Numpy):
    holds = True

    def memory(self, given):
        return given


class Torch(Numpy):
    """Tensors are written and read by address: whatever goes by PyTorch's dispatcher may call a kernel that the peer registered."""

    holds = True

    def __init__(self, device, measure):
        import torch

        with contextlib.suppress(ImportError):
            import ml_dtypes  # noqa: F401  NumPy knows its types by name
        self.torch, self.types, tensor = torch, (torch.Tensor,), torch._C.TensorBase
        self.empty, self.strided, self.no_function = torch.empty, torch.strided, torch._C.DisableTorchFunction
        self.address, self.strides, self.in_order = tensor.data_ptr, tensor.stride, tensor.is_contiguous
        self.shape, self.dtype, self.layout, self.place = (
            getattr(tensor, name).__get__ for name in ("shape", "dtype", "layout", "device")
        )
        self.device, self.memory_of = device, (Gpu if device == "cuda" else Host)(measure)

    def alone(self):
        return self.no_function()

    def named(self, dtype):
        return getattr(self.torch, dtype.name)

    def block(self, value):
        """NumPy's type, the shape and the strides in bytes of a tensor that lies in the memory of a machine."""
        name, layout, place = str(self.dtype(value)).removeprefix("torch."), self.layout(value), self.place(value).type
        if layout is not self.strided or place not in ("cpu", self.device):
            raise Failure("check", f"run() gives a tensor that is {layout} on {place}")
        try:
            dtype = numpy.dtype(name)
        except TypeError:
            raise Failure("check", f"run() gives a tensor of {name}; numbers are expected") from None
        return dtype, tuple(self.shape(value)), tuple(dtype.itemsize * stride for stride in self.strides(value)), place

    def give(self, array, held):
        if held is None:
            held = self.empty(array.shape, dtype=self.named(array.dtype), device=self.device)
        dtype, shape, _, place = self.block(held)
        if (dtype, shape, place, self.in_order(held)) != (array.dtype, array.shape, self.device, True):
            raise Failure("check", "an input has become another tensor; run() must leave it as it is")
        array = numpy.ascontiguousarray(array)
        self.memory_of.move(self.address(held), address_of(array), array.nbytes)
        return held

    def memory(self, given):
        dtype, shape, strides, place = self.block(given)
        interface = {"data": (self.address(given), False), "shape": shape, "typestr": f"|V{dtype.itemsize}"}
        interface["strides"] = None if self.in_order(given) else strides
        name = "__cuda_array_interface__" if place == "cuda" else "__array_interface__"
        return types.SimpleNamespace(**{name: interface}, tensor=given)

    def take(self, value):
        dtype, shape, strides, place = self.block(value)
        if not math.prod(shape):
            return numpy.empty(shape, dtype)
        size = dtype.itemsize + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        if place == "cuda":
            room = numpy.empty(size, "u1")
            self.memory_of.move(address_of(room), self.address(value), size)
        else:
            room = (ctypes.c_char * size).from_address(self.address(value))
            room.tensor = value  # which owns it
        return numpy.ndarray(shape, dtype, room, 0, strides)


class Cupy(OnGpu):
    def __init__(self, device, measure):
        import cupy

        self.asarray, self.get, self.set, self.types = cupy.asarray, cupy.ndarray.get, cupy.ndarray.set, (cupy.ndarray,)

    def give(self, array, held):
        if held is None:
            return self.asarray(array)
        if array.size:
            self.set(held, array)
        return held

    def take(self, value):
        return self.get(value)


class Numba(OnGpu):
    """On a GPU, where an array without elements is None."""

    def __init__(self, device, measure):
        from numba import cuda

        self.to_device, example = cuda.to_device, cuda.device_array(1)
        self.types, self.copy_to_host = (type(example),), type(example).copy_to_host
        self.copy_to_device = type(example).copy_to_device

    def give(self, array, held):
        if held is None:
            return self.to_device(array) if array.size else None
        self.copy_to_device(held, array)
        return held

    def take(self, value):
        host = numpy.empty(value.shape, value.dtype)
        self.copy_to_host(value, host)
        return host


class Jax(Numpy):
    def __init__(self, device, measure):
        import jax

        self.jax, self.types = jax, (type(jax.numpy.zeros(())),)
        self.put, self.ready, self.copy = jax.device_put, jax.block_until_ready, jax.numpy.array

    def give(self, array, held):
        return self.ready(self.put(array))

    def result(self, value):
        interface = {"data": (value.unsafe_buffer_pointer(), True), "shape": value.shape, "strides": None}
        return types.SimpleNamespace(__cuda_array_interface__=interface | {"typestr": f"|V{value.dtype.itemsize}"})

    def take(self, value):
        return numpy.asarray(self.copy(value, copy=True))  # not what the object keeps of itself for the host


class Pandas(Numpy):
    """One dimension is a Series, two are a DataFrame, strings a Series of pandas' own string type."""

    def __init__(self, device, measure):
        import pandas

        numbers, text = pandas.Series([0.0])._mgr, pandas.array(["a"], dtype="str")
        self.pandas, self.types, self.manager = pandas, (pandas.Series, pandas.DataFrame), type(numbers)
        self.block, self.columns = type(numbers.blocks[0]), (type(text), pandas.arrays.ArrowExtensionArray)
        self.tables = type(pandas.DataFrame([0.0])._mgr)

    def give(self, array, held):
        if not isinstance(array, numpy.ndarray):
            return self.pandas.Series(self.pandas.array(array, dtype="str"))
        return (self.pandas.Series if array.ndim == 1 else self.pandas.DataFrame)(array, copy=False)

    def take(self, value):
        if type(value) is not self.pandas.DataFrame:
            (block,) = expect_type(value._mgr, self.manager).blocks
            return self.inside(block)
        blocks = expect_type(value._mgr, self.tables).blocks
        columns = numpy.concatenate([block.mgr_locs.as_array for block in blocks])
        rows = [numpy.atleast_2d(self.inside(block)) for block in blocks]
        return numpy.concatenate(rows)[columns.argsort()].T if len(rows) > 1 else rows[0].T

    def inside(self, block):
        """A row for each column of a table."""
        values = expect_type(block.values, *((numpy.ndarray,) if type(block) is self.block else self.columns))
        if type(values) is numpy.ndarray:
            return values
        import pyarrow

        return from_arrow(pyarrow.array(values))


class Polars(Numpy):
    def __init__(self, device, measure):
        import polars

        self.polars, self.types, self.inner = polars, (polars.Series, polars.DataFrame), type(polars.Series([0.0])._s)
        self.types, self.tables, self.text = (*self.types, self.inner), type(polars.DataFrame()._df), polars.String
        self.to_arrow = polars.Series.to_arrow

    def give(self, array, held):
        if not isinstance(array, numpy.ndarray):
            return self.polars.from_arrow(array)
        return (self.polars.Series if array.ndim == 1 else self.polars.from_numpy)(array)

    def take(self, value):
        if type(value) is self.polars.DataFrame:
            return numpy.stack([self.take(column) for column in self.table(value).values()], 1)
        inner = value if type(value) is self.inner else expect_type(value._s, self.inner)
        text = type(inner.dtype()) is self.text
        return (
            self.to_arrow(types.SimpleNamespace(_s=inner)) if text else inner.to_numpy(writable=False, allow_copy=True)
        )

    def table(self, value):
        """Its columns as they are inside of polars: what the harness calls of them is compiled."""
        if type(value) is not self.polars.DataFrame:
            return None
        return {column.name(): column for column in expect_type(value._df, self.tables).get_columns()}


def arrow_types(kind=None):
    """Arrow's arrays, one class for each type of element."""
    import pyarrow

    kind = kind or pyarrow.Array
    return {kind, *(found for below in kind.__subclasses__() for found in arrow_types(below))} - {
        pyarrow.ExtensionArray
    }


class Pyarrow(Numpy):
    def __init__(self, device, measure):
        import pyarrow
        import pyarrow.compute

        self.pyarrow, self.types = pyarrow, (*arrow_types(), pyarrow.ChunkedArray, pyarrow.Table)

    def give(self, array, held):
        return self.pyarrow.array(array) if isinstance(array, numpy.ndarray) else array

    def take(self, value):
        return from_arrow(value)

    def table(self, value):
        return dict(zip(value.column_names, value.columns, strict=True)) if type(value) is self.pyarrow.Table else None


class Cudf(Numpy):
    """pylibcudf's columns: numbers row after row, strings; None where there is no element."""

    def __init__(self, device, measure):
        import pylibcudf

        self.column = pylibcudf.Column
        self.types, self.to_arrow = (self.column,), self.column.to_arrow

    def give(self, array, held):
        if not isinstance(array, numpy.ndarray):
            return self.column.from_arrow(array)
        return self.column.from_array_interface(numpy.ascontiguousarray(array.reshape(-1))) if array.size else None

    def memory(self, given):
        return given.data()

    def take(self, value):
        return from_arrow(self.to_arrow(value))


FORMS = {form.__name__.lower(): form for form in (Numpy, Torch, Cupy, Numba, Jax, Pandas, Polars, Pyarrow, Cudf)}


def interface_of(memory, on_gpu):
    """NumPy's or CUDA's array interface of this memory; None: it has none, as PyTorch's tensors of some types."""
    try:
        return getattr(memory, "__cuda_array_interface__" if on_gpu else "__array_interface__", None)
    except (KeyError, TypeError, RuntimeError):
        return None


def form_of(variant):
    """What a VARIANT takes its inputs as: what it says, or that of its clock, or of its framework."""
    clock, framework = variant.get("clock", "cpu"), variant.get("framework")
    by_itself = clock if clock != "cpu" else framework if framework in FORMS and framework != "numba" else "numpy"
    form = variant.get("form", by_itself)
    if form not in FORMS:
        raise Failure("check", f"form={form}: a peer's inputs are {', '.join(FORMS)}")
    if clock == "cpu" and form in ("cupy", "numba", "cudf"):
        raise Failure("check", f"form={form}: its arrays are on a GPU, and VARIANT has no clock of one")
    return form


def grouped(arrays):
    """Arrays by name, the three of a column of strings as one: {"x": array, "names": {"offsets": array, ...}}."""
    found = {}
    for name, array in arrays.items():
        column, _, part = name.rpartition(".")
        if part in PARTS and f"{column}.offsets" in arrays:
            found.setdefault(column, {})[part] = array
        else:
            found[name] = array
    return found


def text_column(parts):
    """A pyarrow Array over the arrays of a column. Its bytes are taken for UTF-8."""
    import pyarrow

    offsets, chars, validity = (parts[part] for part in PARTS)
    kind = pyarrow.large_string() if offsets.itemsize == 8 else pyarrow.string()
    bits = pyarrow.py_buffer(validity) if validity.size else None
    return pyarrow.Array.from_buffers(
        kind, offsets.size - 1, [bits, pyarrow.py_buffer(offsets), pyarrow.py_buffer(chars)]
    )


def between(given):
    """An array, or the Arrow column of its parts."""
    return text_column(given) if isinstance(given, dict) else given


def text_arrays(text, name, offset_type, with_validity):
    """The arrays of a column of strings. Null rows get no bytes, whatever they own."""
    import pyarrow
    import pyarrow.compute

    if isinstance(text, pyarrow.ChunkedArray):
        text = text.combine_chunks()
    valid = numpy.asarray(pyarrow.compute.is_valid(text))
    text = pyarrow.compute.fill_null(
        text.cast(pyarrow.large_string() if offset_type.itemsize == 8 else pyarrow.string()), ""
    )
    _, offsets, chars = text.buffers()
    first = numpy.frombuffer(offsets, offset_type)[text.offset :] if len(text) else numpy.zeros(1, offset_type)
    offsets = first[: len(text) + 1]
    chars = numpy.frombuffer(chars, "u1")[offsets[0] : offsets[-1]] if chars is not None else numpy.empty(0, "u1")
    bits = numpy.packbits(valid, bitorder="little") if with_validity else numpy.empty(0, "u1")
    return {f"{name}.offsets": offsets - offsets[0], f"{name}.chars": chars, f"{name}.validity": bits}


def address_of(array):
    """What `array.ctypes` says of it asks Python code of NumPy's."""
    return array.__array_interface__["data"][0]


class Memory(Host):
    """NumPy's arrays as bytes."""

    def poison(self, array, byte):
        self.fill(address_of(array), byte, array.nbytes)
        return array

    def same_bits(self, a, b):
        if a.dtype != b.dtype or a.size != b.size:
            return False
        a, b = map(numpy.ascontiguousarray, (a, b))
        return self.same(address_of(a), address_of(b), a.nbytes)

    def write(self, array, place):
        """Part by part, in any order: a thread that still computes is seldom ahead of what is read. As NumPy does it where types differ, or where one
        number does not lie behind the other."""
        as_bytes = array.dtype == place.dtype and array.flags.c_contiguous and place.flags.c_contiguous
        for part in parts_of(array.size):
            if as_bytes:
                begin, end = (k * array.itemsize for k in part.indices(array.size)[:2])
                self.move(address_of(place) + begin, address_of(array) + begin, end - begin)
            else:
                place.reshape(-1)[part] = array.reshape(-1)[part]


def same_text(a, b):
    if hasattr(b, "combine_chunks"):
        b = b.combine_chunks()
    return b.cast(a.type).equals(a)


# ---- What supports() may know of the data.


def is_utf8(inputs):
    import pyarrow

    try:
        for given in inputs.values():
            if isinstance(given, dict):
                text_column(given).validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def has_gaps(inputs):
    """Is there a NaN behind a number?"""

    def has(x):
        observed = numpy.flatnonzero(~numpy.isnan(x))
        return observed.size > 0 and observed.size <= observed[-1] - observed[0]

    return any(has(x) for x in inputs.values() if isinstance(x, numpy.ndarray) and x.dtype.kind == "f" and x.ndim == 1)


FACTS = {"utf8": is_utf8, "gaps": has_gaps}


def facts_of(variant, inputs):
    return {name: FACTS[name](grouped(inputs)) for name in variant.get("facts", [])}


class Shape:
    """What prepare() sees of an input: of a column of strings its rows."""

    def __init__(self, given):
        text = isinstance(given, dict)
        self.shape, self.dtype = ((given["offsets"].size - 1,), None) if text else (given.shape, given.dtype)
        self.size = math.prod(self.shape)


def shapes_of(inputs):
    return {name: Shape(given) for name, given in grouped(inputs).items()}


def incomplete_outputs(variant, case, inputs):
    """(how many outputs come before the first complete one, what the op wants there): the harness writes them for a VARIANT that says which
    parameter decides it, the elements of a window or the least numbers seen."""
    rule, params = variant.get("incomplete"), case.get("params", {})
    if not rule:
        return 0, math.nan
    x, least = next(iter(inputs.values())), max(1, int(params[rule]))
    count = least - 1
    if rule != "window" and numpy.isnan(x[:least]).any():
        seen = numpy.flatnonzero(~numpy.isnan(x))
        count = int(seen[count]) if seen.size >= least else x.size
    return min(count, x.size), math.inf if params.get("incomplete") == "inf" else math.nan


def logarithm(array):
    with numpy.errstate(all="ignore"):
        return numpy.log(array.astype("f8")).astype(array.dtype)


def alone(method):
    """No hook of the library's own is called meanwhile."""

    @functools.wraps(method)
    def guarded(self, *given):
        with self.form.alone():
            return method(self, *given)

    return guarded


class Exchange:
    """Between NumPy's arrays by the op's names and the library's forms, of one variant."""

    def __init__(self, variant, measure, device=None):
        """measure: librungs_measure.so. device: of PyTorch's tensors."""
        self.variant = variant
        device = device or ("cuda" if variant.get("clock") == "torch" else "cpu")
        self.form = FORMS[form_of(variant)](device, measure)
        self.forms, self.memory = (self.form, Numpy()), Memory(measure)
        self.forget()

    def forget(self):
        self.arrays, self.given, self.case, self.inputs = {}, {}, {}, {}

    def release(self):
        """What run() got, but for memory that is written again: the library's own arrays, as they were given."""
        self.given = {name: form for name, form in self.given.items() if self.form.holds}
        for name, form in self.given.items():
            if form is not None and type(form) not in self.form.types:
                raise Failure(
                    "check", f"input {name} has become a {type(form).__qualname__}; run() must leave it as it is"
                )

    @alone
    def give(self, arrays):
        """What run() gets of these inputs."""
        self.arrays = grouped(arrays) | {name: logarithm(arrays[name]) for name in self.variant.get("logarithms", ())}
        self.given = {name: self.form.give(between(array), self.given.get(name)) for name, array in self.arrays.items()}
        return self.given

    def numbers(self):
        """The library's inputs that are arrays of numbers, by name."""
        given = {name: form for name, form in self.given.items() if isinstance(self.arrays[name], numpy.ndarray)}
        return {name: form for name, form in given.items() if form is not None}

    @alone
    def place(self, name, on_gpu):
        """Where the library seems to keep this input, one number behind the other, and what holds that memory; (None, None): not so."""
        if name in self.variant.get("logarithms", ()):
            return None, None
        form, array = self.numbers().get(name), self.arrays.get(name)
        memory = None if form is None else self.form.memory(form)
        interface = interface_of(memory, on_gpu)
        if not interface or interface.get("strides") is not None:
            return None, None
        size = math.prod(interface["shape"]) * int(interface["typestr"][2:])
        return (interface["data"][0], memory) if size == array.nbytes else (None, None)

    @alone
    def copy(self, name):
        """NumPy's array of this input as it is now."""
        return self.form.take(self.numbers()[name])

    @alone
    def expect_inverse(self):
        """Raises unless the library's inputs, converted back, equal what they were made from: only run() computes, and it must not write to them."""
        for name, array in self.arrays.items():
            form, array = self.given[name], between(array)
            if form is None or form is array:
                continue
            back = self.form.take(form)
            if not (self.memory.same_bits if isinstance(array, numpy.ndarray) else same_text)(array, back):
                raise Failure(
                    "check", f"input {name}: what the library has is not what it was given; run() must not write there"
                )

    def by_name(self, value, names):
        """Results by the op's names. One value is the first output, a tuple all of them."""
        if type(value) is dict:
            if unknown := [str(name) for name in value if name not in names]:
                raise Failure("check", f"run() gives {', '.join(unknown)}; the outputs are {', '.join(names)}")
            return value
        if type(value) in (tuple, list):
            if len(value) != len(names):
                raise Failure("check", f"run() gives {len(value)} results; the outputs are {', '.join(names)}")
            return dict(zip(names, value, strict=True))
        for form in self.forms:
            columns = form.table(value) if type(value) in form.types else None
            if columns and set(columns) <= set(names):
                return columns
        return {names[0]: value}

    def take(self, value, name):
        for form in self.forms:
            if type(value) in form.types:
                taken = form.take(value)
                if isinstance(taken, numpy.ndarray) and (
                    type(taken) is not numpy.ndarray or not is_number(taken.dtype)
                ):
                    raise Failure("check", f"output {name} is an array of {taken.dtype}; numbers are expected")
                return taken
        kind, known = type(value), " or ".join(dict.fromkeys((form_of(self.variant), "numpy")))
        raise Failure(
            "check",
            f"output {name}: run() gives a {kind.__module__}.{kind.__qualname__}; an array of {known} is expected",
        )

    @alone
    def results(self, value, rooms):
        """NumPy's arrays of what a call gave, by the names of `rooms`."""
        found, columns = {}, grouped(rooms)
        for name, part in self.by_name(value, list(columns)).items():
            taken, room = self.take(part, name), columns[name]
            if isinstance(taken, numpy.ndarray) == isinstance(room, dict):
                raise Failure("check", f"output {name}: run() gives {'strings' if name in rooms else 'numbers'}")
            if name in rooms:
                found[name] = taken
                continue
            nullable = any(array.size for key, array in self.inputs.items() if key.endswith(".validity"))
            nullable = nullable or self.variant.get("bitmap", False)
            found |= text_arrays(taken, name, room["offsets"].dtype, nullable)
        return found

    def write(self, found, rooms):
        """Results of known size to their places, with the incomplete ones before them."""
        count, value = incomplete_outputs(self.variant, self.case, self.inputs)
        for name, array in found.items():
            out = rooms[name]
            place = out[count:] if count and array.size == out.size - count else out
            if array.size != place.size or not numpy.can_cast(array.dtype, out.dtype, "same_kind"):
                raise Failure("check", f"output {name} is {words(array)}; {words(out)} is expected")
            self.memory.write(array, place)
            out[:count] = value


def parts_of(size):
    step = max(size // READ_PARTS + 1, READ_LEAST)
    starts = range(0, size, step)
    return [slice(start, start + step) for start in random.sample(starts, len(starts))]


def words(array):
    return f"{array.dtype}{list(array.shape)}"
