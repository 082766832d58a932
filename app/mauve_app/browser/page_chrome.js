// What pages need of the browser beside their elements. It draws nothing.
//
// Areas that scroll get into the order of the tab key: Streamlit's fixed boxes and wide tables hold no element that
// would, and only some browsers do it by themselves. The sections of the navigation, which Streamlit writes as a list of
// boxes with items of no list, become named groups of links. The element of the tour's step is marked and kept in sight
// below the step's words. A panel that a button folds out gets the focus, because Streamlit puts it at the end of the
// page, where the tab key comes last. A sidebar that covers the page folds away when a page is chosen in it. Cookies
// remember that the tour was offered and which run was shown last. Links to files save them instead of opening a tab.
//
// Where the server does not answer, Streamlit asks about the internet or names its own command: the words are ours
// instead, unless they give the status of an answer.
//
// The row of the chosen cluster is kept in sight in each list of clusters, a chart in an area that scrolls.
//
// A link may end in the key of an element (share.js): it is brought into view once the page has it.
//
// A browser that cannot draw Plotly's point clouds says so, once a visit.
//
// From the server (data): pointed (key of an element, or ""), step (a new one points anew), seen (set the cookie),
// run (id of the run shown, or ""), webgl (false when the server knows that there is none). To it: webgl.

const AREAS = '[data-testid="stVerticalBlock"][overflow="auto"], [data-testid="stTable"] > div, .st-key-tour';
const SECTIONS = '[data-testid="stSidebarNavItems"]';
const FOLDED_OUT = '[data-testid="stPopoverBody"]:not([tabindex])';
const FILES = 'a[href^="/export/"]';
const CHOSEN = '[data-testid="stSidebarNavLink"]';
const FOLD_AWAY = '[data-testid="stSidebarCollapseButton"] button';
const COVERED = "(max-width: 768px)"; // where Streamlit lays the sidebar over the page
// Clusters: charts whose last trace shades the chosen row
const LISTS = [".st-key-clusters_list", ".st-key-clusters_of_all_list"];
const SHADED = (colour) => !/, ?0\)$/.test(colour);
const DELAY_MS = 50;
const CHANGES = { childList: true, subtree: true, characterData: true, attributeFilter: ["data-test-script-state"] };
const GESTURES = ["wheel", "touchmove", "pointerdown", "mousedown", "keydown"];
const HEADER_PX = 60; // Streamlit's bar at the top
const CLEAR_PX = 8; // between the tour's words and what they are about, at least
const HEADING_PX = 80; // and where the window has room: the heading of what they are about
const KEPT = "max-age=31536000; path=/; samesite=strict";
const COOKIE = `mauve_lens_tour=seen; ${KEPT}`;
const LAST_RUN = "mauve_lens_run";
const AWAY = ["CONNECTING", "PINGING_SERVER"]; // Streamlit goes on asking
const NO_ANSWER =
  "The server of MAUVE Lens does not answer. If it was stopped, start it again with “mauve-lens app”, or ask whoever " +
  "runs it. This page goes on by itself once the server is back.";

const faces = new WeakMap();
let webgl; // whether the browser has it: asked once

export default function show(component) {
  const { parentElement, data, setStateValue } = component;
  if (!faces.has(parentElement)) faces.set(parentElement, new Face());
  faces.get(parentElement).show(data);
  if (data.webgl && !drawsWebgl()) setStateValue("webgl", false);
  return () => {
    faces.get(parentElement)?.close();
    faces.delete(parentElement);
  };
}

class Face {
  constructor() {
    this.pointer = new Pointer(() => this.later());
    this.lists = LISTS.map(() => new List());
    this.observer = new MutationObserver(() => {
      sayNoAnswer(); // before its other words are seen
      this.later();
    });
    this.observer.observe(document.body, CHANGES);
    this.onResize = () => this.later();
    window.addEventListener("resize", this.onResize);
    document.addEventListener("click", saveFile, true);
    document.addEventListener("click", foldAway);
    this.onLook = () => this.remember(); // also when the page is left: of several tabs, the one looked at last counts
    document.addEventListener("visibilitychange", this.onLook);
    this.later();
  }

  show(data) {
    if (data.seen) document.cookie = COOKIE;
    this.run = data.run;
    this.remember();
    this.pointer.show(data);
  }

  remember() {
    if (this.run) document.cookie = `${LAST_RUN}=${encodeURIComponent(this.run)}; ${KEPT}`;
  }

  close() {
    this.pointer.close();
    this.observer.disconnect();
    window.removeEventListener("resize", this.onResize);
    document.removeEventListener("click", saveFile, true);
    document.removeEventListener("click", foldAway);
    document.removeEventListener("visibilitychange", this.onLook);
    clearTimeout(this.timer);
  }

  later() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const area of document.querySelectorAll(AREAS)) reach(area);
      for (const list of document.querySelectorAll(SECTIONS)) mend(list);
      for (const panel of document.querySelectorAll(FOLDED_OUT)) enter(panel);
      LISTS.forEach((name, place) => this.lists[place].follow(document.querySelector(name)));
      this.pointer.point();
    }, DELAY_MS);
  }
}

// Marks what the tour's step is about and keeps it in sight below the step's words. A page goes on moving after its run
// has ended: styles, fonts and charts come late and push things about. So every change of the page or of a size in it
// (`changed`) calls for `point()`, until the reader does something: from then on the page is theirs.
class Pointer {
  constructor(changed) {
    this.changed = changed;
    this.linked = window.location.hash.slice(1);
    this.watched = [];
    this.sizes = new ResizeObserver(changed);
    this.onGesture = () => {
      this.taken = true;
      this.linked = "";
    };
    for (const name of GESTURES) document.addEventListener(name, this.onGesture, { capture: true, passive: true });
  }

  show({ pointed, step }) {
    if (step === this.step) return;
    this.step = step;
    this.pointed = pointed;
    this.taken = false;
    this.changed();
  }

  close() {
    this.sizes.disconnect();
    for (const name of GESTURES) document.removeEventListener(name, this.onGesture, { capture: true });
  }

  point() {
    const page = document.querySelector('[data-testid="stMain"]');
    const words = page?.querySelector(".st-key-tour")?.parentElement;
    const key = words ? this.pointed : this.linked;
    const target = key ? shown(`.st-key-${CSS.escape(key)}`) : undefined;
    this.mark(words && target);
    this.watch(words || target ? [page, page.firstElementChild, words, target].filter(Boolean) : []);
    const padding = `${words ? roomFor(words, target, page) : HEADER_PX}px`;
    if (page && page.style.scrollPaddingTop !== padding) page.style.scrollPaddingTop = padding;
    if (target && !this.taken && resting()) target.scrollIntoView({ block: "start" });
  }

  mark(target) {
    for (const old of document.querySelectorAll("[data-pointed-at]")) {
      if (old !== target) old.removeAttribute("data-pointed-at");
    }
    target?.setAttribute("data-pointed-at", "");
  }

  watch(elements) {
    if (elements.length === this.watched.length && elements.every((each, place) => each === this.watched[place])) return;
    this.sizes.disconnect();
    this.watched = elements;
    for (const each of elements) this.sizes.observe(each);
  }
}

// Scrolls a list of clusters when another row is chosen that does not lie within it, and only then: a reader may look
// elsewhere in it.
class List {
  follow(area) {
    const plot = area?.querySelector(".js-plotly-plot");
    const colours = plot?._fullData?.at(-1)?.marker?.color;
    if (!Array.isArray(colours) || !plot._fullLayout?.yaxis) return;
    const row = colours.findIndex(SHADED);
    const cluster = plot._fullData.at(-1).customdata?.[row]?.[0];
    if (row < 0 || cluster === this.cluster) return;
    this.cluster = cluster;
    const { _offset: top, d2p } = plot._fullLayout.yaxis;
    const [above, below] = [row - 0.5, row + 0.5].map((place) => plot.offsetTop + top + d2p(place));
    const box = scroller(plot, area);
    if (above < box.scrollTop || below > box.scrollTop + box.clientHeight) {
      box.scrollTop = (above + below - box.clientHeight) / 2;
    }
  }
}

function scroller(inner, outer) {
  for (let box = inner; box && box !== outer.parentElement; box = box.parentElement) {
    if (box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible") return box;
  }
  return outer;
}

// Only text nodes change, and none goes: the elements are Streamlit's, which may write them again.
function sayNoAnswer() {
  if (!AWAY.includes(document.querySelector('[data-testid="stApp"]')?.dataset.testConnectionState)) return;
  const words = document.querySelector('[data-testid="stDialog"] [slot="title"] + *');
  if (!words || words.textContent === NO_ANSWER) return;
  const answered = /\bstatus\b/i.test(words.textContent);
  for (const code of [...words.children].slice(1)) code.style.display = answered ? "" : "none";
  if (answered) return;
  const texts = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
  for (let said = NO_ANSWER; texts.nextNode(); said = "") texts.currentNode.nodeValue = said;
}

function resting() {
  return document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning";
}

// Of elements of one key the one that stays: what a run replaces stands beside it until that run ends.
function shown(selector) {
  return [...document.querySelectorAll(selector)].find(
    (each) => !each.closest('[data-stale="true"]') && each.getClientRects().length,
  );
}

// Height that the tour's words take from the page once they stick to its upper end, and what is left free below them.
function roomFor(words, target, page) {
  const covered = (parseFloat(getComputedStyle(words).top) || 0) + words.offsetHeight;
  const left = page.clientHeight - covered - (target?.offsetHeight ?? 0);
  return covered + Math.min(HEADING_PX, Math.max(CLEAR_PX, left));
}

function saveFile(event) {
  const link = event.target.closest?.(FILES);
  if (link) link.download = "";
}

function foldAway(event) {
  if (event.target.closest?.(CHOSEN) && window.matchMedia(COVERED).matches) document.querySelector(FOLD_AWAY)?.click();
}

// What Plotly asks for before it draws points with WebGL.
function drawsWebgl() {
  if (webgl === undefined) {
    const context = document.createElement("canvas").getContext("webgl");
    const extensions = ["ANGLE_instanced_arrays", "OES_element_index_uint"];
    webgl = Boolean(context) && extensions.every((name) => context.getExtension(name));
    context?.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return webgl;
}

function reach(area) {
  const scrolls = area.scrollHeight > area.clientHeight + 1 || area.scrollWidth > area.clientWidth + 1;
  if (scrolls === area.hasAttribute("data-reachable")) return;
  if (scrolls) {
    area.setAttribute("data-reachable", "");
    area.setAttribute("role", "group");
    area.setAttribute("aria-label", "Scrollable area");
    area.tabIndex = 0;
  } else {
    for (const name of ["data-reachable", "role", "aria-label", "tabindex"]) area.removeAttribute(name);
  }
}

function enter(panel) {
  panel.tabIndex = -1;
  panel.focus({ preventScroll: true });
}

function mend(list) {
  if (list.getAttribute("role") !== "none") list.setAttribute("role", "none");
  for (const item of list.querySelectorAll("li:not([role])")) item.setAttribute("role", "none");
  for (const section of list.querySelectorAll(":scope > :not([role])")) {
    section.setAttribute("role", "group");
    const title = section.querySelector('[data-testid="stNavSectionHeader"] p')?.textContent;
    if (title) section.setAttribute("aria-label", title);
  }
}
