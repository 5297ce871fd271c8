// Keys for who goes through many pages, and forms that are sent when something in them is chosen. All of it can be done
// without: forms have a button, and every page has its link. Keys can be switched off at the foot of each page.
(() => {
  "use strict";
  const PAGES = { n: "now", t: "teams", r: "runs", s: "scaling", b: "board", c: "cluster" };
  const OFF = "hackathon-keys-off";
  const ROWS = "main .matter > details > summary, main tbody tr a[href], main article a[href], main .key a[href]";
  const SEARCH = "#search"; // the address of a page whose search field gets the focus
  let waiting = 0; // until when a letter after `g` counts

  function stored() {
    try {
      return localStorage.getItem(OFF) === "1";
    } catch {
      return false;
    }
  }
  let off = stored();

  document.addEventListener("change", (event) => {
    const form = event.target instanceof Element ? event.target.closest("form[data-send]") : null;
    if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
  });

  const place = document.querySelector("[data-keys]");
  if (place) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !off;
    box.addEventListener("change", () => {
      off = !box.checked;
      try {
        localStorage.setItem(OFF, off ? "1" : "0");
      } catch {
        // it holds for this page
      }
    });
    label.append(box, ` ${place.dataset.keys}`);
    place.append(label);
  }

  function writing(target) {
    return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  function menu(kind) {
    return document.querySelector(`.menu a[data-kind="${kind}"]`);
  }

  function rows() {
    const all = [...document.querySelectorAll(ROWS)];
    const firsts = new Map();
    for (const link of all) {
      const row = link.closest("tr, article, li");
      if (!firsts.has(row) && link.offsetParent) firsts.set(row, link);
    }
    return [...firsts.values()];
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const now = all.findIndex((link) => link.closest("tr, article, li")?.contains(document.activeElement));
    const next = now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by));
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  if (location.hash === SEARCH) {
    document.querySelector("[data-search]")?.focus();
    history.replaceState(history.state, "", location.pathname + location.search);
  }

  document.addEventListener("keydown", (event) => {
    if (off || event.ctrlKey || event.metaKey || event.altKey || writing(event.target)) return;
    const key = event.key;
    if (Date.now() < waiting && PAGES[key]) {
      waiting = 0;
      menu(PAGES[key])?.click();
    } else if (key === "g") {
      waiting = Date.now() + 1500;
      return;
    } else if (key === "/") {
      const field = document.querySelector("[data-search]");
      const runs = menu("runs");
      if (field) field.focus();
      else if (runs) location.assign(`${runs.href}${SEARCH}`);
    } else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else return;
    waiting = 0;
    event.preventDefault();
  });
})();
