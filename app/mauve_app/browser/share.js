// Copy link: the address as it stands when the button is pressed, with the place to which the page is scrolled, so that
// page_chrome.js brings it into view for the receiver. The clipboard needs a secure page (https or this machine);
// elsewhere the link is shown to be copied.
const SAID_MS = 4000
const HEADER_PX = 60
const PLACES = '[data-testid="stMain"] [class*="st-key-"]'
const ELSEWHERE = ".st-key-share, .st-key-tour, .st-key-face, .st-key-head"

function made(tag, text, properties = {}) {
  const element = document.createElement(tag)
  element.textContent = text
  return Object.assign(element, properties)
}

function link() {
  const address = window.location.href.replace(/#.*/, "")
  const place = scrolledTo()
  return place ? `${address}#${place}` : address
}

// Key of the element at the upper end of the window; none where the page is not scrolled.
function scrolledTo() {
  const page = document.querySelector('[data-testid="stMain"]')
  if (!page?.scrollTop) return ""
  const away = (each) => Math.abs(each.getBoundingClientRect().top - HEADER_PX)
  const places = [...document.querySelectorAll(PLACES)].filter(
    (each) => !each.closest(ELSEWHERE) && each.getClientRects().length,
  )
  const nearest = places.reduce((best, each) => (best && away(best) <= away(each) ? best : each), undefined)
  return nearest ? [...nearest.classList].find((name) => name.startsWith("st-key-")).slice("st-key-".length) : ""
}

function byHand(text) {
  const area = made("textarea", "", { value: text, readOnly: true })
  area.style.cssText = "position:fixed;opacity:0"
  document.body.append(area)
  area.select()
  const done = document.execCommand("copy")
  area.remove()
  return done
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return byHand(text)
  }
}

export default function ({ parentElement }) {
  const root = parentElement.querySelector(".share-link")
  if (root.childElementCount) return
  const said = made("span", "")
  said.setAttribute("role", "status")
  const button = made("button", "Copy link", { type: "button", title: "Copy a link to this view" })
  let clearing
  button.onclick = async () => {
    const address = link()
    const done = await copied(address)
    button.focus()
    if (done) {
      said.textContent = "Copied"
    } else {
      const shown = made("input", "", { value: address, readOnly: true })
      shown.setAttribute("aria-label", "Link to this view")
      said.replaceChildren(shown)
      shown.select()
      return
    }
    clearTimeout(clearing)
    clearing = setTimeout(() => { said.textContent = "" }, SAID_MS)
  }
  root.replaceChildren(button, said)
}
