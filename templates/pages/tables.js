// Sorts and filters the tables of a published page, as a server does (hackathon/web/page/tables.py).
(() => {
  "use strict";
  const SEARCHED = 10; // more rows than these have a field
  const ABSENT = ["", "–", "?", "[removed]"];
  const NUMBER = /^[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?/i;
  const words = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const made = (name, more) => Object.assign(document.createElement(name), more);

  function valueOf(cell) {
    const text = (cell?.dataset.order ?? cell?.textContent ?? "").replace(/\s+/g, " ").trim();
    if (ABSENT.includes(text)) return null;
    const number = NUMBER.exec(text)?.[0];
    if (!number) return [Infinity, text];
    return [Number(number.replaceAll(",", "").replace("\u2212", "-")), text.slice(number.length)];
  }

  function compare([one, rest], [other, others]) {
    return one === other ? words.compare(rest, others) : one - other;
  }

  // A head that is only read out cannot be clicked.
  function seen(head) {
    return [...head.childNodes].some((node) => node.textContent.trim() && node.className !== "spoken");
  }

  function sort(rows, heads, head) {
    const told = rows.map((row) => [valueOf(row.cells[head.cellIndex]), row]);
    const known = told.filter(([value]) => value);
    const before = head.ariaSort;
    const down = before ? before === "ascending" : known[0]?.[0][0] < Infinity;
    known.sort(([one], [other]) => (down ? compare(other, one) : compare(one, other)));
    rows[0].parentNode.append(...[...known, ...told.filter(([value]) => !value)].map(([, row]) => row));
    for (const each of heads) {
      each.removeAttribute("aria-sort");
      each.querySelector(".arrow")?.remove();
    }
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    head.firstElementChild.append(made("span", { className: "arrow", ariaHidden: "true", textContent: down ? " ▼" : " ▲" }));
  }

  for (const table of document.querySelectorAll("table[data-list]")) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells].filter(seen);
    for (const head of heads) {
      const link = made("a", { href: "#content" });
      link.append(...head.childNodes);
      head.append(link);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        sort(rows, heads, head);
      });
    }
    if (rows.length <= SEARCHED) continue;
    const field = made("input", { type: "search" });
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
    });
    const label = made("label", { textContent: `${table.dataset.list} ` });
    const place = made("p", { className: "filters" });
    label.append(field);
    place.append(label);
    (table.closest(".scroll") ?? table).before(place);
  }
})();
