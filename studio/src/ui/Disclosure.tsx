import type { ReactNode } from "react";
import { useState } from "react";
import { ChevronDownIcon, ChevronRightIcon } from "./icons";

/** A heading that opens and closes what it names; what is closed does not exist. */
export function Disclosure({
  title,
  children,
  initiallyOpen = false,
}: {
  title: ReactNode;
  children: ReactNode;
  initiallyOpen?: boolean;
}) {
  const [open, setOpen] = useState(initiallyOpen);
  return (
    <div className="min-w-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-7 max-w-full items-center gap-1 rounded text-left text-soft hover:text-text"
      >
        {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
        {title}
      </button>
      {open ? <div className="pt-1 pl-5">{children}</div> : null}
    </div>
  );
}
