"""Start of the bundle: put what it holds into the user's cache once, then run the command line from there.

It must parse under Python 3.6, so that an old one can name a newer one instead of failing with a syntax error. It runs
at every start, so it is short: what happens once is in `unpacking.py`. `build.py` adds `contents.py`.
"""

import os
import sys

import contents

ARCHIVE = os.path.abspath(sys.argv[0])
AGAIN = "HACKATHON_BUNDLE_AGAIN"
"""Set while a damaged folder is unpacked anew, so that it happens once."""


def tag():
    """Return what compiled packages must fit: `cp312-linux-x86_64`; `cp313t-…` has no global interpreter lock."""
    implementation = "cp" if sys.implementation.name == "cpython" else sys.implementation.name
    python = "{}{}{}{}".format(implementation, sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    if sys.version_info < (3, 8):
        python = python.rstrip("m")
    return "{}-{}-{}".format(python, sys.platform, os.uname().machine)


def places():
    """Yield the folders in which the bundle may be unpacked, best first."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))
    if os.path.isabs(cache):
        yield os.path.join(cache, "hackathon", "bundle")
    yield os.path.join(os.environ.get("TMPDIR") or "/tmp", "hackathon-{}".format(os.geteuid()), "bundle")


def private(folder):
    """Return whether a folder is there, is no link, belongs to this user, and is closed to others' writing."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_mode & 0o170022 == 0o040000 and status.st_uid == os.geteuid()


def unpacked():
    """Return the folder with the toolkit; the first start of this bundle makes it."""
    name = "{}-{}".format(contents.DIGEST, tag())
    for place in places():
        folder = os.path.join(place, name)
        if private(folder):
            return folder
    import unpacking

    return unpacking.unpack(ARCHIVE, tag(), list(places()), name)


class Restored:
    """The last of the import system's finders: unpacks again when the folder was deleted while the command runs."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        """Return where a module is that was not found before, if the folder had to be restored; else None."""
        if os.path.isdir(self.folder):
            return None
        import importlib.machinery

        import unpacking

        unpacking.unpack(ARCHIVE, tag(), [os.path.dirname(self.folder)], os.path.basename(self.folder))
        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name, path, target)


def main():
    """Run the command line."""
    if tag() not in contents.COMPILED:
        import unpacking

        unpacking.other_python(ARCHIVE, tag())
    folder = unpacked()
    # Only the bundle and the standard library: neither PYTHONPATH of a loaded module nor site-packages has a say.
    library = os.path.dirname(os.__file__)
    own = [each for each in sys.path if each.startswith(library) and "-packages" not in each]
    sys.path[:] = [folder, *own, ARCHIVE]  # the archive: for `unpacking`
    sys.meta_path.append(Restored(folder))
    try:
        import hackathon

        hackathon.archive = ARCHIVE
        from hackathon.cli.main import main as run
    except ImportError:
        if os.environ.get(AGAIN):
            raise
        import unpacking

        unpacking.start_again(ARCHIVE, folder, AGAIN)
    os.environ.pop(AGAIN, None)
    run()


if __name__ == "__main__":
    main()
