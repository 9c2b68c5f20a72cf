import type { ReactNode } from "react";
import { classes } from "../lib/classes";

/** What a mark means, as colour; always together with an icon or a word. */
export type Tone = "neutral" | "accent" | "good" | "bad" | "wait" | "model";

const TONES: Record<Tone, string> = {
  neutral: "bg-sunken text-soft",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  bad: "bg-bad-soft text-bad",
  wait: "bg-wait-soft text-wait",
  model: "bg-model-soft text-model",
};

/** A short word on a coloured ground. */
export function Badge({
  tone = "neutral",
  icon,
  children,
}: {
  tone?: Tone;
  icon?: ReactNode;
  children: ReactNode;
}) {
  return (
    <span
      className={classes(
        "inline-flex max-w-full items-center gap-1 rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap",
        TONES[tone],
      )}
    >
      {icon}
      <span className="min-w-0 truncate">{children}</span>
    </span>
  );
}
