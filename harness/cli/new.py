"""`rungs new`: writes a project from the template, with its own names in place of mykernels and axpy."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import sys

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
TAKEN = ("rungs", "all", "clean", "help", "install", "package", "test")  # programs and targets of the build
TEMPLATE_NAME, TEMPLATE_OP = "mykernels", "axpy"


def refuse(message, code=2):
    print(f"rungs new: {message}")
    sys.exit(code)


def is_unfinished(there, made):
    """What a `rungs new` of the same words left that was ended in the middle: the same command goes on."""

    def is_begun(path):
        whole = made.get(path) if path.is_file() and not path.is_symlink() else None
        return whole is not None and whole.startswith(path.read_text(errors="replace"))

    return all(map(is_begun, there)) and not all(path in there and path.read_text() == made[path] for path in made)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--op", default=TEMPLATE_OP)
    parser.add_argument("--peer", help="of template/peers")
    parser.add_argument("--template", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="which builds the project")
    args = parser.parse_args()
    name = os.path.basename(os.path.realpath(args.folder))
    for what, word in (("the folder's name", name), ("--op", args.op)):
        if not NAME.fullmatch(word):
            refuse(f"{what} is {word!r}; expected a word of a-z, 0-9 and _ that begins with a letter, of at most 40")
    if name in TAKEN:
        refuse(f"the program would be called {name}; choose another name")

    peers = {path.name.partition("_")[0]: path for path in sorted((args.template / "peers").glob("*.py"))}
    if args.peer and args.peer not in peers:
        refuse(f"--peer {args.peer}: expected one of {', '.join(peers)}")

    words = {TEMPLATE_NAME: name, TEMPLATE_OP: args.op}

    def own(text):
        return re.sub("|".join(words), lambda found: words[found.group()], text)  # at once: a name may hold the other

    # pip compiles what it installs
    files = sorted(path for path in args.template.rglob("*") if path.is_file() and path.suffix != ".pyc")
    files = [path for path in files if path not in peers.values()]
    made = {args.folder / own(path.relative_to(args.template).as_posix()): own(path.read_text()) for path in files}
    if args.peer:
        chosen = peers[args.peer]
        made[args.folder / "impls" / args.op / chosen.name] = own(chosen.read_text())
    new = args.folder
    try:
        there = [new] if os.path.lexists(new) else []
        if new.is_dir():
            there = [path for path in new.rglob("*") if path.is_symlink() or not path.is_dir()]
        if there and not is_unfinished(there, made):
            refuse(f"{new} exists and is not empty; name a new folder")
        for new, text in made.items():
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(text)
            print(new)
    except OSError as error:
        refuse(f"{new} cannot be written: {error.strerror}", 4)
    known = shutil.which(args.program.name)
    program = args.program.name if known and args.program.samefile(known) else shlex.quote(str(args.program))
    folder = shlex.quote(str(args.folder))
    print(f"next: cd {folder} && git init && {program} build && build/release/bin/{name} run smoke")


if __name__ == "__main__":
    main()
