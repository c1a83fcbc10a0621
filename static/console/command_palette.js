// Ctrl+K: the places of the menu by a few letters of their names, and the search for whatever is no place.
const SHOWN = 8;
let palette = null;
let asked = null;

const places = () =>
  [...document.querySelectorAll("#nav-sidebar-apps a[href]")].map((link) => ({
    title: link.querySelector("span:not([aria-hidden])").textContent.trim(),
    group: link.closest("ul").previousElementSibling?.textContent.trim() ?? "",
    url: link.href,
  }));

const fitting = (words) => {
  const each = words.split(/\s+/).filter(Boolean);
  const fits = ({ title, group }) => each.every((word) => `${title} ${group}`.toLowerCase().includes(word));
  const begins = (place) => (place.title.toLowerCase().startsWith(words) ? 0 : 1);
  return places().filter(fits).sort((one, other) => begins(one) - begins(other)).slice(0, SHOWN);
};

const made = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const entry = ({ title, group, url }) =>
  made("li", {}, made("a", { href: url }, title), " ", made("span", { class: "pc-muted" }, group));

const show = () => {
  const words = asked.value.trim();
  const found = fitting(words.toLowerCase());
  const way = document.querySelector('#pc-keys [data-go="f"]');
  const search = { title: `Search for “${words}”`, group: "", url: `${way.href}?q=${encodeURIComponent(words)}` };
  const entries = [...found, ...(words ? [search] : [])];
  palette.querySelector("ul").replaceChildren(...entries.map(entry));
  const counted = `${found.length === SHOWN ? "The first " : ""}${found.length} page${found.length === 1 ? "" : "s"}`;
  palette.querySelector("[role=status]").textContent = words ? counted : "";
};

const move = (by) => {
  const stops = [asked, ...palette.querySelectorAll("li a")];
  const at = stops.indexOf(document.activeElement) + by;
  stops[(at + stops.length) % stops.length].focus();
};

// Made when it is first asked for: without a script there is nothing of it.
const make = () => {
  const label = made("label", { for: "pc-palette-words" }, "Go to a page, or search for words");
  asked = made("input", { type: "search", id: "pc-palette-words", autocomplete: "off", maxlength: "200" });
  const form = made("form", { role: "search" }, made("div", { class: "pc-field" }, label, asked));
  const counted = made("p", { class: "pc-muted", role: "status" });
  palette = made("dialog", { class: "pc-keys pc-palette", "aria-label": "Go to" }, form, counted, made("ul", {}));
  asked.addEventListener("input", show);
  palette.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  });
  // Enter goes to the first entry. Without words there is nowhere to go, and the page's keys go on.
  asked.form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    if (asked.value.trim()) window.location.assign(palette.querySelector("li a").href);
  });
  document.getElementById("page").append(palette);
};

document.addEventListener("keydown", (event) => {
  const isOurs = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (!isOurs || event.isComposing || !document.getElementById("pc-keys")) return;
  event.preventDefault();
  if (palette?.open) {
    palette.close();
  } else if (!document.querySelector("dialog[open]")) {
    if (!palette) make();
    asked.value = "";
    show();
    palette.showModal();
  }
});
