import { useLayoutEffect, useRef } from "react";
import { useWords } from "../i18n";
import { renderMarkdown } from "./renderMarkdown";

/** Markdown as elements; fetched only when it is needed. */
export default function MarkdownBody({ text }: { text: string }) {
  const words = useWords("ui");
  const container = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    container.current?.replaceChildren(renderMarkdown(text, words.image));
  }, [text, words]);
  return <div ref={container} dir="auto" className="prose-plain min-w-0 [overflow-wrap:anywhere]" />;
}
