// The token: it comes once in the URL's fragment, and then stays in this tab's storage. The
// address bar never shows it again, so a link that is passed on does not pass it on.

const NAME = "treering.token";

/** Takes the token out of the address, or out of the tab's storage; null if there is none. */
export function takeToken() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const token = parts.get("token");
  if (token) {
    keepToken(token);
    parts.delete("token");
    const rest = `${parts}`;
    history.replaceState(null, "", rest ? `#${rest}` : location.pathname);
  }
  return sessionStorage.getItem(NAME);
}

/** Keeps a token until the tab is closed. */
export function keepToken(token) {
  sessionStorage.setItem(NAME, token);
}
