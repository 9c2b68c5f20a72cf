import * as Primitive from "@radix-ui/react-tabs";
import type { ReactNode } from "react";
import { classes } from "../lib/classes";

/** One tab: what it is called and what it shows. */
export interface Tab<Value extends string> {
  value: Value;
  label: ReactNode;
  content?: ReactNode;
}

/** Several views of which one is shown; contents may also stand elsewhere. */
export function Tabs<Value extends string>({
  label,
  value,
  onChange,
  tabs,
  className,
}: {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  tabs: readonly Tab<Value>[];
  className?: string;
}) {
  return (
    <Primitive.Root
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className={classes("flex min-h-0 flex-col", className)}
    >
      <Primitive.List aria-label={label} className="flex shrink-0 gap-1 overflow-x-auto border-b">
        {tabs.map((tab) => (
          <Primitive.Trigger
            key={tab.value}
            value={tab.value}
            ref={tab.value === value ? scrollIntoView : undefined}
            className="-mb-px inline-flex min-h-9 items-center gap-1.5 border-b-2 border-transparent px-3 whitespace-nowrap text-soft hover:text-text focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
          >
            {tab.label}
          </Primitive.Trigger>
        ))}
      </Primitive.List>
      {tabs.map((tab) => (
        <Primitive.Content key={tab.value} value={tab.value} className="min-h-0 flex-1 pt-3">
          {tab.content}
        </Primitive.Content>
      ))}
    </Primitive.Root>
  );
}

/** Scrolls the row of tabs, and only that, until the chosen one can be seen. */
function scrollIntoView(trigger: HTMLElement | null): void {
  const list = trigger?.parentElement;
  if (trigger && list) {
    const [tab, row] = [trigger.getBoundingClientRect(), list.getBoundingClientRect()];
    list.scrollLeft += Math.max(0, tab.right - row.right) - Math.max(0, row.left - tab.left);
  }
}
