"""Close a survey: all answers go into shuffled files without times, tokens and users.

closed/answers.json    {"schema_version", "digest", "invited", "turn", "answers": [values, …]} in shuffled order;
                       turn: 1 for the first survey of an event that is closed, 2 for the next one, …
closed/tokens.json     {"schema_version", "issued": [digest, …], "spent": [digest, …]}, sorted
closed/left-out.json   answers of the drop box that do not count, with the reason and without the account
closed/unread/         files that could not be read, unchanged

All files are written in a hidden folder that is renamed once: nothing is deleted before the rename, and none of the
deleted files is needed after it.
"""

import errno
import json
import os
import random
import re
import shutil
from pathlib import Path

from hackathon.survey.durable import names, put, sync_folder
from hackathon.survey.gather import Gathered, gather
from hackathon.survey.storage import SurveyFolder
from hackathon.survey.values import to_stored
from hackathon.text import kill_points as faults
from hackathon.text.errors import HackathonError, RequestError

CLOSE_STEPS = ("after-closing", "after-shut", "after-written", "after-folded", "after-emptied", "after-cleaned")
"""Steps of `close` at which a test can kill the process."""
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]")
"""Characters removed from a name by another account, which may be very long or control a terminal."""


def close(collection: SurveyFolder) -> None:
    """Close a survey, or finish an interrupted closing; a closed survey does not change.

    Raises RequestError for a draft and HackathonError (full disk, no permission); after an error the same call
    continues.
    """
    folder = collection.folder
    try:
        frozen = collection.frozen
        if frozen is None:
            raise RequestError(
                "survey.not_open",
                "survey {name} is not open yet",
                hint="open it: `hackathon survey open {name!q}`",
                name=collection.name,
            )
        with collection.alone():
            box = collection.box()
            if not collection.closed_folder.exists():
                (folder / "closing").touch(mode=0o600)
                sync_folder(folder)
                faults.step("after-closing")
                if box is not None:
                    from hackathon.survey.dropbox import shut_box

                    shut_box(box, collection.name, frozen)
                faults.step("after-shut")
                gathered = gather(collection)
                _refuse_unseen(gathered)
                _write(collection, gathered)
            faults.step("after-folded")
            if box is not None:
                from hackathon.survey.dropbox import empty_box

                empty_box(box)
            faults.step("after-emptied")
            _clean(collection)
            faults.step("after-cleaned")
    except OSError as error:
        raise HackathonError(
            "survey.can_not_close",
            "could not close survey {name}: {what}",
            hint="nothing is lost: fix the problem, then run `hackathon survey close {name!q}` again",
            name=collection.name,
            what=error,
        ) from error


def _refuse_unseen(gathered: Gathered) -> None:
    """Raise OSError if a folder lists answers that were not gathered, because it would be emptied with them."""
    for folder, gathered_names in gathered.files.items():
        # a file server may have returned an old listing before
        new = set(names(Path(folder))) - set(gathered_names)
        if new:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(Path(folder) / min(new)))


def _write(collection: SurveyFolder, gathered: Gathered) -> None:
    hidden = collection.folder / ".closed"
    if hidden.exists():
        shutil.rmtree(hidden)  # left behind by a killed closing
    unread = hidden / "unread"
    unread.mkdir(mode=0o700, parents=True)
    hidden.chmod(0o700)
    answers = [to_stored(answer.values) for answer in gathered.answers]
    random.SystemRandom().shuffle(answers)
    _put(
        hidden,
        "answers.json",
        {
            "schema_version": 1,
            "digest": collection.digest,
            "invited": collection.invited(),
            "turn": collection.next_turn(),
            "answers": answers,
        },
    )
    issued = collection.tokens.issued()
    _put(hidden, "tokens.json", {"schema_version": 1, "issued": sorted(issued), "spent": sorted(gathered.spent)})
    left_out = [
        {"why": answer.why.partition(".")[2], "values": to_stored(answer.values)} for answer in gathered.left_out
    ]
    random.SystemRandom().shuffle(left_out)
    _put(hidden, "left-out.json", {"schema_version": 1, "answers": left_out})
    for number, file in enumerate({file.path: file for file in gathered.unread}.values(), 1):
        put(unread, f"{number:03d}-{_NOT_PLAIN.sub('_', file.path.name)[:60]}", file.raw)
    sync_folder(unread)
    sync_folder(hidden)
    faults.step("after-written")
    hidden.rename(collection.closed_folder)
    sync_folder(collection.folder)


def _put(folder: Path, name: str, value: object) -> None:
    put(folder, name, (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())


def _clean(collection: SurveyFolder) -> None:
    """Delete the collected files; the remaining ones show neither when nor in which order answers came."""
    for folder in (collection.answers_folder, collection.imports_folder, collection.tokens.folder):
        if folder.exists():
            shutil.rmtree(folder)
    (collection.folder / "import-key").unlink(missing_ok=True)
    for path in (collection.folder / "locks").iterdir():
        if path.name != "all":
            path.unlink()
    # last, because its existence means that files may remain to be deleted
    (collection.folder / "closing").unlink(missing_ok=True)
    sync_folder(collection.folder)
