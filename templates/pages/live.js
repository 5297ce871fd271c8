// Keeps a dashboard's page fresh: when the server says that it has changed, it is fetched again and only what differs
// is put into it, so that scrolling, open details, focus, selections and plots that somebody works with stay.
(() => {
  "use strict";
  const HIDDEN = 10_000; // milliseconds after which a page that nobody sees lets its stream go
  const AGAIN = 5_000;
  const MOST_PAIRS = 1_000_000;
  const script = document.currentScript;
  const main = document.querySelector("main");
  const notice = document.getElementById("connection");
  if (!script || !main || !window.EventSource) return;

  const page = location.pathname + location.search;
  let seen = new URL(script.src).searchParams.get("seen") ?? "";
  let shown = snapshot(document); // as the server made it, without what scripts did to it since
  let source = null;
  let why = "lost"; // why the stream is closed
  let timer = 0;
  let resting = 0;
  let busy = false;
  let waiting = false;
  let behind = false; // the server told of a change that is not shown yet

  function snapshot(from) {
    return [...from.querySelectorAll("main, footer.site")].map((part) => part.cloneNode(true));
  }

  // The notice

  function say(what) {
    const words = notice?.dataset[what] ?? "";
    if (notice && notice.textContent !== words) notice.textContent = words;
  }

  // The stream

  function connect() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(`/stream?${new URLSearchParams({ page, seen })}`);
    source.onopen = () => {
      why = "lost";
      say("");
      if (behind) refresh();
    };
    source.onerror = () => {
      const closed = source?.readyState === EventSource.CLOSED;
      say(closed ? why : "lost");
      // The browser tries again by itself, except after a refusal.
      if (closed) later();
    };
    source.addEventListener("changed", (event) => {
      seen = event.lastEventId;
      behind = true;
      refresh();
    });
    source.addEventListener("stale", () => say("stale"));
    source.addEventListener("fresh", () => say(""));
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(connect, AGAIN);
    // A dashboard that was started anew has another key: waiting does not help then.
    fetch(page, { method: "HEAD", credentials: "same-origin" }).then(
      (answer) => answer.status === 403 && say((why = "refused")),
      () => {},
    );
  }

  function rest() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  // Who wants to be told of what is new (tutor.js) is told of it also while the page is behind others.
  function wished() {
    return document.querySelector('.wish[aria-pressed="true"]') !== null;
  }

  // A browser opens six connections to a server, and tabs in the background would keep them all.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden && !wished()) resting = setTimeout(rest, HIDDEN);
    else if (!source) connect();
  });
  addEventListener("pagehide", rest);
  addEventListener("pageshow", (event) => {
    if (event.persisted && !source) connect();
  });

  // The page

  async function refresh() {
    if (busy || selecting()) {
      again(1000);
      return;
    }
    busy = true;
    behind = false;
    let good = false;
    try {
      const answer = await fetch(page, { credentials: "same-origin", signal: AbortSignal.timeout(30_000) });
      if (!answer.ok && answer.status !== 404) return; // what is shown is better than a page of trouble
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!next.querySelector("main")) return;
      const logs = reading();
      const [fields, active] = [written(), document.activeElement];
      const [top, anchor] = place();
      const parts = snapshot(next);
      const live = [...document.querySelectorAll("main, footer.site")];
      if (parts.length === live.length && shown.length === live.length) {
        live.forEach((part, number) => change(part, shown[number], parts[number]));
        shown = parts;
      }
      keep(fields, active);
      document.title = next.title;
      good = true;
      for (const [log, top] of logs) log.scrollTop = top - log.scrollHeight;
      if (anchor?.isConnected) scrollBy({ top: anchor.getBoundingClientRect().top - top, behavior: "instant" });
    } catch {
      // The stream tells whether the server is gone.
    } finally {
      busy = false;
      if (!good) {
        behind = true;
        if (source?.readyState === EventSource.OPEN) again(AGAIN);
      }
    }
  }

  function again(later) {
    if (!waiting) setTimeout(() => ((waiting = false), refresh()), later);
    waiting = true;
  }

  // Somebody who copies a line of a log does not lose it.
  function selecting() {
    const selection = getSelection();
    return Boolean(selection && !selection.isCollapsed && main.contains(selection.anchorNode));
  }

  // What somebody writes

  const typed = (field) => field.value !== field.defaultValue;

  // Fields that hold what is not sent yet, the one that has the focus, and their forms.
  function written() {
    const fields = [...document.querySelectorAll(".kept textarea[id], main textarea[id]")];
    const wanted = fields.filter((field) => typed(field) || field === document.activeElement);
    return wanted.map((field) => [field, field.form]);
  }

  // A field that was made anew with what is around it comes back as it was; one whose form is gone is kept above the
  // page, in its form, until it is sent or emptied.
  function keep(fields, active) {
    for (const [field, form] of fields) {
      if (main.contains(field)) continue;
      const place = main.querySelector(`#${CSS.escape(field.id)}`);
      if (place) {
        field.closest(".kept")?.remove();
        place.replaceWith(field);
        for (let each = field; (each = each.parentElement?.closest("details")); ) each.open = true;
      } else if (!field.isConnected && typed(field)) {
        hold(form?.contains(field) ? form : field);
      }
    }
    if (active?.isConnected && active !== document.activeElement) active.focus({ preventScroll: true });
  }

  function hold(form) {
    const [box, words] = [document.createElement("section"), document.createElement("p")];
    box.className = "kept";
    words.setAttribute("role", "alert");
    words.textContent = notice?.dataset.typed ?? "";
    box.append(words, form);
    box.addEventListener("input", () => [...box.querySelectorAll("textarea")].some(typed) || box.remove());
    main.before(box);
  }

  // The ends of logs are laid out from below: they show their newest line, and keep it in view, by themselves. Who has
  // scrolled up in one reads on where they are.
  function reading() {
    const logs = [...main.querySelectorAll(".log-tail > pre")].filter((log) => log.scrollTop < -8);
    return logs.map((log) => [log, log.scrollTop + log.scrollHeight]);
  }

  // The first thing that is wholly in view stays where it is, whatever comes in above it.
  function place() {
    if (scrollY < 1) return [0, null];
    for (const each of main.querySelectorAll("h2, h3, tr, li, p, dt, pre, figure, summary")) {
      const { top, height } = each.getBoundingClientRect();
      if (height && top >= 0) return [top, each];
    }
    return [0, null];
  }

  // Change `live` from what the server sent before to what it sent now. What is the same in both is not touched, even
  // if it looks different by now: an open <details>, an interactive plot.
  function change(live, before, after) {
    if (before.isEqualNode(after)) return;
    const alike = live.nodeName === after.nodeName && before.nodeName === after.nodeName;
    const other = live.id !== after.id && live.nodeName !== "DETAILS"; // those may be numbered anew
    if (!alike || live.childNodes.length !== before.childNodes.length || other) {
      live.replaceWith(document.importNode(after, true));
      return;
    }
    if (live.nodeType !== Node.ELEMENT_NODE) {
      live.data = after.data;
      return;
    }
    attributes(live, before, after);
    const [olds, news] = [[...before.childNodes], [...after.childNodes]];
    const lives = [...live.childNodes];
    let start = 0;
    while (start < olds.length && start < news.length && olds[start].isEqualNode(news[start])) start++;
    let end = 0;
    const room = Math.min(olds.length, news.length) - start;
    while (end < room && olds[olds.length - 1 - end].isEqualNode(news[news.length - 1 - end])) end++;
    const [last, final] = [olds.length - end, news.length - end];
    let [old, fresh] = [start, start];
    const same = pairs(olds.slice(start, last), news.slice(start, final));
    for (const [nextOld, nextFresh] of [...same, [last - start, final - start]]) {
      const [untilOld, untilFresh] = [start + nextOld, start + nextFresh];
      const following = lives[untilOld] ?? null;
      for (; old < untilOld && fresh < untilFresh; old++, fresh++) change(lives[old], olds[old], news[fresh]);
      for (; old < untilOld; old++) lives[old].remove();
      for (; fresh < untilFresh; fresh++) live.insertBefore(document.importNode(news[fresh], true), following);
      if (old < last && fresh < final) change(lives[old], olds[old++], news[fresh++]);
    }
  }

  // What is the same thing in both, in their order: [place among olds, place among news] of as many as can be, so that
  // a section or a row that comes in does not turn those after it into others.
  function pairs(olds, news) {
    const [width, found] = [news.length + 1, []];
    if (olds.length * news.length > MOST_PAIRS) return found;
    const [before, after] = [olds.map(called), news.map(called)];
    const most = new Uint16Array((olds.length + 1) * width);
    for (let i = olds.length - 1; i >= 0; i--)
      for (let j = news.length - 1; j >= 0; j--)
        most[i * width + j] =
          before[i] === after[j]
            ? most[(i + 1) * width + j + 1] + 1
            : Math.max(most[(i + 1) * width + j], most[i * width + j + 1]);
    for (let i = 0, j = 0; i < olds.length && j < news.length; ) {
      if (before[i] === after[j]) found.push([i++, j++]);
      else if (most[(i + 1) * width + j] >= most[i * width + j + 1]) i++;
      else j++;
    }
    return found;
  }

  // What a part of the page is called: by its heading, a row by what it links to.
  function called(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
    if (node.id && node.matches("li, form")) return `${node.nodeName} ${node.id}`;
    const head = node.querySelector(":scope > :is(h2, h3, summary, caption, figcaption)");
    const link = !head && node.matches("tr, li, article") ? node.querySelector("a[href]") : null;
    return `${node.nodeName} ${head ? head.firstChild?.textContent : (link?.getAttribute("href") ?? node.id)}`;
  }

  function attributes(live, before, after) {
    for (const { name } of before.attributes) if (!after.hasAttribute(name)) live.removeAttribute(name);
    for (const { name, value } of after.attributes) {
      if (before.getAttribute(name) !== value) live.setAttribute(name, value);
    }
  }

  connect();
})();
