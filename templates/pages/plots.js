// Turns a drawing into an interactive one when somebody points at it: tooltips, and zoom where there is a mouse.
// The drawing stays when anything fails. Nothing is asked of any other place: Vega lies beside this file.
(() => {
  "use strict";
  const beside = document.currentScript.src;
  const busy = new WeakSet();
  const failed = new WeakSet();
  const views = new WeakMap();
  let library = null;

  function vega() {
    library ??= new Promise((resolve, reject) => {
      if (window.hackathonPlot) {
        resolve(window.hackathonPlot);
        return;
      }
      const script = document.createElement("script");
      script.src = new URL("vega.js", beside).href;
      script.onload = () => (window.hackathonPlot ? resolve(window.hackathonPlot) : reject(new Error("no Vega")));
      script.onerror = () => reject(new Error("no Vega"));
      document.head.append(script);
    });
    return library;
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
      made.width = plot.clientWidth;
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
    if (zoomed && plot.dataset.zoom && window.matchMedia("(pointer: fine)").matches) {
      const select = { type: "interval", zoom: "wheel![event.ctrlKey || event.metaKey]" };
      scaled.params = [...(scaled.params || []), { name: "zoom", select, bind: "scales" }];
      plot.classList.add("plot-zoom");
    }
    return made;
  }

  async function begin(plot) {
    // A page that is kept fresh puts a new drawing in the place of an interactive one when its numbers have changed.
    if (busy.has(plot) || failed.has(plot) || plot.querySelector(".plot-room")) return;
    const drawing = plot.querySelector("svg");
    const written = document.querySelector(`script[data-plot="${CSS.escape(plot.id)}"]`);
    if (!drawing || !written) return;
    busy.add(plot);
    const room = document.createElement("div");
    room.className = "plot-room";
    try {
      const embed = await vega();
      const spec = prepared(JSON.parse(written.textContent), plot);
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

  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const plot = event.target instanceof Element ? event.target.closest(".plot[id]") : null;
      if (plot) begin(plot);
      else if (note) note.hidden = true; // a plot that was replaced does not say that it was left
    }, { passive: true });
  }
})();
