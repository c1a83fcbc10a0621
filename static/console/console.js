// Small comforts on top of pages that work without them.
document.addEventListener("input", (event) => {
  const counter = document.querySelector(`[data-counts="${CSS.escape(event.target.id)}"]`);
  if (counter) {
    const limit = counter.dataset.limit;
    counter.textContent = `${event.target.value.length} of ${limit} characters reach the model.`;
  }
});

// One filter is open at a time, and none after a click elsewhere or Escape.
const closeFilters = (except) => {
  for (const filter of document.querySelectorAll(".pc-filter[open]")) {
    if (filter !== except) filter.open = false;
  }
};
document.addEventListener("click", (event) => closeFilters(event.target.closest(".pc-filter")));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeFilters(null);
});

// Unfold's script writes a chosen file's name into a second field, which a plain file input does not have.
document.addEventListener(
  "change",
  (event) => {
    if (event.target.matches("input.pc-file")) event.stopImmediatePropagation();
  },
  true,
);

// While an answer is awaited its page is asked again; without a script one follows the link that says so.
const POLL_MILLISECONDS = 1500;
const lookAgain = async () => {
  const lines = document.querySelector("[data-polls]");
  if (!lines) return;
  try {
    const answer = await fetch(window.location.pathname, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = answer.ok && page.getElementById(lines.id);
    if (fresh && fresh.innerHTML !== lines.innerHTML) lines.innerHTML = fresh.innerHTML;
    if (fresh && !fresh.hasAttribute("data-polls")) lines.removeAttribute("data-polls");
  } catch {
    // The next look may find the way again.
  }
  window.setTimeout(lookAgain, POLL_MILLISECONDS);
};
window.setTimeout(lookAgain, POLL_MILLISECONDS);
