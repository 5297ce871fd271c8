"""What PJM's commands and Wisteria's pjstat printed, as cases of `support.truncation`. No table has an end mark."""

from collections.abc import Iterator

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pjm.commands import Pjm
from hackathon.schedulers.pjm.dialect import PjmDialect
from hackathon.schedulers.pjm.wisteria import Wisteria
from support.pjm_samples import chosen, recorded, said
from support.truncation import Other, Status

PJM, WISTERIA = Pjm(), Wisteria(PjmDialect(group="g", table="site"))
ENDS = ("\n",)
NOT_ASKED = {
    "in_a_job.txt": "what a job sees, not an answer",
    "pjm_codes.txt": "pages of a guide",
    "pjstat2_genkai_site.txt": "of a command that the toolkit does not ask",
    "pjstat_data_csv.txt": "no whole answer is on record",
    "pjstat_s_text.txt": "a form that the toolkit does not ask for",
    "pjsub_errors.txt": "a refusal says nothing about a job, whole or cut",
}
"""Sample → why it is no case."""


def cases() -> Iterator[Status | Other]:
    ended, live = recorded("pjstat_v_H_fugaku.txt")
    fugaku = ["49047829", "49047939"]
    past = CommandOutput(("pjstat", "-H", "-v", *fugaku), 0, ended.stdout, "")
    yield Status("pjstat_v_H_fugaku.txt", PJM, fugaku, [live, past], ENDS)
    wide, some = recorded("pjstat_v_bsc_cte_arm.txt")
    yield Status("pjstat_v_bsc_cte_arm.txt", PJM, ["167687"], [wide], ENDS)
    two = ["167727", "167728"]
    yield Status("pjstat_v_bsc_cte_arm.txt --choose", PJM, two, [chosen(ids=" ".join(two)), some], ENDS)
    plain = recorded("pjstat_plain_fujitsu.txt")[0].stdout.partition("  ACCEPT")[0]
    yield Status("pjstat_plain_fujitsu.txt", PJM, ["238", "239", "240", "241"], [said("pjstat", plain)], ENDS)
    for letters in ("EXT 0   0   0  ", "EXT 3   0   0  ", "EXT 0   11  24 ", "RUN -   -   -  ", "QUE -   -   -  "):
        row = f"7          {letters} me       INSUFF NODE"
        ended_row = [row] if letters.startswith("EXT") else []
        answers = [chosen(*([] if ended_row else [row])), chosen(*ended_row, past=True)]
        yield Status(f"columns as asked for, {letters.strip()}", PJM, ["7"], answers, ENDS)
    wisteria = ["5170490", "5170610", "5170614"]
    yield Status("pjstat_wisteria_queued.txt", WISTERIA, wisteria, recorded("pjstat_wisteria_queued.txt"), ENDS)
    running, *_ = recorded("pjstat_wisteria_site.txt")
    yield Status("pjstat_wisteria_site.txt", WISTERIA, ["4757341"], [running], ENDS)
    submitted = recorded("pjsub_ok.txt")[0].stdout
    yield Other("pjsub_ok.txt", said("pjsub job.sh", submitted), lambda answer: {PJM.parse_submit(answer)})
    accepted = recorded("pjdel.txt")[0].stdout.partition("    ")[0] + "\n"
    yield Other("pjdel.txt", said("pjdel 7", accepted), lambda answer: {PJM.parse_cancel(answer)})
    (rscuse,) = [answer for answer in recorded("pjstat_wisteria_site.txt") if "--rscuse" in answer.argv]
    yield Other("pjstat_wisteria_site.txt --rscuse", rscuse, lambda answer: {*WISTERIA.parse_queues(answer)})
    named = said("pjstat", "JOB_ID     JOB_NAME\n9          hk-abcdefg\n12         hk-abcdefg\n")
    yield Other("by name", named, lambda answer: {*PJM.parse_find_named([answer], "hk-abcdefgh")})
