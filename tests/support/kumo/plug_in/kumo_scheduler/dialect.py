"""How a site's Kumo wants to be asked."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hackathon.schedulers.dialect import Dialect, Header


@dataclass(frozen=True)
class KumoDialect(Dialect):
    """Kumo's words."""

    patterns: ClassVar[dict[str, str]] = {**Dialect.patterns, "class": "[a-z]+"}

    pays: Literal["project", "none"] = "none"
    """`project`: jobs must say which project pays."""
    express: bool = False
    """The class `express` where nobody names a queue."""

    @property
    def wants_group(self) -> bool:
        return self.pays == "project"

    @property
    def reserved_exit_codes(self) -> frozenset[int]:
        return frozenset({99})  # Kumo would take it for "run me again"

    def directives(self, header: Header) -> dict[str, Any]:
        return {
            **super().directives(header),
            "class": header.queue or ("express" if self.express else "main"),
            "project": header.group if self.wants_group else None,
        }
