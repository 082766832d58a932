// Draws how far a job is, and asks the server for it while the job is at work and the page is looked at.
//
// From the server (data): told (active, run, text, share, said, log: what there is to draw), id, name, address ("" where
// nobody would answer), beat_ms, logged (whether the log is drawn), place (key of the container that holds the form's button
// before and after, or ""), focus (whether that button was pressed just now and is gone). To it: nothing. What the route
// told last stays until a run of the page tells something else.
//
// The keyboard's focus goes from the button to the progress, and back to a button when the progress goes.
// When the job has stored its run or has ended, the page's watch for news (news.js) is asked to look at once.

const LOOK = "mauve-lens-look";
const FOCUS_MS = 3000; // as long as the page may take to put one element in the place of another
const FOCUS_BEAT_MS = 50;
const bars = new WeakMap();

export default function progress(component) {
  const { parentElement, data } = component;
  if (!bars.has(parentElement)) bars.set(parentElement, new Job(parentElement.querySelector(".job")));
  bars.get(parentElement).draw(data);
  return () => {
    bars.get(parentElement)?.close();
    bars.delete(parentElement);
  };
}

class Job {
  constructor(root) {
    this.text = made("p", "text");
    this.said = made("p", "said");
    this.done = made("div", "done");
    this.bar = made("div", "bar", this.done);
    this.lines = made("pre", "lines");
    this.whole = made("p", "whole");
    this.log = made("details", "log", made("summary", "", "Log"), this.lines, this.whole);
    this.bar.setAttribute("role", "progressbar");
    this.bar.setAttribute("aria-valuemin", "0");
    this.bar.setAttribute("aria-valuemax", "100");
    root.replaceChildren(this.text, this.bar, this.said, this.log);
    this.root = root;
    this.root.tabIndex = -1;
    this.noted = ({ target }) => (this.held = placed(this.place)?.contains(target) ?? false);
    document.addEventListener("focusin", this.noted);
  }

  draw(data) {
    this.address = data.address;
    this.bar.setAttribute("aria-label", data.name);
    this.whole.textContent = `Full log: mauve-lens jobs log ${data.id}`;
    this.run = data.told.run;
    this.logged = data.logged;
    this.place = data.place;
    if (data.focus && !this.asked) whenLost(() => this.root);
    this.asked = true;
    this.show(data.told);
    this.timer ??= setInterval(() => this.look(), data.beat_ms);
  }

  show({ text, share, said, log }) {
    const percent = `${Math.round(100 * share)}`;
    this.text.textContent = text;
    this.said.textContent = said;
    this.said.hidden = !said;
    this.done.style.width = `${100 * share}%`;
    this.bar.setAttribute("aria-valuenow", percent);
    this.bar.setAttribute("aria-valuetext", text);
    this.log.hidden = !this.logged || log.length === 0;
    const lines = log.join("\n");
    if (lines !== this.lines.textContent) this.lines.textContent = lines; // a selection in it stays
  }

  async look() {
    if (document.hidden || this.looking || !this.address) return;
    this.looking = true;
    const told = await asked(this.address);
    this.looking = false;
    if (told?.active && this.timer !== undefined) this.show(told);
    if (told !== undefined && (!told?.active || told.run !== this.run)) document.dispatchEvent(new Event(LOOK));
  }

  close() {
    document.removeEventListener("focusin", this.noted);
    const { held, place } = this;
    if (held) whenLost(() => follower(place));
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

// Gives the focus to an element as soon as the focused one is gone; nothing if the reader has moved on meanwhile.
function whenLost(find) {
  const end = Date.now() + FOCUS_MS;
  const beat = setInterval(() => {
    if (Date.now() > end) clearInterval(beat);
    if (document.activeElement !== document.body) return;
    const element = find();
    element?.focus({ preventScroll: true });
    if (document.activeElement !== document.body) clearInterval(beat);
  }, FOCUS_BEAT_MS);
}

// What stands in the place of the progress: the first button, or, where it is folded away, the line that says "done".
function follower(place) {
  const button = placed(place)?.querySelector("button:not(:disabled)");
  if (button?.checkVisibility()) return button;
  const line = placed(`${place}_done`);
  if (line) line.tabIndex = -1;
  return line;
}

function placed(key) {
  return key ? document.querySelector(`.st-key-${CSS.escape(key)}`) : null;
}

// What the route says; null where it knows no such job any more, undefined when the server is away.
async function asked(address) {
  try {
    const answer = await fetch(address, { cache: "no-store" });
    if (answer.status === 404) return null;
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

function made(tag, name, ...content) {
  const element = document.createElement(tag);
  element.className = name;
  element.append(...content);
  return element;
}
