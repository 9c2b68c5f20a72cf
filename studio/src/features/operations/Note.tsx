import type { ReactNode } from "react";
import { classes } from "../../lib/classes";
import { DoneIcon, InfoIcon, WarnIcon } from "../../ui/icons";

const STYLES = {
  good: { box: "border-good bg-good-soft", mark: <DoneIcon className="mt-0.5 size-4 shrink-0 text-good" /> },
  wait: { box: "border-wait bg-wait-soft", mark: <WarnIcon className="mt-0.5 size-4 shrink-0 text-wait" /> },
  bad: { box: "border-bad bg-bad-soft", mark: <WarnIcon className="mt-0.5 size-4 shrink-0 text-bad" /> },
  plain: { box: "border-line bg-surface", mark: <InfoIcon className="mt-0.5 size-4 shrink-0 text-soft" /> },
};

/** A remark that stands out, with a sign of what it means. */
export function Note({
  tone,
  title,
  children,
  label,
}: {
  tone: keyof typeof STYLES;
  title?: ReactNode;
  children?: ReactNode;
  /** Makes it a group of its own for who listens. */
  label?: string;
}) {
  return (
    <div
      {...(label ? { role: "group", "aria-label": label } : {})}
      className={classes("flex min-w-0 gap-2 rounded-md border p-3", STYLES[tone].box)}
    >
      {STYLES[tone].mark}
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        {title ? <p className="font-medium">{title}</p> : null}
        {children}
      </div>
    </div>
  );
}
