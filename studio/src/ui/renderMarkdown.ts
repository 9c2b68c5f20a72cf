import DOMPurify from "dompurify";
import { Marked } from "marked";
import { revealHidden, stripEscapes } from "../lib/hiddenCharacters";

const TAGS = [
  ..."a b blockquote br code dd del dl dt em h1 h2 h3 h4 h5 h6 hr i img li ol p pre s strong".split(" "),
  ..."sub sup table tbody td th thead tr ul".split(" "),
];
const MAX_CHARACTERS = 500_000;
// Tags in the text are shown as they were written: nothing of it is hidden, and no handler of it is ever parsed.
const marked = new Marked({
  async: false,
  gfm: true,
  renderer: { html: ({ raw, block }) => (block ? `<p>${escaped(raw)}</p>` : escaped(raw)) },
});

/** Markdown as elements that are safe to show: only text tags, links that leave no trace, pictures as their text. */
export function renderMarkdown(text: string, imageText: (alternative: string) => string): DocumentFragment {
  const clean = revealHidden(stripEscapes(text.slice(0, MAX_CHARACTERS)));
  const html = marked.parse(clean, { async: false });
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "alt", "align", "start"],
    ALLOWED_URI_REGEXP: /^https?:\/\//i,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    secureLink(link);
  }
  for (const image of fragment.querySelectorAll("img")) {
    image.replaceWith(document.createTextNode(imageText(image.getAttribute("alt") ?? "")));
  }
  return fragment;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A link to elsewhere opens apart and shows where it leads; any other is only text. */
function secureLink(link: HTMLAnchorElement): void {
  const address = link.getAttribute("href");
  if (!address) {
    link.removeAttribute("href");
    return;
  }
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  link.title = address;
}
