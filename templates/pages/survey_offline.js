// Makes a file of what was answered; sends nothing. A language is a form of its own with the same names of fields.
"use strict";
(() => {
  const parts = [...document.querySelectorAll("[data-language]")];
  const choosers = [...document.querySelectorAll("[data-to]")];
  let shown = parts[0];

  const chooses = (field) => field.type === "radio" || field.type === "checkbox";

  function carry(from, to) {
    for (const field of from.elements) {
      if (!field.name) continue;
      for (const other of to.elements) {
        if (other.name !== field.name) continue;
        if (!chooses(field)) other.value = field.value;
        else if (other.value === field.value) other.checked = field.checked;
      }
    }
  }

  function show(language) {
    const next = parts.find((part) => part.dataset.language === language);
    if (!next || next === shown) return;
    carry(shown.querySelector("form"), next.querySelector("form"));
    for (const part of parts) part.hidden = part !== next;
    shown = next;
    document.documentElement.lang = language;
    document.title = next.querySelector("form").dataset.heading;
    mark();
  }

  function mark() {
    for (const chooser of choosers) chooser.setAttribute("aria-pressed", String(chooser.dataset.to === shown.dataset.language));
  }

  // A required question of which several boxes may be ticked has none ticked: no single box is `required`.
  function unticked(field) {
    const boxes = field.type === "checkbox" ? field.closest("[data-needed]")?.querySelectorAll("input") : null;
    return Boolean(boxes) && boxes[0] === field && ![...boxes].some((each) => each.checked);
  }

  // Whether a number lies beyond its limits; with a unit or other words after it only `import` can tell.
  function beyond(field) {
    let word = field.value.normalize("NFKC").trim().replace("−", "-");
    if (/^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(word)) word = word.replaceAll(",", "");
    if (!/^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(word)) return false;
    return Number(word) < Number(field.dataset.least) || Number(word) > Number(field.dataset.most);
  }

  function check(form) {
    for (const field of form.elements) {
      if (!field.name) continue;
      field.setCustomValidity("");
      const over = field.dataset.longest ? [...field.value].length - Number(field.dataset.longest) : 0;
      if (over > 0) field.setCustomValidity(form.dataset.long.replace("{count}", over));
      else if (field.dataset.range && beyond(field)) field.setCustomValidity(field.dataset.range);
      else if (field.validity.valueMissing || (field.required && !field.value.trim()) || unticked(field))
        field.setCustomValidity(field.name === "t" ? form.dataset.code : form.dataset.missing);
    }
    return form.reportValidity();
  }

  function answerOf(form) {
    const values = {};
    for (const field of form.elements) {
      if (!field.name.startsWith("q-")) continue;
      const name = field.name.slice(2);
      if (field.type === "checkbox") {
        if (field.checked) (values[name] ||= []).push(field.value);
      } else if (field.type !== "radio" || field.checked) {
        if (field.value.trim()) values[name] = field.value;
      }
    }
    return {
      schema_version: 1,
      survey: form.dataset.survey,
      digest: form.dataset.digest,
      token: form.elements.namedItem("t").value,
      values,
    };
  }

  function save(form) {
    const random = [...crypto.getRandomValues(new Uint8Array(4))].map((each) => each.toString(16).padStart(2, "0")).join("");
    const name = `answer-${form.dataset.survey}-${random}.json`;
    const text = JSON.stringify(answerOf(form), null, 1) + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    form.querySelector("[role=status]").textContent = form.dataset.saved.replace("{name}", name);
  }

  for (const part of parts) {
    const form = part.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (check(form)) save(form);
    });
    form.addEventListener("input", (event) => event.target.setCustomValidity(""));
  }
  for (const chooser of choosers) chooser.addEventListener("click", () => show(chooser.dataset.to));
  mark();
  const wanted = (navigator.languages || []).map((each) => each.slice(0, 2));
  show(wanted.find((each) => parts.some((part) => part.dataset.language === each)));
})();
