// The start: the token, then the store, then the page. Without a valid token a form asks for one.

import { Address } from "./address.js";
import { Api } from "./api.js";
import { Page } from "./page.js";
import { h } from "./dom.js";
import { keepToken, takeToken } from "./token.js";

async function start(token) {
  const main = document.getElementById("main");
  try {
    const api = new Api(token);
    const store = await api.get("/v1/store");
    main.replaceChildren();
    globalThis.inspector = new Page(api, new Address(), store);
  } catch (error) {
    if (error.status === 401) main.replaceChildren(form(token !== null));
    else main.replaceChildren(h("p", { class: "note", role: "alert" }, error.message));
  }
}

function form(isWrong) {
  const input = h("input", {
    type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token",
    placeholder: "Token",
  });
  return h("form", {
    class: "sign-in", onsubmit: (event) => {
      event.preventDefault();
      keepToken(input.value.trim());
      start(input.value.trim());
    },
  }, h("h2", {}, isWrong ? "The token is not valid" : "A token is needed"),
  h("p", {}, "The server prints an address with a token when it starts. Open that address, or "
    + "give a token here. It stays in this tab only."), input,
  h("button", { type: "submit" }, "Show the store"));
}

// An address with a token that is opened in this tab again.
addEventListener("hashchange", () => {
  if (!new URLSearchParams(location.hash.slice(1)).has("token")) return;
  takeToken();
  location.reload();
});
start(takeToken());
