// Turns a drawing into an interactive one when somebody points at it: tooltips, and zoom where there is a mouse.
// The drawing stays when anything fails. Nothing is asked of any other place: Vega lies beside this file.
(() => {
  "use strict";
  const beside = document.currentScript.src;
  const busy = new WeakSet();
  const failed = new WeakSet();
  const views = new WeakMap();
  const loaded = new Map();

  // What a file beside this one leaves in the window, asked for once.
  function load(file, name) {
    if (!loaded.has(file)) {
      loaded.set(file, new Promise((resolve, reject) => {
        const done = () => (window[name] ? resolve(window[name]) : reject(new Error(`no ${name}`)));
        if (window[name]) {
          done();
          return;
        }
        const script = document.createElement("script");
        script.src = new URL(file, beside).href;
        script.onload = done;
        script.onerror = done;
        document.head.append(script);
      }));
    }
    return loaded.get(file);
  }

  const vega = () => load("vega.js", "hackathonPlot");

  // The value that a difference makes of a form; `hackathon.web.page.plot_forms` says how it is written.
  function whole(form, told) {
    if (told === null || typeof told !== "object" || Array.isArray(told)) return told;
    if ("=" in told) return told["="];
    if ("|" in told) {
      const columns = Object.entries(told["|"]);
      return columns[0][1].map((_, row) => Object.fromEntries(columns.map(([name, all]) => [name, all[row]])));
    }
    if ("@" in told) {
      const entry = (each) => (each.length === 1 ? each[0] : whole(form[each[0]], each[1]));
      return told["@"].map((each) => (Array.isArray(each) ? entry(each) : form[each]));
    }
    const made = form !== null && typeof form === "object" && !Array.isArray(form) ? { ...form } : {};
    for (const name of told["-"] ?? []) delete made[name];
    for (const [name, each] of Object.entries(told)) if (name !== "-") made[name] = whole(made[name], each);
    return made;
  }

  const written = (plot) => document.querySelector(`script[data-plot="${CSS.escape(plot.id)}"]`);

  // A specification lies in the page, or in a file that the page shares with its other languages.
  async function specOf(plot) {
    const inside = written(plot);
    if (inside) return JSON.parse(inside.textContent);
    const page = location.pathname.split("/").pop().split(".")[0] || "index";
    const plots = await load(`${page}.js`, "hackathonPlots");
    const forms = await load("forms.js", "hackathonForms");
    const [form, told, others] = plots[plot.id];
    const spec = whole({ ...forms[""], ...forms[form] }, told);
    const words = others?.[document.documentElement.lang];
    return words ? whole(spec, words) : spec;
  }

  const nothing = () => Promise.reject(new Error("nothing is loaded from elsewhere"));
  const loader = { load: nothing, sanitize: nothing, http: nothing, file: nothing };

  // Texts of a specification may come from anybody: they become text, never markup.
  let note = null;
  function tooltip(_handler, event, _item, value) {
    if (value === null || value === undefined || value === "") {
      if (note) note.hidden = true;
      return;
    }
    if (!note) {
      note = document.createElement("div");
      note.className = "plot-note";
      document.body.append(note);
    }
    const rows = typeof value === "object" ? Object.entries(value) : [["", value]];
    note.replaceChildren(
      ...rows.map(([name, said]) => {
        const row = document.createElement("p");
        if (name) {
          const term = document.createElement("span");
          term.textContent = name;
          row.append(term);
        }
        row.append(String(said));
        return row;
      }),
    );
    note.hidden = false;
    const room = document.documentElement.clientWidth - note.offsetWidth - 8;
    note.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
    const above = event.clientY - note.offsetHeight - 12;
    note.style.top = `${above > 8 ? above : event.clientY + 18}px`;
  }

  // What a note says about a point: both numbers, by the names that the axis and the caption give them.
  function numbers(spec, layer, caption) {
    const x = { ...spec.encoding?.x, ...layer.encoding?.x };
    const y = { ...spec.encoding?.y, ...layer.encoding?.y };
    if (!x.field || !y.field) return null;
    const tell = (axis, title, format) => ({
      field: axis.field, type: axis.type, title: title || " ", ...(axis.type === "quantitative" && { format }),
    });
    const share = String(y.axis?.format ?? "").endsWith("%");
    const title = y.type === "quantitative" ? caption : y.title;
    const said = [tell(x, x.title, ",.4~r"), tell(y, title, share ? ".1%" : ",.4~r")];
    return y.type === "quantitative" ? said : said.reverse();
  }

  function prepared(spec, plot) {
    const made = { ...spec };
    delete made.$schema;
    // A height that comes from a number of bars stays with its width; the style sheet makes both fit.
    if (typeof spec.height === "number") {
      made.width = Math.round(plot.querySelector("svg")?.getBoundingClientRect().width || plot.clientWidth);
      made.height = Math.round((made.width * spec.height) / (spec.width || 440));
      made.autosize = { type: "fit", contains: "padding" };
    }
    const layers = made.layer ? made.layer.map((layer) => ({ ...layer })) : null;
    const caption = plot.closest("figure")?.querySelector("figcaption")?.textContent ?? "";
    for (const each of layers || [made]) {
      if (!each.mark) continue;
      const mark = typeof each.mark === "string" ? { type: each.mark } : { ...each.mark };
      const told = numbers(made, each, caption);
      if (told && ["point", "circle", "bar"].includes(mark.type)) {
        each.encoding = { ...each.encoding, tooltip: each.encoding?.tooltip ?? told };
      }
      // A line tells its numbers at points that are not seen, where no other layer draws them. Dashed ones have none.
      const pointed = (layers || []).some(
        (other) => other !== each && other.mark?.type === "point" && other.data?.name === each.data?.name,
      );
      if (told && mark.type === "line" && !mark.strokeDash && !pointed) {
        mark.point ??= { opacity: 0, size: 120 };
        each.encoding = { ...each.encoding, tooltip: each.encoding?.tooltip ?? told };
      }
      if (mark.type === "text") mark.clip ??= false;
      each.mark = mark;
    }
    if (layers) made.layer = layers;
    // The scales hang on fields: a layer that draws a constant has none, and names cannot be zoomed.
    const scaled = (layers || [made]).find((each) => each.encoding?.y?.field) || (layers || [made])[0];
    const zoomed = ["x", "y"].every((axis) => {
      const type = scaled.encoding?.[axis]?.type ?? made.encoding?.[axis]?.type;
      return type === "quantitative" || type === "temporal";
    });
    const way = plot.closest("[data-zoom]")?.dataset.zoom;
    if (zoomed && way && window.matchMedia("(pointer: fine)").matches) {
      const select = { type: "interval", zoom: "wheel![event.ctrlKey || event.metaKey]" };
      scaled.params = [...(scaled.params || []), { name: "zoom", select, bind: "scales" }];
      plot.dataset.zoom = way;
      plot.classList.add("plot-zoom");
    }
    return made;
  }

  async function begin(plot) {
    // A page that is kept fresh puts a new drawing in the place of an interactive one when its numbers have changed.
    if (busy.has(plot) || failed.has(plot) || plot.querySelector(".plot-room")) return;
    const drawing = plot.querySelector("svg");
    if (!drawing) return;
    busy.add(plot);
    const room = document.createElement("div");
    room.className = "plot-room";
    try {
      const embed = await vega();
      const spec = prepared(await specOf(plot), plot);
      views.get(plot)?.finalize();
      plot.append(room);
      const made = await embed(room, spec, {
        mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, loader, tooltip,
        logLevel: 1, // errors; hints to whoever writes a specification are not for readers
      });
      views.set(plot, made);
      if (drawing.isConnected) {
        drawing.remove();
      } else {
        made.finalize(); // there are newer numbers by now
        room.remove();
      }
      plot.classList.add("plot-live");
    } catch {
      failed.add(plot);
      room.remove();
    } finally {
      busy.delete(plot);
    }
  }

  // One line through all charts of a group: where somebody points at in one, it stands in the others.

  function neighbours(plot) {
    return [...(plot.closest(".plots")?.querySelectorAll(".plot[id]") ?? [])];
  }

  function scaleOf(plot) {
    const view = plot.querySelector(".plot-room") ? views.get(plot)?.view : null;
    try {
      const scale = view?.scale("x");
      return scale?.invert ? { scale, view, left: view.origin()[0], top: view.origin()[1] } : null;
    } catch {
      return null; // a chart without such a scale
    }
  }

  function cross(plot, place) {
    let line = plot.querySelector(".crosshair");
    if (!place) {
      line?.remove();
      return;
    }
    if (!line) {
      line = document.createElement("div");
      line.className = "crosshair";
      plot.append(line);
    }
    const drawing = plot.querySelector(".plot-room svg").getBoundingClientRect();
    const around = plot.getBoundingClientRect();
    line.style.left = `${drawing.left - around.left + place.x}px`;
    line.style.top = `${drawing.top - around.top + place.top}px`;
    line.style.height = `${place.height}px`;
  }

  document.addEventListener("pointermove", (event) => {
    const plot = event.target instanceof Element ? event.target.closest(".plot[id]") : null;
    const own = plot ? scaleOf(plot) : null;
    for (const line of document.querySelectorAll(".crosshair")) {
      if (!own || !neighbours(plot).includes(line.parentElement)) line.remove();
    }
    if (!own) return;
    const drawing = plot.querySelector(".plot-room svg").getBoundingClientRect();
    const value = own.scale.invert(event.clientX - drawing.left - own.left);
    for (const each of neighbours(plot)) {
      const its = scaleOf(each);
      const [from, to] = its ? its.scale.domain() : [1, 0];
      const height = its?.view.height();
      const inside = its && value >= Math.min(from, to) && value <= Math.max(from, to);
      cross(each, inside ? { x: its.left + its.scale(value), top: its.top, height } : null);
    }
  }, { passive: true });

  // Downloads of a chart

  function saved(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // A text that a table program would take for a formula becomes one that it shows.
  function cell(value) {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function table(spec) {
    const rows = Object.entries(spec.datasets ?? {}).flatMap(([data, all]) => all.map((row) => ({ data, ...row })));
    const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return [heads, ...rows.map((row) => heads.map((head) => row[head]))].map((row) => row.map(cell).join(",")).join("\r\n");
  }

  async function save(plot, kind) {
    const name = `${document.title.split(" – ")[0]}-${plot.id}.${kind}`.replace(/[^\p{L}\p{N}._-]+/gu, "-");
    if (kind === "csv") {
      saved(name, "text/csv;charset=utf-8", `\ufeff${table(await specOf(plot))}\r\n`);
      return;
    }
    await begin(plot);
    const view = views.get(plot)?.view;
    if (!view) return;
    if (kind === "svg") saved(name, "image/svg+xml", await view.toSVG());
    else (await view.toCanvas(2)).toBlob((image) => saved(name, "image/png", image), "image/png");
  }

  // The places for the buttons come with the page, so that what keeps it fresh does not see them as changes.
  function offer(within) {
    for (const place of within.querySelectorAll(".chart-ways:empty")) {
      const plot = place.closest("figure")?.querySelector(".plot[id]");
      if (!plot) continue;
      const way = place.closest("[data-save]")?.dataset.save ?? "";
      const title = place.closest("figure").querySelector("figcaption")?.textContent ?? "";
      for (const kind of ["svg", "png", "csv"]) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = kind.toUpperCase();
        button.setAttribute("aria-label", `${way} ${kind.toUpperCase()}: ${title}`);
        button.addEventListener("click", () => save(plot, kind));
        place.append(button);
      }
    }
  }
  offer(document);

  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const plot = event.target instanceof Element ? event.target.closest(".plot[id]") : null;
      const figure = event.target instanceof Element ? event.target.closest("figure.picture") : null;
      if (figure) offer(figure);
      if (plot) for (const each of [plot, ...neighbours(plot)]) begin(each);
      else if (note) note.hidden = true; // a plot that was replaced does not say that it was left
    }, { passive: true });
  }
})();
