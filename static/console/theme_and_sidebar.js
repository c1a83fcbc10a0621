// The colours and the menu. It runs before the page is drawn, so that nothing flickers.
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const kept = (name, otherwise) => {
  try {
    return JSON.parse(window.localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
};
const keep = (name, value) => {
  try {
    window.localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Where nothing may be kept, it holds for this page.
  }
};

let theme = kept("adminTheme", "auto");
let isShut = kept("sidebarDesktopOpen", 1) === 0;
const root = document.documentElement;
const draw = () => {
  root.classList.toggle("dark", theme === "dark" || (theme === "auto" && DARK.matches));
  root.classList.toggle("pc-menu-shut", isShut);
  for (const button of document.querySelectorAll("[data-theme]")) {
    button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
  }
  for (const button of document.querySelectorAll('[data-menu="toggle"]')) {
    button.setAttribute("aria-expanded", String(isMenuShown()));
  }
};
const isWide = () => window.matchMedia("(width >= 80rem)").matches;
const isMenuShown = () => (isWide() ? !isShut : root.classList.contains("pc-menu-open"));
const showMenu = (isShown) => {
  if (isWide()) {
    isShut = !isShown;
    keep("sidebarDesktopOpen", isShown ? 1 : 0);
  } else {
    root.classList.toggle("pc-menu-open", isShown);
  }
  draw();
};

draw();
DARK.addEventListener("change", draw);
document.addEventListener("DOMContentLoaded", () => {
  draw();
  document.querySelector("#nav-sidebar-apps [aria-current]")?.scrollIntoView({ block: "nearest" });
});
window.addEventListener("resize", draw);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-theme], [data-menu]");
  if (!button) return;
  if (button.dataset.theme) {
    theme = button.dataset.theme;
    keep("adminTheme", theme);
    draw();
  } else {
    showMenu(button.dataset.menu === "toggle" && !isMenuShown());
  }
});
// Over the page the menu closes by Escape, and what opened it is where one goes on.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || isWide() || !isMenuShown()) return;
  showMenu(false);
  document.querySelector('[data-menu="toggle"]')?.focus();
});
