// The answers of one pair: three questions, five options each, by mouse or keyboard.
//
// The panel marks an answer at once and tells the server when the last one is given; then it takes nothing more until
// the server has shown the next turn, so that a late key never answers a pair that was not read. What is answered so
// far and the time it took are kept in the tab's session storage, so that a reload goes on from there.
//
// From the server (data): turn, memory (names the pair in session storage), questions ([{name, text, keys}]), options, extra ({action: [label, key...]}), may ({action: whether it can be taken now}), said, fresh
// (whether answers that are kept of this pair are void).
// To the server (trigger "act"): {turn, action: "rate", answers: {question: place of the option}, seconds}, or
// {turn, action} for the others.

const STORED = "mauve-lens-judge";
const MEMORIES = 20; // pairs of which partial answers are kept
const DOUBLE_MS = 400; // the key that ended a pair, hit twice, does not answer the next one
const RETRY_MS = 8000; // without an answer of the server the same turn is sent again; the server takes it once

const panels = new WeakMap();

export default function show(component) {
  const { parentElement } = component;
  if (!panels.has(parentElement)) panels.set(parentElement, new Panel(parentElement));
  panels.get(parentElement).show(component.data, component.setTriggerValue);
  return () => {
    panels.get(parentElement)?.close();
    panels.delete(parentElement);
  };
}

class Panel {
  constructor(parent) {
    this.root = parent.querySelector(".panel");
    this.turn = null;
    this.lastKey = { key: "", at: -Infinity };
    this.onKey = (event) => this.press(event);
    this.onVisibility = () => this.clock();
    // Before the app's own shortcuts, which take "r" and "c" for themselves.
    window.addEventListener("keydown", this.onKey, { capture: true });
    document.addEventListener("visibilitychange", this.onVisibility);
    window.addEventListener("pagehide", this.onVisibility);
  }

  close() {
    this.clock();
    clearTimeout(this.retry);
    window.removeEventListener("keydown", this.onKey, { capture: true });
    document.removeEventListener("visibilitychange", this.onVisibility);
    window.removeEventListener("pagehide", this.onVisibility);
  }

  show(data, send) {
    this.send = send;
    if (data.turn === this.turn) return; // drawn again while the reader answers: nothing is new
    const mounted = this.turn === null;
    const changed = !mounted && this.data.memory !== data.memory;
    if (changed && this.sent) forget(this.data.memory); // stored or passed over
    if (data.fresh) forget(data.memory); // taken back
    clearTimeout(this.retry);
    this.data = data;
    this.turn = data.turn;
    this.sent = null;
    const kept = recall(data.memory);
    this.answers = kept.answers;
    this.spent = kept.spent;
    this.since = document.hidden ? null : performance.now();
    if (mounted) leaveField();
    if (mounted || changed) this.build();
    if (changed) scrollBack();
    this.draw(data.said);
    if (mounted && this.complete()) this.rate(); // the last answer was given, but its storing was not seen
  }

  build() {
    this.keys = new Map();
    this.buttons = new Map();
    const rows = this.data.questions.map((question) => this.buildQuestion(question));
    const foot = element("div", "foot");
    for (const [action, [label, ...keys]] of Object.entries(this.data.extra)) {
      const act = () => this.act({ action });
      const button = element("button", "plain", label);
      for (const key of keys) this.keys.set(key.toLowerCase(), act);
      button.append(cap(keys[0]));
      button.setAttribute("aria-keyshortcuts", keys.join(" "));
      button.addEventListener("click", act);
      this.buttons.set(action, button);
      foot.append(button);
    }
    this.status = element("span", "status");
    this.status.setAttribute("role", "status");
    foot.append(this.status);
    this.root.replaceChildren(...rows, foot);
  }

  buildQuestion({ name, text, keys }) {
    const row = element("div", "question");
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", text);
    row.append(element("span", "text", text));
    const options = element("div", "options");
    this.data.options.forEach((option, place) => {
      const choose = () => this.choose(name, place);
      const button = element("button", "option", option);
      button.append(cap(keys[place]));
      button.setAttribute("aria-keyshortcuts", keys[place]);
      button.addEventListener("click", choose);
      this.keys.set(keys[place], choose);
      this.buttons.set(`${name} ${place}`, button);
      options.append(button);
    });
    row.append(options);
    return row;
  }

  draw(said) {
    const open = !this.sent;
    this.root.dataset.state = open ? "open" : "sent";
    this.root.dataset.turn = this.turn;
    this.root.setAttribute("aria-busy", String(!open));
    for (const { name } of this.data.questions) {
      this.data.options.forEach((_, place) => {
        const button = this.buttons.get(`${name} ${place}`);
        button.setAttribute("aria-pressed", String(this.answers[name] === place));
        button.disabled = !open;
      });
    }
    for (const action of Object.keys(this.data.extra)) {
      this.buttons.get(action).disabled = !open || !this.data.may[action];
    }
    if (said !== undefined) this.status.textContent = said;
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || writes(event.composedPath()[0])) return;
    const key = keyOf(event);
    const act = this.keys?.get(key);
    if (!act) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const twice = key === this.lastKey.key && event.timeStamp - this.lastKey.at < DOUBLE_MS;
    if (event.repeat || twice || this.sent) return;
    act();
    if (this.sent) this.lastKey = { key, at: event.timeStamp };
  }

  choose(name, place) {
    if (this.sent) return;
    this.answers = { ...this.answers, [name]: place };
    this.clock();
    if (this.complete()) this.rate();
    else this.draw("");
  }

  complete() {
    return this.data.questions.every(({ name }) => this.answers[name] !== undefined);
  }

  rate() {
    this.clock();
    this.act({ action: "rate", answers: this.answers, seconds: this.spent / 1000 });
  }

  act(message) {
    if (this.sent || this.data.may[message.action] === false) return;
    this.sent = message;
    this.draw("Storing …");
    this.transmit();
  }

  transmit() {
    this.send("act", { ...this.sent, turn: this.turn });
    this.retry = setTimeout(() => this.transmit(), RETRY_MS);
  }

  // Time counts while the page can be seen; called at every answer and whenever the page is hidden or shown.
  clock() {
    if (this.turn === null) return;
    const now = performance.now();
    if (this.since !== null && !this.sent) this.spent += now - this.since;
    this.since = document.hidden ? null : now;
    if (!this.sent) remember(this.data.memory, { answers: this.answers, spent: this.spent });
  }
}

function keyOf(event) {
  const key = event.key.toLowerCase();
  if (key.length > 1 || /^[a-z0-9]$/.test(key)) return key;
  return event.code.replace(/^(Key|Digit)/, "").toLowerCase(); // another alphabet or shifted digits: by place
}

// The field of the rater's name is still there, with the focus, while the first pair is drawn: keys are answers now.
function leaveField() {
  if (writes(document.activeElement)) document.activeElement.blur();
}

function writes(target) {
  if (!(target instanceof HTMLElement)) return false;
  const plain = ["button", "checkbox", "radio", "range", "file", "submit", "reset", "color"];
  if (target instanceof HTMLInputElement) return !plain.includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

function memories() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED)) ?? [];
  } catch {
    return []; // switched off, or written by something else
  }
}

function keep(list) {
  try {
    sessionStorage.setItem(STORED, JSON.stringify(list.slice(-MEMORIES)));
  } catch {
    // Without storage a reload asks again; the panel works all the same.
  }
}

function recall(memory) {
  return memories().find(([name]) => name === memory)?.[1] ?? { answers: {}, spent: 0 };
}

function remember(memory, values) {
  keep([...memories().filter(([name]) => name !== memory), [memory, values]]);
}

function forget(memory) {
  keep(memories().filter(([name]) => name !== memory));
}

// The next texts are read from their beginning.
function scrollBack() {
  for (const box of document.querySelectorAll(".st-key-judge_pair *")) if (box.scrollTop) box.scrollTop = 0;
}

function element(tag, name, text) {
  const made = document.createElement(tag);
  made.className = name;
  if (tag === "button") made.type = "button";
  if (text !== undefined) made.append(element("span", "label"));
  if (text !== undefined) made.firstChild.textContent = text;
  return made;
}

function cap(key) {
  const made = document.createElement("kbd");
  made.textContent = key;
  made.setAttribute("aria-hidden", "true");
  return made;
}
