import type { ReactNode } from "react";
import { useState } from "react";
import { classes } from "../lib/classes";
import { ChevronDownIcon, ChevronRightIcon } from "./icons";

interface DisclosureProps {
  title: ReactNode;
  children: ReactNode;
}

/** A heading that opens and closes what it names; what is closed does not exist. */
export function Disclosure({
  initiallyOpen = false,
  ...rest
}: DisclosureProps & { initiallyOpen?: boolean }) {
  const [open, setOpen] = useState(initiallyOpen);
  return <ControlledDisclosure open={open} onToggle={() => setOpen(!open)} {...rest} />;
}

/** A `Disclosure` whose open state the parent controls. */
export function ControlledDisclosure({
  title,
  children,
  open,
  onToggle,
  small = false,
}: DisclosureProps & { open: boolean; onToggle: () => void; small?: boolean }) {
  return (
    <div className="min-w-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className={classes(
          "flex max-w-full items-center gap-1 rounded text-left text-soft hover:text-text",
          small ? "min-h-6 text-xs" : "min-h-7",
        )}
      >
        {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
        {title}
      </button>
      {open ? <div className={classes("pt-1", small ? "sm:pl-5" : "pl-5")}>{children}</div> : null}
    </div>
  );
}
