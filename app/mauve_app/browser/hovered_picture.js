// The picture of the point under the mouse, at the label that Plotly draws for it: above, or below where there is no room.
//
// From the server (data): chart (key of the chart), folders (beginning of every address, by source), pictures (source and
// digest by the first number of a point's customdata). To it: nothing.

const GAP_PX = 6;
const over = new WeakMap();

export default function show(component) {
  const { parentElement, data } = component;
  if (!over.has(parentElement)) over.set(parentElement, new Over(parentElement.querySelector(".picture")));
  over.get(parentElement).show(data);
  return () => {
    over.get(parentElement)?.close();
    over.delete(parentElement);
  };
}

class Over {
  constructor(picture) {
    this.picture = picture;
    this.picture.onload = () => this.place();
    this.observer = new MutationObserver(() => this.listen());
    this.observer.observe(document.body, { childList: true, subtree: true });
    this.onHover = (event) => this.enter(event.points[0]);
    this.onUnhover = () => this.leave();
  }

  show(data) {
    this.data = data;
    this.leave();
    this.listen();
  }

  close() {
    this.observer.disconnect();
    this.forget();
  }

  // A rerun may draw the chart anew.
  listen() {
    const plot = document.querySelector(`.st-key-${this.data.chart} .js-plotly-plot`);
    if (plot === this.plot || !plot?.on) return;
    this.forget();
    this.plot = plot;
    plot.on("plotly_hover", this.onHover);
    plot.on("plotly_unhover", this.onUnhover);
  }

  forget() {
    this.plot?.removeListener?.("plotly_hover", this.onHover);
    this.plot?.removeListener?.("plotly_unhover", this.onUnhover);
    this.plot = undefined;
    this.leave();
  }

  enter(point) {
    const found = this.data.pictures[point?.customdata?.[0]];
    if (!found) return this.leave();
    const [source, digest] = found;
    this.picture.src = `${this.data.folders[source]}${digest}.webp`;
    this.picture.hidden = false;
    this.place();
  }

  place() {
    const label = this.plot?.querySelector(".hoverlayer .hovertext")?.getBoundingClientRect();
    if (!label) return;
    const above = label.top - GAP_PX - this.picture.offsetHeight;
    this.picture.style.left = `${label.left}px`;
    this.picture.style.top = `${above > 0 ? above : label.bottom + GAP_PX}px`;
  }

  leave() {
    this.picture.hidden = true;
  }
}
