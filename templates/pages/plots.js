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

  function prepared(spec, plot) {
    const made = { ...spec };
    delete made.$schema;
    const ratio = (spec.height || 300) / (spec.width || 440);
    made.width = plot.clientWidth;
    made.height = Math.round(made.width * ratio);
    made.autosize = { type: "fit", contains: "padding" };
    const layers = made.layer ? made.layer.map((layer) => ({ ...layer })) : null;
    for (const each of layers || [made]) {
      const mark = typeof each.mark === "string" ? { type: each.mark } : { ...each.mark };
      if (mark.type === "point" || mark.type === "circle" || mark.type === "bar") mark.tooltip ??= { content: "encoding" };
      if (mark.type === "text") mark.clip ??= false;
      if (each.mark) each.mark = mark;
    }
    if (layers) made.layer = layers;
    if (window.matchMedia("(pointer: fine)").matches && plot.dataset.zoom) {
      const zoom = { name: "zoom", select: { type: "interval", zoom: "wheel![event.ctrlKey || event.metaKey]" }, bind: "scales" };
      // The scales hang on fields: a layer that draws a constant has none.
      const first = layers ? layers.find((each) => each.encoding?.y?.field) || layers[0] : made;
      first.params = [...(first.params || []), zoom];
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
