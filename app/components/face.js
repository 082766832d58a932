// What pages need of the browser beside their elements. It draws nothing.
//
// Areas that scroll get into the order of the tab key: Streamlit's fixed boxes and wide tables hold no element that
// would, and only some browsers do it by themselves. The sections of the navigation, which Streamlit writes as a list of
// boxes with items of no list, become named groups of links. The element of the tour's step is marked and brought into view.
// A cookie remembers that the tour was offered. Links to files save them instead of opening a tab.
//
// A browser that cannot draw Plotly's point clouds says so, once a visit.
//
// From the server (data): pointed (key of an element, or ""), step (a new one points anew), seen (set the cookie),
// webgl (false when the server knows that there is none).

const AREAS = '[data-testid="stVerticalBlock"][overflow="auto"], [data-testid="stTable"] > div';
const SECTIONS = '[data-testid="stSidebarNavItems"]';
const FILES = 'a[href^="/export/"]';
const DELAY_MS = 150;
const POINT_MS = 8000; // for so long a page may take to draw what is pointed at
const COOKIE = "mauve_lens_tour=seen; max-age=31536000; path=/; samesite=strict";

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
    this.step = "";
    this.observer = new MutationObserver(() => this.later());
    this.observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    this.onResize = () => this.later();
    window.addEventListener("resize", this.onResize);
    document.addEventListener("click", saveFile, true);
    this.later();
  }

  show(data) {
    if (data.seen) document.cookie = COOKIE;
    if (data.step === this.step) return;
    this.step = data.step;
    this.pointed = data.pointed;
    this.until = Date.now() + POINT_MS;
    this.found = false;
    for (const old of document.querySelectorAll("[data-pointed-at]")) old.removeAttribute("data-pointed-at");
    this.later();
  }

  close() {
    this.observer.disconnect();
    window.removeEventListener("resize", this.onResize);
    document.removeEventListener("click", saveFile, true);
    clearTimeout(this.timer);
  }

  later() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const area of document.querySelectorAll(AREAS)) reach(area);
      for (const list of document.querySelectorAll(SECTIONS)) mend(list);
      if (this.pointed) this.point();
    }, DELAY_MS);
  }

  point() {
    const resting = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning";
    const target = document.querySelector(`.st-key-${CSS.escape(this.pointed)}`);
    if (target && !target.hasAttribute("data-pointed-at")) target.setAttribute("data-pointed-at", "");
    if (target && resting && !this.found) {
      this.found = true; // once: afterwards the page belongs to the reader
      target.scrollIntoView({ block: "start" });
    } else if (!this.found && Date.now() < this.until) this.later();
  }
}

function saveFile(event) {
  const link = event.target.closest?.(FILES);
  if (link) link.download = "";
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
    area.setAttribute("aria-label", "Scrolls");
    area.tabIndex = 0;
  } else {
    for (const name of ["data-reachable", "role", "aria-label", "tabindex"]) area.removeAttribute(name);
  }
}

function mend(list) {
  list.setAttribute("role", "none");
  for (const item of list.querySelectorAll("li:not([role])")) item.setAttribute("role", "none");
  for (const section of list.querySelectorAll(":scope > :not([role])")) {
    section.setAttribute("role", "group");
    const title = section.querySelector('[data-testid="stNavSectionHeader"] p')?.textContent;
    if (title) section.setAttribute("aria-label", title);
  }
}
