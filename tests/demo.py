"""What `make demo` runs: a project, a real scaling study with 1 and 2 processes, its table and its page.

It types the commands that a participant would type, and shows them.
"""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the commands in a fresh folder; return the first exit code that is not 0."""
    folder = Path(sys.argv[1]).resolve()
    if (folder / "project.yaml").exists() and (folder / ".made-by-demo").exists():
        shutil.rmtree(folder)
    tool = [sys.executable, "-m", "hackathon"]
    commands = [
        (["init", "--recipe", "torch-ddp", "--cluster", "laptop", "--name", "demo", str(folder)], Path.cwd()),
        (["scale", "--processes", "1,2", "--wait"], folder),
        (["publish", "--to", "site"], folder),
    ]
    for words, where in commands:
        print(f"\n$ hackathon {shlex.join(words)}", flush=True)
        code = subprocess.call([*tool, *words], cwd=where)
        if words[0] == "init":
            (folder / ".made-by-demo").touch()
        if code:
            return code
    print(f"\nThe page: {(folder / 'site' / 'index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
