// Keys on top of pages that work by Tab and Enter. A letter only goes there; Enter or Ctrl+Enter decides.
const GO_MILLISECONDS = 1500;
const ROWS = ":is(#result_list tbody tr, .pc-worklist-row)";
let goesUntil = 0;
let isLeaving = false;

document.documentElement.classList.add("pc-has-keys");
window.addEventListener("submit", (event) => {
  // A dialog's own form leads nowhere.
  if (event.target.method !== "dialog") isLeaving = true;
});
window.addEventListener("pageshow", () => {
  isLeaving = false;
});

const isTyping = (element) =>
  element.isContentEditable ||
  element.matches("textarea, select, input:not([type=radio]):not([type=checkbox]):not([type=submit]):not([type=button])");

const step = (by) => {
  const links = [...document.querySelectorAll(ROWS)].map((row) => row.querySelector("th a, td a, h2 a")).filter(Boolean);
  if (!links.length) return false;
  const row = document.activeElement.closest(ROWS);
  const at = row ? links.findIndex((link) => row.contains(link)) : by > 0 ? -1 : links.length;
  const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
};

// The boxes of a list that can be decided on together: that of the row one is in, or all of them.
const tick = (every) => {
  const boxes = [...document.querySelectorAll(`${ROWS} input[type=checkbox][form]`)];
  const row = document.activeElement.closest(ROWS);
  const meant = every ? boxes : boxes.filter((box) => row && row.contains(box));
  const isOn = meant.some((box) => !box.checked);
  for (const box of meant) box.checked = isOn;
  return meant.length > 0;
};

// A folded form opens at its first field, an open one at its button, or at what has to be ticked before.
const enter = (decision) => {
  if (decision.matches("details")) {
    for (const other of document.querySelectorAll("details.pc-decision[open]")) other.open = other === decision;
    decision.open = true;
  }
  const form = decision.querySelector("form") ?? decision;
  const fields = "textarea, select, input:not([type=hidden])";
  const asked = decision.matches("details") ? fields : "input[type=checkbox]:not(:checked)";
  const target = form.querySelector(asked) ?? form.querySelector("button");
  target.focus();
  decision.scrollIntoView({ block: "nearest" });
  return true;
};

const close = () => {
  const decision = document.activeElement.closest("details.pc-decision[open]");
  if (!decision) return false;
  decision.open = false;
  decision.querySelector("summary").focus();
  return true;
};

const choose = (number) => {
  const form = document.activeElement.closest(".pc-decision form");
  const choice = form?.querySelectorAll("input[type=radio]")[number - 1];
  if (!choice) return false;
  choice.checked = true;
  choice.focus();
  return true;
};

const go = (key) => {
  const way = document.querySelector(`#pc-keys [data-go="${CSS.escape(key)}"]`);
  if (!way) return false;
  isLeaving = true;
  window.location.assign(way.href);
  return true;
};

const search = () => {
  const bar = document.getElementById("searchbar");
  if (!bar) return go("f");
  bar.focus();
  return true;
};

const sheet = () => {
  const dialog = document.getElementById("pc-keys");
  if (!dialog || dialog.open) return false;
  dialog.showModal();
  return true;
};

// `at`: when the key was pressed, however late a busy page comes to read it.
const pressed = (key, at) => {
  if (goesUntil > at) {
    goesUntil = 0;
    return go(key);
  }
  if (key === "g") {
    goesUntil = at + GO_MILLISECONDS;
    return true;
  }
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  if (key === "/") return search();
  if (key === "?") return sheet();
  if ((key === "x" || key === "X") && tick(key === "X")) return true;
  if (/^[1-9]$/.test(key)) return choose(Number(key));
  // In a list that is worked through, the row one is in decides which.
  const within = document.activeElement.closest(ROWS) ?? document;
  const decision = /^[a-z]$/.test(key) && within.querySelector(`[data-key="${key}"]`);
  return decision ? enter(decision) : false;
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || isLeaving) return;
  const { target } = event;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = target.closest(".pc-decision form, .pc-undo");
    if (!form) return;
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    close();
    return;
  }
  if (!isTyping(target) && pressed(event.key, event.timeStamp)) event.preventDefault();
});
