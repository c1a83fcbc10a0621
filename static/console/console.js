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
