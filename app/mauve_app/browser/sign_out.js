// Sign out: a form, so that no other page can do it with an image. The other tabs notice themselves (news.js).
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
  root.replaceChildren(form)
}
