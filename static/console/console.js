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

// An answer is heard while it is said, where workers tell it; what counts is on the page that is asked again.
let heard = null;
const hear = () => {
  const lines = document.querySelector("[data-polls][data-hears]");
  const shown = document.getElementById("talk-heard");
  if (!lines || !shown) return;
  heard = new EventSource(lines.dataset.hears);
  heard.addEventListener("text", (event) => {
    shown.textContent = JSON.parse(event.data).text;
    shown.hidden = shown.textContent === "";
  });
  heard.addEventListener("turn", lookNow);
};
const hearNoMore = () => {
  if (heard) heard.close();
  const shown = document.getElementById("talk-heard");
  if (shown) shown.hidden = true;
};

// While an answer is awaited its page is asked again; without a script one follows the link that says so.
const POLL_MILLISECONDS = 1500;
const lookNow = async () => {
  const lines = document.querySelector("[data-polls]");
  if (!lines) return;
  try {
    const answer = await fetch(window.location.pathname, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = answer.ok && page.getElementById(lines.id);
    if (fresh && fresh.innerHTML !== lines.innerHTML) lines.innerHTML = fresh.innerHTML;
    if (fresh && !fresh.hasAttribute("data-polls")) {
      lines.removeAttribute("data-polls");
      hearNoMore();
    }
    for (const beside of answer.ok ? document.querySelectorAll("[data-freshens]") : []) {
      const newer = page.getElementById(beside.id);
      if (newer && newer.innerHTML !== beside.innerHTML) beside.innerHTML = newer.innerHTML;
    }
  } catch {
    // The next look may find the way again.
  }
};
const lookAgain = async () => {
  if (!document.querySelector("[data-polls]")) return;
  await lookNow();
  window.setTimeout(lookAgain, POLL_MILLISECONDS);
};
document.addEventListener("DOMContentLoaded", hear);
window.setTimeout(lookAgain, POLL_MILLISECONDS);
