"""`rungs new`: writes a project from the template, with its own names in place of mykernels and axpy."""
import argparse
import pathlib
import re
import shlex
import shutil
import sys

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
TAKEN = ("rungs", "all", "clean", "help", "install", "package", "test")  # programs and targets of the build
TEMPLATE_NAME, TEMPLATE_OP = "mykernels", "axpy"


def refuse(message):
    print(f"rungs new: {message}")
    sys.exit(2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--op", default=TEMPLATE_OP)
    parser.add_argument("--template", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="which builds the project")
    args = parser.parse_args()
    name = args.folder.resolve().name
    for what, word in (("the folder's name", name), ("--op", args.op)):
        if not NAME.fullmatch(word):
            refuse(f"{what} is {word!r}; expected a word of a-z, 0-9 and _ that begins with a letter, of at most 40")
    if name in TAKEN:
        refuse(f"the program would be called {name}; choose another name")
    if args.folder.exists() and (not args.folder.is_dir() or any(args.folder.iterdir())):
        refuse(f"{args.folder} exists and is not empty; name a new folder")

    def own(text):
        return re.sub(f"{TEMPLATE_NAME}|{TEMPLATE_OP}", lambda found: name if found.group() == TEMPLATE_NAME else args.op, text)  # at once: a name may hold the other

    for path in sorted(path for path in args.template.rglob("*") if path.is_file() and path.suffix != ".pyc"):  # pip compiles what it installs
        new = args.folder / own(path.relative_to(args.template).as_posix())
        try:
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(own(path.read_text()))
        except OSError as error:
            refuse(f"{new} cannot be written: {error.strerror}")
        print(new)
    known = shutil.which(args.program.name)
    program = args.program.name if known and args.program.samefile(known) else shlex.quote(str(args.program))
    print(f"next: cd {shlex.quote(str(args.folder))} && git init && {program} build && build/release/bin/{name} run smoke")


if __name__ == "__main__":
    main()
