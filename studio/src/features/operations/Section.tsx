import type { ReactNode } from "react";
import { useId } from "react";

/** A part of a tab with a heading, and what can be done there. */
export function Section({
  title,
  hint,
  actions,
  children,
}: {
  title: string;
  hint?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <div className="min-w-0 flex-1 basis-60">
          <h2 id={id} className="text-base font-semibold">
            {title}
          </h2>
          {hint ? <p className="max-w-3xl text-soft">{hint}</p> : null}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}
