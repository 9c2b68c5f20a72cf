import { lazy, Suspense } from "react";
import { PlainText } from "./PlainText";

const Rendered = lazy(() => import("./MarkdownBody"));

/** Markdown that somebody else wrote; without scripts, pictures from elsewhere or live links into this page. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <Rendered text={text} />
    </Suspense>
  );
}
