// Pictures of items in rows. The browser fetches a picture when it comes near the view (loading=lazy); each is a button,
// reached by the Tab key once for the sheet and by the arrow keys within it.
//
// From the server (data): folder (beginning of every address), digests, names, opened (place of the marked one, or -1),
// height (pixels), label. To the server (trigger "open"): the place that was pressed.

const sheets = new WeakMap();

export default function show(component) {
  const { parentElement } = component;
  if (!sheets.has(parentElement)) sheets.set(parentElement, new Sheet(parentElement));
  sheets.get(parentElement).show(component.data, component.setTriggerValue);
}

class Sheet {
  constructor(parent) {
    this.root = parent.querySelector(".sheet");
    this.root.setAttribute("role", "listbox");
    this.root.onclick = (event) => this.press(event.target.closest(".item"));
    this.root.onkeydown = (event) => this.move(event);
  }

  show(data, send) {
    this.send = send;
    const same = this.data && this.data.folder === data.folder && this.data.digests.join() === data.digests.join();
    this.data = data;
    this.root.style.maxHeight = `${data.height}px`;
    this.root.setAttribute("aria-label", data.label);
    if (!same) {
      this.items = data.digests.map((digest, place) => this.item(digest, place));
      this.root.replaceChildren(...this.items);
    }
    this.mark(data.opened);
    if (!same && data.opened > 0) this.reveal(this.items[data.opened]);
  }

  // Scrolls the sheet alone: the page stays where it is.
  reveal(item) {
    const [box, view] = [item, this.root].map((each) => each.getBoundingClientRect());
    this.root.scrollTop += (box.top + box.bottom - view.top - view.bottom) / 2;
  }

  item(digest, place) {
    const picture = Object.assign(document.createElement("img"), {
      loading: "lazy",
      decoding: "async",
      alt: "",
      draggable: false,
      src: `${this.data.folder}${digest}.webp`,
    });
    const item = Object.assign(document.createElement("button"), { type: "button", className: "item", tabIndex: -1 });
    item.title = this.data.names[place];
    item.setAttribute("role", "option");
    item.setAttribute("aria-label", this.data.names[place]);
    item.append(picture);
    return item;
  }

  mark(place) {
    this.items.forEach((item, own) => item.setAttribute("aria-selected", own === place));
    const first = this.items[Math.max(place, 0)];
    this.items.forEach((item) => { item.tabIndex = item === first ? 0 : -1; });
  }

  press(item) {
    const place = this.items.indexOf(item);
    if (place < 0) return;
    this.mark(place);
    this.send("open", place);
  }

  // The page has shortcuts on the same keys, so that they end here, even where there is no picture to go to.
  move(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns(), ArrowUp: -this.columns() };
    const from = this.items.indexOf(event.target.closest(".item"));
    const places = { Home: 0, End: this.items.length - 1 };
    if (from < 0 || !(event.key in steps || event.key in places)) return;
    event.preventDefault();
    event.stopPropagation();
    const to = places[event.key] ?? from + steps[event.key];
    if (!this.items[to]) return;
    this.items[from].tabIndex = -1;
    this.items[to].tabIndex = 0;
    this.items[to].focus();
  }

  columns() {
    return getComputedStyle(this.root).gridTemplateColumns.split(" ").length;
  }
}
