"""peer_own.py - what the harness calls in a peer's process, kept before the peer is imported: one that replaces a function would compute where no clock
runs. Seen is what Python's own means change; SECURITY.md says what is not."""

import contextlib
import ctypes
import pathlib
import signal
import sys
import types

from peer_protocol import Failure

ABSENT = object()
LIBRARIES = ("pandas", "polars", "pyarrow", "pyarrow.compute", "pyarrow.types")  # that peer_forms.py uses


def functions_of(names):
    """(name, function, its code) of a module's or a class's. What is no function may have any `__code__` (polars.col has a column)."""
    kinds = (staticmethod, classmethod, property)
    found = ((name, value) for name, value in names.items() if callable(value) or isinstance(value, kinds))
    return [(name, value, value.__code__ if type(value) is types.FunctionType else None) for name, value in found]


SIGACTION, SIGACTION_BYTES = ctypes.CDLL(None).sigaction, 512  # which begins with the handler


def handlers():
    """Python's and, below, those of any code."""
    found, action = [], ctypes.create_string_buffer(SIGACTION_BYTES)
    for number in signal.valid_signals():
        SIGACTION(number, None, action)
        found += [signal.getsignal(number), action.raw[: ctypes.sizeof(ctypes.c_void_p)]]
    return found


class Own:
    """Functions of modules, of the classes that these define, and of the modules, libraries and types that they use; objects have none in place of
    their class's."""

    def __init__(self, modules, libraries, objects):
        used = (value for module in modules for value in vars(module).values() if isinstance(value, types.ModuleType))
        libraries = [*libraries, *(sys.modules[name] for name in LIBRARIES if name in sys.modules)]
        libraries += {id(module): module for module in used if module not in modules}.values()
        places = [(thing.__name__, vars(thing)) for thing in (*modules, *libraries)]
        for module in modules:
            classes = [value for value in vars(module).values() if isinstance(value, type)]
            places += [(c.__qualname__, vars(c)) for c in classes if c.__module__ == module.__name__]
        self.kept = [(where, names, *found) for where, names in places for found in functions_of(names)]
        for thing in objects:
            methods = [name for name, value, code in functions_of(vars(type(thing))) if code]
            self.kept += [(type(thing).__qualname__, vars(thing), name, ABSENT, None) for name in methods]
        self.handlers = handlers()

    def expect_kept(self):
        if handlers() != self.handlers:
            raise Failure("check", "sets a handler of a signal, which would compute outside of every sample")
        for where, names, name, value, code in self.kept:
            now = names.get(name, ABSENT)
            if now is not value or (code and now.__code__ is not code):
                raise Failure(
                    "check", f"replaces {where}.{name}: what the harness calls in this process is not to be changed"
                )


class Hooks:
    """A hook that is called wherever Python code goes on would compute outside of every sample. What compiles may watch itself by sys.monitoring
    (Python 3.12; Inductor's profiler does) and audit hooks (filelock's, of Inductor's cache), but nothing stays of it, and in timing there is none."""

    ALWAYS_REFUSED = ("setprofile", "settrace", "_setprofileallthreads", "_settraceallthreads")
    TOOLS = range(6)  # that sys.monitoring gives

    def __init__(self):
        self.timing = False
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
        self.add_audit(lambda event, given: kept[0](event, given) if kept else None)

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
