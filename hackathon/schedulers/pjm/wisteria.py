"""Wisteria, a PJM with the site's own `pjstat` (`dialect.table: site`): other questions, and its list of queues.

Its tables list all jobs, with words in place of letters and without exit codes, so that only the job's own records show
success. `samples/pjstat_wisteria_*.txt` have its recorded output.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pjm import history, parse, table
from hackathon.schedulers.pjm.commands import Pjm
from hackathon.schedulers.reports import QueueInfo

FEW = 8
"""Ended jobs that are queried individually: the output for several ids is not documented."""
_RATIO = re.compile(r"(?P<names>[a-z][\w/-]*) +[*-]+ +\d+% +(?P<used>\d+)/ *(?P<total>\d+)\Z", re.ASCII)
_UNIT = re.compile(r"RSCGRP +Ratio Used/Total\((\w+)\)\Z", re.ASCII)


@dataclass(frozen=True)
class Wisteria(Pjm):
    """Wisteria's commands as pure functions."""

    table: ClassVar[str] = table.SITE

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return `pjstat`, which lists all jobs in the queue."""
        return [["pjstat"]]

    def ended_argv(self, ids: list[str]) -> list[list[str]]:
        """Return queries for a few ended jobs, or for all."""
        return [[*self.past, job_id] for job_id in ids] if len(ids) <= FEW else [[*self.past]]

    def fall_back_argv(self, answers: list[CommandOutput], ids: list[str]) -> list[list[str]]:
        """Return queries for a few jobs that are missing in the list of ended ones, which may be incomplete."""
        if not any(answer.argv == self.past for answer in answers):
            return []
        return [[*self.past, job_id] for job_id in history.missing(answers, ids, self.table)[:FEW]]

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the lists of all jobs, each twice, as a list without its end looks complete."""
        return [["pjstat"], [*self.past]] * 2

    def queues_argv(self) -> list[str]:
        """Return `pjstat --rscuse`, which tells the nodes in use."""
        return ["pjstat", "--rscuse"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        """Return the resource groups, with the nodes in use in a note."""
        if answer.exit_code:
            raise parse.failed(answer, self.table)
        infos: list[QueueInfo] = []
        unit = ""
        for line in answer.stdout.split("\n")[:-1]:
            if match := _UNIT.match(line.strip()):
                unit = match[1]
            elif match := _RATIO.match(line.strip()):
                note = f"{unit}: {match['used']}/{match['total']}".removeprefix(": ")
                infos += [QueueInfo(name, note=note) for name in match["names"].split("/")]
        if not infos:
            raise parse.unread_queues()
        return infos
