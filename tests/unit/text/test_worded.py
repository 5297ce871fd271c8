"""Messages that are said again in the language of another reader."""

import copy
import json
from dataclasses import asdict, dataclass

from hackathon.schedulers.base import SchedulerError
from hackathon.text.messages import N_, speaking
from hackathon.text.told import Worded, reworded


@dataclass
class Look:
    problem: str


def test_a_message_is_copied_and_written_as_text() -> None:
    error = SchedulerError("schedulers.timeout", N_("{command} does not respond"), transient=True, command="qstat")
    look = Look(Worded.of(error))
    assert asdict(look) == {"problem": str(error)}  # a SchedulerError cannot be copied
    assert copy.deepcopy(look) == look
    assert json.loads(json.dumps(asdict(look))) == {"problem": str(error)}


def test_a_message_is_said_in_the_language_of_the_reader() -> None:
    text = Worded.of(SchedulerError("schedulers.timeout", N_("it is not a regular file"), transient=True))
    with speaking("ja"):
        assert reworded(text) == "通常のファイルではありません"
    assert reworded("as it is") == "as it is"
