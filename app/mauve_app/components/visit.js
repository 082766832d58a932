// Sign out: a form, so that no other page can do it with an image.
const LOOKS = 240, LOOK_MS = 250 // a minute: a busy server ends the sign-in late

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

export default function ({ parentElement }) {
  const root = parentElement.querySelector(".visit")
  if (root.childElementCount) return
  const form = made("form", "", { method: "post", action: "/sign-out" })
  form.append(made("button", "Sign out"))
  form.onsubmit = () => channel().postMessage("")
  channel()
  root.replaceChildren(form)
}
