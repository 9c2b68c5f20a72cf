import type { HTMLAttributes, ReactNode, TdHTMLAttributes, ThHTMLAttributes } from "react";
import { classes } from "../lib/classes";

/** A table that scrolls sideways by itself on narrow screens; the caption is for who listens. */
export function Table({ caption, children }: { caption: string; children: ReactNode }) {
  return (
    <section
      aria-label={caption}
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line bg-surface"
    >
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{caption}</caption>
        {children}
      </table>
    </section>
  );
}

/** A heading of a column. */
export function HeadCell({ className, ...rest }: ThHTMLAttributes<HTMLTableCellElement>) {
  return (
    <th
      scope="col"
      {...rest}
      className={classes("border-b px-3 py-1.5 text-xs font-medium whitespace-nowrap text-soft", className)}
    />
  );
}

/** A row; the selected one is marked. */
export function Row({
  selected,
  className,
  ...rest
}: HTMLAttributes<HTMLTableRowElement> & { selected?: boolean }) {
  return (
    <tr
      {...rest}
      data-selected={selected || undefined}
      className={classes(
        "border-b last:border-b-0 hover:bg-sunken data-[selected]:bg-accent-soft",
        className,
      )}
    />
  );
}

/** A cell; figures stand to the right. */
export function Cell({
  figure,
  className,
  ...rest
}: TdHTMLAttributes<HTMLTableCellElement> & { figure?: boolean }) {
  return (
    <td
      {...rest}
      className={classes(
        "px-3 py-1.5 align-top",
        figure && "text-right tabular-nums whitespace-nowrap",
        className,
      )}
    />
  );
}
