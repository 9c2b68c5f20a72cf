import * as Primitive from "@radix-ui/react-dropdown-menu";
import type { ReactNode } from "react";
import { classes } from "../lib/classes";
import { CheckIcon } from "./icons";

const ITEM =
  "flex min-h-8 items-center gap-2 rounded px-2 text-sm outline-none select-none data-[disabled]:opacity-55 data-[highlighted]:bg-accent-soft";

/** A list of actions that opens below a button; the trigger is one element. */
export function Menu({
  trigger,
  label,
  children,
}: {
  trigger: ReactNode;
  label?: string;
  children: ReactNode;
}) {
  return (
    <Primitive.Root modal={false}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          className="z-50 max-h-[70vh] min-w-44 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** What one entry of a menu takes. */
export interface MenuItemProps {
  onSelect: () => void;
  children: ReactNode;
  icon?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
}

/** One action of a menu. */
export function MenuItem({ onSelect, children, icon, danger, disabled }: MenuItemProps) {
  return (
    <Primitive.Item
      onSelect={(event) => {
        // A dialog opened by this entry returns the focus to the active element; the entry itself is about to unmount.
        triggerOf(event.target)?.focus();
        onSelect();
      }}
      disabled={disabled}
      className={classes(ITEM, danger && "text-bad")}
    >
      {icon}
      {children}
    </Primitive.Item>
  );
}

function triggerOf(item: EventTarget | null): HTMLElement | null {
  const menu = item instanceof Element ? item.closest("[role='menu']") : null;
  return document.getElementById(menu?.getAttribute("aria-labelledby") ?? "");
}

/** One of several choices of which one holds. */
export function MenuChoice<Value extends string>({
  value,
  options,
  onChange,
}: {
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  return (
    <Primitive.RadioGroup value={value} onValueChange={(next) => onChange(next as Value)}>
      {options.map((option) => (
        <Primitive.RadioItem key={option.value} value={option.value} className={ITEM}>
          <span className="size-4">
            <Primitive.ItemIndicator>
              <CheckIcon />
            </Primitive.ItemIndicator>
          </span>
          {option.label}
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  );
}

/** A line between groups of entries. */
export function MenuLine() {
  return <Primitive.Separator className="my-1 h-px bg-line" />;
}
