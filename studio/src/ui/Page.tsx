import type { ReactNode } from "react";
import { usePageTitle } from "../lib/title";

/** A page: its heading, which also names the window, and what it shows. */
export function Page({
  title,
  heading,
  actions,
  children,
}: {
  title: string;
  /** Shown instead of the title. */
  heading?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  usePageTitle(title);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <h1 className="min-w-0 flex-1 text-lg font-semibold">{heading ?? title}</h1>
        {actions}
      </div>
      {children}
    </div>
  );
}
