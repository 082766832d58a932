// Copy link: the address as it stands when the button is pressed. Sign out: a form, so that no other page can do it
// with an image. The clipboard needs a secure page (https or this machine); elsewhere the link is shown to be copied.
const SAID_MS = 4000
const LOOKS = 40, LOOK_MS = 250

// One a page: the other tabs of this browser hear of it, and leave for the sign-in page once the server knows. So does
// one that comes into view when its sign-in has ended.
function channel() {
  if (!window.mauveLensSignedOut) {
    window.mauveLensSignedOut = new BroadcastChannel("mauve-lens-signed-out")
    window.mauveLensSignedOut.onmessage = () => leave(LOOKS)
    document.addEventListener("visibilitychange", () => { if (!document.hidden) leave(1) })
  }
  return window.mauveLensSignedOut
}

async function leave(looks) {
  for (let look = 0; look < looks; look += 1) {
    const answer = await fetch("/_stcore/host-config", { cache: "no-store" }).catch(() => null)
    if (answer?.status === 401) {
      window.location.reload()
      return
    }
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS) })
  }
}

function made(tag, text, properties = {}) {
  const element = document.createElement(tag)
  element.textContent = text
  return Object.assign(element, properties)
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

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".visit")
  const shown = String(Boolean(data.sign_out))
  if (root.dataset.shown === shown) return
  root.dataset.shown = shown
  const said = made("span", "", { className: "said" })
  said.setAttribute("role", "status")
  const button = made("button", "Copy link", { type: "button", title: "Copy a link to this view" })
  let clearing
  button.onclick = async () => {
    const done = await copied(window.location.href)
    button.focus()
    if (done) {
      said.textContent = "Copied"
    } else {
      const link = made("input", "", { value: window.location.href, readOnly: true })
      link.setAttribute("aria-label", "Link to this view")
      said.replaceChildren(link)
      link.select()
      return
    }
    clearTimeout(clearing)
    clearing = setTimeout(() => { said.textContent = "" }, SAID_MS)
  }
  root.replaceChildren(button)
  if (data.sign_out) {
    const form = made("form", "", { method: "post", action: "/sign-out" })
    form.append(made("button", "Sign out"))
    form.onsubmit = () => channel().postMessage("")
    channel()
    root.append(form)
  }
  root.append(said)
}
