// Buttons that copy, and on wish a notification and a sound when a new matter comes in. The pages do without it.
(() => {
  "use strict";
  const SHOWN = 1500; // milliseconds in which a button says that it has copied
  const [PITCH, LOUD, SECONDS] = [880, 0.15, 0.35];
  document.documentElement.classList.add("js");

  // What became of the form before is said once, not again when the page is loaded anew.
  const address = new URL(location.href);
  if (address.searchParams.has("said")) {
    address.searchParams.delete("said");
    history.replaceState(history.state, "", address);
  }

  // Copying

  async function put(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea"); // an address that browsers do not call secure
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not copied");
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button.copy");
    if (!button) return;
    const words = button.textContent;
    try {
      await put(button.dataset.link ? new URL(button.dataset.link, location.href).href : button.dataset.copy);
    } catch {
      return;
    }
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = words), SHOWN);
  });

  // A form that does something is not sent a second time; what it does is told on the next page. One that only asks is
  // sent as often as somebody chooses: what was chosen last is what counts.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((each) => delete each.dataset.sent));

  // Notifications

  const wishes = [...document.querySelectorAll("button.wish")];
  const main = document.querySelector("main");
  if (!wishes.length || !main) return;
  const matters = () => [...main.querySelectorAll(".help > .matter[id]")].filter((each) => !each.closest(".old"));
  let known = new Set(matters().map((each) => each.id));
  let sound = null;

  const button = (wish) => wishes.find((each) => each.dataset.wish === wish);
  const wanted = (wish) => button(wish)?.getAttribute("aria-pressed") === "true";

  function remember(wish, on) {
    button(wish)?.setAttribute("aria-pressed", String(on));
    try {
      localStorage.setItem(`hackathon-${wish}`, on ? "on" : "");
    } catch {
      // a browser that keeps nothing: the wish holds for this page
    }
  }

  function kept(wish) {
    try {
      return localStorage.getItem(`hackathon-${wish}`) === "on";
    } catch {
      return false;
    }
  }

  function beep() {
    sound ??= new AudioContext();
    sound.resume();
    const [tone, volume] = [sound.createOscillator(), sound.createGain()];
    tone.frequency.value = PITCH;
    volume.gain.setValueAtTime(LOUD, sound.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + SECONDS);
    tone.connect(volume).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + SECONDS);
  }

  for (const each of wishes) {
    const wish = each.dataset.wish;
    if (wish === "notify" && !window.Notification) each.hidden = true;
    else if (kept(wish) && (wish !== "notify" || Notification.permission === "granted")) remember(wish, true);
    each.addEventListener("click", async () => {
      const on = !wanted(wish);
      if (on && wish === "notify" && (await Notification.requestPermission()) !== "granted") return;
      if (on && wish === "sound") beep();
      remember(wish, on);
    });
  }

  new MutationObserver(() => {
    const now = matters();
    const fresh = now.filter((each) => !known.has(each.id));
    known = new Set(now.map((each) => each.id));
    if (!fresh.length) return;
    if (wanted("sound")) beep();
    if (wanted("notify")) {
      const said = fresh.map((each) => each.querySelector("summary").textContent.replace(/\s+/g, " ").trim());
      new Notification(button("notify").dataset.new.replace("{}", said[0].slice(0, 120)), {
        body: said.slice(1, 4).join("\n"),
        tag: "hackathon",
      });
    }
  }).observe(main, { childList: true, subtree: true });
})();
