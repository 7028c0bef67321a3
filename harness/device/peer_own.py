"""peer_own.py - what the harness calls in a peer's process, kept before the peer is imported: one that replaces a function would compute where no clock
runs. Seen is what Python's own means change, by C code (harness/measure/kept.c); SECURITY.md says what is not."""

import contextlib
import ctypes
import functools
import gc
import operator
import os
import pathlib
import signal
import sys
import types
from _ctypes import CFuncPtr
from typing import NamedTuple

from peer_libraries import Measure
from peer_protocol import Failure

LIBRARIES = ("pandas", "polars", "pyarrow", "jax")  # of which peer_forms.py uses more than NumPy's one module
READERS = (
    "contextlib",
    "ctypes",
    "functools",
    "gc",
    "json",
    "json.decoder",
    "json.encoder",
    "math",
    "random",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.types",
)  # of results, and of what the parent says
NEAR, FURTHER, DEEP = range(3)  # what reads results; the libraries; what makes inputs
CHANGING = ("call", "case")  # attributes of the worker, by case
IS = operator.is_
OF_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: other classes cannot be changed


def functions_of(names):
    """(name, function) of a module's or a class's."""
    kinds = (staticmethod, classmethod, property)
    return [(name, value) for name, value in names.items() if callable(value) or isinstance(value, kinds)]


def is_python(value):
    """What is no such function may have any `__code__` (polars.col has a column)."""
    return type(value) is types.FunctionType


def classes_of(module):
    """Those that it defines; a class has none."""
    values = vars(module).values() if isinstance(module, types.ModuleType) else ()
    classes = (value for value in values if isinstance(value, type) and value.__flags__ & OF_PYTHON)
    return [value for value in classes if value.__module__ == module.__name__]


PYTHON = ctypes.PyDLL(None)  # its own: libraries say how functions of ctypes.pythonapi are called
SIGACTION, SIGACTION_BYTES = ctypes.CDLL(None).sigaction, 512  # which begins with the handler
DLADDR = ctypes.CDLL(None).dladdr
DLADDR.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]


FAULTS, ALL = (signal.SIGSEGV, signal.SIGBUS), frozenset(signal.valid_signals())  # of reading
GET_HANDLER, HANDLER_BYTES = 305, 168  # in NumPy's table of functions; of a name, a version, and addresses


def allocator_reader():
    """-> what NumPy calls when it allocates an array."""
    numpy = sys.modules["numpy"]
    pointer = PYTHON.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    core = getattr(numpy, "_core", None) or numpy.core
    table = ctypes.cast(pointer(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    get = ctypes.PYFUNCTYPE(ctypes.py_object)(table[GET_HANDLER])
    return lambda read=ctypes.string_at: read(pointer(get(), b"mem_handler"), HANDLER_BYTES)


def handler_of(number):
    """(Python's, the kernel's with the address of any code's) of a signal."""
    action = ctypes.create_string_buffer(SIGACTION_BYTES)
    SIGACTION(number, None, action)
    return signal.getsignal(number), action.raw


def address_in(action):
    return int.from_bytes(action[: ctypes.sizeof(ctypes.c_void_p)], sys.byteorder)


def is_handler(number, was_python, was):
    python, action = handler_of(number)
    return python is was_python and address_in(action) == address_in(was)


def folders_of_packages():
    """Where the packages lie that are loaded so far."""
    files = (
        module.__file__
        for module in [*sys.modules.values()]
        if hasattr(module, "__path__") and hasattr(module, "__file__")
    )
    return frozenset(pathlib.Path(file).resolve().parents[1] for file in files if file)


def file_of(address):
    """The library that the linker loaded a function from; None: it is in none, as what is compiled at run time."""
    info = (ctypes.c_void_p * 4)()  # Dl_info, which begins with the name
    return pathlib.Path(os.fsdecode(ctypes.string_at(info[0]))).resolve() if DLADDR(address, info) and info[0] else None


class Calls(NamedTuple):
    """Functions of C and how ctypes calls them: what it is told to do with a result, or with what is given, may be Python code."""

    name: str
    names: dict
    kept: tuple

    @classmethod
    def of(cls, name, names):
        return cls(name, names, tuple((key, value, ways(value)) for key, value in found_in(names)))

    def changed(self):
        """Those that were called in another way."""
        return [
            key
            for key, value, kept in self.kept
            if self.names.get(key) is not value or not all(map(IS, ways(value), kept))
        ]


def found_in(names):
    return [(name, value) for name, value in names.items() if isinstance(value, CFuncPtr)]


def ways(function):
    return function.errcheck, function.restype, function.argtypes


class Class(NamedTuple):
    """A class, and which new names would be found before those of a base, or of an object."""

    where: str
    names: types.MappingProxyType
    known: frozenset
    inherited: frozenset

    @classmethod
    def of(cls, thing):
        names = vars(thing)
        known = frozenset(names)
        inherited = frozenset(name for base in thing.__mro__[1:] for name in vars(base)) - known
        return cls(thing.__name__, names, known, inherited)

    def hides(self):
        new = self.names.keys() - self.known
        return [name for name in new if name in self.inherited or hasattr(type(self.names[name]), "__set__")]


def everything_of(names):
    return list(names.items())


def dictionary_of(thing):
    """What vars() of a class shows."""
    names = vars(thing)
    return names if isinstance(names, dict) else next(iter(gc.get_referents(names)))


def twin(code):
    """A copy that nothing runs, in memory of its own."""
    parts = (twin(part) if isinstance(part, types.CodeType) else part for part in code.co_consts)
    return code.replace(
        co_code=bytes(bytearray(code.co_code)), co_consts=tuple(parts), co_names=tuple(list(code.co_names))
    )


def functions_in(value, seen):
    """It, if Python wrote it, and those that it calls for others."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (staticmethod, classmethod, property, functools.partial, types.MethodType)):
        for name in ("__func__", "fget", "fset", "func"):
            yield from functions_in(getattr(value, name, None), seen)
    if is_python(value):
        yield value
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty
                yield from functions_in(cell.cell_contents, seen)


class Keeper(Measure):
    """harness/measure/kept.c."""

    def __init__(self, measure):
        super().__init__(measure, ctypes.PyDLL)
        thing, number = ctypes.py_object, ctypes.c_int
        self.c.kept_names.argtypes = [*[thing] * 5, number, ctypes.c_bool]
        self.c.kept_function.argtypes = [thing, thing, thing, thing, number]
        self.c.kept_seal.argtypes = [number, thing, thing, thing]
        self.confine, self.c.confine_code.argtypes = self.c.confine_code, [ctypes.c_bool]
        self.c.kept_expect.restype = self.c.kept_forget.restype = None
        self.seen = [set(), set()]
        self.expect_ok(self.c.kept_open())

    def names(self, where, dictionary, keys, rank, owner=None, whole=False, changing=()):
        """whole: no other name may come."""
        owner = ctypes.py_object() if owner is None else owner
        self.expect_ok(self.c.kept_names(where, dictionary, tuple(keys), tuple(changing), owner, rank, whole))

    def functions(self, where, values, rank, twins=False):
        """twins: their code is compared, too."""
        for value in values:
            found = functions_in(value, self.seen[1]) if twins else [value] if is_python(value) else []
            for function in found:
                copy = twin(function.__code__) if twins else ctypes.py_object()
                if twins or id(function) not in self.seen[0]:
                    self.expect_ok(self.c.kept_function(where, function.__name__, function, copy, rank))
                self.seen[0].add(id(function))

    def places(self, things, found_in, rank, twins=False, whole=False):
        """What of the names of modules and classes found_in() gives."""
        for thing in things:
            if found := found_in(vars(thing)):
                names, values = zip(*found, strict=True)
                self.names(thing.__name__, dictionary_of(thing), names, rank, whole=whole)
                self.functions(thing.__name__, values, rank, twins)

    def object(self, thing, others=(), rank=NEAR):
        """Its class, and of its attributes those that stand for something to be called, or for one of the others; it gets no more."""
        kinds = (types.ModuleType, ctypes.CDLL, tuple, frozenset, bytes)
        names = [
            name
            for name, value in vars(thing).items()
            if callable(value) or isinstance(value, kinds) or any(value is other for other in others)
        ]
        names = [name for name in names if name not in CHANGING]
        others = [name for name in vars(thing) if name not in names]
        self.names(type(thing).__qualname__, vars(thing), names, rank, thing, True, others)
        self.functions(type(thing).__qualname__, [vars(thing)[name] for name in names], rank)

    def seal(self, replies):
        self.expect_ok(self.c.kept_seal(replies, None, sys.getprofile, sys.gettrace))
        self.confine(False)
        self.seen = [set(), set()]

    def forget(self):
        """What was told since seal()."""
        self.c.kept_forget()
        self.seen = [set(), set()]


def things_in(modules):
    return {id(thing): thing for module in modules for thing in (module, *classes_of(module))}.values()


class Own:
    """All names of the harness's modules, of the classes that these define and of types; functions of libraries, of the modules that they use, and,
    deep, of all modules of the form's library, which makes the inputs; objects have none in place of their class's. What Python code can change
    without a trace is looked at in C; here what a class inherits, and what is no name."""

    def __init__(self, keeper, modules, libraries, objects, form):
        self.keeper, self.expect_names = keeper, keeper.c.kept_expect
        used = (value for module in modules for value in vars(module).values() if isinstance(value, types.ModuleType))
        used = [*used, *(sys.modules[name] for name in LIBRARIES if name in sys.modules)]
        deep = [m for name, m in sys.modules.items() if form in LIBRARIES and name.split(".")[0] == form]
        readers = [sys.modules[name] for name in READERS if name in sys.modules]
        used = [module for module in used if module not in (*modules, *readers)]
        whole = [thing for thing in libraries if isinstance(thing, type)]
        libraries = [thing for thing in libraries if thing not in whole]
        keeper.places(things_in(modules), everything_of, NEAR, twins=True, whole=True)
        keeper.places(things_in(readers), functions_of, NEAR, twins=True)
        keeper.places(whole, everything_of, NEAR)
        for rank, found in enumerate((libraries, used, deep)):
            keeper.places(things_in(found), functions_of, rank)
        ranks = (things_in(found) for found in ((*whole, *readers, *libraries), used, deep))
        self.classes = tuple(tuple(Class.of(thing) for thing in things if isinstance(thing, type)) for things in ranks)
        known = {id(module) for module in (*modules, *readers, sys.modules["numpy"])}
        names = [name for name, module in sys.modules.items() if id(module) in known or name in LIBRARIES]
        keeper.names("sys.modules", sys.modules, names, NEAR)
        self.handlers = tuple((number, *handler_of(number)) for number in signal.valid_signals())
        self.folders, self.put_back = folders_of_packages(), False
        self.read_allocator = allocator_reader()
        libraries_of_c = {thing.c for thing in (keeper, *objects) if isinstance(getattr(thing, "c", None), ctypes.CDLL)}
        self.native = (
            *(Calls.of(module.__name__, vars(module)) for module in (*modules, ctypes)),
            *(Calls.of(c._name or "Python", vars(c)) for c in (PYTHON, *libraries_of_c)),
        )
        for c in (PYTHON, *libraries_of_c):
            keeper.names(str(c._name or "Python"), vars(c), vars(c), NEAR, whole=True)
        self.allocator = self.read_allocator()
        self.collected = tuple(gc.callbacks)
        self.things = (self, keeper, *objects)
        for thing in self.things:
            keeper.object(thing, self.things)

    def keep(self, *things):
        """Objects and functions, until keeper.forget()."""
        for thing in things:
            if is_python(thing):
                self.keeper.functions(__name__, [thing], NEAR, twins=True)
            else:
                self.keeper.object(thing, self.things)

    def expect_kept(self, deep=False):
        self.expect_near()
        self.expect_handlers(ALL)
        self.expect_names(DEEP if deep else FURTHER)
        for classes in self.classes[1 : 2 + deep]:
            self.expect_classes(classes)

    def expect_handlers(self, looked_at):
        """Handlers of an installed package's own code are put back, once: LLVM sets some when Triton compiles. They may have been made to call
        the peer's, so none stays."""
        if all(number not in looked_at or is_handler(number, *was) for number, *was in self.handlers):
            return
        others = [(number, *was) for number, *was in self.handlers if not is_handler(number, *was)]
        for number, was_python, _ in others:
            python, action = handler_of(number)
            file = file_of(address_in(action)) if python is was_python and not self.put_back else None
            if not file or not self.folders & set(file.parents):
                raise Failure("check", "sets a handler of a signal, which would compute outside of every sample")
        for number, _, action in others:
            SIGACTION(number, action, None)
        self.put_back = True

    def expect_near(self):
        """What reads results."""
        self.expect_names(NEAR)
        for calls in self.native:
            if changed := calls.changed():
                self.refuse(calls.name, changed[0])
        self.expect_handlers(FAULTS)
        if self.read_allocator() != self.allocator:
            raise Failure("check", "sets an allocator of NumPy's, which would compute outside of every sample")
        if len(gc.callbacks) != len(self.collected) or not all(map(IS, gc.callbacks, self.collected)):
            raise Failure("check", "sets a callback of gc's, which would compute outside of every sample")
        self.expect_classes(self.classes[0])

    def expect_classes(self, classes):
        for kept in classes:
            if not kept.names.keys() <= kept.known and (hiding := kept.hides()):
                self.refuse(kept.where, hiding[0])

    def refuse(self, where, name):
        raise Failure("check", f"replaces {where}.{name}: what the harness calls in this process is not to be changed")


class Hooks:
    """A hook that is called wherever Python code goes on would compute outside of every sample. What compiles may watch itself by sys.monitoring
    (Python 3.12; Inductor's profiler does) and audit hooks (filelock's, of Inductor's cache), but nothing stays of it, and in timing there is none."""

    ALWAYS_REFUSED = ("setprofile", "settrace", "_setprofileallthreads", "_settraceallthreads")
    TOOLS = range(6)  # that sys.monitoring gives

    def __init__(self, measure=None):
        """measure: librungs_measure.so; None: what is set past Python is not seen."""
        self.timing, self.added, self.count = False, 0, lambda: self.added
        if measure:
            self.c = ctypes.CDLL(measure)
            PYTHON.PySys_AddAuditHook(self.c.measure_hook, None)
            self.count = self.c.measure_hooks
        for name in self.ALWAYS_REFUSED:
            self.guard(sys, name, lambda: True)
        self.audits, self.add_audit = [], sys.addaudithook
        sys.addaudithook = self.audit
        self.guard(sys, "addaudithook", lambda: self.timing)
        self.monitoring = getattr(sys, "monitoring", None)
        if self.monitoring:
            self.register = self.monitoring.register_callback
            self.events = [event for event in vars(self.monitoring.events).values() if event]
            for name in ("use_tool_id", "register_callback", "set_events", "set_local_events"):
                self.guard(self.monitoring, name, lambda: self.timing)

    def guard(self, module, name, refused):
        function = getattr(module, name, None)

        def guarded(*given, **named):
            if not refused():
                return function(*given, **named)
            caller = sys._getframe(1)
            where = f"{pathlib.Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
            raise Failure(
                "check", f"{where} calls {module.__name__}.{name}(): a hook would compute outside of every sample"
            )

        if function:
            setattr(module, name, guarded)

    def audit(self, hook):
        """Python removes none: one that can be emptied."""
        kept = [hook]
        self.audits.append(kept)
        self.added += 1
        self.add_audit(lambda event, given: kept[0](event, given) if kept else None)

    def expect_known(self):
        if self.count() != self.added:
            raise Failure(
                "check", "sets an audit hook past sys.addaudithook(), which would compute outside of every sample"
            )

    def drop(self):
        """What was set is called no more."""
        while self.audits:
            self.audits.pop().clear()
        for tool in self.TOOLS if self.monitoring else ():
            for event in self.events:
                self.register(tool, event, None)

    @contextlib.contextmanager
    def refused(self):
        self.timing = True
        self.drop()
        try:
            yield
        finally:
            self.timing = False
