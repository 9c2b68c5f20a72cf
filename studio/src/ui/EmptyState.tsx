import type { ReactNode } from "react";

/** Says that there is nothing here yet, and what to do about it. */
export function EmptyState({
  title,
  children,
  actions,
}: {
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-3 px-4 py-12 text-center">
      <h2 className="text-base font-semibold">{title}</h2>
      {children ? <div className="text-soft">{children}</div> : null}
      {actions ? <div className="flex flex-wrap justify-center gap-2">{actions}</div> : null}
    </div>
  );
}
