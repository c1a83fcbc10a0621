// Small comforts on top of pages that work without them.
document.addEventListener("input", (event) => {
  const counter = document.querySelector(`[data-counts="${CSS.escape(event.target.id)}"]`);
  if (counter) {
    const limit = counter.dataset.limit;
    counter.textContent = `${event.target.value.length} of ${limit} characters reach the model.`;
  }
});

// A page as the browser reads it by itself: no script of ours makes markup of words, and the pages' policy refuses any that tried.
const askPage = (method, url, body, shown, ended = () => {}) => {
  const asked = new XMLHttpRequest();
  asked.open(method, url);
  asked.responseType = "document";
  asked.addEventListener("load", () => {
    if (asked.status < 400 && asked.response) shown(asked.response);
  });
  asked.addEventListener("loadend", ended);
  asked.send(body);
  return asked;
};
const freshen = (old, fresh) => {
  if (old && fresh && fresh.innerHTML !== old.innerHTML) old.replaceChildren(...fresh.childNodes);
};

// Where a page previews what is typed, it does so as one types; the button does the same without this.
const PREVIEW_MILLISECONDS = 700;
let previewing = 0;
let previewAsked = null;
const previewNow = (form) => {
  if (previewAsked) previewAsked.abort();
  const typed = new FormData(form);
  typed.append("_preview", "1");
  // Where it fails, what is typed next asks again.
  previewAsked = askPage("POST", form.action, typed, (page) => {
    freshen(document.querySelector(".pc-preview"), page.querySelector(".pc-preview"));
  });
};
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !form.querySelector('button[name="_preview"]')) return;
  window.clearTimeout(previewing);
  previewing = window.setTimeout(() => previewNow(form), PREVIEW_MILLISECONDS);
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
  heard.addEventListener("turn", () => lookNow());
};
const hearNoMore = () => {
  if (heard) heard.close();
  const shown = document.getElementById("talk-heard");
  if (shown) shown.hidden = true;
};

// While an answer is awaited its page is asked again; without a script one follows the link that says so.
const POLL_MILLISECONDS = 1500;
const lookNow = (ended) => {
  const lines = document.querySelector("[data-polls]");
  if (!lines) return;
  const shown = (page) => {
    const fresh = page.getElementById(lines.id);
    freshen(lines, fresh);
    if (fresh && !fresh.hasAttribute("data-polls")) {
      lines.removeAttribute("data-polls");
      hearNoMore();
    }
    for (const beside of document.querySelectorAll("[data-freshens]")) freshen(beside, page.getElementById(beside.id));
  };
  // Where it fails, the next look may find the way again.
  askPage("GET", window.location.pathname, null, shown, ended);
};
const lookAgain = () => lookNow(() => window.setTimeout(lookAgain, POLL_MILLISECONDS));
document.addEventListener("DOMContentLoaded", hear);
window.setTimeout(lookAgain, POLL_MILLISECONDS);

// An open list or page says when there is more to decide, or when somebody else decided; it moves and replaces nothing.
const LIVE_MILLISECONDS = 10000;
const LIVE_LONGEST_MILLISECONDS = 160000;
const LIVE_FAILURES = 3;
let listed = null;
let unheard = 0;
const differs = (line, told) => {
  if (line.dataset.version) {
    if (String(told.version) === line.dataset.version) return "";
    return "Somebody else changed or settled this. What you typed stays here.";
  }
  listed = listed || told;
  if (told.newest > listed.newest || (listed.newest === null && told.newest !== null)) return "More waits than this list shows.";
  return told.count < listed.count ? "Some of these are settled by now." : "";
};
const say = (line, words) => {
  if (line.dataset.said === words) return;
  line.dataset.said = words;
  line.hidden = words === "";
  line.textContent = `${words} `;
  const again = document.createElement("a");
  again.href = window.location.href;
  again.textContent = line.dataset.version ? "See it as it is now, in another tab" : "Look again";
  if (line.dataset.version) again.target = "_blank";
  if (words) line.append(again);
};
const askNews = async () => {
  const line = document.querySelector("[data-live]");
  if (!line) return;
  if (!document.hidden) {
    try {
      const answer = await fetch(line.dataset.live, { headers: { Accept: "application/json" } });
      say(line, differs(line, await answer.json()));
      unheard = 0;
    } catch {
      unheard += 1;
      if (unheard >= LIVE_FAILURES) say(line, "The server does not answer, so this may be old.");
    }
  }
  window.setTimeout(askNews, Math.min(LIVE_MILLISECONDS * 2 ** unheard, LIVE_LONGEST_MILLISECONDS));
};
document.addEventListener("DOMContentLoaded", askNews);

// What takes longer than a blink says so, wherever it was asked from, until the next page is there. Without a script the browser does.
const SLOW_MILLISECONDS = 500;
const SLOWEST_MILLISECONDS = 15_000;
const slow = document.createElement("p");
slow.className = "pc-slow-notice";
slow.setAttribute("role", "status");
let slowTimers = [];
function settled() {
  slowTimers.forEach(window.clearTimeout);
  slow.textContent = "";
  slow.remove();
}
window.addEventListener("beforeunload", () => {
  settled();
  document.body.append(slow);
  const told = window.setTimeout(() => (slow.textContent = "Working. This takes a moment."), SLOW_MILLISECONDS);
  // A download leaves the page as it is and says so to nobody.
  slowTimers = [told, window.setTimeout(settled, SLOWEST_MILLISECONDS)];
});
window.addEventListener("pageshow", settled);

// A decision is sent once, however often its button is pressed meanwhile.
const AGAIN_MILLISECONDS = 3000;
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.getAttribute("aria-busy") === "true") {
    event.preventDefault();
    return;
  }
  form.setAttribute("aria-busy", "true");
  window.setTimeout(() => form.removeAttribute("aria-busy"), AGAIN_MILLISECONDS);
});
