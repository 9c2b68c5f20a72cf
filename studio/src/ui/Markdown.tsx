import { lazy, Suspense } from "react";
import { MAX_CHARACTERS, PlainText } from "./PlainText";

const Rendered = lazy(() => import("./MarkdownBody"));

/** Untrusted Markdown, without scripts, remote images or live links into this page. */
export function Markdown({ text }: { text: string }) {
  if (text.length > MAX_CHARACTERS) {
    return <PlainText text={text} />;
  }
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <Rendered text={text} />
    </Suspense>
  );
}
