import { useEffect } from "react";
import { createStore, useStore } from "./store";

const title = createStore("");

/** Names the page in the title of the window while it is shown. */
export function usePageTitle(text: string): void {
  useEffect(() => {
    title.set(text);
  }, [text]);
}

/** Writes the title and the icon of the window: how many wait, the page, the product. */
export function useWindowTitle(product: string, waiting: number): void {
  const page = useStore(title);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${page ? `${page} · ` : ""}${product}`;
    const icon = document.querySelector<HTMLLinkElement>("link[rel='icon']");
    if (icon) {
      icon.setAttribute("href", waiting > 0 ? "./favicon-waiting.svg" : "./favicon.svg");
    }
  }, [page, product, waiting]);
}
