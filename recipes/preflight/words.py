"""What is said about each finding, and what to do: key → (English, Japanese).

`{hosts} {hosts:host|hosts}` chooses the word by the number.
"""
# ruff: noqa: E501 — texts are as long as they are

from __future__ import annotations

import os
from typing import Any

TITLES = {
    "nodes": ("nodes reached", "ノード到達"),
    "ring": ("ring", "リング通信"),
    "versions": ("versions", "バージョン"),
    "gpus": ("GPUs", "GPU"),
    "infiniband": ("InfiniBand", "InfiniBand"),
    "interfaces": ("interfaces", "通信の環境変数"),
    "shm": ("/dev/shm", "/dev/shm"),
    "shared": ("shared folder", "共有フォルダ"),
    "clock": ("clocks", "時刻"),
    "port": ("port", "ポート"),
    "limits": ("limits", "制限値"),
    "tmp": ("temporary files", "一時ファイル"),
}
STATES = {"ok": ("ok", "正常"), "warning": ("warning", "警告"), "failed": ("failed", "失敗")}
HEAD = (
    "{failed} failed, {warnings} {warnings:warning|warnings}, {seconds} s",
    "失敗 {failed} 件、警告 {warnings} 件、{seconds} 秒",
)
TEXTS = {
    "alone": ("one process: there is nobody to compare with", "プロセスが 1 つなので比較の対象なし"),
    "nodes_ok": (
        "{processes} {processes:process|processes} on {hosts} {hosts:host|hosts}", "{hosts} ホストに {processes} プロセス",
    ),
    "nodes_missing": ("{who} did not come within {seconds} s", "{who} が {seconds} 秒以内に現れない"),
    "nodes_lost": ("{who} fell silent: {problem}", "{who} が応答しなくなった: {problem}"),
    "nodes_fewer": ("{count} {count:host|hosts} instead of {wanted}", "ホストが {count} 台（要求は {wanted} 台）"),
    "nodes_centre": ("rank 0 ({host}:{port}) does not answer: {problem}", "rank 0（{host}:{port}）が応答しない: {problem}"),
    "ring_ok": ("a token went through all {processes} ranks in order", "トークンが全 {processes} ランクを順に一周"),
    "ring_broken": ("{who} does not reach {other}: {problem}", "{who} から {other} へ届かない: {problem}"),
    "ring_name": ("{who} reaches {other} by address only: {problem}", "{who} は {other} にアドレスでしか届かない: {problem}"),
    "ring_stuck": ("the token did not come through: {who}: {problem}", "トークンが戻らない: {who}: {problem}"),
    "versions_ok": ("Python {python}; {packages}", "Python {python}; {packages}"),
    "versions_differ": ("{name}: {value} on {who}, elsewhere {common}", "{name}: {who} は {value}、ほかは {common}"),
    "gpus_ok": ("{names} on every node", "全ノードに {names}"),
    "gpus_none": ("none on any node", "どのノードにもなし"),
    "gpus_sick": ("{who}: nvidia-smi: {problem}", "{who}: nvidia-smi: {problem}"),
    "gpus_differ": ("{names} on {who}, elsewhere {common}", "{who} は {names}、ほかは {common}"),
    "gpus_few": ("{count} on {who}, {wanted} wanted", "{who} に {count} 基（要求は {wanted} 基）"),
    "gpus_shared": ("{wanted} processes share {count} {count:GPU|GPUs} on {who}", "{who} で {wanted} プロセスが GPU {count} 基を共有"),
    "infiniband_ok": ("{ports} active", "{ports} が有効"),
    "infiniband_none": ("none, and none is expected: sockets will be used", "なし（想定どおり）。ソケット通信になる"),
    "infiniband_missing": (
        "{network} is expected, and {who} has no active port: sockets will be used",
        "{network} のはずだが {who} に有効なポートがない。ソケット通信になる",
    ),
    "infiniband_down": ("{ports} on {who}", "{who}: {ports}"),
    "infiniband_differs": ("{ports} on {who}, elsewhere {common}", "{who} は {ports}、ほかは {common}"),
    "infiniband_off": ("NCCL_IB_DISABLE is set on {who}: sockets will be used", "{who} で NCCL_IB_DISABLE が有効。ソケット通信になる"),
    "infiniband_locked": ("{who} may lock only {kib} KiB of memory", "{who} がロックできるメモリは {kib} KiB だけ"),
    "variables_ok": ("{variables}", "{variables}"),
    "variables_none": ("no variable chooses an interface", "インターフェースの指定なし"),
    "variable_differs": ("{name}={value} on {who}, elsewhere {common}", "{name}: {who} は {value}、ほかは {common}"),
    "interface_missing": ("{name}={value}, and {who} has only {there}", "{name}={value} だが {who} にあるのは {there} だけ"),
    "shm_ok": ("{gib} GiB", "{gib} GiB"),
    "shm_bad": ("{who}: {path}: {problem}", "{who}: {path}: {problem}"),
    "shm_small": ("{gib} GiB on {who}, {wanted} wanted", "{who} に {gib} GiB（{wanted} GiB 以上がよい）"),
    "shared_ok": ("{folder}: every rank sees every file after {seconds} s", "{folder}: {seconds} 秒で全ランクが全ファイルを確認"),
    "shared_unwritable": ("{who} cannot write into {folder}: {problem}", "{who} が {folder} に書けない: {problem}"),
    "shared_unseen": (
        "{who} does not see in {folder} what {others} wrote, after {seconds} s",
        "{who} から {folder} の {others} のファイルが {seconds} 秒たっても見えない",
    ),
    "clock_ok": ("{apart} s apart (± {error} s)", "差は {apart} 秒（± {error} 秒）"),
    "clock_apart": (
        "{ahead} is {apart} s (± {error} s) ahead of {behind}",
        "{ahead} が {behind} より {apart} 秒（± {error} 秒）進んでいる",
    ),
    "port_ok": ("{port} is free on {host}", "{host} の {port} は空き"),
    "port_torchrun": ("{port} on {host} is torchrun's own", "{host} の {port} は torchrun 自身が使用中"),
    "port_taken": ("{port} on {host} is taken by another program", "{host} の {port} はほかのプログラムが使用中"),
    "limits_ok": ("{count} open files", "開けるファイル数 {count}"),
    "limits_files": ("{who} may open only {count} files", "{who} が開けるファイルは {count} 個だけ"),
    "limits_locale": ("locale {name} is not installed for {who}", "{who} にロケール {name} がない"),
    "tmp_ok": ("{gib} GiB free", "空き {gib} GiB"),
    "tmp_bad": ("{who}: {path}: {problem}", "{who}: {path}: {problem}"),
    "tmp_small": ("{gib} GiB free in {path} on {who}, {wanted} wanted", "{who} の {path} の空きは {gib} GiB（{wanted} GiB 以上がよい）"),
}  # fmt: skip
ADVICE = {
    "nodes_missing": ("look at that rank's log and at that node; ask for other nodes", "そのランクのログとノードを確認。別のノードで試す"),
    "nodes_lost": ("look at that rank's log", "そのランクのログを確認"),
    "nodes_fewer": ("look at the placement of ranks: --processes-per-node, dialect.place", "ランクの配置を確認: --processes-per-node、dialect.place"),
    "nodes_centre": ("is there a firewall between these nodes? look at rank 0's log", "ノード間のファイアウォールと rank 0 のログを確認"),
    "ring_broken": ("choose the interface that joins the nodes: NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME; tell the operators", "ノード間をつなぐインターフェースを NCCL_SOCKET_IFNAME、GLOO_SOCKET_IFNAME で指定。管理者に連絡"),
    "ring_name": ("Gloo looks hosts up by name: set GLOO_SOCKET_IFNAME", "Gloo はホスト名を引く。GLOO_SOCKET_IFNAME を指定"),
    "ring_stuck": ("look at that rank's log", "そのランクのログを確認"),
    "versions_differ": ("let all nodes use one environment on the shared file system; look at PATH, PYTHONPATH and modules", "共有ファイルシステムの同じ環境を全ノードで使う。PATH、PYTHONPATH、module を確認"),
    "gpus_sick": ("tell the operators, and ask for other nodes", "管理者に連絡し、別のノードで試す"),
    "gpus_differ": ("ask for nodes of one kind, or leave that node out", "同じ種類のノードを要求するか、そのノードを外す"),
    "gpus_few": ("look at the queue and dialect.gpu_request of the cluster's profile", "キューと、クラスタ定義の dialect.gpu_request を確認"),
    "gpus_shared": ("one process for each GPU is usual: --processes-per-node", "通常は GPU 1 基に 1 プロセス: --processes-per-node"),
    "infiniband_missing": ("ask the operators; without it several nodes are much slower", "管理者に確認。ないと複数ノードでは大幅に遅くなる"),
    "infiniband_down": ("fine for a port without a cable, else tell the operators", "ケーブルのないポートなら問題なし。そうでなければ管理者に連絡"),
    "infiniband_differs": ("the slowest node decides", "一番遅いノードに合わせた速度になる"),
    "infiniband_off": ("unset NCCL_IB_DISABLE", "NCCL_IB_DISABLE を外す"),
    "infiniband_locked": ("ulimit -l unlimited; ask the operators where that is refused", "ulimit -l unlimited。できなければ管理者に相談"),
    "variable_differs": ("export it where all nodes get it: variables in project.yaml or in the cluster's profile", "全ノードに渡す: project.yaml かクラスタ定義の variables"),
    "interface_missing": ("name an interface that every node has", "全ノードにあるインターフェースを指定"),
    "shm_bad": ("NCCL, data loaders and Open MPI need it: in a container give --shm-size or bind the host's", "NCCL、データローダ、Open MPI に必要。コンテナでは --shm-size かホストのものをバインド"),
    "shm_small": ("in a container give --shm-size=8g; else fewer loader workers, or NCCL_SHM_DISABLE=1", "コンテナでは --shm-size=8g。それ以外はローダのワーカーを減らすか NCCL_SHM_DISABLE=1"),
    "shared_unwritable": ("put the project where compute nodes can write", "計算ノードから書ける場所にプロジェクトを置く"),
    "shared_unseen": ("put the project on the shared file system (visible_from_nodes in the cluster's profile)", "共有ファイルシステムにプロジェクトを置く（クラスタ定義の visible_from_nodes）"),
    "clock_apart": ("tell the operators: logs, deadlines and file times are wrong on one of them", "管理者に連絡。ログ、制限時間、ファイルの時刻がずれる"),
    "port_taken": ("submit again: the next job has another port; or set MASTER_PORT", "再投入すると別のポートになる。または MASTER_PORT を指定"),
    "limits_files": ("ulimit -n 65536 in environment: of project.yaml", "project.yaml の environment: に ulimit -n 65536"),
    "limits_locale": ("LC_ALL: C.UTF-8 in variables: of project.yaml", "project.yaml の variables: に LC_ALL: C.UTF-8"),
    "tmp_bad": ("set scratch: in the cluster's profile to a folder that nodes may write", "クラスタ定義の scratch: に書けるフォルダを指定"),
    "tmp_small": ("set scratch: in the cluster's profile to a larger disk", "クラスタ定義の scratch: に大きいディスクを指定"),
}  # fmt: skip


def language() -> int:
    """Return 1 for Japanese by HACKATHON_LANG or the locale, else 0 for English."""
    names = ("HACKATHON_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    chosen = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return 1 if chosen.lower().startswith("ja") else 0


class Count(int):
    """A number that chooses between two words: `{hosts:host|hosts}`."""

    def __format__(self, form: str) -> str:
        one, several, many = form.partition("|")
        return (one if self == 1 else many) if several else int(self).__format__(form)


def filled(form: str, values: dict[str, Any]) -> str:
    """Return a text with its values."""
    return form.format(**{name: Count(value) if type(value) is int else value for name, value in values.items()})


def text(key: str, values: dict[str, Any]) -> dict[str, str]:
    """Return a finding's text in both languages."""
    return {name: filled(form, values) for name, form in (("en", TEXTS[key][0]), ("ja", TEXTS[key][1]))}


def advice(key: str, values: dict[str, Any]) -> dict[str, str]:
    """Return what to do about a finding, in both languages; empty texts where there is nothing to do."""
    english, japanese = ADVICE.get(key, ("", ""))
    return {"en": filled(english, values), "ja": filled(japanese, values)}
