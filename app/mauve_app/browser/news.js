// Asks the server now and then for a digest of its runs and jobs, and has the page drawn anew when it is another one
// than the page was drawn with. It draws nothing itself.
//
// It also has a page drawn anew whose connection was lost and is back. The server's session may be a new one, which does
// not know the URL, and Streamlit sends a click on a link without it: every message from then on has the query string.
//
// A page whose sign-in has ended, in another tab or by time, loads again, which leads to the sign-in page: when the
// server closes its connection, with the next question, and when it comes into view.
//
// From the server (data): seen (the digest that the page was drawn with), address, beat_ms. To it: changed (a trigger),
// query (of the URL when the connection came back).
//
// A page that is not looked at does not ask, and one at work is left alone: its run would be broken off. So is one
// where something was just pressed: Streamlit forgets a page that was asked for when another rerun is asked for before
// the server has answered.

const LOOK = "mauve-lens-look"; // an event of the document: there may be news already (job_progress.js)
const LOST_BEATS = 5; // a rerun that was asked for and has not come by then is asked for again

const ANSWER_MS = 10000; // a press that has had no effect by then has none
const PRESSES = ["pointerdown", "keydown"];

const watches = new WeakMap();

export default function watch(component) {
  const { parentElement, data, setTriggerValue, setStateValue } = component;
  if (!watches.has(parentElement)) watches.set(parentElement, new Watch());
  watches.get(parentElement).draw(data, setTriggerValue, setStateValue);
  return () => {
    watches.get(parentElement)?.close();
    watches.delete(parentElement);
  };
}

class Watch {
  draw(data, tell, keep) {
    this.tell = tell;
    this.keep = keep;
    this.address = data.address;
    if (data.seen !== this.seen) this.told = undefined;
    this.seen = data.seen;
    if (this.timer !== undefined) return;
    this.timer = setInterval(() => this.look(), data.beat_ms);
    this.sooner = () => this.look();
    document.addEventListener(LOOK, this.sooner);
    document.addEventListener("visibilitychange", this.sooner);
    this.press = () => (this.pressed = performance.now());
    PRESSES.forEach((kind) => document.addEventListener(kind, this.press, true));
    this.ran = new MutationObserver(() => (this.pressed = undefined));
    this.ran.observe(app(), { attributeFilter: ["data-test-script-state"] });
    this.connected = new MutationObserver(() => this.noticed()); // at once, before a reader can press anything
    this.connected.observe(app(), { attributeFilter: ["data-test-connection-state"] });
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener(LOOK, this.sooner);
    document.removeEventListener("visibilitychange", this.sooner);
    PRESSES.forEach((kind) => document.removeEventListener(kind, this.press, true));
    this.ran.disconnect();
    this.connected.disconnect();
  }

  noticed() {
    if (app().dataset.testConnectionState === "CONNECTED") this.keep("query", window.location.search.slice(1));
    else asked(this.address);
  }

  // Whether the page is neither at work nor about to be.
  idle() {
    const awaited = performance.now() - this.pressed < ANSWER_MS; // false without a press
    return !awaited && app()?.dataset.testScriptState === "notRunning";
  }

  async look() {
    if (document.hidden || this.looking || !this.idle()) return;
    this.looking = true;
    const found = await asked(this.address);
    this.looking = false;
    if (found === undefined || found === this.seen || !this.idle()) return;
    if (found === this.told && this.waited < LOST_BEATS) {
      this.waited += 1;
      return;
    }
    this.told = found;
    this.waited = 0;
    this.tell("changed", true);
  }
}

// The digest; undefined when the server is away. The page loads again if the server knows this visitor no longer.
async function asked(address) {
  try {
    const answer = await fetch(address, { cache: "no-store" });
    if (answer.status === 401) window.location.reload();
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

function app() {
  return document.querySelector('[data-testid="stApp"]');
}
