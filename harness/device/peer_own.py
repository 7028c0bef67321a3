"""peer_own.py - what the harness calls in a peer's process, kept before the peer is imported: one that replaces a function would compute where no clock
runs. Seen is what Python's own means change; SECURITY.md says what is not."""

import contextlib
import ctypes
import operator
import os
import pathlib
import signal
import sys
import types
from _ctypes import CFuncPtr

from peer_protocol import Failure

LIBRARIES = ("pandas", "polars", "pyarrow", "jax")  # of which peer_forms.py uses more than NumPy's one module
READERS = (
    "contextlib",
    "ctypes",
    "functools",
    "math",
    "random",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.types",
)  # of results
CODE, IS = operator.attrgetter("__code__"), operator.is_
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


FAULTS = (signal.SIGSEGV, signal.SIGBUS)  # of reading
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
    return signal.getsignal(number), action


def address_in(action):
    return ctypes.c_void_p.from_buffer(action).value


def folders_of_packages():
    """Where the packages lie that are loaded so far."""
    files = (
        module.__file__
        for module in [*sys.modules.values()]
        if hasattr(module, "__path__") and hasattr(module, "__file__")
    )
    return {pathlib.Path(file).resolve().parents[1] for file in files if file}


def file_of(address):
    """The library that the linker loaded a function from; None: it is in none, as what is compiled at run time."""
    info = (ctypes.c_void_p * 4)()  # Dl_info, which begins with the name
    return pathlib.Path(os.fsdecode(ctypes.string_at(info[0]))).resolve() if DLADDR(address, info) and info[0] else None


class Calls:
    """Functions of C and how ctypes calls them: what it is told to do with a result, or with what is given, may be Python code."""

    def __init__(self, name, names):
        self.name, self.names = name, names
        self.kept = {name: self.ways(function) for name, function in self.found()}

    def found(self):
        return [(name, value) for name, value in self.names.items() if isinstance(value, CFuncPtr)]

    @staticmethod
    def ways(function):
        return function.errcheck, function.restype, function.argtypes

    def changed(self):
        """Those that were called in another way."""
        return [name for name, now in self.found() if self.kept.get(name, self.ways(now)) != self.ways(now)]


class Place:
    """Functions of a module or a class under their names, and their code; in libraries so many that nothing is asked of each in Python."""

    def __init__(self, thing, found):
        self.where, self.names = thing.__name__, vars(thing)
        self.keys, self.kept = zip(*found, strict=True)
        self.functions = [value for value in self.kept if is_python(value)]
        self.codes = [*map(CODE, self.functions)]
        self.known = frozenset(self.names)
        self.inherited = {name for base in getattr(thing, "__mro__", ())[1:] for name in vars(base)} - self.known

    def is_kept(self):
        if not self.names.keys() <= self.known and self.hides():
            return False
        return all(map(IS, map(self.names.get, self.keys), self.kept)) and all(
            map(IS, map(CODE, self.functions), self.codes)
        )

    def hides(self):
        """New names that are found before those of a base, or of an object."""
        new = self.names.keys() - self.known
        return [name for name in new if name in self.inherited or hasattr(type(self.names[name]), "__set__")]

    def replaced(self):
        """Its first name that stands for another function, or else the first function with another code, or else a new name."""
        others = [name for name, value in zip(self.keys, self.kept, strict=True) if self.names.get(name) is not value]
        changed = [f.__name__ for f, code in zip(self.functions, self.codes, strict=True) if CODE(f) is not code]
        return (others + changed + self.hides())[0]


def everything_of(names):
    return list(names.items())


def places(modules, kept_of=functions_of):
    things = {id(thing): thing for module in modules for thing in (module, *classes_of(module))}.values()
    return [Place(thing, found) for thing in things if (found := kept_of(vars(thing)))]


class Own:
    """All names of the harness's modules, of the classes that these define and of types; functions of libraries, of the modules that they use, and,
    deep, of all modules of the form's library, which makes the inputs; objects have none in place of their class's."""

    def __init__(self, modules, libraries, objects, form):
        used = (value for module in modules for value in vars(module).values() if isinstance(value, types.ModuleType))
        used = [*used, *(sys.modules[name] for name in LIBRARIES if name in sys.modules)]
        deep = [m for name, m in sys.modules.items() if form in LIBRARIES and name.split(".")[0] == form]
        libraries = (*libraries, *(sys.modules[name] for name in READERS if name in sys.modules))
        whole = [thing for thing in libraries if isinstance(thing, type)]
        self.near = places((*modules, *whole), everything_of) + places([m for m in libraries if m not in whole])
        self.kept, self.deep = places(used), places(deep)
        self.named = {name: sys.modules[name] for name in (*LIBRARIES, *READERS) if name in sys.modules}
        self.objects = [
            (type(thing).__qualname__, vars(thing), {n for n, v in functions_of(vars(type(thing))) if is_python(v)})
            for thing in objects
        ]
        self.handlers = {number: handler_of(number) for number in signal.valid_signals()}
        self.folders, self.put_back = folders_of_packages(), False
        self.native = [Calls(module.__name__, vars(module)) for module in (*modules, ctypes)]
        self.read_allocator = allocator_reader()
        libraries_of_c = {thing.c for thing in objects if isinstance(getattr(thing, "c", None), ctypes.CDLL)}
        self.native += [Calls(c._name or "Python", vars(c)) for c in (PYTHON, *libraries_of_c)]
        self.allocator = self.read_allocator()

    def expect_kept(self, deep=False):
        self.expect_near()
        self.expect_handlers(self.handlers)
        self.expect(self.kept)
        if deep:
            self.expect(self.deep)

    def has_handler(self, number):
        """As it was?"""
        (python, action), (was_python, was) = handler_of(number), self.handlers[number]
        return python is was_python and address_in(action) == address_in(was)

    def expect_handlers(self, looked_at):
        """Handlers of an installed package's own code are put back, once: LLVM sets some when Triton compiles. They may have been made to call
        the peer's, so none stays."""
        if all(map(self.has_handler, looked_at)):
            return
        others = {number: handler_of(number) for number in self.handlers if not self.has_handler(number)}
        for number, (python, action) in others.items():
            file = file_of(address_in(action)) if python is self.handlers[number][0] and not self.put_back else None
            if not file or not self.folders & set(file.parents):
                raise Failure("check", "sets a handler of a signal, which would compute outside of every sample")
        for number in others:
            SIGACTION(number, self.handlers[number][1], None)
        self.put_back = True

    def expect_near(self):
        """What reads results."""
        for calls in self.native:
            if changed := calls.changed():
                self.refuse(calls.name, changed[0])
        self.expect_handlers(FAULTS)
        if self.read_allocator() != self.allocator:
            raise Failure("check", "sets an allocator of NumPy's, which would compute outside of every sample")
        for name, module in self.named.items():
            if sys.modules.get(name) is not module:
                self.refuse("sys.modules", name)
        self.expect(self.near)
        for where, names, methods in self.objects:
            if replaced := methods & names.keys():
                self.refuse(where, min(replaced))

    def expect(self, places):
        for place in places:
            if not place.is_kept():
                self.refuse(place.where, place.replaced())

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
            c = ctypes.CDLL(measure)
            PYTHON.PySys_AddAuditHook(c.measure_hook, None)
            self.count = c.measure_hooks
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
